//! What a guard answers, in the words of the trace format.

use rebalance_guard::{
    Answered, Fenced, Hold, InputError, Output, Reason, Refuse, Reply, Seen, Skip, Storm, Verdict,
    WaitReason,
};
use serde_json::{Map, Value, json};

use super::Topics;
use crate::trace::Said;

/// Fields in the order in which they are shown.
pub(super) type Shown = Map<String, Value>;

fn put(shown: &mut Shown, name: &str, value: impl Into<Value>) {
    shown.insert(name.to_owned(), value.into());
}

/// The answer to a call that is no batch.
pub(super) fn said(said: &Said) -> Shown {
    let mut shown = Shown::new();
    match said {
        Said::Reply(Ok(Reply::Verdict(answer))) => return verdict(answer),
        Said::Reply(Ok(Reply::Answered(Answered::Done)) | Ok(Reply::Done)) | Said::Nothing => {
            put(&mut shown, "answer", "done");
        }
        Said::Reply(Ok(Reply::Answered(Answered::Stale) | Reply::Stale)) => {
            put(&mut shown, "answer", "stale");
        }
        Said::Reply(Err(error)) => {
            put(&mut shown, "answer", "refused");
            put(&mut shown, "why", error_word(*error));
        }
        Said::Batch(_) => {}
    }
    shown
}

pub(super) fn verdict(verdict: &Verdict) -> Shown {
    let mut shown = Shown::new();
    let (word, why) = match verdict {
        Verdict::Run(_) => ("run", None),
        Verdict::Park(_, reason) => ("park", Some(reason_word(*reason))),
        Verdict::Skip(Skip::Carried) => ("skip", Some("carried")),
        Verdict::Skip(_) => ("skip", Some("duplicate")),
        Verdict::Hold(hold) => ("hold", Some(hold_word(*hold))),
        Verdict::Refuse(Refuse::Fenced(_)) => ("refuse", Some("fenced")),
        Verdict::Refuse(Refuse::OffsetRegression { .. }) => ("refuse", Some("offset_regression")),
        Verdict::Refuse(Refuse::OffsetLimit) => ("refuse", Some("offset_limit")),
    };
    put(&mut shown, "verdict", word);
    if let Some(why) = why {
        put(&mut shown, "why", why);
    }
    match verdict {
        Verdict::Skip(Skip::DuplicateFinished) => put(&mut shown, "first", "finished"),
        Verdict::Skip(Skip::DuplicateInFlight) => put(&mut shown, "first", "in_flight"),
        Verdict::Hold(Hold::Owed(offset)) => put(&mut shown, "offset", offset.value()),
        Verdict::Refuse(Refuse::Fenced(fenced)) => put(&mut shown, "fence", fence_word(*fenced)),
        Verdict::Refuse(Refuse::OffsetRegression { last, seen }) => {
            put(&mut shown, "seen", seen_word(*seen));
            put(&mut shown, "last", last.value());
        }
        _ => {}
    }
    shown
}

const fn hold_word(hold: Hold) -> &'static str {
    match hold {
        Hold::Owed(_) => "owed",
        Hold::ResumeUnknown => "resume_unknown",
        Hold::KeyBusy => "key_busy",
        Hold::Window => "window",
        Hold::Budget => "budget",
        Hold::Storm => "storm",
    }
}

const fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::AttemptsSpent => "attempts_spent",
        Reason::Permanent => "permanent",
        Reason::NoUsableKey => "no_usable_key",
    }
}

const fn fence_word(fenced: Fenced) -> &'static str {
    match fenced {
        Fenced::NotOwned => "not_owned",
        Fenced::Draining => "draining",
        Fenced::Sealed => "sealed",
        Fenced::LeaseExpired => "lease_expired",
        Fenced::Dead => "dead",
    }
}

const fn seen_word(seen: Seen) -> &'static str {
    match seen {
        Seen::Finished => "finished",
        Seen::InFlight => "in_flight",
        Seen::Never => "never",
        Seen::BelowResume => "below_resume",
    }
}

const fn error_word(error: InputError) -> &'static str {
    match error {
        InputError::PartitionsFull { .. } => "partitions_full",
        InputError::NegativePartition(_) => "negative_partition",
        InputError::Dead => "dead",
        InputError::NotActive(_) => "not_active",
        InputError::AboveMark { .. } => "above_mark",
        InputError::ResumeUnknown(_) => "resume_unknown",
        InputError::NoPosition => "no_position",
        InputError::AssignmentsSpent => "assignments_spent",
        _ => "other",
    }
}

pub(super) const fn storm_word(storm: Storm) -> &'static str {
    match storm {
        Storm::Calm => "calm",
        Storm::Rising => "rising",
        Storm::Storm => "storm",
    }
}

pub(super) const fn wait_word(why: WaitReason) -> &'static str {
    match why {
        WaitReason::NothingAssigned => "nothing_assigned",
        WaitReason::Revoked => "revoked",
        WaitReason::Lost => "lost",
        WaitReason::LeaseExpired => "lease_expired",
        WaitReason::Dead => "dead",
    }
}

/// The kind of an output, as `expect` names it.
pub(super) const fn kind(output: &Output) -> &'static str {
    match output {
        Output::Rejoin { .. } => "rejoin",
        Output::Sealed(_)
        | Output::Gap { .. }
        | Output::StepBack { .. }
        | Output::MetadataIgnored { .. } => "report",
        Output::StormBegan { .. } | Output::StormEnded => "storm",
        Output::Commit { .. } => "commit",
        Output::Pause(_) => "pause",
        Output::Resume(_) => "resume",
        Output::Retry { .. } => "retry",
        Output::DeadLetter { .. } => "dead_letter",
        Output::Stalled { .. } => "stall",
        Output::PollBudget { .. } => "poll_budget",
    }
}

/// An output with everything that it says; `metadata` is a commit's string, `ticket` the name of a
/// ticket.
pub(super) fn output(
    output: &Output,
    topics: &Topics,
    metadata: Option<&[u8]>,
    ticket: Option<&str>,
) -> Value {
    let mut shown = Shown::new();
    put(&mut shown, "kind", kind(output));
    let mut at = |partition: rebalance_guard::Partition| {
        put(&mut shown, "topic", topics.name(partition.topic));
        put(&mut shown, "partition", partition.index);
    };
    match *output {
        Output::Rejoin { back_off } | Output::StormBegan { back_off } => {
            put(&mut shown, "back_off", back_off);
        }
        Output::StormEnded => put(&mut shown, "ended", true),
        Output::Sealed(sealed) => {
            at(sealed.partition);
            put(&mut shown, "assignment", sealed.assignment.value());
            put(&mut shown, "ended", sealed.ended.to_string());
            put(&mut shown, "mark", sealed.mark.map_or(Value::Null, |mark| json!(mark.value())));
            put(&mut shown, "left", sealed.left);
        }
        Output::Gap { partition, from, to } | Output::StepBack { partition, from, to } => {
            at(partition);
            put(&mut shown, "from", from.value());
            put(&mut shown, "to", to.value());
        }
        Output::MetadataIgnored { partition, why } => {
            at(partition);
            put(&mut shown, "metadata_ignored", why.to_string());
        }
        Output::Commit { partition, offset, token, .. } => {
            at(partition);
            put(&mut shown, "offset", offset.value());
            put(&mut shown, "token", token.to_string());
            let text = metadata.unwrap_or_default();
            put(&mut shown, "metadata", String::from_utf8_lossy(text).into_owned());
        }
        Output::Pause(partition) | Output::Resume(partition) => at(partition),
        Output::Retry { partition, offset, .. } => {
            at(partition);
            put(&mut shown, "offset", offset.value());
            put(&mut shown, "ticket", ticket.unwrap_or_default());
        }
        Output::DeadLetter { partition, offset, reason, copies, .. } => {
            at(partition);
            put(&mut shown, "offset", offset.value());
            put(&mut shown, "ticket", ticket.unwrap_or_default());
            put(&mut shown, "why", reason_word(reason));
            put(&mut shown, "copies", copies);
        }
        Output::Stalled { partition, seek } => {
            at(partition);
            put(&mut shown, "seek", seek.value());
        }
        Output::PollBudget { until } => put(&mut shown, "until", until.value()),
    }
    Value::Object(shown)
}
