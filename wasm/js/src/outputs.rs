//! What the host owes, pulled first and told afterwards.

use js_sys::Object;
use rebalance_guard::{Output, Partition};

use crate::names::Names;
use crate::write::{self, big, place, set, tagged};

/// An output, with the string to commit with it.
pub(crate) type Pulled = (Output, String);

/// An output as an object; `kind` says which.
pub(crate) fn write((output, metadata): &Pulled, names: &Names) -> Object {
    match *output {
        Output::Rejoin { back_off } => backing_off("rejoin", back_off),
        Output::StormBegan { back_off } => backing_off("storm_began", back_off),
        Output::StormEnded => tagged("kind", "storm_ended"),
        Output::Sealed(sealed) => {
            let object = at("sealed", sealed.partition, names);
            set(&object, "assignment", big(sealed.assignment.value()));
            set(&object, "ended", write::ended(sealed.ended));
            set(&object, "mark", write::offset(sealed.mark));
            set(&object, "left", sealed.left);
            object
        }
        Output::Gap { partition, from, to } => {
            moved("gap", partition, [from.value(), to.value()], names)
        }
        Output::StepBack { partition, from, to } => {
            moved("step_back", partition, [from.value(), to.value()], names)
        }
        Output::MetadataIgnored { partition, why } => {
            let object = at("metadata_ignored", partition, names);
            set(&object, "why", write::ignored(why));
            object
        }
        Output::Commit { partition, offset, token, .. } => {
            let object = at("commit", partition, names);
            set(&object, "offset", big(offset.value()));
            write::token(&object, token);
            set(&object, "metadata", metadata.as_str());
            object
        }
        Output::Pause(partition) => at("pause", partition, names),
        Output::Resume(partition) => at("resume", partition, names),
        Output::Retry { .. } | Output::DeadLetter { .. } => leave(output, names),
        Output::Stalled { partition, seek } => {
            let object = at("stalled", partition, names);
            set(&object, "seek", big(seek.value()));
            object
        }
        Output::PollBudget { until } => {
            let object = tagged("kind", "poll_budget");
            set(&object, "until", big(until.value()));
            object
        }
    }
}

fn leave(output: &Output, names: &Names) -> Object {
    match *output {
        Output::Retry { ticket, partition, offset } => {
            let object = at("retry", partition, names);
            set(&object, "offset", big(offset.value()));
            set(&object, "ticket", write::ticket(ticket));
            object
        }
        Output::DeadLetter { ticket, partition, offset, reason, copies } => {
            let object = at("dead_letter", partition, names);
            set(&object, "offset", big(offset.value()));
            set(&object, "why", write::reason(reason));
            set(&object, "copies", copies);
            set(&object, "ticket", write::ticket(ticket));
            object
        }
        _ => Object::new(),
    }
}

fn at(kind: &str, partition: Partition, names: &Names) -> Object {
    let object = tagged("kind", kind);
    place(&object, partition, names);
    object
}

fn moved(kind: &str, partition: Partition, [from, to]: [u64; 2], names: &Names) -> Object {
    let object = at(kind, partition, names);
    set(&object, "from", big(from));
    set(&object, "to", big(to));
    object
}

fn backing_off(kind: &str, back_off: u64) -> Object {
    let object = tagged("kind", kind);
    set(&object, "backOff", big(back_off));
    object
}
