//! Records in flight: one place each from the first ticket until finished, dead-lettered or given
//! up. A partition's hang together in order of admission.

use crate::key::Key;
use crate::logic::{Logic, switched_off};
use crate::memory::View;
use crate::state::NO_SLOT;
use crate::{Assignment, Reason, Tick, Ticket, TicketKind};

/// What a record in flight waits for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Status {
    Free,
    /// In a worker's hands.
    Running,
    /// In the dead-letter producer's hands.
    Parking,
    /// Retried when due.
    BackOff,
    /// To be dead-lettered when due.
    AwaitsDeadLetter,
}

/// One record in flight.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Flight {
    pub(crate) status: Status,
    /// Kind of the ticket handed out last.
    pub(crate) kind: TicketKind,
    pub(crate) reason: Reason,
    pub(crate) keyed: bool,
    pub(crate) attempts: u16,
    /// The attempt that the last ticket names.
    pub(crate) handed: u16,
    pub(crate) refusals: u16,
    pub(crate) slot: u32,
    pub(crate) prev: u32,
    pub(crate) next: u32,
    pub(crate) copies: u32,
    /// Its place in the partition's completion tracking.
    pub(crate) number: u64,
    pub(crate) offset: u64,
    /// Sequence of the first ticket: names the admission.
    pub(crate) admitted: u64,
    /// Sequence of the ticket handed out last.
    pub(crate) sequence: u64,
    pub(crate) due: Tick,
    pub(crate) key: Key,
}

impl Flight {
    /// An unused place.
    pub const EMPTY: Self = Self {
        status: Status::Free,
        kind: TicketKind::Run,
        reason: Reason::AttemptsSpent,
        keyed: false,
        attempts: 0,
        handed: 0,
        refusals: 0,
        slot: NO_SLOT,
        prev: NO_SLOT,
        next: NO_SLOT,
        copies: 0,
        number: 0,
        offset: 0,
        admitted: 0,
        sequence: 0,
        due: Tick::ZERO,
        key: Key::EMPTY,
    };

    pub(crate) const fn in_hands(&self) -> bool {
        matches!(self.status, Status::Running | Status::Parking)
    }
}

/// Whether the ticket is the one in somebody's hands for a record of a current assignment.
pub(crate) fn is_live(view: View<'_>, ticket: Ticket) -> bool {
    let Some(flight) = view.flights.get(ticket.place as usize) else {
        return false;
    };
    let Some(entry) = view.partitions.get(flight.slot as usize) else {
        return false;
    };
    flight.in_hands()
        && flight.sequence == ticket.sequence
        && flight.kind == ticket.kind
        && flight.handed == ticket.attempt
        && entry.assignment == ticket.assignment.value()
}

impl Logic<'_> {
    #[allow(clippy::indexing_slicing, reason = "places come from the table itself")]
    pub(crate) fn flight(&self, place: u32) -> &Flight {
        &self.parts.flights[place as usize]
    }

    #[allow(clippy::indexing_slicing, reason = "places come from the table itself")]
    pub(crate) fn flight_mut(&mut self, place: u32) -> &mut Flight {
        &mut self.parts.flights[place as usize]
    }

    /// The record that an answer with `ticket` is about, if that ticket is the last handed out.
    pub(crate) fn flight_of(&self, ticket: Ticket) -> Option<u32> {
        if ticket.place >= self.state.config.window {
            return None;
        }
        let flight = self.parts.flights.get(ticket.place as usize)?;
        if flight.status == Status::Free || flight.kind != ticket.kind {
            return None;
        }
        let last = flight.sequence == ticket.sequence
            && flight.handed == ticket.attempt
            && self.entry(flight.slot).assignment == ticket.assignment.value();
        (last || switched_off!(self, P8)).then_some(ticket.place)
    }

    /// A place in flight for a record of `slot`; the caller has checked the window.
    pub(crate) fn take_flight(&mut self, slot: u32) -> u32 {
        let place = if self.state.free_flights == NO_SLOT {
            let place = self.state.flights_touched;
            self.state.flights_touched = place.saturating_add(1);
            place
        } else {
            let place = self.state.free_flights;
            self.state.free_flights = self.flight(place).next;
            place
        };
        let tail = self.entry(slot).flights.tail;
        *self.flight_mut(place) = Flight { slot, prev: tail, ..Flight::EMPTY };
        self.link_flight(slot, place);
        self.state.in_flight = self.state.in_flight.saturating_add(1);
        place
    }

    /// A record in flight as a snapshot tells it, hung in by order of admission.
    pub(crate) fn restore_flight(&mut self, place: u32, flight: Flight) {
        let slot = flight.slot;
        let mut prev = self.entry(slot).flights.tail;
        while prev != NO_SLOT && self.flight(prev).admitted > flight.admitted {
            prev = self.flight(prev).prev;
        }
        let ends = &mut self.entry_mut(slot).flights;
        let next = if prev == NO_SLOT { ends.head } else { self.flight(prev).next };
        *self.flight_mut(place) = Flight { prev, next, ..flight };
        self.link_flight(slot, place);
        self.reserve_key(place);
        self.state.in_flight = self.state.in_flight.saturating_add(1);
        let entry = self.entry_mut(slot);
        entry.in_hands = entry.in_hands.saturating_add(u32::from(flight.in_hands()));
    }

    /// Tells the neighbours of a record in flight of it.
    fn link_flight(&mut self, slot: u32, place: u32) {
        let (prev, next) = (self.flight(place).prev, self.flight(place).next);
        if prev == NO_SLOT {
            self.entry_mut(slot).flights.head = place;
        } else {
            self.flight_mut(prev).next = place;
        }
        if next == NO_SLOT {
            self.entry_mut(slot).flights.tail = place;
        } else {
            self.flight_mut(next).prev = place;
        }
    }

    /// Frees the place of a record that is finished or given up. Its key must be settled before.
    pub(crate) fn free_flight(&mut self, place: u32) {
        let flight = *self.flight(place);
        if flight.prev == NO_SLOT {
            self.entry_mut(flight.slot).flights.head = flight.next;
        } else {
            self.flight_mut(flight.prev).next = flight.next;
        }
        if flight.next == NO_SLOT {
            self.entry_mut(flight.slot).flights.tail = flight.prev;
        } else {
            self.flight_mut(flight.next).prev = flight.prev;
        }
        if flight.in_hands() {
            let entry = self.entry_mut(flight.slot);
            entry.in_hands = entry.in_hands.saturating_sub(1);
        }
        *self.flight_mut(place) = Flight { next: self.state.free_flights, ..Flight::EMPTY };
        self.state.free_flights = place;
        self.state.in_flight = self.state.in_flight.saturating_sub(1);
        self.room_made();
    }

    /// Hands out a ticket for the record at `place`.
    pub(crate) fn hand_out(&mut self, place: u32, kind: TicketKind) -> Ticket {
        let sequence = self.state.next_sequence;
        self.state.next_sequence = sequence.wrapping_add(1);
        let flight = self.flight_mut(place);
        flight.status = match kind {
            TicketKind::Run => Status::Running,
            TicketKind::DeadLetter => Status::Parking,
        };
        flight.kind = kind;
        flight.sequence = sequence;
        flight.handed = flight.attempts;
        let (slot, attempt) = (flight.slot, flight.attempts);
        let entry = self.entry_mut(slot);
        entry.in_hands = entry.in_hands.saturating_add(1);
        let assignment = entry.assignment;
        Ticket { place, assignment: assignment_of(assignment), sequence, attempt, kind }
    }

    /// A place in flight became free: paused partitions may go on.
    fn room_made(&mut self) {
        if self.state.paused_count > 0 {
            self.state.attend();
        }
    }
}

/// An owned entry's assignment; 1 stands in for the 0 that owned entries never have.
pub(crate) fn assignment_of(value: u64) -> Assignment {
    Assignment::new(value).unwrap_or(Assignment::FIRST)
}
