//! The orders: some sent twice, some that no sink can take.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

use super::random::Random;
use crate::clock;

/// One record of the plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Planned {
    pub(super) order: String,
    pub(super) partition: i32,
    pub(super) kind: Kind,
    payload: String,
}

/// What is special about a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// An order that is sent once.
    Once,
    /// The first of two copies.
    First,
    /// The second copy.
    Again,
    /// An order that the sink refuses for good.
    Poison,
}

/// Every record of an arm, in the order in which it is sent. The same for both arms.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) records: Vec<Planned>,
    /// Positions in `records` of each partition's offsets.
    places: Vec<Vec<usize>>,
}

impl Plan {
    pub(super) fn new(seed: u64, records: u32, partitions: u16) -> Self {
        let mut random = Random::new(seed);
        let mut plan = Vec::with_capacity(records as usize);
        // Second copies, by the position at which they are due.
        let mut again: Vec<(usize, Planned)> = Vec::new();
        let total = records as usize;
        while plan.len() + again.len() < total {
            send_due(&mut plan, &mut again);
            if plan.len() + again.len() >= total {
                break;
            }
            let mut order = planned(plan.len(), &mut random, partitions);
            if order.kind == Kind::First {
                if plan.len() + again.len() + 2 > total {
                    order.kind = Kind::Once;
                } else {
                    let due = plan.len() + 1 + random.below(400) as usize;
                    again.push((due, Planned { kind: Kind::Again, ..order.clone() }));
                }
            }
            plan.push(order);
        }
        plan.extend(again.into_iter().map(|(_, planned)| planned));
        Self::indexed(plan, partitions)
    }

    fn indexed(records: Vec<Planned>, partitions: u16) -> Self {
        let mut places = vec![Vec::new(); usize::from(partitions)];
        for (position, planned) in records.iter().enumerate() {
            if let Some(place) = places.get_mut(planned.partition as usize) {
                place.push(position);
            }
        }
        Self { records, places }
    }

    /// The record at an offset.
    pub(super) fn at(&self, partition: i32, offset: i64) -> Option<&Planned> {
        let place = self.places.get(usize::try_from(partition).ok()?)?;
        self.records.get(*place.get(usize::try_from(offset).ok()?)?)
    }

    /// How many of the first `sent` records went to a partition.
    pub(super) fn sent_to(&self, partition: i32, sent: u32) -> i64 {
        let place = usize::try_from(partition).ok().and_then(|at| self.places.get(at));
        place.map_or(0, |place| place.partition_point(|position| *position < sent as usize) as i64)
    }

    /// The offset behind the last record of each partition.
    pub(super) fn ends(&self) -> impl Iterator<Item = (i32, i64)> + '_ {
        (0..).zip(self.places.iter().map(|place| place.len() as i64))
    }

    /// The orders that must take effect.
    pub(super) fn good(&self) -> HashSet<&str> {
        self.orders(|kind| kind != Kind::Poison)
    }

    /// The orders that no sink can take.
    pub(super) fn poison(&self) -> HashSet<&str> {
        self.orders(|kind| kind == Kind::Poison)
    }

    fn orders(&self, wanted: impl Fn(Kind) -> bool) -> HashSet<&str> {
        let wanted = self.records.iter().filter(|planned| wanted(planned.kind));
        wanted.map(|planned| planned.order.as_str()).collect()
    }

    /// Records of a kind.
    pub(super) fn count(&self, kind: Kind) -> u64 {
        self.records.iter().filter(|planned| planned.kind == kind).count() as u64
    }
}

fn send_due(plan: &mut Vec<Planned>, again: &mut Vec<(usize, Planned)>) {
    while let Some(due) = again.iter().position(|(due, _)| *due <= plan.len()) {
        plan.push(again.remove(due).1);
    }
}

fn planned(number: usize, random: &mut Random, partitions: u16) -> Planned {
    let kind = match random.below(1_000) {
        0..5 => Kind::Poison,
        5..55 => Kind::First,
        _ => Kind::Once,
    };
    let amount = 100 + random.below(500_000) as i64;
    let amount = if kind == Kind::Poison { -amount } else { amount };
    let order = format!("A-{number:06}-{:04x}", random.below(0x1_0000));
    let payload = serde_json::json!({
        "order": order,
        "customer": format!("C-{:05}", random.below(20_000)),
        "sku": SKUS[random.below(SKUS.len() as u64) as usize],
        "quantity": 1 + random.below(9),
        "amount_cents": amount,
        "currency": "EUR",
    })
    .to_string();
    let partition = random.below(u64::from(partitions)) as i32;
    Planned { order, partition, kind, payload }
}

/// Sends a plan on a thread of its own: at a rate, and no further than it was let.
#[derive(Debug)]
pub(super) struct Traffic {
    sent: Arc<AtomicU32>,
    allowed: Arc<AtomicU32>,
    thread: Option<JoinHandle<Result<(), KafkaError>>>,
}

impl Traffic {
    pub(super) fn start(plan: Arc<Plan>, bootstrap: &str, rate: u32) -> Result<Self, KafkaError> {
        let producer: BaseProducer = ClientConfig::new()
            .set("bootstrap.servers", bootstrap)
            // Keeps the order in each partition, so that offsets are known before.
            .set("enable.idempotence", "true")
            .set("linger.ms", "2")
            .create()?;
        let (sent, allowed) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (sending, limit) = (Arc::clone(&sent), Arc::clone(&allowed));
        let thread = std::thread::spawn(move || send(&plan, &producer, rate, &sending, &limit));
        Ok(Self { sent, allowed, thread: Some(thread) })
    }

    /// Lets the traffic go on up to `records`, never less than before.
    pub(super) fn allow(&self, records: u32) {
        self.allowed.fetch_max(records.min(STOP - 1), Ordering::Relaxed);
    }

    pub(super) fn sent(&self) -> u32 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Why sending ended early, if it did.
    pub(super) fn check(&mut self) -> Result<(), KafkaError> {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished)
            && let Some(Ok(sent)) = self.thread.take().map(JoinHandle::join)
        {
            return sent;
        }
        Ok(())
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.allowed.store(STOP, Ordering::Relaxed);
    }
}

/// Tells the sending thread to end.
const STOP: u32 = u32::MAX;

fn send(
    plan: &Plan,
    producer: &BaseProducer,
    rate: u32,
    sent: &AtomicU32,
    allowed: &AtomicU32,
) -> Result<(), KafkaError> {
    let begun = clock::now();
    // Pauses, while the limit was reached, are not made up for by a burst.
    let mut paused = Duration::ZERO;
    let mut next = 0;
    while next < plan.records.len() {
        let limit = allowed.load(Ordering::Relaxed);
        if limit == STOP {
            return Ok(());
        }
        let running = begun.elapsed().saturating_sub(paused);
        let due = (running.as_secs_f64() * f64::from(rate)) as usize;
        let due = due.min(plan.records.len());
        let upto = due.min(limit as usize);
        if upto < due {
            paused += Duration::from_secs_f64((due - upto) as f64 / f64::from(rate));
        }
        for planned in plan.records.get(next..upto).unwrap_or_default() {
            enqueue(producer, planned)?;
        }
        next = next.max(upto);
        sent.store(next as u32, Ordering::Relaxed);
        producer.poll(Duration::from_millis(5));
    }
    producer.flush(Duration::from_secs(10))
}

fn enqueue(producer: &BaseProducer, planned: &Planned) -> Result<(), KafkaError> {
    let mut record = BaseRecord::to(TOPIC)
        .key(&planned.order)
        .payload(&planned.payload)
        .partition(planned.partition);
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                producer.poll(Duration::from_millis(5));
                record = back;
            }
            Err((error, _)) => return Err(error),
        }
    }
}

const SKUS: &[&str] = &["kettle", "lamp", "chair", "desk", "shelf", "mug"];

/// The topic of both arms.
pub(super) const TOPIC: &str = "orders";
/// Where given-up records go.
pub(super) const DEAD_LETTERS: &str = "orders.dead";
/// The group of both arms.
pub(super) const GROUP: &str = "billing";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_exactly_its_records_and_every_copy_follows_its_first_in_its_partition() {
        for seed in 0..20 {
            let plan = Plan::new(seed, 1_000, 7);
            assert_eq!(plan.records.len(), 1_000);
            let kinds = [Kind::Once, Kind::First, Kind::Again, Kind::Poison];
            let counts = kinds.map(|kind| plan.count(kind));
            assert_eq!(counts.iter().sum::<u64>(), 1_000);
            assert_eq!(counts[1], counts[2]);
            assert!(counts.iter().all(|count| *count > 0), "seed {seed}: {counts:?}");
            for again in plan.records.iter().filter(|planned| planned.kind == Kind::Again) {
                let first = plan.records.iter().find(|planned| planned.order == again.order);
                let first = first.expect("it was sent before");
                assert_eq!((first.kind, first.partition), (Kind::First, again.partition));
            }
            assert_eq!(plan.good().len() as u64, counts[0] + counts[1]);
        }
    }

    #[test]
    fn offsets_name_the_records_of_their_partition_in_order() {
        let plan = Plan::new(3, 500, 5);
        assert_eq!(plan.ends().map(|(_, end)| end).sum::<i64>(), 500);
        for (partition, end) in plan.ends() {
            assert_eq!(plan.at(partition, 0).map(|planned| planned.partition), Some(partition));
            assert_eq!(plan.at(partition, end), None);
        }
        assert_eq!(plan.at(-1, 0), None);
    }

    #[test]
    fn equal_seeds_give_equal_plans() {
        assert_eq!(Plan::new(9, 300, 4).records, Plan::new(9, 300, 4).records);
        assert_ne!(Plan::new(9, 300, 4).records, Plan::new(8, 300, 4).records);
    }
}
