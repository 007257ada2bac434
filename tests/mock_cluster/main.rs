//! The gateway against librdkafka's in-process mock cluster: what a broker can be made to answer
//! there and hardly anywhere else. What the mock cannot do is in the real-Kafka suite.
#![forbid(unsafe_code)]

mod commits;
mod debts;
mod engines;
mod handover;
mod limits;
mod loss;
mod metadata;
mod outage;
mod reload;
mod signals;
mod start;

use std::sync::Arc;

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rebalance_guard_host::gateway::{Protocol, Settings};
use rebalance_guard_tests::kafka::{Ledger, produce, settings, unique};

type Cluster = MockCluster<'static, DefaultProducerContext>;

/// A mock cluster with one topic, a ledger, and the names that a test needs.
struct Stage {
    cluster: Cluster,
    bootstrap: String,
    topic: String,
    group: String,
    partitions: i32,
    ledger: Ledger,
}

impl Stage {
    fn new(name: &str, partitions: i32) -> Self {
        let cluster = MockCluster::new(1).expect("a mock cluster");
        let (topic, group) = (unique(name), unique("group"));
        cluster.create_topic(&topic, partitions, 1).expect("a topic");
        let bootstrap = cluster.bootstrap_servers();
        Self { cluster, bootstrap, topic, group, partitions, ledger: Ledger::default() }
    }

    fn produce(&self, first: u32, count: u32) {
        produce(&self.bootstrap, &self.topic, self.partitions, first, count);
    }

    /// Settings of a member, its session short: the mock's rebalances take that long.
    fn settings(&self, protocol: Protocol, member: &str) -> Settings {
        let sink = Arc::new(self.ledger.for_member(member));
        let mut settings = settings(&self.bootstrap, &self.topic, &self.group, protocol, sink);
        if protocol != Protocol::Consumer {
            settings.client.insert("session.timeout.ms".to_owned(), "3000".to_owned());
        }
        settings
    }

    fn committed(&self) -> Vec<Option<i64>> {
        let ask = |partition| {
            rebalance_guard_tests::kafka::committed(
                &self.bootstrap,
                &self.group,
                &self.topic,
                partition,
            )
        };
        (0..self.partitions).map(ask).collect()
    }
}
