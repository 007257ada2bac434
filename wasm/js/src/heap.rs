//! The tables of a guard, as large as its settings ask; refused when there is no memory for them.

use rebalance_guard::Config;
use rebalance_guard::memory::{
    FinishedKey, Flight, JournalSlot, Layout, Memory, PartitionEntry, Parts, Place, ReportEntry,
    View,
};

/// One table a field.
#[derive(Debug)]
pub(crate) struct Heap {
    partitions: Vec<PartitionEntry>,
    partition_index: Vec<u32>,
    flights: Vec<Flight>,
    reserved_index: Vec<u32>,
    finished_keys: Vec<FinishedKey>,
    finished_index: Vec<u32>,
    places: Vec<Place>,
    reports: Vec<ReportEntry>,
    carried: Vec<u8>,
    journal: Vec<JournalSlot>,
}

impl Heap {
    /// Tables for `config`, or `None` when there is no memory for them.
    pub(crate) fn new(config: &Config) -> Option<Self> {
        let layout = Layout::of(config);
        Some(Self {
            partitions: table(PartitionEntry::EMPTY, layout.partitions)?,
            partition_index: table(0, layout.partition_index)?,
            flights: table(Flight::EMPTY, layout.flights)?,
            reserved_index: table(0, layout.reserved_index)?,
            finished_keys: table(FinishedKey::EMPTY, layout.finished_keys)?,
            finished_index: table(0, layout.finished_index)?,
            places: table(Place::EMPTY, layout.places)?,
            reports: table(ReportEntry::EMPTY, layout.reports)?,
            carried: table(0, layout.carried)?,
            journal: table(JournalSlot::EMPTY, layout.journal)?,
        })
    }
}

fn table<T: Clone>(empty: T, len: usize) -> Option<Vec<T>> {
    let mut table = Vec::new();
    table.try_reserve_exact(len).ok()?;
    table.resize(len, empty);
    Some(table)
}

impl Memory for Heap {
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            partitions: &mut self.partitions,
            partition_index: &mut self.partition_index,
            flights: &mut self.flights,
            reserved_index: &mut self.reserved_index,
            finished_keys: &mut self.finished_keys,
            finished_index: &mut self.finished_index,
            places: &mut self.places,
            reports: &mut self.reports,
            carried: &mut self.carried,
            journal: &mut self.journal,
        }
    }

    fn view(&self) -> View<'_> {
        View {
            partitions: &self.partitions,
            partition_index: &self.partition_index,
            flights: &self.flights,
            finished_keys: &self.finished_keys,
            places: &self.places,
            reports: &self.reports,
            carried: &self.carried,
            journal: &self.journal,
        }
    }
}
