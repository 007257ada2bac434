//! What the poll thread holds in its hands.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::error::RDKafkaErrorCode;
use rebalance_guard::{
    Assignment, CommitAnswer, Input, InputError, Offset, Outcome, Partition, Reply, Tick, Ticket,
    Token,
};
use rebalance_guard_fence::OwnershipFence;

use super::logs::Log;
use super::outage::{Outage, PutOff};
use super::row::Row;
use super::{Event, GatewayError, Observer, Settings, StopSignal, Summary};
use crate::clock::Clock;
use crate::dead_letter::DeadLetterProducer;
use crate::engine::{Engine, EngineDead};
use crate::kafka::lookup::Found;
use crate::kafka::session::Session;
use crate::kafka::topics::Topics;
use crate::record::OwnedRecord;
use crate::workers::{Job, WorkerPool};

/// Why the loop has to be left. Before it is handled everything counts as lost.
#[derive(Debug)]
pub(super) enum Interrupt {
    /// The engine cannot answer any more.
    EngineDead(String),
    /// Close the client and make a new one.
    Rejoin { why: String, back_off: Duration },
    /// The client is dead.
    Fatal(RDKafkaErrorCode, String),
    /// Asked to stop at once.
    StopNow,
    /// Going on makes no sense.
    Failed(GatewayError),
}

pub(super) type Flow<T = ()> = Result<T, Interrupt>;

impl From<EngineDead> for Interrupt {
    fn from(dead: EngineDead) -> Self {
        Self::EngineDead(dead.reason)
    }
}

/// A record with its name, as it waits or runs.
#[derive(Clone, Debug)]
pub(super) struct Offered {
    pub(super) record: Arc<OwnedRecord>,
    pub(super) key: Option<Arc<str>>,
    /// Why it has no key, or what the sink said last.
    pub(super) error: Option<String>,
    /// When the client delivered it; `None` when it was offered before.
    pub(super) delivered: Option<Instant>,
    /// When the sink last left it unanswered.
    pub(super) unanswered: Option<Instant>,
}

/// One assignment of one partition, from the assign to its seal.
#[derive(Debug)]
pub(super) struct Holding {
    pub(super) assignment: Assignment,
    pub(super) token: Token,
    pub(super) fence: OwnershipFence,
    /// Admitted and not finished, by offset.
    pub(super) flights: HashMap<i64, Offered>,
    /// Held, and what the client delivered after it: in order, offered again from the front.
    pub(super) backlog: VecDeque<Offered>,
    /// The guard asked for it.
    pub(super) pause_asked: bool,
    /// It is not known yet where reading resumes.
    pub(super) resume_unknown: bool,
    /// What the client was told.
    pub(super) paused: bool,
    /// The offset after the highest record that the client delivered.
    pub(super) reached: i64,
    /// No commit may lie above: where reading resumed, or the offset after what was delivered.
    pub(super) bound: i64,
    /// Commits that the coordinator has not answered, and the last that it stored.
    pub(super) unanswered: u32,
    pub(super) stored: Option<Offset>,
    /// The namespace of its keys, if they name places in the log.
    pub(super) incarnation: u32,
}

/// A token that the sink refused as lower than one that it has seen.
#[derive(Clone, Debug)]
pub(super) struct Fenced {
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    pub(super) token: Token,
    pub(super) why: String,
}

/// An offset on its way to the coordinator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) partition: Partition,
    pub(super) assignment: Assignment,
    pub(super) offset: Offset,
}

/// A failure whose retry the sink asked to put off.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Deferred {
    pub(super) until: Instant,
    pub(super) partition: Partition,
    pub(super) sequence: u64,
}

/// A resume position that was not known in time.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pub(super) name: (String, i32),
    pub(super) partition: Partition,
    pub(super) assignment: Assignment,
    /// Under which number, or when to ask again.
    pub(super) question: Result<u64, Instant>,
}

/// What is owed to the guard once its outputs have been pulled.
#[derive(Debug)]
pub(super) enum Duty {
    /// Offer the partition's held records again.
    OfferAgain(Partition),
    /// Answer a ticket.
    Answer(Ticket, Outcome),
    /// Answer a commit.
    CommitAnswer(Sent, CommitAnswer),
    /// Everything is lost.
    LoseAll(String),
}

/// The poll thread's state.
pub(super) struct Gateway<'a> {
    pub(super) settings: Settings,
    pub(super) group: Arc<str>,
    pub(super) drain: Duration,
    pub(super) clock: Clock,
    pub(super) engine: Box<dyn Engine>,
    pub(super) pool: WorkerPool,
    pub(super) letters: Option<DeadLetterProducer>,
    pub(super) session: Session,
    pub(super) topics: Topics,
    pub(super) stop: StopSignal,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) summary: Summary,
    pub(super) holdings: HashMap<Partition, Holding>,
    /// Jobs that the pool had no room for; nothing overtakes them.
    pub(super) unsubmitted: VecDeque<Job>,
    pub(super) duties: VecDeque<Duty>,
    pub(super) sent: HashMap<usize, Sent>,
    pub(super) commit_number: usize,
    /// [`Holding::bound`] of what was held before: the last commit follows the seal.
    pub(super) bounds: HashMap<Partition, i64>,
    /// Dead-letter tickets on their way, by assignment and sequence.
    pub(super) parked: HashMap<(Assignment, u64), (Partition, i64)>,
    pub(super) deferred: BinaryHeap<Reverse<Deferred>>,
    pub(super) put_off: HashMap<u64, PutOff>,
    pub(super) outage: Outage,
    pub(super) asking: Vec<Asking>,
    /// The question that an assign waits for, and its answer.
    pub(super) awaited: Option<(u64, Option<Found>)>,
    /// Bytes of the records in `holdings`.
    pub(super) bytes: usize,
    /// Fetching was stopped because of `bytes`.
    pub(super) full: bool,
    /// A revoke is being drained: a commit is preceded by a look at the membership.
    pub(super) draining: bool,
    /// A revoke was served and the assign after it has not come.
    pub(super) rebalancing: bool,
    /// The last hand-over: what it leaves is reported.
    pub(super) stopping: bool,
    /// Since when something was lost without a callback; looked after until the client agrees.
    pub(super) suspect: Option<Instant>,
    pub(super) looked: Option<Instant>,
    /// What the sink fenced last and the client has gone on listing, and how often in a row that
    /// cost the consumer.
    pub(super) fenced: Option<Fenced>,
    pub(super) fences: Row,
    /// When the loop last went round, and until when no commit is sent because it stood still: the
    /// group may have thrown this member out without the client knowing yet.
    pub(super) turned: Instant,
    pub(super) quiet_until: Instant,
    /// The highest assignment number seen: a new engine begins above it.
    pub(super) assignment_max: u64,
    pub(super) logs: HashMap<Partition, Log>,
    /// When a position was last seen outside its log: resume positions are compared with the logs
    /// for some time.
    pub(super) out_of_range: Option<Instant>,
    /// When it was last said that nothing is owned.
    pub(super) waiting_told: Instant,
}

impl Gateway<'_> {
    pub(super) fn now(&self) -> Tick {
        self.clock.now()
    }

    /// Tells the guard something and obeys what follows.
    pub(super) fn tell(&mut self, input: Input<'_>) -> Flow<Result<Reply, InputError>> {
        let reply = self.engine.handle(self.now(), input)?;
        self.obey_outputs()?;
        Ok(reply)
    }

    pub(super) fn tell_observer(&mut self, event: Event) {
        self.observer.event(&event);
    }

    /// The partition's name for people.
    pub(super) fn name(&self, partition: Partition) -> (Arc<str>, i32) {
        (self.topics.name(partition), partition.index)
    }

    /// The holding of exactly this assignment.
    pub(super) fn holding_of(
        &mut self,
        partition: Partition,
        assignment: Assignment,
    ) -> Option<&mut Holding> {
        self.holdings.get_mut(&partition).filter(|holding| holding.assignment == assignment)
    }

    /// Forgets a record that is finished with.
    pub(super) fn drop_flight(
        &mut self,
        partition: Partition,
        assignment: Assignment,
        offset: i64,
    ) {
        let flight = self.holding_of(partition, assignment).and_then(|h| h.flights.remove(&offset));
        if let Some(flight) = flight {
            self.bytes = self.bytes.saturating_sub(flight.bytes());
        }
    }
}

impl Offered {
    /// What it costs in memory, roughly.
    pub(super) fn bytes(&self) -> usize {
        let record = &*self.record;
        let headers = record.headers.iter();
        let headers: usize =
            headers.map(|(name, value)| name.len() + value.as_ref().map_or(0, Vec::len)).sum();
        let key = record.key.as_ref().map_or(0, Vec::len);
        let payload = record.payload.as_ref().map_or(0, Vec::len);
        size_of::<OwnedRecord>() + key + payload + headers
    }
}

impl Holding {
    pub(super) fn new(assignment: Assignment, token: Token) -> Self {
        Self {
            assignment,
            token,
            fence: OwnershipFence::open(),
            flights: HashMap::new(),
            backlog: VecDeque::new(),
            pause_asked: false,
            resume_unknown: false,
            paused: false,
            reached: 0,
            bound: 0,
            unanswered: 0,
            stored: None,
            incarnation: 0,
        }
    }

    /// Bytes of all its records.
    pub(super) fn bytes(&self) -> usize {
        self.flights.values().chain(&self.backlog).map(Offered::bytes).sum()
    }
}
