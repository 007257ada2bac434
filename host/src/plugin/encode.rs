//! Requests as the packed bytes of wasm/ABI.md.

use rebalance_guard::{
    CommitAnswer, Config, Input, KeyPolicy, Outcome, Partition, Record, Resume, Scope, Tick,
};

use super::ABI_VERSION;

/// Bytes of the settings.
pub(super) const CONFIG_BYTES: usize = 160;
/// Bytes before an input's list, record or ticket.
pub(super) const HEADER_BYTES: usize = 32;
/// Bytes of one partition in an assign, the largest entry of a list.
pub(super) const ENTRY_BYTES: usize = 24;
/// Bytes of a record before its key.
pub(super) const RECORD_BYTES: usize = 32;

/// The request is longer than the exchange buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct TooLong;

/// Writes from the front of the exchange buffer.
pub(super) struct Writer<'a> {
    to: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    pub(super) const fn new(to: &'a mut [u8]) -> Self {
        Self { to, len: 0 }
    }

    /// Bytes written so far. A plugin's memory is below 2^32, its buffer far below 2^31.
    pub(super) fn len(&self) -> i32 {
        i32::try_from(self.len).unwrap_or(i32::MAX)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        let end = self.len.checked_add(bytes.len()).ok_or(TooLong)?;
        self.to.get_mut(self.len..end).ok_or(TooLong)?.copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }

    fn u32(&mut self, number: u32) -> Result<(), TooLong> {
        self.bytes(&number.to_le_bytes())
    }

    fn u64(&mut self, number: u64) -> Result<(), TooLong> {
        self.bytes(&number.to_le_bytes())
    }

    fn partition(&mut self, partition: Partition) -> Result<(), TooLong> {
        self.u32(partition.topic)?;
        self.bytes(&partition.index.to_le_bytes())
    }
}

/// The settings.
pub(super) fn config(w: &mut Writer<'_>, config: &Config, buffer: u32) -> Result<(), TooLong> {
    w.u32(ABI_VERSION.unsigned_abs())?;
    w.u32(buffer)?;
    for number in [
        config.partitions,
        config.window,
        config.keys,
        config.budget,
        config.commit_count,
        config.epoch,
    ] {
        w.u32(number)?;
    }
    let counts = [config.attempts_max, config.storm_rising, config.storm_at, config.storm_calm];
    for number in counts {
        w.bytes(&number.to_le_bytes())?;
    }
    let policy = match config.key_policy {
        KeyPolicy::Required => 0,
        KeyPolicy::Optional => 1,
    };
    w.bytes(&[config.jitter, policy, config.hold_in_storm.into(), 0, 0, 0, 0, 0])?;
    let [hash_0, hash_1] = config.hash_key.0;
    for number in [
        config.backoff,
        config.backoff_cap,
        config.lease,
        config.commit_interval,
        config.commit_timeout,
        config.commit_backoff,
        config.storm_window,
        config.first_assignment,
        config.jitter_seed,
        hash_0,
        hash_1,
        config.stall_after,
        config.key_age.unwrap_or(0),
    ] {
        w.u64(number)?;
    }
    w.u32(config.journal)?;
    w.bytes(&config.metadata_max.to_le_bytes())?;
    w.bytes(&[0; 2])
}

/// One record with its key. A key too long to be used is told as none, which means the same.
pub(super) fn record(w: &mut Writer<'_>, record: &Record<'_>) -> Result<(), TooLong> {
    let key = record.key.filter(|key| key.len() <= Record::KEY_BYTES_MAX);
    let len = key.map_or(u32::MAX, |key| u32::try_from(key.len()).unwrap_or(u32::MAX));
    let mut head = [0; RECORD_BYTES];
    head[0..4].copy_from_slice(&record.partition.topic.to_le_bytes());
    head[4..8].copy_from_slice(&record.partition.index.to_le_bytes());
    head[8..16].copy_from_slice(&record.offset.value().to_le_bytes());
    head[16..20].copy_from_slice(&len.to_le_bytes());
    head[20..24].copy_from_slice(&record.namespace.to_le_bytes());
    head[24..26].copy_from_slice(&record.attempts.to_le_bytes());
    let epoch = record.leader_epoch.filter(|epoch| *epoch >= 0).unwrap_or(-1);
    head[28..32].copy_from_slice(&epoch.to_le_bytes());
    let end = w.len.checked_add(RECORD_BYTES + key.map_or(0, <[u8]>::len)).ok_or(TooLong)?;
    if end > w.to.len() {
        return Err(TooLong); // whole or not at all: a batch ends before it
    }
    w.bytes(&head)?;
    key.map_or(Ok(()), |key| w.bytes(key))
}

/// The number of an outcome.
pub(super) const fn outcome(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Completed => 0,
        Outcome::Failed { permanent: false } => 1,
        Outcome::Failed { permanent: true } => 2,
        Outcome::Abandoned => 3,
        Outcome::DeadLettered => 4,
    }
}

/// The first 32 bytes of an input.
#[derive(Clone, Copy, Default)]
struct Header {
    kind: u8,
    detail: u8,
    count: usize,
    partition: Partition,
    assignment: u64,
    offset: u64,
}

impl Header {
    fn write(self, w: &mut Writer<'_>) -> Result<(), TooLong> {
        w.bytes(&[self.kind, self.detail, 0, 0])?;
        w.u32(u32::try_from(self.count).map_err(|_| TooLong)?)?;
        w.partition(self.partition)?;
        w.u64(self.assignment)?;
        w.u64(self.offset)
    }
}

/// Any input, under a guard whose metadata has at most `metadata_max` bytes.
pub(super) fn input(
    w: &mut Writer<'_>,
    input: Input<'_>,
    metadata_max: u16,
) -> Result<(), TooLong> {
    match input {
        Input::Assign { generation, partitions } => assign(w, generation, partitions, metadata_max),
        Input::Position { partition, assignment, resume: at } => {
            let (detail, offset, metadata) = resume(at, metadata_max);
            let (assignment, count) = (assignment.value(), metadata.len());
            Header { kind: 1, detail, count, partition, assignment, offset }.write(w)?;
            w.bytes(metadata)
        }
        Input::Revoke { partitions, deadline } => revoke(w, partitions, deadline),
        Input::Lost(scope) => lost(w, scope),
        Input::Admit(offered) => {
            Header { kind: 7, ..Header::default() }.write(w)?;
            record(w, &offered)
        }
        Input::Answer { ticket, outcome: answer } => {
            Header { kind: 8, detail: outcome(answer), ..Header::default() }.write(w)?;
            w.bytes(&ticket.to_bytes())
        }
        _ => plain(input).write(w),
    }
}

/// The inputs that are all header.
fn plain(input: Input<'_>) -> Header {
    match input {
        Input::Rewind { partition, offset } => {
            Header { kind: 4, partition, offset: offset.value(), ..Header::default() }
        }
        Input::GroupOffset { partition, assignment, offset } => Header {
            kind: 5,
            partition,
            assignment: assignment.value(),
            offset: offset.value(),
            ..Header::default()
        },
        Input::EndOfPartition { partition, assignment } => {
            Header { kind: 6, partition, assignment: assignment.value(), ..Header::default() }
        }
        Input::CommitAnswered { partition, assignment, offset, answer } => Header {
            kind: 9,
            detail: commit_answer(answer),
            partition,
            assignment: assignment.value(),
            offset: offset.value(),
            count: 0,
        },
        // The lists, the record and the ticket are written by the caller of this function.
        Input::Polled
        | Input::Assign { .. }
        | Input::Position { .. }
        | Input::Revoke { .. }
        | Input::Lost(_)
        | Input::Admit(_)
        | Input::Answer { .. } => Header { kind: 10, ..Header::default() },
    }
}

fn assign(
    w: &mut Writer<'_>,
    generation: Option<i32>,
    partitions: &[(Partition, Resume<'_>)],
    metadata_max: u16,
) -> Result<(), TooLong> {
    let head = Header {
        detail: generation.is_some().into(),
        partition: Partition::new(0, generation.unwrap_or(0)),
        count: partitions.len(),
        ..Header::default()
    };
    head.write(w)?;
    for (partition, at) in partitions {
        let (kind, offset, metadata) = resume(*at, metadata_max);
        let [low, high] = u16::try_from(metadata.len()).map_err(|_| TooLong)?.to_le_bytes();
        w.partition(*partition)?;
        w.bytes(&[kind, 0, low, high, 0, 0, 0, 0])?;
        w.u64(offset)?;
        w.bytes(metadata)?;
    }
    Ok(())
}

fn revoke(w: &mut Writer<'_>, partitions: &[Partition], deadline: Tick) -> Result<(), TooLong> {
    let (count, offset) = (partitions.len(), deadline.value());
    Header { kind: 2, count, offset, ..Header::default() }.write(w)?;
    partitions.iter().try_for_each(|partition| w.partition(*partition))
}

fn lost(w: &mut Writer<'_>, scope: Scope<'_>) -> Result<(), TooLong> {
    let (detail, partitions): (u8, &[Partition]) = match scope {
        Scope::Some(partitions) => (0, partitions),
        Scope::All => (1, &[]),
        Scope::Fatal => (2, &[]),
    };
    Header { kind: 3, detail, count: partitions.len(), ..Header::default() }.write(w)?;
    partitions.iter().try_for_each(|partition| w.partition(*partition))
}

/// Kind, number and metadata. Of a string that is too long anyway so much is told that it still is.
fn resume(resume: Resume<'_>, metadata_max: u16) -> (u8, u64, &[u8]) {
    match resume {
        Resume::Committed { offset, metadata } => {
            let told = metadata.len().min(usize::from(metadata_max) + 1);
            (0, offset.value(), metadata.get(..told).unwrap_or_default())
        }
        Resume::Empty(None) => (1, 0, &[]),
        Resume::Empty(Some(offset)) => (2, offset.value(), &[]),
        Resume::At(offset) => (3, offset.value(), &[]),
        Resume::Unknown => (4, 0, &[]),
    }
}

const fn commit_answer(answer: CommitAnswer) -> u8 {
    match answer {
        CommitAnswer::Stored => 0,
        CommitAnswer::Retry => 1,
        CommitAnswer::Rejected => 2,
        CommitAnswer::NotMine => 3,
        CommitAnswer::Fatal => 4,
    }
}
