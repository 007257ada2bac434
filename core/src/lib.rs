//! rebalance-guard: the safety core that a Kafka consumer lacks.
//!
//! A consumer group moves partitions between workers. Around every move an old owner may keep
//! acting, a new owner may repeat what was done but not committed, and a commit may pass work that
//! never ran. [`Guard`] sits between a Kafka client and a side effect and rules these out: it
//! checks every record (is the partition ours, has this key run, does the offset move forward) and
//! orders every hand-over (fence, drain, commit the next offset; when ownership is already lost:
//! fence, discard, never commit).
//!
//! It is a state machine without I/O: no clock, no allocation, no callbacks. Feed it what happened
//! and when; pull from it what must be done next.
#![no_std]
#![forbid(unsafe_code)]

mod admit;
mod answer;
mod assign;
mod carried;
mod commit;
mod config;
mod counters;
#[cfg(feature = "mutants")]
mod fingerprint;
mod flight;
mod guard;
mod handover;
mod index;
mod input;
mod journal;
mod kafka;
mod key;
mod logic;
pub mod memory;
mod metadata;
mod output;
mod partition;
mod place;
mod progress;
mod pull;
mod report;
mod retry;
mod snapshot;
mod stall;
mod state;
mod storm;
mod tick;
mod ticket;
mod time;
mod transfer;
mod verdict;
mod waiting;
mod window;
mod words;

pub use config::{Config, ConfigError, HashKey, KeyPolicy};
pub use counters::{Counters, PartitionCounters};
pub use guard::Guard;
pub use input::{CommitAnswer, Input, InputError, Outcome, Record, Reply, Resume, Scope};
pub use journal::{Event, JournalEntry};
pub use kafka::{Assignment, Offset, OffsetError, Partition, Token};
#[cfg(feature = "mutants")]
#[doc(hidden)]
pub use logic::Rule;
pub use memory::{Memory, StaticMemory};
pub use output::{Ended, Ignored, Output, Reason, Sealed};
pub use partition::Phase;
pub use progress::Progress;
#[cfg(feature = "mutants")]
#[doc(hidden)]
pub use snapshot::reseal_snapshot;
pub use snapshot::{
    RestoreError, SnapshotError, len_max as snapshot_len_max, taken_at as snapshot_taken_at,
};
pub use storm::Storm;
pub use tick::Tick;
pub use ticket::{Ticket, TicketKind};
pub use transfer::Export;
pub use verdict::{Answered, Fenced, Hold, Refuse, Seen, Skip, Verdict};
pub use waiting::{WaitReason, Waiting};
