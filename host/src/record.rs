//! A consumed record, owned, as it travels from the poll thread to a worker and to a sink.

use std::sync::Arc;

use rebalance_guard::{Partition, Token};

/// One Kafka record with its bytes as they were: no key is not an empty key, no payload (tombstone)
/// is not an empty payload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OwnedRecord {
    /// Name of the topic.
    pub topic: Arc<str>,
    /// The guard's name for the topic partition.
    pub partition: Partition,
    /// Place in the log, 0 or more.
    pub offset: i64,
    /// Kafka record key.
    pub key: Option<Vec<u8>>,
    /// Payload.
    pub payload: Option<Vec<u8>>,
    /// Headers in order; a header may have no value.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// Epoch of the leader that wrote it, if the client tells.
    pub leader_epoch: Option<i32>,
    /// Timestamp of the record in ms since 1970, if it has one.
    pub timestamp_ms: Option<i64>,
}

/// What a sink is given: the record, the name of the operation, and proof of ownership.
#[derive(Clone, Copy, Debug)]
pub struct Effect<'a> {
    /// The record.
    pub record: &'a OwnedRecord,
    /// The idempotency key as the key template gave it; `None` when the record has none.
    pub idempotency_key: Option<&'a str>,
    /// The fencing token of the assignment under which it runs; `None` only in the demo's
    /// unguarded arm.
    pub token: Option<Token>,
    /// Attempts made before this one.
    pub attempt: u16,
}
