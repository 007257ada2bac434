//! Work that does not move, and polls that do not come.

use crate::admit::offset_of;
use crate::logic::{Logic, switched_off};
use crate::partition::{PartitionEntry, Phase};
use crate::state::State;
use crate::{Output, Tick};

impl PartitionEntry {
    const fn is_stuck(&self) -> bool {
        self.unfinished > 0 || self.debt.is_some()
    }

    /// When the stall is told, if nothing moves until then.
    fn stall_due(&self, stall_after: u64) -> Option<Tick> {
        let counts = matches!(self.phase, Phase::Active) && self.is_stuck() && !self.stall_told;
        counts.then(|| self.stuck_since.after(stall_after))
    }
}

impl State {
    /// When the poll budget is told, if nobody polls until then.
    pub(crate) fn poll_budget_due(&self) -> Option<Tick> {
        let lease = self.config.lease;
        let two_thirds = lease.saturating_sub(lease / 3);
        let counts = self.owned_count > 0 && !self.poll_budget_told;
        counts.then(|| self.lease_start.after(two_thirds))
    }

    /// The host polled, or began to own something.
    pub(crate) const fn lease_begins(&mut self) {
        self.lease_start = self.now;
        self.poll_budget_told = false;
    }
}

impl Logic<'_> {
    /// The mark moves, or the partition gets stuck from not stuck: the stall's clock starts anew.
    pub(crate) fn moves(&mut self, slot: u32) {
        let now = self.state.now;
        let entry = self.entry_mut(slot);
        entry.stuck_since = now;
        entry.stall_told = false;
        self.state.wake_at(now.after(self.state.config.stall_after));
    }

    /// Something is about to be unfinished or owed.
    pub(crate) fn gets_stuck(&mut self, slot: u32) {
        if !self.entry(slot).is_stuck() {
            self.moves(slot);
        }
    }

    /// Finds when the partition's stall falls due.
    pub(crate) fn schedule_stall(&mut self, slot: u32) {
        self.schedule(self.entry(slot).stall_due(self.state.config.stall_after));
    }

    /// Finds when the poll budget falls due.
    pub(crate) fn schedule_poll_budget(&mut self) {
        self.schedule(self.state.poll_budget_due());
    }

    /// An output falls due then.
    pub(crate) fn schedule(&mut self, due: Option<Tick>) {
        match due {
            Some(due) if due <= self.state.now => self.state.attend(),
            Some(due) => self.state.wake_at(due),
            None => {}
        }
    }

    pub(crate) fn pull_stall(&mut self, slot: u32) -> Option<Output> {
        let due = self.entry(slot).stall_due(self.state.config.stall_after)?;
        if due > self.state.now {
            return None;
        }
        let owed = self.entry(slot).debt.map_or(0, |debt| debt.offset);
        let seek = offset_of(self.running_mark(slot).unwrap_or(owed));
        let switched_off = switched_off!(self, P12);
        let entry = self.entry_mut(slot);
        entry.stall_told = !switched_off;
        let partition = entry.partition;
        self.state.counters.stalls = self.state.counters.stalls.saturating_add(1);
        Some(Output::Stalled { partition, seek })
    }

    pub(crate) fn pull_poll_budget(&mut self) -> Option<Output> {
        let until = self.state.lease_start.after(self.state.config.lease);
        if self.state.poll_budget_due()? > self.state.now || until <= self.state.now {
            return None;
        }
        self.state.poll_budget_told = true;
        self.state.counters.poll_budgets = self.state.counters.poll_budgets.saturating_add(1);
        Some(Output::PollBudget { until })
    }
}
