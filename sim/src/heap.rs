//! Heap storage for a native guard, as large as its settings ask.

use rebalance_guard::Config;
use rebalance_guard::memory::{
    FinishedKey, Flight, JournalSlot, Layout, Memory, PartitionEntry, Parts, Place, ReportEntry,
    View,
};

/// The tables of one guard on the heap.
#[derive(Clone, Debug)]
pub struct Heap {
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
    /// Storage for `config`.
    pub fn new(config: &Config) -> Self {
        let layout = Layout::of(config);
        Self {
            partitions: vec![PartitionEntry::EMPTY; layout.partitions],
            partition_index: vec![0; layout.partition_index],
            flights: vec![Flight::EMPTY; layout.flights],
            reserved_index: vec![0; layout.reserved_index],
            finished_keys: vec![FinishedKey::EMPTY; layout.finished_keys],
            finished_index: vec![0; layout.finished_index],
            places: vec![Place::EMPTY; layout.places],
            reports: vec![ReportEntry::EMPTY; layout.reports],
            carried: vec![0; layout.carried],
            journal: vec![JournalSlot::EMPTY; layout.journal],
        }
    }
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
