//! How often each kind of input, answer and output occurred: a random test proves nothing about
//! what it never met.

use std::collections::BTreeMap;

use rebalance_guard::{
    Answered, CommitAnswer, Ended, Fenced, Hold, Ignored, InputError, Outcome, Output, Reason,
    Refuse, Reply, Seen, Skip, Storm, Verdict, WaitReason,
};

use crate::trace::Resumed;
use crate::trace::{Action, Answer, LostScope, Said, Step};

/// Counts by kind.
#[derive(Clone, Debug, Default)]
pub struct Census {
    counts: BTreeMap<&'static str, u64>,
}

/// Every kind there is.
const KINDS: &[&str] = &[
    "input assign",
    "input position",
    "input revoke",
    "input lost some",
    "input lost all",
    "input lost fatal",
    "input rewind",
    "input group offset",
    "input end of partition",
    "input admit",
    "input admit batch",
    "input completed",
    "input failed",
    "input failed permanently",
    "input abandoned",
    "input dead-lettered",
    "input commit stored",
    "input commit retry",
    "input commit rejected",
    "input commit not mine",
    "input commit fatal",
    "input polled",
    "input tick",
    "resume committed",
    "resume committed with metadata",
    "resume empty",
    "resume empty, first record",
    "resume at",
    "resume unknown",
    "reply done",
    "reply stale",
    "answered done",
    "answered stale",
    "verdict run",
    "verdict park, attempts spent",
    "verdict park, no usable key",
    "verdict skip, carried",
    "verdict skip, finished",
    "verdict skip, in flight",
    "verdict hold, owed",
    "verdict hold, resume unknown",
    "verdict hold, key busy",
    "verdict hold, window",
    "verdict hold, budget",
    "verdict hold, storm",
    "verdict refuse, not owned",
    "verdict refuse, draining",
    "verdict refuse, sealed",
    "verdict refuse, lease expired",
    "verdict refuse, dead",
    "verdict refuse, regression finished",
    "verdict refuse, regression in flight",
    "verdict refuse, regression never seen",
    "verdict refuse, regression below resume",
    "verdict refuse, offset limit",
    "error partitions full",
    "error negative partition",
    "error dead",
    "error not active",
    "error above mark",
    "error resume unknown",
    "error no position",
    "error assignments spent",
    "output rejoin",
    "output rejoin after back-off",
    "output sealed drained",
    "output sealed deadline",
    "output sealed lost",
    "output sealed replaced",
    "output sealed rewound",
    "output gap",
    "output step back",
    "output storm began",
    "output storm ended",
    "output metadata ignored, foreign",
    "output metadata ignored, version",
    "output metadata ignored, base",
    "output metadata ignored, too long",
    "output metadata ignored, later epoch",
    "output commit",
    "output commit with metadata",
    "output pause",
    "output resume",
    "output retry",
    "output dead letter, attempts spent",
    "output dead letter, permanent",
    "output dead letter, no usable key",
    "output dead letter with copies",
    "output stalled",
    "output poll budget",
    "waiting, nothing assigned",
    "waiting, revoked",
    "waiting, lost",
    "waiting, lease expired",
    "waiting, dead",
    "storm calm",
    "storm rising",
    "storm storm",
];

impl Census {
    /// Counts one step and what was answered.
    pub fn count(&mut self, step: &Step, answer: &Answer) {
        self.count_input(&step.action);
        match &answer.said {
            Said::Reply(Ok(reply)) => self.add(reply_kind(*reply)),
            Said::Reply(Err(error)) => self.add(error_kind(*error)),
            Said::Batch(verdicts) => {
                for verdict in verdicts {
                    self.add(verdict_kind(*verdict));
                }
            }
            Said::Nothing => {}
        }
        for output in &answer.outputs {
            self.add(output_kind(output));
            if let Output::DeadLetter { copies: 1.., .. } = output {
                self.add("output dead letter with copies");
            }
        }
        if let Some(waiting) = answer.waiting {
            self.add(match waiting.why {
                WaitReason::NothingAssigned => "waiting, nothing assigned",
                WaitReason::Revoked => "waiting, revoked",
                WaitReason::Lost => "waiting, lost",
                WaitReason::LeaseExpired => "waiting, lease expired",
                WaitReason::Dead => "waiting, dead",
            });
        }
        self.add(match answer.storm {
            Storm::Calm => "storm calm",
            Storm::Rising => "storm rising",
            Storm::Storm => "storm storm",
        });
    }

    /// Counts everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (kind, count) in &other.counts {
            *self.counts.entry(kind).or_default() += count;
        }
    }

    /// The kinds that occurred fewer than `least` times, with how often they did.
    pub fn rarer_than(&self, least: u64) -> Vec<(&'static str, u64)> {
        let count = |kind: &'static str| self.counts.get(kind).copied().unwrap_or(0);
        let kinds = KINDS.iter().map(|kind| (*kind, count(kind)));
        kinds.filter(|(_, count)| *count < least).collect()
    }

    /// How often `kind` occurred.
    pub fn of(&self, kind: &str) -> u64 {
        self.counts.get(kind).copied().unwrap_or(0)
    }

    fn add(&mut self, kind: &'static str) {
        *self.counts.entry(kind).or_default() += 1;
    }

    fn count_input(&mut self, action: &Action) {
        self.add(input_kind(action));
        let resumes = match action {
            Action::Assign { partitions, .. } => {
                partitions.iter().map(|(_, start)| start.clone()).collect()
            }
            Action::Position { resume, .. } => vec![resume.clone()],
            _ => Vec::new(),
        };
        for resume in resumes {
            self.add(match resume {
                Resumed::Committed { metadata, .. } if metadata.is_empty() => "resume committed",
                Resumed::Committed { .. } => "resume committed with metadata",
                Resumed::Empty(Some(_)) => "resume empty",
                Resumed::Empty(None) => "resume empty, first record",
                Resumed::At(_) => "resume at",
                Resumed::Unknown => "resume unknown",
            });
        }
    }
}

fn input_kind(action: &Action) -> &'static str {
    match action {
        Action::Assign { .. } => "input assign",
        Action::Position { .. } => "input position",
        Action::Revoke { .. } => "input revoke",
        Action::Lost(LostScope::Some(_)) => "input lost some",
        Action::Lost(LostScope::All) => "input lost all",
        Action::Lost(LostScope::Fatal) => "input lost fatal",
        Action::Rewind { .. } => "input rewind",
        Action::GroupOffset { .. } => "input group offset",
        Action::EndOfPartition { .. } => "input end of partition",
        Action::Admit(_) => "input admit",
        Action::AdmitBatch(_) => "input admit batch",
        Action::Answer { outcome, .. } => match outcome {
            Outcome::Completed => "input completed",
            Outcome::Failed { permanent: false } => "input failed",
            Outcome::Failed { permanent: true } => "input failed permanently",
            Outcome::Abandoned => "input abandoned",
            Outcome::DeadLettered => "input dead-lettered",
        },
        Action::CommitAnswered { answer, .. } => match answer {
            CommitAnswer::Stored => "input commit stored",
            CommitAnswer::Retry => "input commit retry",
            CommitAnswer::Rejected => "input commit rejected",
            CommitAnswer::NotMine => "input commit not mine",
            CommitAnswer::Fatal => "input commit fatal",
        },
        Action::Polled => "input polled",
        Action::Tick => "input tick",
    }
}

fn reply_kind(reply: Reply) -> &'static str {
    match reply {
        Reply::Done => "reply done",
        Reply::Stale => "reply stale",
        Reply::Verdict(verdict) => verdict_kind(verdict),
        Reply::Answered(Answered::Done) => "answered done",
        Reply::Answered(Answered::Stale) => "answered stale",
    }
}

fn verdict_kind(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Run(_) => "verdict run",
        Verdict::Park(_, Reason::NoUsableKey) => "verdict park, no usable key",
        Verdict::Park(..) => "verdict park, attempts spent",
        Verdict::Skip(Skip::Carried) => "verdict skip, carried",
        Verdict::Skip(Skip::DuplicateFinished) => "verdict skip, finished",
        Verdict::Skip(Skip::DuplicateInFlight) => "verdict skip, in flight",
        Verdict::Hold(hold) => match hold {
            Hold::Owed(_) => "verdict hold, owed",
            Hold::ResumeUnknown => "verdict hold, resume unknown",
            Hold::KeyBusy => "verdict hold, key busy",
            Hold::Window => "verdict hold, window",
            Hold::Budget => "verdict hold, budget",
            Hold::Storm => "verdict hold, storm",
        },
        Verdict::Refuse(refuse) => refuse_kind(refuse),
    }
}

fn refuse_kind(refuse: Refuse) -> &'static str {
    match refuse {
        Refuse::Fenced(Fenced::NotOwned) => "verdict refuse, not owned",
        Refuse::Fenced(Fenced::Draining) => "verdict refuse, draining",
        Refuse::Fenced(Fenced::Sealed) => "verdict refuse, sealed",
        Refuse::Fenced(Fenced::LeaseExpired) => "verdict refuse, lease expired",
        Refuse::Fenced(Fenced::Dead) => "verdict refuse, dead",
        Refuse::OffsetRegression { seen, .. } => match seen {
            Seen::Finished => "verdict refuse, regression finished",
            Seen::InFlight => "verdict refuse, regression in flight",
            Seen::Never => "verdict refuse, regression never seen",
            Seen::BelowResume => "verdict refuse, regression below resume",
        },
        Refuse::OffsetLimit => "verdict refuse, offset limit",
    }
}

fn error_kind(error: InputError) -> &'static str {
    match error {
        InputError::PartitionsFull { .. } => "error partitions full",
        InputError::NegativePartition(_) => "error negative partition",
        InputError::Dead => "error dead",
        InputError::NotActive(_) => "error not active",
        InputError::AboveMark { .. } => "error above mark",
        InputError::ResumeUnknown(_) => "error resume unknown",
        InputError::NoPosition => "error no position",
        InputError::AssignmentsSpent => "error assignments spent",
        _ => "error without a name in the census",
    }
}

fn output_kind(output: &Output) -> &'static str {
    match output {
        Output::Rejoin { back_off: 0 } => "output rejoin",
        Output::Rejoin { .. } => "output rejoin after back-off",
        Output::Sealed(sealed) => match sealed.ended {
            Ended::Drained => "output sealed drained",
            Ended::Deadline => "output sealed deadline",
            Ended::Lost => "output sealed lost",
            Ended::Replaced => "output sealed replaced",
            Ended::Rewound => "output sealed rewound",
        },
        Output::Gap { .. } => "output gap",
        Output::StepBack { .. } => "output step back",
        Output::StormBegan { .. } => "output storm began",
        Output::StormEnded => "output storm ended",
        Output::MetadataIgnored { why, .. } => match why {
            Ignored::Foreign => "output metadata ignored, foreign",
            Ignored::Version => "output metadata ignored, version",
            Ignored::Base => "output metadata ignored, base",
            Ignored::TooLong => "output metadata ignored, too long",
            Ignored::LaterEpoch => "output metadata ignored, later epoch",
        },
        Output::Stalled { .. } => "output stalled",
        Output::PollBudget { .. } => "output poll budget",
        Output::Commit { metadata: 0, .. } => "output commit",
        Output::Commit { .. } => "output commit with metadata",
        Output::Pause(_) => "output pause",
        Output::Resume(_) => "output resume",
        Output::Retry { .. } => "output retry",
        Output::DeadLetter { reason, .. } => match reason {
            Reason::AttemptsSpent => "output dead letter, attempts spent",
            Reason::Permanent => "output dead letter, permanent",
            Reason::NoUsableKey => "output dead letter, no usable key",
        },
    }
}
