//! A host that pulls outputs only now and then still gets the same ones from core and model.

use rebalance_guard::{
    Input, InputError, Output, Partition, Progress, Record, Reply, Storm, Tick, Ticket, Verdict,
    Waiting,
};
use rebalance_guard_sim::{Model, Subject, difference, random};

use crate::support::{STEPS, core, for_each_seed, seeds};

/// Lets outputs be pulled after every so manieth call alone.
struct Lazy<S> {
    inner: S,
    calls: u64,
    every: u64,
}

impl<S> Lazy<S> {
    fn new(inner: S, every: u64) -> Self {
        Self { inner, calls: 0, every }
    }
}

impl<S: Subject> Subject for Lazy<S> {
    fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        self.calls += 1;
        self.inner.handle(now, input)
    }

    fn admit_batch(&mut self, now: Tick, records: &[Record<'_>]) -> Vec<Verdict> {
        self.calls += 1;
        self.inner.admit_batch(now, records)
    }

    fn handle_timeout(&mut self, now: Tick) {
        self.calls += 1;
        self.inner.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        if self.calls.is_multiple_of(self.every) { self.inner.poll_output() } else { None }
    }

    fn poll_timeout(&mut self) -> Option<Tick> {
        self.inner.poll_timeout()
    }

    fn is_live(&mut self, ticket: Ticket) -> bool {
        self.inner.is_live(ticket)
    }

    fn progress(&mut self, partition: Partition) -> Option<Progress> {
        self.inner.progress(partition)
    }

    fn commit_metadata(&mut self, partition: Partition) -> Vec<u8> {
        self.inner.commit_metadata(partition)
    }

    fn waiting(&mut self) -> Option<Waiting> {
        self.inner.waiting()
    }

    fn in_flight(&mut self) -> u32 {
        self.inner.in_flight()
    }

    fn snapshot(&mut self) -> Option<Vec<u8>> {
        self.inner.snapshot()
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool {
        self.inner.restore(now, snapshot)
    }

    fn storm(&mut self) -> Storm {
        self.inner.storm()
    }
}

#[test]
fn the_core_and_the_model_agree_when_outputs_are_pulled_late() {
    for_each_seed(seeds(600), |seed| {
        let config = random::config(seed);
        if random::partitions(seed).len() > config.partitions as usize {
            // The reports of a forgotten partition are overtaken by those of the one in its place.
            return None;
        }
        let every = seed % 4 + 2;
        let mut driven = Lazy::new(Model::new(config), every);
        let (trace, _) = random::trace_on(seed, STEPS, config, &mut driven);
        let mut core = Lazy::new(core(config), every);
        let found = difference(&trace, &mut core, &mut Lazy::new(Model::new(config), every))?;
        Some(found.explain(&trace, "core", "model"))
    });
}
