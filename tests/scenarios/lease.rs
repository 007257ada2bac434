//! The guard's own lease, and the order in which things fall due.

use rebalance_guard::{Answered, Config};

use crate::support::{World, small};

#[test]
fn the_lease_ends_everything_at_its_tick() {
    let mut world = World::new();
    world.at(7).assign("p0@100 p1@0");
    let running = world.run("p0:100");
    assert_eq!(world.tick(100_006).outputs(), ["poll budget, until 100007"]);
    assert!(world.next_timeout().is_some_and(|at| at <= 100_007));
    assert_eq!(
        world.tick(100_007).outputs(),
        [
            "rejoin after 0",
            "sealed p0 #1: lost, mark 100, left 1",
            "sealed p1 #2: lost, mark 0, left 0",
        ]
    );
    assert_eq!(world.complete(running), Answered::Stale);
    assert_eq!(world.guard.counters().leases_expired, 1);
}

#[test]
fn only_a_poll_renews_the_lease() {
    let mut world = World::new();
    world.assign("p0@100").poll(50_000);
    world.at(149_000).assign("p1@0").finish("p0:100");
    world.drain().stored("p0:101").revoke("p1", 149_500);
    assert_eq!(world.tick(149_999).phase("p0"), "Active");
    assert_eq!(world.tick(150_000).phase("p0"), "Unowned");
}

#[test]
fn the_lease_runs_from_the_assign_that_ended_owning_nothing() {
    let mut world = World::new();
    world.assign("p0@0").at(60_000).revoke("p0", 60_000).drain();
    world.at(500_000).poll(500_000).at(900_000).assign("p0@0");
    assert_eq!(world.tick(999_999).phase("p0"), "Active");
    assert_eq!(world.tick(1_000_000).phase("p0"), "Unowned");
}

#[test]
fn a_poll_while_nothing_is_owned_leaves_no_more_than_a_tick_does() {
    let (mut polled, mut ticked) = (World::new(), World::new());
    polled.assign("p0@0").at(60_000).revoke("p0", 60_000).drain();
    ticked.assign("p0@0").at(60_000).revoke("p0", 60_000).drain();
    polled.poll(500_000);
    ticked.tick(500_000);
    let state = |world: &World| {
        let mut bytes = vec![0; world.guard.snapshot_len()];
        let len = world.guard.snapshot(&mut bytes).expect("the room was measured");
        bytes.truncate(len);
        bytes
    };
    assert_eq!(state(&polled), state(&ticked));
}

#[test]
fn a_replacement_of_what_is_owned_does_not_renew_the_lease() {
    let mut world = World::new();
    world.assign("p0@0").at(60_000).assign("p0@0");
    assert_eq!(world.tick(99_999).phase("p0"), "Active");
    assert_eq!(world.tick(100_000).phase("p0"), "Unowned");
}

#[test]
fn an_empty_assign_starts_no_lease() {
    let mut world = World::new();
    world.assign("").tick(1_000_000);
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.guard.counters().leases_expired, 0);
    world.assign("p0@0");
    assert_eq!(world.tick(1_099_999).phase("p0"), "Active");
}

#[test]
fn a_poll_at_the_tick_of_the_lease_comes_too_late() {
    let mut world = World::new();
    world.assign("p0@0").poll(100_000);
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #1: lost, mark 0, left 0"]);
}

#[test]
fn a_completion_at_the_tick_of_the_lease_comes_too_late_and_commits_nothing() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    let running = world.run("p0:101");
    world.at(100_000);
    assert_eq!(world.complete(running), Answered::Stale);
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #1: lost, mark 101, left 1"]);
    assert_eq!(world.tick(200_000).outputs(), Vec::<String>::new());
}

#[test]
fn after_the_lease_every_partition_is_fenced_until_the_next_assign() {
    let mut world = World::new();
    world.assign("p0@0 p1@0").tick(100_000).drain();
    assert_eq!(world.admit("p0:0"), "refuse: lease expired");
    world.poll(100_001).assign("p0@0");
    assert_eq!(world.admit("p0:0"), "run");
    assert_eq!(world.admit("p1:0"), "refuse: not owned");
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn a_deadline_before_the_lease_is_served_before_it() {
    let mut world = World::new();
    world.assign("p0@0 p1@0").finish("p0:0");
    world.run("p0:1");
    world.revoke("p0", 50_000).tick(300_000);
    assert_eq!(
        world.outputs(),
        [
            "rejoin after 0",
            "sealed p0 #1: deadline, mark 1, left 1",
            "sealed p1 #2: lost, mark 0, left 0",
        ]
    );
    assert_eq!(world.guard.counters().drain_deadlines, 1);
    assert_eq!(world.guard.counters().commits_given_up, 1);
}

#[test]
fn a_deadline_at_the_tick_of_the_lease_is_a_loss() {
    let mut world = World::new();
    world.assign("p0@0").finish("p0:0");
    world.run("p0:1");
    world.revoke("p0", 100_000).tick(100_000);
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #1: lost, mark 1, left 1"]);
    assert_eq!(world.guard.counters().drain_deadlines, 0);
}

#[test]
fn a_drain_and_its_commit_that_end_before_the_lease_leave_nothing_to_lose() {
    let mut world = World::new();
    world.assign("p0@0").finish("p0:0");
    world.run("p0:1");
    world.revoke("p0", 50_000).tick(300_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: deadline, mark 1, left 1"]);
    assert_eq!(world.guard.counters().leases_expired, 0);
    assert_eq!(world.admit("p0:2"), "refuse: not owned");
}

#[test]
fn a_partition_that_is_handed_over_still_needs_the_lease() {
    let mut world = World::new();
    world.assign("p0@0").finish("p0:0").at(97_000).revoke("p0", 97_000);
    assert_eq!(world.phase("p0"), "Committing");
    assert_eq!(world.tick(100_000).phase("p0"), "Unowned");
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #1: drained, mark 1, left 0"]);
    assert_eq!(world.admit("p0:1"), "refuse: lease expired");
}

#[test]
fn a_retry_that_fell_due_before_the_lease_is_not_handed_out_after_it() {
    let mut world = World::new();
    world.assign("p0@0").run("p0:0");
    world.fail(world.ticket("p0:0"));
    world.tick(500_000);
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #1: lost, mark 0, left 1"]);
    assert_eq!(world.guard.counters().retried, 0);
}

#[test]
fn a_jump_of_the_clock_ends_one_lease_once() {
    // B110 (confluentinc/librdkafka#3537)
    let mut world = World::new();
    world.assign("p0@100").run("p0:100");
    world.tick(1_000).tick(846_018_558_000);
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #1: lost, mark 100, left 1"]);
    world.tick(2 * 846_018_558_000);
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.guard.counters().leases_expired, 1);
}

#[test]
fn a_rejoin_is_asked_for_once_per_lease() {
    let mut world = World::with(Config { lease: 1_000, ..small() });
    world.assign("p0@0").tick(1_000);
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #1: lost, mark 0, left 0"]);
    assert_eq!(world.tick(5_000).outputs(), Vec::<String>::new());
    world.assign("p0@0").tick(6_000);
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #2: lost, mark 0, left 0"]);
}
