//! When to stop fetching, and when to offer again.

use rebalance_guard::{Config, Reply};

use crate::support::{World, small};

/// Commits stay out of the way.
fn quiet(window: u32, budget: u32) -> Config {
    Config { window, budget, commit_interval: 90_000, commit_count: 90_000, ..small() }
}

fn fill(world: &mut World, partition: &str, count: u64) {
    for at in 0..count {
        world.run(&format!("{partition}:{at}"));
    }
}

#[test]
fn a_full_window_pauses_every_partition_and_resumes_at_three_quarters() {
    let mut world = World::with(quiet(8, 32));
    world.assign("p1@0 p0@0");
    fill(&mut world, "p0", 7);
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.run("p0:7");
    assert_eq!(world.outputs(), ["pause p1", "pause p0"]);
    assert!(world.progress("p0").paused && world.progress("p1").paused);
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.complete(world.ticket("p0:7"));
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.complete(world.ticket("p0:6"));
    assert_eq!(world.outputs(), ["resume p1", "resume p0"]);
    assert!(!world.progress("p0").paused && !world.progress("p1").paused);
}

#[test]
fn a_debt_that_could_be_paid_resumes_its_partition_before_three_quarters() {
    let mut world = World::with(quiet(8, 32));
    world.assign("p0@0 p1@0");
    fill(&mut world, "p0", 8);
    assert_eq!(world.admit("p0:8"), "hold: window");
    assert_eq!(world.outputs(), ["pause p0", "pause p1"]);
    world.complete(world.ticket("p0:0"));
    assert_eq!(world.outputs(), ["resume p0"]);
    assert_eq!(world.admit("p0:8"), "run");
    assert_eq!(world.outputs(), ["pause p0"]);
}

#[test]
fn a_full_budget_pauses_its_own_partition_alone() {
    let mut world = World::with(quiet(32, 4));
    world.assign("p0@0 p1@0");
    fill(&mut world, "p0", 4);
    assert_eq!(world.outputs(), ["pause p0"]);
    world.complete(world.ticket("p0:3"));
    world.complete(world.ticket("p0:1"));
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.complete(world.ticket("p0:0"));
    assert_eq!(world.mark("p0"), 2);
    assert_eq!(world.outputs(), ["resume p0"]);
}

#[test]
fn a_pause_is_asked_for_again_after_the_partition_came_back() {
    // B122 (spring-projects/spring-kafka#2581)
    let mut world = World::with(quiet(32, 4));
    world.assign("p0@100");
    for _ in 0..2 {
        for at in 100..104 {
            world.run(&format!("p0:{at}"));
        }
        assert_eq!(world.outputs().last().map(String::as_str), Some("pause p0"));
        assert!(world.progress("p0").paused);
        world.revoke("p0", 0).assign("p0@100");
        assert!(!world.progress("p0").paused);
    }
}

#[test]
fn a_partition_assigned_while_others_fill_the_window_is_paused_too() {
    // B122 (spring-projects/spring-kafka#2581)
    let mut world = World::with(quiet(4, 32));
    world.assign("p0@0");
    fill(&mut world, "p0", 4);
    assert_eq!(world.outputs(), ["pause p0"]);
    world.assign("p1@0");
    assert_eq!(world.outputs(), ["pause p1"]);
    world.complete(world.ticket("p0:0"));
    assert_eq!(world.outputs(), ["resume p0", "resume p1"]);
}

#[test]
fn a_revoke_frees_the_window_for_the_others() {
    let mut world = World::with(quiet(4, 32));
    world.assign("p0@0 p1@0");
    fill(&mut world, "p0", 4);
    assert_eq!(world.outputs(), ["pause p0", "pause p1"]);
    world.revoke("p0", 0);
    assert_eq!(world.outputs(), ["sealed p0 #1: deadline, mark 0, left 4", "resume p1"]);
}

#[test]
fn a_record_held_for_an_unknown_position_pauses_until_it_is_told() {
    let mut world = World::new();
    world.assign("p0@?");
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.admit("p0:50"), "hold: resume unknown");
    assert_eq!(world.outputs(), ["pause p0"]);
    assert_eq!(world.position("p0@50", 1), Ok(Reply::Done));
    assert_eq!(world.outputs(), ["resume p0"]);
    assert_eq!(world.admit("p0:50"), "run");
}

#[test]
fn nothing_is_paused_or_resumed_while_it_is_handed_over() {
    let mut world = World::with(quiet(4, 32));
    world.assign("p0@0");
    fill(&mut world, "p0", 4);
    world.revoke("p0", 20_000);
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.complete(world.ticket("p0:0"));
    world.complete(world.ticket("p0:1"));
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn abandoned_records_keep_the_budget_full_and_free_the_window() {
    let mut world = World::with(quiet(4, 4));
    world.assign("p0@0 p1@0");
    fill(&mut world, "p0", 4);
    assert_eq!(world.outputs(), ["pause p0", "pause p1"]);
    for at in 0..4 {
        world.abandon(world.ticket(&format!("p0:{at}")));
    }
    assert_eq!(world.outputs(), ["resume p1"]);
    assert!(world.progress("p0").paused);
}

#[test]
fn a_window_of_one_pauses_and_resumes_with_every_record() {
    let mut world = World::with(quiet(1, 1));
    world.assign("p0@0");
    for at in 0..10 {
        let ticket = world.run(&format!("p0:{at}"));
        assert_eq!(world.outputs(), ["pause p0"]);
        world.complete(ticket);
        assert_eq!(world.outputs(), ["resume p0"]);
    }
}

#[test]
fn a_rewound_partition_starts_unpaused_and_is_asked_to_pause_again() {
    let mut world = World::with(quiet(2, 32));
    world.assign("p0@0 p1@0");
    fill(&mut world, "p1", 2);
    assert_eq!(world.outputs(), ["pause p0", "pause p1"]);
    assert_eq!(world.rewind("p0:0"), Ok(Reply::Done));
    assert!(!world.progress("p0").paused);
    assert_eq!(world.outputs(), ["sealed p0 #1: rewound, mark 0, left 0", "pause p0"]);
}
