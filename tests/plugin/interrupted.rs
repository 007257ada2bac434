//! A call that is cut short anywhere: what was said before is right, and nothing is said after.

use rebalance_guard::{Config, Tick};
use rebalance_guard_host::engine::Engine;
use rebalance_guard_host::native::NativeEngine;
use rebalance_guard_host::plugin::{Limits, Plugin, PluginEngine};
use rebalance_guard_sim::{Answer, Runner, Subject, Trace, random};
use rebalance_guard_tests::plugin::{EngineSubject, bytes, digest, patient};

/// Runs the trace until the plugin is dead; the answers of whole steps, and whether it died.
fn run_until_dead(trace: &Trace, mut engine: PluginEngine) -> (Vec<Answer>, bool) {
    let mut runner = Runner::default();
    let mut answers = Vec::new();
    for step in &trace.steps {
        let mut subject = Mortal { engine: &mut engine };
        let answer = runner.step(&mut subject, &trace.partitions, step);
        if let Some(dead) = engine.dead() {
            assert_eq!(dead.reason, "it ran past its limit of instructions");
            let dead = dead.clone();
            assert_eq!(engine.handle_timeout(Tick::ZERO), Err(dead.clone()));
            assert_eq!(engine.poll_output(), Err(dead));
            return (answers, true);
        }
        answers.push(answer);
    }
    (answers, false)
}

/// A subject whose answers mean nothing once its engine is dead.
struct Mortal<'a> {
    engine: &'a mut PluginEngine,
}

impl Subject for Mortal<'_> {
    fn handle(
        &mut self,
        now: Tick,
        input: rebalance_guard::Input<'_>,
    ) -> Result<rebalance_guard::Reply, rebalance_guard::InputError> {
        self.engine.handle(now, input).unwrap_or(Ok(rebalance_guard::Reply::Stale))
    }

    fn admit_batch(
        &mut self,
        now: Tick,
        records: &[rebalance_guard::Record<'_>],
    ) -> Vec<rebalance_guard::Verdict> {
        let mut verdicts = Vec::new();
        let _ = self.engine.admit_batch(now, records, &mut verdicts);
        verdicts
    }

    fn handle_timeout(&mut self, now: Tick) {
        let _ = self.engine.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<rebalance_guard::Output> {
        self.engine.poll_output().unwrap_or_default()
    }

    fn poll_timeout(&mut self) -> Option<Tick> {
        self.engine.poll_timeout().unwrap_or_default()
    }

    fn is_live(&mut self, ticket: rebalance_guard::Ticket) -> bool {
        self.engine.is_live(ticket).unwrap_or_default()
    }

    fn progress(
        &mut self,
        partition: rebalance_guard::Partition,
    ) -> Option<rebalance_guard::Progress> {
        self.engine.progress(partition).unwrap_or_default()
    }

    fn commit_metadata(&mut self, partition: rebalance_guard::Partition) -> Vec<u8> {
        self.engine.commit_metadata(partition).unwrap_or_default()
    }

    fn waiting(&mut self) -> Option<rebalance_guard::Waiting> {
        self.engine.waiting().unwrap_or_default()
    }

    fn in_flight(&mut self) -> u32 {
        self.engine.in_flight().unwrap_or_default()
    }

    fn snapshot(&mut self) -> Option<Vec<u8>> {
        self.engine.snapshot().unwrap_or_default()
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool {
        self.engine.restore(now, snapshot).unwrap_or_default()
    }

    fn storm(&mut self) -> rebalance_guard::Storm {
        self.engine.storm().unwrap_or(rebalance_guard::Storm::Calm)
    }
}

// B143 (wasmtime#13802)
#[test]
fn an_interrupted_guard_is_discarded_and_was_right_until_then() {
    let traces: Vec<_> = (1..=4).map(|seed| random::trace(seed, 60)).collect();
    let expected: Vec<Vec<Answer>> = traces.iter().map(native).collect();
    let (mut died, mut lived) = (0, 0);
    let mut fuel: u64 = 20;
    while fuel < 2_000_000 {
        let limits = Limits { fuel_per_call: Some(fuel), ..patient() };
        let plugin = Plugin::load(bytes(), &digest(), limits).expect("it passes");
        for (trace, expected) in traces.iter().zip(&expected) {
            let engine = plugin.start(&trace.config).expect("starting is not limited");
            let (answers, dead) = run_until_dead(trace, engine);
            assert_eq!(answers, expected[..answers.len()], "seed {}, fuel {fuel}", trace.seed);
            assert!(dead || answers.len() == trace.steps.len());
            died += i32::from(dead);
            lived += i32::from(!dead);
        }
        fuel *= 2;
    }
    assert!(died >= 20 && lived >= 4, "{died} died, {lived} lived");
}

fn native(trace: &Trace) -> Vec<Answer> {
    let engine = NativeEngine::new(&trace.config).expect("sound settings");
    rebalance_guard_sim::run(trace, &mut EngineSubject(engine))
}

// B143: half-applied is discarded, so a fresh guard with the same settings is whole.
#[test]
fn a_fresh_guard_after_an_interruption_knows_nothing_of_it() {
    let limits = Limits { fuel_per_call: Some(200), ..patient() };
    let cut = Plugin::load(bytes(), &digest(), limits).expect("it passes");
    let trace = random::trace(5, 60);
    let (answers, dead) = run_until_dead(&trace, cut.start(&trace.config).expect("it starts"));
    assert!(dead, "{} answers", answers.len());
    let mut fresh =
        cut.start(&Config { first_assignment: 9_000, ..trace.config }).expect("it starts");
    assert_eq!(fresh.owned().map_err(|dead| dead.reason), Ok(vec![]));
}
