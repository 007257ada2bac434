//! What a gateway tells whoever watches it.

use std::sync::Arc;
use std::time::Duration;

use rebalance_guard::{Counters, Ended, Ignored, Offset, Resume, Token};

/// One piece of news. Logged as well; this is for programs (the demo, tests).
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A consumer was made and subscribed; the first is number 1.
    Subscribed {
        /// Which consumer of this process.
        consumer: u32,
    },
    /// The client called back. An assign that names nothing is one, too.
    Rebalance {
        /// What it did.
        kind: RebalanceKind,
        /// Partitions that it names.
        partitions: usize,
        /// Generation or member epoch as read at its start.
        generation: i32,
        /// Only for a revoke: ownership was gone already.
        lost: bool,
    },
    /// A partition is ours.
    Assigned {
        /// Topic.
        topic: Arc<str>,
        /// Partition number.
        partition: i32,
        /// Its fencing token.
        token: Token,
        /// Where reading resumes; metadata is left out.
        resume: Resume<'static>,
    },
    /// An assignment ended.
    Sealed {
        /// Topic.
        topic: Arc<str>,
        /// Partition number.
        partition: i32,
        /// How.
        ended: Ended,
        /// Its completion mark.
        mark: Option<Offset>,
        /// Records admitted and not finished.
        left: u32,
    },
    /// The group's offset lies outside the log: before it (retention removed what was not read) or
    /// beyond it (the log was cut, the topic made anew).
    OutOfRange {
        /// Topic.
        topic: Arc<str>,
        /// Partition number.
        partition: i32,
        /// What the group holds.
        committed: i64,
        /// Where reading begins instead: the log's first record.
        start: i64,
    },
    /// The coordinator stored a commit.
    Committed {
        /// Topic.
        topic: Arc<str>,
        /// Partition number.
        partition: i32,
        /// The next record to read.
        offset: Offset,
    },
    /// The coordinator, or the client, did not store a commit.
    CommitFailed {
        /// Topic.
        topic: Arc<str>,
        /// Partition number.
        partition: i32,
        /// The next record to read.
        offset: Offset,
        /// In the client's words.
        why: String,
    },
    /// The sink has seen a higher token.
    FencedBySink {
        /// Topic.
        topic: Arc<str>,
        /// Partition number.
        partition: i32,
        /// What the sink said.
        why: String,
    },
    /// Everything was lost without a callback: the lease, an eviction, a dead plugin, a fatal
    /// error.
    EverythingLost {
        /// Why.
        why: String,
    },
    /// A partition has unfinished or owed records and made no progress for `stall_after`.
    Stalled {
        /// Topic.
        topic: Arc<str>,
        /// Partition number.
        partition: i32,
        /// The lowest record that is not finished.
        offset: Offset,
    },
    /// The string beside a committed offset was not used; what it may have named runs again.
    MetadataIgnored {
        /// Topic.
        topic: Arc<str>,
        /// Partition number.
        partition: i32,
        /// Why.
        why: Ignored,
    },
    /// The guard's journal was written into the log: because it was asked for, or because its
    /// engine or the gateway is about to end.
    JournalTold {
        /// How many entries it had.
        entries: usize,
    },
    /// Another engine took over with everything that the running one knew.
    EngineReplaced {
        /// Its name.
        name: String,
        /// Records in a worker's or the dead-letter producer's hands meanwhile.
        in_hands: u32,
    },
    /// Another engine could not take over; the running one stays.
    EngineKept {
        /// Why.
        why: String,
    },
    /// A hand-over went on although effects were still open in the sink.
    EffectsOpenAtRelease {
        /// Topic.
        topic: Arc<str>,
        /// Partition number.
        partition: i32,
    },
}

/// What a rebalance callback did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "the client has these two")]
pub enum RebalanceKind {
    /// Partitions were added.
    Assign,
    /// Partitions were asked back, or are gone.
    Revoke,
}

/// Watches a gateway. Called on the poll thread: be quick.
pub trait Observer: Send {
    /// Something happened.
    fn event(&mut self, event: &Event);

    /// Time from a record's delivery by the client to its place in a worker's queue.
    fn handed_over(&mut self, added: Duration) {
        let _ = added;
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Observer for Unwatched {
    fn event(&mut self, _: &Event) {}
}

/// What a gateway did, told when it ended.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The guard's counters; those of engines that were replaced are added.
    pub counters: Counters,
    /// Consumers made.
    pub consumers: u32,
    /// Consumers whose close hung, so that their threads were abandoned.
    pub consumers_abandoned: u32,
    /// Callbacks with content.
    pub rebalances: u64,
    /// Effects that the sink refused as fenced.
    pub fenced_by_sink: u64,
    /// Effects that the ownership fence stopped before they began.
    pub fenced_by_guard: u64,
    /// Engines that died.
    pub engines_dead: u32,
    /// Records left unfinished when it stopped, by topic and partition.
    pub left: Vec<(Arc<str>, i32, u32)>,
    /// Effects that the sink had not answered when it ended.
    pub running: usize,
}

/// Adds the counters of an engine that is done with.
pub(super) fn add(total: &mut Counters, more: &Counters) {
    macro_rules! each {
        ($($name:ident),+ $(,)?) => {
            $(total.$name = total.$name.saturating_add(more.$name);)+
        };
    }
    each!(
        run,
        parked,
        skipped_carried,
        skipped_finished,
        skipped_in_flight,
        held_owed,
        held_resume_unknown,
        held_key_busy,
        held_window,
        held_budget,
        held_storm,
        refused_fenced,
        refused_regression,
        refused_offset_limit,
        inputs_refused,
        completed,
        failed,
        retried,
        dead_letters_asked,
        dead_letters_failed,
        dead_lettered,
        abandoned,
        stale_answers,
        stale_inputs,
        given_up,
        lost_in_hand,
        assignments,
        drained,
        drain_deadlines,
        lost,
        replaced,
        rewound,
        commits_offered,
        commits_stored,
        commits_retried,
        commits_rejected,
        commits_not_mine,
        metadata_ignored,
        metadata_dropped,
        commits_given_up,
        leases_expired,
        rebalances,
        storms,
        stalls,
        poll_budgets,
        late_ticks,
        keys_evicted,
        reports_dropped,
    );
}
