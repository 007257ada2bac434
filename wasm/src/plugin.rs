//! The exported calls as safe code over a buffer: read, check everything, then act.

use rebalance_guard::memory::Parts;
use rebalance_guard::{Config, Guard, JournalEntry, Partition, Record, SnapshotError, Tick};

use crate::codec::{self, Code, OUTPUT_BYTES, PROGRESS_BYTES, VERDICT_BYTES, put};
use crate::memory::Scratch;

/// What [`Plugin::poll_timeout`] gives when nothing is due.
pub const NOTHING_DUE: i64 = i64::MAX;

/// A guard behind packed bytes. Every call reads its request from `buffer` and writes its answer
/// over it; a refused call changes nothing.
#[derive(Debug)]
pub struct Plugin<'a> {
    guard: Guard<Parts<'a>>,
    scratch: Scratch<'a>,
}

impl<'a> Plugin<'a> {
    /// A plugin over tables that are large enough for `config`.
    ///
    /// # Errors
    /// [`Code::Config`].
    pub fn new(parts: Parts<'a>, scratch: Scratch<'a>, config: Config) -> Result<Self, Code> {
        let guard = Guard::new(parts, config).map_err(|_| Code::Config)?;
        Ok(Self { guard, scratch })
    }

    /// Any input; the reply is written to the front of the buffer.
    ///
    /// # Errors
    /// The request cannot be read.
    pub fn handle(&mut self, buffer: &mut [u8], now: i64, len: i32) -> Result<i32, Code> {
        let now = tick(now)?;
        let request = request(buffer, len)?;
        let input = codec::input(request, &mut self.scratch)?;
        let reply = self.guard.handle(now, input);
        put(buffer, 0, &codec::reply(reply));
        Ok(0)
    }

    /// One record, exactly `len` bytes; the verdict is written to the front of the buffer.
    ///
    /// # Errors
    /// The request cannot be read.
    pub fn admit(&mut self, buffer: &mut [u8], now: i64, len: i32) -> Result<i32, Code> {
        let now = tick(now)?;
        let (record, rest) = codec::record(request(buffer, len)?)?;
        if !rest.is_empty() {
            return Err(Code::Length);
        }
        let verdict = codec::verdict(self.guard.admit(now, record));
        put(buffer, 0, &verdict);
        Ok(i32::from(verdict[0]))
    }

    /// `count` records one after the other; the verdicts are written from the front of the buffer.
    /// All records are read before the first is offered.
    ///
    /// # Errors
    /// A record cannot be read: none was offered.
    pub fn admit_batch(
        &mut self,
        buffer: &mut [u8],
        now: i64,
        count: i32,
        len: i32,
    ) -> Result<i32, Code> {
        let now = tick(now)?;
        let request = request(buffer, len)?;
        check_batch(request, count)?;
        let len = request.len();
        let mut at: usize = 0;
        let mut written: usize = 0;
        while at < len {
            let (record, rest) = codec::record(buffer.get(at..len).ok_or(Code::Length)?)?;
            at = len.saturating_sub(rest.len());
            let verdict = codec::verdict(self.guard.admit(now, record));
            // A record is at least as long as a verdict, so this never reaches one still unread.
            put(buffer, written, &verdict);
            written = written.saturating_add(VERDICT_BYTES);
        }
        Ok(count)
    }

    /// The ticket at the front of the buffer is answered: 0 it counts, 1 stale.
    ///
    /// # Errors
    /// No ticket, no outcome.
    pub fn answer(&mut self, buffer: &[u8], now: i64, outcome: i32) -> Result<i32, Code> {
        let now = tick(now)?;
        let (ticket, outcome) = (codec::ticket(buffer)?, codec::outcome(outcome)?);
        Ok(match self.guard.answer(now, ticket, outcome) {
            rebalance_guard::Answered::Done => 0,
            rebalance_guard::Answered::Stale => 1,
        })
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// No tick.
    pub fn handle_timeout(&mut self, now: i64) -> Result<i32, Code> {
        self.guard.handle_timeout(tick(now)?);
        Ok(0)
    }

    /// Up to `max` outputs, as many as fit, from the front of the buffer; how many.
    ///
    /// # Errors
    /// `max` below 0.
    pub fn poll_outputs(&mut self, buffer: &mut [u8], max: i32) -> Result<i32, Code> {
        let max = usize::try_from(max).map_err(|_| Code::Length)?;
        let mut count: i32 = 0;
        for place in buffer.chunks_exact_mut(OUTPUT_BYTES).take(max) {
            let Some(output) = self.guard.poll_output() else { break };
            put(place, 0, &codec::output(output));
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    /// The tick by which `handle_timeout` is due, or [`NOTHING_DUE`].
    pub fn poll_timeout(&self) -> i64 {
        self.guard.poll_timeout().map_or(NOTHING_DUE, number)
    }

    /// Whether the ticket at the front of the buffer is still worth running: 1 or 0.
    ///
    /// # Errors
    /// No ticket.
    pub fn is_live(&self, buffer: &[u8]) -> Result<i32, Code> {
        codec::ticket(buffer).map(|ticket| self.guard.is_live(ticket).into())
    }

    /// Where a partition stands: 1 and its standing in the buffer, or 0 when it is not owned.
    pub fn progress(&self, buffer: &mut [u8], partition: Partition) -> i32 {
        let Some(progress) = self.guard.progress(partition) else { return 0 };
        put(buffer, 0, &codec::progress(partition, &progress));
        1
    }

    /// The standings of the owned partitions after the first `skip`, as many as fit; how many.
    ///
    /// # Errors
    /// `skip` below 0.
    pub fn owned(&self, buffer: &mut [u8], skip: i32) -> Result<i32, Code> {
        let skip = usize::try_from(skip).map_err(|_| Code::Length)?;
        let mut count: i32 = 0;
        let places = buffer.chunks_exact_mut(PROGRESS_BYTES);
        for ((partition, progress), place) in self.guard.owned().skip(skip).zip(places) {
            put(place, 0, &codec::progress(partition, &progress));
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    /// The string to commit with the commit of a partition that was pulled last; its length.
    pub fn commit_metadata(&self, buffer: &mut [u8], partition: Partition) -> i32 {
        i32::try_from(self.guard.commit_metadata(partition, buffer)).unwrap_or(0)
    }

    /// Why nothing is owned into the buffer: 1; or 0 when something is.
    pub fn waiting(&self, buffer: &mut [u8]) -> i32 {
        let Some(waiting) = self.guard.waiting() else { return 0 };
        put(buffer, 0, &codec::waiting(waiting));
        1
    }

    /// Journal entries after the first `skip`, oldest first, as many as fit; how many.
    ///
    /// # Errors
    /// `skip` below 0.
    pub fn journal(&self, buffer: &mut [u8], skip: i32) -> Result<i32, Code> {
        let skip = usize::try_from(skip).map_err(|_| Code::Length)?;
        let mut count: i32 = 0;
        let places = buffer.chunks_exact_mut(JournalEntry::BYTES);
        for (entry, place) in self.guard.journal().skip(skip).zip(places) {
            put(place, 0, &entry.to_bytes());
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    /// Bytes that a snapshot takes now.
    pub fn snapshot_len(&self) -> i64 {
        i64::try_from(self.guard.snapshot_len()).unwrap_or(i64::MAX)
    }

    /// The whole state into the buffer; its length.
    ///
    /// # Errors
    /// [`Code::Room`].
    pub fn snapshot(&self, buffer: &mut [u8]) -> Result<i32, Code> {
        match self.guard.snapshot(buffer) {
            Ok(len) => i32::try_from(len).map_err(|_| Code::Room),
            Err(SnapshotError::TooSmall { .. }) => Err(Code::Room),
        }
    }

    /// Takes over the state whose snapshot is in the buffer, in the place of its own.
    ///
    /// # Errors
    /// [`Code::Snapshot`]: this guard is what it was, or as new.
    pub fn restore(&mut self, buffer: &[u8], now: i64, len: i32) -> Result<i32, Code> {
        let now = tick(now)?;
        let snapshot = request(buffer, len)?;
        self.guard.reload(now, snapshot).map_err(|_| Code::Snapshot)?;
        Ok(0)
    }

    /// Records in flight.
    pub fn in_flight(&self) -> i32 {
        i32::try_from(self.guard.in_flight()).unwrap_or(i32::MAX)
    }

    /// 0 calm, 1 rising, 2 storm.
    pub fn storm(&self) -> i32 {
        codec::storm(self.guard.storm())
    }

    /// All counters into the buffer; how many.
    pub fn counters(&self, buffer: &mut [u8]) -> i32 {
        put(buffer, 0, &codec::counters(self.guard.counters()));
        i32::try_from(codec::COUNTERS).unwrap_or(i32::MAX)
    }

    /// A partition's counters into the buffer; how many, 0 when it is not remembered.
    pub fn partition_counters(&self, buffer: &mut [u8], partition: Partition) -> i32 {
        let Some(counters) = self.guard.partition_counters(partition) else { return 0 };
        put(buffer, 0, &codec::partition_counters(&counters));
        i32::try_from(codec::PARTITION_COUNTERS).unwrap_or(i32::MAX)
    }

    /// The last tick that counted.
    pub fn now(&self) -> i64 {
        number(self.guard.now())
    }
}

/// Exactly `count` readable records and nothing after them.
fn check_batch(mut rest: &[u8], count: i32) -> Result<(), Code> {
    for _ in 0..u32::try_from(count).map_err(|_| Code::Length)? {
        let (_, after): (Record<'_>, _) = codec::record(rest)?;
        rest = after;
    }
    if rest.is_empty() { Ok(()) } else { Err(Code::Length) }
}

fn request(buffer: &[u8], len: i32) -> Result<&[u8], Code> {
    let len = usize::try_from(len).map_err(|_| Code::Length)?;
    buffer.get(..len).ok_or(Code::Length)
}

fn tick(now: i64) -> Result<Tick, Code> {
    u64::try_from(now).ok().and_then(Tick::new).ok_or(Code::Tick)
}

fn number(tick: Tick) -> i64 {
    i64::try_from(tick.value()).unwrap_or(i64::MAX)
}
