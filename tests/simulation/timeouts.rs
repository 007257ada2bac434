//! A host that sleeps until `poll_timeout` misses nothing and never spins.

use rebalance_guard::{Guard, Output, Tick};
use rebalance_guard_sim::{Heap, Runner, random};

use crate::support::{STEPS, core, for_each_seed, seeds};

/// What a guard says when told only that it is `now`.
fn outputs_at(guard: &Guard<Heap>, now: Tick) -> (Guard<Heap>, Vec<Output>) {
    let mut guard = guard.clone();
    guard.handle_timeout(now);
    let outputs = std::iter::from_fn(|| guard.poll_output()).take(1_000).collect();
    (guard, outputs)
}

/// One tick before the promised time, or far ahead when nothing is promised.
fn just_before(due: Option<Tick>) -> Option<Tick> {
    match due {
        Some(due) => Tick::new(due.value().checked_sub(1)?),
        None => Tick::new(Tick::MAX.value() - 1),
    }
}

#[test]
fn nothing_falls_due_before_poll_timeout_says() {
    for_each_seed(seeds(500), |seed| {
        let trace = random::trace(seed, STEPS);
        let (mut guard, mut runner) = (core(trace.config), Runner::default());
        for (number, step) in trace.steps.iter().enumerate() {
            runner.step(&mut guard, &trace.partitions, step);
            let due = guard.poll_timeout();
            let Some(early) = just_before(due).filter(|early| *early > guard.now()) else {
                continue;
            };
            let (_, outputs) = outputs_at(&guard, early);
            if !outputs.is_empty() {
                return Some(format!("{trace}after step {number} due {due:?}: {outputs:?}"));
            }
        }
        None
    });
}

#[test]
fn waking_when_poll_timeout_says_leaves_nothing_due() {
    for_each_seed(seeds(500), |seed| {
        let trace = random::trace(seed, STEPS);
        if trace.config.commit_timeout == 0 || trace.config.storm_window == 0 {
            // Due again at the very tick of its making, as the settings ask.
            return None;
        }
        let (mut guard, mut runner) = (core(trace.config), Runner::default());
        for (number, step) in trace.steps.iter().enumerate() {
            runner.step(&mut guard, &trace.partitions, step);
            let Some(due) = guard.poll_timeout().filter(|due| *due < Tick::MAX) else { continue };
            let (after, _) = outputs_at(&guard, due.max(guard.now()));
            if after.poll_timeout().is_some_and(|next| next <= after.now()) {
                return Some(format!("{trace}after step {number} a host would spin at {due:?}"));
            }
        }
        None
    });
}
