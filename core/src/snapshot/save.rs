//! The state, written in one order.

use super::bytes::Out;
use super::codes;
use super::rows;
use crate::memory::View;
use crate::partition::Phase;
use crate::state::{NO_SLOT, State};
use crate::{Config, HashKey, KeyPolicy};

pub(super) fn config(out: &mut Out<'_>, config: &Config) {
    let Config {
        partitions,
        window,
        keys,
        budget,
        attempts_max,
        backoff,
        backoff_cap,
        jitter,
        lease,
        commit_interval,
        commit_count,
        commit_timeout,
        commit_backoff,
        key_policy,
        storm_window,
        storm_rising,
        storm_at,
        storm_calm,
        hold_in_storm,
        stall_after,
        journal,
        metadata_max,
        key_age,
        epoch,
        first_assignment: _,
        jitter_seed,
        hash_key: HashKey(hash_key),
    } = config;
    for number in [partitions, window, keys, budget, commit_count, journal, epoch] {
        out.u32(*number);
    }
    for number in [attempts_max, storm_rising, storm_at, storm_calm, metadata_max] {
        out.u16(*number);
    }
    out.u8(*jitter);
    out.flag(*key_policy == KeyPolicy::Optional);
    out.flag(*hold_in_storm);
    let [k0, k1] = hash_key;
    let spans = [backoff, backoff_cap, lease, commit_interval, commit_timeout, commit_backoff];
    for number in spans.into_iter().chain([storm_window, stall_after, jitter_seed, k0, k1]) {
        out.u64(*number);
    }
    out.u64(key_age.unwrap_or(0));
}

pub(super) fn state(out: &mut Out<'_>, state: &State, view: View<'_>) {
    scalars(out, state);
    rows::save_storm(out, &state.storm);
    partitions(out, state, view);
    free_flights(out, state, view);
    finished_keys(out, state, view);
    reports(out, state, view);
    journal(out, state, view);
    codes::save_counters(out, &state.counters);
}

fn scalars(out: &mut Out<'_>, state: &State) {
    out.tick(state.now);
    out.u64(state.next_assignment);
    out.u64(state.next_sequence);
    out.tick(state.lease_start);
    out.flag(state.poll_budget_told);
    out.flag(state.lease_expired);
    out.flag(state.dead);
    out.u64(state.rejoin.unwrap_or(u64::MAX));
    out.tick(state.waiting.since);
    out.u8(codes::wait_reason(state.waiting.why));
    out.maybe_tick(state.due);
    out.u8(codes::stage(state.stage));
    out.u32(state.cursor);
    out.u32(state.flights_touched);
    out.u32(state.partitions_touched);
}

/// Every partition in table order, then the order of the two lists.
fn partitions(out: &mut Out<'_>, state: &State, view: View<'_>) {
    for slot in 0..state.partitions_touched {
        let Some(entry) = view.partitions.get(slot as usize) else {
            continue;
        };
        rows::save_remembered(out, entry);
        if entry.phase != Phase::Unowned {
            rows::save_owned(out, entry);
            rows::save_carried(out, state, view, slot, entry);
            rows::save_places(out, state, view, slot, entry);
        }
    }
    for head in [state.owned.head, state.remembered.head] {
        let mut slot = head;
        while let Some(entry) = view.partitions.get(slot as usize) {
            out.u32(slot);
            slot = entry.next;
        }
        out.u32(NO_SLOT);
    }
}

fn free_flights(out: &mut Out<'_>, state: &State, view: View<'_>) {
    let mut place = state.free_flights;
    while let Some(flight) = view.flights.get(place as usize) {
        out.u32(place);
        place = flight.next;
    }
    out.u32(NO_SLOT);
}

/// Oldest first, wherever the ring stands.
fn finished_keys(out: &mut Out<'_>, state: &State, view: View<'_>) {
    out.u32(state.finished_len);
    let used = view.finished_keys.get(..state.finished_len as usize).unwrap_or_default();
    let turn = if state.finished_len == state.config.keys { state.finished_next } else { 0 };
    let (newer, older) = used.split_at_checked(turn as usize).unwrap_or((used, &[]));
    for finished in older.iter().chain(newer) {
        out.tick(finished.at());
        rows::save_key(out, finished.key());
    }
}

fn reports(out: &mut Out<'_>, state: &State, view: View<'_>) {
    let mut place = state.reports.head;
    while let Some(report) = view.reports.get(place as usize) {
        out.u32(place);
        codes::save_report(out, report.output());
        place = report.next();
    }
    out.u32(NO_SLOT);
}

fn journal(out: &mut Out<'_>, state: &State, view: View<'_>) {
    for entry in crate::journal::entries(state, view) {
        out.flag(true);
        codes::save_journal(out, &entry);
    }
    out.flag(false);
}
