//! Time passes: what falls due is done in the order in which it falls due, loss first.
//!
//! | timer | its expiry means |
//! |---|---|
//! | lease | nobody polled: everything is lost, the host is asked to rejoin |
//! | deadline (Draining) | the drain is over, the assignment is sealed |
//! | deadline (Committing) | the last commit was not answered, the partition is released |
//! | offer | a commit went unanswered: it counts as to be retried |
//! | storm | the oldest rebalance leaves the window |
//!
//! Commits, retries, dead letters, stalls and poll budgets that become due change nothing by
//! themselves: they are computed when outputs are pulled.

use crate::flight::Status;
use crate::logic::{Logic, switched_off};
use crate::partition::Phase;
use crate::state::{NO_OFFSET, NO_SLOT};
use crate::{Event, Tick, WaitReason};

/// The earliest of two ticks, where `None` means never.
fn earlier(one: Option<Tick>, other: Option<Tick>) -> Option<Tick> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Logic<'_> {
    /// Lets time pass up to `now`. A tick before the last one is clamped to it and counted.
    pub(crate) fn pass_time(&mut self, now: Tick) {
        let mut now = now;
        if now < self.state.now {
            self.state.counters.late_ticks = self.state.counters.late_ticks.saturating_add(1);
            if switched_off!(self, P10) {
                self.state.now = now;
            }
            now = self.state.now;
        }
        if self.state.due.is_none_or(|due| due > now) {
            self.state.now = now;
            return;
        }
        while let Some(tick) = self.next_expiry().filter(|tick| *tick <= now) {
            self.state.now = tick.max(self.state.now);
            self.expire();
        }
        self.state.now = now;
        self.state.due = self.next_expiry();
        self.wake_for_outputs();
    }

    /// The earliest tick at which a timer of the table above expires.
    fn next_expiry(&self) -> Option<Tick> {
        let mut next = self.state.storm.expiry(&self.state.config);
        if self.state.owned_count > 0 {
            next = earlier(next, Some(self.state.lease_start.after(self.state.config.lease)));
        }
        let mut slot = self.state.owned.head;
        while slot != NO_SLOT {
            let entry = self.entry(slot);
            let waits = match entry.phase {
                Phase::Draining => !switched_off!(self, P5),
                Phase::Committing => true,
                Phase::Unowned | Phase::Active => false,
            };
            if waits {
                next = earlier(next, Some(entry.deadline));
            }
            next = earlier(next, entry.offer_timeout());
            slot = entry.next;
        }
        next
    }

    /// Does what falls due at the tick that is now.
    fn expire(&mut self) {
        let now = self.state.now;
        if self.state.owned_count > 0
            && self.state.lease_start.after(self.state.config.lease) <= now
        {
            self.expire_lease();
        }
        let mut slot = self.state.owned.head;
        while slot != NO_SLOT {
            let next = self.entry(slot).next;
            self.expire_partition(slot);
            slot = next;
        }
        self.state.storm.expire(now, &self.state.config);
        self.state_storm();
        if self.state.config.hold_in_storm {
            self.state.attend();
        }
    }

    fn expire_lease(&mut self) {
        self.state.counters.leases_expired = self.state.counters.leases_expired.saturating_add(1);
        if self.lose_all() {
            self.storm_counts_loss();
        }
        self.state_storm();
        self.note(Event::LeaseExpired);
        self.wait_is_for(WaitReason::LeaseExpired);
        self.state.lease_expired = true;
        self.state.rejoin = Some(self.rejoin_back_off());
        self.state.attend();
    }

    fn expire_partition(&mut self, slot: u32) {
        let now = self.state.now;
        let entry = self.entry(slot);
        match entry.phase {
            Phase::Draining if entry.deadline <= now => self.end_drain_if_due(slot),
            Phase::Committing if entry.deadline <= now => {
                self.end_committing(slot, false);
                return;
            }
            _ => {}
        }
        if self.entry(slot).offer_timeout().is_some_and(|due| due <= now) {
            self.offer_again_later(slot);
        }
    }

    /// Finds when the next output becomes due by time alone.
    fn wake_for_outputs(&mut self) {
        let now = self.state.now;
        self.schedule_poll_budget();
        let mut slot = self.state.owned.head;
        while slot != NO_SLOT {
            self.schedule_commit(slot);
            self.schedule_stall(slot);
            let entry = self.entry(slot);
            let (next, mut place) = (entry.next, entry.flights.head);
            while place != NO_SLOT {
                let flight = self.flight(place);
                if matches!(flight.status, Status::BackOff | Status::AwaitsDeadLetter) {
                    let due = flight.due;
                    if due <= now {
                        self.state.attend();
                    } else {
                        self.state.wake_at(due);
                    }
                }
                place = self.flight(place).next;
            }
            slot = next;
        }
    }
}

const _: () = assert!(NO_OFFSET > crate::Offset::MAX.value());
