//! One line of a trace file as a call.

use rebalance_guard::{
    CommitAnswer, Config, HashKey, KeyPolicy, Offset, Outcome, Partition, Ticket,
};
use serde_json::Value;

use super::Topics;
use super::fields::{Bad, Fields, missing};
use crate::trace::{LostScope, Offered, Resumed};

/// What a line tells the guard.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Assign {
        generation: Option<i32>,
        partitions: Vec<(Partition, Resumed)>,
    },
    Position {
        partition: Partition,
        assignment: Option<u64>,
        resume: Resumed,
    },
    Revoke {
        partitions: Vec<Partition>,
        drain: Option<u64>,
        deadline: Option<u64>,
    },
    Lost(LostScope),
    Eof {
        partition: Partition,
        assignment: Option<u64>,
    },
    Rewind {
        partition: Partition,
        offset: Offset,
    },
    GroupOffset {
        partition: Partition,
        assignment: Option<u64>,
        offset: Offset,
    },
    Admit {
        record: Offered,
        name: Option<String>,
    },
    AdmitBatch {
        records: Vec<(Offered, Option<String>)>,
    },
    Answer {
        ticket: Named<Ticket>,
        outcome: Outcome,
    },
    CommitAnswer {
        partition: Partition,
        assignment: Option<u64>,
        offset: Offset,
        answer: CommitAnswer,
    },
    Polled,
    Tick,
    Snapshot(String),
    Restore(Named<Vec<u8>>),
}

/// A thing by the name that an earlier line gave it, or its bytes.
#[derive(Clone, Debug)]
pub(super) enum Named<T> {
    Name(String),
    Bytes(T),
}

/// When a line happens.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    At(u64),
    After(u64),
}

/// One line after the first.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) when: When,
    pub(super) pull: bool,
    pub(super) call: Call,
    pub(super) expect: Option<Value>,
    pub(super) expect_state: Option<Value>,
    pub(super) expect_commit: Option<Value>,
}

/// Reads a line after the first.
pub(super) fn line(value: Value, topics: &mut Topics) -> Result<Line, Bad> {
    let mut fields = Fields::of(value, "a line")?;
    let what = fields.need_text("do")?;
    let when = match (fields.u64("now")?, fields.u64("plus")?) {
        (Some(_), Some(_)) => return Err("`now` and `plus` are two times: keep one".into()),
        (Some(now), None) => When::At(now),
        (None, plus) => When::After(plus.unwrap_or(0)),
    };
    let pull = fields.flag("pull")?.unwrap_or(true);
    let expect = fields.any("expect");
    let expect_state = fields.any("expect_state");
    let expect_commit = fields.any("expect_commit");
    let call = call(&what, &mut fields, topics)?;
    fields.end(&format!("`{what}`"))?;
    Ok(Line { when, pull, call, expect, expect_state, expect_commit })
}

fn call(what: &str, fields: &mut Fields, topics: &mut Topics) -> Result<Call, Bad> {
    Ok(match what {
        "assign" => assign(fields, topics)?,
        "position" => Call::Position {
            partition: partition(fields, topics)?,
            assignment: fields.u64("assignment")?,
            resume: resume(fields)?,
        },
        "revoke" => revoke(fields, topics)?,
        "lost" => lost(fields, topics)?,
        "eof" => Call::Eof {
            partition: partition(fields, topics)?,
            assignment: fields.u64("assignment")?,
        },
        "rewind" => Call::Rewind { partition: partition(fields, topics)?, offset: offset(fields)? },
        "group_offset" => Call::GroupOffset {
            partition: partition(fields, topics)?,
            assignment: fields.u64("assignment")?,
            offset: offset(fields)?,
        },
        "admit" => {
            let (record, name) = record(fields, topics)?;
            Call::Admit { record, name }
        }
        "admit_batch" => admit_batch(fields, topics)?,
        "complete" => answer(fields, Outcome::Completed)?,
        "fail" => {
            let permanent = fields.flag("permanent")?.unwrap_or(false);
            answer(fields, Outcome::Failed { permanent })?
        }
        "abandon" => answer(fields, Outcome::Abandoned)?,
        "dead_lettered" => answer(fields, Outcome::DeadLettered)?,
        "commit_answer" => Call::CommitAnswer {
            partition: partition(fields, topics)?,
            assignment: fields.u64("assignment")?,
            offset: offset(fields)?,
            answer: commit_answer(&fields.need_text("result")?)?,
        },
        "polled" => Call::Polled,
        "tick" => Call::Tick,
        "snapshot" => Call::Snapshot(fields.need_text("as")?),
        "restore" => restore(fields)?,
        "config" => return Err("`config` is the first line or none".into()),
        other => return Err(format!("there is nothing to do called `{other}`")),
    })
}

fn assign(fields: &mut Fields, topics: &mut Topics) -> Result<Call, Bad> {
    let generation = fields.i32("generation")?.filter(|generation| *generation != 0);
    let mut partitions = Vec::new();
    for value in fields.list("partitions")? {
        let mut entry = Fields::of(value, "an entry of `partitions`")?;
        let named = partition(&mut entry, topics)?;
        partitions.push((named, resume(&mut entry)?));
        entry.end("an entry of `partitions`")?;
    }
    Ok(Call::Assign { generation, partitions })
}

fn resume(fields: &mut Fields) -> Result<Resumed, Bad> {
    let offset = |number: u64| Offset::new(number).map_err(|error| error.to_string());
    let committed = fields.u64("committed")?;
    let none = fields.flag("none")?.unwrap_or(false);
    let at = fields.u64("offset")?;
    let metadata = fields.text("metadata")?.unwrap_or_default();
    match (committed, none, at) {
        (Some(committed), false, None) => {
            Ok(Resumed::Committed { offset: offset(committed)?, metadata: metadata.into() })
        }
        _ if !metadata.is_empty() => Err("`metadata` stands beside `committed` alone".into()),
        (None, true, at) => Ok(Resumed::Empty(at.map(offset).transpose()?)),
        (None, false, Some(at)) => Ok(Resumed::At(offset(at)?)),
        (None, false, None) => Ok(Resumed::Unknown),
        _ => {
            Err("`committed`, `none` and `offset` exclude each other (`none` may have an `offset`)"
                .into())
        }
    }
}

fn revoke(fields: &mut Fields, topics: &mut Topics) -> Result<Call, Bad> {
    let partitions = partitions(fields, topics)?;
    let (drain, deadline) = (fields.u64("drain")?, fields.u64("deadline")?);
    if drain.is_some() == deadline.is_some() {
        return Err("a revoke has a `drain` or a `deadline`".into());
    }
    Ok(Call::Revoke { partitions, drain, deadline })
}

fn lost(fields: &mut Fields, topics: &mut Topics) -> Result<Call, Bad> {
    let all = fields.flag("all")?.unwrap_or(false);
    let fatal = fields.flag("fatal")?.unwrap_or(false);
    Ok(Call::Lost(match (all, fatal) {
        (_, true) => LostScope::Fatal,
        (true, false) => LostScope::All,
        (false, false) => LostScope::Some(partitions(fields, topics)?),
    }))
}

fn admit_batch(fields: &mut Fields, topics: &mut Topics) -> Result<Call, Bad> {
    let mut records = Vec::new();
    for value in fields.list("records")? {
        let mut entry = Fields::of(value, "an entry of `records`")?;
        records.push(record(&mut entry, topics)?);
        entry.end("an entry of `records`")?;
    }
    Ok(Call::AdmitBatch { records })
}

fn record(fields: &mut Fields, topics: &mut Topics) -> Result<(Offered, Option<String>), Bad> {
    let key = match (fields.text("key")?, fields.text("key_hex")?) {
        (Some(_), Some(_)) => return Err("`key` and `key_hex` are two keys: keep one".into()),
        (Some(text), None) => Some(text.into_bytes()),
        (None, Some(digits)) => Some(bytes("key_hex", &digits)?),
        (None, None) => None,
    };
    fields.raw("key");
    let record = Offered {
        partition: partition(fields, topics)?,
        offset: offset(fields)?,
        key,
        attempts: fields.small("attempt")?.unwrap_or(0),
        namespace: fields.small("namespace")?.unwrap_or(0),
        leader_epoch: fields.i32("leader_epoch")?,
    };
    Ok((record, fields.text("as")?))
}

fn answer(fields: &mut Fields, outcome: Outcome) -> Result<Call, Bad> {
    let ticket = match fields.text("ticket_hex")? {
        None => Named::Name(fields.need_text("ticket")?),
        Some(digits) => {
            let ticket = bytes("ticket_hex", &digits)?.try_into().ok();
            let ticket = ticket.and_then(|bytes| Ticket::from_bytes(&bytes));
            Named::Bytes(ticket.ok_or("`ticket_hex` is no ticket: it has 24 bytes")?)
        }
    };
    Ok(Call::Answer { ticket, outcome })
}

fn restore(fields: &mut Fields) -> Result<Call, Bad> {
    Ok(Call::Restore(match fields.text("snapshot_hex")? {
        None => Named::Name(fields.need_text("from")?),
        Some(digits) => Named::Bytes(bytes("snapshot_hex", &digits)?),
    }))
}

fn bytes(name: &str, digits: &str) -> Result<Vec<u8>, Bad> {
    let bad = || format!("`{name}` must be pairs of hexadecimal digits");
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok().filter(|text| text.len() == 2)?;
        u8::from_str_radix(text, 16).ok()
    };
    pairs.map(|pair| byte(pair).ok_or_else(bad)).collect()
}

fn partitions(fields: &mut Fields, topics: &mut Topics) -> Result<Vec<Partition>, Bad> {
    let named = |value| {
        let mut entry = Fields::of(value, "an entry of `partitions`")?;
        let partition = partition(&mut entry, topics)?;
        entry.end("an entry of `partitions`")?;
        Ok(partition)
    };
    fields.list("partitions")?.into_iter().map(named).collect()
}

pub(super) fn partition(fields: &mut Fields, topics: &mut Topics) -> Result<Partition, Bad> {
    let topic = fields.text("topic")?.unwrap_or_else(|| "t".to_owned());
    let index = fields.i32("partition")?.ok_or_else(|| missing("partition"))?;
    Ok(Partition { topic: topics.number(&topic), index })
}

fn offset(fields: &mut Fields) -> Result<Offset, Bad> {
    Offset::new(fields.need_u64("offset")?).map_err(|error| error.to_string())
}

fn commit_answer(word: &str) -> Result<CommitAnswer, Bad> {
    Ok(match word {
        "stored" => CommitAnswer::Stored,
        "retry" => CommitAnswer::Retry,
        "rejected" => CommitAnswer::Rejected,
        "not_mine" => CommitAnswer::NotMine,
        "fatal" => CommitAnswer::Fatal,
        other => {
            return Err(format!(
                "`result` is stored, retry, rejected, not_mine or fatal, not {other:?}"
            ));
        }
    })
}

/// Reads the first line; numbers the topics that it lists.
pub(super) fn config(value: Value, topics: &mut Topics) -> Result<Config, Bad> {
    let mut fields = Fields::of(value, "the first line")?;
    if fields.need_text("do")? != "config" {
        return Err("the first line must be `\"do\":\"config\"`".into());
    }
    let mut config = Config { jitter_seed: 0, ..Config::default() };
    macro_rules! settings {
        ($($name:ident),+) => {
            $(if let Some(value) = fields.small(stringify!($name))? { config.$name = value; })+
        };
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
        stall_after,
        first_assignment,
        journal,
        epoch,
        jitter_seed
    );
    if fields.has("hash_key") {
        let halves: Vec<_> = fields.list("hash_key")?.iter().filter_map(Value::as_u64).collect();
        let halves = <[u64; 2]>::try_from(halves);
        config.hash_key = HashKey(halves.map_err(|_| "`hash_key` must be two whole numbers")?);
    }
    if fields.has("topics") {
        for topic in fields.list("topics")? {
            let name = topic.as_str().ok_or("`topics` must be a list of names")?;
            topics.number(name);
        }
    }
    if let Some(policy) = fields.text("key_policy")? {
        config.key_policy = match policy.as_str() {
            "required" => KeyPolicy::Required,
            "optional" => KeyPolicy::Optional,
            other => return Err(format!("`key_policy` is required or optional, not {other:?}")),
        };
    }
    config.hold_in_storm = fields.flag("hold_in_storm")?.unwrap_or(config.hold_in_storm);
    config.key_age = fields.u64("key_age")?;
    fields.raw("key_age");
    fields.end("`config`")?;
    config.check().map_err(|error| error.to_string())?;
    Ok(config)
}
