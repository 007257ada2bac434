//! Every history of small worlds: none breaks a promise, and with a rule switched off the shortest
//! that does is found.

use rebalance_guard::Rule;
use rebalance_guard_sim::exhaustive::{Scope, go_on_alike, search};
use rebalance_guard_sim::oracle::check_trace;

use crate::support::core;

/// A line a world: states, steps and depth. A change of the core that changes a line changes what
/// can happen: look why, then take the new line.
const GOLDEN: &str = include_str!("exhaustive.txt");

fn world(name: &str) -> Scope {
    let world = Scope::small().into_iter().find(|scope| scope.name == name);
    world.unwrap_or_else(|| panic!("no world is called {name:?}"))
}

/// No promise breaks in the world, and it is as large as it was.
fn is_sound(name: &str) {
    let report = search(&world(name), None, |_| {}).unwrap_or_else(|found| panic!("{found}"));
    let line = format!("{name} {report}");
    assert!(GOLDEN.lines().any(|golden| golden == line), "exhaustive.txt says otherwise: {line}");
}

/// With the rule switched off the world breaks this promise, by no history of fewer steps; with the
/// rule on the same history is sound.
fn is_found(rule: Rule, promise: &str, name: &str, steps: usize) {
    let Err(found) = search(&world(name), Some(rule), |_| {}) else {
        panic!("{rule:?} switched off: nothing breaks in {name}");
    };
    assert_eq!((found.promise, found.trace.steps.len()), (promise, steps), "{found}");
    let config = found.trace.config;
    if let Err(broken) = check_trace(config, &found.trace, || core(config)) {
        panic!("with the rule on: {broken}\n{found}");
    }
}

#[test]
fn every_world_of_the_golden_file_is_searched() {
    let names: Vec<_> = Scope::small().iter().map(|scope| scope.name).collect();
    let golden: Vec<_> = GOLDEN.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, golden);
}

#[test]
fn two_records_of_one_partition_in_every_order_with_two_faults() {
    is_sound("two-records");
}

#[test]
fn three_records_of_one_partition_in_every_order() {
    is_sound("three-records");
}

#[test]
fn two_partitions_that_share_a_key_in_every_order() {
    is_sound("two-partitions");
}

#[test]
fn three_records_of_two_partitions_assigned_alone_or_together_with_a_fault() {
    is_sound("together");
}

#[test]
fn a_window_of_one_a_budget_of_two_and_one_key_remembered() {
    is_sound("tight");
}

#[test]
fn positions_of_every_kind_rewinds_gaps_and_group_offsets_with_a_fault() {
    is_sound("positions");
}

#[test]
fn what_commits_carry_is_told_to_the_next_owner() {
    is_sound("metadata");
}

#[test]
fn leases_keys_stalls_and_intervals_before_at_and_after_their_end() {
    is_sound("timers");
}

#[test]
fn two_records_at_every_deadline() {
    is_sound("timers-once");
}

#[test]
fn storms_hold_and_let_go_with_a_fault() {
    is_sound("storms");
}

#[test]
fn everything_at_once_in_every_history_of_four_steps() {
    is_sound("whole");
}

#[test]
fn states_that_count_as_one_go_on_alike() {
    for (name, one_in) in [("tight", 16), ("metadata", 16), ("storms", 16), ("timers-once", 32)] {
        match go_on_alike(&world(name), one_in) {
            Ok(compared) => assert!(compared > 10_000, "{name}: only {compared} compared"),
            Err(wrong) => panic!("{name}: {wrong}"),
        }
    }
}

#[test]
fn p1_a_draining_partition_that_admits_is_found() {
    is_found(Rule::P1, "P1", "two-records", 5);
}

#[test]
fn p2_a_commit_past_unfinished_work_is_found() {
    is_found(Rule::P2, "P2", "two-records", 3);
}

#[test]
fn p3_a_late_answer_that_brings_an_offer_back_is_found() {
    is_found(Rule::P3, "P8", "positions", 4);
}

#[test]
fn p4_a_loss_that_is_told_as_drained_is_found() {
    is_found(Rule::P4, "P4", "two-records", 3);
}

#[test]
fn p5_a_drain_without_an_end_is_found() {
    is_found(Rule::P5, "P5", "two-records", 4);
}

#[test]
fn p6_a_refused_record_that_is_counted_is_found() {
    is_found(Rule::P6, "P6", "two-records", 4);
}

#[test]
fn p7_a_held_record_that_is_not_owed_is_found() {
    is_found(Rule::P7, "P7", "positions", 5);
}

#[test]
fn p8_an_old_ticket_that_counts_is_found() {
    is_found(Rule::P8, "P8", "two-records", 4);
}

#[test]
fn p9_a_key_remembered_though_its_record_was_given_up_is_found() {
    is_found(Rule::P9, "P9", "two-records", 5);
}

#[test]
fn p10_time_that_goes_back_is_found() {
    is_found(Rule::P10, "P10", "two-records", 3);
}

#[test]
fn p12_an_alarm_that_is_told_without_end_is_found() {
    is_found(Rule::P12, "P12", "timers", 4);
}
