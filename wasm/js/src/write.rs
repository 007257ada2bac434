//! Answers as plain objects. Offsets, ticks, assignments and counts of 64 bits are BigInts.

use js_sys::{BigInt, Object, Reflect, Uint8Array};
use rebalance_guard::{
    Answered, Ended, Event, Fenced, Hold, Ignored, JournalEntry, Offset, Partition, Phase,
    Progress, Reason, Refuse, Reply, Seen, Skip, Storm, Ticket, TicketKind, Token, Verdict,
    WaitReason, Waiting,
};
use wasm_bindgen::JsValue;

use crate::error;
use crate::names::Names;

/// Sets a field of a fresh object.
pub(crate) fn set(object: &Object, name: &str, value: impl Into<JsValue>) {
    // A fresh plain object takes any property.
    let _ = Reflect::set(object, &name.into(), &value.into());
}

/// A number of 64 bits, exactly.
pub(crate) fn big(value: u64) -> JsValue {
    BigInt::from(value).into()
}

/// A word.
pub(crate) fn text(value: &str) -> JsValue {
    JsValue::from_str(value)
}

/// An offset, or null.
pub(crate) fn offset(value: Option<Offset>) -> JsValue {
    value.map_or(JsValue::NULL, |offset| big(offset.value()))
}

/// An object that says what it is.
pub(crate) fn tagged(field: &str, word: &str) -> Object {
    let object = Object::new();
    set(&object, field, word);
    object
}

/// Sets `topic` and `partition`.
pub(crate) fn place(object: &Object, partition: Partition, names: &Names) {
    let name = names.name(partition.topic);
    set(object, "topic", name.map_or(JsValue::NULL, JsValue::from_str));
    set(object, "partition", partition.index);
}

/// Sets `token`, as a sink compares it, and its parts.
pub(crate) fn token(object: &Object, token: Token) {
    set(object, "assignment", big(token.assignment.value()));
    set(object, "group", big(token.group));
    set(object, "token", token.to_string());
}

/// A ticket: its bytes are what counts, the rest is for logs.
pub(crate) fn ticket(ticket: Ticket) -> Object {
    let object = tagged(
        "kind",
        match ticket.kind() {
            TicketKind::Run => "run",
            TicketKind::DeadLetter => "dead_letter",
        },
    );
    set(&object, "attempt", ticket.attempt());
    set(&object, "assignment", big(ticket.assignment().value()));
    set(&object, "sequence", big(ticket.sequence()));
    set(&object, "bytes", Uint8Array::from(ticket.to_bytes().as_slice()));
    object
}

/// The verdict on a record.
pub(crate) fn verdict(verdict: Verdict) -> Object {
    match verdict {
        Verdict::Run(leave) => {
            let object = tagged("verdict", "run");
            set(&object, "ticket", ticket(leave));
            object
        }
        Verdict::Park(leave, why) => {
            let object = tagged("verdict", "park");
            set(&object, "why", reason(why));
            set(&object, "ticket", ticket(leave));
            object
        }
        Verdict::Skip(why) => {
            let object = tagged("verdict", "skip");
            set(&object, "why", skip(why));
            object
        }
        Verdict::Hold(why) => held(why),
        Verdict::Refuse(why) => {
            let object = tagged("verdict", "refuse");
            refusal(&object, why);
            object
        }
    }
}

fn held(why: Hold) -> Object {
    let object = tagged("verdict", "hold");
    let word = match why {
        Hold::Owed(_) => "owed",
        Hold::ResumeUnknown => "resume_unknown",
        Hold::KeyBusy => "key_busy",
        Hold::Window => "window",
        Hold::Budget => "budget",
        Hold::Storm => "storm",
    };
    set(&object, "why", word);
    if let Hold::Owed(owed) = why {
        set(&object, "owed", big(owed.value()));
    }
    object
}

fn skip(why: Skip) -> &'static str {
    match why {
        Skip::Carried => "carried",
        Skip::DuplicateFinished => "duplicate_finished",
        Skip::DuplicateInFlight => "duplicate_in_flight",
    }
}

fn refusal(object: &Object, why: Refuse) {
    match why {
        Refuse::Fenced(fenced) => {
            set(object, "why", "fenced");
            set(object, "fenced", fence(fenced));
        }
        Refuse::OffsetRegression { last, seen } => {
            set(object, "why", "offset_regression");
            set(object, "last", big(last.value()));
            set(object, "seen", seen_word(seen));
        }
        Refuse::OffsetLimit => set(object, "why", "offset_limit"),
    }
}

fn fence(why: Fenced) -> &'static str {
    match why {
        Fenced::NotOwned => "not_owned",
        Fenced::Draining => "draining",
        Fenced::Sealed => "sealed",
        Fenced::LeaseExpired => "lease_expired",
        Fenced::Dead => "dead",
    }
}

fn seen_word(seen: Seen) -> &'static str {
    match seen {
        Seen::Finished => "finished",
        Seen::InFlight => "in_flight",
        Seen::Never => "never",
        Seen::BelowResume => "below_resume",
    }
}

/// Why a record goes to the dead-letter topic.
pub(crate) fn reason(why: Reason) -> &'static str {
    match why {
        Reason::AttemptsSpent => "attempts_spent",
        Reason::Permanent => "permanent",
        Reason::NoUsableKey => "no_usable_key",
    }
}

/// How an assignment ended.
pub(crate) fn ended(how: Ended) -> &'static str {
    match how {
        Ended::Drained => "drained",
        Ended::Deadline => "deadline",
        Ended::Lost => "lost",
        Ended::Replaced => "replaced",
        Ended::Rewound => "rewound",
    }
}

/// Why commit metadata was not used.
pub(crate) fn ignored(why: Ignored) -> &'static str {
    match why {
        Ignored::Foreign => "foreign",
        Ignored::Version => "version",
        Ignored::Base => "base",
        Ignored::TooLong => "too_long",
        Ignored::LaterEpoch => "later_epoch",
    }
}

/// How fast rebalances come.
pub(crate) fn storm(level: Storm) -> &'static str {
    match level {
        Storm::Calm => "calm",
        Storm::Rising => "rising",
        Storm::Storm => "storm",
    }
}

/// Whether a ticket's answer counts.
pub(crate) fn answered(answer: Answered) -> &'static str {
    match answer {
        Answered::Done => "done",
        Answered::Stale => "stale",
    }
}

/// Whether an input was applied.
pub(crate) fn reply(reply: Reply) -> &'static str {
    if reply == Reply::Stale { "stale" } else { "done" }
}

/// Where a partition stands.
pub(crate) fn progress(partition: Partition, progress: &Progress, names: &Names) -> Object {
    let phase = match progress.phase {
        Phase::Unowned => "unowned",
        Phase::Active => "active",
        Phase::Draining => "draining",
        Phase::Committing => "committing",
    };
    let object = Object::new();
    place(&object, partition, names);
    set(&object, "phase", phase);
    token(&object, progress.token);
    set(&object, "mark", offset(progress.mark));
    set(&object, "confirmed", offset(progress.confirmed));
    set(&object, "inHands", progress.in_hands);
    set(&object, "unfinished", progress.unfinished);
    set(&object, "owed", offset(progress.owed));
    set(&object, "paused", progress.paused);
    set(&object, "deadline", progress.deadline.map_or(JsValue::NULL, |at| big(at.value())));
    set(&object, "idle", progress.idle);
    object
}

/// Since when nothing is owned, and why.
pub(crate) fn waiting(waiting: Waiting) -> Object {
    let why = match waiting.why {
        WaitReason::NothingAssigned => "nothing_assigned",
        WaitReason::Revoked => "revoked",
        WaitReason::Lost => "lost",
        WaitReason::LeaseExpired => "lease_expired",
        WaitReason::Dead => "dead",
    };
    let object = tagged("why", why);
    set(&object, "since", big(waiting.since.value()));
    object
}

/// One entry of the journal.
pub(crate) fn entry(entry: &JournalEntry, names: &Names) -> Object {
    let object = Object::new();
    set(&object, "at", big(entry.at.value()));
    match entry.partition {
        Some(partition) => place(&object, partition, names),
        None => {
            set(&object, "topic", JsValue::NULL);
            set(&object, "partition", JsValue::NULL);
        }
    }
    let assignment = entry.assignment.map_or(JsValue::NULL, |number| big(number.value()));
    set(&object, "assignment", assignment);
    set(&object, "offset", offset(entry.offset));
    set(&object, "times", entry.times);
    event(&object, entry.event);
    object
}

fn event(object: &Object, event: Event) {
    let word = match event {
        Event::Assigned => "assigned",
        Event::Revoked => "revoked",
        Event::Sealed(_) => "sealed",
        Event::Released { .. } => "released",
        Event::Refused(_) => "refused",
        Event::StaleAnswer => "stale_answer",
        Event::InputRefused(_) => "input_refused",
        Event::LeaseExpired => "lease_expired",
        Event::ClientDead => "client_dead",
        Event::StormBegan => "storm_began",
        Event::StormEnded => "storm_ended",
        _ => "unknown",
    };
    set(object, "event", word);
    match event {
        Event::Sealed(how) => set(object, "ended", ended(how)),
        Event::Released { stored } => set(object, "stored", stored),
        Event::Refused(why) => refusal(object, why),
        Event::InputRefused(why) => set(object, "why", error::code(why)),
        _ => {}
    }
}
