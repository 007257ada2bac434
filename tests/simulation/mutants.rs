//! For each promise: with its rule switched off the oracle's function of that promise catches the
//! guard; with the rule on the very same trace passes.

use rebalance_guard::{Config, Guard, Rule};
use rebalance_guard_sim::oracle::{self, Broken, check_trace};
use rebalance_guard_sim::{Heap, Model, Trace, random};

use crate::support::{STEPS, core};

/// A mutant that lives through so many seeds is not caught.
const SEEDS: u64 = 60;

fn mutant(config: Config, rule: Rule) -> Guard<Heap> {
    Guard::without(Heap::new(&config), config, rule).expect("the generator's settings are sound")
}

fn is_caught(rule: Rule, promise: &str, judge: impl Fn(&Trace) -> Result<(), Broken>) {
    for seed in 0..SEEDS {
        let config = random::config(seed);
        // Traces are made by driving the mutant, so that its own tickets are used.
        let (trace, _) = random::trace_on(seed, STEPS, config, &mut mutant(config, rule));
        if let Err(broken) = judge(&trace) {
            assert_eq!(broken.promise, promise, "{broken}");
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
    is_caught(Rule::P1, "P1", |trace| {
        oracle::p1_two_phase_fence(trace, || mutant(trace.config, Rule::P1))
    });
}

#[test]
fn p2_no_commit_past_unfinished_work_is_caught_when_switched_off() {
    is_caught(Rule::P2, "P2", |trace| {
        oracle::p2_no_commit_past_unfinished_work(trace, || mutant(trace.config, Rule::P2))
    });
}

#[test]
fn p3_marks_only_rise_is_caught_when_switched_off() {
    is_caught(Rule::P3, "P3", |trace| {
        oracle::p3_marks_only_rise(trace, || mutant(trace.config, Rule::P3))
    });
}

#[test]
fn p4_lost_means_nothing_more_is_caught_when_switched_off() {
    is_caught(Rule::P4, "P4", |trace| {
        oracle::p4_lost_means_nothing_more(trace, || mutant(trace.config, Rule::P4))
    });
}

#[test]
fn p5_every_revoke_ends_is_caught_when_switched_off() {
    is_caught(Rule::P5, "P5", |trace| {
        oracle::p5_every_revoke_ends(trace, || mutant(trace.config, Rule::P5))
    });
}

#[test]
fn p6_a_refused_input_leaves_no_trace_is_caught_when_switched_off() {
    is_caught(Rule::P6, "P6", |trace| {
        oracle::p6_a_refused_input_leaves_no_trace(trace, || mutant(trace.config, Rule::P6))
    });
}

#[test]
fn p7_no_record_vanishes_is_caught_when_switched_off() {
    is_caught(Rule::P7, "P7", |trace| {
        oracle::p7_no_record_vanishes(trace, || mutant(trace.config, Rule::P7))
    });
}

#[test]
fn p8_stale_is_inert_is_caught_when_switched_off() {
    is_caught(Rule::P8, "P8", |trace| {
        oracle::p8_stale_is_inert(trace, || mutant(trace.config, Rule::P8))
    });
}

#[test]
fn p9_dedupe_never_loses_work_is_caught_when_switched_off() {
    is_caught(Rule::P9, "P9", |trace| {
        oracle::p9_dedupe_never_loses_work(trace, || mutant(trace.config, Rule::P9))
    });
}

#[test]
fn p10_time_that_does_not_move_forward_is_caught_when_switched_off() {
    is_caught(Rule::P10, "P10", |trace| {
        oracle::p10_late_time_changes_nothing(trace, || mutant(trace.config, Rule::P10))
    });
}

#[test]
fn p11_one_behaviour_is_caught_when_one_of_two_engines_is_another() {
    is_caught(Rule::P2, "P11", |trace| {
        let (mut left, mut right) = (mutant(trace.config, Rule::P2), Model::new(trace.config));
        oracle::p11_one_behaviour(trace, &mut left, &mut right)
    });
}

#[test]
fn p12_bounded_is_caught_when_switched_off() {
    is_caught(Rule::P12, "P12", |trace| {
        oracle::p12_bounded(trace, || mutant(trace.config, Rule::P12))
    });
}
