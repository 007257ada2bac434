//! The state, read in the order in which it was written. Whatever could contradict itself is made
//! anew or checked: the bytes may be anybody's.

use super::bytes::In;
use super::codes;
use super::rows;
use crate::flight::{Flight, Status};
use crate::journal::JournalSlot;
use crate::logic::Logic;
use crate::partition::Phase;
use crate::place::{Place, PlaceState};
use crate::state::NO_SLOT;
use crate::window::{FinishedKey, Known};
use crate::{Offset, Tick, WaitReason, Waiting};

pub(super) fn state(input: &mut In<'_>, logic: &mut Logic<'_>) -> Option<()> {
    scalars(input, logic)?;
    logic.state.storm = rows::load_storm(input)?;
    for slot in 0..logic.state.partitions_touched {
        partition(input, logic, slot)?;
    }
    owned_list(input, logic)?;
    remembered_list(input, logic)?;
    free_flights(input, logic)?;
    finished_keys(input, logic)?;
    reports(input, logic)?;
    journal(input, logic)?;
    logic.state.counters = codes::load_counters(input)?;
    cursor_is_sound(logic)
}

fn scalars(input: &mut In<'_>, logic: &mut Logic<'_>) -> Option<()> {
    let state = &mut *logic.state;
    state.now = input.tick()?;
    state.next_assignment = input.u64()?;
    state.next_sequence = input.u64()?;
    state.lease_start = input.tick()?;
    state.poll_budget_told = input.flag()?;
    state.lease_expired = input.flag()?;
    state.dead = input.flag()?;
    state.rejoin = Some(input.u64()?).filter(|back_off| *back_off != u64::MAX);
    let since = input.tick()?;
    state.waiting = Waiting { since, why: codes::to_wait_reason(input.u8()?)? };
    state.due = input.maybe_tick()?;
    state.stage = codes::to_stage(input.u8()?)?;
    state.cursor = input.u32()?;
    state.flights_touched = input.u32()?;
    state.partitions_touched = input.u32()?;
    let fits = state.flights_touched <= state.config.window
        && state.partitions_touched <= state.config.partitions
        && state.next_assignment != 0;
    fits.then_some(())
}

fn partition(input: &mut In<'_>, logic: &mut Logic<'_>, slot: u32) -> Option<()> {
    let mut entry = rows::load_remembered(input)?;
    if logic.find(entry.partition).is_some() || entry.partition.index < 0 {
        return None;
    }
    if entry.phase != Phase::Unowned {
        rows::load_owned(input, &logic.state.config, &mut entry)?;
        let (carried, text) = rows::load_carried(input, &logic.state.config)?;
        entry.carried = carried;
        logic.keep_text(slot, text);
    }
    if entry.assignment >= logic.state.next_assignment {
        return None;
    }
    let owned = entry.phase != Phase::Unowned;
    *logic.entry_mut(slot) = entry;
    logic.index_partition(slot);
    logic.count_restored(slot);
    if owned { places(input, logic, slot) } else { Some(()) }
}

fn places(input: &mut In<'_>, logic: &mut Logic<'_>, slot: u32) -> Option<()> {
    let count = input.u32()?;
    if count > logic.state.config.budget {
        return None;
    }
    let mut above = None;
    for number in 0..u64::from(count) {
        let offset = input.u64()?;
        if offset > Offset::RECORD_MAX.value() || above.is_some_and(|above| offset <= above) {
            return None;
        }
        above = Some(offset);
        let state = match input.u8()? {
            0 => PlaceState::Finished,
            1 => PlaceState::Abandoned,
            2 => PlaceState::Open,
            _ => return None,
        };
        logic.restore_place(slot, Place { offset, state });
        if state == PlaceState::Open {
            flight(input, logic, slot, number, offset)?;
        }
    }
    let entry = logic.entry(slot);
    let moving = matches!(entry.phase, Phase::Active | Phase::Draining);
    let sound = above.is_none_or(|above| entry.last_admitted == above)
        && (entry.phase == Phase::Active || !entry.paused)
        && !(moving && logic.lowest_is_finished(slot));
    sound.then_some(())
}

/// One record in flight, hung in its partition by order of admission.
fn flight(
    input: &mut In<'_>,
    logic: &mut Logic<'_>,
    slot: u32,
    number: u64,
    offset: u64,
) -> Option<()> {
    let place = input.u32()?;
    let flight = rows::load_flight(input, &logic.state.config)?;
    let free = place < logic.state.flights_touched && logic.flight(place).status == Status::Free;
    let waits = matches!(flight.status, Status::BackOff | Status::AwaitsDeadLetter);
    let committing = logic.entry(slot).phase == Phase::Committing;
    if !free || flight.status == Status::Free || committing || !(waits || flight.in_hands()) {
        return None;
    }
    if flight.keyed && matches!(logic.known(&flight.key), Known::InFlight(_)) {
        return None;
    }
    logic.restore_flight(place, Flight { slot, number, offset, ..flight });
    Some(())
}

fn owned_list(input: &mut In<'_>, logic: &mut Logic<'_>) -> Option<()> {
    list(input, logic, |logic, slot| {
        let owned = logic.entry(slot).phase != Phase::Unowned;
        owned.then(|| logic.join_owned_quietly(slot))
    })?;
    Some(())
}

fn remembered_list(input: &mut In<'_>, logic: &mut Logic<'_>) -> Option<()> {
    list(input, logic, |logic, slot| {
        let remembered = logic.entry(slot).phase == Phase::Unowned;
        remembered.then(|| logic.join_remembered(slot))
    })?;
    let listed = logic.state.owned_count.checked_add(logic.state.remembered_count)?;
    (listed == logic.state.partitions_touched).then_some(())
}

/// Slots up to the end mark, each once.
fn list(
    input: &mut In<'_>,
    logic: &mut Logic<'_>,
    mut join: impl FnMut(&mut Logic<'_>, u32) -> Option<()>,
) -> Option<()> {
    loop {
        let slot = input.u32()?;
        if slot == NO_SLOT {
            return Some(());
        }
        if slot >= logic.state.partitions_touched || logic.entry(slot).named {
            return None;
        }
        join(logic, slot)?;
        logic.entry_mut(slot).named = true;
    }
}

fn free_flights(input: &mut In<'_>, logic: &mut Logic<'_>) -> Option<()> {
    let mut last = NO_SLOT;
    let mut free: u32 = 0;
    loop {
        let place = input.u32()?;
        if place == NO_SLOT {
            break;
        }
        let unused = place < logic.state.flights_touched
            && logic.flight(place).status == Status::Free
            && logic.flight(place).slot == NO_SLOT;
        if !unused {
            return None;
        }
        // Marks it as listed until the end.
        logic.flight_mut(place).slot = place;
        if last == NO_SLOT {
            logic.state.free_flights = place;
        } else {
            logic.flight_mut(last).next = place;
        }
        last = place;
        free = free.checked_add(1)?;
    }
    for place in 0..logic.state.flights_touched {
        let flight = logic.flight_mut(place);
        if flight.status == Status::Free {
            flight.slot = NO_SLOT;
        }
    }
    let all = free.checked_add(logic.state.in_flight)?;
    (all == logic.state.flights_touched).then_some(())
}

fn finished_keys(input: &mut In<'_>, logic: &mut Logic<'_>) -> Option<()> {
    let count = input.u32()?;
    if count > logic.state.config.keys {
        return None;
    }
    for place in 0..count {
        let at = input.tick()?;
        let key = rows::load_key(input, &logic.state.config)?;
        logic.restore_finished(place, FinishedKey::of(key, at));
    }
    Some(())
}

fn reports(input: &mut In<'_>, logic: &mut Logic<'_>) -> Option<()> {
    loop {
        let place = input.u32()?;
        if place == NO_SLOT {
            return Some(());
        }
        let output = codes::load_report(input)?;
        logic.restore_report(place, output)?;
    }
}

fn journal(input: &mut In<'_>, logic: &mut Logic<'_>) -> Option<()> {
    let mut count: u32 = 0;
    while input.flag()? {
        let entry = codes::load_journal(input)?;
        if count >= logic.state.config.journal {
            return None;
        }
        *logic.parts.journal.get_mut(count as usize)? = JournalSlot { entry: Some(entry) };
        count = count.saturating_add(1);
    }
    logic.state.journal_next = if count >= logic.state.config.journal { 0 } else { count };
    Some(())
}

/// Pulling goes on at an owned partition, or nowhere.
fn cursor_is_sound(logic: &mut Logic<'_>) -> Option<()> {
    for slot in 0..logic.state.partitions_touched {
        logic.entry_mut(slot).named = false;
    }
    let cursor = logic.state.cursor;
    let sound = cursor == NO_SLOT
        || (cursor < logic.state.partitions_touched && logic.entry(cursor).phase != Phase::Unowned);
    sound.then_some(())
}

impl Logic<'_> {
    /// The clock goes on at `now`; one that is behind is another clock, under which nothing that
    /// was owned can be vouched for.
    pub(super) fn resume_clock(&mut self, now: Tick) {
        if now == self.state.now {
            return;
        }
        if now > self.state.now {
            self.pass_time(now);
            return;
        }
        self.state.now = now;
        self.state.storm.forget();
        self.restart_keys();
        let owned = self.lose_all();
        self.state_storm();
        if owned {
            self.state.rejoin = Some(self.rejoin_back_off());
        }
        self.wait_is_for(WaitReason::Lost);
        self.state.waiting.since = now;
        self.state.due = None;
        self.state.attend();
    }
}
