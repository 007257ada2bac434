//! The reference model: the documented behaviour on std collections, slow and plain, written from
//! the design and not from the core. Nothing is shared with the core but its vocabulary.

mod admit;
pub(crate) mod carry;
mod commit;
mod moves;
mod outputs;
mod own;
mod settle;
mod storm;
mod time;
mod watch;

use std::collections::{BTreeMap, VecDeque};

use rebalance_guard::{
    Answered, Config, Input, InputError, Output, Partition, Phase, Progress, Record, Reply, Storm,
    Tick, Ticket, Token, Verdict, Waiting,
};

use crate::Subject;
use own::{Flight, Hands, Own};
use storm::Meter;

/// A key and its namespace: what a record is called.
type Name = (u32, Vec<u8>);

/// What is remembered of a partition, owned or not.
#[derive(Clone, Debug, Default)]
struct Slot {
    own: Option<Own>,
    /// The highest commit ever offered.
    offered_ever: Option<u64>,
    /// The highest offset that the group was told or seen to hold.
    committed_before: Option<u64>,
    /// When it ended, as a count of ends: the oldest is forgotten first.
    ended: u64,
    /// Ownerships in a row that ended with nothing finished though records came.
    fruitless: u32,
}

/// The reference model of [`rebalance_guard::Guard`].
#[derive(Clone, Debug)]
pub struct Model {
    config: Config,
    now: u64,
    dead: bool,
    slots: BTreeMap<Partition, Slot>,
    /// In order of admission.
    flights: BTreeMap<u64, Flight>,
    flights_made: u64,
    tickets_made: u64,
    ends: u64,
    next_assignment: u64,
    /// Oldest first, with the tick at which its record finished.
    finished: VecDeque<(Name, u64)>,
    /// Since when nobody polled; `None` while nothing is owned.
    lease: Option<u64>,
    lease_expired: bool,
    /// The poll budget was told since the last poll.
    budget_told: bool,
    waiting: Waiting,
    rejoin: Option<u64>,
    reports: VecDeque<Output>,
    storm: Meter,
    /// States that were put by, for going on from them.
    saved: Vec<Self>,
}

impl Model {
    /// A model that owns nothing yet. The settings are taken as they are.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            now: 0,
            dead: false,
            slots: BTreeMap::new(),
            flights: BTreeMap::new(),
            flights_made: 0,
            tickets_made: 0,
            ends: 0,
            next_assignment: config.first_assignment,
            finished: VecDeque::new(),
            lease: None,
            lease_expired: false,
            budget_told: false,
            waiting: Waiting::default(),
            rejoin: None,
            reports: VecDeque::new(),
            storm: Meter::default(),
            saved: Vec::new(),
        }
    }

    /// [`rebalance_guard::Guard::handle`].
    ///
    /// # Errors
    /// The input was refused.
    pub fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        self.pass_time(now);
        let reply = self.apply(input);
        self.tidy();
        reply
    }

    fn apply(&mut self, input: Input<'_>) -> Result<Reply, InputError> {
        match input {
            Input::Assign { generation, partitions } => self.assign(generation, partitions),
            Input::Position { partition, assignment, resume } => {
                self.position(partition, assignment, resume)
            }
            Input::Revoke { partitions, deadline } => {
                self.revoke(partitions, deadline.value());
                Ok(Reply::Done)
            }
            Input::Lost(scope) => {
                self.lost(scope);
                Ok(Reply::Done)
            }
            Input::Rewind { partition, offset } => self.rewind(partition, offset.value()),
            Input::GroupOffset { partition, assignment, offset } => {
                Ok(self.group_offset(partition, assignment, offset.value()))
            }
            Input::EndOfPartition { partition, assignment } => {
                Ok(self.end_of_partition(partition, assignment))
            }
            Input::Admit(record) => Ok(Reply::Verdict(self.admit_now(&record))),
            Input::Answer { ticket, outcome } => {
                Ok(Reply::Answered(self.answer_now(ticket, outcome)))
            }
            Input::CommitAnswered { partition, assignment, offset, answer } => {
                Ok(self.commit_answered(partition, assignment, offset.value(), answer))
            }
            Input::Polled => {
                if self.lease.is_some() {
                    self.lease = Some(self.now);
                    self.budget_told = false;
                }
                Ok(Reply::Done)
            }
        }
    }

    /// [`rebalance_guard::Guard::admit`].
    pub fn admit(&mut self, now: Tick, record: &Record<'_>) -> Verdict {
        self.pass_time(now);
        let verdict = self.admit_now(record);
        self.watch();
        verdict
    }

    /// [`rebalance_guard::Guard::answer`].
    pub fn answer(
        &mut self,
        now: Tick,
        ticket: Ticket,
        outcome: rebalance_guard::Outcome,
    ) -> Answered {
        self.pass_time(now);
        let answered = self.answer_now(ticket, outcome);
        self.tidy();
        answered
    }

    /// [`rebalance_guard::Guard::is_live`].
    pub fn is_live(&self, ticket: Ticket) -> bool {
        let same = |f: &&Flight| f.ticket.sequence() == ticket.sequence();
        self.flights.values().find(same).is_some_and(|f| f.hands == Hands::Held)
    }

    /// [`rebalance_guard::Guard::storm`].
    pub fn storm(&self) -> Storm {
        self.storm.level
    }

    /// [`rebalance_guard::Guard::progress`].
    pub fn progress(&self, partition: Partition) -> Option<Progress> {
        let own = self.own(partition)?;
        let unfinished = own.unfinished();
        Some(Progress {
            phase: own.phase,
            assignment: own.assignment,
            token: Token { group: own.group, assignment: own.assignment },
            mark: own.mark().map(own::offset),
            confirmed: own.confirmed.map(own::offset),
            in_hands: self.in_hands(partition),
            unfinished,
            owed: own.owed.as_ref().map(|debt| own::offset(debt.offset)),
            paused: own.paused,
            deadline: (own.phase != Phase::Active)
                .then(|| Tick::new(own.deadline).unwrap_or(Tick::MAX)),
            idle: own.phase == Phase::Active && unfinished == 0 && own.owed.is_none() && own.seen,
        })
    }

    fn own(&self, partition: Partition) -> Option<&Own> {
        self.slots.get(&partition)?.own.as_ref()
    }

    fn own_mut(&mut self, partition: Partition) -> Option<&mut Own> {
        self.slots.get_mut(&partition)?.own.as_mut()
    }

    fn current(&self, partition: Partition, assignment: rebalance_guard::Assignment) -> bool {
        self.own(partition).is_some_and(|own| own.assignment == assignment)
    }

    fn in_hands(&self, partition: Partition) -> u32 {
        let held = |f: &&Flight| f.partition == partition && f.hands == Hands::Held;
        self.flights.values().filter(held).count() as u32
    }

    /// Owned partitions by time of assign.
    fn owned(&self) -> Vec<Partition> {
        let mut owned: Vec<_> = self
            .slots
            .iter()
            .filter_map(|(partition, slot)| Some((slot.own.as_ref()?.assignment, *partition)))
            .collect();
        owned.sort_unstable();
        owned.into_iter().map(|(_, partition)| partition).collect()
    }

    fn held_by_storm(&self) -> bool {
        // Held by pace alone: holds must not keep a barren partition barren.
        self.config.hold_in_storm
            && self.storm.level == Storm::Storm
            && self.storm.fast(&self.config)
    }

    /// Queues a report; an older one of the same kind and partition is dropped.
    fn report(&mut self, report: Output) {
        self.reports.retain(|old| subject_of(old) != subject_of(&report));
        self.reports.push_back(report);
    }
}

/// What a report speaks of: its kind and partition.
fn subject_of(report: &Output) -> (u8, Option<Partition>) {
    match report {
        Output::Sealed(sealed) => (0, Some(sealed.partition)),
        Output::Gap { partition, .. } => (1, Some(*partition)),
        Output::StepBack { partition, .. } => (2, Some(*partition)),
        Output::MetadataIgnored { partition, .. } => (4, Some(*partition)),
        _ => (3, None),
    }
}

impl Subject for Model {
    fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        Self::handle(self, now, input)
    }

    fn admit_batch(&mut self, now: Tick, records: &[Record<'_>]) -> Vec<Verdict> {
        records.iter().map(|record| self.admit(now, record)).collect()
    }

    fn handle_timeout(&mut self, now: Tick) {
        self.pass_time(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        Self::poll_output(self)
    }

    /// Always: the model keeps no list of what falls due.
    fn poll_timeout(&mut self) -> Option<Tick> {
        Tick::new(self.now)
    }

    fn is_live(&mut self, ticket: Ticket) -> bool {
        Self::is_live(self, ticket)
    }

    fn progress(&mut self, partition: Partition) -> Option<Progress> {
        Self::progress(self, partition)
    }

    fn commit_metadata(&mut self, partition: Partition) -> Vec<u8> {
        Self::commit_metadata(self, partition)
    }

    fn waiting(&mut self) -> Option<Waiting> {
        Self::waiting(self)
    }

    fn in_flight(&mut self) -> u32 {
        u32::try_from(self.flights.len()).unwrap_or(u32::MAX)
    }

    /// Its number among the states put by: only this model can go on from it.
    fn snapshot(&mut self) -> Option<Vec<u8>> {
        let number = self.saved.len();
        let saved = Self { saved: Vec::new(), ..self.clone() };
        self.saved.push(saved);
        Some(number.to_le_bytes().to_vec())
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool {
        let number = snapshot.try_into().map(usize::from_le_bytes).unwrap_or(usize::MAX);
        let Some(saved) = self.saved.get(number).cloned() else { return false };
        *self = Self { saved: core::mem::take(&mut self.saved), ..saved };
        self.resume_clock(now.value());
        true
    }

    fn storm(&mut self) -> Storm {
        Self::storm(self)
    }
}
