//! A member without a guard, for comparison: records go to workers as they come, their offsets
//! count as done at hand-over and are committed every interval, in a revoke too.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::client::{Client, Event};
use super::log::Entry;
use super::process::{Shared, Trouble};
use super::report::Callback;
use super::sink::{Deed, Taken};
use super::wire::{From, Response};

/// Records that wait for a worker; more are not fetched.
const QUEUE_MAX: usize = 256;

struct Job {
    partition: u32,
    offset: u64,
    entry: Entry,
    ends: u64,
}

pub(super) struct Naive {
    pub(super) member: usize,
    pub(super) client: Client,
    pub(super) trouble: Trouble,
    pub(super) mail: VecDeque<(From, Response)>,
    pub(super) ended: bool,
    /// The next record of each partition, which counts as done up to there.
    stored: BTreeMap<u32, u64>,
    sent: BTreeMap<u32, u64>,
    queue: VecDeque<Job>,
    running: Vec<Job>,
    next_poll: u64,
    next_commit: u64,
    tags: u64,
}

impl Naive {
    pub(super) fn new(member: usize, shared: &mut Shared<'_>) -> Self {
        *shared.addresses += 1;
        Self {
            member,
            client: Client::new(shared.options, *shared.addresses, member, shared.now),
            trouble: Trouble::default(),
            mail: VecDeque::new(),
            ended: false,
            stored: BTreeMap::new(),
            sent: BTreeMap::new(),
            queue: VecDeque::new(),
            running: Vec::new(),
            next_poll: shared.now,
            next_commit: shared.now,
            tags: 0,
        }
    }

    pub(super) fn serve(&mut self, shared: &mut Shared<'_>) {
        if shared.now < self.trouble.paused {
            return;
        }
        while let Some((to, response)) = self.mail.pop_front() {
            self.client.hear(shared.now, to, response);
        }
        let cut = shared.now < self.trouble.cut;
        self.client.serve(shared.now, cut, shared.wire);
        self.work(shared);
        self.client.answers.clear();
        if shared.now >= self.trouble.stalled && self.next_poll <= shared.now {
            self.next_poll = shared.now + shared.options.poll_ms.max(1);
            self.poll(shared);
        }
        self.client.serve(shared.now, cut, shared.wire);
    }

    fn poll(&mut self, shared: &mut Shared<'_>) {
        shared.report.member = self.member;
        let generation = self.client.generation;
        match self.client.poll(shared.now) {
            Some(Event::Assign(partitions)) => {
                let named = partitions.clone();
                shared.report.callback(Callback::Assign { partitions: named, generation });
                for number in &partitions {
                    let stored = shared.broker.committed.get(number);
                    let from = stored.map_or(0, |stored| stored.offset);
                    self.stored.insert(*number, from);
                    self.sent.insert(*number, from);
                }
                self.client.assign(shared.now, &partitions);
            }
            Some(Event::Revoke(partitions)) => self.revoked(shared, partitions),
            Some(Event::PollExceeded) => shared.report.callback(Callback::PollExceeded),
            Some(Event::Fatal(_)) => {
                shared.report.callback(Callback::Fatal);
                self.ended = true;
            }
            None => self.fetch(shared),
        }
        if self.next_commit <= shared.now {
            self.next_commit = shared.now + shared.options.guard.commit_interval.max(1);
            self.commit();
        }
        if self.trouble.stopping && !self.ended {
            let owned: Vec<u32> = self.client.owned.iter().copied().collect();
            if !owned.is_empty() {
                self.revoked(shared, owned);
                self.client.serve(shared.now, shared.now < self.trouble.cut, shared.wire);
            }
            self.client.close(shared.now, shared.wire);
            self.ended = true;
        }
    }

    fn revoked(&mut self, shared: &mut Shared<'_>, partitions: Vec<u32>) {
        let (lost, generation) = (self.client.lost, self.client.generation);
        if !lost {
            self.commit();
        }
        self.client.unassign(shared.now, &partitions);
        self.stored.retain(|number, _| !partitions.contains(number));
        shared.report.callback(Callback::Revoke { partitions, lost, generation });
    }

    fn commit(&mut self) {
        let due: Vec<(u32, u64)> = self
            .stored
            .iter()
            .filter(|(number, offset)| self.sent.get(number) != Some(offset))
            .map(|(number, offset)| (*number, *offset))
            .collect();
        for (number, offset) in due {
            self.tags += 1;
            self.sent.insert(number, offset);
            self.client.commit(self.tags, number, offset, Vec::new());
        }
    }

    fn fetch(&mut self, shared: &Shared<'_>) {
        let owned: BTreeSet<u32> = self.client.owned.clone();
        for number in owned {
            let (Some(from), Some(log)) =
                (self.stored.get(&number).copied(), shared.logs.log(number))
            else {
                continue;
            };
            let room = QUEUE_MAX.saturating_sub(self.queue.len());
            for (offset, entry) in log.entries.range(from..).take(room) {
                let (offset, entry) = (*offset, entry.clone());
                self.stored.insert(number, offset + 1);
                self.queue.push_back(Job { partition: number, offset, entry, ends: 0 });
            }
        }
    }

    fn work(&mut self, shared: &mut Shared<'_>) {
        let now = shared.now;
        let (done, running) =
            core::mem::take(&mut self.running).into_iter().partition(|job| job.ends <= now);
        self.running = running;
        let done: Vec<Job> = done;
        for job in done {
            let deed = Deed::of(job.partition, job.offset, &job.entry);
            let taken = shared.sink.take(job.partition, deed, None);
            shared.report.effect(self.member, job.partition, taken == Taken::Repeated);
            if taken == Taken::Applied {
                shared.report.outcome.latencies_ms.push(now.saturating_sub(job.entry.at));
            }
        }
        while self.running.len() < shared.options.workers.max(1)
            && let Some(mut job) = self.queue.pop_front()
        {
            let place = (u64::from(job.partition) << 40) ^ (job.offset << 8);
            let seed = shared.options.seed ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let span = fastrand::Rng::with_seed(seed).u64(0..=shared.options.work_ms * 2);
            job.ends = now + self.trouble.hang.take().unwrap_or(span);
            self.running.push(job);
        }
    }

    pub(super) fn reads(&self) -> impl Iterator<Item = u32> + '_ {
        self.client.owned.iter().copied()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.running.is_empty()
    }
}
