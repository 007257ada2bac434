//! Small settings, so that every limit is met within a few steps.

use rebalance_guard::{Config, HashKey, KeyPolicy, Partition};

/// The settings that belong to `seed`.
pub fn config(seed: u64) -> Config {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x636F_6E66);
    let storm_calm = rng.u16(0..3);
    let storm_rising = storm_calm + rng.u16(1..3);
    let backoff = rng.u64(0..20);
    let config = Config {
        partitions: rng.u32(2..5),
        window: rng.u32(1..9),
        keys: if rng.u8(0..4) == 0 { 16 } else { rng.u32(0..5) },
        budget: rng.u32(1..9),
        attempts_max: rng.u16(1..5),
        backoff,
        backoff_cap: backoff + rng.u64(0..60),
        jitter: [0, 20, 100][rng.usize(0..3)],
        lease: rng.u64(40..400),
        commit_interval: [0, 0, 5, 30][rng.usize(0..4)],
        commit_count: rng.u32(1..6),
        commit_timeout: rng.u64(1..30),
        commit_backoff: rng.u64(0..10),
        key_policy: if rng.u8(0..4) == 0 { KeyPolicy::Optional } else { KeyPolicy::Required },
        storm_window: rng.u64(20..200),
        storm_rising,
        storm_at: storm_rising + rng.u16(0..3),
        storm_calm,
        hold_in_storm: rng.bool(),
        stall_after: rng.u64(1..200),
        journal: rng.u32(0..9),
        metadata_max: [0, 15, 18, 24, 3_072][rng.usize(0..5)],
        key_age: rng.bool().then(|| rng.u64(1..200)),
        epoch: rng.u32(0..3),
        first_assignment: first_assignment(&mut rng),
        jitter_seed: rng.u64(..),
        hash_key: HashKey([rng.u64(..), rng.u64(..)]),
    };
    if rng.u8(0..12) == 0 { extreme(config, &mut rng) } else { config }
}

/// One setting at an end of its range: sums must saturate and nothing may hang.
fn extreme(mut config: Config, rng: &mut fastrand::Rng) -> Config {
    match rng.u8(0..13) {
        0 => config.commit_timeout = 1,
        1 => config.commit_timeout = u64::MAX,
        2 => config.commit_backoff = u64::MAX,
        3 => config.commit_interval = u64::MAX,
        4 => config.commit_count = u32::MAX,
        5 => config.lease = u64::MAX,
        6 => config.storm_window = 0,
        7 => config.storm_window = u64::MAX,
        8 => config.attempts_max = u16::MAX,
        9 => config.stall_after = u64::MAX,
        10 => config.key_age = Some(u64::MAX),
        11 => config.metadata_max = Config::METADATA_MAX,
        _ => (config.backoff, config.backoff_cap) = (u64::MAX, u64::MAX),
    }
    config
}

/// Now and then the counter of assignments ends inside the trace.
fn first_assignment(rng: &mut fastrand::Rng) -> u64 {
    if rng.u8(0..50) == 0 { u64::MAX - rng.u64(1..20) } else { rng.u64(1..1_000) }
}

/// The partitions that a trace of `seed` speaks of: sometimes more than the table holds.
pub fn partitions(seed: u64) -> Vec<Partition> {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x7061_7274);
    let count = rng.i32(2..6);
    (0..count).map(|number| Partition::new(u32::from(number == 3), number % 3)).collect()
}
