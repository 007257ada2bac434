//! The packed bytes of `ABI.md`: little-endian, fixed places, unused bytes zero.
//!
//! Everything read here comes from outside and is refused with a [`Code`], never trusted.

mod answer;
mod request;

pub use answer::{
    COUNTERS, COUNTERS_BYTES, OUTPUT_BYTES, PARTITION_COUNTERS, PARTITION_COUNTERS_BYTES,
    PROGRESS_BYTES, REPLY_BYTES, VERDICT_BYTES, WAITING_BYTES, counters, output,
    partition_counters, progress, reply, storm, verdict, waiting,
};
pub use request::{
    CONFIG_BYTES, ENTRY_BYTES, HEADER_BYTES, NO_KEY, PARTITION_BYTES, RECORD_BYTES, Setup, input,
    outcome, record, setup, ticket,
};

/// Why a call was refused. Nothing changed then; the exchange buffer may hold anything.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "the table of ABI.md; a new one is a new ABI version")]
pub enum Code {
    /// `rg_init` was not called, or did not succeed.
    NotReady,
    /// `rg_init` succeeded before.
    AlreadyInitialised,
    /// A length is negative, above the buffer, or not what the layout asks for.
    Length,
    /// A tick is negative or above 2^62.
    Tick,
    /// A number means nothing here: an unknown kind, an offset above its limit, a used spare byte.
    Value,
    /// The settings contradict themselves.
    Config,
    /// The settings need more memory than there may be.
    Memory,
    /// The snapshot is longer than the buffer.
    Room,
    /// The bytes are no snapshot that this module and these settings can go on from.
    Snapshot,
}

impl Code {
    /// The number that the exports return.
    pub const fn number(self) -> i32 {
        match self {
            Self::NotReady => -1,
            Self::AlreadyInitialised => -2,
            Self::Length => -3,
            Self::Tick => -4,
            Self::Value => -5,
            Self::Config => -6,
            Self::Memory => -7,
            Self::Room => -8,
            Self::Snapshot => -9,
        }
    }
}

/// "None" where an offset or a tick may be absent.
pub const NONE: u64 = u64::MAX;

/// Takes numbers off the front of untrusted bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Code> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(Code::Length)?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Code> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Code> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Code> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Code> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Code> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Spare bytes: they must be zero, so that a later version may give them a meaning.
    pub(crate) fn zeros<const N: usize>(&mut self) -> Result<(), Code> {
        if self.array::<N>()? == [0; N] { Ok(()) } else { Err(Code::Value) }
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Code> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(Code::Length)?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) const fn end(self) -> Result<(), Code> {
        if self.rest.is_empty() { Ok(()) } else { Err(Code::Length) }
    }
}

/// Writes `bytes` at `at`; what does not fit is left out (the callers' arrays are large enough).
pub(crate) fn put(to: &mut [u8], at: usize, bytes: &[u8]) {
    for (to, from) in to.iter_mut().skip(at).zip(bytes) {
        *to = *from;
    }
}
