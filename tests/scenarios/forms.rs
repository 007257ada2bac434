//! What people read of the core's values, and the bytes that boundaries carry.

use rebalance_guard::{
    Assignment, Config, ConfigError, Ended, Event, Fenced, HashKey, Hold, InputError, JournalEntry,
    Offset, OffsetError, Partition, Refuse, Seen, SnapshotError,
};

use crate::support::World;
use crate::words::{offset, tick};

#[test]
fn errors_say_what_to_change() {
    for (error, text) in [
        (ConfigError::Zero("window"), "`window` must be at least 1"),
        (ConfigError::TooLarge("keys"), "`keys` is above its limit"),
        (ConfigError::JitterAbove100(101), "`jitter` is a percentage, 101 is above 100"),
        (ConfigError::BackoffAboveCap, "`backoff` must not be above `backoff_cap`"),
        (ConfigError::StormOrder, "`storm_calm` < `storm_rising` <= `storm_at` must hold"),
        (
            ConfigError::MemoryTooSmall { part: "finished keys", needed: 9, available: 8 },
            "the memory has 8 places for finished keys, the settings ask for 9",
        ),
    ] {
        assert_eq!(error.to_string(), text);
    }
    let negative = OffsetError::Negative(-1001).to_string();
    assert_eq!(negative, "-1001 is no offset: negative numbers are logical values");
    let large = OffsetError::TooLarge(u64::MAX).to_string();
    assert_eq!(large, "18446744073709551615 is no offset: above 2^63 - 1");
    let small = SnapshotError::TooSmall { needed: 700 }.to_string();
    assert_eq!(small, "the snapshot needs 700 bytes");
}

#[test]
fn places_and_tickets_read_as_they_are_written_in_logs() {
    assert_eq!(Partition::new(3, 7).to_string(), "3/7");
    let mut world = World::new();
    world.assign("p0@0");
    assert_eq!(world.admit("p0:0=k"), "run");
    let ticket = world.ticket("p0:0");
    assert_eq!(ticket.to_string(), format!("{}:1", ticket.assignment()));
}

#[test]
fn an_offset_is_written_as_kafka_has_it() {
    assert_eq!([offset(7), Offset::MAX].map(Offset::as_i64), [7, i64::MAX]);
    assert_eq!([offset(7), Offset::MAX].map(Offset::next), [offset(8), Offset::MAX]);
}

#[test]
fn what_a_record_is_held_for_is_said() {
    let holds = [
        (Hold::Owed(offset(7)), "offset 7 is owed"),
        (Hold::ResumeUnknown, "resume position unknown"),
        (Hold::KeyBusy, "key busy"),
        (Hold::Window, "window full"),
        (Hold::Budget, "budget full"),
        (Hold::Storm, "storm"),
    ];
    for (hold, said) in holds {
        assert_eq!(hold.to_string(), said);
    }
}

#[test]
fn the_key_of_the_hash_is_not_shown() {
    assert_eq!(format!("{:?}", HashKey([1, 2])), "HashKey(..)");
    assert!(
        !format!("{:?}", Config { hash_key: HashKey([77, 78]), ..Config::default() })
            .contains("77")
    );
}

/// Kind, detail and numbers of an event in an entry's bytes, as `wasm/ABI.md` has them.
fn numbers(event: Event) -> (u8, u8, u64, u64) {
    let entry = JournalEntry {
        at: tick(0x0102),
        partition: Some(Partition::new(3, 4)),
        assignment: Assignment::new(5),
        offset: Some(offset(6)),
        times: 7,
        event,
    };
    let bytes = entry.to_bytes();
    assert_eq!(JournalEntry::from_bytes(&bytes), Some(entry));
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    assert_eq!((long(0), bytes[8], long(17), long(25)), (0x0102, 1, 5, 6));
    assert_eq!(bytes[9..17], [3, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!((&bytes[33..37], bytes[55]), (&[7, 0, 0, 0][..], 0));
    (bytes[37], bytes[38], long(39), long(47))
}

#[test]
fn a_journal_entry_is_these_bytes() {
    let there = Partition::new(8, 9);
    let last = Offset::new(10).expect("small");
    let regression = |seen| Event::Refused(Refuse::OffsetRegression { last, seen });
    let full = InputError::PartitionsFull { needed: 11, available: 12 };
    for (event, expected) in [
        (Event::Assigned, (0, 0, 0, 0)),
        (Event::Revoked, (1, 0, 0, 0)),
        (Event::Sealed(Ended::Drained), (2, 0, 0, 0)),
        (Event::Sealed(Ended::Rewound), (2, 4, 0, 0)),
        (Event::Released { stored: false }, (3, 0, 0, 0)),
        (Event::Released { stored: true }, (3, 1, 0, 0)),
        (Event::Refused(Refuse::Fenced(Fenced::NotOwned)), (4, 0, 0, 0)),
        (Event::Refused(Refuse::Fenced(Fenced::Dead)), (4, 4, 0, 0)),
        (regression(Seen::Finished), (5, 0, 10, 0)),
        (regression(Seen::BelowResume), (5, 3, 10, 0)),
        (Event::Refused(Refuse::OffsetLimit), (6, 0, 0, 0)),
        (Event::StaleAnswer, (7, 0, 0, 0)),
        (Event::InputRefused(full), (8, 0, 11, 12)),
        (Event::InputRefused(InputError::NegativePartition(-1)), (8, 1, 0xffff_ffff, 0)),
        (Event::InputRefused(InputError::Dead), (8, 2, 0, 0)),
        (Event::InputRefused(InputError::NotActive(there)), (8, 3, 8, 9)),
        (Event::InputRefused(InputError::AboveMark { mark: last }), (8, 4, 10, 0)),
        (Event::InputRefused(InputError::ResumeUnknown(there)), (8, 5, 8, 9)),
        (Event::InputRefused(InputError::NoPosition), (8, 6, 0, 0)),
        (Event::InputRefused(InputError::AssignmentsSpent), (8, 7, 0, 0)),
        (Event::LeaseExpired, (9, 0, 0, 0)),
        (Event::ClientDead, (10, 0, 0, 0)),
        (Event::StormBegan, (11, 0, 0, 0)),
        (Event::StormEnded, (12, 0, 0, 0)),
    ] {
        assert_eq!(numbers(event), expected, "{event:?}");
    }
}

#[test]
fn bytes_that_are_no_journal_entry_are_told_so() {
    let entry = JournalEntry {
        at: tick(1),
        partition: None,
        assignment: None,
        offset: None,
        times: 1,
        event: Event::LeaseExpired,
    };
    let bytes = entry.to_bytes();
    assert_eq!(JournalEntry::from_bytes(&bytes), Some(entry));
    for (at, value) in [(37, 13), (55, 1), (8, 2)] {
        let mut altered = bytes;
        altered[at] = value;
        assert_eq!(JournalEntry::from_bytes(&altered), None, "byte {at}");
    }
}
