//! Snapshot bytes: refused, or a guard that works.

use rebalance_guard::{Config, Guard, Tick, reseal_snapshot};
use rebalance_guard_sim::{Heap, Trace, random, run};

use super::source::Source;
use super::{core, taken};

const STEPS: usize = 60;
/// Guards whose snapshots are changed; small settings, each with its own.
const SEEDS: u8 = 32;

/// A guard in the middle of its work, its snapshot, and inputs for whoever goes on from it.
struct Old {
    config: Config,
    now: Tick,
    bytes: Vec<u8>,
    next: Trace,
}

thread_local! {
    /// Made once: the fuzzer asks for them millions of times.
    static OLD: Vec<Old> = (0..SEEDS).map(|seed| old(u64::from(seed))).collect();
}

fn old(seed: u64) -> Old {
    let trace = random::trace(seed, STEPS);
    let mut guard = core(trace.config);
    run(&trace, &mut guard);
    let next = random::trace(seed + 1, STEPS);
    Old { config: trace.config, now: guard.now(), bytes: taken(&guard), next }
}

/// Bytes of a real snapshot are changed as the fuzzer says, or all of them are the fuzzer's; with
/// a sound checksum they reach every check behind it.
pub fn snapshot(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    let number = usize::from(source.below(SEEDS));
    OLD.with(|all| {
        let old = &all[number];
        let whole = source.below(4) == 3;
        let mut forged = if whole { source.rest().to_vec() } else { changed(old, source) };
        restored(old, &forged);
        reseal_snapshot(&mut forged);
        restored(old, &forged);
    });
}

fn changed(old: &Old, mut source: Source<'_>) -> Vec<u8> {
    let mut bytes = old.bytes.clone();
    while !source.is_empty() {
        let at = usize::from(u16::from_le_bytes(source.array()));
        let value = source.u8();
        let len = bytes.len();
        match bytes.get_mut(at) {
            Some(byte) => *byte = value,
            None => bytes.truncate(len.saturating_sub(usize::from(value))),
        }
    }
    bytes
}

/// A restored guard's own snapshot is restorable, and it answers whatever comes.
fn restored(old: &Old, bytes: &[u8]) {
    let Old { config, now, .. } = *old;
    let restored = Guard::restore(Heap::new(&config), config, now, bytes);
    let mut reloaded = core(config);
    let outcome = reloaded.reload(now, bytes);
    assert_eq!(outcome.is_ok(), restored.is_ok(), "restore and reload agree");
    if outcome.is_err() {
        assert_eq!(taken(&reloaded), taken(&core(config)), "a refused snapshot left a trace");
    }
    let Ok(mut guard) = restored else { return };
    let again = taken(&guard);
    assert_eq!(taken(&reloaded), again, "restore and reload agree on the state");
    let second = Guard::restore(Heap::new(&config), config, guard.now(), &again);
    assert_eq!(taken(&second.expect("its own snapshot")), again);
    run(&old.next, &mut guard);
}
