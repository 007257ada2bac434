//! What is counted. Reading never allocates.

/// Counted over all partitions since the guard was made.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub struct Counters {
    /// Records answered Run.
    pub run: u64,
    /// Records answered Park.
    pub parked: u64,
    /// Records skipped because their key had finished.
    pub skipped_finished: u64,
    /// Records skipped because their key was in flight.
    pub skipped_in_flight: u64,
    /// Records skipped because the commit's metadata named them as finished.
    pub skipped_carried: u64,
    /// Records held behind a debt.
    pub held_owed: u64,
    /// Records held because the resume position is unknown.
    pub held_resume_unknown: u64,
    /// Records held because their key's first copy cannot vouch.
    pub held_key_busy: u64,
    /// Records held for a full window.
    pub held_window: u64,
    /// Records held for a full budget.
    pub held_budget: u64,
    /// Records held by the storm policy.
    pub held_storm: u64,
    /// Records refused by the fence.
    pub refused_fenced: u64,
    /// Records refused because their offset does not move forward.
    pub refused_regression: u64,
    /// Records refused at the largest offset.
    pub refused_offset_limit: u64,
    /// Inputs refused with an error.
    pub inputs_refused: u64,
    /// Tickets completed.
    pub completed: u64,
    /// Run tickets failed.
    pub failed: u64,
    /// Retries handed out.
    pub retried: u64,
    /// Dead-letter tickets handed out (parked records not included).
    pub dead_letters_asked: u64,
    /// Dead-letter tickets that the topic refused.
    pub dead_letters_failed: u64,
    /// Records dead-lettered and acknowledged.
    pub dead_lettered: u64,
    /// Tickets abandoned by the host.
    pub abandoned: u64,
    /// Answers to tickets that were dead, answered or of the other kind.
    pub stale_answers: u64,
    /// Answers to commits and positions of assignments that were over, or to no open offer.
    pub stale_inputs: u64,
    /// Records given up because their assignment was revoked, sealed or lost.
    pub given_up: u64,
    /// Records in a worker's hands when their assignment was lost.
    pub lost_in_hand: u64,
    /// Assignments begun, rewinds included.
    pub assignments: u64,
    /// Drains that ended with nothing in anybody's hands.
    pub drained: u64,
    /// Drains that their deadline ended.
    pub drain_deadlines: u64,
    /// Assignments lost.
    pub lost: u64,
    /// Assignments replaced while they were handed over; where the drain was over and only the last
    /// commit awaited, it is counted as drained (or by its deadline) as well.
    pub replaced: u64,
    /// Rewinds.
    pub rewound: u64,
    /// Commits offered.
    pub commits_offered: u64,
    /// Commits stored.
    pub commits_stored: u64,
    /// Commits to be retried, unanswered ones included.
    pub commits_retried: u64,
    /// Commits rejected.
    pub commits_rejected: u64,
    /// Commits answered not-mine or fatal.
    pub commits_not_mine: u64,
    /// Commit metadata that was not used.
    pub metadata_ignored: u64,
    /// Commits offered without their metadata because it would be longer than `metadata_max`.
    pub metadata_dropped: u64,
    /// Committing phases that ended without their commit being stored.
    pub commits_given_up: u64,
    /// Leases that ran out.
    pub leases_expired: u64,
    /// Rebalances counted by the storm detector.
    pub rebalances: u64,
    /// Storms begun.
    pub storms: u64,
    /// Stalls told.
    pub stalls: u64,
    /// Poll budgets told.
    pub poll_budgets: u64,
    /// Calls whose tick was before an earlier one's.
    pub late_ticks: u64,
    /// Finished keys evicted by newer ones.
    pub keys_evicted: u64,
    /// Reports overtaken by the next of their kind and partition before anybody pulled them.
    pub reports_dropped: u64,
}

/// Counted for one partition, as long as the partition table remembers it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub struct PartitionCounters {
    /// Records answered Run or Park.
    pub admitted: u64,
    /// Records skipped.
    pub skipped: u64,
    /// Records held.
    pub held: u64,
    /// Records refused.
    pub refused: u64,
    /// Records finished: completed, or dead-lettered and acknowledged.
    pub finished: u64,
    /// Answers to tickets answered before, and stale answers to its commits and positions.
    pub stale: u64,
    /// Assignments begun.
    pub assignments: u64,
    /// Drains that ended with nothing in anybody's hands.
    pub drained: u64,
    /// Drains that their deadline ended.
    pub drain_deadlines: u64,
    /// Assignments lost.
    pub lost: u64,
    /// Assignments replaced while they were handed over.
    pub replaced: u64,
    /// Rewinds.
    pub rewound: u64,
}

impl PartitionCounters {
    pub(crate) const ZERO: Self = Self {
        admitted: 0,
        skipped: 0,
        held: 0,
        refused: 0,
        finished: 0,
        stale: 0,
        assignments: 0,
        drained: 0,
        drain_deadlines: 0,
        lost: 0,
        replaced: 0,
        rewound: 0,
    };
}
