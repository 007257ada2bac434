//! The checks of an admission, in their order: fence, owed, duplicate, offset, room.

use rebalance_guard::{Config, InputError, Record, Reply, Verdict};

use crate::support::{World, offset, partition, small, tick};

fn narrow(window: u32) -> World {
    World::with(Config { window, ..small() })
}

#[test]
fn a_held_record_is_owed_and_nothing_above_it_is_admitted_before_it() {
    let mut world = narrow(1);
    world.assign("p0@100");
    let running = world.run("p0:100");
    assert_eq!(world.admit("p0:101"), "hold: window");
    assert_eq!(world.admit("p0:102"), "hold: owed 101");
    assert_eq!(world.admit("p0:101"), "hold: window");
    assert_eq!(world.progress("p0").owed, Some(offset(101)));
    world.complete(running);
    assert_eq!(world.admit("p0:102"), "hold: owed 101");
    assert_eq!(world.admit("p0:101"), "run");
    assert_eq!(world.progress("p0").owed, None);
    assert_eq!(world.admit("p0:102"), "hold: window");
    assert_eq!(world.progress("p0").owed, Some(offset(102)));
}

#[test]
fn a_debt_holds_its_own_partition_alone() {
    let mut world = narrow(2);
    world.assign("p0@0 p1@0");
    let one = world.run("p0:0");
    world.run("p0:1");
    assert_eq!(world.admit("p0:2"), "hold: window");
    world.complete(one);
    assert_eq!(world.admit("p1:0"), "run");
    assert_eq!(world.admit("p0:3"), "hold: owed 2");
}

#[test]
fn a_record_below_the_debt_is_judged_as_ever_and_does_not_pay_it() {
    let mut world = narrow(1);
    world.assign("p0@100");
    let running = world.run("p0:100");
    assert_eq!(world.admit("p0:105"), "hold: window");
    assert_eq!(world.admit("p0:100"), "refuse: not above 100, in flight");
    assert_eq!(world.admit("p0:103"), "refuse: not above 105, never seen");
    world.complete(running);
    assert_eq!(world.admit("p0:100"), "refuse: not above 100, finished");
    assert_eq!(world.progress("p0").owed, Some(offset(105)));
    assert_eq!(world.admit("p0:105"), "run");
}

#[test]
fn a_held_record_that_turns_out_a_duplicate_pays_its_debt() {
    let mut world = narrow(1);
    world.assign("p0@100 p1@0");
    let running = world.run("p0:100=a");
    assert_eq!(world.admit("p1:0=b"), "hold: window");
    world.complete(running);
    world.finish("p0:101=b");
    assert_eq!(world.admit("p1:0=b"), "skip: finished");
    assert_eq!(world.progress("p1").owed, None);
    assert_eq!(world.mark("p1"), 1);
}

#[test]
fn a_parked_record_pays_its_debt() {
    let mut world = narrow(1);
    world.assign("p0@100");
    let running = world.run("p0:100");
    assert_eq!(world.admit_tried("p0:101", 3), "hold: window");
    world.complete(running);
    assert_eq!(world.admit_tried("p0:101", 3), "park: attempts spent");
    assert_eq!(world.progress("p0").owed, None);
}

#[test]
fn the_debt_is_looked_at_before_the_duplicate() {
    let mut world = narrow(1);
    world.assign("p0@100");
    world.run("p0:100=a");
    assert_eq!(world.admit("p0:101=b"), "hold: window");
    assert_eq!(world.admit("p0:102=a"), "hold: owed 101");
}

#[test]
fn the_debt_is_looked_at_before_the_unknown_position() {
    let mut world = World::new();
    world.assign("p0@?");
    assert_eq!(world.admit("p0:50"), "hold: resume unknown");
    assert_eq!(world.admit("p0:51"), "hold: owed 50");
    assert_eq!(world.admit("p0:50"), "hold: resume unknown");
    assert_eq!(world.guard.counters().held_resume_unknown, 2);
    assert_eq!(world.guard.counters().held_owed, 1);
}

#[test]
fn a_debt_at_or_above_the_position_told_later_stays() {
    let mut world = World::new();
    world.assign("p0@?");
    assert_eq!(world.admit("p0:50"), "hold: resume unknown");
    assert_eq!(world.position("p0@40", 1), Ok(Reply::Done));
    assert_eq!(world.admit("p0:51"), "hold: owed 50");
    assert_eq!(world.admit("p0:50"), "run");
    assert_eq!(world.admit("p0:51"), "run");
}

#[test]
fn a_debt_below_the_position_told_later_is_void() {
    let mut world = World::new();
    world.assign("p0@?");
    assert_eq!(world.admit("p0:50"), "hold: resume unknown");
    assert_eq!(world.position("p0@60", 1), Ok(Reply::Done));
    assert_eq!(world.progress("p0").owed, None);
    assert_eq!(world.admit("p0:60"), "run");
}

#[test]
fn a_position_is_told_once_and_must_say_something() {
    let mut world = World::new();
    world.assign("p0@? p1@10");
    assert_eq!(world.position("p0@?", 1), Err(InputError::NoPosition));
    assert_eq!(world.position("p0@40", 1), Ok(Reply::Done));
    assert_eq!(world.position("p0@90", 1), Ok(Reply::Stale));
    assert_eq!(world.position("p1@90", 2), Ok(Reply::Stale));
    assert_eq!(world.position("p3@90", 2), Ok(Reply::Stale));
    assert_eq!((world.mark("p0"), world.mark("p1")), (40, 10));
}

#[test]
fn a_debt_ends_with_its_assignment() {
    let mut world = narrow(1);
    world.assign("p0@100").run("p0:100");
    assert_eq!(world.admit("p0:101"), "hold: window");
    world.revoke("p0", 0).assign("p0@100");
    assert_eq!(world.progress("p0").owed, None);
    assert_eq!(world.admit("p0:100"), "run");
}

#[test]
fn the_window_is_asked_before_the_budget_and_the_duplicate_before_both() {
    let mut world = World::with(Config { window: 2, budget: 2, ..small() });
    world.assign("p0@100");
    let first = world.run("p0:100=a");
    world.run("p0:101=b");
    assert_eq!(world.admit("p0:101=b"), "skip: in flight");
    assert_eq!(world.admit("p0:102=c"), "hold: window");
    world.abandon(first);
    assert_eq!(world.admit("p0:102=c"), "hold: budget");
}

#[test]
fn the_budget_counts_records_at_or_above_the_mark_and_not_offsets() {
    // B74 (parallel-consumer#37): a far jump costs one place.
    let mut world = World::with(Config { budget: 3, ..small() });
    world.assign("p0@0");
    let slow = world.run("p0:0");
    world.finish("p0:1000000 p0:9000000000000000000");
    assert_eq!(world.admit("p0:9000000000000000001"), "hold: budget");
    world.complete(slow);
    assert_eq!(world.admit("p0:9000000000000000001"), "run");
}

#[test]
fn a_duplicate_needs_a_place_in_the_budget_to_be_entered() {
    let mut world = World::with(Config { budget: 2, ..small() });
    world.assign("p0@0");
    let slow = world.run("p0:0=a");
    world.finish("p0:1=b");
    assert_eq!(world.admit("p0:2=b"), "hold: budget");
    assert_eq!(world.admit("p0:2=b"), "hold: budget");
    assert_eq!(world.admit("p0:1=b"), "skip: finished");
    world.complete(slow);
    assert_eq!(world.admit("p0:2=b"), "skip: finished");
    assert_eq!(world.mark("p0"), 3);
}

#[test]
fn an_abandoned_record_has_its_place_and_is_admitted_again_when_offered() {
    let mut world = World::with(Config { budget: 2, ..small() });
    world.assign("p0@100");
    let first = world.run("p0:100");
    world.finish("p0:101");
    world.abandon(first);
    assert_eq!(world.admit("p0:102"), "hold: budget");
    assert_eq!(world.admit("p0:103"), "hold: owed 102");
    assert_eq!(world.admit("p0:100"), "run");
    assert_eq!(world.progress("p0").owed, Some(offset(102)));
    assert_eq!(world.admit("p0:100"), "refuse: not above 101, in flight");
    world.complete(world.ticket("p0:100"));
    assert_eq!(world.mark("p0"), 102);
    assert_eq!(world.admit("p0:102"), "run");
}

#[test]
fn an_abandoned_record_needs_room_in_the_window_when_it_comes_again() {
    let mut world = narrow(2);
    world.assign("p0@100");
    let first = world.run("p0:100");
    world.run("p0:101");
    world.abandon(first);
    let third = world.run("p0:102");
    assert_eq!(world.admit("p0:100"), "hold: window");
    assert_eq!(world.admit("p0:103"), "hold: owed 100");
    world.complete(third);
    assert_eq!(world.admit("p0:100"), "run");
}

#[test]
fn the_largest_offset_has_no_next_and_is_refused() {
    let mut world = World::new();
    world.assign("p0@9223372036854775806");
    assert_eq!(world.admit("p0:9223372036854775807"), "refuse: offset limit");
    assert_eq!(world.admit("p1:9223372036854775807"), "refuse: not owned");
    assert_eq!(world.admit("p0:9223372036854775806"), "run");
}

#[test]
fn records_without_a_usable_key_follow_the_policy() {
    let long = vec![b'k'; Record::KEY_BYTES_MAX + 1];
    let longest = &long[..Record::KEY_BYTES_MAX];
    let keys: [Option<&[u8]>; 6] =
        [None, Some(b""), Some(b" \t\r\n"), Some(&long), Some(longest), Some(b" k ")];
    for required in [true, false] {
        let key_policy = match required {
            true => rebalance_guard::KeyPolicy::Required,
            false => rebalance_guard::KeyPolicy::Optional,
        };
        let mut world = World::with(Config { key_policy, ..small() });
        world.assign("p0@0");
        for (at, key) in keys.into_iter().enumerate() {
            let record = Record::new(partition("p0"), offset(at as u64), key);
            let verdict = world.guard.admit(tick(0), record);
            let parked = matches!(verdict, Verdict::Park(_, rebalance_guard::Reason::NoUsableKey));
            assert_eq!(parked, required && at < 4, "record {at}");
            assert_eq!(matches!(verdict, Verdict::Run(_)), !parked, "record {at}");
        }
    }
}

#[test]
fn records_without_a_key_are_all_run() {
    // B131 (confluentinc/parallel-consumer#183), B130 (confluentinc/parallel-consumer#318)
    let mut world = World::new();
    world.assign("p0@100");
    for at in 100..110 {
        assert_eq!(world.admit(&format!("p0:{at}")), "run");
    }
    assert_eq!(world.guard.in_flight(), 10);
}

#[test]
fn tombstones_are_records_like_any_other() {
    // B139 (tulios/kafkajs PR#185): the guard sees no payload, so null and empty are alike to it.
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100=k/100 p0:101=k/101");
    assert_eq!(world.commits(), ["p0=102"]);
}

#[test]
fn a_batch_gets_exactly_the_answers_of_the_one_by_one_calls() {
    let mut world = World::with(Config { window: 3, budget: 4, ..small() });
    world.assign("p0@100 p1@0").finish("p0:100=a");
    let offered: [(&str, u64, Option<&[u8]>); 9] = [
        ("p0", 101, Some(b"a")),
        ("p0", 101, None),
        ("p0", 102, Some(b"b")),
        ("p0", 103, Some(b"b")),
        ("p1", 0, None),
        ("p1", 1, None),
        ("p1", 2, None),
        ("p1", 3, None),
        ("p2", 0, None),
    ];
    let records = offered.map(|(name, at, key)| Record::new(partition(name), offset(at), key));
    let mut single = world.clone();
    let expected = records.map(|record| single.guard.admit(tick(5), record));
    let mut verdicts = [expected[8]; 9];
    assert_eq!(world.guard.admit_batch(tick(5), &records, &mut verdicts), 9);
    assert_eq!(verdicts, expected);
    assert_eq!(world.guard.counters(), single.guard.counters());
    assert_eq!(world.outputs(), single.outputs());
    assert_eq!(world.guard.admit_batch(tick(5), &records, &mut verdicts[..2]), 2);
}
