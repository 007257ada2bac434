//! For each promise: with its rule switched off the oracle catches the guard, naming that promise;
//! with the rule on the very same trace passes.

use rebalance_guard::{Config, Guard, Rule};
use rebalance_guard_sim::oracle::{check_all, check_trace};
use rebalance_guard_sim::{Heap, random};

use crate::support::{STEPS, core};

/// A mutant that lives through so many seeds is not caught.
const SEEDS: u64 = 60;

fn mutant(config: Config, rule: Rule) -> Guard<Heap> {
    Guard::without(Heap::new(&config), config, rule).expect("the generator's settings are sound")
}

fn is_caught(rule: Rule, promise: &str) {
    for seed in 0..SEEDS {
        let config = random::config(seed);
        // Traces are made by driving the mutant, so that its own tickets are used.
        let (trace, _) = random::trace_on(seed, STEPS, config, &mut mutant(config, rule));
        let (_, broken) = check_all(config, &trace, || mutant(config, rule));
        if broken.iter().any(|broken| broken.promise == promise) {
            if let Err(broken) = check_trace(config, &trace, || core(config)) {
                panic!("with the rule on: {broken}\n{trace}");
            }
            return;
        }
    }
    panic!("{rule:?} switched off: {promise} was not seen to break in {SEEDS} seeds");
}

#[test]
fn p1_two_phase_fence_is_caught_when_switched_off() {
    is_caught(Rule::P1, "P1");
}

#[test]
fn p2_no_commit_past_unfinished_work_is_caught_when_switched_off() {
    is_caught(Rule::P2, "P2");
}

#[test]
fn p3_marks_only_rise_is_caught_when_switched_off() {
    is_caught(Rule::P3, "P3");
}

#[test]
fn p4_lost_means_nothing_more_is_caught_when_switched_off() {
    is_caught(Rule::P4, "P4");
}

#[test]
fn p5_every_revoke_ends_is_caught_when_switched_off() {
    is_caught(Rule::P5, "P5");
}

#[test]
fn p6_a_refused_input_leaves_no_trace_is_caught_when_switched_off() {
    is_caught(Rule::P6, "P6");
}

#[test]
fn p7_no_record_vanishes_is_caught_when_switched_off() {
    is_caught(Rule::P7, "P7");
}

#[test]
fn p8_stale_is_inert_is_caught_when_switched_off() {
    is_caught(Rule::P8, "P8");
}

#[test]
fn p9_dedupe_never_loses_work_is_caught_when_switched_off() {
    is_caught(Rule::P9, "P9");
}

#[test]
fn p10_time_that_does_not_move_forward_is_caught_when_switched_off() {
    is_caught(Rule::P10, "P10");
}
