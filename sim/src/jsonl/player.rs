//! Plays a trace file on a subject, and compares what it expects.

use std::collections::HashMap;

use rebalance_guard::{
    Assignment, Input, Output, Partition, Reply, Resume, Scope, Tick, Ticket, Verdict,
};
use serde_json::{Value, json};

use super::fields::{Bad, Fields};
use super::line::{Call, Line, When, partition};
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
    file: &'a File,
    topics: Topics,
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
    fn ticket(&self, name: &str) -> Ticket {
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
            Call::Restore(name) => {
                let known = self.snapshots.get(name);
                let bytes = known.ok_or_else(|| format!("no snapshot is called {name:?}"))?;
                if !subject.restore(now, bytes) {
                    return Err(format!("the snapshot {name:?} is refused"));
                }
                return Ok(Said::Nothing);
            }
            _ => Input::Polled,
        };
        Ok(Said::Reply(subject.handle(now, input)))
    }

    /// The first expectation that does not hold.
    fn compare(
        &mut self,
        line: &Line,
        said: &Said,
        shown: &Shown,
        batch: &[Value],
        subject: &mut impl Subject,
    ) -> Result<Option<String>, Bad> {
        if let Some(expected) = &line.expect {
            let found = match (said, expected) {
                (Said::Batch(_), Value::Array(list)) => batch_difference(list, batch)?,
                (_, Value::Object(_)) => object_difference("", expected, shown)?,
                _ => return Err("`expect` must be an object, of a batch a list".into()),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        if let Some(expected) = &line.expect_state {
            let found = self.state(expected, subject)?;
            if let Some(found) = object_difference("state ", expected, &found)? {
                return Ok(Some(found));
            }
        }
        match &line.expect_commit {
            None => Ok(None),
            Some(Value::Array(list)) => {
                for one in list {
                    if let Some(found) = self.commit_difference(one, subject)? {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            }
            Some(one) => self.commit_difference(one, subject),
        }
    }

    /// What the guard shows of the parts that are asked for.
    fn state(&self, asked: &Value, subject: &mut impl Subject) -> Result<Shown, Bad> {
        let mut shown = Shown::new();
        let asked = asked.as_object().ok_or("`expect_state` must be an object")?;
        for (part, expected) in asked {
            let value = match part.as_str() {
                "storm" => json!(words::storm_word(subject.storm())),
                "in_flight" => json!(subject.in_flight()),
                "waiting" => match subject.waiting() {
                    Some(waiting) => json!(words::wait_word(waiting.why)),
                    None => Value::Null,
                },
                "live" => {
                    let names = expected.as_array().ok_or("`live` must be a list of names")?;
                    let live = |name: &&Value| {
                        name.as_str().is_some_and(|name| subject.is_live(self.ticket(name)))
                    };
                    Value::Array(names.iter().filter(live).cloned().collect())
                }
                "owed" => self.owed(subject),
                other => return Err(format!("`expect_state` has no part `{other}`")),
            };
            shown.insert(part.clone(), value);
        }
        Ok(shown)
    }

    /// Every debt, by partition: its number alone for the topic `t`, else `topic/number`.
    fn owed(&self, subject: &mut impl Subject) -> Value {
        let mut owed = Shown::new();
        for partition in &self.file.partitions {
            let debt = subject.progress(*partition).and_then(|progress| progress.owed);
            if let Some(offset) = debt {
                let topic = self.topics.name(partition.topic);
                let name = match topic.as_str() {
                    "t" => partition.index.to_string(),
                    topic => format!("{topic}/{}", partition.index),
                };
                owed.insert(name, json!(offset.value()));
            }
        }
        Value::Object(owed)
    }

    fn commit_difference(
        &mut self,
        expected: &Value,
        subject: &mut impl Subject,
    ) -> Result<Option<String>, Bad> {
        let mut fields = Fields::of(expected.clone(), "`expect_commit`")?;
        let at = partition(&mut fields, &mut self.topics)?;
        if !fields.has("offset") {
            return Err("`expect_commit` needs an `offset`, or null".into());
        }
        let wanted = fields.u64("offset")?;
        fields.raw("offset");
        fields.end("`expect_commit`")?;
        let found =
            subject.progress(at).and_then(|progress| progress.mark).map(|mark| mark.value());
        let name = self.topics.name(at.topic);
        let text =
            |value: Option<u64>| value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        let differs = found != wanted;
        Ok(differs.then(|| {
            format!("commit of {name}/{}: expected {}, is {}", at.index, text(wanted), text(found))
        }))
    }
}

fn batch_difference(expected: &[Value], found: &[Value]) -> Result<Option<String>, Bad> {
    if expected.len() != found.len() {
        let (wanted, is) = (expected.len(), found.len());
        return Ok(Some(format!("expected {wanted} verdicts, there are {is}")));
    }
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        let found = found.as_object().cloned().unwrap_or_default();
        let name = format!("verdict {} ", number + 1);
        if let Some(difference) = object_difference(&name, expected, &found)? {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// The first field of `expected` that `found` has not, or has otherwise.
fn object_difference(name: &str, expected: &Value, found: &Shown) -> Result<Option<String>, Bad> {
    let expected = expected.as_object().ok_or("an expectation must be an object")?;
    for (field, wanted) in expected {
        let is = found.get(field).unwrap_or(&Value::Null);
        if is != wanted {
            return Ok(Some(format!("{name}{field}: expected {wanted}, is {is}")));
        }
    }
    Ok(None)
}
