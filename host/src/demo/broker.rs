//! The demo's own view of the mock cluster: what the group committed, what was parked.

use std::collections::BTreeSet;
use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::Message as _;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use super::traffic::{DEAD_LETTERS, GROUP, TOPIC};
use crate::clock;

/// A client that is no member of the group.
pub(super) struct Watcher {
    consumer: BaseConsumer,
}

impl Watcher {
    pub(super) fn new(bootstrap: &str) -> KafkaResult<Self> {
        let consumer = ClientConfig::new()
            .set("bootstrap.servers", bootstrap)
            .set("group.id", GROUP)
            .set("enable.auto.commit", "false")
            .create()?;
        Ok(Self { consumer })
    }

    /// The next record that the group would read; 0 when it committed nothing.
    pub(super) fn committed(&self, partition: i32) -> KafkaResult<i64> {
        self.committed_of(&[partition]).map(|list| list.first().copied().unwrap_or(0))
    }

    /// Whether the group committed up to the ends.
    pub(super) fn all_committed(
        &self,
        ends: impl Iterator<Item = (i32, i64)>,
    ) -> KafkaResult<bool> {
        let (partitions, ends): (Vec<i32>, Vec<i64>) = ends.unzip();
        let committed = self.committed_of(&partitions)?;
        Ok(committed.iter().zip(&ends).all(|(committed, end)| committed >= end))
    }

    fn committed_of(&self, partitions: &[i32]) -> KafkaResult<Vec<i64>> {
        let mut list = TopicPartitionList::new();
        for partition in partitions {
            list.add_partition(TOPIC, *partition);
        }
        let committed = self.consumer.committed_offsets(list, ANSWER)?;
        let offset = |partition: &i32| match committed.find_partition(TOPIC, *partition) {
            Some(element) => match element.offset() {
                Offset::Offset(offset) => offset,
                _ => 0,
            },
            None => 0,
        };
        Ok(partitions.iter().map(offset).collect())
    }

    /// The orders on the dead-letter topic.
    pub(super) fn dead_letters(&self) -> KafkaResult<BTreeSet<String>> {
        let (_, end) = self.consumer.fetch_watermarks(DEAD_LETTERS, 0, ANSWER)?;
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(DEAD_LETTERS, 0, Offset::Beginning)?;
        self.consumer.assign(&list)?;
        let mut orders = BTreeSet::new();
        let deadline = clock::now() + Duration::from_secs(15);
        let mut read = 0;
        while read < end {
            if clock::now() > deadline {
                return Err(KafkaError::Canceled);
            }
            match self.consumer.poll(Duration::from_millis(200)) {
                Some(Ok(message)) => {
                    read = message.offset() + 1;
                    orders.extend(message.payload().and_then(order));
                }
                Some(Err(error)) => tracing::debug!("dead letters: {error}"),
                None => {}
            }
        }
        self.consumer.unassign()?;
        Ok(orders)
    }
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watcher")
    }
}

fn order(payload: &[u8]) -> Option<String> {
    let order: serde_json::Value = serde_json::from_slice(payload).ok()?;
    Some(order.get("order")?.as_str()?.to_owned())
}

const ANSWER: Duration = Duration::from_secs(10);
