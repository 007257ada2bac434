//! Seeds, guards and threads.

use std::ops::Range;

use rebalance_guard::{Config, Guard};
use rebalance_guard_sim::{Heap, Trace, shrink};

/// Inputs in an ordinary trace.
pub(crate) const STEPS: usize = 200;

/// The seeds that a test takes: `RG_SEEDS` of them when it is set, else `default`.
pub(crate) fn seeds(default: u64) -> Range<u64> {
    let count = std::env::var("RG_SEEDS").ok().map(|text| {
        text.parse().unwrap_or_else(|_| panic!("RG_SEEDS is no number of seeds: {text:?}"))
    });
    0..count.unwrap_or(default)
}

/// A fresh core with room for `config`.
pub(crate) fn core(config: Config) -> Guard<Heap> {
    Guard::new(Heap::new(&config), config).expect("the generator's settings are sound")
}

/// Runs `check` for every seed on every processor; panics with the complaint of the lowest seed
/// that has one.
pub(crate) fn for_each_seed(seeds: Range<u64>, check: impl Fn(u64) -> Option<String> + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let complaint = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let (seeds, check) = (seeds.clone(), &check);
                scope.spawn(move || {
                    let mut own = seeds.filter(|seed| seed % threads == worker);
                    own.find_map(|seed| Some((seed, check(seed)?)))
                })
            })
            .collect();
        let found = workers.into_iter().filter_map(|worker| worker.join().expect("no panic"));
        found.min()
    });
    if let Some((seed, complaint)) = complaint {
        panic!("seed {seed}:\n{complaint}");
    }
}

/// The trace up to `step`, made as short as `fails` allows.
pub(crate) fn shortened(trace: &Trace, step: usize, fails: impl Fn(&Trace) -> bool) -> Trace {
    let mut trace = trace.clone();
    trace.steps.truncate(step + 1);
    if fails(&trace) { shrink(&trace, fails) } else { trace }
}
