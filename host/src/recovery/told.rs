//! What an engine was told and what it answered, kept for its successor.

use rebalance_guard::{
    Answered, Assignment, CommitAnswer, Input, InputError, Offset, Outcome, Output, Partition,
    Record, Reply, Resume, Scope, Tick, Ticket, Verdict,
};

use crate::engine::{Engine, EngineDead};

/// One call and its answer.
#[derive(Debug)]
pub(super) enum Told {
    Handled(Tick, OwnedInput, Result<Reply, InputError>),
    Admitted(Tick, OwnedRecord, Verdict),
    Answered(Tick, Ticket, Outcome, Answered),
    Passed(Tick),
    Pulled(Option<Output>),
}

/// A record without its payload, which the guard never sees.
#[derive(Debug)]
pub(super) struct OwnedRecord {
    partition: Partition,
    offset: Offset,
    key: Option<Box<[u8]>>,
    attempts: u16,
    namespace: u32,
    leader_epoch: Option<i32>,
}

impl OwnedRecord {
    fn of(record: &Record<'_>) -> Self {
        let Record { partition, offset, key, attempts, namespace, leader_epoch } = *record;
        Self { partition, offset, key: key.map(Into::into), attempts, namespace, leader_epoch }
    }

    fn record(&self) -> Record<'_> {
        Record {
            partition: self.partition,
            offset: self.offset,
            key: self.key.as_deref(),
            attempts: self.attempts,
            namespace: self.namespace,
            leader_epoch: self.leader_epoch,
        }
    }
}

/// Where reading resumes, its metadata owned: the resume without it, and the string.
type OwnedResume = (Resume<'static>, Box<[u8]>);

fn owned(resume: &Resume<'_>) -> OwnedResume {
    match *resume {
        Resume::Committed { offset, metadata } => (Resume::committed(offset), metadata.into()),
        Resume::Empty(offset) => (Resume::Empty(offset), Box::default()),
        Resume::At(offset) => (Resume::At(offset), Box::default()),
        Resume::Unknown => (Resume::Unknown, Box::default()),
    }
}

fn whole((resume, metadata): &OwnedResume) -> Resume<'_> {
    match *resume {
        Resume::Committed { offset, .. } => Resume::Committed { offset, metadata },
        other => other,
    }
}

/// An input that owns what it speaks of.
#[derive(Debug)]
pub(super) enum OwnedInput {
    Assign(Option<i32>, Vec<(Partition, OwnedResume)>),
    Position(Partition, Assignment, OwnedResume),
    Revoke(Vec<Partition>, Tick),
    LostSome(Vec<Partition>),
    LostAll,
    LostFatal,
    Rewind(Partition, Offset),
    GroupOffset(Partition, Assignment, Offset),
    EndOfPartition(Partition, Assignment),
    Admit(OwnedRecord),
    Answer(Ticket, Outcome),
    CommitAnswered(Partition, Assignment, Offset, CommitAnswer),
    Polled,
}

impl OwnedInput {
    pub(super) fn of(input: &Input<'_>) -> Self {
        match *input {
            Input::Assign { generation, partitions } => {
                let entries = partitions.iter().map(|(name, resume)| (*name, owned(resume)));
                Self::Assign(generation, entries.collect())
            }
            Input::Position { partition, assignment, resume } => {
                Self::Position(partition, assignment, owned(&resume))
            }
            Input::Revoke { partitions, deadline } => Self::Revoke(partitions.to_vec(), deadline),
            Input::Lost(Scope::Some(partitions)) => Self::LostSome(partitions.to_vec()),
            Input::Lost(Scope::All) => Self::LostAll,
            Input::Lost(Scope::Fatal) => Self::LostFatal,
            Input::Rewind { partition, offset } => Self::Rewind(partition, offset),
            Input::GroupOffset { partition, assignment, offset } => {
                Self::GroupOffset(partition, assignment, offset)
            }
            Input::EndOfPartition { partition, assignment } => {
                Self::EndOfPartition(partition, assignment)
            }
            Input::Admit(record) => Self::Admit(OwnedRecord::of(&record)),
            Input::Answer { ticket, outcome } => Self::Answer(ticket, outcome),
            Input::CommitAnswered { partition, assignment, offset, answer } => {
                Self::CommitAnswered(partition, assignment, offset, answer)
            }
            Input::Polled => Self::Polled,
        }
    }

    fn tell(
        &self,
        engine: &mut dyn Engine,
        now: Tick,
    ) -> Result<Result<Reply, InputError>, EngineDead> {
        let input = match self {
            Self::Assign(generation, entries) => {
                let partitions: Vec<_> =
                    entries.iter().map(|(name, resume)| (*name, whole(resume))).collect();
                let generation = *generation;
                return engine.handle(now, Input::Assign { generation, partitions: &partitions });
            }
            Self::Position(partition, assignment, resume) => Input::Position {
                partition: *partition,
                assignment: *assignment,
                resume: whole(resume),
            },
            Self::Revoke(partitions, deadline) => Input::Revoke { partitions, deadline: *deadline },
            Self::LostSome(partitions) => Input::Lost(Scope::Some(partitions)),
            Self::LostAll => Input::Lost(Scope::All),
            Self::LostFatal => Input::Lost(Scope::Fatal),
            Self::Rewind(partition, offset) => {
                Input::Rewind { partition: *partition, offset: *offset }
            }
            Self::GroupOffset(partition, assignment, offset) => Input::GroupOffset {
                partition: *partition,
                assignment: *assignment,
                offset: *offset,
            },
            Self::EndOfPartition(partition, assignment) => {
                Input::EndOfPartition { partition: *partition, assignment: *assignment }
            }
            Self::Admit(record) => Input::Admit(record.record()),
            Self::Answer(ticket, outcome) => Input::Answer { ticket: *ticket, outcome: *outcome },
            Self::CommitAnswered(partition, assignment, offset, answer) => Input::CommitAnswered {
                partition: *partition,
                assignment: *assignment,
                offset: *offset,
                answer: *answer,
            },
            Self::Polled => Input::Polled,
        };
        engine.handle(now, input)
    }
}

impl Told {
    pub(super) fn admitted(now: Tick, record: &Record<'_>, verdict: Verdict) -> Self {
        Self::Admitted(now, OwnedRecord::of(record), verdict)
    }

    /// Bytes that it keeps besides itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Admitted(_, record, _) | Self::Handled(_, OwnedInput::Admit(record), _) => {
                record.key.as_ref().map_or(0, |key| key.len())
            }
            Self::Handled(_, OwnedInput::Assign(_, entries), _) => {
                entries.iter().map(|(_, (_, metadata))| metadata.len() + 32).sum()
            }
            Self::Handled(_, OwnedInput::Position(_, _, (_, metadata)), _) => metadata.len(),
            Self::Handled(
                _,
                OwnedInput::Revoke(partitions, _) | OwnedInput::LostSome(partitions),
                _,
            ) => partitions.len() * 8,
            _ => 0,
        }
    }

    /// Makes the call on another engine; whether it answers the same.
    pub(super) fn again(&self, engine: &mut dyn Engine) -> Result<bool, EngineDead> {
        Ok(match self {
            Self::Handled(now, input, reply) => input.tell(engine, *now)? == *reply,
            Self::Admitted(now, record, verdict) => {
                engine.admit(*now, &record.record())? == *verdict
            }
            Self::Answered(now, ticket, outcome, answered) => {
                engine.answer(*now, *ticket, *outcome)? == *answered
            }
            Self::Passed(now) => {
                engine.handle_timeout(*now)?;
                true
            }
            Self::Pulled(output) => engine.poll_output()? == *output,
        })
    }
}
