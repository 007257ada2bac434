//! What the group was seen to hold, told by the host.

use rebalance_guard::{CommitAnswer, Reply};

use crate::support::World;

/// p0 at 100 with 100 finished and its commit of 101 offered.
fn offered() -> World {
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
    world
}

#[test]
fn a_group_offset_above_ours_withdraws_the_offer_and_nothing_below_it_is_offered() {
    let mut world = offered();
    assert_eq!(world.group_offset("p0:150", 1), Reply::Done);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Retry), Reply::Stale);
    world.finish("p0:101 p0:120");
    assert_eq!(world.tick(60_000).commits(), Vec::<String>::new());
    world.finish("p0:160");
    assert_eq!(world.commits(), ["p0=161"]);
}

#[test]
fn a_group_offset_above_ours_ends_the_hand_over() {
    let mut world = offered();
    world.revoke("p0", 1_000).drain();
    assert_eq!(world.phase("p0"), "Committing");
    assert_eq!(world.group_offset("p0:150", 1), Reply::Done);
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.tick(10_000).outputs(), Vec::<String>::new());
}

#[test]
fn a_drain_does_not_commit_below_what_the_group_holds() {
    let mut world = World::new();
    world.assign("p0@100");
    let running = world.run("p0:100");
    world.revoke("p0", 20_000);
    assert_eq!(world.group_offset("p0:150", 1), Reply::Done);
    world.complete(running);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 0"]);
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn a_group_offset_below_what_was_confirmed_is_put_right() {
    let mut world = offered();
    world.stored("p0:101");
    assert_eq!(world.group_offset("p0:60", 1), Reply::Done);
    assert_eq!(world.commits(), ["p0=101"]);
    world.stored("p0:101");
    assert_eq!(world.group_offset("p0:101", 1), Reply::Done);
    assert_eq!(world.commits(), Vec::<String>::new());
}

#[test]
fn a_group_offset_asked_in_another_assignment_is_stale() {
    let mut world = offered();
    world.stored("p0:101");
    assert_eq!(world.group_offset("p0:60", 2), Reply::Stale);
    assert_eq!(world.group_offset("p3:60", 1), Reply::Stale);
    assert_eq!(world.commits(), Vec::<String>::new());
}

#[test]
fn an_empty_start_offers_nothing_when_the_group_turns_out_to_hold_more() {
    let mut world = World::new();
    world.assign("p0@none:50");
    assert_eq!(world.group_offset("p0:80", 1), Reply::Done);
    assert_eq!(world.commits(), Vec::<String>::new());
    world.finish("p0:50").revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 51, left 0"]);
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn a_group_offset_seen_before_the_mark_is_known_bounds_every_offer() {
    let mut world = World::new();
    world.assign("p0@none");
    assert_eq!(world.group_offset("p0:100", 1), Reply::Done);
    world.finish("p0:5");
    assert_eq!(world.tick(60_000).commits(), Vec::<String>::new());
    world.finish("p0:120");
    assert_eq!(world.commits(), ["p0=121"]);
}

#[test]
fn a_group_that_was_seen_to_hold_an_offset_is_not_empty_after_a_rewind() {
    let mut world = World::new();
    world.assign("p0@none:0");
    assert_eq!(world.group_offset("p0:100", 1), Reply::Done);
    assert_eq!(world.rewind("p0:0"), Ok(Reply::Done));
    assert_eq!(world.tick(60_000).commits(), Vec::<String>::new());
}
