//! Settings that cannot work are refused when the guard is made.

use rebalance_guard::{Config, ConfigError, Guard};
use rebalance_guard_sim::Heap;

use crate::support::small;

fn refused(config: Config) -> Option<ConfigError> {
    Guard::new(Heap::new(&config), config).err()
}

#[test]
fn the_defaults_and_the_smallest_settings_make_a_guard() {
    assert_eq!(refused(small()), None);
    assert_eq!(refused(Config { partitions: 4, keys: 4, ..Config::default() }), None);
    let least = Config { partitions: 1, window: 1, budget: 1, keys: 0, attempts_max: 1, ..small() };
    assert_eq!(refused(least), None);
}

#[test]
fn a_setting_that_must_not_be_zero_is_named() {
    for (config, name) in [
        (Config { partitions: 0, ..small() }, "partitions"),
        (Config { window: 0, ..small() }, "window"),
        (Config { budget: 0, ..small() }, "budget"),
        (Config { attempts_max: 0, ..small() }, "attempts_max"),
        (Config { commit_count: 0, ..small() }, "commit_count"),
        (Config { commit_timeout: 0, ..small() }, "commit_timeout"),
        (Config { lease: 0, ..small() }, "lease"),
        (Config { first_assignment: 0, ..small() }, "first_assignment"),
    ] {
        assert_eq!(refused(config), Some(ConfigError::Zero(name)));
    }
}

#[test]
fn settings_that_contradict_each_other_make_no_guard() {
    for (config, error) in [
        (Config { jitter: 101, ..small() }, ConfigError::JitterAbove100(101)),
        (Config { backoff: 2, backoff_cap: 1, ..small() }, ConfigError::BackoffAboveCap),
        (Config { storm_calm: 3, storm_rising: 3, ..small() }, ConfigError::StormOrder),
        (Config { storm_rising: 6, storm_at: 5, ..small() }, ConfigError::StormOrder),
        (Config { storm_at: 33, ..small() }, ConfigError::TooLarge("storm_at")),
    ] {
        assert_eq!(refused(config), Some(error));
    }
}

#[test]
fn the_largest_settings_are_sound_and_one_more_is_not() {
    const MOST: u32 = Config::ENTRIES_MAX;
    let most = Config {
        partitions: MOST,
        window: MOST,
        keys: MOST,
        budget: MOST,
        journal: MOST,
        metadata_max: Config::METADATA_MAX,
        storm_at: Config::STORM_AT_MAX,
        jitter: 100,
        backoff: 7,
        backoff_cap: 7,
        ..small()
    };
    assert_eq!(most.check(), Ok(()));
    for (config, name) in [
        (Config { partitions: MOST + 1, ..most }, "partitions"),
        (Config { window: MOST + 1, ..most }, "window"),
        (Config { keys: MOST + 1, ..most }, "keys"),
        (Config { budget: MOST + 1, ..most }, "budget"),
        (Config { journal: MOST + 1, ..most }, "journal"),
        (Config { partitions: u32::MAX, ..most }, "partitions"),
        (Config { keys: u32::MAX, ..most }, "keys"),
        (Config { metadata_max: Config::METADATA_MAX + 1, ..most }, "metadata_max"),
        (Config { metadata_max: u16::MAX, ..most }, "metadata_max"),
        (Config { storm_at: Config::STORM_AT_MAX + 1, ..most }, "storm_at"),
    ] {
        assert_eq!(config.check(), Err(ConfigError::TooLarge(name)));
    }
    assert_eq!(Config { storm_at: 3, storm_rising: 3, storm_calm: 2, ..most }.check(), Ok(()));
}

#[test]
fn memory_too_small_for_the_settings_is_said_at_once() {
    let memory = Heap::new(&small());
    let config = Config { window: 33, ..small() };
    assert_eq!(
        Guard::new(memory, config).err(),
        Some(ConfigError::MemoryTooSmall { part: "records in flight", needed: 33, available: 32 })
    );
}
