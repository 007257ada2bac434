//! The gateway against a real Apache Kafka: what such a broker was seen to do,
//! and the failures that a group meets. One broker for all; topics and groups are each test's own.
#![forbid(unsafe_code)]

mod callbacks;
mod handover;
mod life;
mod logs;
mod outage;
mod recordings;
mod statics;
mod zombie;

use std::sync::Arc;

use rebalance_guard_host::gateway::{Protocol, Settings};
use rebalance_guard_tests::broker::Broker;
use rebalance_guard_tests::kafka::{
    Ledger, MemberProcess, Onlooker, eventually, produce, settings, unique,
};

/// A topic and a group on a broker, and a ledger that members act on.
struct Stage<'a> {
    broker: &'a Broker,
    topic: String,
    group: String,
    partitions: i32,
    ledger: Ledger,
    address: String,
}

impl Stage<'static> {
    /// On the shared broker; `None` when there is none to be had.
    fn new(name: &str, partitions: i32) -> Option<Self> {
        Some(Stage::on(Broker::shared()?, name, partitions))
    }
}

impl<'a> Stage<'a> {
    fn on(broker: &'a Broker, name: &str, partitions: i32) -> Self {
        let (topic, group) = (unique(name), unique("group"));
        broker.create_topic(&topic, partitions);
        let ledger = Ledger::default();
        let address = ledger.serve().to_string();
        Self { broker, topic, group, partitions, ledger, address }
    }

    fn produce(&self, first: u32, count: u32) {
        produce(self.broker.bootstrap(), &self.topic, self.partitions, first, count);
    }

    fn settings(&self, protocol: Protocol, member: &str) -> Settings {
        let sink = Arc::new(self.ledger.for_member(member));
        settings(self.broker.bootstrap(), &self.topic, &self.group, protocol, sink)
    }

    /// A member in a process of its own.
    fn process(&self, protocol: Protocol, name: &str, changes: &[&str]) -> MemberProcess {
        let protocol = match protocol {
            Protocol::Eager => "eager",
            Protocol::Cooperative => "cooperative",
            Protocol::Consumer => "consumer",
        };
        let bootstrap = self.broker.bootstrap();
        let mut arguments =
            vec![name, bootstrap, &self.topic, &self.group, protocol, &self.address];
        arguments.extend(changes);
        MemberProcess::start(env!("CARGO_BIN_EXE_member"), &arguments)
    }

    /// The group's offsets, read by another client.
    fn committed(&self) -> Vec<i64> {
        let onlooker = Onlooker::new(self.broker.bootstrap(), &self.group);
        let ask = |partition| onlooker.committed(&self.topic, partition).unwrap_or_default();
        (0..self.partitions).map(ask).collect()
    }

    fn log_ends(&self) -> Vec<i64> {
        (0..self.partitions).map(|p| self.broker.log_end(&self.topic, p)).collect()
    }

    fn wait_for_effects(&self, count: usize) {
        eventually(&format!("{count} orders took effect"), || self.ledger.effects() >= count);
        assert_eq!(self.ledger.effects(), count);
    }

    /// Each distinct order took exactly one effect, and every call of one carried the same key.
    fn assert_all_took_effect_once(&self, count: usize) {
        self.wait_for_effects(count);
        let calls = self.ledger.calls();
        let effects = calls.iter().filter(|call| call.took_effect).count();
        assert_eq!(effects, count);
        let mut key_at = std::collections::HashMap::new();
        for call in &calls {
            let key = key_at.entry((call.partition, call.offset)).or_insert(&call.key);
            assert_eq!(*key, &call.key, "a repeat carries the key of the first call");
        }
    }
}

#[test]
fn the_broker_tells_its_version_and_cluster_id() {
    let Some(broker) = Broker::shared() else { return };
    let said = broker.describe();
    assert!(said.contains("cluster id ") && !said.contains("(unknown)"), "{said}");
}
