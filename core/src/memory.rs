//! Storage: owned, lent or static. The logic works on slices, so there is one copy of the code.

pub use crate::flight::Flight;
pub use crate::journal::JournalSlot;
pub use crate::partition::PartitionEntry;
pub use crate::place::Place;
use crate::report::REPORTS;
pub use crate::report::ReportEntry;
pub use crate::window::FinishedKey;
use crate::{Config, ConfigError};

/// Where a guard keeps its tables. Every implementation gives slices of fixed length; the guard
/// fills them itself when it is made, and uses as many places as its [`Config`] asks for.
pub trait Memory {
    /// The tables, for a call that changes them.
    fn parts(&mut self) -> Parts<'_>;
    /// The tables, for a call that only reads.
    fn view(&self) -> View<'_>;
}

/// The tables of a guard.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "implementors of Memory build it")]
pub struct Parts<'a> {
    /// One place per partition.
    pub partitions: &'a mut [PartitionEntry],
    /// Finds a partition: two places per partition.
    pub partition_index: &'a mut [u32],
    /// One place per record in flight.
    pub flights: &'a mut [Flight],
    /// Finds a reserved key: two places per record in flight.
    pub reserved_index: &'a mut [u32],
    /// One place per finished key.
    pub finished_keys: &'a mut [FinishedKey],
    /// Finds a finished key: two places per finished key.
    pub finished_index: &'a mut [u32],
    /// `budget` places per partition.
    pub places: &'a mut [Place],
    /// Five places per partition.
    pub reports: &'a mut [ReportEntry],
    /// `metadata_max` bytes per partition.
    pub carried: &'a mut [u8],
    /// One place per journal entry.
    pub journal: &'a mut [JournalSlot],
}

impl Parts<'_> {
    /// The same tables, to be read.
    pub(crate) fn view(&self) -> View<'_> {
        View {
            partitions: self.partitions,
            partition_index: self.partition_index,
            flights: self.flights,
            finished_keys: self.finished_keys,
            places: self.places,
            reports: self.reports,
            carried: self.carried,
            journal: self.journal,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.partitions.fill(PartitionEntry::EMPTY);
        self.partition_index.fill(0);
        self.flights.fill(Flight::EMPTY);
        self.reserved_index.fill(0);
        self.finished_keys.fill(FinishedKey::EMPTY);
        self.finished_index.fill(0);
        self.places.fill(Place::EMPTY);
        self.reports.fill(ReportEntry::EMPTY);
        self.carried.fill(0);
        self.journal.fill(JournalSlot::EMPTY);
    }
}

/// The tables of a guard, to be read.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "implementors of Memory build it")]
pub struct View<'a> {
    /// One place per partition.
    pub partitions: &'a [PartitionEntry],
    /// Finds a partition: two places per partition.
    pub partition_index: &'a [u32],
    /// One place per record in flight.
    pub flights: &'a [Flight],
    /// One place per finished key.
    pub finished_keys: &'a [FinishedKey],
    /// `budget` places per partition.
    pub places: &'a [Place],
    /// Five places per partition.
    pub reports: &'a [ReportEntry],
    /// `metadata_max` bytes per partition.
    pub carried: &'a [u8],
    /// One place per journal entry.
    pub journal: &'a [JournalSlot],
}

/// How many places each table needs for given settings.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "read by whoever lends memory")]
pub struct Layout {
    /// Places in [`Parts::partitions`].
    pub partitions: usize,
    /// Places in [`Parts::partition_index`].
    pub partition_index: usize,
    /// Places in [`Parts::flights`].
    pub flights: usize,
    /// Places in [`Parts::reserved_index`].
    pub reserved_index: usize,
    /// Places in [`Parts::finished_keys`].
    pub finished_keys: usize,
    /// Places in [`Parts::finished_index`].
    pub finished_index: usize,
    /// Places in [`Parts::places`].
    pub places: usize,
    /// Places in [`Parts::reports`].
    pub reports: usize,
    /// Bytes in [`Parts::carried`].
    pub carried: usize,
    /// Places in [`Parts::journal`].
    pub journal: usize,
}

impl Layout {
    /// What `config` needs. Sizes saturate, so an absurd setting fails the check against real
    /// memory instead of wrapping.
    pub const fn of(config: &Config) -> Self {
        let partitions = config.partitions as usize;
        let window = config.window as usize;
        let keys = config.keys as usize;
        Self {
            partitions,
            partition_index: partitions.saturating_mul(2),
            flights: window,
            reserved_index: window.saturating_mul(2),
            finished_keys: keys,
            finished_index: keys.saturating_mul(2),
            places: partitions.saturating_mul(config.budget as usize),
            reports: partitions.saturating_mul(REPORTS as usize),
            carried: partitions.saturating_mul(config.metadata_max as usize),
            journal: config.journal as usize,
        }
    }

    /// Bytes of all tables together, saturating.
    pub const fn bytes(&self) -> usize {
        let mut sum = self.partitions.saturating_mul(size_of::<PartitionEntry>());
        sum = sum.saturating_add(self.partition_index.saturating_mul(4));
        sum = sum.saturating_add(self.flights.saturating_mul(size_of::<Flight>()));
        sum = sum.saturating_add(self.reserved_index.saturating_mul(4));
        sum = sum.saturating_add(self.finished_keys.saturating_mul(size_of::<FinishedKey>()));
        sum = sum.saturating_add(self.finished_index.saturating_mul(4));
        sum = sum.saturating_add(self.places.saturating_mul(size_of::<Place>()));
        sum = sum.saturating_add(self.reports.saturating_mul(size_of::<ReportEntry>()));
        sum = sum.saturating_add(self.carried);
        sum.saturating_add(self.journal.saturating_mul(size_of::<JournalSlot>()))
    }

    /// Whether `parts` has room for it.
    pub(crate) fn check(&self, parts: &Parts<'_>) -> Result<(), ConfigError> {
        let pairs = [
            ("partitions", self.partitions, parts.partitions.len()),
            ("the partition index", self.partition_index, parts.partition_index.len()),
            ("records in flight", self.flights, parts.flights.len()),
            ("the index of reserved keys", self.reserved_index, parts.reserved_index.len()),
            ("finished keys", self.finished_keys, parts.finished_keys.len()),
            ("the index of finished keys", self.finished_index, parts.finished_index.len()),
            ("records at or above the mark", self.places, parts.places.len()),
            ("reports", self.reports, parts.reports.len()),
            ("carried offsets", self.carried, parts.carried.len()),
            ("the journal", self.journal, parts.journal.len()),
        ];
        for (part, needed, available) in pairs {
            if needed > available {
                return Err(ConfigError::MemoryTooSmall { part, needed, available });
            }
        }
        Ok(())
    }
}

/// Owned storage of fixed size: `P` partitions, `W` records in flight, `K` finished keys, `B`
/// records at or above each partition's mark, `M` bytes of commit metadata a partition, `J` journal
/// entries. `const`, so it can lie in a `static`; too large for a stack when `K` or `P * B` is
/// large (lend heap memory then).
#[derive(Clone, Debug)]
pub struct StaticMemory<
    const P: usize,
    const W: usize,
    const K: usize,
    const B: usize,
    const M: usize,
    const J: usize,
> {
    partitions: [PartitionEntry; P],
    partition_index: [[u32; 2]; P],
    flights: [Flight; W],
    reserved_index: [[u32; 2]; W],
    finished_keys: [FinishedKey; K],
    finished_index: [[u32; 2]; K],
    places: [[Place; B]; P],
    reports: [[ReportEntry; REPORTS as usize]; P],
    carried: [[u8; M]; P],
    journal: [JournalSlot; J],
}

impl<const P: usize, const W: usize, const K: usize, const B: usize, const M: usize, const J: usize>
    StaticMemory<P, W, K, B, M, J>
{
    /// Empty storage.
    pub const fn new() -> Self {
        Self {
            partitions: [PartitionEntry::EMPTY; P],
            partition_index: [[0; 2]; P],
            flights: [Flight::EMPTY; W],
            reserved_index: [[0; 2]; W],
            finished_keys: [FinishedKey::EMPTY; K],
            finished_index: [[0; 2]; K],
            places: [[Place::EMPTY; B]; P],
            reports: [[ReportEntry::EMPTY; REPORTS as usize]; P],
            carried: [[0; M]; P],
            journal: [JournalSlot::EMPTY; J],
        }
    }
}

impl<const P: usize, const W: usize, const K: usize, const B: usize, const M: usize, const J: usize>
    Default for StaticMemory<P, W, K, B, M, J>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<const P: usize, const W: usize, const K: usize, const B: usize, const M: usize, const J: usize>
    Memory for StaticMemory<P, W, K, B, M, J>
{
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            partitions: &mut self.partitions,
            partition_index: self.partition_index.as_flattened_mut(),
            flights: &mut self.flights,
            reserved_index: self.reserved_index.as_flattened_mut(),
            finished_keys: &mut self.finished_keys,
            finished_index: self.finished_index.as_flattened_mut(),
            places: self.places.as_flattened_mut(),
            reports: self.reports.as_flattened_mut(),
            carried: self.carried.as_flattened_mut(),
            journal: &mut self.journal,
        }
    }

    fn view(&self) -> View<'_> {
        View {
            partitions: &self.partitions,
            partition_index: self.partition_index.as_flattened(),
            flights: &self.flights,
            finished_keys: &self.finished_keys,
            places: self.places.as_flattened(),
            reports: self.reports.as_flattened(),
            carried: self.carried.as_flattened(),
            journal: &self.journal,
        }
    }
}

impl Memory for Parts<'_> {
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            partitions: self.partitions,
            partition_index: self.partition_index,
            flights: self.flights,
            reserved_index: self.reserved_index,
            finished_keys: self.finished_keys,
            finished_index: self.finished_index,
            places: self.places,
            reports: self.reports,
            carried: self.carried,
            journal: self.journal,
        }
    }

    fn view(&self) -> View<'_> {
        Parts::view(self)
    }
}

impl<M: Memory + ?Sized> Memory for &mut M {
    fn parts(&mut self) -> Parts<'_> {
        (**self).parts()
    }

    fn view(&self) -> View<'_> {
        (**self).view()
    }
}
