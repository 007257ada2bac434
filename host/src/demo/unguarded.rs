//! A member process of the unguarded arm: the usual consumer with the usual settings.
//!
//! It polls, hands each record to the worker pool, and lets the client commit what was handed over.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};
use rdkafka::message::{BorrowedMessage, Headers as _, Message as _};
use rebalance_guard::Partition;

use super::MemberArgs;
use super::member::{CLIENT, WORKERS, on_sigterm, sink};
use super::traffic::{GROUP, TOPIC};
use super::wire::{Latencies, Told};
use crate::clock;
use crate::record::OwnedRecord;
use crate::workers::{Done, Job, JobResult, Order, PoolSettings, WorkerPool};

/// What it sets otherwise than the guarded arm; the demo prints it.
pub(super) const DIFFERENCE: &[(&str, &str)] = &[
    ("enable.auto.commit", "true"),
    ("auto.commit.interval.ms", "500"),
    ("enable.auto.offset.store", "false"),
];

/// Runs until SIGTERM, then finishes what it was handed and leaves.
pub(super) fn run(args: &MemberArgs) -> Result<(), String> {
    let stopping = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stopping);
    on_sigterm(move || asked.store(true, Ordering::Relaxed)).map_err(|error| error.to_string())?;
    let consumer = consumer(args).map_err(|error| error.to_string())?;
    let settings = PoolSettings {
        workers: NonZeroUsize::new(WORKERS).unwrap_or(NonZeroUsize::MIN),
        order: Order::Partition,
        capacity: NonZeroUsize::new(1_024).unwrap_or(NonZeroUsize::MIN),
    };
    let pool = WorkerPool::start(settings, sink(args)?).map_err(|error| error.to_string())?;
    let mut member = Member { consumer, pool, latencies: Latencies::new() };
    while !stopping.load(Ordering::Relaxed) {
        member.turn()?;
    }
    member.leave();
    Ok(())
}

fn consumer(args: &MemberArgs) -> rdkafka::error::KafkaResult<BaseConsumer<Telling>> {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &args.bootstrap)
        .set("group.id", GROUP)
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("auto.offset.reset", "earliest");
    for (name, value) in CLIENT.iter().chain(DIFFERENCE) {
        config.set(*name, *value);
    }
    let consumer: BaseConsumer<Telling> = config.create_with_context(Telling)?;
    consumer.subscribe(&[TOPIC])?;
    Ok(consumer)
}

struct Member {
    consumer: BaseConsumer<Telling>,
    pool: WorkerPool,
    latencies: Latencies,
}

impl Member {
    /// Takes one record and hands it over.
    fn turn(&mut self) -> Result<(), String> {
        self.take_results();
        let delivered = match self.consumer.poll(Duration::from_millis(20)) {
            None => return Ok(()),
            Some(Ok(message)) => Some((owned(&message), clock::now())),
            Some(Err(error)) => {
                tracing::debug!("poll: {error}");
                None
            }
        };
        let Some((record, delivered)) = delivered else { return Ok(()) };
        self.hand_over(record, delivered);
        Ok(())
    }

    fn hand_over(&mut self, record: OwnedRecord, delivered: Instant) {
        let (partition, offset) = (record.partition.index, record.offset);
        let record = Arc::new(record);
        let job = Job {
            ticket: None,
            record,
            idempotency_key: None,
            token: None,
            fence: None,
            attempt: 0,
        };
        let mut waiting = self.pool.try_submit(job);
        while let Err(job) = waiting {
            if let Ok(done) = self.pool.results().recv_timeout(Duration::from_millis(100)) {
                self.settle(done);
            }
            waiting = self.pool.try_submit(job);
        }
        self.latencies.add(delivered.elapsed());
        // Refused when the partition went away meanwhile: usual code logs that and goes on.
        if let Err(error) = self.consumer.store_offset(TOPIC, partition, offset) {
            tracing::debug!("store {partition}@{offset}: {error}");
        }
    }

    fn take_results(&self) {
        while let Ok(done) = self.pool.results().try_recv() {
            self.settle(done);
        }
    }

    /// Tries again what may succeed, at most five times; logs and forgets what will not.
    fn settle(&self, done: Done) {
        let failure = match done.result {
            JobResult::Failed { permanent, why, .. } => Some((permanent, why)),
            JobResult::Unreachable { why, .. } => Some((false, why)),
            _ => None,
        };
        if let Some((permanent, why)) = failure {
            let record = Arc::clone(&done.job.record);
            let again = !permanent && done.job.attempt < 4;
            let attempt = done.job.attempt.saturating_add(1);
            if again && self.pool.try_submit(Job { attempt, ..done.job }).is_ok() {
                return;
            }
            tracing::debug!("{}@{}: {why}", record.partition.index, record.offset);
            self.pool.settle(&record, None);
        }
    }

    /// What a careful shutdown does: finish, then close, which commits.
    fn leave(mut self) {
        let deadline = clock::now() + Duration::from_secs(5);
        while self.pool.load().busy + self.pool.load().queued > 0 && clock::now() < deadline {
            if let Ok(done) = self.pool.results().recv_timeout(Duration::from_millis(20)) {
                self.settle(done);
            }
        }
        self.latencies.tell();
        let _ = self.pool.shutdown(Duration::from_millis(100));
    }
}

fn owned(message: &BorrowedMessage<'_>) -> OwnedRecord {
    let headers = message.headers().map(|headers| {
        let pairs = headers.iter().map(|h| (h.key.to_owned(), h.value.map(<[u8]>::to_vec)));
        pairs.collect()
    });
    OwnedRecord {
        topic: message.topic().into(),
        partition: Partition::new(0, message.partition()),
        offset: message.offset(),
        key: message.key().map(<[u8]>::to_vec),
        payload: message.payload().map(<[u8]>::to_vec),
        headers: headers.unwrap_or_default(),
        leader_epoch: crate::ffi::leader_epoch(message),
        timestamp_ms: message.timestamp().to_millis(),
    }
}

/// Tells the demo about rebalances; does nothing else, as usual.
#[derive(Debug)]
struct Telling;

impl ClientContext for Telling {}

impl ConsumerContext for Telling {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let (assigned, list) = match rebalance {
            Rebalance::Assign(list) => (true, list),
            Rebalance::Revoke(list) => (false, list),
            Rebalance::Error(_) => return,
        };
        let partitions: Vec<i32> = list.elements().iter().map(|e| e.partition()).collect();
        if !partitions.is_empty() {
            let generation = crate::ffi::membership(consumer).map_or(0, |at| at.generation);
            Told::Rebalance { assigned, partitions, generation }.tell();
        }
    }
}
