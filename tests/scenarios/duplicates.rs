//! Dedupe never loses work, and never runs a finished key again while it is remembered.

use rebalance_guard::{Answered, Config, Record, Reply, Verdict};

use crate::support::{World, offset, partition, small, tick};

#[test]
fn a_copy_of_a_finished_key_is_skipped_and_lets_the_commit_move_past_it() {
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100=a");
    assert_eq!(world.admit("p0:101=a"), "skip: finished");
    assert_eq!(world.admit("p1:0=a"), "skip: finished");
    assert_eq!(world.commits(), ["p0=102", "p1=1"]);
    assert_eq!(world.guard.counters().skipped_finished, 2);
}

#[test]
fn a_copy_of_a_key_in_flight_is_skipped_and_the_first_holds_the_mark() {
    let mut world = World::new();
    world.assign("p0@100");
    let first = world.run("p0:100=a");
    assert_eq!(world.admit("p0:101=a"), "skip: in flight");
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.commits(), Vec::<String>::new());
    world.complete(first);
    assert_eq!(world.commits(), ["p0=102"]);
}

#[test]
fn a_duplicate_counts_as_admitted() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100=a");
    assert_eq!(world.admit("p0:105=a"), "skip: finished");
    assert_eq!(world.admit("p0:103"), "refuse: not above 105, finished");
}

#[test]
fn a_first_record_that_is_a_duplicate_reports_the_gap_below_it() {
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100=a");
    world.commit_all();
    assert_eq!(world.admit("p1:9=a"), "skip: finished");
    assert_eq!(world.outputs(), ["gap p1 0..9", "commit p1=10"]);
}

#[test]
fn a_key_stays_reserved_through_retries_and_a_pending_dead_letter() {
    let mut world = World::new();
    world.assign("p0@100");
    let first = world.run("p0:100=a");
    world.fail(first);
    assert_eq!(world.admit("p0:101=a"), "skip: in flight");
    world.tick(100).drain();
    world.fail_permanently(world.ticket("p0:100"));
    assert_eq!(world.admit("p0:102=a"), "skip: in flight");
    assert_eq!(world.outputs(), ["dead letter p0:100: permanent, copies 2"]);
    assert_eq!(world.admit("p0:103=a"), "skip: in flight");
    assert_eq!(world.mark("p0"), 100);
}

#[test]
fn the_dead_letter_stands_for_its_copies_and_frees_the_key() {
    let mut world = World::new();
    world.assign("p0@100 p1@0");
    let first = world.run("p0:100=a");
    assert_eq!(world.admit("p0:101=a"), "skip: in flight");
    assert_eq!(world.admit("p1:0=a"), "skip: in flight");
    assert_eq!(world.admit("p1:0=a"), "skip: in flight");
    world.fail_permanently(first);
    assert_eq!(world.outputs(), ["commit p1=1", "dead letter p0:100: permanent, copies 2"]);
    assert_eq!(world.dead_lettered(world.ticket("p0:100")), Answered::Done);
    assert_eq!(world.mark("p0"), 102);
    assert_eq!(world.admit("p0:102=a"), "run");
}

#[test]
fn an_abandoned_record_frees_its_key() {
    let mut world = World::new();
    world.assign("p0@100 p1@0");
    let first = world.run("p0:100=a");
    world.abandon(first);
    assert_eq!(world.admit("p1:0=a"), "run");
    assert_eq!(world.admit("p0:100=a"), "skip: in flight");
}

#[test]
fn an_abandoned_record_whose_key_finished_elsewhere_is_entered_when_offered_again() {
    let mut world = World::new();
    world.assign("p0@100 p1@0");
    let first = world.run("p0:100=a");
    world.abandon(first);
    world.finish("p1:0=a");
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.admit("p0:100=a"), "skip: finished");
    assert_eq!(world.mark("p0"), 101);
    assert_eq!(world.progress("p0").unfinished, 0);
}

#[test]
fn finished_keys_are_remembered_across_revoke_loss_and_assign() {
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100=a p1:0=b");
    world.revoke("p0", 0).lost("p1").assign_in(8, "p2@0");
    assert_eq!(world.admit("p2:0=a"), "skip: finished");
    assert_eq!(world.admit("p2:1=b"), "skip: finished");
}

#[test]
fn keys_are_remembered_in_the_order_in_which_they_finished() {
    let mut world = World::with(Config { keys: 2, ..small() });
    world.assign("p0@0");
    let (a, b, c) = (world.run("p0:0=a"), world.run("p0:1=b"), world.run("p0:2=c"));
    world.complete(c);
    world.complete(a);
    assert_eq!(world.admit("p0:3=c"), "skip: finished");
    world.complete(b);
    assert_eq!(world.admit("p0:4=a"), "skip: finished");
    assert_eq!(world.admit("p0:5=b"), "skip: finished");
    assert_eq!(world.admit("p0:6=c"), "run");
}

#[test]
fn a_key_with_live_work_is_never_evicted() {
    // B128 (kpipe PR#137)
    let mut world = World::with(Config { keys: 3, ..small() });
    world.assign("p0@100");
    let running = world.run("p0:100=a");
    world.finish("p0:101=b p0:102=c p0:103=d p0:104=e");
    assert_eq!(world.admit("p0:105=a"), "skip: in flight");
    world.complete(running);
    assert_eq!(world.admit("p0:106=a"), "skip: finished");
}

#[test]
fn a_window_of_no_remembered_keys_still_sees_copies_in_flight() {
    let mut world = World::with(Config { keys: 0, ..small() });
    world.assign("p0@100");
    let running = world.run("p0:100=a");
    assert_eq!(world.admit("p0:101=a"), "skip: in flight");
    world.complete(running);
    assert_eq!(world.admit("p0:102=a"), "run");
}

#[test]
fn the_same_key_in_two_partitions_is_one_operation_and_a_revoke_of_one_leaves_the_other() {
    // B134 (confluentinc/parallel-consumer#314): the idempotency key is one namespace.
    let mut world = World::new();
    world.assign("p0@100 p1@100");
    let running = world.run("p1:100=k");
    assert_eq!(world.admit("p0:100=k"), "skip: in flight");
    world.revoke("p0", 0);
    assert!(world.guard.is_live(running));
    assert_eq!(world.complete(running), Answered::Done);
    assert_eq!(world.mark("p1"), 101);
}

#[test]
fn equal_bytes_from_two_buffers_are_one_key_and_long_keys_are_told_apart_to_the_last_byte() {
    // B133 (confluentinc/parallel-consumer#579)
    for length in [3, 39, 40, 41, 500, Record::KEY_BYTES_MAX] {
        let mut world = World::new();
        world.assign("p0@0");
        let (key, same) = (vec![b'k'; length], vec![b'k'; length]);
        let mut other = key.clone();
        other[length - 1] = b'x';
        let shorter = &key[..length - 1];
        let mut admit = |at: u64, key: &[u8]| {
            let record = Record::new(partition("p0"), offset(at), Some(key));
            matches!(world.guard.admit(tick(0), record), Verdict::Run(_))
        };
        let ran = [admit(0, &key), admit(1, &same), admit(2, &other), admit(3, shorter)];
        assert_eq!(ran, [true, false, true, true], "length {length}");
    }
}

#[test]
fn a_namespace_splits_the_keys() {
    let mut world = World::new();
    world.assign("p0@0");
    let mut ran = Vec::new();
    for (at, namespace) in [(0, 0), (1, 1), (2, 1), (3, 0)] {
        let record = Record::new(partition("p0"), offset(at), Some(b"k"));
        let verdict = world.guard.admit(tick(0), Record { namespace, ..record });
        ran.push(matches!(verdict, Verdict::Run(_)));
    }
    assert_eq!(ran, [true, true, false, false]);
}

/// p0 rewound to 100 below its offered commit of 103, and 100 in flight with key `a`.
fn busy() -> World {
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100 p0:101 p0:102");
    assert_eq!(world.commits(), ["p0=103"]);
    assert_eq!(world.rewind("p0:100"), Ok(Reply::Done));
    world.drain().run("p0:100=a");
    assert_eq!(world.admit("p1:0=a"), "hold: key busy");
    world
}

#[test]
fn a_first_copy_below_an_offered_commit_vouches_for_nothing() {
    let mut world = busy();
    assert_eq!(world.admit("p1:1"), "hold: owed 0");
    assert_eq!(world.outputs(), ["pause p1"]);
    world.complete(world.ticket("p0:100"));
    assert!(world.outputs().contains(&"resume p1".to_owned()));
    assert_eq!(world.admit("p1:0=a"), "skip: finished");
    assert_eq!(world.guard.counters().held_key_busy, 1);
}

#[test]
fn a_copy_held_for_a_busy_key_resumes_even_when_the_place_of_the_first_was_taken_again() {
    let mut world = busy();
    assert_eq!(world.outputs(), ["pause p1"]);
    world.complete(world.ticket("p0:100"));
    world.run("p0:101=other");
    assert!(world.outputs().contains(&"resume p1".to_owned()));
}

#[test]
fn a_copy_held_for_a_busy_key_is_run_when_the_first_is_given_up() {
    let mut world = busy();
    world.abandon(world.ticket("p0:100"));
    assert_eq!(world.admit("p1:0=a"), "run");
    let mut world = busy();
    world.lost("p0");
    assert_eq!(world.admit("p1:0=a"), "run");
}

#[test]
fn a_copy_in_the_same_partition_is_held_for_a_busy_key_too() {
    let mut world = busy();
    assert_eq!(world.admit("p0:101=a"), "hold: key busy");
    assert_eq!(world.admit("p0:100=a"), "skip: in flight");
    assert_eq!(world.progress("p0").owed, Some(offset(101)));
}

#[test]
fn a_first_copy_at_an_offered_commit_vouches() {
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
    world.run("p0:101=a");
    assert_eq!(world.admit("p1:0=a"), "skip: in flight");
}

#[test]
fn a_commit_offered_in_an_earlier_ownership_still_keeps_a_first_copy_from_vouching() {
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100 p0:101 p0:102").commit_all();
    world.revoke("p0", 1_000).assign_in(8, "p0@100").drain();
    world.run("p0:102=a");
    assert_eq!(world.admit("p1:0=a"), "hold: key busy");
}

#[test]
fn a_first_copy_below_what_the_group_may_hold_does_not_vouch() {
    let mut world = World::new();
    world.assign("p0@100 p1@0");
    assert_eq!(world.rewind("p0:50"), Ok(Reply::Done));
    world.run("p0:60=k");
    assert_eq!(world.admit("p1:0=k"), "hold: key busy");

    let mut world = World::new();
    world.assign("p0@0 p1@0");
    world.run("p0:5=k");
    assert_eq!(world.group_offset("p0:10", 1), Reply::Done);
    assert_eq!(world.admit("p1:0=k"), "hold: key busy");
}
