//! From a delivered record to a worker's queue.

use std::sync::Arc;
use std::time::Instant;

use rebalance_guard::{Hold, Offset, Partition, Reason, Record, Refuse, Seen, Ticket, Verdict};

use super::state::{Duty, Flow, Gateway, Holding, Offered};
use crate::clock;
use crate::dead_letter::DeadLetter;
use crate::record::OwnedRecord;
use crate::workers::Job;

/// So many waiting records of a partition stop its fetching, and so few let it go on. Not the first
/// one: a pause throws away what the client fetched ahead, and a small window would live on
/// fetches.
const BACKLOG_HIGH: usize = 256;
const BACKLOG_LOW: usize = 64;
/// A client that goes on delivering is sent back instead.
const BACKLOG_MAX: usize = 1_024;

impl Gateway<'_> {
    /// A record fresh from the client.
    pub(super) fn delivered(&mut self, record: OwnedRecord, at: Instant) -> Flow {
        let partition = record.partition;
        let (key, error) = match self.settings.key.evaluate(&record) {
            Ok(key) => (Some(Arc::from(key)), None),
            Err(none) => (None, Some(none.why)),
        };
        let offered =
            Offered { record: Arc::new(record), key, error, delivered: Some(at), unanswered: None };
        let holding = self.holdings.get_mut(&partition);
        let waiting = holding.is_some_and(|holding| {
            let next = offered.record.offset.saturating_add(1);
            holding.reached = holding.reached.max(next);
            holding.bound = holding.bound.max(next);
            holding.is_waiting()
        });
        if waiting {
            return self.wait_behind(partition, offered);
        }
        self.offer(offered)?;
        self.obey_outputs()
    }

    /// A record of a partition that is paused or in which an earlier one is held: it waits its
    /// turn.
    fn wait_behind(&mut self, partition: Partition, offered: Offered) -> Flow {
        let Some(holding) = self.holdings.get_mut(&partition) else { return Ok(()) };
        if holding.backlog.len() < BACKLOG_MAX {
            self.bytes += offered.bytes();
            holding.backlog.push_back(offered);
            self.sync_pause(partition);
            return Ok(());
        }
        // Read it again later: what is kept ends before it.
        let dropped: usize = holding.backlog.drain(1..).map(|kept| kept.bytes()).sum();
        self.bytes = self.bytes.saturating_sub(dropped);
        let next = holding.backlog.front().map(|front| front.record.offset.saturating_add(1));
        self.seek(partition, next.unwrap_or_default())
    }

    /// Offers the first of the partition's waiting records, and sees to it that the next follows,
    /// until one is held, the guard asks for a pause, or none is left.
    pub(super) fn offer_again(&mut self, partition: Partition) -> Flow {
        let holding = self.holdings.get_mut(&partition).filter(|held| !held.pause_asked);
        if let Some(mut front) = holding.and_then(|held| held.backlog.pop_front()) {
            self.bytes = self.bytes.saturating_sub(front.bytes());
            front.delivered = None;
            if self.offer(front)? {
                self.duties.push_back(Duty::OfferAgain(partition));
            }
        }
        self.sync_pause(partition);
        Ok(())
    }

    /// Asks the guard and does what it says; `false` when the record was held. Outputs are not
    /// pulled yet.
    pub(super) fn offer(&mut self, offered: Offered) -> Flow<bool> {
        let verdict = self.admit(&offered)?;
        self.follow(offered, verdict)
    }

    fn admit(&mut self, offered: &Offered) -> Flow<Verdict> {
        let record = &*offered.record;
        let Ok(offset) = Offset::try_from(record.offset) else {
            return Ok(Verdict::Refuse(Refuse::OffsetLimit));
        };
        let key = offered.key.as_ref().map(|key| key.as_bytes());
        let namespace = self.namespace(record.partition);
        let leader_epoch = record.leader_epoch;
        let record =
            Record { namespace, leader_epoch, ..Record::new(record.partition, offset, key) };
        Ok(self.engine.admit(self.clock.now(), &record)?)
    }

    fn follow(&mut self, offered: Offered, verdict: Verdict) -> Flow<bool> {
        let record = Arc::clone(&offered.record);
        let partition = record.partition;
        match verdict {
            Verdict::Run(ticket) => {
                let delivered = offered.delivered;
                self.keep_flight(partition, offered);
                self.run(ticket, partition, record.offset);
                if let Some(delivered) = delivered {
                    self.observer.handed_over(clock::now().saturating_duration_since(delivered));
                }
            }
            Verdict::Park(ticket, reason) => {
                self.keep_flight(partition, offered);
                self.park(ticket, partition, record.offset, reason, 0);
            }
            Verdict::Skip(skip) => {
                tracing::debug!(topic = %record.topic, partition = partition.index,
                    offset = record.offset, ?skip, "skipped a duplicate");
            }
            Verdict::Hold(hold) => {
                tracing::debug!(topic = %record.topic, partition = partition.index,
                    offset = record.offset, ?hold, "held");
                // What is offered is the first of what is here: an earlier one is gone.
                let gone = matches!(hold, Hold::Owed(owed) if owed.as_i64() < record.offset);
                if gone && self.settle_debt(partition)? {
                    return Ok(true);
                }
                self.keep_held(partition, offered);
                return Ok(false);
            }
            Verdict::Refuse(refuse) => Self::refused(&offered, refuse),
        }
        Ok(true)
    }

    fn refused(offered: &Offered, refuse: Refuse) {
        let record = &*offered.record;
        match refuse {
            // B05: the client never goes back by itself, and every seek of ours begins a new
            // assignment or stays above what was admitted.
            Refuse::OffsetRegression { seen: seen @ (Seen::Never | Seen::BelowResume), last } => {
                tracing::warn!(topic = %record.topic, partition = record.partition.index,
                    offset = record.offset, %last, ?seen, "a stray record: refused");
            }
            Refuse::OffsetLimit => {
                tracing::error!(topic = %record.topic, partition = record.partition.index,
                    offset = record.offset, "a record at the largest offset has no next: refused");
            }
            Refuse::OffsetRegression { .. } | Refuse::Fenced(_) => {
                tracing::debug!(topic = %record.topic, partition = record.partition.index,
                    offset = record.offset, ?refuse, "refused");
            }
        }
    }

    fn keep_flight(&mut self, partition: Partition, offered: Offered) {
        let Some(holding) = self.holdings.get_mut(&partition) else { return };
        self.bytes += offered.bytes();
        if let Some(old) = holding.flights.insert(offered.record.offset, offered) {
            self.bytes = self.bytes.saturating_sub(old.bytes());
        }
    }

    fn keep_held(&mut self, partition: Partition, offered: Offered) {
        let Some(holding) = self.holdings.get_mut(&partition) else { return };
        self.bytes += offered.bytes();
        holding.backlog.push_front(offered);
        self.sync_pause(partition);
    }

    /// Gives a record to the workers under `ticket`.
    pub(super) fn run(&mut self, ticket: Ticket, partition: Partition, offset: i64) {
        let unknown = Duty::Answer(ticket, rebalance_guard::Outcome::Abandoned);
        let Some(holding) = self.holding_of(partition, ticket.assignment()) else {
            return self.duties.push_back(unknown);
        };
        let Some(flight) = holding.flights.get(&offset) else {
            tracing::error!(?partition, offset, "a ticket for a record that is not here");
            return self.duties.push_back(unknown);
        };
        let job = Job {
            ticket: Some(ticket),
            record: Arc::clone(&flight.record),
            idempotency_key: flight.key.clone(),
            token: Some(holding.token),
            fence: Some(holding.fence.clone()),
            attempt: ticket.attempt(),
        };
        self.submit(job);
    }

    pub(super) fn submit(&mut self, job: Job) {
        if !self.unsubmitted.is_empty() {
            return self.unsubmitted.push_back(job);
        }
        if let Err(job) = self.pool.try_submit(job) {
            self.unsubmitted.push_back(job);
        }
    }

    /// Gives the pool what it had no room for.
    pub(super) fn submit_waiting(&mut self) {
        while let Some(job) = self.unsubmitted.pop_front() {
            if let Err(job) = self.pool.try_submit(job) {
                return self.unsubmitted.push_front(job);
            }
        }
    }

    /// Sends a record to the dead-letter topic under `ticket`.
    pub(super) fn park(
        &mut self,
        ticket: Ticket,
        partition: Partition,
        offset: i64,
        reason: Reason,
        copies: u32,
    ) {
        let group = Arc::clone(&self.group);
        let flight =
            self.holding_of(partition, ticket.assignment()).and_then(|h| h.flights.get(&offset));
        let (Some(flight), Some(letters)) = (flight.cloned(), &mut self.letters) else {
            if self.letters.is_none() {
                tracing::error!(
                    ?partition,
                    offset,
                    ?reason,
                    "a record is to be given up and there is no dead-letter topic: it holds its \
                     partition's commits. Give --dead-letter-topic"
                );
            }
            let failed = rebalance_guard::Outcome::Failed { permanent: false };
            return self.duties.push_back(Duty::Answer(ticket, failed));
        };
        tracing::warn!(topic = %flight.record.topic, partition = partition.index, offset, ?reason,
            error = flight.error.as_deref(), "giving a record up to the dead-letter topic");
        let letter = DeadLetter {
            record: flight.record,
            reason,
            error: flight.error,
            attempts: ticket.attempt(),
            copies,
            idempotency_key: flight.key,
            group,
        };
        self.parked.insert((ticket.assignment(), ticket.sequence()), (partition, offset));
        letters.send(ticket, &letter);
    }

    /// Tells the client to pause or resume the partition when that changed.
    pub(super) fn sync_pause(&mut self, partition: Partition) {
        let full = self.full;
        let holding = self.holdings.get(&partition);
        if holding.is_some_and(|holding| holding.wants_pause(full) != holding.paused) {
            self.set_pause(partition);
        }
    }

    /// Tells the client whether the partition is paused, whatever it was told before.
    pub(super) fn set_pause(&mut self, partition: Partition) {
        let full = self.full;
        let (topic, index) = self.name(partition);
        let Some(holding) = self.holdings.get_mut(&partition) else { return };
        let pause = holding.wants_pause(full);
        let told = if pause {
            self.session.pause(&topic, index)
        } else {
            self.session.resume(&topic, index)
        };
        match told {
            Ok(()) => holding.paused = pause,
            // Told again when something of the partition moves.
            Err(error) => {
                tracing::warn!(%topic, partition = index, pause, %error, "the client did not obey");
            }
        }
    }

    /// Stops or starts fetching by the memory that records take.
    pub(super) fn sync_memory(&mut self) {
        let limit = self.settings.bytes_max;
        let full = if self.full { self.bytes > limit / 4 * 3 } else { self.bytes > limit };
        if full == self.full {
            return;
        }
        self.full = full;
        tracing::info!(bytes = self.bytes, limit, full, "memory for records");
        let partitions: Vec<Partition> = self.holdings.keys().copied().collect();
        for partition in partitions {
            self.sync_pause(partition);
        }
    }
}

impl Holding {
    /// Whether a record that comes now has to wait its turn.
    fn is_waiting(&self) -> bool {
        self.pause_asked || !self.backlog.is_empty()
    }

    fn wants_pause(&self, full: bool) -> bool {
        let waiting = self.backlog.len();
        let many = if self.paused { waiting > BACKLOG_LOW } else { waiting >= BACKLOG_HIGH };
        full || self.resume_unknown || many
    }
}
