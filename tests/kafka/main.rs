//! The gateway against a real Apache Kafka.
#![forbid(unsafe_code)]

use rebalance_guard_tests::broker::Broker;

#[test]
fn the_broker_tells_its_version_and_cluster_id() {
    let Some(broker) = Broker::shared() else { return };
    println!("real-Kafka suite: {}", broker.describe());
}
