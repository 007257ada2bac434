//! What is watched: work that does not move, polls that do not come, nothing owned.

use rebalance_guard::{Output, Partition, Phase, Tick, WaitReason, Waiting};

use super::Model;
use super::own::{self, Own, later};

impl Own {
    fn is_stuck(&self) -> bool {
        self.unfinished() > 0 || self.owed.is_some()
    }
}

impl Model {
    /// [`rebalance_guard::Guard::waiting`].
    pub fn waiting(&self) -> Option<Waiting> {
        self.owned().is_empty().then_some(self.waiting)
    }

    /// Nothing is owned any more, and why.
    pub(super) fn waits_for(&mut self, why: WaitReason) {
        if self.owned().is_empty() {
            self.waiting.why = why;
        }
    }

    pub(super) fn begins_to_wait(&mut self) {
        if self.owned().is_empty() {
            let since = Tick::new(self.now).unwrap_or(Tick::MAX);
            self.waiting = Waiting { since, why: WaitReason::Revoked };
        }
    }

    /// After every change: a mark with another value, or something to do after nothing, starts the
    /// stall's clock anew.
    pub(super) fn watch(&mut self) {
        let now = self.now;
        for slot in self.slots.values_mut() {
            let Some(own) = slot.own.as_mut() else { continue };
            let (mark, stuck) = (own.mark(), own.is_stuck());
            if mark != own.watched.0 || (stuck && !own.watched.1) {
                own.stuck_since = now;
                own.stall_told = false;
            }
            own.watched = (mark, stuck);
        }
    }

    pub(super) fn next_stall(&mut self, partition: Partition) -> Option<Output> {
        let (now, after) = (self.now, self.config.stall_after);
        let own = self.own_mut(partition).filter(|own| own.phase == Phase::Active)?;
        if !own.is_stuck() || own.stall_told || now < later(own.stuck_since, after) {
            return None;
        }
        own.stall_told = true;
        let owed = own.owed.as_ref().map(|debt| debt.offset);
        let seek = own::offset(own.mark().or(owed)?);
        Some(Output::Stalled { partition, seek })
    }

    pub(super) fn next_poll_budget(&mut self) -> Option<Output> {
        let start = self.lease?;
        let lease = self.config.lease;
        let end = later(start, lease);
        if self.budget_told || self.now < later(start, lease - lease / 3) || self.now >= end {
            return None;
        }
        self.budget_told = true;
        Some(Output::PollBudget { until: Tick::new(end).unwrap_or(Tick::MAX) })
    }
}
