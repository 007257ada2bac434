//! Histories as trace files: a recorder for hosts, and traces of the simulator.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use rebalance_guard::{
    CommitAnswer, Config, Input, KeyPolicy, Outcome, Output, Partition, Record, Reply, Resume,
    Scope, Tick, Ticket, Verdict,
};
use serde_json::{Map, Value, json};

use crate::model::Model;
use crate::trace::{Action, Runner, Said, Step, Trace};

/// Writes what a guard is told, line by line.
#[derive(Debug)]
pub struct Writer {
    /// `None`: keys as they are.
    hashing: Option<[RandomState; 2]>,
    /// Records offered so far; the next one's name.
    records: u64,
    names: HashMap<Ticket, String>,
    /// Tickets that a record was given, by its name.
    given: HashMap<String, u32>,
    /// The records that retries and dead letters speak of.
    places: HashMap<(Partition, u64, u64), String>,
}

impl Writer {
    /// A writer; with `plain_keys` keys are written as they are, else as hashes that are equal when
    /// the keys are, and mean nothing outside of this file.
    pub fn new(plain_keys: bool) -> Self {
        let hashing = (!plain_keys).then(|| [RandomState::new(), RandomState::new()]);
        Self {
            hashing,
            records: 0,
            names: HashMap::new(),
            given: HashMap::new(),
            places: HashMap::new(),
        }
    }

    /// The first line.
    pub fn config(&self, config: &Config) -> String {
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
            key_age
        );
        let policy = match config.key_policy {
            KeyPolicy::Required => "required",
            KeyPolicy::Optional => "optional",
        };
        put("key_policy", json!(policy));
        Value::Object(line).to_string()
    }

    /// The line of an input; `topic` names the guard's topic numbers.
    pub fn input(&mut self, now: Tick, input: &Input<'_>, topic: impl Fn(u32) -> String) -> String {
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
        Value::Object(line.fields).to_string()
    }

    /// The line of time that passes.
    pub fn tick(now: Tick) -> String {
        json!({"do": "tick", "now": now.value()}).to_string()
    }

    /// The answer to the input written last, for the names of tickets.
    pub fn said(&mut self, input: &Input<'_>, reply: &Reply) {
        if let (Input::Admit(record), Reply::Verdict(verdict)) = (input, reply) {
            let name = format!("r{}", self.records);
            self.verdict(record.partition, record.offset.value(), name, verdict);
        }
    }

    fn verdict(&mut self, partition: Partition, offset: u64, name: String, verdict: &Verdict) {
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
        match record.key.map(|key| self.hashed(key)) {
            None => put("key", Value::Null),
            Some(key) => match String::from_utf8(key) {
                Ok(text) => put("key", json!(text)),
                Err(bytes) => {
                    let digits = bytes.as_bytes().iter().map(|byte| format!("{byte:02x}"));
                    put("key_hex", json!(digits.collect::<String>()))
                }
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

    /// A blank or oversized key stays one: it cannot be used, and says nothing.
    fn hashed(&self, key: &[u8]) -> Vec<u8> {
        let usable = key.len() <= Record::KEY_BYTES_MAX && !key.trim_ascii().is_empty();
        match &self.hashing {
            Some([one, other]) if usable => {
                format!("{:016x}{:016x}", one.hash_one(key), other.hash_one(key)).into_bytes()
            }
            Some(_) => Vec::new(),
            None => key.to_vec(),
        }
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
        let name = self.names.get(&ticket).cloned();
        line.put("ticket", name.unwrap_or_else(|| format!("unknown {ticket}")));
    }
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

/// A trace of the simulator as a file, names of tickets as the reference model gives them.
/// Batches are written record by record.
pub fn lines(trace: &Trace) -> String {
    let mut writer = Writer::new(true);
    let mut text = writer.config(&trace.config) + "\n";
    let (mut model, mut runner) = (Model::new(trace.config), Runner::default());
    let topic = |number: u32| if number == 0 { "t".to_owned() } else { format!("t{number}") };
    for step in single_steps(trace) {
        let answer = match &step.action {
            Action::Tick => {
                text += &(Writer::tick(step.now) + "\n");
                runner.step(&mut model, &[], &step)
            }
            action => {
                let line = runner.with_input(action, |input| {
                    (writer.input(step.now, &input, topic), input.about_record())
                });
                text += &(line.0 + "\n");
                let answer = runner.step(&mut model, &[], &step);
                if let (Some((partition, offset)), Said::Reply(Ok(Reply::Verdict(verdict)))) =
                    (line.1, &answer.said)
                {
                    let name = format!("r{}", writer.records);
                    writer.verdict(partition, offset, name, verdict);
                }
                answer
            }
        };
        answer.outputs.iter().for_each(|output| writer.pulled(output));
    }
    text
}

trait AboutRecord {
    fn about_record(&self) -> Option<(Partition, u64)>;
}

impl AboutRecord for Input<'_> {
    fn about_record(&self) -> Option<(Partition, u64)> {
        match self {
            Input::Admit(record) => Some((record.partition, record.offset.value())),
            _ => None,
        }
    }
}

fn single_steps(trace: &Trace) -> Vec<Step> {
    let mut steps = Vec::new();
    for step in &trace.steps {
        match &step.action {
            Action::AdmitBatch(records) => {
                let one = |record: &crate::trace::Offered| Step {
                    now: step.now,
                    action: Action::Admit(record.clone()),
                };
                steps.extend(records.iter().map(one));
            }
            _ => steps.push(step.clone()),
        }
    }
    steps
}
