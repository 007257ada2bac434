//! A member's process with a guard: poll thread, adapter and workers, as the gateway has them.

mod callbacks;
mod outputs;
mod records;
mod work;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rebalance_guard::{Assignment, Offset, Outcome, Phase};

use self::work::Job;
use super::broker::Broker;
use super::client::{Client, Event};
use super::log::Logs;
use super::options::Options;
use super::report::Report;
use super::seat::{Seat, number, partition};
use super::sink::Sink;
use super::wire::{From, Response, Wire};
use crate::Census;
use crate::trace::{Action, Answer};

/// Everything outside the processes.
pub(super) struct Shared<'a> {
    pub(super) now: u64,
    pub(super) options: &'a Options,
    pub(super) logs: &'a mut Logs,
    pub(super) broker: &'a mut Broker,
    pub(super) sink: &'a mut Sink,
    pub(super) wire: &'a mut Wire,
    pub(super) report: &'a mut Report,
    pub(super) census: &'a mut Census,
    pub(super) addresses: &'a mut u64,
}

/// Faults of one process.
#[derive(Default)]
pub(super) struct Trouble {
    /// Until then the whole process stands still.
    pub(super) paused: u64,
    /// Until then its poll thread is busy.
    pub(super) stalled: u64,
    /// Until then it cannot reach the coordinator.
    pub(super) cut: u64,
    /// Its clock is so far off.
    pub(super) skew: i64,
    /// The next record to begin takes so long.
    pub(super) hang: Option<u64>,
    /// The next answer is given twice.
    pub(super) twice: bool,
    /// It ends as soon as nothing is in its hands.
    pub(super) stopping: bool,
}

/// A commit without an answer.
pub(super) struct Open {
    partition: u32,
    assignment: Assignment,
    offset: u64,
}

/// A revoke that waits for its partitions.
struct HandOver {
    partitions: Vec<u32>,
    /// The member id that the revoke came under.
    id: u64,
}

pub(super) struct Process {
    pub(super) member: usize,
    pub(super) seat: Seat,
    pub(super) client: Client,
    pub(super) trouble: Trouble,
    pub(super) mail: VecDeque<(From, Response)>,
    /// The process is over.
    pub(super) ended: bool,
    /// What was fetched and not taken yet, per partition.
    inbox: BTreeMap<u32, VecDeque<u64>>,
    /// Where fetching goes on.
    fetch: BTreeMap<u32, u64>,
    paused: BTreeSet<u32>,
    /// Where the guard saw no progress.
    stalled: BTreeMap<u32, Offset>,
    at_end: BTreeSet<u32>,
    /// The last few records that were offered, oldest first.
    delivered: VecDeque<(u32, u64)>,
    queue: VecDeque<Job>,
    running: Vec<Job>,
    answers: VecDeque<(u64, Outcome)>,
    commits: BTreeMap<u64, Open>,
    tags: u64,
    positions: Vec<(u64, u32, Assignment)>,
    hand_over: Option<HandOver>,
    /// The member id at the last assign, and whether the client complained since.
    id: u64,
    exceeded: bool,
    /// A new consumer is to be made then.
    rejoin: Option<u64>,
    next_poll: u64,
    /// Drops a held record and seeks back to it, instead of keeping it.
    seeks: bool,
}

impl Process {
    pub(super) fn new(member: usize, shared: &mut Shared<'_>) -> Self {
        let options = shared.options;
        let seed = options.seed ^ (shared.now << 8) ^ member as u64;
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut config = options.guard;
        config.first_assignment = ((shared.now + 1) << 20) | rng.u64(0..1 << 20);
        config.jitter_seed = rng.u64(..);
        let checked = options.checked;
        *shared.addresses += 1;
        Self {
            member,
            seat: Seat::new(config, options.partitions, seed, options.without(), checked),
            client: Client::new(options, *shared.addresses, member, shared.now),
            trouble: Trouble::default(),
            mail: VecDeque::new(),
            ended: false,
            inbox: BTreeMap::new(),
            fetch: BTreeMap::new(),
            paused: BTreeSet::new(),
            stalled: BTreeMap::new(),
            at_end: BTreeSet::new(),
            delivered: VecDeque::new(),
            queue: VecDeque::new(),
            running: Vec::new(),
            answers: VecDeque::new(),
            commits: BTreeMap::new(),
            tags: 0,
            positions: Vec::new(),
            hand_over: None,
            id: 0,
            exceeded: false,
            rejoin: None,
            next_poll: shared.now,
            seeks: checked && rng.u8(0..4) == 0,
        }
    }

    /// One ms of its life.
    pub(super) fn serve(&mut self, shared: &mut Shared<'_>) {
        if shared.now < self.trouble.paused {
            return;
        }
        while let Some((to, response)) = self.mail.pop_front() {
            if to.address == self.client.from.address {
                self.client.hear(shared.now, to, response);
            }
        }
        self.client.serve(shared.now, shared.now < self.trouble.cut, shared.wire);
        self.work(shared);
        if shared.now < self.trouble.stalled {
            return;
        }
        self.hear_workers(shared);
        self.hear_commits(shared);
        self.tell_positions(shared);
        let due = self.seat.guard.poll_timeout();
        if due.is_some_and(|due| due.value() <= self.tick(shared.now)) {
            self.tell(shared, Action::Tick);
        }
        self.seek_where_stalled(shared);
        self.go_on(shared);
        // What was asked of the client goes out.
        self.client.serve(shared.now, shared.now < self.trouble.cut, shared.wire);
    }

    fn go_on(&mut self, shared: &mut Shared<'_>) {
        if let Some(at) = self.rejoin {
            // What the old consumer handed out is still there, and refused.
            self.offer(shared);
            if at <= shared.now {
                self.make_consumer(shared);
            }
            return;
        }
        if self.hand_over.is_some() {
            self.offer(shared);
            self.end_hand_over(shared);
        } else if self.trouble.stopping {
            self.stop(shared);
        } else if self.next_poll <= shared.now {
            self.next_poll = shared.now + shared.options.poll_ms.max(1);
            self.poll(shared);
        }
    }

    fn poll(&mut self, shared: &mut Shared<'_>) {
        let event = self.client.poll(shared.now);
        self.tell(shared, Action::Polled);
        if self.rejoin.is_some() {
            return;
        }
        match event {
            Some(Event::Assign(partitions)) => self.assigned(shared, &partitions),
            Some(Event::Revoke(partitions)) => self.revoked(shared, partitions),
            Some(Event::PollExceeded) => {
                shared.report.callback(super::report::Callback::PollExceeded);
                self.exceeded = true;
            }
            Some(Event::Fatal(_)) => self.fatal(shared),
            None => {
                self.fetch_some(shared);
                self.offer(shared);
            }
        }
    }

    /// The guard's clock, which a fault may have moved.
    fn tick(&self, now: u64) -> u64 {
        // Room for jumps back from the very beginning.
        (now + 1_000).saturating_add_signed(self.trouble.skew)
    }

    /// Tells the guard, and does what it asks.
    fn tell(&mut self, shared: &mut Shared<'_>, action: Action) -> (Answer, u64) {
        let now = self.tick(shared.now);
        shared.report.member = self.member;
        let (answer, first) = self.seat.step(now, action, shared.census, shared.report);
        if let Some(broken) = &self.seat.broken {
            shared.report.oracle(broken, &self.seat.trace);
        }
        self.obey(shared, &answer, first);
        (answer, first)
    }

    /// What the guard reads now.
    pub(super) fn reads(&self) -> impl Iterator<Item = u32> + '_ {
        let owned = self.seat.guard.owned();
        owned.filter(|(_, p)| p.phase == Phase::Active).map(|(partition, _)| number(partition))
    }

    /// Whether it owns the partition, or a commit of it may still go out.
    pub(super) fn has(&self, number: u32) -> bool {
        let sent = self.commits.values().any(|open| open.partition == number);
        let parked = self.client.may_commit(number);
        sent || parked || self.client.owned.contains(&number) || self.assignment(number).is_some()
    }

    /// Whether nothing is left to do in it.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.running.is_empty() && self.answers.is_empty()
    }

    fn assignment(&self, number: u32) -> Option<Assignment> {
        self.seat.guard.progress(partition(number)).map(|progress| progress.assignment)
    }
}
