//! A guard that was snapshot and restored is the guard that it was.

use std::cell::Cell;

use rebalance_guard::{
    Config, Guard, Input, InputError, Output, Partition, Progress, Record, Reply, RestoreError,
    Storm, Tick, Ticket, Verdict, Waiting, reseal_snapshot, snapshot_len_max,
};
use rebalance_guard_sim::{Heap, Subject, difference, random, run};

use crate::support::{STEPS, core, for_each_seed, seeds};

fn taken(guard: &Guard<Heap>) -> Vec<u8> {
    let mut bytes = vec![0; guard.snapshot_len()];
    let len = guard.snapshot(&mut bytes).expect("the room was measured");
    assert_eq!(len, bytes.len());
    bytes
}

fn restored(config: Config, now: Tick, bytes: &[u8]) -> Result<Guard<Heap>, RestoreError> {
    Guard::restore(Heap::new(&config), config, now, bytes)
}

/// A guard that is replaced by its restored self all the time, also while outputs are pulled.
struct Swapped {
    guard: Guard<Heap>,
    swaps: Cell<u64>,
    every: u64,
}

impl Swapped {
    fn new(config: Config, every: u64) -> Self {
        Self { guard: core(config), swaps: Cell::new(0), every }
    }

    fn swap(&mut self) {
        self.swaps.set(self.swaps.get() + 1);
        if !self.swaps.get().is_multiple_of(self.every) {
            return;
        }
        let (config, now) = (*self.guard.config(), self.guard.now());
        let bytes = taken(&self.guard);
        self.guard = restored(config, now, &bytes).expect("a guard's own snapshot");
        assert_eq!(taken(&self.guard), bytes, "the restored guard's own snapshot");
    }
}

impl Subject for Swapped {
    fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        self.swap();
        self.guard.handle(now, input)
    }

    fn admit_batch(&mut self, now: Tick, records: &[Record<'_>]) -> Vec<Verdict> {
        self.swap();
        Subject::admit_batch(&mut self.guard, now, records)
    }

    fn handle_timeout(&mut self, now: Tick) {
        self.swap();
        self.guard.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.swap();
        self.guard.poll_output()
    }

    fn poll_timeout(&mut self) -> Option<Tick> {
        self.guard.poll_timeout()
    }

    fn is_live(&mut self, ticket: Ticket) -> bool {
        self.guard.is_live(ticket)
    }

    fn progress(&mut self, partition: Partition) -> Option<Progress> {
        self.guard.progress(partition)
    }

    fn commit_metadata(&mut self, partition: Partition) -> Vec<u8> {
        Subject::commit_metadata(&mut self.guard, partition)
    }

    fn waiting(&mut self) -> Option<Waiting> {
        self.guard.waiting()
    }

    fn in_flight(&mut self) -> u32 {
        self.guard.in_flight()
    }

    fn snapshot(&mut self) -> Option<Vec<u8>> {
        Subject::snapshot(&mut self.guard)
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool {
        Subject::restore(&mut self.guard, now, snapshot)
    }

    fn storm(&mut self) -> Storm {
        self.guard.storm()
    }
}

#[test]
fn a_guard_restored_again_and_again_answers_like_one_that_never_was() {
    for_each_seed(seeds(500), |seed| {
        let trace = random::trace(seed, STEPS);
        let mut swapped = Swapped::new(trace.config, seed % 3 + 1);
        let found = difference(&trace, &mut core(trace.config), &mut swapped);
        found.map(|difference| difference.explain(&trace, "core", "restored"))
    });
}

#[test]
fn counters_and_journal_are_restored_too() {
    for_each_seed(seeds(100), |seed| {
        let trace = random::trace(seed, STEPS);
        let mut guard = core(trace.config);
        run(&trace, &mut guard);
        let other = restored(trace.config, guard.now(), &taken(&guard)).expect("its own snapshot");
        assert_eq!(other.counters(), guard.counters());
        assert!(other.journal().eq(guard.journal()));
        assert_eq!(other.waiting(), guard.waiting());
        None
    });
}

#[test]
fn no_snapshot_is_longer_than_what_hosts_make_room_for() {
    for_each_seed(seeds(100), |seed| {
        let trace = random::trace(seed, STEPS);
        let mut guard = core(trace.config);
        run(&trace, &mut guard);
        let (len, most) = (guard.snapshot_len() as u64, snapshot_len_max(&trace.config));
        (len > most).then(|| format!("{trace}{len} bytes, said to be at most {most}"))
    });
}

#[test]
fn a_damaged_snapshot_is_refused_wherever_the_damage_is() {
    let trace = random::trace(5, STEPS);
    let mut guard = core(trace.config);
    run(&trace, &mut guard);
    let bytes = taken(&guard);
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1 << (at % 8);
        assert!(restored(trace.config, guard.now(), &other).is_err(), "byte {at}");
        assert!(restored(trace.config, guard.now(), &bytes[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn forged_snapshots_are_refused_or_give_a_guard_that_works() {
    let made = Cell::new(0_u32);
    for seed in 0..300 {
        let trace = random::trace(seed, 60);
        let mut guard = core(trace.config);
        run(&trace, &mut guard);
        let bytes = taken(&guard);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..40 {
            let mut other = bytes.clone();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(24..other.len());
                other[at] = if rng.bool() { rng.u8(..) } else { [0, 1, 2, 255][rng.usize(0..4)] };
            }
            reseal_snapshot(&mut other);
            if let Ok(mut forged) = restored(trace.config, guard.now(), &other) {
                made.set(made.get() + 1);
                run(&random::trace(seed + 1, 60), &mut forged);
            }
        }
    }
    assert!(made.get() > 100, "{} forged snapshots were restored", made.get());
}
