//! A guard as bytes, and back: for hot reload, and for a fresh instance after a trap.
//!
//! ```text
//! "RGSN"  version u16  0 u16  length u64  settings u64  state …  checksum u64
//! ```
//!
//! Little-endian and the same on every target. `settings` is a digest of the configuration without
//! its first assignment: a snapshot fits the settings that it was taken under. Links, indexes and
//! counts are not in it; they are made anew and so cannot contradict the rest.
//!
//! Compatibility: `docs/snapshot.md`.

mod bytes;
mod codes;
mod load;
mod rows;
mod save;

use core::fmt;

use crate::config::Config;
use crate::memory::Memory;
use crate::state::State;
use crate::{ConfigError, Guard, JournalEntry, Tick};
use bytes::{In, Out, checksum};

const MAGIC: &[u8; 4] = b"RGSN";
const VERSION: u16 = 1;
/// Bytes before the state.
const HEADER: usize = 24;
/// Bytes of the checksum.
const CHECKSUM: usize = 8;

/// Why a snapshot was not taken.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "there is no other reason")]
pub enum SnapshotError {
    /// The room is too small.
    TooSmall {
        /// Bytes that it takes now.
        needed: usize,
    },
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::TooSmall { needed } = self;
        write!(f, "the snapshot needs {needed} bytes")
    }
}

impl core::error::Error for SnapshotError {}

/// Why a guard was not made from a snapshot.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum RestoreError {
    /// The settings themselves are refused.
    Config(ConfigError),
    /// Not a snapshot.
    NotASnapshot,
    /// Written by a build with another layout.
    Version(u16),
    /// It was taken under other settings.
    OtherSettings,
    /// Cut short, or bytes behind its end.
    Length {
        /// Bytes that it says to have.
        said: u64,
        /// Bytes given.
        given: usize,
    },
    /// The checksum differs: it is damaged.
    Damaged,
    /// The checksum is right, but this is no state of a guard.
    Contradiction,
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::NotASnapshot => f.write_str("these bytes are no snapshot of a guard"),
            Self::Version(version) => write!(
                f,
                "the snapshot has layout {version} and this build reads {VERSION}: start without it"
            ),
            Self::OtherSettings => f.write_str("the snapshot was taken under other settings"),
            Self::Length { said, given } => {
                write!(f, "the snapshot says to have {said} bytes, {given} were given")
            }
            Self::Damaged => f.write_str("the snapshot is damaged: its checksum differs"),
            Self::Contradiction => f.write_str("the snapshot is no state of a guard"),
        }
    }
}

impl core::error::Error for RestoreError {}

impl<M: Memory> Guard<M> {
    /// Bytes that [`Guard::snapshot`] takes now.
    pub fn snapshot_len(&self) -> usize {
        self.write_snapshot(&mut [])
    }

    /// Writes the whole state into `room`; gives its length. Nothing changes.
    ///
    /// # Errors
    /// [`SnapshotError::TooSmall`]; `room` may hold anything then.
    pub fn snapshot(&self, room: &mut [u8]) -> Result<usize, SnapshotError> {
        let given = room.len();
        let needed = self.write_snapshot(room);
        if needed > given { Err(SnapshotError::TooSmall { needed }) } else { Ok(needed) }
    }

    fn write_snapshot(&self, room: &mut [u8]) -> usize {
        let (state, view) = self.seen();
        let mut measure = Out::new(&mut []);
        save::state(&mut measure, state, view);
        let length = measure.len().saturating_add(HEADER).saturating_add(CHECKSUM);
        let mut out = Out::new(room);
        out.bytes(MAGIC);
        out.u16(VERSION);
        out.u16(0);
        out.u64(length as u64);
        out.u64(settings(&state.config));
        save::state(&mut out, state, view);
        let sum = checksum(out.written());
        out.u64(sum);
        out.len()
    }

    /// A guard in the state that `snapshot` tells, at tick `now`. Tickets handed out before go on
    /// to count, and the assignment counter goes on from where it was.
    ///
    /// A `now` behind the snapshot's is another clock: everything is lost and a rejoin is asked
    /// for. A later one lets the time between pass.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub fn restore(
        memory: M,
        config: Config,
        now: Tick,
        snapshot: &[u8],
    ) -> Result<Self, RestoreError> {
        let mut guard = Self::new(memory, config).map_err(RestoreError::Config)?;
        guard.reload(now, snapshot)?;
        Ok(guard)
    }

    /// As [`Guard::restore`], in the place of this guard's own state.
    ///
    /// # Errors
    /// [`RestoreError`]. Nothing changed then; but after [`RestoreError::Contradiction`] this
    /// guard is as new.
    pub fn reload(&mut self, now: Tick, snapshot: &[u8]) -> Result<(), RestoreError> {
        let config = *self.config();
        let body = opened(&config, snapshot)?;
        let mut logic = self.logic();
        logic.parts.clear();
        *logic.state = State::new(config);
        let mut input = In::new(body);
        let loaded = load::state(&mut input, &mut logic).filter(|()| input.is_empty());
        if loaded.is_none() {
            logic.parts.clear();
            *logic.state = State::new(config);
            return Err(RestoreError::Contradiction);
        }
        logic.resume_clock(now);
        Ok(())
    }
}

/// The state's bytes of a snapshot that is whole and fits the settings.
fn opened<'a>(config: &Config, snapshot: &'a [u8]) -> Result<&'a [u8], RestoreError> {
    let mut input = In::new(snapshot);
    if input.bytes(MAGIC.len()) != Some(MAGIC) {
        return Err(RestoreError::NotASnapshot);
    }
    let version = input.u16().ok_or(RestoreError::NotASnapshot)?;
    if version != VERSION {
        return Err(RestoreError::Version(version));
    }
    let (Some(spare), Some(said), Some(digest)) = (input.u16(), input.u64(), input.u64()) else {
        return Err(RestoreError::NotASnapshot);
    };
    if said != snapshot.len() as u64 || snapshot.len() < HEADER.saturating_add(CHECKSUM) {
        return Err(RestoreError::Length { said, given: snapshot.len() });
    }
    let (whole, sum) = snapshot
        .split_at_checked(snapshot.len().saturating_sub(CHECKSUM))
        .ok_or(RestoreError::Damaged)?;
    if In::new(sum).u64() != Some(checksum(whole)) || spare != 0 {
        return Err(RestoreError::Damaged);
    }
    if digest != settings(config) {
        return Err(RestoreError::OtherSettings);
    }
    whole.get(HEADER..).ok_or(RestoreError::Damaged)
}

/// The tick at which a snapshot was taken: the `now` at which a guard goes on from it as if nothing
/// had been between. `None` when these bytes are none. Nothing else of them is checked.
pub fn taken_at(snapshot: &[u8]) -> Option<Tick> {
    let state = snapshot.get(HEADER..).filter(|_| snapshot.starts_with(MAGIC))?;
    In::new(state).tick()
}

/// The largest that a snapshot under these settings can be, in bytes, saturating.
pub const fn len_max(config: &Config) -> u64 {
    // Upper bounds of one row each, see `save.rs` and `rows.rs`.
    const ENTRY: u64 = 512;
    const PLACE: u64 = 9;
    const FLIGHT: u64 = 128;
    const KEY: u64 = 64;
    const REPORT: u64 = 48;
    const EVENT: u64 = 64;
    let partitions = config.partitions as u64;
    let of_partition = ENTRY
        .saturating_add(config.metadata_max as u64)
        .saturating_add(PLACE.saturating_mul(config.budget as u64))
        .saturating_add(REPORT.saturating_mul(5));
    let mut sum = partitions.saturating_mul(of_partition).saturating_add(2_048);
    sum = sum.saturating_add(FLIGHT.saturating_mul(config.window as u64));
    sum = sum.saturating_add(KEY.saturating_mul(config.keys as u64));
    sum.saturating_add(EVENT.saturating_mul(config.journal as u64))
}

/// A digest of the settings without the first assignment, which every instance has its own of.
fn settings(config: &Config) -> u64 {
    let mut room = [0; 256];
    let mut out = Out::new(&mut room);
    save::config(&mut out, config);
    checksum(out.written())
}

/// Gives altered bytes the checksum and the length of a whole snapshot, so that tests get past
/// them.
#[cfg(feature = "mutants")]
#[doc(hidden)]
pub fn reseal_snapshot(bytes: &mut [u8]) {
    let length = (bytes.len() as u64).to_le_bytes();
    if let Some(said) = bytes.get_mut(8..16) {
        said.copy_from_slice(&length);
    }
    if let Some((whole, sum)) = bytes.split_last_chunk_mut::<CHECKSUM>() {
        *sum = checksum(whole).to_le_bytes();
    }
}

impl JournalEntry {
    /// Size of the byte form.
    pub const BYTES: usize = 56;

    /// The byte form for boundaries, little-endian: tick u64, 1 if it names a partition u8, topic
    /// u32, partition i32, assignment u64 or 0, offset u64 or all ones, times u32, event u8, detail
    /// u8, two numbers u64, one zero byte. `wasm/ABI.md` has the table of events.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        codes::journal_bytes(self)
    }

    /// The entry of a byte form, or `None` when the bytes are none.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (spare, entry) = bytes.split_last()?;
        let mut input = In::new(entry);
        let read = codes::load_journal(&mut input)?;
        (*spare == 0 && input.is_empty()).then_some(read)
    }
}
