//! While the sink cannot be reached: its effects wait, at the cost of no attempt.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use rebalance_guard::{Outcome, Partition, Ticket};

use super::state::{Deferred, Flow, Gateway};
use crate::clock;
use crate::workers::Job;

/// What the sink said lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outage {
    /// Since when nothing was answered.
    since: Option<Instant>,
    /// The last answer of any kind.
    answered: Option<Instant>,
}

/// What happens when a time that was put off comes.
#[derive(Debug)]
pub(super) enum PutOff {
    /// The failure is answered, and the guard's own back-off begins.
    Failed(Ticket),
    /// The effect is begun again under its old ticket.
    Unreached(Job),
}

impl PutOff {
    pub(super) fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Failed(ticket) => Some(*ticket),
            Self::Unreached(job) => job.ticket,
        }
    }
}

impl Gateway<'_> {
    /// The sink answered something: an outage is over, and what waits is begun soon.
    pub(super) fn sink_answers(&mut self) {
        let now = clock::now();
        self.outage.answered = Some(now);
        let Some(since) = self.outage.since.take() else { return };
        let span = now.saturating_duration_since(since);
        tracing::warn!(?span, "the sink answers again: what waited for it is tried again");
        let soon = now + Duration::from_millis(self.settings.guard.backoff);
        let all = std::mem::take(&mut self.deferred).into_iter();
        let deferred = all.map(|Reverse(next)| {
            let waits = self.put_off.get(&next.sequence);
            let unreached = matches!(waits, Some(PutOff::Unreached(_)));
            let until = if unreached { next.until.min(soon) } else { next.until };
            Reverse(Deferred { until, ..next })
        });
        self.deferred = deferred.collect();
    }

    /// An effect that the sink did not answer waits as long as the outage has lasted, which doubles
    /// the wait every time, up to the guard's longest back-off.
    pub(super) fn unreached(&mut self, job: Job, sent: bool, why: &str) -> Flow {
        let Some(ticket) = job.ticket else { return Ok(()) };
        let (partition, offset) = (job.record.partition, job.record.offset);
        let (topic, index) = self.name(partition);
        let now = clock::now();
        if self.outage.since.is_none() {
            tracing::warn!(%topic, partition = index, offset, why,
                "the sink cannot be reached: effects wait until it answers, no attempt is spent");
        } else {
            tracing::debug!(%topic, partition = index, offset, why, "the sink is not reached");
        }
        let since = *self.outage.since.get_or_insert(now);
        let answered = self.outage.answered;
        let Some(holding) = self.holding_of(partition, ticket.assignment()) else {
            return self.not_begun_again(ticket, partition, offset);
        };
        if !holding.fence.is_open() {
            return self.not_begun_again(ticket, partition, offset);
        }
        if let Some(flight) = holding.flights.get_mut(&offset) {
            flight.error = Some(why.to_owned());
            let before = flight.unanswered.replace(now);
            // It answered others, not this one, and not for the first time.
            if sent && before.is_some_and(|before| answered.is_some_and(|at| at > before)) {
                return self.failed(ticket, partition, false, None);
            }
        }
        let base = Duration::from_millis(self.settings.guard.backoff);
        let cap = Duration::from_millis(self.settings.guard.backoff_cap);
        let after = now.saturating_duration_since(since).max(base).min(cap);
        self.put_off(ticket, partition, after, PutOff::Unreached(job));
        Ok(())
    }

    pub(super) fn put_off(
        &mut self,
        ticket: Ticket,
        partition: Partition,
        after: Duration,
        what: PutOff,
    ) {
        let (until, sequence) = (clock::now() + after, ticket.sequence());
        self.put_off.insert(sequence, what);
        self.deferred.push(Reverse(Deferred { until, partition, sequence }));
    }

    /// Begins again what was due, or what a drain cannot wait for; with `again` false nothing is
    /// begun.
    pub(super) fn end_deferral(&mut self, sequence: u64, again: bool) -> Flow {
        match self.put_off.remove(&sequence) {
            None => return Ok(()),
            Some(PutOff::Failed(ticket)) => {
                self.engine.answer(self.now(), ticket, Outcome::Failed { permanent: false })?;
            }
            Some(PutOff::Unreached(job)) => {
                let open = job.fence.as_ref().is_none_or(|fence| fence.is_open());
                if again && open {
                    self.submit(job);
                    return Ok(());
                }
                let Some(ticket) = job.ticket else { return Ok(()) };
                self.not_begun_again(ticket, job.record.partition, job.record.offset)?;
            }
        }
        self.obey_outputs()
    }

    fn not_begun_again(&mut self, ticket: Ticket, partition: Partition, offset: i64) -> Flow {
        self.engine.answer(self.now(), ticket, Outcome::Abandoned)?;
        self.drop_flight(partition, ticket.assignment(), offset);
        Ok(())
    }
}
