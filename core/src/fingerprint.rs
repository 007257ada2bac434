//! What of a guard decides its future, as a hash: for searches that must know a state again.
//!
//! Two guards of one configuration with equal fingerprints answer every history alike, ticks,
//! assignments and ticket sequences read as distances. Left out is what no call reads back:
//! counters, journal, since when nothing is owned, the fields of entries that are not owned, and
//! how the tables are laid out where it cannot be seen. So is [`Guard::poll_timeout`], a bound
//! that [`Guard::look_again`] makes exact.

use core::hash::{Hash, Hasher};

use crate::flight::Status;
use crate::memory::View;
use crate::partition::{Debt, PartitionEntry, Phase};
use crate::state::{NO_OFFSET, NO_SLOT, State};
use crate::{Guard, Memory, Tick, place};

impl<M: Memory> Guard<M> {
    /// Hashes what decides the future of this guard. Pull its outputs before: reports that wait are
    /// not looked into. Jitter must be 0: it depends on the number of tickets handed out.
    #[doc(hidden)]
    pub fn fingerprint(&self, hasher: &mut impl Hasher) {
        let (state, view) = self.seen();
        Print { state, view, hasher }.guard();
    }

    /// Makes a call at the last tick look at every timer, as if something were due. A guard whose
    /// outputs were pulled finds nothing; [`Guard::poll_timeout`] is exact after it.
    #[doc(hidden)]
    pub fn look_again(&mut self) {
        let state = self.logic().state;
        let now = state.now;
        state.due = Some(now);
        self.handle_timeout(now);
    }
}

struct Print<'a, H> {
    state: &'a State,
    view: View<'a>,
    hasher: &'a mut H,
}

impl<H: Hasher> Print<'_, H> {
    fn guard(&mut self) {
        let state = self.state;
        (state.dead, state.lease_expired, state.rejoin, state.stage).hash(self.hasher);
        (state.in_flight, state.flights_touched, state.partitions_touched).hash(self.hasher);
        let storm = &state.storm;
        (storm.level, storm.count, storm.last_generation()).hash(self.hasher);
        (storm.blind, storm.pair_open, storm.stuck).hash(self.hasher);
        for event in storm.events() {
            self.until(event.after(state.config.storm_window));
        }
        if state.owned_count > 0 {
            self.until(state.lease_start.after(state.config.lease));
            state.poll_budget_told.hash(self.hasher);
        }
        self.entries();
        self.free_flights();
        self.finished_keys();
    }

    /// A tick by its distance; what is due, however long, is due.
    fn until(&mut self, tick: Tick) {
        let distance = if tick == Tick::MAX { u64::MAX } else { tick.since(self.state.now) };
        distance.hash(self.hasher);
    }

    fn entries(&mut self) {
        for (head, owned) in [(self.state.owned.head, true), (self.state.remembered.head, false)] {
            let mut slot = head;
            while let Some(entry) = self.view.partitions.get(slot as usize) {
                (slot, entry.partition, entry.fruitless).hash(self.hasher);
                (entry.group_highest, entry.ever_confirmed).hash(self.hasher);
                if owned {
                    self.owned(slot, entry);
                }
                slot = entry.next;
            }
            NO_SLOT.hash(self.hasher);
        }
    }

    fn owned(&mut self, slot: u32, entry: &PartitionEntry) {
        (entry.phase, entry.named, entry.group, entry.start).hash(self.hasher);
        (entry.resume, entry.last_admitted, entry.settled).hash(self.hasher);
        (entry.record_seen, entry.end_seen, entry.paused).hash(self.hasher);
        (entry.unfinished, entry.in_hands, entry.finished_any).hash(self.hasher);
        self.debt(entry.debt);
        self.places(slot, entry);
        self.commits(slot, entry);
        if entry.phase == Phase::Active && (entry.unfinished > 0 || entry.debt.is_some()) {
            self.until(entry.stuck_since.after(self.state.config.stall_after));
            entry.stall_told.hash(self.hasher);
        }
        if matches!(entry.phase, Phase::Draining | Phase::Committing) {
            self.until(entry.deadline);
        }
        if entry.phase == Phase::Committing {
            entry.sealed_mark.hash(self.hasher);
        }
        self.flights(entry);
    }

    /// The record whose key a held one waits for counts only while it is in flight.
    fn debt(&mut self, debt: Option<Debt>) {
        let Some(debt) = debt else { return };
        let busy = debt.busy.filter(|busy| {
            let flight = self.view.flights.get(busy.place as usize);
            flight.is_some_and(|f| f.status != Status::Free && f.admitted == busy.admitted)
        });
        (debt.offset, debt.readmission, busy.map(|busy| busy.place)).hash(self.hasher);
    }

    fn places(&mut self, slot: u32, entry: &PartitionEntry) {
        entry.places.hash(self.hasher);
        for (_, place) in place::all(self.view.places, self.state.config.budget, slot, entry) {
            place.hash(self.hasher);
        }
    }

    fn commits(&mut self, slot: u32, entry: &PartitionEntry) {
        let config = &self.state.config;
        (entry.carried, entry.ignored, entry.epoch, entry.set_changed).hash(self.hasher);
        let runs = ..usize::from(entry.carried.runs_end);
        crate::carried::text_of(self.view, config, slot).get(runs).hash(self.hasher);
        (entry.string_offered, entry.string_confirmed).hash(self.hasher);
        entry.finished_since_offer.min(config.commit_count).hash(self.hasher);
        self.until(entry.last_offer_tick.after(config.commit_interval));
        (entry.offered, entry.offered_highest, entry.open).hash(self.hasher);
        if entry.open != NO_OFFSET {
            self.until(entry.open_due);
        }
        entry.again_at.is_some().hash(self.hasher);
        if let Some(again_at) = entry.again_at {
            self.until(again_at);
        }
        (entry.confirmed, entry.group_holds, entry.floor, entry.rejected).hash(self.hasher);
        entry.reoffer.hash(self.hasher);
    }

    /// Records in flight in their order, with where their tickets point.
    fn flights(&mut self, entry: &PartitionEntry) {
        let mut place = entry.flights.head;
        while let Some(flight) = self.view.flights.get(place as usize) {
            (place, flight.status, flight.kind, flight.reason).hash(self.hasher);
            (flight.attempts, flight.handed, flight.refusals).hash(self.hasher);
            (flight.copies, flight.offset, flight.keyed).hash(self.hasher);
            flight.number.wrapping_sub(entry.first_place).hash(self.hasher);
            if flight.keyed {
                flight.key.hash(self.hasher);
            }
            if matches!(flight.status, Status::BackOff | Status::AwaitsDeadLetter) {
                self.until(flight.due);
            }
            place = flight.next;
        }
    }

    /// Which places the next records get.
    fn free_flights(&mut self) {
        let mut place = self.state.free_flights;
        while let Some(flight) = self.view.flights.get(place as usize) {
            place.hash(self.hasher);
            place = flight.next;
        }
    }

    /// Oldest first.
    fn finished_keys(&mut self) {
        let state = self.state;
        let capacity = state.config.keys as usize;
        let ring = self.view.finished_keys.get(..capacity).unwrap_or_default();
        let full = state.finished_len as usize == capacity;
        let oldest = if full { state.finished_next as usize } else { 0 };
        let (newer, older) = ring.split_at_checked(oldest).unwrap_or((ring, &[]));
        let len = state.finished_len;
        for finished in older.iter().chain(newer).take(len as usize) {
            finished.key().hash(self.hasher);
            if let Some(age) = state.config.key_age {
                self.until(finished.at().after(age));
            }
        }
        len.hash(self.hasher);
    }
}
