//! A sink that cannot be reached for a while, and one that refuses: only answers cost attempts.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rebalance_guard::Ended;
use rebalance_guard_host::clock;
use rebalance_guard_host::gateway::{Event, Protocol};
use rebalance_guard_host::record::Effect;
use rebalance_guard_host::sink::{Sink, SinkAnswer};
use rebalance_guard_tests::kafka::{Ledger, Member, eventually};

use super::Stage;

/// Refuses connections until it is opened.
struct Shut {
    ledger: Ledger,
    open: AtomicBool,
    refused: AtomicU32,
    sent: bool,
}

impl Shut {
    fn new(stage: &Stage, sent: bool) -> Arc<Self> {
        let (open, refused) = (AtomicBool::new(false), AtomicU32::new(0));
        Arc::new(Self { ledger: stage.ledger.clone(), open, refused, sent })
    }

    fn refused(&self) -> u32 {
        self.refused.load(Ordering::SeqCst)
    }
}

impl Sink for Shut {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        if self.open.load(Ordering::SeqCst) {
            return self.ledger.deliver(effect);
        }
        self.refused.fetch_add(1, Ordering::SeqCst);
        SinkAnswer::Unreachable { sent: self.sent, why: "refused".to_owned() }
    }
}

#[test]
fn an_outage_spends_no_attempt_and_gives_no_record_up() {
    for sent in [false, true] {
        let stage = Stage::new("outage", 2);
        stage.cluster.create_topic("parked", 1, 1).expect("a topic");
        stage.produce(0, 40);
        let sink = Shut::new(&stage, sent);
        let mut settings = stage.settings(Protocol::Cooperative, "a");
        settings.guard.attempts_max = 2;
        settings.guard.backoff = 10;
        settings.guard.backoff_cap = 100;
        settings.dead_letter_topic = Some("parked".to_owned());
        settings.sink = Arc::clone(&sink) as Arc<dyn Sink>;
        let member = Member::start(settings);
        // Each partition has one effect begun at a time: far more tries than it has attempts.
        eventually("it was tried many times", || sink.refused() >= 12);
        sink.open.store(true, Ordering::SeqCst);
        eventually("all are committed", || stage.committed() == [Some(20), Some(20)]);
        let counters = member.leave().counters;
        assert_eq!((counters.failed, counters.dead_letters_asked, counters.completed), (0, 0, 40));
        assert_eq!(stage.ledger.calls().len(), 40);
        super::limits::assert_in_order(&stage.ledger);
    }
}

#[test]
fn a_drain_does_not_wait_for_a_sink_that_cannot_be_reached() {
    let stage = Stage::new("shut", 2);
    stage.produce(0, 40);
    let sink = Shut::new(&stage, false);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.guard.backoff_cap = 60_000;
    settings.drain = Duration::from_secs(20);
    settings.sink = Arc::clone(&sink) as Arc<dyn Sink>;
    let member = Member::start(settings);
    eventually("both partitions wait", || sink.refused() >= 4);
    let asked = clock::now();
    let summary = member.leave();
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!((summary.counters.failed, summary.counters.completed), (0, 0));
    assert_eq!(stage.committed().into_iter().flatten().max().unwrap_or(0), 0);
}

/// Answers nothing to one key, and everything to the others.
struct Mute(Ledger);

impl Sink for Mute {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        if effect.idempotency_key.is_some_and(|key| key.ends_with("-13")) {
            return SinkAnswer::Unreachable { sent: true, why: "no answer in time".to_owned() };
        }
        self.0.deliver(effect)
    }
}

/// Keys of the tests' records end in their number.
#[test]
fn a_record_that_alone_is_never_answered_is_given_up_in_the_end() {
    let stage = Stage::new("mute", 2);
    stage.cluster.create_topic("parked", 1, 1).expect("a topic");
    stage.produce(0, 30);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.guard.attempts_max = 3;
    settings.guard.backoff = 10;
    settings.guard.backoff_cap = 50;
    settings.dead_letter_topic = Some("parked".to_owned());
    settings.sink = Arc::new(Mute(stage.ledger.clone()));
    let member = Member::start(settings);
    let mut next = 30;
    eventually("the mute one is parked", || {
        // The sink goes on answering others.
        stage.produce(next, 2);
        next += 2;
        stage.committed().iter().all(|offset| offset.is_some_and(|offset| offset >= 15))
    });
    let counters = member.leave().counters;
    assert_eq!((counters.failed, counters.dead_lettered), (3, 1));
}

/// Refuses one key for good, as often as it is asked before `takes`.
struct Stern {
    ledger: Ledger,
    takes: AtomicU32,
    seen: Mutex<u32>,
}

impl Sink for Stern {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        if effect.record.offset == 3 {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            *seen += 1;
            if *seen <= self.takes.load(Ordering::SeqCst) {
                return SinkAnswer::Permanent { why: "not this one".to_owned() };
            }
        }
        self.ledger.deliver(effect)
    }
}

#[test]
fn without_a_dead_letter_topic_a_refused_record_is_tried_until_the_sink_is_mended() {
    let stage = Stage::new("stern", 1);
    stage.produce(0, 10);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.guard.attempts_max = 2;
    settings.guard.backoff = 5;
    settings.guard.backoff_cap = 20;
    let sink =
        Stern { ledger: stage.ledger.clone(), takes: AtomicU32::new(9), seen: Mutex::default() };
    settings.sink = Arc::new(sink);
    let member = Member::start(settings);
    eventually("all are committed", || stage.committed() == [Some(10)]);
    let counters = member.leave().counters;
    assert_eq!((counters.failed, counters.retried, counters.completed), (9, 9, 10));
    super::limits::assert_in_order(&stage.ledger);
}

/// Has seen a higher token for one partition.
struct Jealous(Ledger);

impl Sink for Jealous {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        if effect.record.partition.index == 0 {
            return SinkAnswer::Fenced { why: "9.9 was here".to_owned() };
        }
        self.0.deliver(effect)
    }
}

#[test]
fn before_a_client_is_replaced_over_a_fenced_partition_the_healthy_ones_are_drained() {
    let stage = Stage::new("jealous", 2);
    stage.produce(0, 40);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    // Nothing is committed but by the drain.
    settings.guard.commit_interval = 60_000;
    settings.sink = Arc::new(Jealous(stage.ledger.clone()));
    let member = Member::start(settings);
    let again = |event: &Event| matches!(event, Event::Subscribed { consumer: 2 });
    eventually("the client is replaced", || member.count(again) == 1);
    let events = member.events();
    let replaced = events.iter().position(again).expect("counted");
    let healthy: Vec<_> = events[..replaced]
        .iter()
        .filter_map(|event| match event {
            Event::Sealed { partition: 1, ended, left, .. } => Some((*ended, *left)),
            _ => None,
        })
        .collect();
    assert_eq!(healthy, [(Ended::Drained, 0)]);
    assert_eq!(stage.committed()[1], Some(20));
    assert_eq!(stage.committed()[0].unwrap_or(0), 0);
    member.leave();
    assert_eq!(stage.ledger.calls().len(), 20);
}
