//! The words in which a scenario speaks to a guard and hears from it.

use rebalance_guard::{
    Assignment, Fenced, Hold, Offset, Output, Partition, Reason, Refuse, Resume, Seen, Skip, Tick,
    Verdict,
};

pub(crate) fn tick(now: u64) -> Tick {
    Tick::new(now).expect("at most 2^62")
}

pub(crate) fn number(assignment: u64) -> Assignment {
    Assignment::new(assignment).expect("not 0")
}

pub(crate) fn offset(value: u64) -> Offset {
    Offset::new(value).expect("at most 2^63 - 1")
}

pub(crate) fn partition(word: &str) -> Partition {
    let (topic, index) = word.split_once('/').unwrap_or(("0", word));
    let index = index.strip_prefix('p').expect("p and a number");
    Partition::new(topic.parse().expect("topic"), index.parse().expect("partition"))
}

pub(crate) fn list(what: &str) -> Vec<Partition> {
    what.split_whitespace().map(partition).collect()
}

pub(crate) fn owned(word: &str) -> (Partition, Resume<'_>) {
    let (name, resume) = word.split_once('@').expect("partition @ resume");
    if let Some((text, metadata)) = resume.split_once('+') {
        let offset = offset(text.parse().expect("offset"));
        return (partition(name), Resume::Committed { offset, metadata: metadata.as_bytes() });
    }
    let value = |text: &str| offset(text.parse().expect("offset"));
    let resume = match resume.split_once(':') {
        Some(("none", text)) => Resume::Empty(Some(value(text))),
        Some(("at", text)) => Resume::At(value(text)),
        Some(_) => panic!("{word}"),
        None if resume == "none" => Resume::Empty(None),
        None if resume == "?" => Resume::Unknown,
        None => Resume::committed(value(resume)),
    };
    (partition(name), resume)
}

pub(crate) fn record(word: &str) -> (Partition, Offset, Option<&[u8]>) {
    let (place, key) = match word.split_once('=') {
        Some((place, key)) => (place, Some(key.as_bytes())),
        None => (word, None),
    };
    let (name, value) = place.split_once(':').expect("partition : offset");
    (partition(name), offset(value.parse().expect("offset")), key)
}

pub(crate) fn name(partition: Partition) -> String {
    match partition.topic {
        0 => format!("p{}", partition.index),
        topic => format!("{topic}/p{}", partition.index),
    }
}

pub(crate) fn said(verdict: Verdict) -> String {
    match verdict {
        Verdict::Run(_) => "run".to_owned(),
        Verdict::Park(_, reason) => format!("park: {}", why(reason)),
        Verdict::Skip(Skip::Carried) => "skip: carried".to_owned(),
        Verdict::Skip(Skip::DuplicateFinished) => "skip: finished".to_owned(),
        Verdict::Skip(Skip::DuplicateInFlight) => "skip: in flight".to_owned(),
        Verdict::Hold(hold) => format!("hold: {}", held(hold)),
        Verdict::Refuse(refuse) => format!("refuse: {}", refused(refuse)),
    }
}

fn held(hold: Hold) -> String {
    match hold {
        Hold::Owed(offset) => format!("owed {offset}"),
        Hold::ResumeUnknown => "resume unknown".to_owned(),
        Hold::KeyBusy => "key busy".to_owned(),
        Hold::Window => "window".to_owned(),
        Hold::Budget => "budget".to_owned(),
        Hold::Storm => "storm".to_owned(),
    }
}

fn refused(refuse: Refuse) -> String {
    match refuse {
        Refuse::Fenced(Fenced::NotOwned) => "not owned".to_owned(),
        Refuse::Fenced(Fenced::Draining) => "draining".to_owned(),
        Refuse::Fenced(Fenced::Sealed) => "sealed".to_owned(),
        Refuse::Fenced(Fenced::LeaseExpired) => "lease expired".to_owned(),
        Refuse::Fenced(Fenced::Dead) => "dead".to_owned(),
        Refuse::OffsetRegression { last, seen } => {
            let seen = match seen {
                Seen::Finished => "finished",
                Seen::InFlight => "in flight",
                Seen::Never => "never seen",
                Seen::BelowResume => "below resume",
            };
            format!("not above {last}, {seen}")
        }
        Refuse::OffsetLimit => "offset limit".to_owned(),
    }
}

fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::AttemptsSpent => "attempts spent",
        Reason::Permanent => "permanent",
        Reason::NoUsableKey => "no usable key",
    }
}

pub(crate) fn wanted(output: Output) -> String {
    match output {
        Output::Rejoin { back_off } => format!("rejoin after {back_off}"),
        Output::Sealed(report) => {
            let mark = report.mark.map_or_else(|| "none".to_owned(), |mark| mark.to_string());
            let ended = format!("{:?}", report.ended).to_lowercase();
            let (partition, left) = (name(report.partition), report.left);
            format!("sealed {partition} #{}: {ended}, mark {mark}, left {left}", report.assignment)
        }
        Output::Gap { partition, from, to } => format!("gap {} {from}..{to}", name(partition)),
        Output::StepBack { partition, from, to } => {
            format!("step back {} {from}->{to}", name(partition))
        }
        Output::MetadataIgnored { partition, why } => {
            format!("metadata ignored {}: {why}", name(partition))
        }
        Output::Stalled { partition, seek } => format!("stalled {}: {seek}", name(partition)),
        Output::PollBudget { until } => format!("poll budget, until {}", until.value()),
        Output::StormBegan { back_off } => format!("storm began, wait {back_off}"),
        Output::StormEnded => "storm ended".to_owned(),
        Output::Commit { partition, offset, .. } => format!("commit {}={offset}", name(partition)),
        Output::Pause(partition) => format!("pause {}", name(partition)),
        Output::Resume(partition) => format!("resume {}", name(partition)),
        Output::Retry { partition, offset, .. } => format!("retry {}:{offset}", name(partition)),
        Output::DeadLetter { partition, offset, reason, copies, .. } => {
            let (partition, why) = (name(partition), why(reason));
            format!("dead letter {partition}:{offset}: {why}, copies {copies}")
        }
    }
}
