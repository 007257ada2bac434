//! One growth of the memory, carved into the exchange buffer and the guard's tables.

#[cfg(all(target_arch = "wasm32", not(feature = "component")))]
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use rebalance_guard::memory::{
    FinishedKey, Flight, JournalSlot, Layout, PartitionEntry, Parts, Place, ReportEntry,
};
use rebalance_guard::{Config, Partition, Resume};

use crate::codec::{Code, ENTRY_BYTES, PARTITION_BYTES, Setup};
use crate::plugin::Plugin;

/// The smallest exchange buffer: a record with the longest key, and a good batch.
pub const BUFFER_BYTES_MIN: u32 = 128 * 1024;
/// The largest exchange buffer.
pub const BUFFER_BYTES_MAX: u32 = 64 * 1024 * 1024;

/// A plugin and the buffer through which it is told things.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "read by the faces of this crate")]
pub struct Ready<'a> {
    /// The guard behind packed bytes.
    pub plugin: Plugin<'a>,
    /// The exchange buffer.
    pub buffer: &'a mut [u8],
}

/// What must be carved for given settings.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    config: Config,
    layout: Layout,
    buffer: usize,
}

impl Plan {
    /// Checks the settings and sizes every table.
    ///
    /// # Errors
    /// [`Code::Config`]; [`Code::Memory`] for a buffer above its limit.
    pub fn of(setup: &Setup) -> Result<Self, Code> {
        setup.config.check().map_err(|_| Code::Config)?;
        if setup.buffer_bytes > BUFFER_BYTES_MAX {
            return Err(Code::Memory);
        }
        let buffer = setup.buffer_bytes.max(BUFFER_BYTES_MIN) as usize;
        Ok(Self { config: setup.config, layout: Layout::of(&setup.config), buffer })
    }

    /// Bytes for the longest list that the buffer can hold.
    const fn scratch(&self) -> u64 {
        let entries = size::<(Partition, Resume<'_>)>(self.buffer / ENTRY_BYTES);
        let names = size::<Partition>(self.buffer / PARTITION_BYTES);
        if entries > names { entries } else { names }
    }

    /// Bytes to carve from, room for alignment included. Counts in 64 bits, saturating: an absurd
    /// setting gives an absurd number, not a small one.
    pub fn bytes(&self) -> u64 {
        let layout = &self.layout;
        [
            size::<u8>(self.buffer),
            self.scratch(),
            size::<PartitionEntry>(layout.partitions),
            size::<u32>(layout.partition_index),
            size::<Flight>(layout.flights),
            size::<u32>(layout.reserved_index),
            size::<FinishedKey>(layout.finished_keys),
            size::<u32>(layout.finished_index),
            size::<Place>(layout.places),
            size::<ReportEntry>(layout.reports),
            size::<u8>(layout.carried),
            size::<JournalSlot>(layout.journal),
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    /// A plugin whose tables lie in `region`.
    ///
    /// # Errors
    /// [`Code::Memory`] when the region is smaller than [`Plan::bytes`].
    pub fn carve<'a>(&self, region: &'a mut [MaybeUninit<u8>]) -> Result<Ready<'a>, Code> {
        let layout = &self.layout;
        let mut arena = Arena { rest: region };
        let buffer = arena.take(self.buffer, 0_u8)?;
        let scratch = usize::try_from(self.scratch()).map_err(|_| Code::Memory)?;
        let scratch = Scratch { room: arena.raw(scratch)? };
        let parts = Parts {
            partitions: arena.take(layout.partitions, PartitionEntry::EMPTY)?,
            partition_index: arena.take(layout.partition_index, 0)?,
            flights: arena.take(layout.flights, Flight::EMPTY)?,
            reserved_index: arena.take(layout.reserved_index, 0)?,
            finished_keys: arena.take(layout.finished_keys, FinishedKey::EMPTY)?,
            finished_index: arena.take(layout.finished_index, 0)?,
            places: arena.take(layout.places, Place::EMPTY)?,
            reports: arena.take(layout.reports, ReportEntry::EMPTY)?,
            carried: arena.take(layout.carried, 0_u8)?,
            journal: arena.take(layout.journal, JournalSlot::EMPTY)?,
        };
        Ok(Ready { plugin: Plugin::new(parts, scratch, self.config)?, buffer })
    }
}

/// Bytes of `count` values, plus what aligning the first may take.
const fn size<T>(count: usize) -> u64 {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    bytes.saturating_add(align_of::<T>() as u64)
}

/// Room in which an input's list takes shape, anew for each input.
#[derive(Debug)]
pub struct Scratch<'a> {
    room: &'a mut [MaybeUninit<u8>],
}

impl Scratch<'_> {
    /// A list of `count` times `value`.
    ///
    /// # Errors
    /// [`Code::Length`]: a longer list than the exchange buffer can hold.
    pub fn list<T: Copy>(&mut self, count: usize, value: T) -> Result<&mut [T], Code> {
        Arena { rest: &mut *self.room }.take(count, value).map_err(|_| Code::Length)
    }
}

/// Gives out the front of a region, piece by piece.
struct Arena<'a> {
    rest: &'a mut [MaybeUninit<u8>],
}

impl<'a> Arena<'a> {
    /// Bytes as they are.
    fn raw(&mut self, bytes: usize) -> Result<&'a mut [MaybeUninit<u8>], Code> {
        let (piece, rest) =
            core::mem::take(&mut self.rest).split_at_mut_checked(bytes).ok_or(Code::Memory)?;
        self.rest = rest;
        Ok(piece)
    }

    fn take<T: Clone>(&mut self, count: usize, value: T) -> Result<&'a mut [T], Code> {
        let skip = self.rest.as_ptr().align_offset(align_of::<T>());
        let bytes = count.checked_mul(size_of::<T>()).ok_or(Code::Memory)?;
        let end = skip.checked_add(bytes).ok_or(Code::Memory)?;
        let (piece, rest) =
            core::mem::take(&mut self.rest).split_at_mut_checked(end).ok_or(Code::Memory)?;
        self.rest = rest;
        let first =
            piece.get_mut(skip..).ok_or(Code::Memory)?.as_mut_ptr().cast::<MaybeUninit<T>>();
        // SAFETY: `first` points at `count * size_of::<T>()` bytes borrowed for 'a and given out
        // once, aligned for T by `skip`; MaybeUninit<T> needs no initial value.
        let places = unsafe { core::slice::from_raw_parts_mut(first, count) };
        for place in &mut *places {
            place.write(value.clone());
        }
        // SAFETY: every place was written just now.
        Ok(unsafe { &mut *(core::ptr::from_mut(places) as *mut [T]) })
    }
}

/// A value that every exported function reaches.
#[cfg(all(target_arch = "wasm32", not(feature = "component")))]
pub(crate) struct Single<T>(UnsafeCell<T>);

// SAFETY: the module has one thread (its memory is not shared), so nothing is ever shared.
#[cfg(all(target_arch = "wasm32", not(feature = "component")))]
unsafe impl<T> Sync for Single<T> {}

#[cfg(all(target_arch = "wasm32", not(feature = "component")))]
impl<T> Single<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Runs `f` on the value. Not re-entrant: `f` must not come back here.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: one thread, and the module calls no import, so no export runs inside another:
        // this is the only reference while `f` runs.
        f(unsafe { &mut *self.0.get() })
    }
}

/// Grows the memory by `bytes`, once and for all.
#[cfg(all(target_arch = "wasm32", not(feature = "component")))]
pub(crate) fn grow(bytes: u64) -> Result<&'static mut [MaybeUninit<u8>], Code> {
    const PAGE: u64 = 65_536;
    let pages = usize::try_from(bytes.div_ceil(PAGE)).map_err(|_| Code::Memory)?;
    let len = pages.checked_mul(PAGE as usize).ok_or(Code::Memory)?;
    let before = core::arch::wasm32::memory_grow::<0>(pages);
    if before == usize::MAX {
        return Err(Code::Memory);
    }
    let start = before.checked_mul(PAGE as usize).ok_or(Code::Memory)?;
    let first = core::ptr::with_exposed_provenance_mut::<MaybeUninit<u8>>(start);
    // SAFETY: these pages came into being just now, nobody else knows them, and a memory never
    // shrinks; no initial value is needed.
    Ok(unsafe { core::slice::from_raw_parts_mut(first, len) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        let config = Config { partitions: 3, window: 5, keys: 7, budget: 11, ..Config::default() };
        Setup { buffer_bytes: 0, config }
    }

    #[test]
    fn a_region_that_begins_anywhere_is_carved_into_a_working_plugin() {
        let plan = Plan::of(&setup()).expect("sound settings");
        let len = usize::try_from(plan.bytes()).expect("small");
        // Miri is some hundred times slower.
        for skip in (0..16).step_by(if cfg!(miri) { 7 } else { 1 }) {
            let mut region = vec![MaybeUninit::uninit(); len + skip];
            let mut ready = plan.carve(&mut region[skip..]).expect("it fits");
            assert_eq!(ready.buffer.len(), BUFFER_BYTES_MIN as usize);
            assert!(ready.buffer.iter().all(|byte| *byte == 0));
            // Polled: all header.
            ready.buffer[0] = 10;
            assert_eq!(ready.plugin.handle(ready.buffer, 5, 32), Ok(0));
            assert_eq!(ready.plugin.now(), 5);
        }
    }

    #[test]
    fn a_region_that_is_too_small_is_refused() {
        let plan = Plan::of(&setup()).expect("sound settings");
        let len = usize::try_from(plan.bytes()).expect("small");
        for short in [100, 1_000, len - 1, len] {
            let mut region = vec![MaybeUninit::uninit(); len - short];
            assert_eq!(plan.carve(&mut region).map(|_| ()), Err(Code::Memory), "{short}");
        }
    }

    #[test]
    fn an_absurd_size_is_counted_and_not_wrapped() {
        let most = Config::ENTRIES_MAX;
        let config = Config {
            partitions: most,
            window: most,
            keys: most,
            budget: most,
            ..Config::default()
        };
        let plan = Plan::of(&Setup { buffer_bytes: 0, config }).expect("sound settings");
        assert!(plan.bytes() > 1 << 40, "{}", plan.bytes());
    }

    #[test]
    fn a_buffer_above_its_limit_is_refused() {
        let above = Setup { buffer_bytes: BUFFER_BYTES_MAX + 1, ..setup() };
        assert_eq!(Plan::of(&above).map(|_| ()), Err(Code::Memory));
    }
}
