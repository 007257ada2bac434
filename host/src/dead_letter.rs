//! Records that were given up, parked on another Kafka topic: what they look like there, and the
//! producer that takes them.
//!
//! Payload, key and headers travel unchanged, null and empty kept apart; what happened is told in
//! headers after the original ones. The record takes the time of its arrival there (an old
//! timestamp could make the topic's retention drop it at once); the original one is a header.

use std::fmt::Display;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rdkafka::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer, ProducerContext, ThreadedProducer};
use rebalance_guard::{Reason, Ticket};

use crate::record::OwnedRecord;

/// Names of the headers that tell what happened. They follow the record's own headers, so a reader
/// that takes the last of a name sees these, even on a record that was parked before.
pub mod header {
    /// Topic that the record was read from.
    pub const TOPIC: &str = "rebalance-guard-topic";
    /// Partition that it was read from.
    pub const PARTITION: &str = "rebalance-guard-partition";
    /// Its offset there.
    pub const OFFSET: &str = "rebalance-guard-offset";
    /// Its timestamp in ms since 1970; absent when it had none.
    pub const TIMESTAMP: &str = "rebalance-guard-timestamp";
    /// Why it was given up: `attempts_spent`, `permanent` or `no_usable_key`.
    pub const REASON: &str = "rebalance-guard-reason";
    /// What the sink or the key template said last, cut to [`ERROR_BYTES_MAX`]; absent when
    /// nothing.
    pub const ERROR: &str = "rebalance-guard-error";
    /// How often it was tried.
    pub const ATTEMPTS: &str = "rebalance-guard-attempts";
    /// Later records with the same key that were skipped because this one stood for them.
    pub const COPIES: &str = "rebalance-guard-copies";
    /// Its idempotency key; absent when it has none.
    pub const IDEMPOTENCY_KEY: &str = "rebalance-guard-idempotency-key";
    /// The consumer group that gave it up.
    pub const GROUP: &str = "rebalance-guard-group";
    /// Longest error text, in bytes.
    pub const ERROR_BYTES_MAX: usize = 1024;
}

/// One record on its way to the dead-letter topic.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// The record as it was consumed.
    pub record: Arc<OwnedRecord>,
    /// Why it was given up.
    pub reason: Reason,
    /// What the sink or the key template said last.
    pub error: Option<String>,
    /// How often it was tried.
    pub attempts: u16,
    /// Later copies of the same key that it stood for.
    pub copies: u32,
    /// The operation's name.
    pub idempotency_key: Option<Arc<str>>,
    /// The consumer group that gave it up.
    pub group: Arc<str>,
}

/// Why dead letters cannot be sent at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeadLetterError {
    /// The client refuses its settings.
    #[error("the dead-letter producer cannot start: {0}; check the client settings given by --set")]
    Settings(KafkaError),
    /// Nothing begins or ends a transaction here.
    #[error("the client setting transactional.id is not for the dead-letter producer: remove it")]
    Transactional,
    /// The cluster says nothing about the topic.
    #[error("cannot ask for dead-letter topic `{topic}`: {cause}; is the cluster reachable?")]
    Unreachable {
        /// Which.
        topic: String,
        /// What the client said.
        cause: KafkaError,
    },
    /// The cluster refuses the topic.
    #[error(
        "dead-letter topic `{topic}`: {cause}; create it, or name another by --dead-letter-topic"
    )]
    Topic {
        /// Which.
        topic: String,
        /// What the cluster said.
        cause: RDKafkaErrorCode,
    },
}

/// An answer to [`DeadLetterProducer::send`]: acknowledged by the cluster, or why not.
pub type Answer = (Ticket, Result<(), String>);

/// Sends dead letters and reports what the cluster acknowledged, from a thread of its own.
pub struct DeadLetterProducer {
    client: ClientConfig,
    topic: String,
    producer: ThreadedProducer<Reports>,
    reports: Sender<Answer>,
    answers: Receiver<Answer>,
}

impl DeadLetterProducer {
    /// A producer for `topic`. `client` says how to reach the cluster; idempotence and full
    /// acknowledgement are set here, whatever it says.
    ///
    /// # Errors
    /// [`DeadLetterError::Settings`].
    pub fn start(client: &ClientConfig, topic: &str) -> Result<Self, DeadLetterError> {
        if client.get("transactional.id").is_some() {
            return Err(DeadLetterError::Transactional);
        }
        let client = settings(client);
        // Unbounded, since a delivery report must not wait; tickets in flight bound it.
        let (reports, answers) = unbounded();
        let producer = create(&client, &reports)?;
        Ok(Self { client, topic: topic.to_owned(), producer, reports, answers })
    }

    /// Asks the cluster for the topic, waiting at most `within`: for the start, not the poll loop.
    ///
    /// # Errors
    /// The cluster cannot be asked, or has no such topic for us.
    pub fn check(&self, within: Duration) -> Result<(), DeadLetterError> {
        let topic = self.topic.clone();
        match self.producer.client().fetch_metadata(Some(&self.topic), within) {
            Err(cause) => Err(DeadLetterError::Unreachable { topic, cause }),
            Ok(metadata) => match metadata.topics().iter().find_map(|found| found.error()) {
                Some(cause) => Err(DeadLetterError::Topic { topic, cause: cause.into() }),
                None => Ok(()),
            },
        }
    }

    /// Sends a dead letter, never blocking. Each ticket sent is answered once, through
    /// [`DeadLetterProducer::answers`]; one that finds the queue full is answered at once as
    /// failed, and the guard asks again after its back-off.
    pub fn send(&mut self, ticket: Ticket, letter: &DeadLetter) {
        if let Err(why) = self.replace_if_dead() {
            self.refuse(ticket, &why);
            return;
        }
        let record = &letter.record;
        let mut message =
            BaseRecord::<[u8], [u8], _>::with_opaque_to(&self.topic, Box::new(ticket));
        message.payload = record.payload.as_deref();
        message.key = record.key.as_deref();
        message.headers = Some(letter.headers());
        if let Err((error, _)) = self.producer.send(message) {
            self.refuse(ticket, &error);
        }
    }

    /// What became of the tickets sent.
    pub fn answers(&self) -> &Receiver<Answer> {
        &self.answers
    }

    /// Waits at most `within` until everything sent is answered; answers whether it was.
    pub fn flush(&self, within: Duration) -> bool {
        self.producer.flush(within).is_ok()
    }

    /// An idempotent producer that met an error it cannot order around is dead for good.
    fn replace_if_dead(&mut self) -> Result<(), DeadLetterError> {
        let Some((_, why)) = self.producer.client().fatal_error() else {
            return Ok(());
        };
        tracing::warn!(topic = %self.topic, %why, "the dead-letter producer died: making another");
        let fresh = create(&self.client, &self.reports)?;
        let dead = std::mem::replace(&mut self.producer, fresh);
        // Its end waits for reports, of which each unanswered ticket still gets one.
        let end = thread::Builder::new().name("dead-letter-end".to_owned());
        if let Err(error) = end.spawn(move || drop(dead)) {
            tracing::warn!(%error, "no thread: the dead producer was ended in place");
        }
        Ok(())
    }

    fn refuse(&self, ticket: Ticket, why: &dyn Display) {
        tracing::warn!(topic = %self.topic, %why, "a dead letter was not accepted");
        // The receiver lives as long as `self`.
        let _ = self.reports.send((ticket, Err(why.to_string())));
    }
}

impl std::fmt::Debug for DeadLetterProducer {
    /// Without the client settings, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeadLetterProducer").field("topic", &self.topic).finish_non_exhaustive()
    }
}

impl DeadLetter {
    /// The record's own headers, then ours.
    fn headers(&self) -> OwnedHeaders {
        let record = &*self.record;
        let mut headers = OwnedHeaders::new_with_capacity(record.headers.len() + 10);
        for (key, value) in &record.headers {
            headers = headers.insert(Header { key, value: value.as_deref() });
        }
        let mut add = |key: &str, value: &str| {
            let given = std::mem::take(&mut headers);
            headers = given.insert(Header { key, value: Some(value) });
        };
        add(header::TOPIC, &record.topic);
        add(header::PARTITION, &record.partition.index.to_string());
        add(header::OFFSET, &record.offset.to_string());
        if let Some(timestamp) = record.timestamp_ms {
            add(header::TIMESTAMP, &timestamp.to_string());
        }
        add(header::REASON, reason_word(self.reason));
        if let Some(error) = &self.error {
            add(header::ERROR, cut(error, header::ERROR_BYTES_MAX));
        }
        add(header::ATTEMPTS, &self.attempts.to_string());
        add(header::COPIES, &self.copies.to_string());
        if let Some(key) = &self.idempotency_key {
            add(header::IDEMPOTENCY_KEY, key);
        }
        add(header::GROUP, &self.group);
        headers
    }
}

/// Hands delivery reports on.
struct Reports {
    answers: Sender<Answer>,
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(?level, facility, message, "dead-letter producer");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::warn!(%error, reason, "dead-letter producer");
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<Ticket>;

    fn delivery(&self, result: &DeliveryResult<'_>, ticket: Box<Ticket>) {
        let answer = match result {
            Ok(_) => Ok(()),
            Err((error, message)) => {
                if error.rdkafka_error_code() == Some(RDKafkaErrorCode::MessageSizeTooLarge) {
                    tracing::error!(topic = message.topic(), %error,
                        "a dead letter is larger than its topic takes and is sent again and \
                         again: raise max.message.bytes of the topic");
                }
                tracing::warn!(%error, "a dead letter was not acknowledged");
                Err(error.to_string())
            }
        };
        // Nobody listens any more: the process is ending, and the record is not finished.
        let _ = self.answers.send((*ticket, answer));
    }
}

fn settings(client: &ClientConfig) -> ClientConfig {
    let mut settings = client.clone();
    settings.set("enable.idempotence", "true").set("acks", "all");
    let defaults = [
        // Shorter than a drain, so that a hand-over hears of a failure before it ends.
        ("message.timeout.ms", "15000"),
        // The cluster's limit decides, not the client's: the record was consumed, so it fits
        // nearly.
        ("message.max.bytes", "104857600"),
        // As Java clients do, so that a key finds the partition number that it came from.
        ("partitioner", "murmur2_random"),
    ];
    for (name, value) in defaults {
        if client.get(name).is_none() {
            settings.set(name, value);
        }
    }
    settings
}

fn create(
    client: &ClientConfig,
    reports: &Sender<Answer>,
) -> Result<ThreadedProducer<Reports>, DeadLetterError> {
    let context = Reports { answers: reports.clone() };
    client.create_with_context(context).map_err(DeadLetterError::Settings)
}

fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::AttemptsSpent => "attempts_spent",
        Reason::Permanent => "permanent",
        Reason::NoUsableKey => "no_usable_key",
    }
}

/// The longest whole-character beginning of `text` that has at most `bytes_max` bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests;
