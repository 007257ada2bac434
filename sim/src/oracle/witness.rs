//! Any subject's history, written down as a trace while it is told, so that the oracle can judge
//! it: a scenario's, a file's, a gateway's recording.

use rebalance_guard::{
    Config, Input, InputError, Output, Partition, Progress, Record, Reply, Resume, Scope, Storm,
    Tick, Ticket, Verdict, Waiting,
};

use crate::Subject;
use crate::trace::{Action, LostScope, Offered, Resumed, Runner, Said, Step, Trace};

/// A subject that is told everything as it is, and the trace of what it was told.
///
/// A trace pulls every output after every step. A host that leaves some for later tells another
/// history than its trace, a sound one all the same: the trace is judged by itself, on a guard of
/// its own.
#[derive(Clone, Debug)]
pub struct Witness<S> {
    subject: S,
    trace: Trace,
    /// Every ticket seen, in order.
    tickets: Runner,
    snapshots: Vec<Kept>,
    whole: bool,
}

/// A snapshot that was taken, and how far the history was.
#[derive(Clone, Debug)]
struct Kept {
    bytes: Vec<u8>,
    steps: usize,
    tickets: usize,
}

impl<S> Witness<S> {
    /// Beside `subject`, a guard of `config` that was told nothing yet.
    pub fn new(config: Config, subject: S) -> Self {
        let trace = Trace { seed: 0, config, partitions: Vec::new(), steps: Vec::new() };
        Self { subject, trace, tickets: Runner::default(), snapshots: Vec::new(), whole: true }
    }

    /// What it was told; `None` once it went on from a snapshot that nobody saw taken, for what
    /// came before that is not known.
    pub fn trace(&self) -> Option<&Trace> {
        self.whole.then_some(&self.trace)
    }

    /// The subject.
    pub const fn subject(&self) -> &S {
        &self.subject
    }

    /// The subject, for calls that change nothing.
    pub const fn subject_mut(&mut self) -> &mut S {
        &mut self.subject
    }

    fn step(&mut self, now: Tick, action: Action) {
        for partition in partitions(&action) {
            if !self.trace.partitions.contains(&partition) {
                self.trace.partitions.push(partition);
            }
        }
        self.trace.steps.push(Step { now, action });
    }

    /// The ticket's hand-out number; 0, which none has, for one that was not handed out here.
    fn number(&self, ticket: Ticket) -> u64 {
        let index = self.tickets.tickets.iter().rposition(|known| *known == ticket);
        index.map_or(0, |index| index as u64 + 1)
    }

    fn action(&self, input: &Input<'_>) -> Action {
        match *input {
            Input::Assign { generation, partitions } => {
                let partitions = partitions.iter();
                let partitions = partitions.map(|(p, resume)| (*p, resumed(*resume))).collect();
                Action::Assign { generation, partitions }
            }
            Input::Position { partition, assignment, resume } => {
                Action::Position { partition, assignment, resume: resumed(resume) }
            }
            Input::Revoke { partitions, deadline } => {
                Action::Revoke { partitions: partitions.to_vec(), deadline }
            }
            Input::Lost(Scope::Some(partitions)) => {
                Action::Lost(LostScope::Some(partitions.to_vec()))
            }
            Input::Lost(Scope::All) => Action::Lost(LostScope::All),
            Input::Lost(Scope::Fatal) => Action::Lost(LostScope::Fatal),
            Input::Rewind { partition, offset } => Action::Rewind { partition, offset },
            Input::GroupOffset { partition, assignment, offset } => {
                Action::GroupOffset { partition, assignment, offset }
            }
            Input::EndOfPartition { partition, assignment } => {
                Action::EndOfPartition { partition, assignment }
            }
            Input::Admit(record) => Action::Admit(offered(&record)),
            Input::Answer { ticket, outcome } => {
                Action::Answer { ticket: self.number(ticket), outcome }
            }
            Input::CommitAnswered { partition, assignment, offset, answer } => {
                Action::CommitAnswered { partition, assignment, offset, answer }
            }
            Input::Polled => Action::Polled,
        }
    }
}

/// Everything that the input names.
fn partitions(action: &Action) -> Vec<Partition> {
    match action {
        Action::Assign { partitions, .. } => partitions.iter().map(|(p, _)| *p).collect(),
        Action::Revoke { partitions, .. } | Action::Lost(LostScope::Some(partitions)) => {
            partitions.clone()
        }
        Action::Position { partition, .. }
        | Action::Rewind { partition, .. }
        | Action::GroupOffset { partition, .. }
        | Action::EndOfPartition { partition, .. }
        | Action::CommitAnswered { partition, .. } => vec![*partition],
        Action::Admit(record) => vec![record.partition],
        Action::AdmitBatch(records) => records.iter().map(|record| record.partition).collect(),
        Action::Lost(_) | Action::Answer { .. } | Action::Polled | Action::Tick => Vec::new(),
    }
}

fn resumed(resume: Resume<'_>) -> Resumed {
    match resume {
        Resume::Committed { offset, metadata } => {
            Resumed::Committed { offset, metadata: metadata.to_vec() }
        }
        Resume::Empty(offset) => Resumed::Empty(offset),
        Resume::At(offset) => Resumed::At(offset),
        Resume::Unknown => Resumed::Unknown,
    }
}

fn offered(record: &Record<'_>) -> Offered {
    Offered {
        partition: record.partition,
        offset: record.offset,
        key: record.key.map(<[u8]>::to_vec),
        attempts: record.attempts,
        namespace: record.namespace,
        leader_epoch: record.leader_epoch,
    }
}

impl<S: Subject> Subject for Witness<S> {
    fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        let action = self.action(&input);
        let reply = self.subject.handle(now, input);
        self.step(now, action);
        self.tickets.remember(&Said::Reply(reply));
        reply
    }

    fn admit_batch(&mut self, now: Tick, records: &[Record<'_>]) -> Vec<Verdict> {
        let verdicts = self.subject.admit_batch(now, records);
        self.step(now, Action::AdmitBatch(records.iter().map(offered).collect()));
        self.tickets.remember(&Said::Batch(verdicts.clone()));
        verdicts
    }

    fn handle_timeout(&mut self, now: Tick) {
        self.subject.handle_timeout(now);
        self.step(now, Action::Tick);
    }

    fn poll_output(&mut self) -> Option<Output> {
        let output = self.subject.poll_output()?;
        if let Output::Retry { ticket, .. } | Output::DeadLetter { ticket, .. } = output {
            self.tickets.tickets.push(ticket);
        }
        Some(output)
    }

    fn poll_timeout(&mut self) -> Option<Tick> {
        self.subject.poll_timeout()
    }

    fn is_live(&mut self, ticket: Ticket) -> bool {
        self.subject.is_live(ticket)
    }

    fn progress(&mut self, partition: Partition) -> Option<Progress> {
        self.subject.progress(partition)
    }

    fn commit_metadata(&mut self, partition: Partition) -> Vec<u8> {
        self.subject.commit_metadata(partition)
    }

    fn waiting(&mut self) -> Option<Waiting> {
        self.subject.waiting()
    }

    fn in_flight(&mut self) -> u32 {
        self.subject.in_flight()
    }

    fn snapshot(&mut self) -> Option<Vec<u8>> {
        let bytes = self.subject.snapshot()?;
        let (steps, tickets) = (self.trace.steps.len(), self.tickets.tickets.len());
        self.snapshots.push(Kept { bytes: bytes.clone(), steps, tickets });
        Some(bytes)
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool {
        let restored = self.subject.restore(now, snapshot);
        if restored {
            // It is what it was then, and goes on from there.
            match self.snapshots.iter().rfind(|kept| kept.bytes == snapshot) {
                Some(kept) => {
                    self.trace.steps.truncate(kept.steps);
                    self.tickets.tickets.truncate(kept.tickets);
                    self.step(now, Action::Tick);
                }
                None => self.whole = false,
            }
        }
        restored
    }

    fn storm(&mut self) -> Storm {
        self.subject.storm()
    }
}
