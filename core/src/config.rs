//! Settings, their defaults and what contradicts itself.

use core::fmt;

/// What becomes of a record without a usable key (none, blank, or above the length limit).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a setting with two values; a new one is breaking")]
pub enum KeyPolicy {
    /// It goes to the dead-letter topic.
    #[default]
    Required,
    /// It runs without dedupe.
    Optional,
}

/// The settings of a guard. Spans are in ticks (ms in the gateway).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "hosts build it with `..Config::default()`")]
pub struct Config {
    /// Places in the partition table, those remembered after a hand-over included.
    pub partitions: u32,
    /// Records in flight, all partitions together.
    pub window: u32,
    /// Finished keys remembered.
    pub keys: u32,
    /// Records at or above the mark, per partition.
    pub budget: u32,
    /// Attempts before a record is dead-lettered; at least 1.
    pub attempts_max: u16,
    /// Delay before the second attempt; doubles with each.
    pub backoff: u64,
    /// The longest delay between attempts.
    pub backoff_cap: u64,
    /// Share of a delay that jitter may take away, in percent, 0 ..= 100.
    pub jitter: u8,
    /// Without a poll for so long everything is lost. Set it below `max.poll.interval.ms`.
    pub lease: u64,
    /// Time between commits of one partition; 0 offers at once.
    pub commit_interval: u64,
    /// Finished records that make a commit due before its time; at least 1.
    pub commit_count: u32,
    /// An offer unanswered for so long counts as to be retried; also the time that a sealed
    /// partition waits for its last commit. At least 1.
    pub commit_timeout: u64,
    /// Delay before a commit is offered again.
    pub commit_backoff: u64,
    /// What becomes of records without a usable key.
    pub key_policy: KeyPolicy,
    /// The sliding window in which rebalances are counted.
    pub storm_window: u64,
    /// So many rebalances in the window are a rising storm.
    pub storm_rising: u16,
    /// So many are a storm; at most [`Config::STORM_AT_MAX`].
    pub storm_at: u16,
    /// A storm is over when no more than so many are left in the window.
    pub storm_calm: u16,
    /// Hold records while in a storm.
    pub hold_in_storm: bool,
    /// Unfinished or owed records without progress for so long are a stall; at least 1.
    pub stall_after: u64,
    /// Refusals and transitions that are kept to be read.
    pub journal: u32,
    /// The longest commit metadata, in bytes, at most [`Config::METADATA_MAX`]; 0 neither writes
    /// nor reads any. The broker's own limit is `offset.metadata.max.bytes`, 4,096 by default.
    pub metadata_max: u16,
    /// A finished key is forgotten when it is so old; at least 1. `None`: only when newer ones
    /// need its place.
    pub key_age: Option<u64>,
    /// The operator's epoch, raised after a group was deleted and its generations began again.
    pub epoch: u32,
    /// Number of the first assignment; 1 or more. See [`Assignment`](crate::Assignment).
    pub first_assignment: u64,
    /// Seed of the retry jitter.
    pub jitter_seed: u64,
    /// Key of the keyed hash. Random bits of the host's, so that keys cannot be chosen to collide.
    pub hash_key: HashKey,
}

/// The key of the keyed hash. Not shown by `Debug`: who knows it can choose keys that collide.
#[derive(Clone, Copy, Default, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "128 random bits, nothing else")]
pub struct HashKey(pub [u64; 2]);

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey(..)")
    }
}

impl Config {
    /// The largest `metadata_max`.
    pub const METADATA_MAX: u16 = 32_767;
    /// The largest `storm_at`.
    pub const STORM_AT_MAX: u16 = 32;
    /// The most records that one window, budget or key table can hold.
    pub const ENTRIES_MAX: u32 = 1 << 28;

    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// The first contradiction found, see [`ConfigError`].
    pub const fn check(&self) -> Result<(), ConfigError> {
        if self.partitions == 0 {
            return Err(ConfigError::Zero("partitions"));
        }
        if self.window == 0 {
            return Err(ConfigError::Zero("window"));
        }
        if self.budget == 0 {
            return Err(ConfigError::Zero("budget"));
        }
        if self.attempts_max == 0 {
            return Err(ConfigError::Zero("attempts_max"));
        }
        if self.commit_count == 0 {
            return Err(ConfigError::Zero("commit_count"));
        }
        if self.commit_timeout == 0 {
            return Err(ConfigError::Zero("commit_timeout"));
        }
        if self.stall_after == 0 {
            return Err(ConfigError::Zero("stall_after"));
        }
        if matches!(self.key_age, Some(0)) {
            return Err(ConfigError::Zero("key_age"));
        }
        if self.lease == 0 {
            return Err(ConfigError::Zero("lease"));
        }
        if self.first_assignment == 0 {
            return Err(ConfigError::Zero("first_assignment"));
        }
        if self.jitter > 100 {
            return Err(ConfigError::JitterAbove100(self.jitter));
        }
        if self.backoff > self.backoff_cap {
            return Err(ConfigError::BackoffAboveCap);
        }
        self.check_sizes()
    }

    const fn check_sizes(&self) -> Result<(), ConfigError> {
        if self.partitions > Self::ENTRIES_MAX {
            return Err(ConfigError::TooLarge("partitions"));
        }
        if self.window > Self::ENTRIES_MAX {
            return Err(ConfigError::TooLarge("window"));
        }
        if self.keys > Self::ENTRIES_MAX {
            return Err(ConfigError::TooLarge("keys"));
        }
        if self.budget > Self::ENTRIES_MAX {
            return Err(ConfigError::TooLarge("budget"));
        }
        if self.journal > Self::ENTRIES_MAX {
            return Err(ConfigError::TooLarge("journal"));
        }
        if self.metadata_max > Self::METADATA_MAX {
            return Err(ConfigError::TooLarge("metadata_max"));
        }
        if self.storm_at > Self::STORM_AT_MAX {
            return Err(ConfigError::TooLarge("storm_at"));
        }
        if self.storm_calm >= self.storm_rising || self.storm_rising > self.storm_at {
            return Err(ConfigError::StormOrder);
        }
        Ok(())
    }
}

impl Default for Config {
    /// The product's defaults (ticks in ms). `first_assignment`, `jitter_seed` and `hash_key` are
    /// fixed here; a host that talks to a sink gives its own.
    fn default() -> Self {
        Self {
            partitions: 64,
            window: 1_024,
            keys: 65_536,
            budget: 4_096,
            attempts_max: 5,
            backoff: 100,
            backoff_cap: 10_000,
            jitter: 20,
            lease: 270_000,
            commit_interval: 1_000,
            commit_count: 1_000,
            commit_timeout: 5_000,
            commit_backoff: 200,
            key_policy: KeyPolicy::Required,
            storm_window: 60_000,
            storm_rising: 3,
            storm_at: 5,
            storm_calm: 1,
            stall_after: 60_000,
            journal: 256,
            metadata_max: 3_072,
            key_age: None,
            hold_in_storm: false,
            epoch: 0,
            first_assignment: 1,
            jitter_seed: 0,
            hash_key: HashKey([0, 0]),
        }
    }
}

/// Why a guard cannot be made.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// This setting must be at least 1.
    Zero(&'static str),
    /// This setting is above its limit.
    TooLarge(&'static str),
    /// `jitter` is a percentage.
    JitterAbove100(u8),
    /// `backoff` is above `backoff_cap`.
    BackoffAboveCap,
    /// `storm_calm` < `storm_rising` <= `storm_at` does not hold.
    StormOrder,
    /// The memory has fewer places than the settings ask for.
    MemoryTooSmall {
        /// Which part.
        part: &'static str,
        /// Places asked for.
        needed: usize,
        /// Places there.
        available: usize,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(name) => write!(f, "`{name}` must be at least 1"),
            Self::TooLarge(name) => write!(f, "`{name}` is above its limit"),
            Self::JitterAbove100(value) => {
                write!(f, "`jitter` is a percentage, {value} is above 100")
            }
            Self::BackoffAboveCap => f.write_str("`backoff` must not be above `backoff_cap`"),
            Self::StormOrder => {
                f.write_str("`storm_calm` < `storm_rising` <= `storm_at` must hold")
            }
            Self::MemoryTooSmall { part, needed, available } => {
                write!(
                    f,
                    "the memory has {available} places for {part}, the settings ask for {needed}"
                )
            }
        }
    }
}

impl core::error::Error for ConfigError {}
