//! Acting on a partition that is not owned.

use rebalance_guard::{Answered, Reply};

use crate::support::World;

#[test]
fn a_stray_record_of_the_previous_assignment_is_refused_and_changes_nothing() {
    // B01 (confluentinc/librdkafka#1359)
    let mut world = World::new();
    world.assign("p0@100 p1@100").finish("p1:100").commit_all();
    world.revoke("p0 p1", 1_000);
    assert_eq!(
        world.outputs(),
        ["sealed p0 #1: drained, mark 100, left 0", "sealed p1 #2: drained, mark 101, left 0"]
    );
    world.assign("p0@100");
    let before = world.progress("p0");
    assert_eq!(world.admit("p1:101"), "refuse: not owned");
    assert_eq!(world.progress("p0"), before);
    assert!(!world.owns("p1"));
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn buffered_records_that_no_worker_began_are_abandoned_at_the_revoke_and_never_count() {
    // B02 (akka/alpakka-kafka#872)
    let mut world = World::new();
    world.assign("p0@100");
    let begun = world.run("p0:100");
    let waiting: Vec<_> = (101..105).map(|at| world.run(&format!("p0:{at}"))).collect();
    world.revoke("p0", 20_000);
    for &ticket in &waiting {
        assert_eq!(world.abandon(ticket), Answered::Done);
        assert!(!world.guard.is_live(ticket));
    }
    assert!(world.guard.is_live(begun));
    assert_eq!(world.complete(begun), Answered::Done);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 4", "commit p0=101"]);
    for &ticket in &waiting {
        assert_eq!(world.complete(ticket), Answered::Stale);
    }
}

#[test]
fn a_record_before_its_assign_is_refused_and_the_jump_over_it_is_reported() {
    // B04 (microsoft/FluidFramework PR#4063)
    let mut world = World::new();
    assert_eq!(world.admit("p0:100"), "refuse: not owned");
    world.assign("p0@100").finish("p0:101");
    assert_eq!(world.outputs(), ["gap p0 100..101", "commit p0=102"]);
}

#[test]
fn a_host_that_reads_from_the_resume_position_loses_nothing_that_was_refused_before() {
    // B04 (microsoft/FluidFramework PR#4063)
    let mut world = World::new();
    assert_eq!(world.admit("p0:100"), "refuse: not owned");
    world.assign("p0@100").finish("p0:100 p0:101");
    assert_eq!(world.outputs(), ["commit p0=102"]);
}

#[test]
fn records_below_the_resume_position_are_never_run_again() {
    // B05 (segmentio/kafka-go#1398)
    let mut world = World::new();
    world.assign("p0@100");
    for at in 100..111 {
        world.finish(&format!("p0:{at}"));
    }
    assert_eq!(world.commits(), ["p0=111"]);
    world.stored("p0:111").revoke("p0", 1_000).assign("p0@111").drain();
    assert_eq!(world.admit("p0:105"), "refuse: not above 110, below resume");
    assert_eq!(world.admit("p0:106"), "refuse: not above 110, below resume");
    assert_eq!(world.mark("p0"), 111);
    assert_eq!(world.admit("p0:111"), "run");
    assert_eq!(world.commits(), Vec::<String>::new());
}

#[test]
fn a_worker_that_outlives_its_ownership_can_ask_and_hears_that_it_is_over() {
    // B07 (tulios/kafkajs#1097)
    let mut world = World::new();
    world.assign("p0@100");
    let first = world.run("p0:100");
    assert!(world.guard.is_live(first));
    world.at(60_000).revoke("p0", 0).assign("p0@100");
    let second = world.run("p0:100");
    assert!(!world.guard.is_live(first));
    assert!(world.guard.is_live(second));
    assert_eq!(world.complete(first), Answered::Stale);
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.complete(second), Answered::Done);
    assert_eq!(world.mark("p0"), 101);
}

#[test]
fn a_member_that_hears_of_no_revoke_fences_itself_when_it_stops_polling() {
    // B08 (confluentinc/librdkafka#1019)
    let mut world = World::new();
    world.assign("p1@0").poll(1_000).at(100_999);
    assert_eq!(world.admit("p1:0"), "run");
    world.at(101_000);
    assert_eq!(world.admit("p1:1"), "refuse: lease expired");
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p1 #1: lost, mark 0, left 1"]);
}

#[test]
fn a_partition_whose_position_is_not_known_yet_holds_its_records() {
    // B10 (platformatic/kafka#223)
    let mut world = World::new();
    world.assign("p0@500 p2@500").assign("p1@? p3@?");
    assert_eq!(world.admit("p1:0"), "hold: resume unknown");
    assert_eq!(world.admit("p1:1"), "hold: owed 0");
    assert_eq!(world.position("p1@500", world.assignment("p1")), Ok(Reply::Done));
    assert_eq!(world.progress("p1").owed, None);
    assert_eq!(world.admit("p1:0"), "refuse: not above 499, below resume");
    assert_eq!(world.admit("p1:1"), "refuse: not above 499, below resume");
    assert_eq!(world.admit("p1:500"), "run");
}

#[test]
fn a_consumer_restarted_inside_the_process_inherits_no_retry() {
    // B11 (tulios/kafkajs#1122)
    let mut world = World::new();
    world.assign("p0@100");
    let first = world.run("p0:100");
    world.fail(first);
    assert_eq!(world.tick(100).outputs(), ["retry p0:100"]);
    let second = world.ticket("p0:100");
    world.lost_all().assign("p1@0").drain();
    assert_eq!(world.fail(second), Answered::Stale);
    assert_eq!(world.tick(50_000).outputs(), Vec::<String>::new());
    assert_eq!(world.guard.counters().retried, 1);
}

#[test]
fn from_the_revoke_on_no_ticket_of_any_kind_is_given_and_given_ones_still_count() {
    let mut world = World::new();
    world.assign("p0@100");
    let (running, backing_off) = (world.run("p0:100"), world.run("p0:101"));
    world.fail(backing_off);
    world.revoke("p0", 20_000);
    assert_eq!(world.admit("p0:102"), "refuse: draining");
    assert_eq!(world.admit_tried("p0:103", 9), "refuse: draining");
    assert_eq!(world.tick(10_000).outputs(), Vec::<String>::new());
    assert_eq!(world.complete(running), Answered::Done);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 1", "commit p0=101"]);
}

#[test]
fn one_callback_fences_all_its_partitions_before_anything_else_happens_for_any() {
    let mut world = World::new();
    world.assign("p0@0 p1@0 p2@0").finish("p0:0 p1:0");
    world.run("p2:0");
    world.revoke("p2 p1 p0 p3", 5_000);
    for (record, answer) in
        [("p0:1", "refuse: sealed"), ("p1:1", "refuse: sealed"), ("p2:1", "refuse: draining")]
    {
        assert_eq!(world.admit(record), answer);
    }
    assert_eq!(world.admit("p3:0"), "refuse: not owned");
}

#[test]
fn each_reason_of_the_fence_is_told_apart() {
    let mut world = World::new();
    assert_eq!(world.admit("p0:0"), "refuse: not owned");
    world.assign("p0@0").tick(100_000);
    assert_eq!(world.admit("p0:0"), "refuse: lease expired");
    assert_eq!(world.admit("p3:0"), "refuse: lease expired");
    world.assign("p1@0");
    assert_eq!(world.admit("p0:0"), "refuse: not owned");
    world.fatal();
    assert_eq!(world.admit("p1:0"), "refuse: dead");
    assert_eq!(world.admit("p3:0"), "refuse: dead");
    assert_eq!(world.guard.counters().refused_fenced, 6);
}

#[test]
fn no_copy_of_a_finished_key_gets_past_the_fence() {
    let mut world = World::new();
    world.assign("p0@0 p1@0").finish("p0:0=a").lost("p1");
    assert_eq!(world.admit("p1:0=a"), "refuse: not owned");
    assert_eq!(world.admit("p0:1=a"), "skip: finished");
}
