//! A history told to a guard, and what it answered.

use core::fmt;

use rebalance_guard::{
    Assignment, CommitAnswer, Config, Input, InputError, Offset, Outcome, Output, Partition,
    Progress, Record, Reply, Resume, Scope, Storm, Tick, Ticket, Verdict, Waiting,
};

mod names;

use crate::Subject;
pub(crate) use names::forged;
pub(crate) use names::name;

/// A seeded history: settings, then one input a step.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Where it came from; 0 when written by hand.
    pub seed: u64,
    /// The settings of the guard.
    pub config: Config,
    /// Every partition that the steps name, for reading progress.
    pub partitions: Vec<Partition>,
    /// The inputs.
    pub steps: Vec<Step>,
}

/// One call and when it was made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Step {
    /// Its tick; may lie before the last one's.
    pub now: Tick,
    /// The call.
    pub action: Action,
}

/// A record that owns its key.
#[derive(Clone, Eq, PartialEq)]
pub struct Offered {
    /// Where it was read.
    pub partition: Partition,
    /// Its place there.
    pub offset: Offset,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Attempts made before.
    pub attempts: u16,
    /// The namespace of its key.
    pub namespace: u32,
    /// The leader epoch, if told.
    pub leader_epoch: Option<i32>,
}

impl Offered {
    /// The record as the guard takes it.
    pub fn record(&self) -> Record<'_> {
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

impl fmt::Debug for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Partition { topic, index } = self.partition;
        write!(f, "{topic}/{index}@{} key ", self.offset)?;
        match &self.key {
            None => f.write_str("none")?,
            Some(key) if key.len() > 16 => {
                write!(f, "\"{}\"… of {} bytes", key[..8].escape_ascii(), key.len())?;
            }
            Some(key) => write!(f, "\"{}\"", key.escape_ascii())?,
        }
        write!(f, " attempts {} namespace {}", self.attempts, self.namespace)?;
        self.leader_epoch.map_or(Ok(()), |epoch| write!(f, " epoch {epoch}"))
    }
}

/// Where reading resumes, with the metadata owned.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "mirrors the core's Resume")]
pub enum Resumed {
    /// [`Resume::Committed`].
    Committed {
        /// The offset.
        offset: Offset,
        /// The string beside it.
        metadata: Vec<u8>,
    },
    /// [`Resume::Empty`].
    Empty(Option<Offset>),
    /// [`Resume::At`].
    At(Offset),
    /// [`Resume::Unknown`].
    Unknown,
}

impl Resumed {
    /// A committed offset without metadata.
    pub const fn committed(offset: Offset) -> Self {
        Self::Committed { offset, metadata: Vec::new() }
    }

    /// As the guard takes it.
    pub fn resume(&self) -> Resume<'_> {
        match self {
            Self::Committed { offset, metadata } => Resume::Committed { offset: *offset, metadata },
            Self::Empty(offset) => Resume::Empty(*offset),
            Self::At(offset) => Resume::At(*offset),
            Self::Unknown => Resume::Unknown,
        }
    }
}

/// What a loss covers.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "mirrors the core's Scope")]
pub enum LostScope {
    /// These.
    Some(Vec<Partition>),
    /// Every partition.
    All,
    /// Every partition, and the client is dead.
    Fatal,
}

/// An input that owns what it speaks of. Tickets are named by their hand-out number (1 for the
/// first ticket that the guard ever gave), so one trace fits every engine.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "mirrors the core's Input")]
pub enum Action {
    /// [`Input::Assign`].
    Assign {
        /// The generation.
        generation: Option<i32>,
        /// What was added.
        partitions: Vec<(Partition, Resumed)>,
    },
    /// [`Input::Position`].
    Position {
        /// Whose.
        partition: Partition,
        /// The assignment it was asked for.
        assignment: Assignment,
        /// Where reading resumes.
        resume: Resumed,
    },
    /// [`Input::Revoke`].
    Revoke {
        /// Which.
        partitions: Vec<Partition>,
        /// When the drain ends.
        deadline: Tick,
    },
    /// [`Input::Lost`].
    Lost(LostScope),
    /// [`Input::Rewind`].
    Rewind {
        /// Which.
        partition: Partition,
        /// The next record.
        offset: Offset,
    },
    /// [`Input::GroupOffset`].
    GroupOffset {
        /// Whose.
        partition: Partition,
        /// The assignment in which it was asked.
        assignment: Assignment,
        /// What was read.
        offset: Offset,
    },
    /// [`Input::EndOfPartition`].
    EndOfPartition {
        /// Which.
        partition: Partition,
        /// The assignment in which it was read.
        assignment: Assignment,
    },
    /// [`Input::Admit`].
    Admit(Offered),
    /// [`rebalance_guard::Guard::admit_batch`].
    AdmitBatch(Vec<Offered>),
    /// [`Input::Answer`].
    Answer {
        /// Hand-out number of the ticket, from 1. One never handed out is a forged ticket.
        ticket: u64,
        /// What became of it.
        outcome: Outcome,
    },
    /// [`Input::CommitAnswered`].
    CommitAnswered {
        /// Whose.
        partition: Partition,
        /// The assignment that offered it.
        assignment: Assignment,
        /// The offset.
        offset: Offset,
        /// What the coordinator said.
        answer: CommitAnswer,
    },
    /// [`Input::Polled`].
    Polled,
    /// [`rebalance_guard::Guard::handle_timeout`].
    Tick,
}

impl Action {
    /// Whether it is a call at all: an empty batch is none, so no time passes with it.
    pub(crate) fn is_call(&self) -> bool {
        !matches!(self, Self::AdmitBatch(records) if records.is_empty())
    }
}

/// What a call returned.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "read by tests")]
pub enum Said {
    /// To anything but a batch or a tick.
    Reply(Result<Reply, InputError>),
    /// To a batch.
    Batch(Vec<Verdict>),
    /// A tick says nothing.
    Nothing,
}

/// Everything that could be seen of one step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// What the call returned.
    pub said: Said,
    /// The outputs pulled after it, until none was left.
    pub outputs: Vec<Output>,
    /// Whether the last few tickets handed out are live, newest first.
    pub live: Vec<bool>,
    /// The string of each commit among the outputs, in order.
    pub metadata: Vec<Vec<u8>>,
    /// Since when nothing is owned, and why.
    pub waiting: Option<Waiting>,
    /// The storm level.
    pub storm: Storm,
    /// Where each partition of the trace stands.
    pub progress: Vec<Option<Progress>>,
}

/// More outputs than this in one step are an endless loop (P12).
pub const OUTPUTS_MAX: usize = 10_000;
/// How many of the newest tickets are asked for their life after each step.
const LIVE_ASKED: usize = 6;

/// Runs single steps on a subject and remembers the tickets it gave.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    /// Every ticket handed out, in order.
    pub tickets: Vec<Ticket>,
}

impl Runner {
    /// One step: the call, then outputs until none is left.
    pub fn step(
        &mut self,
        subject: &mut impl Subject,
        partitions: &[Partition],
        step: &Step,
    ) -> Answer {
        let said = self.call(subject, step);
        self.remember(&said);
        let (mut outputs, mut metadata) = (Vec::new(), Vec::new());
        while let Some(output) = subject.poll_output() {
            if let Output::Retry { ticket, .. } | Output::DeadLetter { ticket, .. } = output {
                self.tickets.push(ticket);
            }
            if let Output::Commit { partition, .. } = output {
                metadata.push(subject.commit_metadata(partition));
            }
            outputs.push(output);
            if outputs.len() >= OUTPUTS_MAX {
                break;
            }
        }
        Answer {
            said,
            outputs,
            metadata,
            waiting: subject.waiting(),
            live: self.tickets.iter().rev().take(LIVE_ASKED).map(|t| subject.is_live(*t)).collect(),
            storm: subject.storm(),
            progress: partitions.iter().map(|p| subject.progress(*p)).collect(),
        }
    }

    fn call(&self, subject: &mut impl Subject, step: &Step) -> Said {
        match &step.action {
            Action::Tick => {
                subject.handle_timeout(step.now);
                Said::Nothing
            }
            Action::AdmitBatch(records) => {
                let records: Vec<_> = records.iter().map(Offered::record).collect();
                Said::Batch(subject.admit_batch(step.now, &records))
            }
            action => Said::Reply(self.with_input(action, |input| subject.handle(step.now, input))),
        }
    }

    pub(crate) fn remember(&mut self, said: &Said) {
        let verdicts = match said {
            Said::Reply(Ok(Reply::Verdict(verdict))) => core::slice::from_ref(verdict),
            Said::Batch(verdicts) => verdicts,
            _ => &[],
        };
        for verdict in verdicts {
            if let Verdict::Run(ticket) | Verdict::Park(ticket, _) = verdict {
                self.tickets.push(*ticket);
            }
        }
    }

    fn ticket(&self, number: u64) -> Ticket {
        let index = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        self.tickets.get(index).copied().unwrap_or_else(forged)
    }

    pub(crate) fn with_input<T>(&self, action: &Action, call: impl FnOnce(Input<'_>) -> T) -> T {
        let starts: Vec<_> = match action {
            Action::Assign { partitions, .. } => {
                partitions.iter().map(|(partition, start)| (*partition, start.resume())).collect()
            }
            _ => Vec::new(),
        };
        call(match action {
            Action::Assign { generation, .. } => {
                Input::Assign { generation: *generation, partitions: &starts }
            }
            Action::Position { partition, assignment, resume } => Input::Position {
                partition: *partition,
                assignment: *assignment,
                resume: resume.resume(),
            },
            Action::Revoke { partitions, deadline } => {
                Input::Revoke { partitions, deadline: *deadline }
            }
            Action::Lost(LostScope::Some(partitions)) => Input::Lost(Scope::Some(partitions)),
            Action::Lost(LostScope::All) => Input::Lost(Scope::All),
            Action::Lost(LostScope::Fatal) => Input::Lost(Scope::Fatal),
            Action::Rewind { partition, offset } => {
                Input::Rewind { partition: *partition, offset: *offset }
            }
            Action::GroupOffset { partition, assignment, offset } => Input::GroupOffset {
                partition: *partition,
                assignment: *assignment,
                offset: *offset,
            },
            Action::EndOfPartition { partition, assignment } => {
                Input::EndOfPartition { partition: *partition, assignment: *assignment }
            }
            Action::Admit(record) => Input::Admit(record.record()),
            Action::Answer { ticket, outcome } => {
                Input::Answer { ticket: self.ticket(*ticket), outcome: *outcome }
            }
            Action::CommitAnswered { partition, assignment, offset, answer } => {
                Input::CommitAnswered {
                    partition: *partition,
                    assignment: *assignment,
                    offset: *offset,
                    answer: *answer,
                }
            }
            Action::Polled | Action::Tick | Action::AdmitBatch(_) => Input::Polled,
        })
    }
}

/// Runs a whole trace; one answer a step.
pub fn run(trace: &Trace, subject: &mut impl Subject) -> Vec<Answer> {
    let mut runner = Runner::default();
    trace.steps.iter().map(|step| runner.step(subject, &trace.partitions, step)).collect()
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        writeln!(f, "{:?}", self.config)?;
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "{number:>3}  t={} {:?}", step.now.value(), step.action)?;
        }
        Ok(())
    }
}
