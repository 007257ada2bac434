//! Workers: any speed, failing, hanging, and late.

use std::collections::VecDeque;

use rebalance_guard::{Outcome, Token};

use super::{Process, Shared};
use crate::group::log::Entry;
use crate::group::seat::partition;
use crate::group::sink::{Deed, Taken};
use crate::trace::{Action, LostScope, Said};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Run,
    Dead,
}

/// One record in a worker's hands, or waiting for one.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) ticket: u64,
    pub(super) partition: u32,
    pub(super) offset: u64,
    pub(super) kind: Kind,
    pub(super) token: Token,
    pub(super) entry: Option<Entry>,
    pub(super) ends: u64,
}

/// A number that belongs to this attempt, whatever else happens in the run.
fn dice(seed: u64, job: &Job) -> fastrand::Rng {
    let place = (u64::from(job.partition) << 40) ^ (job.offset << 8) ^ job.ticket;
    fastrand::Rng::with_seed(seed ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl Process {
    /// Work begins and ends.
    pub(super) fn work(&mut self, shared: &mut Shared<'_>) {
        let now = shared.now;
        let (done, running) =
            core::mem::take(&mut self.running).into_iter().partition(|job| job.ends <= now);
        self.running = running;
        let done: Vec<Job> = done;
        for job in done {
            self.end(shared, &job);
        }
        while self.running.len() < shared.options.workers.max(1)
            && let Some(mut job) = self.queue.pop_front()
        {
            // The fence's permit: nothing of a dead assignment begins.
            if !self.seat.is_live(job.ticket) {
                continue;
            }
            let span = dice(shared.options.seed, &job).u64(0..=shared.options.work_ms * 2);
            job.ends = now + self.trouble.hang.take().unwrap_or(span);
            self.running.push(job);
        }
    }

    fn end(&mut self, shared: &mut Shared<'_>, job: &Job) {
        let mut dice = dice(shared.options.seed ^ 1, job);
        let fails = dice.u8(0..100) < shared.options.failing;
        let outcome = match job.kind {
            _ if fails => Outcome::Failed { permanent: dice.u8(0..5) == 0 },
            Kind::Dead => {
                Self::bury(shared, job);
                Outcome::DeadLettered
            }
            Kind::Run => match self.take_effect(shared, job) {
                Some(outcome) => outcome,
                None => return,
            },
        };
        self.answers.push_back((job.ticket, outcome));
        if core::mem::take(&mut self.trouble.twice) {
            shared.report.count("fault late answer");
            let other = if outcome == Outcome::Completed {
                Outcome::Abandoned
            } else {
                Outcome::Failed { permanent: false }
            };
            self.answers.push_back((job.ticket, other));
        }
    }

    fn bury(shared: &mut Shared<'_>, job: &Job) {
        shared.report.outcome.dead_lettered += 1;
        let deed = job.entry.as_ref().map(|entry| Deed::of(job.partition, job.offset, entry));
        shared.sink.dead.extend(deed);
    }

    /// The effect; `None` when the sink has seen a newer owner, which is proof of a loss.
    fn take_effect(&mut self, shared: &mut Shared<'_>, job: &Job) -> Option<Outcome> {
        let Some(entry) = &job.entry else {
            return Some(Outcome::Completed);
        };
        let deed = Deed::of(job.partition, job.offset, entry);
        match shared.sink.take(job.partition, deed, Some(job.token)) {
            Taken::Refused => {
                shared.report.count("sink refused");
                self.fenced(shared, job);
                return None;
            }
            Taken::Applied => {
                shared.report.count("sink applied");
                shared.report.effect(self.member, job.partition, false);
                shared.report.outcome.latencies_ms.push(shared.now.saturating_sub(entry.at));
            }
            Taken::Absorbed | Taken::Repeated => shared.report.count("sink absorbed"),
        }
        Some(Outcome::Completed)
    }

    /// Refused while it believes to own the partition.
    fn fenced(&mut self, shared: &mut Shared<'_>, job: &Job) {
        let current = self.assignment(job.partition) == Some(job.token.assignment);
        if !current || self.rejoin.is_some() {
            return;
        }
        // With static ids an older process may come back after a newer one, under one generation.
        if !shared.options.static_ids
            && shared.broker.is_owner(self.client.from.address, job.partition)
            && self.client.owned.contains(&job.partition)
            && self.is_active(job.partition)
        {
            let detail = format!("partition {} refused {}", job.partition, job.token);
            shared.report.fail("an owner is not refused", detail);
        }
        let lost = LostScope::Some(vec![partition(job.partition)]);
        self.tell(shared, Action::Lost(lost));
        self.close_and_rejoin(shared, 0);
    }

    pub(super) fn hear_workers(&mut self, shared: &mut Shared<'_>) {
        while let Some((ticket, outcome)) = self.answers.pop_front() {
            self.tell(shared, Action::Answer { ticket, outcome });
        }
    }

    /// From the revoke on nothing begins: who asks for it is told no and gives it up.
    pub(super) fn abandon_queued(&mut self, shared: &mut Shared<'_>, partitions: &[u32]) {
        let (gone, queue) = core::mem::take(&mut self.queue)
            .into_iter()
            .partition(|job| partitions.contains(&job.partition));
        self.queue = queue;
        let gone: VecDeque<Job> = gone;
        for job in gone {
            let action = Action::Answer { ticket: job.ticket, outcome: Outcome::Abandoned };
            let (answer, _) = self.tell(shared, action);
            debug_assert!(matches!(answer.said, Said::Reply(_)), "an answer is answered");
        }
    }
}
