//! Heap storage for a guard, in one allocation a table, built in place.

use rebalance_guard::Config;
use rebalance_guard::memory::{
    FinishedKey, Flight, JournalSlot, PartitionEntry, Place, ReportEntry,
};
use rebalance_guard::memory::{Layout, Memory, Parts, View};

/// Owned tables on the heap, sized for one [`Config`].
#[derive(Clone, Debug)]
pub struct HeapMemory {
    partitions: Box<[PartitionEntry]>,
    partition_index: Box<[u32]>,
    flights: Box<[Flight]>,
    reserved_index: Box<[u32]>,
    finished_keys: Box<[FinishedKey]>,
    finished_index: Box<[u32]>,
    places: Box<[Place]>,
    reports: Box<[ReportEntry]>,
    carried: Box<[u8]>,
    journal: Box<[JournalSlot]>,
}

impl HeapMemory {
    /// Tables as large as `config` asks for.
    pub fn for_config(config: &Config) -> Self {
        let layout = Layout::of(config);
        Self {
            partitions: vec![PartitionEntry::EMPTY; layout.partitions].into(),
            partition_index: vec![0; layout.partition_index].into(),
            flights: vec![Flight::EMPTY; layout.flights].into(),
            reserved_index: vec![0; layout.reserved_index].into(),
            finished_keys: vec![FinishedKey::EMPTY; layout.finished_keys].into(),
            finished_index: vec![0; layout.finished_index].into(),
            places: vec![Place::EMPTY; layout.places].into(),
            reports: vec![ReportEntry::EMPTY; layout.reports].into(),
            carried: vec![0; layout.carried].into(),
            journal: vec![JournalSlot::EMPTY; layout.journal].into(),
        }
    }
}

impl Memory for HeapMemory {
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
