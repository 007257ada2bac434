//! A guard as bytes: what survives, and what is refused.

use rebalance_guard::{
    Answered, Config, Fenced, Guard, HashKey, Offset, Phase, Record, Refuse, RestoreError,
    SnapshotError, Storm, Verdict, reseal_snapshot, snapshot_taken_at,
};

use rebalance_guard_sim::Heap;

use crate::strings::string;
use crate::support::{World, small, tick};
use crate::told::Told;
use crate::words::{offset, partition, said};

fn bytes_of(world: &World) -> Vec<u8> {
    let mut bytes = vec![0; world.guard.snapshot_len()];
    world.guard.snapshot(&mut bytes).expect("the room was measured");
    bytes
}

fn restore(config: Config, now: u64, bytes: &[u8]) -> Result<Guard<Heap>, RestoreError> {
    Guard::restore(Heap::new(&config), config, tick(now), bytes)
}

/// The same world around the restored guard.
fn reloaded(world: &World, now: u64) -> World {
    let mut other = world.clone();
    let guard = restore(*world.guard.config(), now, &bytes_of(world)).expect("its own bytes");
    other.guard = Told::restored(guard);
    other.at(now);
    other
}

/// p0 with 100 in hands, 101 finished; p1 draining with 7 in back-off; 9 owed on p2.
fn busy() -> World {
    let mut world = World::with(Config { metadata_max: 64, journal: 16, window: 3, ..small() });
    world.assign("p0@100 p1@7 p2@9").run("p0:100=a");
    world.finish("p0:101=b");
    world.run("p1:7");
    world.run("p1:8");
    assert_eq!(world.admit("p2:9"), "hold: window");
    world.drain();
    world.fail(world.ticket("p1:7"));
    world.revoke("p1", 5_000);
    world
}

#[test]
fn no_snapshot_is_longer_than_its_settings_allow_and_the_bound_grows_with_each() {
    let mut world = busy();
    let bound = |config: &Config| rebalance_guard::snapshot_len_max(config);
    let config = *world.guard.config();
    for index in 0..40 {
        world.admit(&format!("p0:{}=k{index}", 102 + index));
        let length = u64::try_from(world.guard.snapshot_len()).expect("it fits");
        assert!(length <= bound(&config), "{length} bytes, {} allowed", bound(&config));
    }
    let larger = [
        (Config { partitions: config.partitions + 1, ..config }, 512),
        (Config { window: config.window + 1, ..config }, 128),
        (Config { keys: config.keys + 1, ..config }, 64),
        (Config { journal: config.journal + 1, ..config }, 64),
    ];
    for (larger, least) in larger {
        assert!(bound(&larger) >= bound(&config) + least, "{larger:?}");
    }
}

#[test]
fn tickets_handed_out_before_count_afterwards() {
    let world = busy();
    let mut other = reloaded(&world, 0);
    assert!(other.guard.is_live(other.ticket("p0:100")));
    assert_eq!(other.complete(other.ticket("p1:8")), Answered::Done);
    assert_eq!(other.complete(other.ticket("p0:100")), Answered::Done);
    assert_eq!(other.complete(other.ticket("p0:100")), Answered::Stale);
    assert_eq!(other.mark("p0"), 102);
}

#[test]
fn the_journal_goes_on_behind_its_last_entry() {
    for entries in 1..6 {
        let mut world = World::with(Config { journal: entries, ..small() });
        world.assign("p0@100");
        assert_eq!(world.admit("p1:0"), "refuse: not owned");
        assert_eq!(world.admit("p0:99"), "refuse: not above 99, below resume");
        let mut other = reloaded(&world, 0);
        for each in [&mut world, &mut other] {
            each.admit("p2:0");
            each.admit("p3:0");
        }
        let all = |world: &World| world.guard.journal().collect::<Vec<_>>();
        assert_eq!(all(&world), all(&other), "{entries} entries");
    }
}

#[test]
fn each_ticket_counts_for_its_own_record_afterwards() {
    let mut world = World::new();
    world.assign("p0@100").run("p0:100");
    world.run("p0:101");
    let mut other = reloaded(&world, 0);
    other.complete(world.ticket("p0:101"));
    assert_eq!(other.mark("p0"), 100);
    other.complete(world.ticket("p0:100"));
    assert_eq!(other.mark("p0"), 102);
}

#[test]
fn reports_of_every_kind_survive_in_their_order() {
    let mut world = World::with(Config { metadata_max: 64, storm_at: 3, ..small() });
    world.generation = None;
    world.assign("p0@500").finish("p0:500").commit_all().lost("p0");
    world.assign("p0@100 p1@0+junk p2@0").run("p2:5");
    assert_eq!(
        reloaded(&world, 0).outputs(),
        [
            "sealed p0 #1: lost, mark 501, left 0",
            "step back p0 501->100",
            "metadata ignored p1: foreign or damaged",
            "gap p2 0..5",
            "commit p2=5",
        ]
    );
    for round in 1..4 {
        world.at(round * 200).revoke("p1", round * 200).assign("p1@0");
    }
    let began = reloaded(&world, 600).outputs();
    assert!(began.iter().any(|word| word.starts_with("storm began")), "{began:?}");
    world.poll(99_000).poll(190_000).tick(250_000);
    let ended = reloaded(&world, 250_000).outputs();
    assert!(ended.contains(&"storm ended".to_owned()), "{ended:?}");
}

#[test]
fn keys_debts_and_the_set_above_the_mark_survive() {
    let world = busy();
    let (mut one, mut other) = (world.clone(), reloaded(&world, 0));
    assert_eq!(one.outputs(), other.outputs());
    for record in ["p0:102=a", "p0:103=b", "p2:10", "p1:9", "p2:9"] {
        assert_eq!(one.admit(record), other.admit(record), "{record}");
    }
    let later = one.tick(90_000).outputs();
    assert_eq!(later, other.tick(90_000).outputs());
    assert!(!later.is_empty());
}

#[test]
fn the_assignment_counter_goes_on() {
    let mut other = reloaded(&busy(), 0);
    other.assign("p3@0");
    assert_eq!(other.assignment("p3"), 4);
}

#[test]
fn a_later_tick_lets_the_time_between_pass() {
    let world = busy();
    let mut other = reloaded(&world, 5_000);
    assert_eq!(other.phase("p1"), "Unowned");
    assert!(other.outputs().contains(&"sealed p1 #2: deadline, mark 7, left 2".to_owned()));
}

#[test]
fn a_tick_behind_the_snapshots_is_another_clock_and_loses_everything() {
    let mut world = busy();
    world.tick(3_000).drain();
    let mut other = reloaded(&world, 2_999);
    assert_eq!(
        other.outputs(),
        [
            "rejoin after 0",
            "sealed p0 #1: lost, mark 100, left 1",
            "sealed p1 #2: lost, mark 7, left 2",
            "sealed p2 #3: lost, mark 9, left 0",
        ]
    );
    assert_eq!(other.complete(other.ticket("p0:100")), Answered::Stale);
    assert_eq!(other.guard.waiting().map(|waiting| waiting.since.value()), Some(2_999));
    assert_eq!(other.guard.now(), tick(2_999));
    other.assign("p0@100");
    assert_eq!(other.admit("p0:100=a"), "run");
    assert_eq!(other.admit("p0:101=b"), "skip: finished", "what is done stays done");
}

#[test]
fn a_room_too_small_says_what_is_needed() {
    let world = busy();
    let needed = world.guard.snapshot_len();
    let mut room = vec![0; needed - 1];
    assert_eq!(world.guard.snapshot(&mut room), Err(SnapshotError::TooSmall { needed }));
}

#[test]
fn other_settings_are_refused_but_another_first_assignment_is_not() {
    let bytes = bytes_of(&busy());
    let config = *busy().guard.config();
    let first = Config { first_assignment: 9_000, ..config };
    assert!(restore(first, 0, &bytes).is_ok());
    let others = [
        Config { budget: 33, ..config },
        Config { lease: 100_001, ..config },
        Config { key_age: Some(1), ..config },
        Config { hash_key: HashKey([1, 0]), ..config },
        Config { hold_in_storm: true, ..config },
    ];
    for other in others {
        assert_eq!(restore(other, 0, &bytes).err(), Some(RestoreError::OtherSettings));
    }
}

#[test]
fn what_is_no_whole_snapshot_of_this_version_is_refused_with_its_reason() {
    let bytes = bytes_of(&busy());
    let config = *busy().guard.config();
    let why = |bytes: &[u8]| restore(config, 0, bytes).expect_err("refused");
    let given = bytes.len();
    assert_eq!(why(b""), RestoreError::NotASnapshot);
    assert_eq!(why(b"RGSN"), RestoreError::NotASnapshot);
    assert_eq!(why(b"something else"), RestoreError::NotASnapshot);
    let said = given as u64;
    assert_eq!(why(&bytes[..given - 1]), RestoreError::Length { said, given: given - 1 });
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(why(&longer), RestoreError::Length { said, given: given + 1 });
    let mut newer = bytes.clone();
    newer[4] = 2;
    assert_eq!(why(&newer), RestoreError::Version(2));
    let mut damaged = bytes.clone();
    damaged[given / 2] ^= 1;
    assert_eq!(why(&damaged), RestoreError::Damaged);
    let mut sealed = bytes[..given - 1].to_vec();
    reseal_snapshot(&mut sealed);
    assert_eq!(why(&sealed), RestoreError::Contradiction);
    let mut sealed = bytes.clone();
    sealed.insert(given - 8, 0);
    reseal_snapshot(&mut sealed);
    assert_eq!(why(&sealed), RestoreError::Contradiction);
    assert!(why(&newer).to_string().contains("start without it"));
}

/// Where the text stands in the bytes.
fn position(bytes: &[u8], text: &[u8]) -> usize {
    let found: Vec<_> =
        bytes.windows(text.len()).enumerate().filter(|(_, window)| *window == text).collect();
    assert_eq!(found.len(), 1, "{text:?}");
    found[0].0
}

#[test]
fn carried_runs_that_cannot_be_are_a_contradiction() {
    let mut world = World::with(Config { metadata_max: 64, ..small() });
    world.assign(&format!("p0@100+{}", string(100, &[101, 102, 105])));
    let (bytes, config) = (bytes_of(&world), *world.guard.config());
    // Before the text: where its runs end and the next one stands, u16 each; the run at hand,
    // begin and end, u64 each; the epoch.
    let text = position(&bytes, b"rg1");
    let runs_end = u16::from_le_bytes([bytes[text - 28], bytes[text - 27]]);
    let altered = |at: usize, value: &[u8]| {
        let mut altered = bytes.clone();
        altered[at..at + value.len()].copy_from_slice(value);
        reseal_snapshot(&mut altered);
        restore(config, 0, &altered).err()
    };
    let contradiction = Some(RestoreError::Contradiction);
    assert_eq!(altered(text - 26, &runs_end.to_le_bytes()), None, "all runs are behind");
    assert_eq!(altered(text - 26, &(runs_end + 1).to_le_bytes()), contradiction);
    assert_eq!(altered(text - 24, &102_u64.to_le_bytes()), None, "the run begins later");
    assert_eq!(altered(text - 24, &103_u64.to_le_bytes()), contradiction, "an empty run");
    assert_eq!(altered(text - 16, &101_u64.to_le_bytes()), contradiction, "an empty run");
    let last = Offset::MAX.value();
    assert_eq!(altered(text - 16, &last.to_le_bytes()), None, "up to the last offset");
    assert_eq!(altered(text - 16, &(last + 1).to_le_bytes()), contradiction, "above it");
}

#[test]
fn two_records_in_flight_do_not_share_a_place() {
    let mut world = World::with(small());
    world.assign("p0@100").run("p0:100=first!");
    world.run("p0:101=other!");
    let (bytes, config) = (bytes_of(&world), *world.guard.config());
    let [first, other] = [b"first!", b"other!"].map(|key| position(&bytes, key));
    // A place's row begins with its offset; the record in flight there with its own place.
    let place = |offset: u64, key: usize| {
        let row: Vec<u8> = offset.to_le_bytes().into_iter().chain([2]).collect();
        position(&bytes[..key], &row) + row.len()
    };
    let [first, other] = [place(100, first), place(101, other)];
    assert_eq!((bytes[first], bytes[other]), (0, 1));
    for (place, what) in [(0, "shared"), (2, "never used")] {
        let mut moved = bytes.clone();
        moved[other] = place;
        reseal_snapshot(&mut moved);
        let why = restore(config, 0, &moved).err();
        assert_eq!(why, Some(RestoreError::Contradiction), "{what}");
    }
}

#[test]
fn a_place_that_was_never_used_is_not_among_the_free_ones() {
    let mut world = World::new();
    world.assign("p0@100").run("p0:100");
    world.finish("p0:101");
    let (mut bytes, config) = (bytes_of(&world), *world.guard.config());
    // The end of the list before, the one free place, the end.
    let end = [0xFF; 4];
    let free = position(&bytes, &[&end[..], &[1, 0, 0, 0], &end].concat()) + end.len();
    bytes[free] = 2;
    reseal_snapshot(&mut bytes);
    assert_eq!(restore(config, 0, &bytes).err(), Some(RestoreError::Contradiction));
}

#[test]
#[cfg_attr(miri, ignore = "thousands of restores: hours under Miri")]
fn no_changed_byte_makes_a_last_commit_with_records_in_flight() {
    let mut world = World::new();
    world.assign("p0@100").run("p0:100");
    world.revoke("p0", 5_000);
    let (bytes, config) = (bytes_of(&world), *world.guard.config());
    let mut restored = 0;
    for at in 0..bytes.len() - 8 {
        for value in 0..4 {
            let mut changed = bytes.clone();
            changed[at] = value;
            reseal_snapshot(&mut changed);
            let Ok(guard) = restore(config, 0, &changed) else { continue };
            restored += 1;
            let phase = guard.progress(partition("p0")).map(|progress| progress.phase);
            assert!(phase != Some(Phase::Committing) || guard.in_flight() == 0, "{at}: {value}");
        }
    }
    assert!(restored > 500, "{restored}");
}

#[test]
fn under_another_clock_storms_are_forgotten_and_finished_keys_are_young_again() {
    let mut world = World::with(Config { key_age: Some(1_000), storm_at: 3, ..small() });
    world.generation = None;
    world.assign("p0@0").at(100).finish("p0:0=order");
    for round in 1..4 {
        world.at(round * 200).revoke("p0", round * 200).assign("p0@0");
    }
    assert_eq!(world.guard.storm(), Storm::Storm);
    let mut other = reloaded(&world, 50);
    assert_eq!(other.guard.storm(), Storm::Calm);
    other.assign("p0@1");
    assert_eq!(other.at(1_049).admit("p0:1=order"), "skip: finished");
    assert_eq!(other.at(1_050).admit("p0:2=order"), "run");
}

#[test]
fn namespaces_and_long_keys_survive() {
    let mut world = World::new();
    world.assign("p0@0");
    let long = [b'k'; 50];
    let records = [(0, 7, &b"k"[..]), (1, 0, &long[..])].map(|(at, namespace, key)| Record {
        namespace,
        ..Record::new(partition("p0"), offset(at), Some(key))
    });
    for record in records {
        let Verdict::Run(ticket) = world.guard.admit(tick(0), record) else { panic!("{record:?}") };
        assert_eq!(world.complete(ticket), Answered::Done);
    }
    let mut other = reloaded(&world, 0);
    let again = records.map(|record| Record { offset: offset(2), ..record });
    let [namespaced, long] = again.map(|record| other.clone().guard.admit(tick(0), record));
    assert_eq!([namespaced, long].map(said), ["skip: finished", "skip: finished"]);
    let plain = Record { namespace: 0, ..again[0] };
    assert!(matches!(other.guard.admit(tick(0), plain), Verdict::Run(_)));
}

#[test]
fn the_oldest_finished_key_is_still_the_first_to_go() {
    let mut world = World::with(Config { keys: 3, ..small() });
    world.assign("p0@0").finish("p0:0=a p0:1=b p0:2=c p0:3=d");
    let mut other = reloaded(&world, 0);
    other.finish("p0:4=e");
    assert_eq!(other.admit("p0:5=d"), "skip: finished");
    assert_eq!(other.admit("p0:6=c"), "skip: finished");
    assert_eq!(other.admit("p0:7=b"), "run");
}

#[test]
fn a_snapshot_says_when_it_was_taken() {
    let mut world = busy();
    world.tick(3_000);
    assert_eq!(snapshot_taken_at(&bytes_of(&world)), Some(tick(3_000)));
    assert_eq!(snapshot_taken_at(b"RGSN and no more"), None);
    assert_eq!(snapshot_taken_at(&[0; 64]), None);
}

#[test]
fn a_partition_stands_in_a_snapshot_once_and_under_no_negative_number() {
    let mut world = World::with(small());
    world.assign("2/p0@100 3/p77@100");
    let (bytes, config) = (bytes_of(&world), *world.guard.config());
    let row = position(&bytes, &[3, 0, 0, 0, 77, 0, 0, 0]);
    let named = |topic: u8, index: i32| {
        let mut bytes = bytes.clone();
        bytes[row] = topic;
        bytes[row + 4..row + 8].copy_from_slice(&index.to_le_bytes());
        reseal_snapshot(&mut bytes);
        restore(config, 0, &bytes).err()
    };
    let contradiction = Some(RestoreError::Contradiction);
    assert_eq!(named(2, 1), None);
    assert_eq!(named(2, 0), contradiction, "twice");
    assert_eq!(named(3, -1), contradiction, "negative");
}

#[test]
fn as_many_places_as_the_budget_survive() {
    let mut world = World::with(Config { budget: 3, ..small() });
    world.assign("p0@100").run("p0:100");
    world.finish("p0:101 p0:102");
    assert_eq!(world.admit("p0:103"), "hold: budget");
    let mut other = reloaded(&world, 0);
    assert_eq!(other.admit("p0:103"), "hold: budget");
    other.complete(world.ticket("p0:100"));
    assert_eq!(other.commits(), ["p0=103"]);
}

#[test]
fn a_mark_that_stands_below_what_is_finished_is_a_contradiction() {
    let mut world = World::with(small());
    let given_up = world.assign("p0@100").run("p0:100");
    world.finish("p0:101").abandon(given_up);
    let (mut bytes, config) = (bytes_of(&world), *world.guard.config());
    assert!(restore(config, 0, &bytes).is_ok());
    // Two places, each its offset and what became of it: given up, and finished.
    let places = [&100_u64.to_le_bytes()[..], &[1], &101_u64.to_le_bytes(), &[0]].concat();
    let first = position(&bytes, &places);
    bytes[first + 8] = 0;
    reseal_snapshot(&mut bytes);
    assert_eq!(restore(config, 0, &bytes).err(), Some(RestoreError::Contradiction));
}

#[test]
fn a_place_is_for_an_offset_that_a_record_can_have() {
    let last = Offset::RECORD_MAX.value();
    let mut world = World::new();
    world.assign(&format!("p0@{last}")).run(&format!("p0:{last}"));
    let (bytes, config) = (bytes_of(&world), *world.guard.config());
    assert!(restore(config, 0, &bytes).is_ok());
    // The places of p0: how many, the offset of the only one, and that it is open.
    let places = [&[1, 0, 0, 0][..], &last.to_le_bytes(), &[2]].concat();
    let at = position(&bytes, &places) + 4;
    let mut above = bytes;
    above[at..at + 8].copy_from_slice(&(last + 1).to_le_bytes());
    reseal_snapshot(&mut above);
    assert_eq!(restore(config, 0, &above).err(), Some(RestoreError::Contradiction));
}

#[test]
fn a_report_has_a_place_of_its_own_kind_and_of_a_partition_that_there_can_be() {
    let mut world = World::with(Config { partitions: 2, ..small() });
    world.assign("3/p77@100").run("3/p77:105");
    let (bytes, config) = (bytes_of(&world), *world.guard.config());
    // The place of a gap in the first of two slots, the kind, the partition.
    let gap = [1, 0, 0, 0, 1, 3, 0, 0, 0, 77, 0, 0, 0];
    let place = position(&bytes, &gap);
    let moved = |to: u8| {
        let mut bytes = bytes.clone();
        bytes[place] = to;
        reseal_snapshot(&mut bytes);
        restore(config, 0, &bytes).err()
    };
    let contradiction = Some(RestoreError::Contradiction);
    assert_eq!(moved(6), None, "the second slot's");
    assert_eq!(moved(11), contradiction, "that of a third");
    assert_eq!(moved(2), contradiction, "that of a step back");
}

#[test]
fn a_dead_client_stays_dead() {
    let mut world = busy();
    world.fatal();
    let mut other = reloaded(&world, 0);
    assert!(other.try_assign("p0@0").is_err());
    assert_eq!(other.admit("p0:0"), said(Verdict::Refuse(Refuse::Fenced(Fenced::Dead))));
}

/// The story whose snapshot every later build must still read.
fn golden() -> World {
    let mut world = busy();
    world.tick(1_000).drain();
    world.assign("p3@at:5").finish("p3:5=c");
    world
}

const GOLDEN: &[u8] = include_bytes!("snapshot-v1.bin");

#[test]
fn the_golden_snapshot_is_written_to_the_byte() {
    let bytes = bytes_of(&golden());
    // For a new version: the file to write it to.
    if let Some(file) = std::env::var_os("RG_GOLDEN_OUT") {
        std::fs::write(file, &bytes).expect("written");
    }
    assert!(bytes == GOLDEN, "the layout changed: raise the version, keep reading version 1");
}

#[test]
fn the_golden_snapshot_is_read() {
    let mut old = golden();
    let guard = restore(*old.guard.config(), 1_000, GOLDEN).expect("version 1 is read");
    old.guard = Told::restored(guard);
    let mut new = golden();
    assert_eq!(old.outputs(), new.outputs());
    assert_eq!(old.tick(90_000).outputs(), new.tick(90_000).outputs());
    assert_eq!(old.guard.counters(), new.guard.counters());
}
