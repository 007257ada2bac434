//! For each promise: with its rule switched off in every guard of the group, that is seen; with
//! the rule on, the very same groups are clean.

use rebalance_guard::Rule;
use rebalance_guard_sim::group::{Options, audit, run};

/// A mutant that lives through so many seeds is not caught.
const SEEDS: u64 = 200;

/// Whether the oracle, the group's own promises or a second run complain.
fn complains(options: &Options) -> bool {
    let outcome = run(options);
    outcome.broken.is_some() || !audit(options, &outcome).is_empty()
}

fn is_caught(rule: Rule) {
    for seed in 0..SEEDS {
        let sound = Options::random(seed);
        let mutant = Options { without: Some(rule), ..sound.clone() };
        if complains(&mutant) {
            assert!(!complains(&sound), "seed {seed} complains with the rule on as well");
            return;
        }
    }
    panic!("{rule:?} switched off: nothing was seen in {SEEDS} seeds");
}

#[test]
fn a_group_shows_that_p1_the_two_phase_fence_is_switched_off() {
    is_caught(Rule::P1);
}

#[test]
fn a_group_shows_that_p2_no_commit_past_unfinished_work_is_switched_off() {
    is_caught(Rule::P2);
}

#[test]
fn a_group_shows_that_p3_marks_only_rise_is_switched_off() {
    is_caught(Rule::P3);
}

#[test]
fn a_group_shows_that_p4_lost_means_nothing_more_is_switched_off() {
    is_caught(Rule::P4);
}

#[test]
fn a_group_shows_that_p5_every_revoke_ends_is_switched_off() {
    is_caught(Rule::P5);
}

#[test]
fn a_group_shows_that_p6_a_refused_input_leaves_no_trace_is_switched_off() {
    is_caught(Rule::P6);
}

#[test]
fn a_group_shows_that_p7_no_record_vanishes_is_switched_off() {
    is_caught(Rule::P7);
}

#[test]
fn a_group_shows_that_p8_stale_is_inert_is_switched_off() {
    is_caught(Rule::P8);
}

#[test]
fn a_group_shows_that_p9_dedupe_never_loses_work_is_switched_off() {
    is_caught(Rule::P9);
}

#[test]
fn a_group_shows_that_p10_time_that_does_not_move_forward_is_switched_off() {
    is_caught(Rule::P10);
}

#[test]
fn a_group_shows_that_p12_an_alarm_is_told_once_is_switched_off() {
    is_caught(Rule::P12);
}
