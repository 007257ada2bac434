//! Rows of the tables, each written and read in one place.

use super::bytes::{In, Out};
use super::codes;
use crate::carried::{self, Carried};
use crate::flight::Flight;
use crate::key::Key;
use crate::memory::View;
use crate::partition::{BusyKey, Debt, PartitionEntry};
use crate::place::{self, PlaceState};
use crate::state::{NO_OFFSET, NO_SLOT, State};
use crate::storm::StormState;
use crate::{Config, Offset};

/// Fields of a row that are plain numbers, in both directions.
macro_rules! fields {
    ($save:ident, $load:ident, $type:ident { $($field:ident: $kind:ident),+ $(,)? }) => {
        fn $save(out: &mut Out<'_>, row: &$type) {
            $(out.$kind(row.$field);)+
        }

        fn $load(input: &mut In<'_>, row: &mut $type) -> Option<()> {
            $(row.$field = input.$kind()?;)+
            Some(())
        }
    };
}

fields!(
    save_entry_fields,
    load_entry_fields,
    PartitionEntry {
        assignment: u64,
        group: u64,
        resume: offset,
        last_admitted: offset,
        record_seen: flag,
        end_seen: flag,
        paused: flag,
        settled: offset,
        finished_any: flag,
        stuck_since: tick,
        stall_told: flag,
        epoch: u64,
        set_changed: flag,
        string_offered: u64,
        string_confirmed: u64,
        finished_since_offer: u32,
        last_offer_tick: tick,
        offered: offset,
        offered_highest: offset,
        open: offset,
        open_due: tick,
        again_at: maybe_tick,
        confirmed: offset,
        group_holds: flag,
        floor: u64,
        rejected: u8,
        deadline: tick,
        sealed_mark: offset,
    }
);
fields!(
    save_flight_fields,
    load_flight_fields,
    Flight {
        keyed: flag,
        attempts: u16,
        handed: u16,
        refusals: u16,
        copies: u32,
        admitted: u64,
        sequence: u64,
        due: tick,
    }
);

impl Out<'_> {
    fn offset(&mut self, offset: u64) {
        self.u64(offset);
    }
}

impl In<'_> {
    /// An offset, or none as all ones.
    fn offset(&mut self) -> Option<u64> {
        self.u64().filter(|offset| *offset <= Offset::MAX.value() || *offset == NO_OFFSET)
    }
}

/// What is kept of a partition whether it is owned or not.
pub(super) fn save_remembered(out: &mut Out<'_>, entry: &PartitionEntry) {
    codes::save_partition(out, entry.partition);
    out.u8(codes::phase(entry.phase));
    out.offset(entry.group_highest);
    out.offset(entry.ever_confirmed);
    out.u16(entry.fruitless);
    codes::save_partition_counters(out, &entry.counters);
}

pub(super) fn load_remembered(input: &mut In<'_>) -> Option<PartitionEntry> {
    Some(PartitionEntry {
        partition: codes::load_partition(input)?,
        phase: codes::to_phase(input.u8()?)?,
        group_highest: input.offset()?,
        ever_confirmed: input.offset()?,
        fruitless: input.u16()?,
        counters: codes::load_partition_counters(input)?,
        ..PartitionEntry::EMPTY
    })
}

pub(super) fn save_owned(out: &mut Out<'_>, entry: &PartitionEntry) {
    save_entry_fields(out, entry);
    out.u8(codes::start(entry.start));
    let debt = entry.debt.unwrap_or(Debt { offset: NO_OFFSET, busy: None, readmission: false });
    out.offset(debt.offset);
    out.flag(debt.readmission);
    out.u32(debt.busy.map_or(NO_SLOT, |busy| busy.place));
    out.u64(debt.busy.map_or(0, |busy| busy.admitted));
}

pub(super) fn load_owned(
    input: &mut In<'_>,
    config: &Config,
    entry: &mut PartitionEntry,
) -> Option<()> {
    load_entry_fields(input, entry)?;
    entry.start = codes::to_start(input.u8()?)?;
    let (offset, readmission) = (input.offset()?, input.flag()?);
    let (place, admitted) = (input.u32()?, input.u64()?);
    let busy = (place != NO_SLOT).then_some(BusyKey { place, admitted });
    if busy.is_some_and(|busy| busy.place >= config.window) || entry.assignment == 0 {
        return None;
    }
    entry.debt = (offset != NO_OFFSET).then_some(Debt { offset, busy, readmission });
    Some(())
}

pub(super) fn save_carried(
    out: &mut Out<'_>,
    state: &State,
    view: View<'_>,
    slot: u32,
    entry: &PartitionEntry,
) {
    let Carried { runs_end, next_at, start, end, epoch } = entry.carried;
    out.u16(runs_end);
    if runs_end > 0 {
        out.u16(next_at);
        out.u64(start);
        out.u64(end);
        out.u64(epoch);
        let text = carried::text_of(view, &state.config, slot);
        out.bytes(text.get(..usize::from(runs_end)).unwrap_or_default());
    }
}

/// What is carried, and the bytes of its string.
pub(super) fn load_carried<'a>(input: &mut In<'a>, config: &Config) -> Option<(Carried, &'a [u8])> {
    let runs_end = input.u16()?;
    if runs_end == 0 {
        return Some((Carried::NONE, &[]));
    }
    let (next_at, start, end, epoch) = (input.u16()?, input.u64()?, input.u64()?, input.u64()?);
    let text = input.bytes(usize::from(runs_end))?;
    let sound = runs_end <= config.metadata_max
        && next_at <= runs_end
        && start < end
        && end <= Offset::MAX.value();
    sound.then_some((Carried { runs_end, next_at, start, end, epoch }, text))
}

/// Places from the mark up; an open one with its record in flight.
pub(super) fn save_places(
    out: &mut Out<'_>,
    state: &State,
    view: View<'_>,
    slot: u32,
    entry: &PartitionEntry,
) {
    out.u32(entry.places);
    for (number, place) in place::all(view.places, state.config.budget, slot, entry) {
        out.u64(place.offset);
        match place.state {
            PlaceState::Finished => out.u8(0),
            PlaceState::Abandoned => out.u8(1),
            PlaceState::Open => {
                out.u8(2);
                save_flight_of(out, view, entry, number);
            }
        }
    }
}

/// The record in flight that has place `number`.
fn save_flight_of(out: &mut Out<'_>, view: View<'_>, entry: &PartitionEntry, number: u64) {
    let mut place = entry.flights.head;
    while let Some(flight) = view.flights.get(place as usize) {
        if flight.number == number {
            out.u32(place);
            save_flight(out, flight);
            return;
        }
        place = flight.next;
    }
    out.u32(NO_SLOT);
}

fn save_flight(out: &mut Out<'_>, flight: &Flight) {
    out.u8(codes::status(flight.status));
    out.u8(codes::kind(flight.kind));
    out.u8(codes::reason(flight.reason));
    save_flight_fields(out, flight);
    if flight.keyed {
        save_key(out, &flight.key);
    }
}

pub(super) fn load_flight(input: &mut In<'_>, config: &Config) -> Option<Flight> {
    let mut flight = Flight {
        status: codes::to_status(input.u8()?)?,
        kind: codes::to_kind(input.u8()?)?,
        reason: codes::to_reason(input.u8()?)?,
        ..Flight::EMPTY
    };
    load_flight_fields(input, &mut flight)?;
    if flight.keyed {
        flight.key = load_key(input, config)?;
    }
    Some(flight)
}

pub(super) fn save_key(out: &mut Out<'_>, key: &Key) {
    out.u32(key.namespace);
    out.flag(key.hashed);
    out.u8(key.len);
    out.bytes(key.stored());
}

pub(super) fn load_key(input: &mut In<'_>, config: &Config) -> Option<Key> {
    let (namespace, hashed, len) = (input.u32()?, input.flag()?, input.u8()?);
    Key::restored(input.bytes(usize::from(len))?, namespace, hashed, config)
}

pub(super) fn save_storm(out: &mut Out<'_>, storm: &StormState) {
    out.u8(codes::storm(storm.level()));
    out.u32(storm.last_generation());
    out.flag(storm.blind);
    out.flag(storm.pair_open);
    out.u16(storm.count);
    for event in storm.events() {
        out.tick(*event);
    }
}

pub(super) fn load_storm(input: &mut In<'_>) -> Option<StormState> {
    let level = codes::to_storm(input.u8()?)?;
    let last_generation = input.u32()?;
    let (blind, pair_open, count) = (input.flag()?, input.flag()?, input.u16()?);
    let mut storm = StormState::new();
    storm.level = level;
    storm.last_generation = last_generation;
    storm.blind = blind;
    storm.pair_open = pair_open;
    storm.set_events(count, || input.tick())?;
    Some(storm)
}
