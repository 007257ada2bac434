//! Outputs, computed from state when pulled, in one fixed order.

use crate::admit::offset_of;
use crate::flight::Status;
use crate::logic::{Logic, switched_off};
use crate::partition::{BusyKey, Debt, Phase, Start};
use crate::state::{NO_SLOT, Stage};
use crate::{Output, TicketKind};

impl Logic<'_> {
    /// The next output; remembers how far it got, so that a whole pull visits each partition once a
    /// kind.
    pub(crate) fn next_output(&mut self) -> Option<Output> {
        loop {
            let (output, next) = match self.state.stage {
                Stage::Rejoin => {
                    let rejoin = self.state.rejoin.take();
                    (rejoin.map(|back_off| Output::Rejoin { back_off }), Stage::Reports)
                }
                Stage::Reports => (self.pull_report(), Stage::Commits),
                Stage::Commits => (self.walk(Self::pull_commit), Stage::Pauses),
                Stage::Pauses => (self.walk(Self::pull_pause), Stage::Retries),
                Stage::Retries => (self.walk(Self::pull_retry), Stage::Stalls),
                Stage::Stalls => (self.walk(Self::pull_stall), Stage::PollBudget),
                Stage::PollBudget => (self.pull_poll_budget(), Stage::Drained),
                Stage::Drained => return None,
            };
            if output.is_some() {
                return output;
            }
            self.state.stage = next;
            self.state.cursor = self.state.owned.head;
        }
    }

    /// Goes on from the cursor, partitions by time of assign, to the first that has an output.
    fn walk(&mut self, pull: fn(&mut Self, u32) -> Option<Output>) -> Option<Output> {
        while self.state.cursor != NO_SLOT {
            let slot = self.state.cursor;
            let output = pull(self, slot);
            if output.is_some() {
                return output;
            }
            self.state.cursor = self.entry(slot).next;
        }
        None
    }

    fn pull_commit(&mut self, slot: u32) -> Option<Output> {
        let due = self.offer_due(slot)?;
        if due > self.state.now {
            self.state.wake_at(due);
            return None;
        }
        if !self.is_news(slot) {
            return None;
        }
        let (offset, metadata) = self.offer(slot);
        let partition = self.entry(slot).partition;
        Some(Output::Commit { partition, offset, token: self.token(slot), metadata })
    }

    fn pull_pause(&mut self, slot: u32) -> Option<Output> {
        let entry = self.entry(slot);
        if entry.phase != Phase::Active {
            return None;
        }
        let (partition, paused) = (entry.partition, entry.paused);
        if !paused && self.wants_pause(slot) {
            self.entry_mut(slot).paused = true;
            self.state.paused_count = self.state.paused_count.saturating_add(1);
            return Some(Output::Pause(partition));
        }
        if paused && self.may_resume(slot) {
            self.entry_mut(slot).paused = false;
            self.state.paused_count = self.state.paused_count.saturating_sub(1);
            return Some(Output::Resume(partition));
        }
        None
    }

    fn wants_pause(&self, slot: u32) -> bool {
        if let Some(debt) = self.entry(slot).debt {
            return !self.payable(slot, debt);
        }
        !self.state.window_has_room() || !self.budget_has_room(slot) || self.state.storm_holds()
    }

    fn may_resume(&self, slot: u32) -> bool {
        if let Some(debt) = self.entry(slot).debt {
            return self.payable(slot, debt);
        }
        let config = &self.state.config;
        three_quarters(self.state.in_flight, config.window)
            && three_quarters(self.entry(slot).places, config.budget)
            && !self.state.storm_holds()
    }

    /// Whether the held record would find what it was held for, and room, if offered again.
    fn payable(&self, slot: u32, debt: Debt) -> bool {
        !debt.busy.is_some_and(|busy| self.is_busy(busy))
            && self.entry(slot).start != Start::Unknown
            && self.state.window_has_room()
            && (debt.readmission || self.budget_has_room(slot))
            && !self.state.storm_holds()
    }

    fn is_busy(&self, busy: BusyKey) -> bool {
        let flight = self.flight(busy.place);
        flight.status != Status::Free && flight.admitted == busy.admitted
    }

    fn pull_retry(&mut self, slot: u32) -> Option<Output> {
        let entry = self.entry(slot);
        let issues = entry.phase == Phase::Active
            || (entry.phase == Phase::Draining && switched_off!(self, P1));
        let mut place = if issues { entry.flights.head } else { NO_SLOT };
        while place != NO_SLOT {
            let flight = self.flight(place);
            let waits = matches!(flight.status, Status::BackOff | Status::AwaitsDeadLetter);
            if waits && flight.due <= self.state.now {
                return Some(self.retry(place));
            }
            place = flight.next;
        }
        None
    }

    fn retry(&mut self, place: u32) -> Output {
        let flight = *self.flight(place);
        let partition = self.entry(flight.slot).partition;
        let offset = offset_of(flight.offset);
        let counters = &mut self.state.counters;
        if flight.status == Status::BackOff {
            counters.retried = counters.retried.saturating_add(1);
            let ticket = self.hand_out(place, TicketKind::Run);
            return Output::Retry { ticket, partition, offset };
        }
        counters.dead_letters_asked = counters.dead_letters_asked.saturating_add(1);
        let ticket = self.hand_out(place, TicketKind::DeadLetter);
        let (reason, copies) = (flight.reason, flight.copies);
        Output::DeadLetter { ticket, partition, offset, reason, copies }
    }
}

/// Whether at most three quarters of the room are used.
const fn three_quarters(used: u32, room: u32) -> bool {
    (used as u64).saturating_mul(4) <= (room as u64).saturating_mul(3)
}
