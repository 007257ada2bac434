//! What becomes of tickets.

use crate::flight::Status;
use crate::logic::{Logic, switched_off};
use crate::partition::Phase;
use crate::retry;
use crate::state::{NO_OFFSET, NO_SLOT};
use crate::{Answered, Ended, Event, Outcome, Reason, Tick, Ticket};

impl Logic<'_> {
    pub(crate) fn answer_at(&mut self, now: Tick, ticket: Ticket, outcome: Outcome) -> Answered {
        self.pass_time(now);
        let Some(place) = self.flight_of(ticket) else {
            return self.stale_answer(ticket);
        };
        let slot = self.flight(place).slot;
        match (outcome, self.flight(place).status) {
            (Outcome::Completed, Status::Running) => self.complete(place),
            (Outcome::DeadLettered, Status::Parking) => self.dead_lettered(place),
            (Outcome::Failed { permanent }, Status::Running) => self.fail(place, permanent),
            (Outcome::Failed { .. }, Status::Parking) => self.dead_letter_refused(place),
            (Outcome::Abandoned, _) => {
                self.state.counters.abandoned = self.state.counters.abandoned.saturating_add(1);
                self.give_up(place);
            }
            _ => return self.stale_answer(ticket),
        }
        if self.entry(slot).phase == Phase::Draining && self.entry(slot).in_hands == 0 {
            self.seal(slot, Ended::Drained);
            self.state_storm();
        }
        Answered::Done
    }

    fn stale_answer(&mut self, ticket: Ticket) -> Answered {
        self.state.counters.stale_answers = self.state.counters.stale_answers.saturating_add(1);
        self.note_entry(None, Some(ticket.assignment), NO_OFFSET, Event::StaleAnswer);
        let mut slot = self.state.owned.head;
        while slot != NO_SLOT {
            let entry = self.entry_mut(slot);
            if entry.assignment == ticket.assignment.value() {
                entry.counters.stale = entry.counters.stale.saturating_add(1);
                break;
            }
            slot = entry.next;
        }
        Answered::Stale
    }

    fn complete(&mut self, place: u32) {
        self.state.counters.completed = self.state.counters.completed.saturating_add(1);
        self.remember_key(place);
        self.finish_flight(place);
    }

    fn dead_lettered(&mut self, place: u32) {
        self.state.counters.dead_lettered = self.state.counters.dead_lettered.saturating_add(1);
        if switched_off!(self, P9) {
            self.remember_key(place);
        }
        self.forget_key(place);
        self.finish_flight(place);
    }

    fn finish_flight(&mut self, place: u32) {
        let flight = *self.flight(place);
        self.free_flight(place);
        self.finish_record(flight.slot, flight.number);
        self.schedule_commit(flight.slot);
    }

    /// A record that had a place is finished.
    pub(crate) fn finish_record(&mut self, slot: u32, number: u64) {
        self.finish_place(slot, number);
        let entry = self.entry_mut(slot);
        entry.finished_any = true;
        entry.finished_since_offer = entry.finished_since_offer.saturating_add(1);
        entry.counters.finished = entry.counters.finished.saturating_add(1);
        if entry.paused {
            self.state.attend();
        }
    }

    fn fail(&mut self, place: u32, permanent: bool) {
        self.state.counters.failed = self.state.counters.failed.saturating_add(1);
        let flight = *self.flight(place);
        if self.entry(flight.slot).phase == Phase::Draining {
            self.state.counters.given_up = self.state.counters.given_up.saturating_add(1);
            self.give_up(place);
            return;
        }
        let made = flight.attempts.saturating_add(1);
        let spent = made >= self.state.config.attempts_max;
        let due = if permanent || spent {
            self.state.now
        } else {
            self.state.now.after(retry::delay(&self.state.config, made, flight.sequence))
        };
        let flight = self.flight_mut(place);
        flight.attempts = made;
        flight.reason = if permanent { Reason::Permanent } else { Reason::AttemptsSpent };
        self.wait(
            place,
            if permanent || spent { Status::AwaitsDeadLetter } else { Status::BackOff },
            due,
        );
    }

    /// The dead-letter topic refused: asked again after back-off, counted, never a retry.
    fn dead_letter_refused(&mut self, place: u32) {
        self.state.counters.dead_letters_failed =
            self.state.counters.dead_letters_failed.saturating_add(1);
        let flight = *self.flight(place);
        if self.entry(flight.slot).phase == Phase::Draining {
            self.state.counters.given_up = self.state.counters.given_up.saturating_add(1);
            self.give_up(place);
            return;
        }
        let refusals = flight.refusals.saturating_add(1);
        self.flight_mut(place).refusals = refusals;
        let delay = retry::delay(&self.state.config, refusals, flight.sequence);
        self.wait(place, Status::AwaitsDeadLetter, self.state.now.after(delay));
    }

    /// Out of somebody's hands until `due`.
    fn wait(&mut self, place: u32, status: Status, due: Tick) {
        let flight = self.flight_mut(place);
        flight.status = status;
        flight.due = due;
        let slot = flight.slot;
        let entry = self.entry_mut(slot);
        entry.in_hands = entry.in_hands.saturating_sub(1);
        if due <= self.state.now {
            self.state.attend();
        } else {
            self.state.wake_at(due);
        }
    }

    /// The record will not run here (again): key and window are free, the offset holds the mark.
    pub(crate) fn give_up(&mut self, place: u32) {
        if switched_off!(self, P9) {
            self.remember_key(place);
        }
        self.forget_key(place);
        let flight = *self.flight(place);
        self.abandon_place(flight.slot, flight.number);
        self.free_flight(place);
    }
}
