//! The guard: one state machine over lent or owned memory.

use crate::logic::Logic;
use crate::memory::{Layout, Memory, View};
use crate::state::State;
use crate::{
    Answered, Assignment, CommitAnswer, Config, ConfigError, Counters, Input, InputError,
    JournalEntry, Offset, Outcome, Output, Partition, PartitionCounters, Progress, Record, Reply,
    Resume, Scope, Storm, Tick, Ticket, Verdict, Waiting,
};

/// The safety core between a Kafka client and a side effect.
///
/// It does no I/O and reads no clock: it is told what happened and when, answers, and says what its
/// host must do next. The contract: one call that changes state, then [`Guard::poll_output`] until
/// it gives `None`, then the next call; [`Guard::handle_timeout`] no later than
/// [`Guard::poll_timeout`] says.
///
/// Every call first lets its time pass (lease and deadlines in the order they fall due), then
/// applies.
///
/// ```
/// use rebalance_guard::{Config, Guard, Offset, Outcome, Output, Partition, Record, Resume};
/// use rebalance_guard::{StaticMemory, Tick, Verdict};
///
/// let config = Config {
///     partitions: 4,
///     window: 8,
///     keys: 16,
///     budget: 8,
///     metadata_max: 64,
///     journal: 8,
///     ..Config::default()
/// };
/// let mut guard = Guard::new(StaticMemory::<4, 8, 16, 8, 64, 8>::new(), config)?;
/// let orders = Partition::new(0, 3);
/// let at = |ms| Tick::new(ms).unwrap_or(Tick::MAX);
///
/// guard.assign(at(0), Some(7), &[(orders, Resume::committed(Offset::new(100)?))])?;
/// let record = Record::new(orders, Offset::new(100)?, Some(b"order-1"));
/// let Verdict::Run(ticket) = guard.admit(at(1), record) else { panic!("it may run") };
/// guard.answer(at(2), ticket, Outcome::Completed);
/// guard.handle_timeout(at(1_002));
/// let Some(Output::Commit { offset, .. }) = guard.poll_output() else { panic!("due") };
/// assert_eq!(offset.value(), 101);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Guard<M: Memory> {
    memory: M,
    state: State,
}

impl<M: Memory> Guard<M> {
    /// A guard that owns nothing yet. Lend large memory (`&mut`, or boxed slices): the tables are
    /// filled where they are, an owned `memory` is moved into the guard.
    ///
    /// # Errors
    /// [`ConfigError`] when the settings contradict themselves or the memory is too small for them.
    pub fn new(mut memory: M, config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let mut parts = memory.parts();
        Layout::of(&config).check(&parts)?;
        parts.clear();
        Ok(Self { memory, state: State::new(config) })
    }

    /// A guard that breaks one rule on purpose, to prove that the tests see it.
    ///
    /// # Errors
    /// As [`Guard::new`].
    #[cfg(feature = "mutants")]
    #[doc(hidden)]
    pub fn without(memory: M, config: Config, rule: crate::Rule) -> Result<Self, ConfigError> {
        let mut guard = Self::new(memory, config)?;
        guard.state.off = Some(rule);
        Ok(guard)
    }

    pub(crate) fn seen(&self) -> (&State, View<'_>) {
        (&self.state, self.memory.view())
    }

    pub(crate) fn logic(&mut self) -> Logic<'_> {
        Logic { state: &mut self.state, parts: self.memory.parts() }
    }

    /// Tells the guard anything. The typed calls below are sugar over it.
    ///
    /// # Errors
    /// [`InputError`] when the input is refused; nothing changed then, apart from counters.
    pub fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        self.logic().handle(now, input)
    }

    /// Offers one record: may it run?
    pub fn admit(&mut self, now: Tick, record: Record<'_>) -> Verdict {
        self.logic().admit_at(now, &record)
    }

    /// Offers records in order; `verdicts[i]` answers `records[i]` exactly as one-by-one calls
    /// would. Returns how many were answered: the shorter of the two lengths.
    pub fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut [Verdict],
    ) -> usize {
        let mut logic = self.logic();
        let mut answered: usize = 0;
        for (record, verdict) in records.iter().zip(verdicts) {
            *verdict = logic.admit_at(now, record);
            answered = answered.saturating_add(1);
        }
        answered
    }

    /// Answers a ticket.
    pub fn answer(&mut self, now: Tick, ticket: Ticket, outcome: Outcome) -> Answered {
        self.logic().answer_at(now, ticket, outcome)
    }

    /// [`Input::Assign`].
    ///
    /// # Errors
    /// Table full, negative partition number, dead client: nothing was applied.
    pub fn assign(
        &mut self,
        now: Tick,
        generation: Option<i32>,
        partitions: &[(Partition, Resume<'_>)],
    ) -> Result<Reply, InputError> {
        self.handle(now, Input::Assign { generation, partitions })
    }

    /// [`Input::Position`].
    ///
    /// # Errors
    /// [`InputError::NoPosition`].
    pub fn position(
        &mut self,
        now: Tick,
        partition: Partition,
        assignment: Assignment,
        resume: Resume<'_>,
    ) -> Result<Reply, InputError> {
        self.handle(now, Input::Position { partition, assignment, resume })
    }

    /// [`Input::Revoke`]. Never fails: partitions that are not owned are ignored.
    pub fn revoke(&mut self, now: Tick, partitions: &[Partition], deadline: Tick) {
        self.logic().revoke_at(now, partitions, deadline);
    }

    /// [`Input::Lost`]. Never fails.
    pub fn lost(&mut self, now: Tick, scope: Scope<'_>) {
        self.logic().lost_at(now, scope);
    }

    /// [`Input::Rewind`].
    ///
    /// # Errors
    /// Not Active, resume position unknown, or above the mark: nothing changed.
    pub fn rewind(
        &mut self,
        now: Tick,
        partition: Partition,
        offset: Offset,
    ) -> Result<Reply, InputError> {
        self.handle(now, Input::Rewind { partition, offset })
    }

    /// [`Input::CommitAnswered`].
    pub fn commit_answered(
        &mut self,
        now: Tick,
        partition: Partition,
        assignment: Assignment,
        offset: Offset,
        answer: CommitAnswer,
    ) -> Reply {
        self.logic().commit_answered_at(now, partition, assignment, offset, answer)
    }

    /// [`Input::GroupOffset`].
    pub fn group_offset(
        &mut self,
        now: Tick,
        partition: Partition,
        assignment: Assignment,
        offset: Offset,
    ) -> Reply {
        self.logic().group_offset_at(now, partition, assignment, offset)
    }

    /// [`Input::EndOfPartition`].
    pub fn end_of_partition(
        &mut self,
        now: Tick,
        partition: Partition,
        assignment: Assignment,
    ) -> Reply {
        self.logic().end_of_partition_at(now, partition, assignment)
    }

    /// [`Input::Polled`]: the host polled its client, which renews the lease.
    pub fn polled(&mut self, now: Tick) {
        self.logic().polled_at(now);
    }

    /// Lets time pass and nothing else.
    pub fn handle_timeout(&mut self, now: Tick) {
        self.logic().pass_time(now);
    }

    /// The next thing that the host owes, until `None`.
    pub fn poll_output(&mut self) -> Option<Output> {
        if !self.state.outputs_possible() {
            return None;
        }
        self.logic().next_output()
    }

    /// When to call [`Guard::handle_timeout`] at the latest, if no other call comes first. May be
    /// earlier than anything falls due, never later.
    pub fn poll_timeout(&self) -> Option<Tick> {
        self.state.next_due()
    }

    /// Writes the string to commit with the [`Output::Commit`] of `partition` that was pulled last
    /// into `buffer`; gives its length. 0 when there is none, or `buffer` is too short.
    ///
    /// It is the string of the state as it is: read it before the next input. A string that is
    /// committed with another offset than its own is ignored by its reader.
    pub fn commit_metadata(&self, partition: Partition, buffer: &mut [u8]) -> usize {
        let view = self.memory.view();
        let Some(slot) = crate::partition::find(view.partition_index, view.partitions, partition)
        else {
            return 0;
        };
        let room = buffer.len();
        let written = crate::carried::write(view, &self.state.config, slot, buffer);
        let len = usize::from(written.len());
        if len > room { 0 } else { len }
    }

    /// Since when nothing is owned, and why; `None` while something is.
    pub fn waiting(&self) -> Option<Waiting> {
        (self.state.owned_count == 0).then_some(self.state.waiting)
    }

    /// The last refusals and transitions, oldest first.
    pub fn journal(&self) -> impl Iterator<Item = JournalEntry> + '_ {
        crate::journal::entries(&self.state, self.memory.view())
    }

    /// Whether the ticket's record is still worth running (or dead-lettering): not answered, and
    /// its assignment neither sealed nor lost.
    pub fn is_live(&self, ticket: Ticket) -> bool {
        crate::flight::is_live(self.memory.view(), ticket)
    }

    /// Where one partition stands, or `None` when it is not owned (any more).
    pub fn progress(&self, partition: Partition) -> Option<Progress> {
        crate::progress::of(&self.state, self.memory.view(), partition)
    }

    /// The partitions that are active, draining or committing, by time of assign.
    pub fn owned(&self) -> impl Iterator<Item = (Partition, Progress)> + '_ {
        crate::progress::owned(&self.state, self.memory.view())
    }

    /// Records in flight, all partitions together.
    pub fn in_flight(&self) -> u32 {
        self.state.in_flight
    }

    /// Whether rebalances come too fast.
    pub fn storm(&self) -> Storm {
        self.state.storm.level()
    }

    /// What was counted since the guard was made.
    pub fn counters(&self) -> &Counters {
        &self.state.counters
    }

    /// What was counted for one partition, as long as the table remembers it.
    pub fn partition_counters(&self, partition: Partition) -> Option<PartitionCounters> {
        crate::progress::counters(self.memory.view(), partition)
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.state.config
    }

    /// The last tick that counted.
    pub fn now(&self) -> Tick {
        self.state.now
    }
}
