//! What the host owes. Computed from state when pulled, so nothing can overflow.

use crate::{Assignment, Offset, Partition, Tick, Ticket, Token};

/// One duty or piece of news. Exhaustive on purpose: a new duty must not hide behind `_`.
///
/// Pulled in one order: rejoin; reports in order of happening; commits; pause and resume; retries
/// and dead letters; stalls; poll budget. Inside a kind, partitions by time of assign.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a driver must obey every output; a new one is breaking"
)]
pub enum Output {
    /// The lease ran out: what was owned then is lost. Close the client and make a new one, even
    /// when an assign came since: the client still lists partitions that are lost here.
    Rejoin {
        /// Units to wait before joining; 0 unless in a storm.
        back_off: u64,
    },
    /// An assignment ended.
    Sealed(Sealed),
    /// The first record above the resume position was admitted: nothing lies between (transaction
    /// markers and compaction make that normal), or something was skipped.
    Gap {
        /// Where.
        partition: Partition,
        /// The resume position.
        from: Offset,
        /// The first record's offset.
        to: Offset,
    },
    /// An assign resumes below what this process committed before.
    StepBack {
        /// Where.
        partition: Partition,
        /// What was committed before.
        from: Offset,
        /// Where the assign resumes.
        to: Offset,
    },
    /// The metadata of a committed offset was not used: records that it may have named run again.
    MetadataIgnored {
        /// Where.
        partition: Partition,
        /// Why.
        why: Ignored,
    },
    /// Rebalances come faster than the group can work.
    StormBegan {
        /// Units to wait before the next join.
        back_off: u64,
    },
    /// The storm is over.
    StormEnded,
    /// Commit this offset for this partition and report the answer with
    /// [`Input::CommitAnswered`](crate::Input).
    Commit {
        /// Whose.
        partition: Partition,
        /// The next record to read: every admitted record below is finished.
        offset: Offset,
        /// The token captured at the assign.
        token: Token,
        /// Length in bytes of the string to commit with it, 0: none. Read it with
        /// [`Guard::commit_metadata`](crate::Guard::commit_metadata) before the next input.
        metadata: u16,
    },
    /// Stop fetching this partition.
    Pause(Partition),
    /// Fetch it again, and offer again what was held.
    Resume(Partition),
    /// Run the record again under this ticket.
    Retry {
        /// The new ticket.
        ticket: Ticket,
        /// Whose record.
        partition: Partition,
        /// Which record.
        offset: Offset,
    },
    /// Send the record to the dead-letter topic under this ticket.
    DeadLetter {
        /// The new ticket.
        ticket: Ticket,
        /// Whose record.
        partition: Partition,
        /// Which record.
        offset: Offset,
        /// Why it was given up.
        reason: Reason,
        /// Later copies of the same key that were skipped because this record stood for them.
        copies: u32,
    },
    /// Unfinished or owed records and no progress for `stall_after`; told once a stall.
    Stalled {
        /// Where.
        partition: Partition,
        /// The offset to seek to if the records are not coming: the completion mark, or the owed
        /// record's offset while that is not known.
        seek: Offset,
    },
    /// Two thirds of the lease have passed without a poll: pause, and poll.
    PollBudget {
        /// When the lease ends.
        until: Tick,
    },
}

/// Why the metadata of a committed offset was not used. See `docs/commit-metadata.md`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "boundaries encode every reason; a new one is breaking")]
pub enum Ignored {
    /// Not written by a guard, or damaged.
    Foreign,
    /// Written by a build with another grammar.
    Version,
    /// Written with another offset than the one committed.
    Base,
    /// Longer than `metadata_max`.
    TooLong,
    /// A record came with a later leader epoch than any that the writer knew.
    LaterEpoch,
}

/// Why a record goes to the dead-letter topic.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "written into a header; a new one is breaking")]
pub enum Reason {
    /// As many attempts as allowed were made.
    AttemptsSpent,
    /// The sink said that trying again cannot help.
    Permanent,
    /// The key policy requires a key and the record has none that can be used.
    NoUsableKey,
}

/// How an assignment ended.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a host must handle every end; a new one is breaking")]
pub enum Ended {
    /// Revoked, and nothing was in anybody's hands any more.
    Drained,
    /// Revoked, and the deadline came first.
    Deadline,
    /// Ownership was gone already, or the same partition was assigned again without a revoke.
    Lost,
    /// Assigned again while it was being handed over.
    Replaced,
    /// The host sought back.
    Rewound,
}

/// The report of one ended assignment.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "read by hosts; built by the guard alone")]
pub struct Sealed {
    /// Whose.
    pub partition: Partition,
    /// Which.
    pub assignment: Assignment,
    /// How.
    pub ended: Ended,
    /// Its completion mark; `None` when it was never known where it resumes.
    pub mark: Option<Offset>,
    /// Records admitted and not finished; the next owner reads them again.
    pub left: u32,
}
