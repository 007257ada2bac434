//! What a host tells the guard: the one vocabulary of typed calls, plugin boundary and traces.

use core::fmt;

use crate::{Answered, Assignment, Offset, Partition, Tick, Ticket, Verdict};

/// One record offered for admission.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Where it was read.
    pub partition: Partition,
    /// Its place there, at most [`Offset::RECORD_MAX`].
    pub offset: Offset,
    /// The idempotency key: names the operation. `None`, blank, or longer than
    /// [`Record::KEY_BYTES_MAX`] counts as "no usable key" and follows the key policy.
    pub key: Option<&'a [u8]>,
    /// Attempts made before this delivery, as the host knows them from a header; 0 otherwise.
    pub attempts: u16,
    /// Splits the one namespace of keys; 0 unless the host says otherwise.
    pub namespace: u32,
    /// The epoch of the leader that wrote it (KIP-320), if the client tells; a negative one counts
    /// as not told.
    pub leader_epoch: Option<i32>,
}

impl<'a> Record<'a> {
    /// The longest usable key, in bytes.
    pub const KEY_BYTES_MAX: usize = 65_535;

    /// A record with key `key`, no attempts before, namespace 0, leader epoch not told.
    pub const fn new(partition: Partition, offset: Offset, key: Option<&'a [u8]>) -> Self {
        Self { partition, offset, key, attempts: 0, namespace: 0, leader_epoch: None }
    }
}

/// Where reading resumes after an assign.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a host states one of these; a new one is breaking")]
pub enum Resume<'a> {
    /// The group's committed offset: the next record to read.
    Committed {
        /// The offset.
        offset: Offset,
        /// The string that stands beside it in the group, as the broker gave it; empty: none.
        /// Records that it names as finished are skipped.
        metadata: &'a [u8],
    },
    /// The group holds nothing; the client starts at the offset given, or at the first record
    /// offered. The mark is offered for commit even with nothing finished.
    Empty(Option<Offset>),
    /// The host's own choice while the group holds something. Nothing is offered for commit until
    /// a record finished.
    At(Offset),
    /// Not known yet: owned, but every record is held until [`Input::Position`] tells it.
    Unknown,
}

impl Resume<'_> {
    /// A committed offset without metadata.
    pub const fn committed(offset: Offset) -> Self {
        Self::Committed { offset, metadata: &[] }
    }
}

/// What an ownership loss covers.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums, reason = "a host states one of these; a new one is breaking")]
pub enum Scope<'a> {
    /// These partitions; ones that are not owned are ignored.
    Some(&'a [Partition]),
    /// Every partition.
    All,
    /// Every partition, and the client is dead (fenced instance and the like): every later assign
    /// is refused.
    Fatal,
}

/// What became of a ticket.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a host states one of these; a new one is breaking")]
pub enum Outcome {
    /// The side effect took place. Answers a run ticket.
    Completed,
    /// It did not. A run ticket is retried until its attempts are spent (at once dead-lettered when
    /// `permanent`); a dead-letter ticket is asked for again after back-off, whatever `permanent`.
    Failed {
        /// Trying again cannot help.
        permanent: bool,
    },
    /// Not started and never will be in this assignment. The offset keeps holding the mark.
    Abandoned,
    /// The dead-letter topic acknowledged the record. Answers a dead-letter ticket.
    DeadLettered,
}

/// The group coordinator's answer to a commit, as classified by the host.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a host states one of these; a new one is breaking")]
pub enum CommitAnswer {
    /// The group holds the offset now.
    Stored,
    /// Not stored, or unknown whether; ownership intact.
    Retry,
    /// Refused for what it says, ownership intact (metadata too large, authorization).
    Rejected,
    /// This member no longer owns that partition.
    NotMine,
    /// The client is dead.
    Fatal,
}

/// Everything a host can tell the guard.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums, reason = "boundaries encode every input; a new one is breaking")]
pub enum Input<'a> {
    /// Partitions were added to what this member owns. Applies whole or not at all.
    Assign {
        /// Classic generation id or KIP-848 member epoch; `None` or anything below 1: not known.
        generation: Option<i32>,
        /// What was added and where each resumes. Named twice: the later entry counts.
        partitions: &'a [(Partition, Resume<'a>)],
    },
    /// The late answer to [`Resume::Unknown`].
    Position {
        /// Whose.
        partition: Partition,
        /// The assignment it was asked for.
        assignment: Assignment,
        /// Where reading resumes.
        resume: Resume<'a>,
    },
    /// Partitions are asked back. All are fenced before anything else happens for any of them.
    Revoke {
        /// Which; ones that are not owned are ignored.
        partitions: &'a [Partition],
        /// When the drain ends at the latest.
        deadline: Tick,
    },
    /// Ownership is already gone: nothing is flushed, nothing committed.
    Lost(Scope<'a>),
    /// The host seeks back. A new assignment of the same generation begins at `offset`, unpaused:
    /// resume the partition at the client if it was paused.
    Rewind {
        /// Which.
        partition: Partition,
        /// The next record that will be offered; at most the completion mark.
        offset: Offset,
    },
    /// The group was seen to hold `offset`.
    GroupOffset {
        /// Whose.
        partition: Partition,
        /// The assignment in which it was asked.
        assignment: Assignment,
        /// The committed offset that was read.
        offset: Offset,
    },
    /// The client reported the end of the partition.
    EndOfPartition {
        /// Which.
        partition: Partition,
        /// The assignment in which it was read.
        assignment: Assignment,
    },
    /// A record is offered.
    Admit(Record<'a>),
    /// A ticket is answered.
    Answer {
        /// Which.
        ticket: Ticket,
        /// What became of it.
        outcome: Outcome,
    },
    /// A commit is answered.
    CommitAnswered {
        /// Whose.
        partition: Partition,
        /// The assignment that offered it.
        assignment: Assignment,
        /// The offset that was offered.
        offset: Offset,
        /// What the coordinator said.
        answer: CommitAnswer,
    },
    /// The host polled its client: the only thing that renews the lease.
    Polled,
}

/// What [`Guard::handle`](crate::Guard::handle) answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a host must handle every answer; a new one is breaking"
)]
pub enum Reply {
    /// Applied (harmless repeats and unknown partitions included).
    Done,
    /// It speaks of an assignment or a commit that is over. Nothing changed.
    Stale,
    /// The answer to [`Input::Admit`].
    Verdict(Verdict),
    /// The answer to [`Input::Answer`].
    Answered(Answered),
}

/// Why an input was refused. Nothing changed, apart from counters.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum InputError {
    /// The assign would need more places in the partition table than there are.
    PartitionsFull {
        /// Places that the assign needs on top of those in use.
        needed: u32,
        /// Places that could be had.
        available: u32,
    },
    /// A partition number below 0.
    NegativePartition(i32),
    /// The client is dead; this guard takes no further assign.
    Dead,
    /// A rewind of a partition that is not Active.
    NotActive(Partition),
    /// A rewind above the completion mark would step over unfinished work.
    AboveMark {
        /// The highest offset to which a rewind may go: the completion mark, or the debt of a
        /// partition that began with nothing and has no mark yet.
        mark: Offset,
    },
    /// A rewind while it is not known where reading resumes, or in a partition that began with
    /// nothing and had no record.
    ResumeUnknown(Partition),
    /// A position that says [`Resume::Unknown`] tells nothing.
    NoPosition,
    /// The assignment counter reached its end; make a new guard.
    AssignmentsSpent,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PartitionsFull { needed, available } => write!(
                f,
                "the assign needs {needed} places in the partition table and {available} are left: \
                 raise `partitions`"
            ),
            Self::NegativePartition(index) => write!(f, "{index} is no partition number"),
            Self::Dead => f.write_str("the client is dead: make a new consumer and a new guard"),
            Self::NotActive(partition) => write!(
                f,
                "partition {} of topic {} is not owned or being handed over: it cannot be rewound",
                partition.index, partition.topic
            ),
            Self::AboveMark { mark } => {
                write!(f, "a rewind above {mark} would step over unfinished work")
            }
            Self::ResumeUnknown(partition) => write!(
                f,
                "where partition {} of topic {} resumes is not known yet: tell its position first",
                partition.index, partition.topic
            ),
            Self::NoPosition => f.write_str("a position must say where reading resumes"),
            Self::AssignmentsSpent => {
                f.write_str("the assignment counter is spent: make a new guard")
            }
        }
    }
}

impl core::error::Error for InputError {}
