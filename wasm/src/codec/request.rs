//! What a host says: settings, inputs, records, tickets.

use rebalance_guard::{
    Assignment, CommitAnswer, Config, HashKey, Input, KeyPolicy, Offset, Outcome, Partition,
    Record, Resume, Scope, Tick, Ticket,
};

use super::{Code, Reader};
use crate::memory::Scratch;

/// Bytes of the settings.
pub const CONFIG_BYTES: usize = 160;
/// Bytes before an input's list, record or ticket.
pub const HEADER_BYTES: usize = 32;
/// Bytes of one partition in an assign, its metadata not included.
pub const ENTRY_BYTES: usize = 24;
/// Bytes of one partition in a revoke or a loss.
pub const PARTITION_BYTES: usize = 8;
/// Bytes of a record before its key.
pub const RECORD_BYTES: usize = 32;
/// The key length that says "no key".
pub const NO_KEY: u32 = u32::MAX;

/// What `rg_init` is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "the layout of ABI.md")]
pub struct Setup {
    /// Size of the exchange buffer from then on; 0: the smallest.
    pub buffer_bytes: u32,
    /// The guard's settings.
    pub config: Config,
}

/// Reads the settings. They are not checked for contradictions here.
///
/// # Errors
/// [`Code::Length`], [`Code::Value`].
pub fn setup(bytes: &[u8]) -> Result<Setup, Code> {
    let r = &mut Reader::new(bytes);
    if r.u32()? != crate::ABI_VERSION.unsigned_abs() {
        return Err(Code::Value);
    }
    let buffer_bytes = r.u32()?;
    let mut config = Config {
        partitions: r.u32()?,
        window: r.u32()?,
        keys: r.u32()?,
        budget: r.u32()?,
        commit_count: r.u32()?,
        epoch: r.u32()?,
        attempts_max: r.u16()?,
        storm_rising: r.u16()?,
        storm_at: r.u16()?,
        storm_calm: r.u16()?,
        jitter: r.u8()?,
        ..Config::default()
    };
    config.key_policy = match r.u8()? {
        0 => KeyPolicy::Required,
        1 => KeyPolicy::Optional,
        _ => return Err(Code::Value),
    };
    config.hold_in_storm = flag(r.u8()?)?;
    r.zeros::<5>()?;
    config.backoff = r.u64()?;
    config.backoff_cap = r.u64()?;
    config.lease = r.u64()?;
    config.commit_interval = r.u64()?;
    config.commit_timeout = r.u64()?;
    config.commit_backoff = r.u64()?;
    config.storm_window = r.u64()?;
    config.first_assignment = r.u64()?;
    config.jitter_seed = r.u64()?;
    config.hash_key = HashKey([r.u64()?, r.u64()?]);
    config.stall_after = r.u64()?;
    config.key_age = Some(r.u64()?).filter(|age| *age != 0);
    config.journal = r.u32()?;
    config.metadata_max = r.u16()?;
    r.zeros::<2>()?;
    r.end()?;
    Ok(Setup { buffer_bytes, config })
}

/// Takes one record (its key included) off the front of `bytes`: the record and the rest.
///
/// # Errors
/// [`Code::Length`], [`Code::Value`].
pub fn record(bytes: &[u8]) -> Result<(Record<'_>, &[u8]), Code> {
    let r = &mut Reader::new(bytes);
    let partition = partition(r)?;
    let offset = offset(r.u64()?)?;
    let key_len = r.u32()?;
    let namespace = r.u32()?;
    let attempts = r.u16()?;
    r.zeros::<2>()?;
    let leader_epoch = match r.i32()? {
        -1 => None,
        epoch if epoch < 0 => return Err(Code::Value),
        epoch => Some(epoch),
    };
    let key = match key_len {
        NO_KEY => None,
        len if len as usize > Record::KEY_BYTES_MAX => return Err(Code::Value),
        len => Some(r.bytes(len as usize)?),
    };
    Ok((Record { partition, offset, key, attempts, namespace, leader_epoch }, r.rest))
}

/// Reads a ticket from the front of `bytes`.
///
/// # Errors
/// [`Code::Length`], [`Code::Value`].
pub fn ticket(bytes: &[u8]) -> Result<Ticket, Code> {
    let head = bytes.first_chunk::<{ Ticket::BYTES }>().ok_or(Code::Length)?;
    Ticket::from_bytes(head).ok_or(Code::Value)
}

/// The outcome that `number` means.
///
/// # Errors
/// [`Code::Value`].
pub const fn outcome(number: i32) -> Result<Outcome, Code> {
    match number {
        0 => Ok(Outcome::Completed),
        1 => Ok(Outcome::Failed { permanent: false }),
        2 => Ok(Outcome::Failed { permanent: true }),
        3 => Ok(Outcome::Abandoned),
        4 => Ok(Outcome::DeadLettered),
        _ => Err(Code::Value),
    }
}

/// Reads one input; its list takes shape in `scratch`.
///
/// # Errors
/// [`Code::Length`], [`Code::Value`], [`Code::Tick`].
pub fn input<'a>(bytes: &'a [u8], scratch: &'a mut Scratch<'_>) -> Result<Input<'a>, Code> {
    let mut r = Reader::new(bytes);
    let head = Header::read(&mut r)?;
    match head.kind {
        0 => assign(head, r, scratch),
        1 => position(head, r),
        2 => {
            let head = head.only(Fields { count: true, offset: true, ..Fields::NONE })?;
            let deadline = Tick::new(head.offset).ok_or(Code::Tick)?;
            Ok(Input::Revoke { partitions: partitions(head.count, r, scratch)?, deadline })
        }
        3 => lost(head, r, scratch),
        7 => {
            head.only(Fields::NONE)?;
            let (record, rest) = record(r.rest)?;
            if rest.is_empty() { Ok(Input::Admit(record)) } else { Err(Code::Length) }
        }
        8 => {
            let head = head.only(Fields { detail: true, ..Fields::NONE })?;
            let ticket = ticket(r.bytes(Ticket::BYTES)?)?;
            r.end()?;
            Ok(Input::Answer { ticket, outcome: outcome(i32::from(head.detail))? })
        }
        _ => {
            r.end()?;
            plain(head)
        }
    }
}

/// The inputs that are all header.
fn plain(head: Header) -> Result<Input<'static>, Code> {
    let named = Fields { partition: true, ..Fields::NONE };
    let owned = Fields { assignment: true, ..named };
    let partition = head.partition;
    match head.kind {
        4 => {
            let head = head.only(Fields { offset: true, ..named })?;
            Ok(Input::Rewind { partition, offset: offset(head.offset)? })
        }
        5 => {
            let head = head.only(Fields { offset: true, ..owned })?;
            let offset = offset(head.offset)?;
            Ok(Input::GroupOffset { partition, assignment: head.assignment()?, offset })
        }
        6 => {
            let assignment = head.only(owned)?.assignment()?;
            Ok(Input::EndOfPartition { partition, assignment })
        }
        9 => {
            let head = head.only(Fields { detail: true, offset: true, ..owned })?;
            let (assignment, offset) = (head.assignment()?, offset(head.offset)?);
            let answer = commit_answer(head.detail)?;
            Ok(Input::CommitAnswered { partition, assignment, offset, answer })
        }
        10 => head.only(Fields::NONE).map(|_| Input::Polled),
        _ => Err(Code::Value),
    }
}

fn position<'a>(head: Header, mut r: Reader<'a>) -> Result<Input<'a>, Code> {
    let named = Fields { partition: true, assignment: true, ..Fields::NONE };
    // The count is the length of the metadata.
    let head = head.only(Fields { detail: true, count: true, offset: true, ..named })?;
    let metadata = r.bytes(head.count)?;
    r.end()?;
    let resume = resume(head.detail, head.offset, metadata)?;
    Ok(Input::Position { partition: head.partition, assignment: head.assignment()?, resume })
}

fn assign<'a>(
    head: Header,
    mut r: Reader<'a>,
    scratch: &'a mut Scratch<'_>,
) -> Result<Input<'a>, Code> {
    let known = flag(head.detail)?;
    // The generation stands where other inputs have the partition number.
    let fields = Fields { count: true, detail: true, partition: known, ..Fields::NONE };
    let head = head.only(fields)?;
    if head.partition.topic != 0 {
        return Err(Code::Value);
    }
    let nowhere = (Partition::default(), Resume::Unknown);
    let entries = scratch.list(head.count, nowhere)?;
    for entry in &mut *entries {
        let partition = partition(&mut r)?;
        let kind = r.u8()?;
        r.zeros::<1>()?;
        let metadata_len = r.u16()?;
        r.zeros::<4>()?;
        let number = r.u64()?;
        let metadata = r.bytes(metadata_len.into())?;
        *entry = (partition, resume(kind, number, metadata)?);
    }
    r.end()?;
    let generation = known.then_some(head.partition.index);
    Ok(Input::Assign { generation, partitions: entries })
}

fn lost<'a>(head: Header, r: Reader<'a>, scratch: &'a mut Scratch<'_>) -> Result<Input<'a>, Code> {
    let some = head.detail == 0;
    let head = head.only(Fields { detail: true, count: some, ..Fields::NONE })?;
    let partitions = partitions(head.count, r, scratch)?;
    Ok(Input::Lost(match head.detail {
        0 => Scope::Some(partitions),
        1 => Scope::All,
        2 => Scope::Fatal,
        _ => return Err(Code::Value),
    }))
}

fn partitions<'a>(
    count: usize,
    mut r: Reader<'_>,
    scratch: &'a mut Scratch<'_>,
) -> Result<&'a [Partition], Code> {
    let list = scratch.list(count, Partition::default())?;
    for place in &mut *list {
        *place = partition(&mut r)?;
    }
    r.end()?;
    Ok(list)
}

fn partition(r: &mut Reader<'_>) -> Result<Partition, Code> {
    Ok(Partition { topic: r.u32()?, index: r.i32()? })
}

fn offset(number: u64) -> Result<Offset, Code> {
    Offset::new(number).map_err(|_| Code::Value)
}

const fn flag(number: u8) -> Result<bool, Code> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Code::Value),
    }
}

fn resume(kind: u8, number: u64, metadata: &[u8]) -> Result<Resume<'_>, Code> {
    if kind != 0 && !metadata.is_empty() {
        return Err(Code::Value);
    }
    match (kind, number) {
        (0, _) => Ok(Resume::Committed { offset: offset(number)?, metadata }),
        (1, 0) => Ok(Resume::Empty(None)),
        (2, _) => offset(number).map(|offset| Resume::Empty(Some(offset))),
        (3, _) => offset(number).map(Resume::At),
        (4, 0) => Ok(Resume::Unknown),
        _ => Err(Code::Value),
    }
}

const fn commit_answer(number: u8) -> Result<CommitAnswer, Code> {
    match number {
        0 => Ok(CommitAnswer::Stored),
        1 => Ok(CommitAnswer::Retry),
        2 => Ok(CommitAnswer::Rejected),
        3 => Ok(CommitAnswer::NotMine),
        4 => Ok(CommitAnswer::Fatal),
        _ => Err(Code::Value),
    }
}

/// The first 32 bytes of every input.
#[derive(Clone, Copy)]
struct Header {
    kind: u8,
    detail: u8,
    count: usize,
    partition: Partition,
    assignment: u64,
    offset: u64,
}

/// Which header fields an input uses; the others must be zero.
#[derive(Clone, Copy)]
struct Fields {
    detail: bool,
    count: bool,
    partition: bool,
    assignment: bool,
    offset: bool,
}

impl Fields {
    const NONE: Self =
        Self { detail: false, count: false, partition: false, assignment: false, offset: false };
}

impl Header {
    fn read(r: &mut Reader<'_>) -> Result<Self, Code> {
        let (kind, detail) = (r.u8()?, r.u8()?);
        r.zeros::<2>()?;
        Ok(Self {
            kind,
            detail,
            count: r.u32()? as usize,
            partition: partition(r)?,
            assignment: r.u64()?,
            offset: r.u64()?,
        })
    }

    fn only(self, used: Fields) -> Result<Self, Code> {
        let clean = (used.detail || self.detail == 0)
            && (used.count || self.count == 0)
            && (used.partition || self.partition == Partition::default())
            && (used.assignment || self.assignment == 0)
            && (used.offset || self.offset == 0);
        if clean { Ok(self) } else { Err(Code::Value) }
    }

    fn assignment(self) -> Result<Assignment, Code> {
        Assignment::new(self.assignment).ok_or(Code::Value)
    }
}
