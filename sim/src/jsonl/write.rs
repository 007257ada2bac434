//! Histories as trace files, written while they happen.

use std::collections::HashMap;
use std::fmt;

use rebalance_guard::{
    CommitAnswer, Config, Input, KeyPolicy, Outcome, Output, Partition, Record, Reply, Resume,
    Scope, Tick, Ticket, Verdict,
};
use serde_json::{Map, Value, json};

use super::words;
use crate::trace::Said;

/// Writes what a guard is told, line by line.
#[derive(Debug, Default)]
pub struct Writer {
    /// Records offered so far; the next one's name.
    records: u64,
    names: HashMap<Ticket, String>,
    /// Tickets that a record was given, by its name.
    given: HashMap<String, u32>,
    /// The records that retries and dead letters speak of.
    places: HashMap<(Partition, u64, u64), String>,
}

impl Writer {
    /// The first line; `topics` are the names of the guard's topic numbers.
    pub fn config(&self, config: &Config, topics: &[String]) -> String {
        let mut line = Map::new();
        let mut put = |name: &str, value: Value| line.insert(name.to_owned(), value);
        put("do", json!("config"));
        macro_rules! settings {
            ($($name:ident),+) => { $(put(stringify!($name), json!(config.$name));)+ };
        }
        settings!(
            partitions,
            window,
            keys,
            budget,
            attempts_max,
            backoff,
            backoff_cap,
            jitter,
            lease,
            commit_interval,
            commit_count,
            commit_timeout,
            commit_backoff,
            metadata_max,
            storm_window,
            storm_rising,
            storm_at,
            storm_calm,
            hold_in_storm,
            stall_after,
            first_assignment,
            key_age,
            journal,
            epoch,
            jitter_seed
        );
        put("hash_key", json!(config.hash_key.0));
        let policy = match config.key_policy {
            KeyPolicy::Required => "required",
            KeyPolicy::Optional => "optional",
        };
        put("key_policy", json!(policy));
        if !topics.is_empty() {
            put("topics", json!(topics));
        }
        Value::Object(line).to_string()
    }

    /// The line of an input; `topic` names the guard's topic numbers.
    pub fn input(&mut self, now: Tick, input: &Input<'_>, topic: impl Fn(u32) -> String) -> Told {
        let mut line = Line::new(now, &topic);
        match *input {
            Input::Assign { generation, partitions } => {
                line.put("do", "assign");
                line.put("generation", generation.unwrap_or(0).max(0));
                let entries = partitions.iter().map(|(name, resume)| {
                    let mut entry = named(*name, &topic);
                    put_resume(&mut entry, resume);
                    Value::Object(entry)
                });
                line.put("partitions", entries.collect::<Vec<_>>());
            }
            Input::Position { partition, assignment, resume } => {
                line.about("position", partition);
                line.put("assignment", assignment.value());
                put_resume(&mut line.fields, &resume);
            }
            Input::Revoke { partitions, deadline } => {
                line.put("do", "revoke");
                line.partitions(partitions);
                line.put("deadline", deadline.value());
            }
            Input::Lost(scope) => line.lost(scope),
            Input::Rewind { partition, offset } => {
                line.about("rewind", partition);
                line.put("offset", offset.value());
            }
            Input::GroupOffset { partition, assignment, offset } => {
                line.about("group_offset", partition);
                line.put("assignment", assignment.value());
                line.put("offset", offset.value());
            }
            Input::EndOfPartition { partition, assignment } => {
                line.about("eof", partition);
                line.put("assignment", assignment.value());
            }
            Input::Admit(record) => {
                line.put("do", "admit");
                self.record(&mut line.fields, &record, &topic);
            }
            Input::Answer { ticket, outcome } => self.answer(&mut line, ticket, outcome),
            Input::CommitAnswered { partition, assignment, offset, answer } => {
                line.about("commit_answer", partition);
                line.put("assignment", assignment.value());
                line.put("offset", offset.value());
                line.put("result", result_word(answer));
            }
            Input::Polled => line.put("do", "polled"),
        }
        Told(line.fields)
    }

    /// The line of time that passes.
    pub fn tick(now: Tick) -> Told {
        let mut line = Line::new(now, &|_| String::new());
        line.put("do", "tick");
        Told(line.fields)
    }

    /// The line that goes on from a snapshot's bytes. Names of tickets are forgotten: a ticket of
    /// before is written as its bytes.
    pub fn restore(&mut self, now: Tick, snapshot: &[u8]) -> Told {
        self.names.clear();
        self.given.clear();
        self.places.clear();
        let mut line = Line::new(now, &|_| String::new());
        line.put("do", "restore");
        line.put("snapshot_hex", digits(snapshot));
        Told(line.fields)
    }

    /// The answer to the input written last, for the names of tickets.
    pub fn said(&mut self, input: &Input<'_>, reply: &Reply) {
        if let (Input::Admit(record), Reply::Verdict(verdict)) = (input, reply) {
            self.verdict(record.partition, record.offset.value(), verdict);
        }
    }

    pub(super) fn verdict(&mut self, partition: Partition, offset: u64, verdict: &Verdict) {
        let name = format!("r{}", self.records);
        if let Verdict::Run(ticket) | Verdict::Park(ticket, _) = verdict {
            self.places.insert((partition, offset, ticket.assignment().value()), name.clone());
            self.given.insert(name.clone(), 1);
            self.names.insert(*ticket, name);
        }
    }

    /// An output that was pulled, for the names of tickets.
    pub fn pulled(&mut self, output: &Output) {
        let (Output::Retry { ticket, partition, offset }
        | Output::DeadLetter { ticket, partition, offset, .. }) = *output
        else {
            return;
        };
        let place = (partition, offset.value(), ticket.assignment().value());
        let Some(name) = self.places.get(&place) else { return };
        let given = self.given.entry(name.clone()).or_insert(1);
        *given += 1;
        self.names.insert(ticket, format!("{name}#{given}"));
    }

    fn record(
        &mut self,
        fields: &mut Map<String, Value>,
        record: &Record<'_>,
        topic: &impl Fn(u32) -> String,
    ) {
        self.records += 1;
        fields.extend(named(record.partition, topic));
        let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        put("offset", json!(record.offset.value()));
        match record.key.map(<[u8]>::to_vec) {
            None => put("key", Value::Null),
            Some(key) => match String::from_utf8(key) {
                Ok(text) => put("key", json!(text)),
                Err(bytes) => put("key_hex", json!(digits(bytes.as_bytes()))),
            },
        };
        if record.attempts > 0 {
            put("attempt", json!(record.attempts));
        }
        if record.namespace > 0 {
            put("namespace", json!(record.namespace));
        }
        if let Some(epoch) = record.leader_epoch {
            put("leader_epoch", json!(epoch));
        }
        put("as", json!(format!("r{}", self.records)));
    }

    fn answer(&self, line: &mut Line<'_>, ticket: Ticket, outcome: Outcome) {
        line.put(
            "do",
            match outcome {
                Outcome::Completed => "complete",
                Outcome::Failed { .. } => "fail",
                Outcome::Abandoned => "abandon",
                Outcome::DeadLettered => "dead_lettered",
            },
        );
        if outcome == (Outcome::Failed { permanent: true }) {
            line.put("permanent", true);
        }
        match self.names.get(&ticket) {
            Some(name) => line.put("ticket", name.as_str()),
            None => line.put("ticket_hex", digits(&ticket.to_bytes())),
        }
    }
}

/// One line, to which what was answered can be added.
#[derive(Clone, Debug)]
pub struct Told(Map<String, Value>);

impl Told {
    /// Lets the line expect this answer and exactly these outputs.
    pub fn expecting(&mut self, said: &Said, outputs: &[Output]) {
        let mut expected = words::said(said);
        let kinds = outputs.iter().map(words::kind);
        expected.insert("outputs".to_owned(), kinds.collect());
        self.0.insert("expect".to_owned(), Value::Object(expected));
    }

    /// Lets the line leave its outputs where they are.
    pub fn unpulled(&mut self) {
        self.0.insert("pull".to_owned(), json!(false));
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(&self.0).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A line that takes shape.
struct Line<'a> {
    fields: Map<String, Value>,
    now: Tick,
    topic: &'a dyn Fn(u32) -> String,
}

impl<'a> Line<'a> {
    fn new(now: Tick, topic: &'a dyn Fn(u32) -> String) -> Self {
        Self { fields: Map::new(), now, topic }
    }

    /// A field; the time stands behind what is to be done.
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.to_owned(), value.into());
        if name == "do" {
            self.fields.insert("now".to_owned(), json!(self.now.value()));
        }
    }

    fn about(&mut self, what: &str, partition: Partition) {
        self.put("do", what);
        self.fields.extend(named(partition, &self.topic));
    }

    fn partitions(&mut self, partitions: &[Partition]) {
        let list = partitions.iter().map(|one| Value::Object(named(*one, &self.topic)));
        let list: Vec<_> = list.collect();
        self.put("partitions", list);
    }

    fn lost(&mut self, scope: Scope<'_>) {
        self.put("do", "lost");
        match scope {
            Scope::Some(partitions) => self.partitions(partitions),
            Scope::All => self.put("all", true),
            Scope::Fatal => {
                self.put("all", true);
                self.put("fatal", true);
            }
        }
    }
}

fn named(partition: Partition, topic: &impl Fn(u32) -> String) -> Map<String, Value> {
    let mut fields = Map::new();
    let topic = topic(partition.topic);
    if topic != "t" {
        fields.insert("topic".to_owned(), json!(topic));
    }
    fields.insert("partition".to_owned(), json!(partition.index));
    fields
}

fn put_resume(fields: &mut Map<String, Value>, resume: &Resume<'_>) {
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    match *resume {
        Resume::Committed { offset, metadata } => {
            put("committed", json!(offset.value()));
            if !metadata.is_empty() {
                put("metadata", json!(String::from_utf8_lossy(metadata)));
            }
        }
        Resume::Empty(offset) => {
            put("none", json!(true));
            if let Some(offset) = offset {
                put("offset", json!(offset.value()));
            }
        }
        Resume::At(offset) => drop(put("offset", json!(offset.value()))),
        Resume::Unknown => {}
    }
}

const fn result_word(answer: CommitAnswer) -> &'static str {
    match answer {
        CommitAnswer::Stored => "stored",
        CommitAnswer::Retry => "retry",
        CommitAnswer::Rejected => "rejected",
        CommitAnswer::NotMine => "not_mine",
        CommitAnswer::Fatal => "fatal",
    }
}
