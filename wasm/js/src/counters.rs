//! Counters by name.

use js_sys::Object;
use rebalance_guard::{Counters, PartitionCounters};

use crate::write::{big, set};

macro_rules! object {
    ($counters:expr, $($field:ident => $name:literal),+ $(,)?) => {{
        let object = Object::new();
        $(set(&object, $name, big($counters.$field));)+
        object
    }};
}

/// Over all partitions.
pub(crate) fn all(counters: &Counters) -> Object {
    object!(counters,
        run => "run",
        parked => "parked",
        skipped_finished => "skippedFinished",
        skipped_in_flight => "skippedInFlight",
        skipped_carried => "skippedCarried",
        held_owed => "heldOwed",
        held_resume_unknown => "heldResumeUnknown",
        held_key_busy => "heldKeyBusy",
        held_window => "heldWindow",
        held_budget => "heldBudget",
        held_storm => "heldStorm",
        refused_fenced => "refusedFenced",
        refused_regression => "refusedRegression",
        refused_offset_limit => "refusedOffsetLimit",
        inputs_refused => "inputsRefused",
        completed => "completed",
        failed => "failed",
        retried => "retried",
        dead_letters_asked => "deadLettersAsked",
        dead_letters_failed => "deadLettersFailed",
        dead_lettered => "deadLettered",
        abandoned => "abandoned",
        stale_answers => "staleAnswers",
        stale_inputs => "staleInputs",
        given_up => "givenUp",
        lost_in_hand => "lostInHand",
        assignments => "assignments",
        drained => "drained",
        drain_deadlines => "drainDeadlines",
        lost => "lost",
        replaced => "replaced",
        rewound => "rewound",
        commits_offered => "commitsOffered",
        commits_stored => "commitsStored",
        commits_retried => "commitsRetried",
        commits_rejected => "commitsRejected",
        commits_not_mine => "commitsNotMine",
        metadata_ignored => "metadataIgnored",
        metadata_dropped => "metadataDropped",
        commits_given_up => "commitsGivenUp",
        leases_expired => "leasesExpired",
        rebalances => "rebalances",
        storms => "storms",
        stalls => "stalls",
        poll_budgets => "pollBudgets",
        late_ticks => "lateTicks",
        keys_evicted => "keysEvicted",
        reports_dropped => "reportsDropped",
    )
}

/// Of one partition.
pub(crate) fn of_partition(counters: &PartitionCounters) -> Object {
    object!(counters,
        admitted => "admitted",
        skipped => "skipped",
        held => "held",
        refused => "refused",
        finished => "finished",
        stale => "stale",
        assignments => "assignments",
        drained => "drained",
        drain_deadlines => "drainDeadlines",
        lost => "lost",
        replaced => "replaced",
        rewound => "rewound",
    )
}
