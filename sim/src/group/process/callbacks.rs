//! The adapter: rebalance callbacks, and every sign of loss that the client gives.

use rebalance_guard::{Offset, Phase, Tick};

use super::{HandOver, Process, Shared};
use crate::group::client::Client;
use crate::group::report::Callback;
use crate::group::seat::partition;
use crate::trace::{Action, LostScope, Resumed};

impl Process {
    pub(super) fn assigned(&mut self, shared: &mut Shared<'_>, partitions: &[u32]) {
        let generation = self.client.generation;
        shared.report.callback(Callback::Assign { partitions: partitions.to_vec(), generation });
        (self.id, self.exceeded) = (self.client.member, false);
        let late = self.knows_late(shared);
        let mut starts = Vec::new();
        for number in partitions {
            self.forget(*number);
            // The client reads on by itself, whether the adapter knows from where or not.
            let resume = self.resume(shared, *number);
            let resume = if late { Resumed::Unknown } else { resume };
            starts.push((partition(*number), resume));
        }
        self.tell(shared, Action::Assign { generation: Some(generation), partitions: starts });
        self.client.assign(shared.now, partitions);
        let due = shared.now + 1 + shared.options.latency_ms * 2;
        for number in partitions {
            if late && let Some(assignment) = self.assignment(*number) {
                self.positions.push((due, *number, assignment));
            }
        }
    }

    /// Whether the committed offsets take a while to read.
    fn knows_late(&self, shared: &Shared<'_>) -> bool {
        shared.now < self.trouble.cut || (shared.options.checked && shared.now.is_multiple_of(3))
    }

    /// Where reading resumes, and fetching goes on.
    fn resume(&mut self, shared: &Shared<'_>, number: u32) -> Resumed {
        let stored = shared.broker.committed.get(&number);
        let from = stored.map_or(0, |stored| stored.offset);
        self.fetch.insert(number, from);
        match stored {
            Some(stored) => Resumed::Committed {
                offset: Offset::new(stored.offset).unwrap_or(Offset::MAX),
                metadata: stored.metadata.clone(),
            },
            None if shared.now.is_multiple_of(2) => Resumed::Empty(None),
            None => Resumed::Empty(Some(Offset::ZERO)),
        }
    }

    pub(super) fn tell_positions(&mut self, shared: &mut Shared<'_>) {
        if shared.now < self.trouble.cut {
            return;
        }
        let (due, later) = core::mem::take(&mut self.positions)
            .into_iter()
            .partition(|(due, ..)| *due <= shared.now);
        self.positions = later;
        let due: Vec<_> = due;
        for (_, number, assignment) in due {
            if self.assignment(number) == Some(assignment) {
                self.forget(number);
                let resume = self.resume(shared, number);
                let partition = partition(number);
                self.tell(shared, Action::Position { partition, assignment, resume });
            }
        }
    }

    /// What is here of a partition belongs to nobody.
    pub(super) fn forget(&mut self, number: u32) {
        self.inbox.remove(&number);
        self.fetch.remove(&number);
        self.paused.remove(&number);
        self.at_end.remove(&number);
    }

    /// No single sign is enough: the flag is dropped while a rebalance is under way.
    pub(super) fn is_lost(&self) -> bool {
        let client = &self.client;
        client.lost
            || client.fatal
            || self.exceeded
            || client.generation <= 0
            || client.member == 0
            || client.member != self.id
    }

    pub(super) fn revoked(&mut self, shared: &mut Shared<'_>, partitions: Vec<u32>) {
        let (lost, generation) = (self.client.lost, self.client.generation);
        shared.report.callback(Callback::Revoke {
            partitions: partitions.clone(),
            lost,
            generation,
        });
        for number in &partitions {
            // What was fetched already stays in the application's hands for a while.
            self.fetch.remove(number);
        }
        if !partitions.is_empty() && self.is_lost() {
            return self.give_up(shared, &partitions);
        }
        if shared.options.checked && shared.now.is_multiple_of(4) {
            self.read_back(shared, &partitions);
        }
        let deadline = self.tick(shared.now).saturating_add(shared.options.drain_ms);
        let named = partitions.iter().map(|number| partition(*number)).collect();
        let deadline = Tick::new(deadline).unwrap_or(Tick::MAX);
        self.tell(shared, Action::Revoke { partitions: named, deadline });
        self.abandon_queued(shared, &partitions);
        self.hand_over = Some(HandOver { partitions, id: self.client.member });
        self.end_hand_over(shared);
    }

    fn read_back(&mut self, shared: &mut Shared<'_>, partitions: &[u32]) {
        for number in partitions {
            let stored = shared.broker.committed.get(number).map(|stored| stored.offset);
            if let (Some(assignment), Some(stored)) = (self.assignment(*number), stored) {
                let offset = Offset::new(stored).unwrap_or(Offset::MAX);
                let partition = partition(*number);
                self.tell(shared, Action::GroupOffset { partition, assignment, offset });
            }
        }
    }

    /// Lost: nothing is flushed, nothing committed.
    fn give_up(&mut self, shared: &mut Shared<'_>, partitions: &[u32]) {
        let named = partitions.iter().map(|number| partition(*number)).collect();
        self.tell(shared, Action::Lost(LostScope::Some(named)));
        if self.rejoin.is_some() {
            return;
        }
        self.client.unassign(shared.now, partitions);
        if !self.commits.is_empty() {
            // A commit that the client still holds may go out under its next generation.
            self.close_and_rejoin(shared, 0);
        }
    }

    /// The callback returns when everything is released, or lost.
    pub(super) fn end_hand_over(&mut self, shared: &mut Shared<'_>) {
        let Some(hand_over) = &self.hand_over else {
            return;
        };
        let owned = |number: &u32| self.seat.guard.progress(partition(*number));
        if hand_over.partitions.iter().any(|number| owned(number).is_some()) {
            return;
        }
        let partitions = hand_over.partitions.clone();
        let changed = hand_over.id != self.client.member || self.is_lost();
        self.hand_over = None;
        let parked = |number: &u32| self.commits.values().any(|open| open.partition == *number);
        if partitions.iter().any(parked) || (changed && !self.commits.is_empty()) {
            // The client would send it later, when another member owns the partition.
            return self.close_and_rejoin(shared, 0);
        }
        self.client.unassign(shared.now, &partitions);
    }

    /// A dead client says nothing more: a new process-like start after a while.
    pub(super) fn fatal(&mut self, shared: &mut Shared<'_>) {
        shared.report.callback(Callback::Fatal);
        self.hand_over = None;
        self.tell(shared, Action::Lost(LostScope::Fatal));
        // What it holds is refused from now on.
        self.offer(shared);
        self.ended = true;
    }

    /// Everything is lost and the consumer is destroyed before it joins again.
    pub(super) fn close_and_rejoin(&mut self, shared: &mut Shared<'_>, back_off: u64) {
        if self.rejoin.is_some() {
            return;
        }
        shared.report.count("consumer replaced");
        self.rejoin = Some(shared.now + back_off + 1);
        self.hand_over = None;
        self.commits.clear();
        self.client.close(shared.now, shared.wire);
        // A static id comes back under the same generation, perhaps after a newer process had it:
        // only a new guard, whose assignments are numbered above that one's, outranks it.
        self.ended = self.client.from.instance.is_some();
        let owned: Vec<_> = self.seat.guard.owned().map(|(partition, _)| partition).collect();
        if !owned.is_empty() {
            self.tell(shared, Action::Lost(LostScope::All));
        }
    }

    pub(super) fn make_consumer(&mut self, shared: &mut Shared<'_>) {
        self.rejoin = None;
        *shared.addresses += 1;
        let (address, now) = (*shared.addresses, shared.now);
        self.client = Client::new(shared.options, address, self.member, now);
        self.inbox.clear();
        self.fetch.clear();
        self.paused.clear();
        self.positions.clear();
        self.delivered.clear();
    }

    /// Closes in good order: everything is handed over as in a revoke, then the client leaves.
    pub(super) fn stop(&mut self, shared: &mut Shared<'_>) {
        let owned: Vec<u32> = self.client.owned.iter().copied().collect();
        if owned.is_empty() || self.client.fatal {
            let held = self.seat.guard.owned().next().is_some();
            if held {
                self.tell(shared, Action::Lost(LostScope::All));
            }
            self.client.close(shared.now, shared.wire);
            self.ended = true;
            return;
        }
        self.client.poll(shared.now);
        self.tell(shared, Action::Polled);
        if self.rejoin.is_none() {
            self.revoked(shared, owned);
        }
    }

    /// Whether the guard still gives out work for the partition.
    pub(super) fn is_active(&self, number: u32) -> bool {
        let progress = self.seat.guard.progress(partition(number));
        progress.is_some_and(|progress| progress.phase == Phase::Active)
    }
}
