//! Ownership that is gone already: nothing is flushed, nothing is committed.

use rebalance_guard::{Answered, CommitAnswer, InputError, Reply};

use crate::support::World;

#[test]
fn a_loss_commits_nothing_and_the_next_assign_works_as_ever() {
    // B55 (kotlin-kafka PR#220)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100").lost("p0");
    assert_eq!(world.commits(), Vec::<String>::new());
    world.assign("p0@100");
    assert_eq!(world.admit("p0:100"), "run");
    assert_eq!(world.mark("p0"), 100);
}

#[test]
fn a_keyed_record_finished_before_the_loss_is_skipped_after_it_and_moves_the_mark() {
    // B55 (kotlin-kafka PR#220)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100=a").lost("p0").assign("p0@100").drain();
    assert_eq!(world.admit("p0:100=a"), "skip: finished");
    assert_eq!(world.outputs(), ["commit p0=101"]);
}

#[test]
fn losing_an_idle_partition_is_no_event_for_the_others() {
    // B56 (zio/zio-kafka PR#1252)
    let mut world = World::new();
    world.assign("p0@100 p1@0").poll_until(86_400_000).lost("p1");
    assert_eq!(world.outputs(), ["sealed p1 #2: lost, mark 0, left 0"]);
    assert_eq!(world.admit("p0:100"), "run");
    assert_eq!(world.guard.counters().lost, 1);
}

#[test]
fn offsets_of_a_lost_partition_never_come_up_again() {
    // B58 (responsive-pub PR#303)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100 p0:101 p0:102 p0:103 p0:104 p0:105").lost("p0");
    world.assign("p1@0").finish("p1:0");
    assert_eq!(world.commits(), ["p1=1"]);
    assert_eq!(world.stored("p1:1").tick(90_000).commits(), Vec::<String>::new());
}

#[test]
fn a_fenced_instance_is_a_final_loss_of_everything() {
    // B104 (twmb/franz-go#479)
    let mut world = World::new();
    world.assign("p0@100 p1@0");
    let running = world.run("p0:100");
    world.fatal();
    assert_eq!(
        world.outputs(),
        ["sealed p0 #1: lost, mark 100, left 1", "sealed p1 #2: lost, mark 0, left 0"]
    );
    assert_eq!(world.complete(running), Answered::Stale);
    assert_eq!(world.try_assign("p0@100"), Err(InputError::Dead));
    assert_eq!(world.try_assign(""), Err(InputError::Dead));
    assert_eq!(world.admit("p0:100"), "refuse: dead");
    assert_eq!(world.guard.counters().inputs_refused, 2);
}

#[test]
fn after_a_loss_there_is_no_retry_and_no_dead_letter() {
    let mut world = World::new();
    world.assign("p0@100");
    let (retried, spent) = (world.run("p0:100"), world.run("p0:101"));
    world.fail(retried);
    world.fail_permanently(spent);
    world.lost("p0");
    assert_eq!(world.tick(90_000).outputs(), ["sealed p0 #1: lost, mark 100, left 2"]);
    assert_eq!(world.guard.in_flight(), 0);
    assert_eq!(world.guard.counters().given_up, 2);
    assert_eq!(world.guard.counters().lost_in_hand, 0);
}

#[test]
fn a_dead_letter_acknowledged_after_the_loss_is_stale() {
    let mut world = World::new();
    world.assign("p0@100");
    let spent = world.run("p0:100");
    world.fail_permanently(spent);
    assert_eq!(world.outputs(), ["dead letter p0:100: permanent, copies 0"]);
    world.lost("p0");
    assert_eq!(world.dead_lettered(world.ticket("p0:100")), Answered::Stale);
    assert_eq!(world.outputs(), ["sealed p0 #1: lost, mark 100, left 1"]);
}

#[test]
fn a_commit_stored_after_the_loss_is_stale() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
    world.lost("p0");
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Stored), Reply::Stale);
}

#[test]
fn losing_what_is_not_owned_is_harmless() {
    let mut world = World::new();
    world.assign("p0@100").lost("p1 p2").revoke("p3", 5_000);
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.phase("p0"), "Active");
    assert_eq!(world.guard.counters().lost, 0);
}

#[test]
fn losing_everything_ends_partitions_in_every_phase() {
    let mut world = World::new();
    world.assign("p0@0 p1@0 p2@0").finish("p2:0");
    world.run("p0:0");
    world.run("p1:0");
    world.revoke("p1 p2", 20_000).lost_all();
    assert_eq!(
        world.outputs(),
        [
            "sealed p2 #3: drained, mark 1, left 0",
            "sealed p0 #1: lost, mark 0, left 1",
            "sealed p1 #2: lost, mark 0, left 1",
        ]
    );
    assert_eq!(world.guard.owned().count(), 0);
    assert_eq!(world.guard.in_flight(), 0);
    assert_eq!(world.admit("p0:1"), "refuse: not owned");
}

#[test]
fn records_in_a_workers_hands_are_counted_when_they_are_lost() {
    // B97 (schema.ai Kafka notes)
    let mut world = World::new();
    world.assign("p0@100");
    let backing_off = world.run("p0:100");
    world.run("p0:101");
    world.run("p0:102");
    world.fail(backing_off);
    world.lost("p0");
    assert_eq!(world.guard.counters().lost_in_hand, 2);
    assert_eq!(world.guard.counters().given_up, 3);
    assert_eq!(world.guard.counters().failed, 1);
}

#[test]
fn the_keys_of_lost_records_are_free_and_those_of_finished_ones_are_remembered() {
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100=done");
    world.run("p0:101=running");
    world.lost("p0");
    assert_eq!(world.admit("p1:0=running"), "run");
    assert_eq!(world.admit("p1:1=done"), "skip: finished");
}
