//! Offsets that do not move forward, gaps, and starts below what was committed.

use rebalance_guard::{Answered, CommitAnswer, Reply};

use crate::support::World;

#[test]
fn a_background_rebalance_does_not_bring_back_the_position_of_the_assignment_before() {
    // B59 (confluentinc/librdkafka#2782)
    let mut world = World::new();
    world.assign("p0@100");
    for at in 100..150 {
        world.finish(&format!("p0:{at}"));
    }
    assert_eq!(world.commits(), ["p0=150"]);
    let old = world.ticket("p0:100");
    world.stored("p0:150").poll_until(2 * 86_400_000);
    world.assign_in(8, "p0@150").drain();
    assert_eq!(world.complete(old), Answered::Stale);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Retry), Reply::Stale);
    assert_eq!(world.mark("p0"), 150);
    assert_eq!(world.poll_until(3 * 86_400_000).commits(), Vec::<String>::new());
}

#[test]
fn records_delivered_again_by_a_resume_of_a_running_partition_are_not_run_again() {
    // B61 (confluentinc/librdkafka#4637)
    let mut world = World::new();
    world.assign("p0@100");
    for at in 100..150 {
        world.finish(&format!("p0:{at}"));
    }
    assert_eq!(world.admit("p0:120"), "refuse: not above 149, finished");
    assert_eq!(world.mark("p0"), 150);
}

#[test]
fn a_recreated_topic_needs_a_new_assign_and_the_old_number_is_never_committed_into_it() {
    // B64 (confluent-kafka-go#748)
    let mut world = World::new();
    world.assign("p0@2707875").finish("p0:2707875").commit_all();
    assert_eq!(world.admit("p0:0"), "refuse: not above 2707875, below resume");
    world.revoke("p0", 1_000).drain().assign_in(8, "p0@0");
    assert_eq!(world.outputs(), ["step back p0 2707876->0"]);
    assert_eq!(world.admit("p0:0"), "run");
    assert_eq!(world.commits(), Vec::<String>::new());
    world.complete(world.ticket("p0:0"));
    assert_eq!(world.commits(), ["p0=1"]);
}

#[test]
fn a_first_record_above_the_resume_position_is_admitted_and_the_gap_reported() {
    // B65 (confluentinc/parallel-consumer#409)
    let mut world = World::new();
    world.assign("p4@86321").finish("p4:88617");
    assert_eq!(world.outputs(), ["gap p4 86321..88617", "commit p4=88618"]);
}

#[test]
fn gaps_after_the_first_record_are_not_reported() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100 p0:105 p0:200");
    assert_eq!(world.outputs(), ["commit p0=201"]);
}

#[test]
fn what_was_kept_of_the_first_ownership_is_not_merged_into_the_second() {
    // B67 (apache/iceberg PR#17713)
    let mut world = World::new();
    world.assign("p0@100");
    for at in 100..110 {
        world.finish(&format!("p0:{at}"));
    }
    world.revoke("p0", 1_000).drain().assign("p0@100").drain();
    assert_eq!(world.mark("p0"), 100);
    for at in 100..110 {
        assert_eq!(world.mark("p0"), at);
        world.finish(&format!("p0:{at}"));
    }
    assert_eq!(world.commits(), ["p0=110"]);
}

#[test]
fn a_record_consumed_before_a_reset_without_a_rewind_is_refused_as_finished() {
    // B68 (confluentinc/confluent-kafka-javascript#417)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    assert_eq!(world.admit("p0:100"), "refuse: not above 100, finished");
    assert_eq!(world.admit("p0:101"), "run");
}

#[test]
fn the_guard_says_where_it_expects_the_next_record() {
    // B68 (confluentinc/confluent-kafka-javascript#528)
    let mut world = World::new();
    world.assign("p0@0");
    for at in 0..82 {
        world.finish(&format!("p0:{at}"));
    }
    assert_eq!(world.mark("p0"), 82);
    assert_eq!(world.progress("p0").unfinished, 0);
    assert_eq!(world.guard.in_flight(), 0);
}

#[test]
fn a_lower_offset_inside_one_ownership_is_refused_and_counted() {
    // B70 (confluentinc/confluent-kafka-go#95)
    let mut world = World::new();
    world.assign("p0@100");
    for at in 100..106 {
        world.run(&format!("p0:{at}"));
    }
    let before = world.progress("p0");
    assert_eq!(world.admit("p0:103"), "refuse: not above 105, in flight");
    assert_eq!(world.progress("p0"), before);
    assert_eq!(world.guard.counters().refused_regression, 1);
    world.complete(world.ticket("p0:103"));
    assert_eq!(world.admit("p0:103"), "refuse: not above 105, finished");
}

#[test]
fn a_regressing_offset_is_told_apart_by_what_is_known_of_it() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    world.run("p0:105");
    world.finish("p0:110");
    assert_eq!(world.admit("p0:99"), "refuse: not above 110, below resume");
    assert_eq!(world.admit("p0:100"), "refuse: not above 110, finished");
    assert_eq!(world.admit("p0:103"), "refuse: not above 110, finished");
    assert_eq!(world.admit("p0:105"), "refuse: not above 110, in flight");
    assert_eq!(world.admit("p0:107"), "refuse: not above 110, never seen");
    assert_eq!(world.admit("p0:110"), "refuse: not above 110, finished");
}

#[test]
fn with_nothing_admitted_the_last_offset_is_the_one_before_the_resume_position() {
    let mut world = World::new();
    world.assign("p0@100");
    assert_eq!(world.admit("p0:99"), "refuse: not above 99, below resume");
    assert_eq!(world.admit("p0:0"), "refuse: not above 99, below resume");
    assert_eq!(world.admit("p0:100"), "run");
}

#[test]
fn a_record_in_back_off_or_waiting_for_its_dead_letter_is_in_flight() {
    let mut world = World::new();
    world.assign("p0@100");
    let (retried, spent) = (world.run("p0:100"), world.run("p0:101"));
    world.fail(retried);
    world.fail_permanently(spent);
    assert_eq!(world.admit("p0:100"), "refuse: not above 101, in flight");
    assert_eq!(world.admit("p0:101"), "refuse: not above 101, in flight");
}

#[test]
fn the_same_record_delivered_twice_gets_one_ticket() {
    // B83 (PostHog/posthog PR#95009)
    let mut world = World::new();
    world.assign("p0@100");
    let (first, second) = (world.run("p0:100"), world.run("p0:101"));
    world.assign("p9@0");
    assert_eq!(world.admit("p0:101"), "refuse: not above 101, in flight");
    assert_eq!(world.complete(second), Answered::Done);
    assert_eq!(world.admit("p0:101"), "refuse: not above 101, finished");
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.complete(first), Answered::Done);
    assert_eq!(world.commits(), ["p0=102"]);
    world.stored("p0:102");
    assert_eq!(world.admit("p0:101"), "refuse: not above 101, finished");
    assert_eq!(world.admit("p0:102"), "run");
}

#[test]
fn the_same_keyed_record_delivered_twice_is_skipped_and_changes_nothing() {
    // B83 (PostHog/posthog PR#95009)
    let mut world = World::new();
    world.assign("p0@100");
    let (first, second) = (world.run("p0:100=a"), world.run("p0:101=b"));
    assert_eq!(world.admit("p0:101=b"), "skip: in flight");
    assert_eq!(world.progress("p0").unfinished, 2);
    world.complete(second);
    assert_eq!(world.admit("p0:101=b"), "skip: finished");
    assert_eq!(world.mark("p0"), 100);
    world.complete(first);
    assert_eq!(world.commits(), ["p0=102"]);
}

#[test]
fn a_record_of_an_old_prefetch_and_one_of_the_new_fetch_share_one_ticket() {
    // B86 (dpkp/kafka-python#497)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100").revoke("p0", 1_000);
    assert_eq!(world.commits(), ["p0=101"]);
    world.stored("p0:101").assign("p0@101");
    assert_eq!(world.admit("p0:101"), "run");
    assert_eq!(world.admit("p0:101"), "refuse: not above 101, in flight");
}

#[test]
fn a_start_below_what_was_committed_is_obeyed_and_reported() {
    // B82 (jepsen.io, Bufstream 0.1.0)
    let mut world = World::new();
    world.assign("p0@500").finish("p0:500").commit_all().revoke("p0", 1_000).drain();
    world.assign_in(8, "p0@0");
    assert_eq!(world.outputs(), ["step back p0 501->0"]);
    world.finish("p0:0");
    assert_eq!(world.outputs(), ["commit p0=1"]);
}

#[test]
fn a_late_position_below_what_was_committed_is_reported_too() {
    let mut world = World::new();
    world.assign("p0@500").finish("p0:500").commit_all().revoke("p0", 1_000).drain();
    world.assign_in(8, "p0@?");
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.position("p0@at:300", 2), Ok(Reply::Done));
    assert_eq!(world.outputs(), ["step back p0 501->300"]);
}

#[test]
fn a_start_at_what_was_committed_is_no_step_back() {
    let mut world = World::new();
    world.assign("p0@500").finish("p0:500").commit_all().revoke("p0", 1_000).drain();
    world.assign_in(8, "p0@501");
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn a_start_below_what_was_committed_is_reported_without_a_revoke_too() {
    let mut world = World::new();
    world.assign("p0@500").finish("p0:500").commit_all().assign_in(8, "p0@100");
    assert_eq!(world.outputs(), ["sealed p0 #1: lost, mark 501, left 0", "step back p0 501->100"]);
}
