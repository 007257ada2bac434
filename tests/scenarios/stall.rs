//! Work that does not move is told, once, with the offset to seek to.

use rebalance_guard::{Config, ConfigError, Outcome};

use crate::support::{World, small};

fn watched() -> World {
    World::with(Config { stall_after: 1_000, budget: 2, lease: u64::MAX, ..small() })
}

const NOTHING: [&str; 0] = [];

#[test]
fn an_unfinished_record_stalls_at_its_tick_and_once() {
    let mut world = watched();
    world.assign("p0@100").at(50).run("p0:100");
    assert!(world.next_timeout().is_some_and(|at| at <= 1_050));
    assert_eq!(world.tick(1_049).outputs(), NOTHING);
    assert_eq!(world.tick(1_050).outputs(), ["stalled p0: 100"]);
    assert_eq!(world.tick(90_000).outputs(), NOTHING);
    assert_eq!(world.guard.counters().stalls, 1);
}

#[test]
fn a_partition_with_nothing_to_do_never_stalls() {
    let mut world = watched();
    world.assign("p0@100 p1@none p2@?").finish("p0:100");
    world.commit_all();
    assert_eq!(world.tick(90_000).outputs(), NOTHING);
}

#[test]
fn every_move_of_the_mark_starts_the_clock_anew() {
    let mut world = watched();
    world.assign("p0@100").run("p0:100");
    world.run("p0:101");
    world.at(900);
    world.complete(world.ticket("p0:100"));
    world.commit_all();
    assert_eq!(world.tick(1_899).outputs(), NOTHING);
    assert_eq!(world.tick(1_900).outputs(), ["stalled p0: 101"]);
    world.at(3_000);
    world.complete(world.ticket("p0:101"));
    world.commit_all().at(5_000).run("p0:102");
    assert_eq!(world.tick(6_000).outputs(), ["stalled p0: 102"]);
}

#[test]
fn work_above_the_mark_is_no_move() {
    let mut world = watched();
    world.assign("p0@100").run("p0:100");
    world.at(900).finish("p0:101");
    assert_eq!(world.tick(1_000).outputs(), ["pause p0", "stalled p0: 100"]);
}

#[test]
fn records_abandoned_in_a_rebalance_that_kept_the_partition_show_up() {
    // B43 (corda/corda#6181)
    let mut world = watched();
    world.assign("p0@100").run("p0:100");
    world.answer(world.ticket("p0:100"), Outcome::Abandoned);
    assert_eq!(world.tick(1_000).outputs(), ["stalled p0: 100"]);
}

#[test]
fn a_held_record_that_is_never_offered_again_stalls() {
    let mut world = World::with(Config { window: 1, stall_after: 1_000, ..small() });
    world.assign("p0@100 p1@7").run("p1:7");
    assert_eq!(world.admit("p0:100"), "hold: window");
    world.complete(world.ticket("p1:7"));
    world.commit_all();
    assert_eq!(world.tick(1_000).outputs(), ["stalled p0: 100"]);
}

#[test]
fn with_the_resume_position_unknown_the_owed_record_is_named() {
    let mut world = watched();
    world.assign("p0@?");
    assert_eq!(world.admit("p0:40"), "hold: resume unknown");
    world.drain();
    assert_eq!(world.tick(1_000).outputs(), ["stalled p0: 40"]);
}

#[test]
fn a_refused_dead_letter_is_a_stall_too() {
    // B91 (spring-projects/spring-kafka#1700)
    let once = Config { attempts_max: 1, stall_after: 1_000, backoff_cap: 100, ..small() };
    let mut world = World::with(once);
    world.assign("p0@100").run("p0:100");
    world.fail(world.ticket("p0:100"));
    let mut told = Vec::new();
    for _ in 0..20 {
        told.extend(world.outputs().into_iter().filter(|word| word.starts_with("stalled")));
        world.fail(world.ticket("p0:100"));
        let next = world.next_timeout().expect("back-off");
        world.tick(next);
    }
    assert_eq!(told, ["stalled p0: 100"]);
}

#[test]
fn a_draining_partition_is_watched_by_its_deadline_alone() {
    let mut world = watched();
    world.assign("p0@100").run("p0:100");
    world.revoke("p0", 50_000);
    assert_eq!(world.tick(49_999).outputs(), NOTHING);
}

#[test]
fn a_new_assignment_has_a_new_clock() {
    let mut world = watched();
    world.assign("p0@100").run("p0:100");
    world.at(900).lost("p0").assign("p0@100").run("p0:100");
    world.drain();
    assert_eq!(world.tick(1_899).outputs(), NOTHING);
    assert_eq!(world.tick(1_900).outputs(), ["stalled p0: 100"]);
}

#[test]
fn stalls_come_last_and_by_time_of_assign() {
    let mut world = World::with(Config { stall_after: 66_667, ..small() });
    world.assign("p2@0").assign("p1@0").run("p1:0");
    world.run("p2:0");
    assert_eq!(
        world.tick(66_667).outputs(),
        ["stalled p2: 0", "stalled p1: 0", "poll budget, until 100000"]
    );
}

#[test]
fn a_stall_after_nothing_is_refused() {
    let config = Config { stall_after: 0, ..small() };
    assert_eq!(config.check(), Err(ConfigError::Zero("stall_after")));
}

#[test]
fn two_thirds_of_the_lease_without_a_poll_are_told_once() {
    let mut world = World::with(Config { lease: 300, ..small() });
    world.assign("p0@100");
    assert!(world.next_timeout().is_some_and(|at| at <= 200));
    assert_eq!(world.tick(199).outputs(), NOTHING);
    assert_eq!(world.tick(200).outputs(), ["poll budget, until 300"]);
    assert_eq!(world.tick(299).outputs(), NOTHING);
    assert_eq!(world.poll(299).outputs(), NOTHING);
    assert_eq!(world.tick(498).outputs(), NOTHING);
    assert_eq!(world.tick(499).outputs(), ["poll budget, until 599"]);
    assert_eq!(world.guard.counters().poll_budgets, 2);
}

#[test]
fn a_lease_that_ran_out_meanwhile_is_told_alone() {
    let mut world = World::with(Config { lease: 300, ..small() });
    world.assign("p0@100");
    let lost = ["rejoin after 0", "sealed p0 #1: lost, mark 100, left 0"];
    assert_eq!(world.tick(846_018_558_000).outputs(), lost);
}

#[test]
fn who_owns_nothing_has_no_poll_budget() {
    let mut world = World::with(Config { lease: 300, ..small() });
    assert_eq!(world.tick(5_000).outputs(), NOTHING);
    world.assign("p0@100").revoke("p0", 5_000);
    world.drain();
    assert_eq!(world.tick(9_000).outputs(), NOTHING);
}
