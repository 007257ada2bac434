//! What the guard answers.

use crate::{Offset, Reason, Ticket};

/// The answer to one offered record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a host must handle every verdict; a new one is breaking"
)]
pub enum Verdict {
    /// Run it, once, under this ticket.
    Run(Ticket),
    /// Send it straight to the dead-letter topic under this ticket.
    Park(Ticket, Reason),
    /// Already done, or being done: drop it.
    Skip(Skip),
    /// Not now: offer it again. Nothing above it in its partition is admitted until then.
    Hold(Hold),
    /// Not here: drop it, and do not count on it: what was refused is read again by whoever owns
    /// the partition, from the resume position on.
    Refuse(Refuse),
}

/// Refused as not owned: what a place says that no record was answered into yet.
impl Default for Verdict {
    fn default() -> Self {
        Self::Refuse(Refuse::Fenced(Fenced::NotOwned))
    }
}

/// Why a record is skipped.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a host must handle every verdict; a new one is breaking"
)]
pub enum Skip {
    /// The commit's metadata says that an owner before finished it.
    Carried,
    /// Its key finished and is remembered.
    DuplicateFinished,
    /// Its key is in flight; that first copy vouches for this one.
    DuplicateInFlight,
}

/// Why a record is held.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a host must handle every verdict; a new one is breaking"
)]
pub enum Hold {
    /// This earlier record of the partition was held and has not been offered again.
    Owed(Offset),
    /// Where the partition resumes is not known yet.
    ResumeUnknown,
    /// The first copy of its key is in flight below a commit already offered, so a crash would not
    /// bring it back: wait until it is settled.
    KeyBusy,
    /// As many records are in flight as the window holds.
    Window,
    /// As many records stand at or above the partition's mark as its budget allows.
    Budget,
    /// The policy `hold_in_storm` is on and the group is in a storm.
    Storm,
}

/// Why a record is refused.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a host must handle every verdict; a new one is breaking"
)]
pub enum Refuse {
    /// This process may not act on the partition.
    Fenced(Fenced),
    /// The offset does not move forward.
    OffsetRegression {
        /// The highest offset admitted in this assignment (with nothing admitted: the resume
        /// position - 1), or the owed one below which this record would have to be held as well.
        last: Offset,
        /// Whether it is a harmless redelivery or a rewind.
        seen: Seen,
    },
    /// The largest offset has no next one, so it could never be committed.
    OffsetLimit,
}

/// Why this process may not act.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a host must handle every verdict; a new one is breaking"
)]
pub enum Fenced {
    /// Not assigned, or already handed over.
    NotOwned,
    /// Asked back: what runs may finish, nothing new starts.
    Draining,
    /// The drain is over; only the last commit is awaited.
    Sealed,
    /// The lease ran out without a poll; everything counts as lost until the next assign.
    LeaseExpired,
    /// The client is dead.
    Dead,
}

/// What the guard knows of a regressing offset.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a host must handle every verdict; a new one is breaking"
)]
pub enum Seen {
    /// Finished here (below the mark everything counts as finished).
    Finished,
    /// In flight here.
    InFlight,
    /// Not admitted in this assignment: a rewind that was not announced.
    Never,
    /// Below the position at which this assignment resumed.
    BelowResume,
}

/// The answer to a ticket's outcome.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "a host must handle every answer; a new one is breaking"
)]
pub enum Answered {
    /// It counts.
    Done,
    /// The ticket is dead, was answered before, or is of the kind that takes no such answer.
    /// Nothing changed. Final, but for an answer of the wrong kind: that ticket still awaits
    /// its own.
    Stale,
}
