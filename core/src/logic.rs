//! State and tables joined for one call, and the way from an input to its handler.

use crate::memory::Parts;
use crate::partition::Phase;
use crate::state::State;
use crate::{Assignment, Event, Input, InputError, Partition, Reply, Tick};

/// The guard's logic over its state and its tables; not generic, so there is one copy of it.
pub(crate) struct Logic<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) parts: Parts<'a>,
}

/// A promise of the guard that a test may switch off, to see that the oracle notices.
#[cfg(feature = "mutants")]
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// A draining partition admits nothing.
    P1,
    /// Only the completion mark is offered.
    P2,
    /// A late answer never brings an older offer back.
    P3,
    /// Lost means nothing more.
    P4,
    /// A drain ends by its deadline.
    P5,
    /// A refused record leaves no trace.
    P6,
    /// A held record is owed.
    P7,
    /// A ticket counts only if it is the one handed out last.
    P8,
    /// A key is forgotten when its record is given up or dead-lettered.
    P9,
    /// Time never goes back.
    P10,
    /// An alarm is told once.
    P12,
}

/// Whether rule `$rule` is switched off. Always false in builds without the feature `mutants`.
macro_rules! switched_off {
    ($logic:expr, $rule:ident) => {{
        #[cfg(feature = "mutants")]
        let off = $logic.state.off == Some(crate::logic::Rule::$rule);
        #[cfg(not(feature = "mutants"))]
        let off = false;
        off
    }};
}
pub(crate) use switched_off;

impl Logic<'_> {
    /// Applies any input.
    pub(crate) fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        let result = match input {
            Input::Assign { generation, partitions } => self.assign_at(now, generation, partitions),
            Input::Position { partition, assignment, resume } => {
                self.position_at(now, partition, assignment, resume)
            }
            Input::Revoke { partitions, deadline } => {
                self.revoke_at(now, partitions, deadline);
                Ok(Reply::Done)
            }
            Input::Lost(scope) => {
                self.lost_at(now, scope);
                Ok(Reply::Done)
            }
            Input::Rewind { partition, offset } => self.rewind_at(now, partition, offset),
            Input::GroupOffset { partition, assignment, offset } => {
                Ok(self.group_offset_at(now, partition, assignment, offset))
            }
            Input::EndOfPartition { partition, assignment } => {
                Ok(self.end_of_partition_at(now, partition, assignment))
            }
            Input::Admit(record) => Ok(Reply::Verdict(self.admit_at(now, &record))),
            Input::Answer { ticket, outcome } => {
                Ok(Reply::Answered(self.answer_at(now, ticket, outcome)))
            }
            Input::CommitAnswered { partition, assignment, offset, answer } => {
                Ok(self.commit_answered_at(now, partition, assignment, offset, answer))
            }
            Input::Polled => {
                self.polled_at(now);
                Ok(Reply::Done)
            }
        };
        if let Err(why) = result {
            self.state.counters.inputs_refused =
                self.state.counters.inputs_refused.saturating_add(1);
            self.note(Event::InputRefused(why));
        }
        result
    }

    pub(crate) fn end_of_partition_at(
        &mut self,
        now: Tick,
        partition: Partition,
        assignment: Assignment,
    ) -> Reply {
        self.pass_time(now);
        let Some(slot) = self.current(partition, assignment) else {
            return self.stale_input(partition);
        };
        let entry = self.entry_mut(slot);
        if entry.phase == Phase::Committing {
            return self.stale_input(partition);
        }
        entry.end_seen = true;
        Reply::Done
    }

    /// The slot of `partition` if `assignment` is the one that it is owned under.
    pub(crate) fn current(&self, partition: Partition, assignment: Assignment) -> Option<u32> {
        let slot = self.find(partition)?;
        let entry = self.entry(slot);
        (entry.phase != Phase::Unowned && entry.assignment == assignment.value()).then_some(slot)
    }

    /// Counts an input about something that is over.
    pub(crate) fn stale_input(&mut self, partition: Partition) -> Reply {
        self.state.counters.stale_inputs = self.state.counters.stale_inputs.saturating_add(1);
        if let Some(slot) = self.find(partition) {
            let counters = &mut self.entry_mut(slot).counters;
            counters.stale = counters.stale.saturating_add(1);
        }
        Reply::Stale
    }
}
