//! Another engine takes over while records are in flight: after a trap, and because it was asked.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rebalance_guard::{
    Answered, Config, Counters, Input, InputError, JournalEntry, Outcome, Output, Partition,
    Progress, Record, Reply, Storm, Tick, Ticket, Verdict, Waiting,
};
use rebalance_guard_host::engine::{Engine, EngineDead};
use rebalance_guard_host::gateway::{self, EngineFactory, Event, Protocol};
use rebalance_guard_host::native::NativeEngine;
use rebalance_guard_host::recovery::Recovering;
use rebalance_guard_tests::kafka::{Member, eventually};
use rebalance_guard_tests::plugin::plugin;

use super::Stage;

const PARTITIONS: i32 = 4;
const KILLS: u32 = 100;

/// Which records killed an engine, so that each kills one alone.
#[derive(Debug, Default)]
struct Fate {
    kills: AtomicU32,
    of: Mutex<BTreeSet<(i32, u64)>>,
    /// One bit of each snapshot is turned.
    corrupts: AtomicBool,
    /// Each record kills every engine.
    always: bool,
}

impl Fate {
    /// Whether the record kills: one in five, while others are in flight.
    fn strikes(&self, record: &Record<'_>, in_hands: u32) -> bool {
        let place = (record.partition.index, record.offset.value());
        let due = record.offset.value() % 5 == 4 && in_hands > 0;
        if !due || self.kills.load(Ordering::SeqCst) >= KILLS {
            return false;
        }
        let fresh = self.of.lock().expect("no panic").insert(place);
        if fresh || self.always {
            self.kills.fetch_add(1, Ordering::SeqCst);
        }
        fresh || self.always
    }
}

/// A plugin's engine that is torn down in the middle of a call.
struct Trapping {
    inner: Option<Box<dyn Engine>>,
    fate: Arc<Fate>,
}

impl Trapping {
    fn inner(&mut self) -> Result<&mut Box<dyn Engine>, EngineDead> {
        self.inner.as_mut().ok_or_else(|| EngineDead { reason: "it was killed".to_owned() })
    }
}

impl Engine for Trapping {
    fn name(&self) -> String {
        self.inner.as_ref().map_or_else(|| "dead".to_owned(), |inner| inner.name())
    }

    fn handle(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Reply, InputError>, EngineDead> {
        self.inner()?.handle(now, input)
    }

    fn admit(&mut self, now: Tick, record: &Record<'_>) -> Result<Verdict, EngineDead> {
        let owned = self.inner()?.owned()?;
        let in_hands = owned.iter().map(|(_, progress)| progress.in_hands).sum();
        let killed = self.fate.strikes(record, in_hands);
        let verdict = self.inner()?.admit(now, record)?;
        if killed {
            // It had done its work already; nobody hears of it.
            self.inner = None;
        }
        self.inner().map(|_| verdict)
    }

    fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), EngineDead> {
        self.inner()?.admit_batch(now, records, verdicts)
    }

    fn answer(
        &mut self,
        now: Tick,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Result<Answered, EngineDead> {
        self.inner()?.answer(now, ticket, outcome)
    }

    fn handle_timeout(&mut self, now: Tick) -> Result<(), EngineDead> {
        self.inner()?.handle_timeout(now)
    }

    fn poll_output(&mut self) -> Result<Option<Output>, EngineDead> {
        self.inner()?.poll_output()
    }

    fn poll_timeout(&mut self) -> Result<Option<Tick>, EngineDead> {
        self.inner()?.poll_timeout()
    }

    fn is_live(&mut self, ticket: Ticket) -> Result<bool, EngineDead> {
        self.inner()?.is_live(ticket)
    }

    fn progress(&mut self, partition: Partition) -> Result<Option<Progress>, EngineDead> {
        self.inner()?.progress(partition)
    }

    fn owned(&mut self) -> Result<Vec<(Partition, Progress)>, EngineDead> {
        self.inner()?.owned()
    }

    fn commit_metadata(&mut self, partition: Partition) -> Result<Vec<u8>, EngineDead> {
        self.inner()?.commit_metadata(partition)
    }

    fn waiting(&mut self) -> Result<Option<Waiting>, EngineDead> {
        self.inner()?.waiting()
    }

    fn journal(&mut self) -> Result<Vec<JournalEntry>, EngineDead> {
        self.inner()?.journal()
    }

    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, EngineDead> {
        let mut snapshot = self.inner()?.snapshot()?;
        if self.fate.corrupts.load(Ordering::SeqCst) {
            let bytes = snapshot.as_deref_mut().expect("it is small");
            bytes[bytes.len() / 2] ^= 1;
        }
        Ok(snapshot)
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> Result<bool, EngineDead> {
        self.inner()?.restore(now, snapshot)
    }

    fn in_flight(&mut self) -> Result<u32, EngineDead> {
        self.inner()?.in_flight()
    }

    fn storm(&mut self) -> Result<Storm, EngineDead> {
        self.inner()?.storm()
    }

    fn counters(&mut self) -> Result<Counters, EngineDead> {
        self.inner()?.counters()
    }
}

fn plugin_engine(config: &Config) -> Result<Box<dyn Engine>, String> {
    let engine = plugin().start(config).map_err(|error| error.to_string())?;
    Ok(Box::new(engine))
}

/// Plugins that die as `fate` will, each followed by another.
fn killed(fate: &Arc<Fate>) -> EngineFactory {
    let fate = Arc::clone(fate);
    EngineFactory::new(move |config| {
        let fate = Arc::clone(&fate);
        let engine = Recovering::start(config, move |config| {
            let inner = Some(plugin_engine(config)?);
            Ok(Box::new(Trapping { inner, fate: Arc::clone(&fate) }) as Box<dyn Engine>)
        })?;
        Ok(Box::new(engine) as Box<dyn Engine>)
    })
}

/// Every call that the ledger let in: key, partition, offset.
fn book(stage: &Stage) -> Vec<(String, i32, i64)> {
    let calls = stage.ledger.calls();
    let mut book: Vec<_> =
        calls.into_iter().map(|call| (call.key, call.partition, call.offset)).collect();
    book.sort();
    book
}

#[test]
fn a_plugin_killed_a_hundred_times_under_load_leaves_the_ledger_of_one_that_never_was() {
    const RECORDS: u32 = 800;
    let books = [false, true].map(|kills| {
        let stage = Stage::new("killed", PARTITIONS);
        stage.ledger.slow_down(Duration::from_millis(4));
        stage.produce(0, RECORDS);
        let fate = Arc::new(Fate::default());
        let mut settings = stage.settings(Protocol::Cooperative, "a");
        settings.engine = if kills { killed(&fate) } else { EngineFactory::new(plugin_engine) };
        let member = Member::start(settings);
        eventually("all took effect", || stage.ledger.effects() == RECORDS as usize);
        let summary = member.leave();
        assert_eq!((summary.engines_dead, summary.consumers), (0, 1));
        assert_eq!(stage.committed(), [Some(200); 4]);
        assert_eq!(fate.kills.load(Ordering::SeqCst), if kills { KILLS } else { 0 });
        book(&stage)
    });
    assert_eq!(books[0].len(), RECORDS as usize);
    assert_eq!(books[0], books[1], "each record ran once, with and without kills");
}

#[test]
fn an_engine_swapped_a_hundred_times_under_load_repeats_and_drops_nothing() {
    const RECORDS: u32 = 4_000;
    let stage = Stage::new("swapped", PARTITIONS);
    stage.ledger.slow_down(Duration::from_millis(2));
    stage.produce(0, RECORDS);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.engine = EngineFactory::new(plugin_engine);
    let (control, requests) = gateway::control();
    settings.control = Some(requests);
    let member = Member::start(settings);
    eventually("it works", || stage.ledger.effects() > 10);
    let replaced = |event: &Event| matches!(event, Event::EngineReplaced { .. });
    for swap in 1..=100 {
        assert!(control.reload(EngineFactory::new(plugin_engine)));
        eventually("the new engine took over", || member.count(replaced) == swap);
    }
    let events = member.events();
    let busy =
        events.iter().filter(|e| matches!(e, Event::EngineReplaced { in_hands: 1.., .. })).count();
    assert_eq!(busy, 100, "each with something in flight");
    eventually("all took effect", || stage.ledger.effects() == RECORDS as usize);
    assert_eq!(stage.ledger.calls().len(), RECORDS as usize);
    let summary = member.leave();
    assert_eq!((summary.engines_dead, summary.consumers), (0, 1));
    assert_eq!(summary.counters.completed, u64::from(RECORDS));
    assert_eq!(stage.committed(), [Some(1_000); 4]);
}

#[test]
fn an_engine_that_cannot_go_on_from_the_state_is_refused_and_the_old_one_goes_on() {
    let stage = Stage::new("refused", 1);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.engine = EngineFactory::new(plugin_engine);
    let (control, requests) = gateway::control();
    settings.control = Some(requests);
    let member = Member::start(settings);
    stage.produce(0, 50);
    eventually("it works", || stage.ledger.effects() == 50);
    assert!(control.reload(EngineFactory::new(|_| Err("the file is no plugin".to_owned()))));
    assert!(control.reload(EngineFactory::new(|config| {
        let other = Config { budget: config.budget + 1, ..*config };
        Ok(Box::new(NativeEngine::new(&other).map_err(|error| error.to_string())?))
    })));
    assert!(control.reload(EngineFactory::new(|_| {
        let stillborn = Trapping { inner: None, fate: Arc::new(Fate::default()) };
        Ok(Box::new(stillborn) as Box<dyn Engine>)
    })));
    let kept = |event: &Event| matches!(event, Event::EngineKept { .. });
    eventually("all three were refused", || member.count(kept) == 3);
    let why: Vec<String> = member
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::EngineKept { why } => Some(why),
            _ => None,
        })
        .collect();
    assert_eq!(
        why,
        [
            "the file is no plugin",
            "the new engine cannot go on from the running one's state",
            "the new engine died at once: it was killed",
        ]
    );
    stage.produce(50, 50);
    eventually("the old one goes on", || stage.ledger.effects() == 100);
    let summary = member.leave();
    assert_eq!((summary.engines_dead, summary.consumers), (0, 1));
    assert_eq!(stage.ledger.calls().len(), 100);
}

fn frail(fate: &Arc<Fate>) -> EngineFactory {
    let fate = Arc::clone(fate);
    EngineFactory::new(move |config| {
        let inner = Some(plugin_engine(config)?);
        Ok(Box::new(Trapping { inner, fate: Arc::clone(&fate) }) as Box<dyn Engine>)
    })
}

#[test]
fn a_corrupt_snapshot_is_refused_whoever_corrupts_it_and_the_old_engine_goes_on() {
    let stage = Stage::new("corrupt", 1);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    let old = Arc::new(Fate { kills: AtomicU32::new(KILLS), ..Fate::default() });
    settings.engine = frail(&old);
    let (control, requests) = gateway::control();
    settings.control = Some(requests);
    let member = Member::start(settings);
    stage.produce(0, 50);
    eventually("it works", || stage.ledger.effects() == 50);
    let kept = |event: &Event| matches!(event, Event::EngineKept { .. });
    old.corrupts.store(true, Ordering::SeqCst);
    assert!(control.reload(EngineFactory::new(plugin_engine)));
    eventually("what the old one gave is refused", || member.count(kept) == 1);
    old.corrupts.store(false, Ordering::SeqCst);
    let new = Fate { kills: AtomicU32::new(KILLS), corrupts: true.into(), ..Fate::default() };
    assert!(control.reload(frail(&Arc::new(new))));
    eventually("what the new one tells is refused", || member.count(kept) == 2);
    let why: Vec<_> = member.events().into_iter().filter(kept).collect();
    let says = |why: &str| Event::EngineKept { why: why.to_owned() };
    assert_eq!(
        why,
        [
            says("the new engine cannot go on from the running one's state"),
            says("the new engine tells another state than it was given"),
        ]
    );
    stage.produce(50, 50);
    eventually("the old one goes on", || stage.ledger.effects() == 100);
    let summary = member.leave();
    assert_eq!((summary.engines_dead, summary.consumers), (0, 1));
    assert_eq!(stage.ledger.calls().len(), 100);
    assert_eq!(stage.committed(), [Some(100)]);
}

#[test]
fn an_engine_whose_successors_die_of_the_same_record_is_dead_and_everything_is_lost() {
    let stage = Stage::new("same", 1);
    stage.ledger.slow_down(Duration::from_millis(4));
    stage.produce(0, 40);
    let fate = Arc::new(Fate { always: true, ..Fate::default() });
    fate.kills.store(KILLS - 2, Ordering::SeqCst);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.engine = killed(&fate);
    let member = Member::start(settings);
    eventually("all took effect", || stage.ledger.effects() == 40);
    let told = |event: &Event| matches!(event, Event::JournalTold { entries: 1.. });
    assert_eq!(member.count(told), 1, "what led to it is in the log");
    let summary = member.leave();
    assert_eq!((summary.engines_dead, summary.consumers), (1, 2));
    assert_eq!(stage.committed(), [Some(40)]);
}
