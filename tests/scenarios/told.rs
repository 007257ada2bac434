//! The guard of a scenario. Whatever it is told is written down beside it, and judged at its end:
//! every promise of the oracle, and the reference model's answers.

use std::ops::Deref;

use rebalance_guard::{
    Answered, Config, Export, Guard, Input, InputError, Outcome, Output, Partition, Record, Reply,
    Resume, Scope, Tick, Ticket, Verdict,
};
use rebalance_guard_sim::oracle::{self, Witness, check_trace};
use rebalance_guard_sim::{Heap, Model, Subject, Trace};

/// The oracle's books are plain, not quick: each step looks at every partition and assignment.
const STEPS_MAX: usize = 2_000;
const PARTITIONS_MAX: usize = 256;

/// A guard and its history. Reading goes to the guard itself.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    guard: Witness<Guard<Heap>>,
    /// It holds what no input told it: its history alone says nothing.
    elsewhere: bool,
}

impl Told {
    pub(crate) fn new(config: Config) -> Self {
        Self { guard: Witness::new(config, core(config)), elsewhere: false }
    }

    /// A guard that was made of bytes.
    pub(crate) fn restored(guard: Guard<Heap>) -> Self {
        Self { guard: Witness::new(*guard.config(), guard), elsewhere: true }
    }

    pub(crate) fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        self.guard.handle(now, input)
    }

    pub(crate) fn handle_timeout(&mut self, now: Tick) {
        self.guard.handle_timeout(now);
    }

    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        self.guard.poll_output()
    }

    pub(crate) fn assign(
        &mut self,
        now: Tick,
        generation: Option<i32>,
        partitions: &[(Partition, Resume<'_>)],
    ) -> Result<Reply, InputError> {
        self.handle(now, Input::Assign { generation, partitions })
    }

    pub(crate) fn revoke(&mut self, now: Tick, partitions: &[Partition], deadline: Tick) {
        let revoked = self.handle(now, Input::Revoke { partitions, deadline });
        assert_eq!(revoked, Ok(Reply::Done));
    }

    pub(crate) fn lost(&mut self, now: Tick, scope: Scope<'_>) {
        assert_eq!(self.handle(now, Input::Lost(scope)), Ok(Reply::Done));
    }

    pub(crate) fn admit(&mut self, now: Tick, record: Record<'_>) -> Verdict {
        match self.handle(now, Input::Admit(record)) {
            Ok(Reply::Verdict(verdict)) => verdict,
            other => panic!("a record was answered {other:?}"),
        }
    }

    pub(crate) fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut [Verdict],
    ) -> usize {
        let answered = self.guard.admit_batch(now, &records[..records.len().min(verdicts.len())]);
        verdicts[..answered.len()].copy_from_slice(&answered);
        answered.len()
    }

    pub(crate) fn answer(&mut self, now: Tick, ticket: Ticket, outcome: Outcome) -> Answered {
        match self.handle(now, Input::Answer { ticket, outcome }) {
            Ok(Reply::Answered(answered)) => answered,
            other => panic!("an outcome was answered {other:?}"),
        }
    }

    pub(crate) fn import(
        &mut self,
        now: Tick,
        generation: Option<i32>,
        partition: Partition,
        export: Export<'_>,
    ) -> Result<Reply, InputError> {
        self.elsewhere = true;
        self.guard.subject_mut().import(now, generation, partition, export)
    }
}

impl Deref for Told {
    type Target = Guard<Heap>;

    fn deref(&self) -> &Self::Target {
        self.guard.subject()
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        // Miri runs the scenarios for their memory, some hundred times slower.
        if self.elsewhere || std::thread::panicking() || cfg!(miri) {
            return;
        }
        let mut trace = self.guard.trace().expect("nothing is restored behind its witness").clone();
        // The beginning of a history is one; where a scenario is about size, that is enough.
        trace.steps.truncate(STEPS_MAX);
        if trace.partitions.len() <= PARTITIONS_MAX {
            judge(&trace);
        }
    }
}

fn judge(trace: &Trace) {
    let config = trace.config;
    if let Err(broken) = check_trace(config, trace, || core(config)) {
        panic!("{trace}{broken}");
    }
    let (mut core, mut model) = (core(config), Model::new(config));
    if let Err(broken) = oracle::p11_one_behaviour(trace, &mut core, &mut model) {
        panic!("{trace}{broken}");
    }
}

fn core(config: Config) -> Guard<Heap> {
    Guard::new(Heap::new(&config), config).expect("settings of a test are sound")
}
