//! What time alone does. Every call lets its time pass first.

use rebalance_guard::{Ended, Partition, Phase, Scope, Tick, WaitReason};

use super::Model;
use super::own::later;

/// What falls due, in the order in which it counts at the same tick: loss first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Due {
    Lease,
    Deadline,
    LastCommit,
    OfferTimeout,
    Storm,
}

impl Model {
    pub(super) fn pass_time(&mut self, now: Tick) {
        let until = now.value().max(self.now);
        while let Some((at, due, partition)) = self.next_due() {
            if at > until {
                break;
            }
            self.now = self.now.max(at);
            match (due, partition) {
                (Due::Lease, _) => self.lease_runs_out(),
                (Due::Deadline, Some(partition)) => self.end_drain(partition, Ended::Deadline),
                (Due::LastCommit, Some(partition)) => self.release(partition),
                (Due::OfferTimeout, Some(partition)) => self.offer_times_out(partition),
                _ => self.drop_old_rebalances(),
            }
            // The storm level is judged once everything of one tick is told.
            if self.next_due().is_none_or(|(next, _, _)| next > at) {
                self.tidy();
            }
        }
        self.now = until;
    }

    /// After every change: the lease runs while something is owned, the storm level follows.
    pub(super) fn tidy(&mut self) {
        self.judge_storm();
        self.watch();
        if self.owned().is_empty() {
            self.lease = None;
        }
    }

    /// A clock that is behind is another one: nothing owned can be vouched for.
    pub(super) fn resume_clock(&mut self, now: u64) {
        if now >= self.now {
            self.pass_time(Tick::new(now).unwrap_or(Tick::MAX));
            return;
        }
        self.now = now;
        self.storm.forget();
        for (_, at) in &mut self.finished {
            *at = now;
        }
        let owned = self.owned();
        for partition in &owned {
            self.lose(*partition);
        }
        self.lease = None;
        self.judge_storm();
        if !owned.is_empty() {
            let storm = self.storm.level == rebalance_guard::Storm::Storm;
            self.rejoin = Some(if storm { self.storm_back_off() } else { 0 });
        }
        self.waiting.since = Tick::new(now).unwrap_or(Tick::MAX);
    }

    fn next_due(&self) -> Option<(u64, Due, Option<Partition>)> {
        let mut dues = Vec::new();
        if let Some(start) = self.lease {
            dues.push((later(start, self.config.lease), Due::Lease, None));
        }
        for partition in self.owned() {
            let Some(own) = self.own(partition) else {
                continue;
            };
            match own.phase {
                Phase::Draining => dues.push((own.deadline, Due::Deadline, Some(partition))),
                Phase::Committing => dues.push((own.deadline, Due::LastCommit, Some(partition))),
                _ => {}
            }
            if let Some(offer) = own.open {
                let at = later(offer.at, self.config.commit_timeout);
                dues.push((at, Due::OfferTimeout, Some(partition)));
            }
        }
        if let Some(at) = self.storm.next_drop(&self.config) {
            dues.push((at, Due::Storm, None));
        }
        // The first of equals: partitions by time of assign.
        dues.into_iter().min_by_key(|(at, due, _)| (*at, *due))
    }

    fn lease_runs_out(&mut self) {
        self.lost(Scope::All);
        self.lease = None;
        self.lease_expired = true;
        self.waits_for(WaitReason::LeaseExpired);
        self.judge_storm();
        let storm = self.storm.level == rebalance_guard::Storm::Storm;
        self.rejoin = Some(if storm { self.storm_back_off() } else { 0 });
    }
}
