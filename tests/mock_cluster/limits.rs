//! Full windows, full memory, sinks that fail: nothing is lost, nothing overtakes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rebalance_guard_host::clock;
use rebalance_guard_host::gateway::Protocol;
use rebalance_guard_host::record::Effect;
use rebalance_guard_host::sink::{Sink, SinkAnswer};
use rebalance_guard_tests::kafka::{Ledger, Member, eventually, produce};

use super::Stage;

pub(crate) fn assert_in_order(ledger: &Ledger) {
    let mut last: HashMap<i32, i64> = HashMap::new();
    for call in ledger.calls() {
        let before = last.insert(call.partition, call.offset).unwrap_or(-1);
        assert!(call.offset > before, "{before} then {} in {}", call.offset, call.partition);
    }
}

#[test]
fn a_window_far_smaller_than_the_traffic_loses_and_reorders_nothing() {
    let stage = Stage::new("window", 3);
    stage.produce(0, 600);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.guard.window = 4;
    let member = Member::start(settings);
    eventually("all took effect", || stage.ledger.effects() == 600);
    member.leave();
    assert_in_order(&stage.ledger);
    assert_eq!(stage.ledger.calls().len(), 600);
    assert_eq!(stage.committed(), [Some(200), Some(200), Some(200)]);
}

#[test]
fn a_budget_of_two_loses_and_reorders_nothing() {
    let stage = Stage::new("budget", 2);
    stage.produce(0, 200);
    let mut settings = stage.settings(Protocol::Consumer, "a");
    settings.guard.budget = 2;
    let member = Member::start(settings);
    eventually("all took effect", || stage.ledger.effects() == 200);
    member.leave();
    assert_in_order(&stage.ledger);
    assert_eq!(stage.committed(), [Some(100), Some(100)]);
}

#[test]
fn records_beyond_the_memory_limit_are_fetched_later() {
    let stage = Stage::new("memory", 2);
    stage.produce(0, 400);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.bytes_max = 2_000;
    let member = Member::start(settings);
    eventually("all took effect", || stage.ledger.effects() == 400);
    member.leave();
    assert_in_order(&stage.ledger);
    assert_eq!(stage.committed(), [Some(200), Some(200)]);
}

/// Answers the first call of each key with "later", and takes down when calls came.
struct Later {
    ledger: Ledger,
    after: Duration,
    seen: Mutex<HashMap<String, Vec<Instant>>>,
}

impl Sink for Later {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        let key = effect.idempotency_key.expect("a key").to_owned();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let times = seen.entry(key).or_default();
        times.push(clock::now());
        if times.len() == 1 {
            return SinkAnswer::Retry { after: Some(self.after), why: "busy".to_owned() };
        }
        drop(seen);
        self.ledger.deliver(effect)
    }
}

#[test]
fn retry_after_is_obeyed_to_the_full() {
    let stage = Stage::new("later", 1);
    stage.produce(0, 5);
    let after = Duration::from_millis(700);
    let sink =
        Arc::new(Later { ledger: stage.ledger.clone(), after, seen: Mutex::new(HashMap::new()) });
    let mut settings = stage.settings(Protocol::Consumer, "a");
    settings.sink = Arc::clone(&sink) as Arc<dyn Sink>;
    let member = Member::start(settings);
    eventually("all took effect", || stage.ledger.effects() == 5);
    let summary = member.leave();
    assert_eq!((summary.counters.failed, summary.counters.completed), (5, 5));
    for times in sink.seen.lock().unwrap_or_else(PoisonError::into_inner).values() {
        let [first, second] = times[..] else { panic!("two calls each: {times:?}") };
        assert!(second - first >= after, "{:?}", second - first);
    }
    assert_in_order(&stage.ledger);
}

/// Never takes an order that ends in 3.
struct Picky(Ledger);

impl Sink for Picky {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        if effect.idempotency_key.is_some_and(|key| key.ends_with('3')) {
            return SinkAnswer::Permanent { why: "not a three".to_owned() };
        }
        self.0.deliver(effect)
    }
}

#[test]
fn records_that_the_sink_never_takes_go_to_the_dead_letter_topic() {
    let stage = Stage::new("picky", 2);
    stage.cluster.create_topic("parked", 1, 1).expect("a topic");
    stage.produce(0, 40);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.sink = Arc::new(Picky(stage.ledger.clone()));
    settings.dead_letter_topic = Some("parked".to_owned());
    let member = Member::start(settings);
    eventually("all are committed", || stage.committed() == [Some(20), Some(20)]);
    let summary = member.leave();
    assert_eq!((summary.counters.completed, summary.counters.dead_lettered), (36, 4));
    assert_eq!(stage.ledger.effects(), 36);
    assert_in_order(&stage.ledger);
}

/// Without a dead-letter topic a record given up holds the commits below it: nothing is lost.
#[test]
fn without_a_dead_letter_topic_a_record_given_up_holds_its_commits() {
    let stage = Stage::new("held", 1);
    stage.produce(0, 10);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.sink = Arc::new(Picky(stage.ledger.clone()));
    settings.order = rebalance_guard_host::workers::Order::None;
    let member = Member::start(settings);
    eventually("the others took effect", || stage.ledger.effects() == 9);
    eventually("those below are committed", || stage.committed() == [Some(3)]);
    let summary = member.leave();
    assert_eq!(summary.left.iter().map(|(_, _, left)| left).sum::<u32>(), 1);
    assert_eq!(stage.committed(), [Some(3)]);
}

#[test]
fn a_key_that_was_sent_twice_runs_once() {
    let stage = Stage::new("twice", 1);
    produce(&stage.bootstrap, &stage.topic, 1, 0, 50);
    produce(&stage.bootstrap, &stage.topic, 1, 0, 50);
    let member = Member::start(stage.settings(Protocol::Cooperative, "a"));
    eventually("all are committed", || stage.committed() == [Some(100)]);
    let summary = member.leave();
    assert_eq!(stage.ledger.calls().len(), 50);
    let counters = summary.counters;
    assert_eq!(counters.skipped_finished + counters.skipped_in_flight, 50);
}
