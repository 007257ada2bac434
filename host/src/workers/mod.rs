//! Worker threads that run side effects off the poll thread, in order where order was asked for.
//!
//! The one rule: nothing here blocks the poll thread. A full pool gives the job back.

mod pool;
mod queue;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use rebalance_guard::{Assignment, Partition, Ticket, Token};
use rebalance_guard_fence::OwnershipFence;

pub use pool::WorkerPool;

use crate::record::{Effect, OwnedRecord};

/// Which records wait for which.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Order {
    /// None for none.
    None,
    /// Every record for the one before it in its partition.
    #[default]
    Partition,
    /// Records with equal Kafka record keys (bytes, never hashes) of one partition, in order. A
    /// record without a key waits for nobody, and nobody for it: made into one key, keyless traffic
    /// would run one by one. The same key in two partitions is two keys.
    Key,
}

/// How a pool is made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PoolSettings {
    /// Threads.
    pub workers: NonZeroUsize,
    /// Which records wait for which.
    pub order: Order,
    /// Jobs that the pool holds at most: waiting, running, and failed ones that keep their lane.
    /// As large as the guard's window, a pool is never full.
    pub capacity: NonZeroUsize,
}

/// One record to run, under leave of the guard.
#[derive(Clone, Debug)]
pub struct Job {
    /// The guard's leave; `None` only in the demo's unguarded arm.
    pub ticket: Option<Ticket>,
    /// What to run.
    pub record: Arc<OwnedRecord>,
    /// The operation's name.
    pub idempotency_key: Option<Arc<str>>,
    /// Proof of ownership for the sink; `None` only in the demo's unguarded arm.
    pub token: Option<Token>,
    /// The assignment's fence; `None` only in the demo's unguarded arm.
    pub fence: Option<OwnershipFence>,
    /// Attempts made before this one.
    pub attempt: u16,
}

/// Names one record inside one assignment.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct JobId {
    /// The partition.
    pub partition: Partition,
    /// Its place there.
    pub offset: i64,
    /// The assignment under which it runs; `None` in the demo's unguarded arm.
    pub assignment: Option<Assignment>,
}

impl Job {
    /// The name of its record; the same for every attempt.
    pub fn id(&self) -> JobId {
        JobId::of(&self.record, self.ticket.map(Ticket::assignment))
    }

    /// What the sink is given.
    pub fn effect(&self) -> Effect<'_> {
        Effect {
            record: &self.record,
            idempotency_key: self.idempotency_key.as_deref(),
            token: self.token,
            attempt: self.attempt,
        }
    }
}

impl JobId {
    /// The name of `record` inside `assignment`.
    pub fn of(record: &OwnedRecord, assignment: Option<Assignment>) -> Self {
        Self { partition: record.partition, offset: record.offset, assignment }
    }
}

/// What became of a job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum JobResult {
    /// The effect took place. Its lane goes on.
    Completed,
    /// It did not, or nobody knows. Its lane stays blocked until a retry of the same record was
    /// completed, or [`WorkerPool::settle`].
    Failed {
        /// Trying again cannot help.
        permanent: bool,
        /// What the sink said.
        why: String,
        /// The sink asked not to be tried before so long from now; the host submits no retry
        /// before.
        after: Option<Duration>,
    },
    /// The sink could not be asked, or did not answer. Its lane stays blocked as after a failure.
    Unreachable {
        /// Whether the sink may have got it.
        sent: bool,
        /// What went wrong.
        why: String,
    },
    /// The sink has seen a newer owner. The pool closed the fence: nothing more of the assignment
    /// begins. Its lane stays blocked until [`WorkerPool::forget`].
    Fenced {
        /// What the sink said.
        why: String,
    },
    /// The fence was closed before it began: it did not and will not run under this ticket.
    Abandoned,
}

/// A job with its result; each submitted job comes back as exactly one.
#[derive(Clone, Debug)]
pub struct Done {
    /// The job as it was submitted.
    pub job: Job,
    /// What became of it.
    pub result: JobResult,
}

/// How much a pool has to do, for displays.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Load {
    /// Workers inside an effect.
    pub busy: usize,
    /// Jobs that wait for a worker or for their lane.
    pub queued: usize,
    /// Failed records that keep their lane.
    pub blocked: usize,
}

/// What a pool left when it ended.
#[derive(Clone, Debug, Default)]
pub struct Leftovers {
    /// Results that nobody had taken; jobs that had not begun are among them as abandoned.
    pub done: Vec<Done>,
    /// Records whose effect did not end within the time given. Their threads end with the process.
    pub running: Vec<JobId>,
}
