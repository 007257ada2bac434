//! Who had which partition from when to when, out of a run's events.

use std::collections::BTreeMap;

use rebalance_guard::Phase;
use rebalance_guard_sim::group::{Callback, Happened};

use super::report::Arm;

/// How a member has a partition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Owned,
    Draining,
    Committing,
    /// Owned, and fetching stopped for want of room.
    Paused,
}

/// A state and its time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) state: State,
}

/// One member's history of one partition.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Row {
    pub(super) spans: Vec<Span>,
    /// When it was lost.
    pub(super) lost: Vec<u64>,
    /// When an effect took place, and whether it had before.
    pub(super) effects: Vec<(u64, bool)>,
    open: Option<(u64, State)>,
}

impl Row {
    fn turn(&mut self, at: u64, state: Option<State>) {
        if let Some((from, before)) = self.open.take() {
            if Some(before) == state {
                self.open = Some((from, before));
                return;
            }
            if from < at {
                self.spans.push(Span { from, to: at, state: before });
            }
        }
        self.open = state.map(|state| (at, state));
    }
}

/// One group's history.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// By member and partition; only what was ever owned.
    pub(super) rows: BTreeMap<(usize, u32), Row>,
    /// When partitions moved.
    pub(super) rebalances: Vec<u64>,
    pub(super) end: u64,
}

impl History {
    pub(super) fn of(arm: &Arm) -> Self {
        let mut history = Self { end: arm.outcome.ended_ms.max(1), ..Self::default() };
        // A group without guards has no phases: callbacks tell.
        let calls = Self::callbacks(arm);
        let mut calls = calls.into_iter().peekable();
        for moment in &arm.outcome.timeline {
            while let Some((at, member, call)) = calls.next_if(|call| call.0 <= moment.at) {
                history.call(at, member, &call, arm.guarded);
            }
            history.moment(moment.at, moment.member, moment.partition, moment.what);
        }
        for (at, member, call) in calls {
            history.call(at, member, &call, arm.guarded);
        }
        let end = history.end;
        history.rows.values_mut().for_each(|row| row.turn(end, None));
        history
    }

    /// Callbacks of all members in order of time.
    fn callbacks(arm: &Arm) -> Vec<(u64, usize, Callback)> {
        let mut calls = Vec::new();
        for (member, log) in arm.outcome.callback_log.iter().enumerate() {
            calls.extend(log.iter().map(|(at, call)| (*at, member, call.clone())));
        }
        calls.sort_by_key(|(at, member, _)| (*at, *member));
        calls
    }

    fn call(&mut self, at: u64, member: usize, call: &Callback, guarded: bool) {
        let (partitions, state, lost) = match call {
            Callback::Assign { partitions, .. } => (partitions, Some(State::Owned), false),
            Callback::Revoke { partitions, lost, .. } => (partitions, None, *lost),
            Callback::PollExceeded | Callback::Fatal => return,
        };
        if !partitions.is_empty() && self.rebalances.last() != Some(&at) {
            self.rebalances.push(at);
        }
        for partition in partitions {
            let row = self.rows.entry((member, *partition)).or_default();
            if guarded {
                continue;
            }
            if lost {
                row.lost.push(at);
            }
            row.turn(at, state);
        }
    }

    fn moment(&mut self, at: u64, member: usize, partition: Option<u32>, what: Happened) {
        let Some(partition) = partition else {
            if what == Happened::Running(false) {
                let of_member = self.rows.range_mut((member, 0)..=(member, u32::MAX));
                of_member.for_each(|(_, row)| row.turn(at, None));
            }
            return;
        };
        let row = self.rows.entry((member, partition)).or_default();
        match what {
            Happened::Phase(phase) => row.turn(at, state(phase)),
            Happened::Paused(true) => row.turn(at, Some(State::Paused)),
            Happened::Paused(false) => {
                if row.open.is_some_and(|(_, state)| state == State::Paused) {
                    row.turn(at, Some(State::Owned));
                }
            }
            Happened::Lost => row.lost.push(at),
            Happened::Effect { repeated } => row.effects.push((at, repeated)),
            Happened::Running(_) => {}
        }
    }
}

const fn state(phase: Phase) -> Option<State> {
    match phase {
        Phase::Active => Some(State::Owned),
        Phase::Draining => Some(State::Draining),
        Phase::Committing => Some(State::Committing),
        _ => None,
    }
}
