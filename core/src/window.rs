//! The dedupe window: the last K finished keys, exact, first in first out by finish time and
//! up to an age limit, plus the
//! reserved ones, which live in their record's place in flight and are never evicted.

use crate::Tick;
use crate::index;
use crate::key::Key;
use crate::logic::Logic;

/// A remembered key.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FinishedKey {
    key: Key,
    /// When its record finished.
    at: Tick,
}

impl FinishedKey {
    /// An empty place.
    pub const EMPTY: Self = Self { key: Key::EMPTY, at: Tick::ZERO };
}

impl FinishedKey {
    pub(crate) const fn of(key: Key, at: Tick) -> Self {
        Self { key, at }
    }

    pub(crate) const fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) const fn at(&self) -> Tick {
        self.at
    }
}

/// What the window knows of a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Known {
    No,
    Finished,
    /// Reserved by this record in flight.
    InFlight(u32),
}

impl Logic<'_> {
    pub(crate) fn known(&self, key: &Key) -> Known {
        let flights = &self.parts.flights;
        let reserved = index::find(self.parts.reserved_index, key.hash, |place| {
            flights.get(place as usize).is_some_and(|flight| flight.key.same(key))
        });
        if let Some(place) = reserved {
            return Known::InFlight(place);
        }
        let finished = &self.parts.finished_keys;
        let remembered = index::find(self.parts.finished_index, key.hash, |place| {
            finished
                .get(place as usize)
                .is_some_and(|entry| entry.key.same(key) && !self.is_old(entry))
        });
        if remembered.is_some() { Known::Finished } else { Known::No }
    }

    /// Whether the age limit has made the key unknown. It keeps its place until its turn comes.
    const fn is_old(&self, finished: &FinishedKey) -> bool {
        match self.state.config.key_age {
            Some(age) => self.state.now.since(finished.at) >= age,
            None => false,
        }
    }

    /// The key of the record in flight at `place` is its own from now on.
    pub(crate) fn reserve_key(&mut self, place: u32) {
        let flight = self.flight(place);
        if flight.keyed {
            let hash = flight.key.hash;
            index::insert(self.parts.reserved_index, hash, place);
        }
    }

    /// Forgets the key of the record in flight at `place`.
    pub(crate) fn forget_key(&mut self, place: u32) {
        let flight = self.flight(place);
        if flight.keyed {
            let hash = flight.key.hash;
            let flights = &self.parts.flights;
            index::remove(self.parts.reserved_index, hash, place, |other| {
                flights.get(other as usize).map_or(0, |flight| flight.key.hash)
            });
            self.flight_mut(place).keyed = false;
        }
    }

    /// The record in flight at `place` finished: its key is remembered, the oldest one evicted.
    pub(crate) fn remember_key(&mut self, place: u32) {
        let flight = self.flight(place);
        if !flight.keyed {
            return;
        }
        let key = flight.key;
        self.forget_key(place);
        let capacity = self.state.config.keys;
        if capacity == 0 {
            return;
        }
        let position = self.state.finished_next;
        if self.state.finished_len == capacity {
            self.evict_key(position);
        } else {
            self.state.finished_len = self.state.finished_len.saturating_add(1);
        }
        if let Some(entry) = self.parts.finished_keys.get_mut(position as usize) {
            *entry = FinishedKey { key, at: self.state.now };
        }
        index::insert(self.parts.finished_index, key.hash, position);
        let next = position.saturating_add(1);
        self.state.finished_next = if next >= capacity { 0 } else { next };
    }

    /// The next-younger remembered key, as a snapshot tells it.
    pub(crate) fn restore_finished(&mut self, place: u32, finished: FinishedKey) {
        if let Some(entry) = self.parts.finished_keys.get_mut(place as usize) {
            *entry = finished;
        }
        index::insert(self.parts.finished_index, finished.key.hash, place);
        let next = place.saturating_add(1);
        self.state.finished_len = next;
        self.state.finished_next = if next >= self.state.config.keys { 0 } else { next };
    }

    /// Under another clock, every remembered key is as old as nothing.
    pub(crate) fn restart_keys(&mut self) {
        for finished in &mut *self.parts.finished_keys {
            finished.at = self.state.now;
        }
    }

    fn evict_key(&mut self, position: u32) {
        let finished = &self.parts.finished_keys;
        let hash_of = |place: u32| {
            finished.get(place as usize).map_or(0, |entry: &FinishedKey| entry.key.hash)
        };
        index::remove(self.parts.finished_index, hash_of(position), position, hash_of);
        self.state.counters.keys_evicted = self.state.counters.keys_evicted.saturating_add(1);
    }
}
