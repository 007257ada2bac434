//! An engine that outlives its instances: killed before or after the work of any call, it answers
//! as one that never died; where it cannot, it is dead.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use rebalance_guard::{
    Answered, Config, Counters, Event, Input, InputError, JournalEntry, Offset, Outcome, Output,
    Partition, Progress, Record, Reply, Resume, Storm, Tick, Ticket, Verdict, Waiting,
};
use rebalance_guard_host::engine::{Engine, EngineDead};
use rebalance_guard_host::native::NativeEngine;
use rebalance_guard_host::plugin::{Limits, Plugin};
use rebalance_guard_host::recovery::Recovering;
use rebalance_guard_sim::{Runner, random};
use rebalance_guard_tests::plugin::{EngineSubject, bytes, digest, patient, plugin};

/// What a test does to the instances, and what it saw of them.
#[derive(Default)]
struct Fate {
    /// The call that kills, counted down to 1; 0 and below: none.
    strikes: AtomicI64,
    made: AtomicU64,
    snapshots: AtomicU64,
    /// How a snapshot is answered: 0 as it is, 1 too large, 2 by dying.
    snapshot_is: AtomicU64,
    /// The instances made after the first give every record another verdict.
    successors_lie: bool,
}

/// An instance that is torn down when its fate says so.
struct Frail {
    inner: Option<Box<dyn Engine>>,
    fate: Arc<Fate>,
    lies: bool,
}

fn dead() -> EngineDead {
    EngineDead { reason: "it was killed".to_owned() }
}

impl Frail {
    fn boxed(inner: Box<dyn Engine>, fate: &Arc<Fate>) -> Box<dyn Engine> {
        let number = fate.made.fetch_add(1, Ordering::SeqCst);
        let lies = fate.successors_lie && number > 0;
        Box::new(Self { inner: Some(inner), fate: Arc::clone(fate), lies })
    }

    /// A call; the one that is struck dies before its work at an even count, after it at an odd.
    fn go<R>(
        &mut self,
        call: impl FnOnce(&mut dyn Engine) -> Result<R, EngineDead>,
    ) -> Result<R, EngineDead> {
        let struck = self.fate.strikes.fetch_sub(1, Ordering::SeqCst) == 1;
        let early = self.fate.made.load(Ordering::SeqCst).is_multiple_of(2);
        if struck && early {
            self.inner = None;
        }
        let answer = call(&mut **self.inner.as_mut().ok_or_else(dead)?)?;
        if struck {
            self.inner = None;
            return Err(dead());
        }
        Ok(answer)
    }
}

impl Engine for Frail {
    fn name(&self) -> String {
        "frail".to_owned()
    }

    fn handle(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Reply, InputError>, EngineDead> {
        self.go(|engine| engine.handle(now, input))
    }

    fn admit(&mut self, now: Tick, record: &Record<'_>) -> Result<Verdict, EngineDead> {
        let verdict = self.go(|engine| engine.admit(now, record))?;
        let lie = Verdict::Refuse(rebalance_guard::Refuse::OffsetLimit);
        Ok(if self.lies { lie } else { verdict })
    }

    fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), EngineDead> {
        self.go(|engine| engine.admit_batch(now, records, verdicts))
    }

    fn answer(
        &mut self,
        now: Tick,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Result<Answered, EngineDead> {
        self.go(|engine| engine.answer(now, ticket, outcome))
    }

    fn handle_timeout(&mut self, now: Tick) -> Result<(), EngineDead> {
        self.go(|engine| engine.handle_timeout(now))
    }

    fn poll_output(&mut self) -> Result<Option<Output>, EngineDead> {
        self.go(|engine| engine.poll_output())
    }

    fn poll_timeout(&mut self) -> Result<Option<Tick>, EngineDead> {
        self.go(|engine| engine.poll_timeout())
    }

    fn is_live(&mut self, ticket: Ticket) -> Result<bool, EngineDead> {
        self.go(|engine| engine.is_live(ticket))
    }

    fn progress(&mut self, partition: Partition) -> Result<Option<Progress>, EngineDead> {
        self.go(|engine| engine.progress(partition))
    }

    fn owned(&mut self) -> Result<Vec<(Partition, Progress)>, EngineDead> {
        self.go(|engine| engine.owned())
    }

    fn commit_metadata(&mut self, partition: Partition) -> Result<Vec<u8>, EngineDead> {
        self.go(|engine| engine.commit_metadata(partition))
    }

    fn waiting(&mut self) -> Result<Option<Waiting>, EngineDead> {
        self.go(|engine| engine.waiting())
    }

    fn journal(&mut self) -> Result<Vec<JournalEntry>, EngineDead> {
        self.go(|engine| engine.journal())
    }

    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, EngineDead> {
        self.fate.snapshots.fetch_add(1, Ordering::SeqCst);
        match self.fate.snapshot_is.load(Ordering::SeqCst) {
            0 => self.go(|engine| engine.snapshot()),
            1 => self.go(|_| Ok(None)),
            _ => {
                self.inner = None;
                Err(dead())
            }
        }
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> Result<bool, EngineDead> {
        self.go(|engine| engine.restore(now, snapshot))
    }

    fn in_flight(&mut self) -> Result<u32, EngineDead> {
        self.go(|engine| engine.in_flight())
    }

    fn storm(&mut self) -> Result<Storm, EngineDead> {
        self.go(|engine| engine.storm())
    }

    fn counters(&mut self) -> Result<Counters, EngineDead> {
        self.go(|engine| engine.counters())
    }
}

fn native(config: &Config) -> Box<dyn Engine> {
    Box::new(NativeEngine::new(config).expect("sound settings"))
}

fn in_plugin(config: &Config) -> Box<dyn Engine> {
    Box::new(plugin().start(config).expect("it starts"))
}

fn recovering(
    config: &Config,
    fate: &Arc<Fate>,
    make: fn(&Config) -> Box<dyn Engine>,
) -> Recovering {
    let fate = Arc::clone(fate);
    Recovering::start(config, move |config| Ok(Frail::boxed(make(config), &fate)))
        .expect("the first one lives")
}

/// Each third step of a random trace kills an instance in one of the step's calls.
fn a_killed_one_answers_alike(seed: u64, make: fn(&Config) -> Box<dyn Engine>) -> u64 {
    let config = random::config(seed);
    let mut whole = EngineSubject(NativeEngine::new(&config).expect("sound settings"));
    let (trace, expected) = random::trace_on(seed, 120, config, &mut whole);
    let fate = Arc::new(Fate::default());
    let mut killed = EngineSubject(recovering(&config, &fate, make));
    let mut runner = Runner::default();
    for (number, (step, expected)) in trace.steps.iter().zip(&expected).enumerate() {
        if number % 3 == 0 {
            let within = 1 + (seed + number as u64) % 7;
            fate.strikes.store(within.cast_signed(), Ordering::SeqCst);
        }
        let answer = runner.step(&mut killed, &trace.partitions, step);
        assert!(answer == *expected, "seed {seed}, step {number}: {answer:?}\n{expected:?}");
        fate.strikes.store(0, Ordering::SeqCst);
    }
    assert_eq!(killed.0.counters(), whole.0.counters(), "seed {seed}");
    assert_eq!(killed.0.journal(), whole.0.journal(), "seed {seed}");
    assert_eq!(killed.0.snapshot(), whole.0.snapshot(), "seed {seed}");
    fate.made.load(Ordering::SeqCst) - 1
}

#[test]
fn an_engine_killed_in_any_call_answers_as_one_that_never_died() {
    let deaths: u64 = (0..400).map(|seed| a_killed_one_answers_alike(seed, native)).sum();
    assert!(deaths > 8_000, "{deaths} deaths");
}

#[test]
fn a_plugin_killed_in_any_call_answers_as_the_native_guard() {
    let deaths: u64 = (0..20).map(|seed| a_killed_one_answers_alike(seed, in_plugin)).sum();
    assert!(deaths > 400, "{deaths} deaths");
}

#[test]
fn a_real_trap_in_the_middle_of_a_call_is_recovered_from_to_the_byte() {
    let mut died = 0;
    for (seed, fuel) in (0..40_u64).map(|seed| (seed, 1_000 + 600 * seed)) {
        let limits = Limits { fuel_per_call: Some(fuel), ..patient() };
        let cut = Plugin::load(bytes(), &digest(), limits).expect("it passes");
        let config = random::config(seed);
        let mut whole = EngineSubject(NativeEngine::new(&config).expect("sound settings"));
        let (trace, expected) = random::trace_on(seed, 60, config, &mut whole);
        // The first has little to burn; whoever follows has enough.
        let made = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&made);
        let engine = Recovering::start(&config, move |config| {
            let first = count.fetch_add(1, Ordering::SeqCst) == 0;
            let engine = if first { cut.start(config) } else { plugin().start(config) };
            Ok(Box::new(engine.map_err(|error| error.to_string())?))
        });
        // Too little even for the first snapshot.
        let Ok(engine) = engine else { continue };
        let mut runner = Runner::default();
        let mut killed = EngineSubject(engine);
        for (number, (step, expected)) in trace.steps.iter().zip(&expected).enumerate() {
            let answer = runner.step(&mut killed, &trace.partitions, step);
            assert!(answer == *expected, "seed {seed}, step {number}: {answer:?}\n{expected:?}");
        }
        assert_eq!(killed.0.snapshot(), whole.0.snapshot(), "seed {seed}");
        died += made.load(Ordering::SeqCst) - 1;
    }
    assert!(died >= 10, "{died} died");
}

fn at(offset: u64) -> Offset {
    Offset::try_from(offset.cast_signed()).expect("an offset")
}

const PLACE: Partition = Partition { topic: 0, index: 0 };

/// Owns one partition from offset 0 on.
fn owning(config: &Config, fate: &Arc<Fate>) -> Recovering {
    let mut engine = recovering(config, fate, native);
    let partitions = &[(PLACE, Resume::committed(Offset::ZERO))];
    let assign = Input::Assign { generation: Some(1), partitions };
    assert_eq!(engine.handle(Tick::ZERO, assign), Ok(Ok(Reply::Done)));
    assert_eq!(engine.poll_output(), Ok(None));
    engine
}

/// Runs and finishes one record.
fn finish(engine: &mut Recovering, now: u64, offset: u64) -> Result<(), EngineDead> {
    let now = Tick::new(now).expect("a tick");
    let key = offset.to_le_bytes();
    let Verdict::Run(ticket) = engine.admit(now, &Record::new(PLACE, at(offset), Some(&key)))?
    else {
        panic!("{offset} does not run");
    };
    assert_eq!(engine.answer(now, ticket, Outcome::Completed)?, Answered::Done);
    while engine.poll_output()?.is_some() {}
    Ok(())
}

#[test]
fn an_engine_whose_successor_answers_otherwise_is_dead() {
    let fate = Arc::new(Fate { successors_lie: true, ..Fate::default() });
    let mut engine = owning(&Config::default(), &fate);
    finish(&mut engine, 1, 0).expect("alive");
    fate.strikes.store(1, Ordering::SeqCst);
    assert_eq!(engine.handle_timeout(Tick::ZERO), Err(dead()));
    assert_eq!(engine.handle_timeout(Tick::ZERO), Err(dead()), "it stays so");
}

#[test]
fn an_engine_that_was_told_more_than_is_kept_is_dead_until_the_next_snapshot() {
    let fate = Arc::new(Fate::default());
    let mut engine = owning(&Config::default(), &fate);
    for _ in 0..70_000 {
        engine.handle(Tick::ZERO, Input::Polled).expect("alive").expect("taken");
    }
    fate.strikes.store(1, Ordering::SeqCst);
    assert_eq!(engine.handle_timeout(Tick::ZERO), Err(dead()));
    assert_eq!(fate.made.load(Ordering::SeqCst), 1, "nothing was tried");
}

#[test]
fn an_engine_that_was_told_more_than_is_kept_is_safe_again_after_a_snapshot() {
    let fate = Arc::new(Fate::default());
    let mut engine = owning(&Config::default(), &fate);
    for _ in 0..70_000 {
        engine.handle(Tick::ZERO, Input::Polled).expect("alive").expect("taken");
    }
    finish(&mut engine, 1_000, 0).expect("alive");
    fate.strikes.store(1, Ordering::SeqCst);
    finish(&mut engine, 1_000, 1).expect("a fresh one goes on");
    assert_eq!(fate.made.load(Ordering::SeqCst), 2);
}

#[test]
fn a_state_too_large_for_a_snapshot_is_not_asked_for_at_every_pull() {
    let fate = Arc::new(Fate::default());
    let mut engine = owning(&Config::default(), &fate);
    fate.snapshot_is.store(1, Ordering::SeqCst);
    let before = fate.snapshots.load(Ordering::SeqCst);
    for number in 0..10_000 {
        finish(&mut engine, 1_000 + number, number).expect("alive");
    }
    let asked = fate.snapshots.load(Ordering::SeqCst) - before;
    assert_eq!(asked, 1, "ten seconds of work");
}

#[test]
fn an_engine_that_dies_of_being_asked_for_a_snapshot_goes_on_without() {
    let fate = Arc::new(Fate::default());
    let mut engine = owning(&Config::default(), &fate);
    fate.snapshot_is.store(2, Ordering::SeqCst);
    for number in 0..10_000 {
        finish(&mut engine, 1_000 + number, number).expect("alive");
    }
    assert_eq!(engine.progress(PLACE).expect("alive").expect("owned").mark, Some(at(10_000)));
    let made = fate.made.load(Ordering::SeqCst);
    assert!((2..=20).contains(&made), "{made} instances in ten seconds");
}

#[test]
fn the_journal_of_a_dead_engine_is_told_by_a_successor() {
    let fate = Arc::new(Fate::default());
    let mut engine = owning(&Config::default(), &fate);
    finish(&mut engine, 1, 0).expect("alive");
    let stranger = Record::new(Partition::new(0, 9), Offset::ZERO, Some(b"k"));
    engine.admit(Tick::ZERO, &stranger).expect("alive");
    let told = engine.journal().expect("alive");
    assert!(matches!(told.last().map(|entry| entry.event), Some(Event::Refused(_))), "{told:?}");
    // Every instance dies of the same call.
    fate.snapshot_is.store(2, Ordering::SeqCst);
    assert_eq!(engine.snapshot(), Err(dead()));
    assert_eq!(engine.handle_timeout(Tick::ZERO), Err(dead()), "it stays so");
    assert_eq!(engine.journal(), Ok(told));
}

#[test]
fn what_was_restored_at_a_later_tick_is_recovered_at_that_tick() {
    let fate = Arc::new(Fate::default());
    let config = Config::default();
    let mut first = owning(&config, &fate);
    finish(&mut first, 1, 0).expect("alive");
    let snapshot = first.snapshot().expect("alive").expect("small");
    // The lease is over by then: everything is lost, and said so before anything else is told.
    let late = Tick::new(config.lease * 2).expect("a tick");
    let mut whole = NativeEngine::new(&config).expect("sound settings");
    assert_eq!(whole.restore(late, &snapshot), Ok(true));
    let mut second = recovering(&config, &fate, native);
    assert_eq!(second.restore(late, &snapshot), Ok(true));
    let told = |engine: &mut dyn Engine| engine.poll_output().expect("alive");
    let first = told(&mut second);
    assert!(first.is_some());
    assert_eq!(first, told(&mut whole));
    fate.strikes.store(1, Ordering::SeqCst);
    assert_eq!(told(&mut second), told(&mut whole));
}
