use std::collections::HashMap;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message, OwnedMessage};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{Offset, TopicPartitionList};
use rebalance_guard::Partition;

use super::*;
use crate::clock;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);
const TOPIC: &str = "orders.dead";

struct World {
    cluster: MockCluster<'static, DefaultProducerContext>,
    producer: DeadLetterProducer,
}

impl World {
    fn new(settings: &[(&str, &str)]) -> Self {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic(TOPIC, 1, 1).unwrap();
        let mut client = ClientConfig::new();
        client.set("bootstrap.servers", cluster.bootstrap_servers());
        for (name, value) in settings {
            client.set(*name, *value);
        }
        let producer = DeadLetterProducer::start(&client, TOPIC).unwrap();
        Self { cluster, producer }
    }

    fn send(&mut self, sequence: u64, letter: &DeadLetter) -> Answer {
        self.producer.send(ticket(sequence), letter);
        self.producer.answers().recv_timeout(LONG).expect("an answer")
    }

    /// The first `count` records of the topic.
    fn read(&self, count: usize) -> Vec<OwnedMessage> {
        let mut client = ClientConfig::new();
        client.set("bootstrap.servers", self.cluster.bootstrap_servers()).set("group.id", "reader");
        let consumer: BaseConsumer = client.create().unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(TOPIC, 0, Offset::Beginning).unwrap();
        consumer.assign(&list).unwrap();
        let deadline = clock::now() + LONG;
        let mut read = Vec::new();
        while read.len() < count && clock::now() < deadline {
            if let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) {
                read.push(message.detach());
            }
        }
        read
    }
}

fn ticket(sequence: u64) -> Ticket {
    let mut bytes = [0; Ticket::BYTES];
    bytes[4] = 1;
    bytes[12..20].copy_from_slice(&sequence.to_le_bytes());
    bytes[22] = 1;
    Ticket::from_bytes(&bytes).unwrap()
}

fn letter() -> DeadLetter {
    let record = OwnedRecord {
        topic: Arc::from("orders"),
        partition: Partition::new(0, 3),
        offset: 41,
        key: Some(vec![0xff, 1]),
        payload: Some(b"payload".to_vec()),
        headers: vec![
            ("trace".to_owned(), Some(vec![0xfe])),
            ("empty".to_owned(), Some(Vec::new())),
            ("null".to_owned(), None),
            (header::GROUP.to_owned(), Some(b"an earlier one".to_vec())),
        ],
        leader_epoch: None,
        timestamp_ms: Some(1_700_000_000_000),
    };
    DeadLetter {
        record: Arc::new(record),
        reason: Reason::AttemptsSpent,
        error: Some("the sink answered 503".to_owned()),
        attempts: 5,
        copies: 2,
        idempotency_key: Some(Arc::from("A-1")),
        group: Arc::from("shop"),
    }
}

fn with_record(change: impl FnOnce(&mut OwnedRecord)) -> DeadLetter {
    let mut letter = letter();
    change(Arc::make_mut(&mut letter.record));
    letter
}

fn headers_of(message: &OwnedMessage) -> Vec<(String, Option<Vec<u8>>)> {
    let headers = message.headers().unwrap();
    headers.iter().map(|h| (h.key.to_owned(), h.value.map(<[u8]>::to_vec))).collect()
}

#[test]
fn a_dead_letter_is_the_record_and_what_happened_to_it() {
    let mut world = World::new(&[]);
    world.producer.check(LONG).unwrap();
    assert_eq!(world.send(7, &letter()), (ticket(7), Ok(())));
    let message = world.read(1).pop().unwrap();
    assert_eq!(message.key(), Some(&[0xff, 1][..]));
    assert_eq!(message.payload(), Some(&b"payload"[..]));
    let headers = headers_of(&message);
    assert_eq!(headers[..4], letter().record.headers[..]);
    let text = |(name, value): &(String, Option<Vec<u8>>)| {
        (name.clone(), String::from_utf8(value.clone().unwrap()).unwrap())
    };
    let ours: Vec<(String, String)> = headers[4..].iter().map(text).collect();
    let expected = [
        ("rebalance-guard-topic", "orders"),
        ("rebalance-guard-partition", "3"),
        ("rebalance-guard-offset", "41"),
        ("rebalance-guard-timestamp", "1700000000000"),
        ("rebalance-guard-reason", "attempts_spent"),
        ("rebalance-guard-error", "the sink answered 503"),
        ("rebalance-guard-attempts", "5"),
        ("rebalance-guard-copies", "2"),
        ("rebalance-guard-idempotency-key", "A-1"),
        ("rebalance-guard-group", "shop"),
    ];
    let expected: Vec<(String, String)> =
        expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(ours, expected);
}

// B94 (mateusjunges/laravel-kafka#290), B139 (tulios/kafkajs#185)
#[test]
fn null_and_empty_stay_what_they_were() {
    let mut world = World::new(&[]);
    let null = with_record(|record| (record.key, record.payload) = (None, None));
    let empty = with_record(|record| {
        (record.key, record.payload) = (Some(Vec::new()), Some(Vec::new()));
    });
    assert_eq!(world.send(1, &null).1, Ok(()));
    assert_eq!(world.send(2, &empty).1, Ok(()));
    let read = world.read(2);
    assert_eq!((read[0].key(), read[0].payload()), (None, None));
    assert_eq!((read[1].key(), read[1].payload()), (Some(&b""[..]), Some(&b""[..])));
}

#[test]
fn what_is_not_known_has_no_header_and_a_long_error_is_cut() {
    let mut world = World::new(&[]);
    let mut bare = with_record(|record| (record.timestamp_ms, record.headers) = (None, Vec::new()));
    bare.reason = Reason::NoUsableKey;
    bare.error = Some("é".repeat(1_000));
    bare.idempotency_key = None;
    assert_eq!(world.send(1, &bare).1, Ok(()));
    bare.error = None;
    bare.reason = Reason::Permanent;
    assert_eq!(world.send(2, &bare).1, Ok(()));
    let read = world.read(2);
    let first: HashMap<_, _> = headers_of(&read[0]).into_iter().collect();
    assert_eq!(first[header::REASON], Some(b"no_usable_key".to_vec()));
    assert_eq!(first[header::ERROR], Some("é".repeat(512).into_bytes()));
    assert_eq!(first.get(header::TIMESTAMP), None);
    assert_eq!(first.get(header::IDEMPOTENCY_KEY), None);
    let second: HashMap<_, _> = headers_of(&read[1]).into_iter().collect();
    assert_eq!(second[header::REASON], Some(b"permanent".to_vec()));
    assert_eq!(second.get(header::ERROR), None);
}

// B91 (spring-projects/spring-kafka#1700): the step that can never succeed is a counted answer each
// time, never silence and never an end.
#[test]
fn a_record_too_large_is_answered_as_failed_each_time() {
    let mut world = World::new(&[("message.max.bytes", "2000")]);
    let large = with_record(|record| record.payload = Some(vec![b'x'; 5_000]));
    for sequence in 0..20 {
        let (answered, result) = world.send(sequence, &large);
        assert_eq!(answered, ticket(sequence));
        assert!(result.unwrap_err().contains("MessageSizeTooLarge"));
    }
    assert_eq!(world.send(20, &letter()), (ticket(20), Ok(())));
}

#[test]
fn a_refusal_by_the_cluster_is_answered_as_failed() {
    let mut world = World::new(&[]);
    let refusal = RDKafkaRespErr::RD_KAFKA_RESP_ERR_INVALID_RECORD;
    world.cluster.request_errors(RDKafkaApiKey::Produce, &[refusal]);
    let (answered, result) = world.send(1, &letter());
    assert_eq!(answered, ticket(1));
    assert!(result.unwrap_err().contains("InvalidRecord"));
    assert_eq!(world.send(2, &letter()), (ticket(2), Ok(())));
}

#[test]
fn a_full_queue_is_answered_at_once() {
    let mut world = World::new(&[("queue.buffering.max.messages", "1")]);
    world.cluster.broker_down(1).unwrap();
    world.producer.send(ticket(1), &letter());
    let (answered, result) = world.send(2, &letter());
    assert_eq!(answered, ticket(2));
    assert!(result.unwrap_err().contains("QueueFull"));
    world.cluster.broker_up(1).unwrap();
    let answer = world.producer.answers().recv_timeout(LONG).unwrap();
    assert_eq!(answer, (ticket(1), Ok(())));
}

#[test]
fn a_cluster_that_is_gone_is_answered_as_failed_in_time() {
    let mut world = World::new(&[("message.timeout.ms", "500")]);
    world.cluster.broker_down(1).unwrap();
    let (answered, result) = world.send(1, &letter());
    assert_eq!(answered, ticket(1));
    assert!(result.unwrap_err().contains("MessageTimedOut"));
    assert!(world.producer.flush(LONG));
    let error = world.producer.check(Duration::from_millis(200)).unwrap_err().to_string();
    assert!(error.contains("is the cluster reachable?"), "{error}");
}

#[test]
fn settings_that_contradict_are_told() {
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", "127.0.0.1:1").set("max.in.flight", "100");
    let error = DeadLetterProducer::start(&client, TOPIC).unwrap_err().to_string();
    assert!(error.contains("the dead-letter producer cannot start"), "{error}");
}

#[test]
fn a_transactional_id_is_refused() {
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", "127.0.0.1:1").set("transactional.id", "mine");
    let error = DeadLetterProducer::start(&client, TOPIC).unwrap_err().to_string();
    assert!(error.contains("transactional.id"), "{error}");
}
