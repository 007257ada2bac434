//! What the benchmarks share: a guard at its defaults on heap tables, and traffic for it.
#![forbid(unsafe_code)]

use rebalance_guard::memory::{
    FinishedKey, Flight, JournalSlot, Layout, PartitionEntry, Parts, Place, ReportEntry,
};
use rebalance_guard::{
    CommitAnswer, Config, Guard, Input, Offset, Outcome, Output, Partition, Record, Resume, Tick,
    Verdict,
};

/// Partitions that the traffic goes through in turn.
pub const PARTITIONS: u32 = 12;
/// One record in so many repeats an earlier key.
const REPEAT_EVERY: u64 = 20;
/// Records in one tick (one millisecond).
const RECORDS_PER_TICK: u64 = 100;

/// Heap tables to lend to a guard.
#[derive(Debug)]
pub struct Tables {
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

impl Tables {
    /// Tables as large as `config` asks for.
    pub fn of(config: &Config) -> Self {
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

    /// The tables, for a guard that borrows them.
    pub fn lend(&mut self) -> Parts<'_> {
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
}

/// A guard that owns [`PARTITIONS`] partitions, and what its host remembers.
#[derive(Debug)]
pub struct Traffic<'a> {
    guard: Guard<Parts<'a>>,
    records: u64,
    key: [u8; 36],
}

impl<'a> Traffic<'a> {
    /// A guard at `config`, assigned and ready.
    ///
    /// # Errors
    /// The settings contradict themselves, or the assign was refused.
    pub fn new(tables: &'a mut Tables, config: Config) -> Result<Self, Box<dyn std::error::Error>> {
        let mut guard = Guard::new(tables.lend(), config)?;
        let owned: Vec<(Partition, Resume<'_>)> = (0..PARTITIONS)
            .map(|number| (partition(number), Resume::committed(Offset::ZERO)))
            .collect();
        guard.assign(Tick::ZERO, Some(1), &owned)?;
        Ok(Self { guard, records: 0, key: *b"00000000-order-of-a-customer-in-2026" })
    }

    /// One record as a host drives it: admit, run nothing, complete, do what is owed. Says whether
    /// it ran.
    pub fn one_record(&mut self) -> bool {
        let number = self.records;
        self.records += 1;
        let now = Tick::ZERO.after(number / RECORDS_PER_TICK);
        // Each 20th record names the operation of the one ten before it.
        let operation =
            if number % REPEAT_EVERY == REPEAT_EVERY - 1 { number - 10 } else { number };
        self.key[..8].copy_from_slice(&operation.to_le_bytes());
        let partitions = u64::from(PARTITIONS);
        let place = partition(u32::try_from(number % partitions).unwrap_or_default());
        let offset = Offset::new(number / partitions).unwrap_or(Offset::RECORD_MAX);
        let ran = match self.guard.admit(now, Record::new(place, offset, Some(&self.key))) {
            Verdict::Run(ticket) => {
                self.guard.answer(now, ticket, Outcome::Completed);
                true
            }
            _ => false,
        };
        self.do_what_is_owed(now);
        ran
    }

    fn do_what_is_owed(&mut self, now: Tick) {
        self.guard.polled(now);
        while let Some(output) = self.guard.poll_output() {
            if let Output::Commit { partition, offset, token, .. } = output {
                let (assignment, answer) = (token.assignment, CommitAnswer::Stored);
                let stored = Input::CommitAnswered { partition, assignment, offset, answer };
                // Never refused: it answers an offer that was just made.
                let _reply = self.guard.handle(now, stored);
            }
        }
    }
}

fn partition(number: u32) -> Partition {
    Partition::new(0, i32::try_from(number).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nineteen_of_twenty_records_run_and_the_repeat_is_skipped() {
        let config = Config::default();
        let mut tables = Tables::of(&config);
        let mut traffic = Traffic::new(&mut tables, config).expect("the defaults are sound");
        let ran = (0..2_000).filter(|_| traffic.one_record()).count();
        assert_eq!(ran, 1_900);
    }
}
