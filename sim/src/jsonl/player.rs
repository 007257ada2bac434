//! Plays a trace file on a subject, and compares what it expects.

use std::collections::HashMap;

use rebalance_guard::{
    Assignment, Input, Output, Partition, Reply, Resume, Scope, Tick, Ticket, Verdict,
};
use serde_json::{Value, json};

use super::fields::Bad;
use super::line::{Call, Line, Named, When};
use super::words::{self, Shown};
use super::{File, Topics};
use crate::Subject;
use crate::trace::{LostScope, OUTPUTS_MAX, Offered, Said, forged};

/// What one line was answered.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "read by the command line and by tests")]
pub struct Played {
    /// Number of the line in the file, from 1.
    pub line: usize,
    /// The answer as one JSON object, in the words of the format.
    pub shown: String,
    /// What differs from the line's expectations, with both values.
    pub difference: Option<String>,
}

/// A file on its way through a subject.
#[derive(Debug)]
pub struct Player<'a> {
    pub(super) file: &'a File,
    pub(super) topics: Topics,
    next: usize,
    now: u64,
    /// Tickets by name, the latest of a record last.
    tickets: HashMap<String, Vec<Ticket>>,
    /// Names by the record that they were given to.
    names: HashMap<(Partition, u64, u64), String>,
    snapshots: HashMap<String, Vec<u8>>,
}

impl<'a> Player<'a> {
    /// At the beginning of `file`.
    pub fn new(file: &'a File) -> Self {
        Self {
            file,
            topics: file.topics.clone(),
            next: 0,
            now: 0,
            tickets: HashMap::new(),
            names: HashMap::new(),
            snapshots: HashMap::new(),
        }
    }

    /// Plays the next line; `None` after the last.
    ///
    /// # Errors
    /// The line cannot be played on this subject, or expects something that cannot be compared.
    pub fn step(&mut self, subject: &mut impl Subject) -> Option<Result<Played, String>> {
        let (number, line) = self.file.lines.get(self.next)?;
        self.next += 1;
        let played = self.play(*number, line, subject);
        Some(played.map_err(|bad| format!("line {number}: {bad}")))
    }

    fn play(
        &mut self,
        number: usize,
        line: &Line,
        subject: &mut impl Subject,
    ) -> Result<Played, Bad> {
        self.now = match line.when {
            When::At(now) => now,
            When::After(span) => self.now.saturating_add(span),
        };
        let now = Tick::new(self.now).ok_or_else(|| format!("{} is above 2^62", self.now))?;
        let said = self.call(now, &line.call, subject)?;
        let mut shown = words::said(&said);
        let mut batch = Vec::new();
        if let Said::Batch(verdicts) = &said {
            batch = verdicts.iter().map(|v| Value::Object(words::verdict(v))).collect();
            shown.insert("verdicts".to_owned(), Value::Array(batch.clone()));
        }
        let (kinds, details) = if line.pull { self.pull(subject) } else { Default::default() };
        shown.insert("outputs".to_owned(), Value::Array(kinds));
        let difference = self.compare(line, &said, &shown, &batch, subject)?;
        let mut whole = Shown::new();
        whole.insert("line".to_owned(), json!(number));
        whole.insert("now".to_owned(), json!(self.now));
        whole.extend(shown);
        if !details.is_empty() {
            whole.insert("details".to_owned(), Value::Array(details));
        }
        Ok(Played { line: number, shown: Value::Object(whole).to_string(), difference })
    }

    fn pull(&mut self, subject: &mut impl Subject) -> (Vec<Value>, Vec<Value>) {
        let (mut kinds, mut details) = (Vec::new(), Vec::new());
        while let Some(output) = subject.poll_output() {
            let text = match output {
                Output::Commit { partition, .. } => Some(subject.commit_metadata(partition)),
                _ => None,
            };
            let name = self.handed(&output);
            kinds.push(json!(words::kind(&output)));
            details.push(words::output(&output, &self.topics, text.as_deref(), name.as_deref()));
            if kinds.len() >= OUTPUTS_MAX {
                break;
            }
        }
        (kinds, details)
    }

    /// Keeps the ticket of a retry or dead letter under its record's name; that name.
    fn handed(&mut self, output: &Output) -> Option<String> {
        let (Output::Retry { ticket, partition, offset }
        | Output::DeadLetter { ticket, partition, offset, .. }) = *output
        else {
            return None;
        };
        let record = (partition, offset.value(), ticket.assignment().value());
        let name = self.names.get(&record)?.clone();
        let all = self.tickets.entry(name.clone()).or_default();
        all.push(ticket);
        Some(format!("{name}#{}", all.len()))
    }

    fn admitted(&mut self, record: &Offered, name: Option<&String>, verdict: &Verdict) {
        if let (Some(name), Verdict::Run(ticket) | Verdict::Park(ticket, _)) = (name, verdict) {
            let place = (record.partition, record.offset.value(), ticket.assignment().value());
            self.names.insert(place, name.clone());
            self.tickets.insert(name.clone(), vec![*ticket]);
        }
    }

    /// The ticket called so; one that was never given is a forged one.
    pub(super) fn ticket(&self, named: &Named<Ticket>) -> Ticket {
        let name = match named {
            Named::Bytes(ticket) => return *ticket,
            Named::Name(name) => name.as_str(),
        };
        let (base, nth) = match name.rsplit_once('#') {
            Some((base, nth)) if self.tickets.contains_key(base) => {
                (base, nth.parse().unwrap_or(usize::MAX))
            }
            _ => (name, 1),
        };
        let all = self.tickets.get(base);
        let index = nth.checked_sub(1);
        index.and_then(|index| all?.get(index).copied()).unwrap_or_else(forged)
    }

    /// The assignment that a line means: its own, or the current one.
    fn assignment(
        &self,
        given: Option<u64>,
        partition: Partition,
        subject: &mut impl Subject,
    ) -> Result<Assignment, Bad> {
        if let Some(number) = given {
            return Assignment::new(number).ok_or_else(|| "assignments begin at 1".into());
        }
        let current = subject.progress(partition).map(|progress| progress.assignment);
        // Nothing is owned: whatever number it names is over.
        Ok(current.unwrap_or_else(|| forged().assignment()))
    }

    fn call(&mut self, now: Tick, call: &Call, subject: &mut impl Subject) -> Result<Said, Bad> {
        let mut tell = |input: Input<'_>| Ok(Said::Reply(subject.handle(now, input)));
        match call {
            Call::Assign { generation, partitions } => {
                let partitions: Vec<(Partition, Resume<'_>)> =
                    partitions.iter().map(|(name, start)| (*name, start.resume())).collect();
                tell(Input::Assign { generation: *generation, partitions: &partitions })
            }
            Call::Revoke { partitions, drain, deadline } => {
                let after = drain.map(|span| now.after(span));
                let deadline = after.or_else(|| deadline.and_then(Tick::new)).unwrap_or(Tick::MAX);
                tell(Input::Revoke { partitions, deadline })
            }
            Call::Lost(LostScope::Some(partitions)) => tell(Input::Lost(Scope::Some(partitions))),
            Call::Lost(LostScope::All) => tell(Input::Lost(Scope::All)),
            Call::Lost(LostScope::Fatal) => tell(Input::Lost(Scope::Fatal)),
            Call::Rewind { partition, offset } => {
                tell(Input::Rewind { partition: *partition, offset: *offset })
            }
            Call::Answer { ticket, outcome } => {
                tell(Input::Answer { ticket: self.ticket(ticket), outcome: *outcome })
            }
            Call::Polled => tell(Input::Polled),
            Call::Tick => {
                subject.handle_timeout(now);
                Ok(Said::Nothing)
            }
            Call::Admit { record, name } => {
                let reply = subject.handle(now, Input::Admit(record.record()));
                if let Ok(Reply::Verdict(verdict)) = &reply {
                    self.admitted(record, name.as_ref(), verdict);
                }
                Ok(Said::Reply(reply))
            }
            Call::AdmitBatch { records } => {
                let offered: Vec<_> = records.iter().map(|(record, _)| record.record()).collect();
                let verdicts = subject.admit_batch(now, &offered);
                for ((record, name), verdict) in records.iter().zip(&verdicts) {
                    self.admitted(record, name.as_ref(), verdict);
                }
                Ok(Said::Batch(verdicts))
            }
            _ => self.call_about(now, call, subject),
        }
    }

    /// Calls that name an assignment or a snapshot.
    fn call_about(
        &mut self,
        now: Tick,
        call: &Call,
        subject: &mut impl Subject,
    ) -> Result<Said, Bad> {
        let input = match call {
            Call::Position { partition, assignment, resume } => Input::Position {
                partition: *partition,
                assignment: self.assignment(*assignment, *partition, subject)?,
                resume: resume.resume(),
            },
            Call::Eof { partition, assignment } => Input::EndOfPartition {
                partition: *partition,
                assignment: self.assignment(*assignment, *partition, subject)?,
            },
            Call::GroupOffset { partition, assignment, offset } => Input::GroupOffset {
                partition: *partition,
                assignment: self.assignment(*assignment, *partition, subject)?,
                offset: *offset,
            },
            Call::CommitAnswer { partition, assignment, offset, answer } => Input::CommitAnswered {
                partition: *partition,
                assignment: self.assignment(*assignment, *partition, subject)?,
                offset: *offset,
                answer: *answer,
            },
            Call::Snapshot(name) => {
                subject.handle_timeout(now);
                let taken = subject.snapshot().ok_or("this engine takes no snapshot")?;
                self.snapshots.insert(name.clone(), taken);
                return Ok(Said::Nothing);
            }
            Call::Restore(named) => return self.restore(now, named, subject),
            _ => Input::Polled,
        };
        Ok(Said::Reply(subject.handle(now, input)))
    }

    fn restore(
        &self,
        now: Tick,
        named: &Named<Vec<u8>>,
        subject: &mut impl Subject,
    ) -> Result<Said, Bad> {
        match named {
            Named::Name(name) => {
                let known = self.snapshots.get(name);
                let bytes = known.ok_or_else(|| format!("no snapshot is called {name:?}"))?;
                if !subject.restore(now, bytes) {
                    return Err(format!("the snapshot {name:?} is refused"));
                }
            }
            Named::Bytes(bytes) => {
                if !subject.restore(now, bytes) {
                    return Err(
                        "the snapshot's bytes are refused: the settings of the first line \
                                are others, or this engine cannot read them (the reference model \
                                goes on from its own snapshots alone)"
                            .into(),
                    );
                }
            }
        }
        Ok(Said::Nothing)
    }
}
