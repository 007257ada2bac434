//! Since when nothing is owned, and why.

use rebalance_guard::{CommitAnswer, Config, WaitReason, Waiting};

use crate::support::{World, small, tick};

fn waiting(world: &World) -> Option<(u64, WaitReason)> {
    world.guard.waiting().map(|Waiting { since, why }| (since.value(), why))
}

#[test]
fn a_new_guard_waits_from_the_beginning() {
    let world = World::new();
    assert_eq!(waiting(&world), Some((0, WaitReason::NothingAssigned)));
}

#[test]
fn who_owns_something_waits_for_nothing() {
    let mut world = World::new();
    world.assign("p0@100");
    assert_eq!(waiting(&world), None);
    world.revoke("p0", 5_000).at(9);
    world.assign("p1@0").revoke("p1", 9);
    assert_eq!(waiting(&world), Some((9, WaitReason::Revoked)));
}

#[test]
fn a_hand_over_counts_from_its_last_commit() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    world.at(10).revoke("p0", 5_000);
    assert_eq!(waiting(&world), None);
    world.at(20).commit_all();
    assert_eq!(waiting(&world), Some((20, WaitReason::Revoked)));
}

#[test]
fn a_loss_and_a_commit_that_is_not_ours_are_losses() {
    let mut world = World::new();
    world.assign("p0@100").at(5).lost("p0");
    assert_eq!(waiting(&world), Some((5, WaitReason::Lost)));
    world.assign("p0@100").finish("p0:100").outputs();
    world.at(7).commit_answer("p0:101", 2, CommitAnswer::NotMine);
    assert_eq!(waiting(&world), Some((7, WaitReason::Lost)));
}

#[test]
fn after_the_lease_the_wait_for_an_assign_has_an_age() {
    // B103 (spring-projects/spring-kafka#2337)
    let mut world = World::with(Config { lease: 300_000, ..small() });
    world.assign("p0@100").tick(3_900_000);
    assert_eq!(waiting(&world), Some((300_000, WaitReason::LeaseExpired)));
}

#[test]
fn a_dead_client_waits_for_ever() {
    let mut world = World::new();
    world.at(3).fatal();
    assert_eq!(waiting(&world), Some((0, WaitReason::Dead)));
    let mut world = World::new();
    world.assign("p0@100").at(3).fatal();
    assert_eq!(waiting(&world), Some((3, WaitReason::Dead)));
}

#[test]
fn an_assign_that_names_nothing_says_so_and_the_wait_goes_on() {
    // B100 (microsoft/fhir-server#2539)
    let mut world = World::new();
    world.assign("p0@100").at(50).lost_all();
    world.at(60).assign("");
    assert_eq!(waiting(&world), Some((50, WaitReason::NothingAssigned)));
    world.guard.handle_timeout(tick(3_600_000));
    assert_eq!(waiting(&world), Some((50, WaitReason::NothingAssigned)));
}

#[test]
fn a_partition_replaced_by_its_next_assignment_is_no_wait() {
    let mut world = World::new();
    world.assign("p0@100").assign("p0@100");
    assert_eq!(waiting(&world), None);
}
