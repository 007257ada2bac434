//! Completion tracking: one ring of places a partition, in offset order, from the completion mark
//! up. Records may finish in any order; the mark moves when the lowest one does.

use crate::logic::Logic;
use crate::metadata::Run;
use crate::partition::PartitionEntry;
use crate::state::NO_OFFSET;

/// What became of a record at or above the mark.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum PlaceState {
    /// In flight: in somebody's hands, in back-off, or waiting for its dead letter.
    Open,
    Finished,
    /// Given up by the host; holds the mark, may be admitted again.
    Abandoned,
}

/// The place of one record at or above its partition's completion mark.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Place {
    pub(crate) offset: u64,
    pub(crate) state: PlaceState,
}

impl Place {
    /// An unused place.
    pub const EMPTY: Self = Self { offset: 0, state: PlaceState::Finished };
}

fn place_index(budget: u32, slot: u32, number: u64) -> usize {
    let budget = u64::from(budget).max(1);
    let within = number.checked_rem(budget).unwrap_or(0);
    let index = u64::from(slot).saturating_mul(budget).saturating_add(within);
    usize::try_from(index).unwrap_or(usize::MAX)
}

fn place_at(places: &[Place], budget: u32, slot: u32, number: u64) -> Place {
    places.get(place_index(budget, slot, number)).copied().unwrap_or(Place::EMPTY)
}

/// The completion mark of an assignment that is not sealed, `NO_OFFSET` when unknown.
pub(crate) fn mark(places: &[Place], budget: u32, slot: u32, entry: &PartitionEntry) -> u64 {
    if entry.places > 0 {
        place_at(places, budget, slot, entry.first_place).offset
    } else {
        entry.settled
    }
}

/// Every place in use, in offset order, with its number.
pub(crate) fn all<'a>(
    places: &'a [Place],
    budget: u32,
    slot: u32,
    entry: &PartitionEntry,
) -> impl Iterator<Item = (u64, Place)> + 'a {
    let first = entry.first_place;
    (0..u64::from(entry.places)).map(move |nth| {
        let number = first.wrapping_add(nth);
        (number, place_at(places, budget, slot, number))
    })
}

/// Offsets finished above the mark, each a run of one.
pub(crate) fn finished<'a>(
    places: &'a [Place],
    budget: u32,
    slot: u32,
    entry: &PartitionEntry,
) -> impl Iterator<Item = Run> + 'a {
    all(places, budget, slot, entry)
        .map(|(_, place)| place)
        .filter(|place| place.state == PlaceState::Finished)
        .map(|place| Run { start: place.offset, end: place.offset.saturating_add(1) })
}

impl Logic<'_> {
    fn place(&self, slot: u32, number: u64) -> Place {
        place_at(self.parts.places, self.state.config.budget, slot, number)
    }

    fn set_place(&mut self, slot: u32, number: u64, place: Place) {
        let index = place_index(self.state.config.budget, slot, number);
        if let Some(entry) = self.parts.places.get_mut(index) {
            *entry = place;
        }
    }

    /// The completion mark while the assignment is not sealed.
    pub(crate) fn running_mark(&self, slot: u32) -> Option<u64> {
        let mark = mark(self.parts.places, self.state.config.budget, slot, self.entry(slot));
        (mark != NO_OFFSET).then_some(mark)
    }

    /// Adds the next record, which must lie above every other; gives its place number.
    pub(crate) fn push_place(&mut self, slot: u32, offset: u64) -> u64 {
        self.gets_stuck(slot);
        let entry = self.entry_mut(slot);
        let number = entry.first_place.wrapping_add(u64::from(entry.places));
        let moves_mark = entry.places == 0 && entry.settled != offset;
        entry.places = entry.places.saturating_add(1);
        entry.unfinished = entry.unfinished.saturating_add(1);
        self.set_place(slot, number, Place { offset, state: PlaceState::Open });
        if moves_mark {
            self.moves(slot);
        }
        number
    }

    /// A place as a snapshot tells it, above those restored before.
    pub(crate) fn restore_place(&mut self, slot: u32, place: Place) {
        let entry = self.entry_mut(slot);
        let number = u64::from(entry.places);
        entry.places = entry.places.saturating_add(1);
        let unfinished = u32::from(place.state != PlaceState::Finished);
        entry.unfinished = entry.unfinished.saturating_add(unfinished);
        self.set_place(slot, number, place);
    }

    /// The record finished; the mark moves past every finished record from the bottom up.
    pub(crate) fn finish_place(&mut self, slot: u32, number: u64) {
        let finished = Place { state: PlaceState::Finished, ..self.place(slot, number) };
        self.set_place(slot, number, finished);
        let entry = self.entry_mut(slot);
        entry.unfinished = entry.unfinished.saturating_sub(1);
        let mut moved = false;
        while self.entry(slot).places > 0 {
            let lowest = self.place(slot, self.entry(slot).first_place);
            if lowest.state != PlaceState::Finished {
                break;
            }
            let entry = self.entry_mut(slot);
            entry.settled = lowest.offset.saturating_add(1);
            entry.first_place = entry.first_place.wrapping_add(1);
            entry.places = entry.places.saturating_sub(1);
            moved = true;
        }
        if moved {
            self.moves(slot);
        }
        self.entry_mut(slot).set_changed = true;
    }

    /// Whether the lowest place is finished: the mark would have moved past it.
    pub(crate) fn lowest_is_finished(&self, slot: u32) -> bool {
        let entry = self.entry(slot);
        entry.places > 0 && self.place(slot, entry.first_place).state == PlaceState::Finished
    }

    pub(crate) fn abandon_place(&mut self, slot: u32, number: u64) {
        let place = Place { state: PlaceState::Abandoned, ..self.place(slot, number) };
        self.set_place(slot, number, place);
    }

    pub(crate) fn reopen_place(&mut self, slot: u32, number: u64) {
        let place = Place { state: PlaceState::Open, ..self.place(slot, number) };
        self.set_place(slot, number, place);
    }

    /// The place of `offset` at or above the mark, if it was admitted.
    pub(crate) fn find_place(&self, slot: u32, offset: u64) -> Option<(u64, PlaceState)> {
        let entry = self.entry(slot);
        let (mut low, mut high) = (0, u64::from(entry.places));
        while low < high {
            let middle = low.midpoint(high);
            let number = entry.first_place.wrapping_add(middle);
            let place = self.place(slot, number);
            if place.offset == offset {
                return Some((number, place.state));
            }
            if place.offset < offset {
                low = middle.saturating_add(1);
            } else {
                high = middle;
            }
        }
        None
    }
}
