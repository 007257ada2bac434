//! What the commit's metadata names as finished is skipped by the next owner.

use rebalance_guard::{Config, Ignored, KeyPolicy, Offset, Output, Record, Resume, Verdict};

use crate::strings::{beyond_64_bits, in_epoch, of_numbers, string};
use crate::support::{World, small, tick};
use crate::words::{name, partition, said};

pub(crate) fn telling() -> Config {
    Config { metadata_max: 256, ..small() }
}

/// Owns p0 from 100 on with `metadata` beside the offset.
fn owning(metadata: &str) -> World {
    let mut world = World::with(telling());
    world.assign(&format!("p0@100+{metadata}"));
    world
}

/// Offers a record of leader epoch `epoch`.
fn admit_of(world: &mut World, offset: u64, epoch: i32) -> String {
    let offset = Offset::new(offset).expect("an offset");
    let record = Record::new(partition("p0"), offset, None);
    said(world.guard.admit(tick(0), Record { leader_epoch: Some(epoch), ..record }))
}

fn ignored(world: &mut World) -> Vec<Ignored> {
    let mut found = Vec::new();
    while let Some(output) = world.guard.poll_output() {
        if let Output::MetadataIgnored { why, partition } = output {
            assert_eq!(name(partition), "p0");
            found.push(why);
        }
    }
    found
}

#[test]
fn a_string_of_exactly_the_length_allowed_is_taken_over_and_written() {
    let told = string(100, &[101, 102, 105]);
    let length = u16::try_from(told.len()).expect("it is short");
    for (metadata_max, verdict) in [(length, "skip: carried"), (length - 1, "run")] {
        let mut world = World::with(Config { metadata_max, ..small() });
        world.assign(&format!("p0@100+{told}"));
        world.run("p0:100");
        assert_eq!(world.admit("p0:101"), verdict, "at most {metadata_max}");
    }
    let mut world = World::with(Config { metadata_max: length, ..small() });
    world.assign("p0@100").run("p0:100");
    world.finish("p0:101 p0:102 p0:105");
    assert_eq!(world.commits(), [format!("p0=100 +{told}")]);
}

#[test]
fn what_the_owner_before_finished_is_skipped() {
    let mut world = owning(&string(100, &[101, 102, 105]));
    let said: Vec<_> = (100..107).map(|at| world.admit(&format!("p0:{at}"))).collect();
    let carried = "skip: carried";
    assert_eq!(said, ["run", carried, carried, "run", "run", carried, "run"]);
    assert_eq!(world.guard.counters().skipped_carried, 3);
    assert_eq!(world.progress("p0").unfinished, 4);
}

#[test]
fn the_mark_moves_past_carried_records_once_they_were_met() {
    let mut world = owning(&string(100, &[101, 102]));
    let ticket = world.run("p0:100");
    assert_eq!(world.admit("p0:101"), "skip: carried");
    assert_eq!(world.mark("p0"), 100);
    world.complete(ticket);
    assert_eq!(world.mark("p0"), 102);
    assert_eq!(world.admit("p0:102"), "skip: carried");
    assert_eq!(world.mark("p0"), 103);
}

#[test]
fn a_carried_record_never_touches_the_key_window() {
    let mut world = owning(&string(100, &[100]));
    assert_eq!(world.admit("p0:100=order"), "skip: carried");
    assert_eq!(world.admit("p0:101=order"), "run");
}

#[test]
fn a_carried_record_is_skipped_whatever_its_key_says() {
    let mut world = World::with(Config { key_policy: KeyPolicy::Required, ..telling() });
    world.assign(&format!("p0@100+{}", string(100, &[100])));
    assert_eq!(world.admit("p0:100"), "skip: carried");
    assert_eq!(world.admit("p0:101"), "park: no usable key");
}

#[test]
fn a_second_copy_of_a_carried_record_is_a_harmless_redelivery() {
    let mut world = owning(&string(100, &[100]));
    assert_eq!(world.admit("p0:100"), "skip: carried");
    assert_eq!(world.admit("p0:100"), "refuse: not above 100, finished");
}

#[test]
fn a_carried_record_that_was_compacted_away_pins_nothing() {
    // B79 (confluentinc/parallel-consumer#52)
    let mut world = owning(&string(100, &[100, 103]));
    assert_eq!(world.admit("p0:100"), "skip: carried");
    world.finish("p0:101 p0:102 p0:104");
    assert_eq!(world.mark("p0"), 105);
    assert_eq!(world.admit("p0:103"), "refuse: not above 104, finished");
}

#[test]
fn a_carried_record_needs_a_place_in_the_budget() {
    let mut world = World::with(Config { budget: 1, ..telling() });
    world.assign(&format!("p0@100+{}", string(100, &[101])));
    let ticket = world.run("p0:100");
    assert_eq!(world.admit("p0:101"), "hold: budget");
    assert_eq!(world.admit("p0:102"), "hold: owed 101");
    world.complete(ticket);
    assert_eq!(world.admit("p0:101"), "skip: carried");
    assert_eq!(world.mark("p0"), 102);
}

#[test]
fn a_carried_first_record_reports_its_gap() {
    let mut world = owning(&string(100, &[105]));
    assert_eq!(world.admit("p0:105"), "skip: carried");
    assert_eq!(world.outputs(), ["gap p0 100..105", "commit p0=106"]);
}

#[test]
fn a_late_position_carries_as_an_assign_does() {
    let mut world = World::with(telling());
    world.assign("p0@?");
    assert_eq!(world.admit("p0:100"), "hold: resume unknown");
    let text = string(100, &[100]);
    assert!(world.position(&format!("p0@100+{text}"), 1).is_ok());
    assert_eq!(world.admit("p0:100"), "skip: carried");
}

#[test]
fn a_rewind_voids_it_without_a_word() {
    let mut world = owning(&string(100, &[101]));
    assert!(world.rewind("p0:100").is_ok());
    assert_eq!(ignored(&mut world), []);
    assert_eq!(world.admit("p0:100"), "run");
    assert_eq!(world.admit("p0:101"), "run");
}

#[test]
fn a_new_assignment_starts_without_it() {
    let mut world = owning(&string(100, &[101]));
    world.lost("p0").assign("p0@100");
    world.run("p0:100");
    assert_eq!(world.admit("p0:101"), "run");
}

#[test]
fn the_later_entry_of_a_partition_named_twice_decides() {
    let mut world = World::with(telling());
    world.assign(&format!("p0@100+junk p0@100+{}", string(100, &[100])));
    assert_eq!(ignored(&mut world), []);
    assert_eq!(world.admit("p0:100"), "skip: carried");
}

#[test]
fn metadata_that_is_not_ours_is_ignored_and_reported() {
    let good = string(100, &[101]);
    let cases = [
        ("somebody-else", Ignored::Foreign),
        ("rg", Ignored::Foreign),
        (&good[..good.len() - 1], Ignored::Foreign),
        ("rg2kDIBCCB", Ignored::Version),
        (&string(99, &[101]), Ignored::Base),
        (&string(100, &(0..200).map(|n| 101 + 2 * n).collect::<Vec<_>>()), Ignored::TooLong),
    ];
    for (text, why) in cases {
        let mut world = owning(text);
        assert_eq!(ignored(&mut world), [why], "{text}");
        assert_eq!(world.guard.counters().metadata_ignored, 1, "{text}");
        assert_eq!(world.admit("p0:100"), "run", "{text}");
        assert_eq!(world.admit("p0:101"), "run", "{text}");
    }
}

#[test]
fn a_string_is_read_in_one_way_or_not_at_all() {
    let reads = |numbers: &[u64]| {
        let text = of_numbers(numbers);
        let mut world = World::with(telling());
        world.assign(&format!("p0@{}+{text}", numbers[0]));
        ignored(&mut world)
    };
    let last = Offset::MAX.value();
    // Base, epoch, then gap and length of each run.
    assert_eq!(reads(&[100, 0, 1, 1]), []);
    assert_eq!(reads(&[100, 1 << 31, 1, 1]), [], "the largest epoch");
    assert_eq!(reads(&[100, (1 << 31) + 1, 1, 1]), [Ignored::Foreign], "an epoch too large");
    assert_eq!(reads(&[100, 0]), [Ignored::Foreign], "an empty set has no string");
    assert_eq!(reads(&[100, 0, 1, 0]), [Ignored::Foreign], "a run of nothing");
    assert_eq!(reads(&[100, 0, 1, 1, 0, 1]), [Ignored::Foreign], "runs that touch are one");
    assert_eq!(reads(&[100, 0, 1]), [Ignored::Foreign], "a gap without a length");
    assert_eq!(reads(&[last - 2, 0, 1, 1]), [], "up to the last offset");
    assert_eq!(reads(&[last - 2, 0, 1, 2]), [Ignored::Foreign], "above the last offset");
    assert_eq!(reads(&[100, 0, u64::MAX, 1]), [Ignored::Foreign], "above all numbers");
    assert_eq!(reads(&[100, 0, 1, u64::MAX]), [Ignored::Foreign], "longer than all numbers");
    for which in 0..4 {
        let mut world = World::with(telling());
        world.assign(&format!("p0@100+{}", beyond_64_bits(&[100, 0, 1, 1], which)));
        assert_eq!(ignored(&mut world), [Ignored::Foreign], "number {which} is no u64");
    }
}

#[test]
fn with_metadata_off_nothing_is_read_written_or_reported() {
    let mut world = World::with(Config { metadata_max: 0, ..telling() });
    world.assign(&format!("p0@100+{}", string(100, &[101])));
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.run("p0:100");
    world.finish("p0:101");
    assert_eq!(world.outputs(), Vec::<String>::new());
    // What stands above a mark that moves is not called dropped for want of room either.
    world.run("p0:102");
    world.finish("p0:103");
    world.complete(world.ticket("p0:100"));
    assert_eq!(world.outputs(), ["commit p0=102"]);
    assert_eq!(world.guard.counters().metadata_dropped, 0);
}

#[test]
fn a_record_of_a_later_leader_epoch_voids_what_was_carried() {
    let mut world = owning(&in_epoch(100, Some(7), &[101, 102]));
    assert_eq!(admit_of(&mut world, 100, 7), "run");
    assert_eq!(admit_of(&mut world, 101, 8), "run");
    assert_eq!(ignored(&mut world), [Ignored::LaterEpoch]);
    assert_eq!(admit_of(&mut world, 102, 7), "run");
}

#[test]
fn records_of_the_same_or_no_epoch_void_nothing() {
    let mut world = owning(&in_epoch(100, Some(7), &[100, 101, 102]));
    assert_eq!(admit_of(&mut world, 100, 7), "skip: carried");
    assert_eq!(admit_of(&mut world, 101, -1), "skip: carried");
    assert_eq!(world.admit("p0:102"), "skip: carried");
    assert_eq!(ignored(&mut world), []);
}

#[test]
fn a_string_without_an_epoch_is_not_contradicted() {
    let mut world = owning(&string(100, &[100, 101]));
    assert_eq!(admit_of(&mut world, 100, 9), "skip: carried");
    assert_eq!(ignored(&mut world), []);
}

#[test]
fn a_refused_record_of_a_later_epoch_leaves_no_trace() {
    let mut world = owning(&in_epoch(100, Some(7), &[101]));
    world.run("p0:100");
    assert_eq!(admit_of(&mut world, 100, 8), "refuse: not above 100, in flight");
    assert_eq!(ignored(&mut world), []);
    assert_eq!(world.admit("p0:101"), "skip: carried");
}

#[test]
fn the_largest_offsets_are_carried_too() {
    let top = i64::MAX.unsigned_abs();
    let mut world = World::with(telling());
    let text = string(top - 2, &[top - 1]);
    world.assign(&format!("p0@{}+{text}", top - 2));
    world.run(&format!("p0:{}", top - 2));
    assert_eq!(world.admit(&format!("p0:{}", top - 1)), "skip: carried");
}

#[test]
fn bytes_that_are_no_text_are_foreign() {
    let mut world = World::with(telling());
    let offset = Offset::new(100).expect("an offset");
    let resume = Resume::Committed { offset, metadata: &[0xFF, 0, 0x80] };
    assert!(world.guard.assign(tick(0), Some(7), &[(partition("p0"), resume)]).is_ok());
    assert_eq!(ignored(&mut world), [Ignored::Foreign]);
    let record = Record::new(partition("p0"), offset, None);
    assert!(matches!(world.guard.admit(tick(0), record), Verdict::Run(_)));
}
