//! The verification lines of the original guard, one test each. (That the fence holds against
//! concurrent threads is tested where the fence lives.)

use rebalance_guard::{Answered, CommitAnswer, Config, Reply};

use crate::support::{World, small};

#[test]
fn a_commit_is_the_last_finished_offset_plus_one() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100 p0:101 p0:102");
    assert_eq!(world.outputs(), ["commit p0=103"]);
}

#[test]
fn a_loss_commits_and_flushes_nothing_yet_fences_and_discards() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    let running = world.run("p0:101");
    world.lost("p0");
    assert_eq!(world.outputs(), ["sealed p0 #1: lost, mark 101, left 1"]);
    assert_eq!(world.admit("p0:102"), "refuse: not owned");
    assert!(!world.guard.is_live(running));
    assert_eq!(world.complete(running), Answered::Stale);
    assert_eq!(world.guard.in_flight(), 0);
    assert_eq!(world.guard.counters().lost_in_hand, 1);
    assert_eq!(world.tick(90_000).outputs(), Vec::<String>::new());
}

#[test]
fn a_failing_flush_blocks_only_its_partitions_commit_and_the_report_names_only_the_failed() {
    let mut world = World::new();
    world.assign("p0@100 p1@200");
    let (failing, fine) = (world.run("p0:100"), world.run("p1:200"));
    world.revoke("p0 p1", 1_000).at(10);
    assert_eq!(world.fail(failing), Answered::Done);
    assert_eq!(world.complete(fine), Answered::Done);
    assert_eq!(
        world.outputs(),
        [
            "sealed p0 #1: drained, mark 100, left 1",
            "sealed p1 #2: drained, mark 201, left 0",
            "commit p1=201",
        ]
    );
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.phase("p1"), "Committing");
}

#[test]
fn every_partition_is_fenced_even_when_a_commit_fails() {
    let mut world = World::new();
    world.assign("p0@100 p1@200").finish("p0:100 p1:200");
    let running = world.run("p1:201");
    world.revoke("p0 p1", 1_000);
    assert_eq!(world.admit("p0:101"), "refuse: sealed");
    assert_eq!(world.admit("p1:202"), "refuse: draining");
    assert_eq!(
        world.outputs(),
        ["sealed p0 #1: drained, mark 101, left 0", "commit p0=101", "commit p1=201"]
    );
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::NotMine), Reply::Done);
    assert_eq!(world.admit("p0:101"), "refuse: not owned");
    assert_eq!(world.admit("p1:202"), "refuse: draining");
    assert_eq!(world.complete(running), Answered::Done);
    assert_eq!(world.outputs(), ["sealed p1 #2: drained, mark 202, left 0", "commit p1=202"]);
}

#[test]
fn progress_is_committed_when_nothing_is_in_flight() {
    let slow = Config { commit_interval: 60_000, commit_count: 1_000, ..small() };
    let mut world = World::with(slow);
    world.assign("p0@100").finish("p0:100");
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.revoke("p0", 20_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 0", "commit p0=101"]);
    world.stored("p0:101");
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn a_revoke_and_an_assign_are_one_rebalance() {
    let mut world = World::new();
    world.generation = None;
    world.assign("p0@100");
    assert_eq!(world.guard.counters().rebalances, 1);
    world.revoke("p0", 1_000).assign("p0@100");
    assert_eq!(world.guard.counters().rebalances, 2);

    let mut world = World::new();
    world.assign_in(7, "p0@100");
    assert_eq!(world.guard.counters().rebalances, 1);
    world.revoke("p0", 1_000).assign_in(8, "p0@100");
    assert_eq!(world.guard.counters().rebalances, 2);
}

#[test]
fn the_fence_answers_before_the_duplicate_and_the_duplicate_before_the_offset() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100=a p0:101=b");
    let running = world.run("p0:102=c");
    assert_eq!(world.admit("p0:100"), "refuse: not above 102, finished");
    assert_eq!(world.admit("p0:100=a"), "skip: finished");
    assert_eq!(world.admit("p0:102=c"), "skip: in flight");
    world.revoke("p0", 1_000);
    assert_eq!(world.admit("p0:100=a"), "refuse: draining");
    assert_eq!(world.complete(running), Answered::Done);
    assert_eq!(world.admit("p0:100=a"), "refuse: sealed");
    world.drain().stored("p0:103");
    assert_eq!(world.admit("p0:100=a"), "refuse: not owned");
}

#[test]
fn the_window_in_flight_is_bounded() {
    let mut world = World::with(Config { window: 2, ..small() });
    world.assign("p0@100 p1@0");
    world.run("p0:100");
    world.run("p0:101");
    for _ in 0..1_000 {
        assert_eq!(world.admit("p0:102"), "hold: window");
        assert_eq!(world.admit("p1:0"), "hold: window");
    }
    assert_eq!(world.guard.in_flight(), 2);
}

#[test]
fn the_dedupe_window_is_bounded_and_forgets_the_first_finished_first() {
    let mut world = World::with(Config { keys: 2, ..small() });
    world.assign("p0@100").finish("p0:100=a p0:101=b p0:102=c");
    assert_eq!(world.guard.counters().keys_evicted, 1);
    assert_eq!(world.admit("p0:103=c"), "skip: finished");
    assert_eq!(world.admit("p0:104=b"), "skip: finished");
    assert_eq!(world.admit("p0:105=a"), "run");
}
