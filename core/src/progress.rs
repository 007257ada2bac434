//! What a host may read. Never allocates, never changes state.

use crate::memory::View;
use crate::partition::{self, PartitionEntry, Phase};
use crate::state::State;
use crate::{Assignment, Offset, Partition, PartitionCounters, Tick, Token};

/// Where one owned partition stands.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "read by hosts; built by the guard alone")]
pub struct Progress {
    /// Its phase.
    pub phase: Phase,
    /// Its assignment.
    pub assignment: Assignment,
    /// The fencing token, captured at the assign.
    pub token: Token,
    /// The completion mark; `None` while it is not known where reading resumes.
    pub mark: Option<Offset>,
    /// The highest offset that the group was reported to hold in this assignment.
    pub confirmed: Option<Offset>,
    /// Tickets in somebody's hands: a worker's, or the dead-letter producer's.
    pub in_hands: u32,
    /// Records admitted and not finished.
    pub unfinished: u32,
    /// A held record that has not been offered again.
    pub owed: Option<Offset>,
    /// Whether the host was told to stop fetching it.
    pub paused: bool,
    /// When the drain (Draining) or the wait for the last commit (Committing) ends.
    pub deadline: Option<Tick>,
    /// Whether nothing is unfinished or owed and a record or the end of the partition was seen: a
    /// fresh assignment is not idle.
    pub idle: bool,
}
