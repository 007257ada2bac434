//! Full is a typed answer, and what frees or keeps space never fails for lack of it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rebalance_guard::{Answered, Config, Guard, InputError, Partition, Resume};
use rebalance_guard_sim::Heap;

use crate::support::{World, offset, small, tick};

fn wide(partitions: u32) -> Config {
    Config { partitions, window: partitions.min(4_096), keys: 16, budget: 2, ..small() }
}

#[test]
#[cfg_attr(miri, ignore = "about size: hours under Miri")]
fn three_thousand_partitions_come_and_go_in_one_event_each() {
    // B116 (confluentinc/librdkafka#4629)
    let mut world = World::with(wide(3_000));
    let names: Vec<String> = (0..3_000).map(|index| format!("p{index}")).collect();
    world.assign(&names.iter().map(|name| format!("{name}@0")).collect::<Vec<_>>().join(" "));
    assert_eq!(world.guard.owned().count(), 3_000);
    for name in &names {
        world.finish(&format!("{name}:0"));
    }
    let commits: Vec<String> = names.iter().map(|name| format!("{name}=1")).collect();
    assert_eq!(world.commits(), commits);
    for name in &names {
        world.stored(&format!("{name}:1"));
    }
    world.revoke(&names.join(" "), 1_000);
    assert_eq!(world.guard.owned().count(), 0);
    assert_eq!(world.outputs().len(), 3_000);
    assert_eq!(world.guard.counters().drained, 3_000);
}

#[test]
#[cfg_attr(miri, ignore = "about size: hours under Miri")]
fn the_work_of_a_large_assign_does_not_grow_with_its_square() {
    // B116 (confluentinc/librdkafka#4629): a square of 200,000 would take minutes; the wait only
    // bounds that.
    let (done, finished) = mpsc::channel();
    thread::spawn(move || {
        let config = wide(200_000);
        let mut guard = Guard::new(Heap::new(&config), config).expect("sound settings");
        let resume = Resume::committed(offset(0));
        let all: Vec<_> = (0..200_000).map(|index| (Partition::new(0, index), resume)).collect();
        guard.assign(tick(0), Some(1), &all).expect("they fit");
        guard.assign(tick(1), Some(2), &all).expect("they are held already");
        done.send(guard.counters().assignments).expect("somebody waits");
    });
    assert_eq!(finished.recv_timeout(Duration::from_secs(60)), Ok(400_000));
}

#[test]
fn records_delivered_again_round_after_round_leave_nothing_behind() {
    // B121 (reactor/reactor-kafka#259)
    let mut world = World::with(Config { window: 4, budget: 4, ..small() });
    let names = ["p0:100", "p0:101", "p0:102", "p0:103"];
    for _ in 0..100 {
        world.assign("p0@100").drain();
        let tickets = names.map(|name| world.run(name));
        for ticket in &tickets[1..] {
            assert_eq!(world.complete(*ticket), Answered::Done);
        }
        world.drain().revoke("p0", 0).assign("p0@100").drain();
        for ticket in names.map(|name| world.run(name)) {
            assert_eq!(world.complete(ticket), Answered::Done);
        }
        assert_eq!(world.commits(), ["p0=104"]);
        assert_eq!(world.guard.in_flight(), 0);
        assert_eq!(world.progress("p0").unfinished, 0);
        assert!(!world.progress("p0").paused);
    }
}

#[test]
fn one_record_that_never_ends_bounds_what_is_taken_above_it() {
    // B124 (confluentinc/parallel-consumer#832)
    let mut world = World::with(Config { window: 1_000, budget: 1_000, ..small() });
    world.assign("p0@100 p1@0");
    let endless = world.run("p0:100");
    let mut next = 101;
    while world.admit(&format!("p0:{next}")) == "run" {
        world.complete(world.ticket(&format!("p0:{next}")));
        next += 1;
    }
    assert_eq!(next, 1_100);
    assert_eq!(world.admit("p0:1100"), "hold: budget");
    assert_eq!(world.outputs(), ["pause p0"]);
    assert_eq!(world.admit("p1:0"), "run");
    assert_eq!(world.complete(endless), Answered::Done);
    assert_eq!(world.outputs(), ["commit p0=1100", "resume p0"]);
    assert_eq!(world.admit("p0:1100"), "run");
}

#[test]
fn a_dead_letter_opens_a_full_budget_like_a_completion() {
    // B124 (confluentinc/parallel-consumer#832)
    let mut world = World::with(Config { budget: 3, ..small() });
    world.assign("p0@100");
    let endless = world.run("p0:100");
    world.finish("p0:101 p0:102");
    assert_eq!(world.admit("p0:103"), "hold: budget");
    world.fail_permanently(endless);
    world.drain();
    world.dead_lettered(world.ticket("p0:100"));
    assert_eq!(world.admit("p0:103"), "run");
}

#[test]
fn a_full_partition_table_takes_everything_that_adds_nothing() {
    // B125 (rust-embedded/heapless#258)
    let mut world = World::new();
    world.assign("p0@100 p1@100 p2@100 p3@100").assign("p2@150");
    assert_eq!(world.mark("p2"), 150);
    world.assign("p3@160 p0@110");
    let (done, failed) = (world.run("p0:110"), world.run("p1:100"));
    assert_eq!(world.complete(done), Answered::Done);
    assert_eq!(world.fail(failed), Answered::Done);
    world.lost("p2").revoke("p3", 0);
    assert!(!world.owns("p2") && !world.owns("p3"));
    world.assign("p4@0 p5@0");
    assert_eq!(world.guard.owned().count(), 4);
}

#[test]
fn an_assign_of_one_too_many_applies_not_at_all_and_says_how_many() {
    // B127 (heapless#442)
    let mut world = World::new();
    assert_eq!(
        world.try_assign("p0@0 p1@0 p2@0 p3@0 p4@0"),
        Err(InputError::PartitionsFull { needed: 5, available: 4 })
    );
    assert_eq!(world.guard.owned().count(), 0);
    world.assign("p0@0");
    let running = world.run("p0:0");
    assert_eq!(
        world.try_assign("p0@50 p1@0 p2@0 p3@0 p4@0"),
        Err(InputError::PartitionsFull { needed: 4, available: 3 })
    );
    assert_eq!(world.assignment("p0"), 1);
    assert_eq!(world.complete(running), Answered::Done);
    assert_eq!(world.outputs(), ["commit p0=1"]);
    assert_eq!(world.guard.counters().inputs_refused, 2);
}

#[test]
fn an_assign_that_names_partitions_twice_needs_their_place_once() {
    let mut world = World::new();
    world.assign("p0@0 p1@0 p2@0 p3@0 p0@1 p1@1 p2@1 p3@1");
    assert_eq!(world.guard.owned().count(), 4);
    assert_eq!(world.mark("p3"), 1);
}

#[test]
fn a_revoke_of_more_partitions_than_there_are_places_is_harmless() {
    // B127 (heapless#442)
    let mut world = World::new();
    world.assign("p0@0 p1@0 p2@0 p3@0");
    world.revoke("p0 p1 p2 p3 p4 p5 p6 p7 p8 p9 p0", 0).lost("p0 p1 p2 p3 p4 p5");
    assert_eq!(world.outputs().len(), 4);
    assert_eq!(world.guard.owned().count(), 0);
}

#[test]
fn partitions_remembered_after_their_end_make_room_oldest_first() {
    let mut world = World::new();
    for name in ["p0", "p1", "p2", "p3"] {
        world.assign(&format!("{name}@9")).finish(&format!("{name}:9")).commit_all();
        world.revoke(name, 0).drain();
    }
    world.assign("p4@0");
    assert!(world.guard.partition_counters(crate::support::partition("p0")).is_none());
    world.assign_in(8, "p1@0");
    assert_eq!(world.outputs(), ["step back p1 10->0"]);
    world.assign_in(9, "p0@0");
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn partitions_in_hand_over_are_not_forgotten_for_new_ones() {
    let mut world = World::new();
    world.assign("p0@0 p1@0 p2@0 p3@0").finish("p0:0");
    world.run("p1:0");
    world.revoke("p0 p1", 20_000);
    assert_eq!(
        world.try_assign("p4@0"),
        Err(InputError::PartitionsFull { needed: 1, available: 0 })
    );
    assert_eq!((world.phase("p0"), world.phase("p1")), ("Committing".into(), "Draining".into()));
}

#[test]
fn a_remembered_partition_that_is_assigned_again_is_not_forgotten_for_its_neighbour() {
    let mut world = World::new();
    for name in ["p0", "p1", "p2", "p3"] {
        world.assign(&format!("{name}@9")).finish(&format!("{name}:9")).commit_all();
        world.revoke(name, 0).drain();
    }
    world.assign_in(8, "p4@0 p0@0");
    assert_eq!(world.outputs(), ["step back p0 10->0"]);
    assert!(world.guard.partition_counters(crate::support::partition("p1")).is_none());
    assert!(world.guard.partition_counters(crate::support::partition("p2")).is_some());
}

#[test]
fn a_partition_that_ended_again_is_the_last_to_be_forgotten() {
    let mut world = World::new();
    for name in ["p0", "p1", "p2", "p3", "p0"] {
        world.assign(&format!("{name}@0")).revoke(name, 0).drain();
    }
    world.assign("p4@0 p5@0 p6@0");
    let remembered = |name| world.guard.partition_counters(crate::support::partition(name));
    assert!(remembered("p0").is_some_and(|counters| counters.assignments == 2));
    assert_eq!(["p1", "p2", "p3"].map(|name| remembered(name).is_some()), [false; 3]);
}

#[test]
fn an_assign_of_a_held_and_a_new_partition_takes_the_place_of_a_remembered_one() {
    let mut world = World::new();
    world.assign("p0@0 p1@0 p2@0 p3@0").revoke("p3", 0).drain();
    world.assign("p0@5 p4@0");
    let owned: Vec<_> = world.guard.owned().map(|(partition, _)| partition.index).collect();
    assert_eq!(owned, [1, 2, 0, 4]);
}
