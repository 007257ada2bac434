//! What finished above a commit is told with it, and skipped by whoever reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rebalance_guard::Ignored;
use rebalance_guard_host::gateway::{EngineFactory, Event, Protocol};
use rebalance_guard_host::record::Effect;
use rebalance_guard_host::sink::{Sink, SinkAnswer};
use rebalance_guard_host::workers::Order;
use rebalance_guard_tests::kafka::{Ledger, Member, eventually, native};
use rebalance_guard_tests::plugin::plugin;

use super::Stage;

/// A ledger that takes everything but the first order until it is told to.
struct Picky {
    ledger: Ledger,
    takes_all: Arc<AtomicBool>,
}

impl Sink for Picky {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        let first = effect.record.offset == 0;
        if first && !self.takes_all.load(Ordering::SeqCst) {
            return SinkAnswer::Retry { why: "not this one yet".to_owned(), after: None };
        }
        self.ledger.deliver(effect)
    }
}

fn plugins() -> EngineFactory {
    EngineFactory::new(|config| match plugin().start(config) {
        Ok(engine) => Ok(Box::new(engine)),
        Err(error) => Err(error.to_string()),
    })
}

fn the_next_owner_runs_what_was_left_alone(engine: fn() -> EngineFactory) {
    let stage = Stage::new("carried", 1);
    stage.produce(0, 60);
    let takes_all = Arc::new(AtomicBool::new(false));
    let settings = |name: &str| {
        let mut settings = stage.settings(Protocol::Cooperative, name);
        let ledger = stage.ledger.for_member(name);
        settings.sink = Arc::new(Picky { ledger, takes_all: Arc::clone(&takes_all) });
        settings.order = Order::None;
        settings.engine = engine();
        settings
    };
    let first = Member::start(settings("first"));
    eventually("all but one took effect", || stage.ledger.effects() == 59);
    let summary = first.leave();
    assert_eq!((summary.counters.completed, summary.left.len()), (59, 1));
    assert_eq!(stage.committed(), [Some(0)], "the first record holds the mark");
    takes_all.store(true, Ordering::SeqCst);
    let second = Member::start(settings("second"));
    eventually("all took effect", || stage.ledger.effects() == 60);
    eventually("the mark moved on", || stage.committed() == [Some(60)]);
    let summary = second.leave();
    assert_eq!((summary.counters.completed, summary.counters.skipped_carried), (1, 59));
    assert_eq!(stage.ledger.calls().len(), 60, "nothing ran again");
    assert_eq!(stage.ledger.calls_of("second"), 1);
}

#[test]
fn the_next_owner_runs_what_was_left_alone_on_the_native_engine() {
    the_next_owner_runs_what_was_left_alone(native);
}

#[test]
fn the_next_owner_runs_what_was_left_alone_in_the_plugin() {
    the_next_owner_runs_what_was_left_alone(plugins);
}

#[test]
fn a_string_of_somebody_elses_is_ignored_and_overwritten() {
    let stage = Stage::new("foreign", 1);
    stage.produce(0, 20);
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &stage.bootstrap).set("group.id", &stage.group);
    let other: BaseConsumer = config.create().expect("a client");
    let mut list = TopicPartitionList::new();
    let mut element = list.add_partition(&stage.topic, 0);
    element.set_offset(Offset::Offset(5)).expect("an offset");
    element.set_metadata("{\"by\":\"somebody else\"}");
    other.commit(&list, CommitMode::Sync).expect("committed");
    drop(other);
    let member = Member::start(stage.settings(Protocol::Cooperative, "a"));
    eventually("what was left took effect", || stage.ledger.effects() == 15);
    let said = |event: &Event| {
        matches!(event, Event::MetadataIgnored { partition: 0, why: Ignored::Foreign, .. })
    };
    assert_eq!(member.count(said), 1, "it is said");
    let summary = member.leave();
    assert_eq!((summary.counters.metadata_ignored, summary.counters.skipped_carried), (1, 0));
    assert_eq!(stage.committed(), [Some(20)]);
}
