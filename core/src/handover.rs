//! Ownership ends: revoke, lost, and the sealing of an assignment.

use crate::admit::offset_of;
use crate::carried::Carried;
use crate::flight::Status;
use crate::logic::{Logic, switched_off};
use crate::partition::Phase;
use crate::report::ReportKind;
use crate::state::{NO_OFFSET, NO_SLOT};
use crate::{Ended, Event, Output, Partition, Scope, Sealed, Tick, Token, WaitReason};

impl Logic<'_> {
    /// Fences every named partition before anything else happens for any of them.
    pub(crate) fn revoke_at(&mut self, now: Tick, partitions: &[Partition], deadline: Tick) {
        self.pass_time(now);
        let deadline = deadline.max(self.state.now);
        let mut owned = false;
        for partition in partitions {
            let Some(slot) = self.find(*partition) else {
                continue;
            };
            owned |= self.entry(slot).phase != Phase::Unowned;
            self.fence(slot, deadline);
        }
        for partition in partitions {
            let Some(slot) = self.find(*partition) else {
                continue;
            };
            if self.entry(slot).phase == Phase::Draining {
                self.give_up_waiting(slot);
                self.end_drain_if_due(slot);
            }
        }
        if owned {
            self.storm_counts_loss();
        }
        self.state_storm();
    }

    fn fence(&mut self, slot: u32, deadline: Tick) {
        let entry = self.entry_mut(slot);
        match entry.phase {
            Phase::Active => {
                entry.phase = Phase::Draining;
                entry.deadline = deadline;
                let was_paused = core::mem::take(&mut entry.paused);
                self.paused_ends(was_paused);
                self.note_at(slot, NO_OFFSET, Event::Revoked);
            }
            Phase::Draining => entry.deadline = entry.deadline.min(deadline),
            Phase::Unowned | Phase::Committing => return,
        }
        self.state.wake_at(deadline);
        self.state.attend();
    }

    /// Records that are in nobody's hands are not waited for.
    fn give_up_waiting(&mut self, slot: u32) {
        let mut place = self.entry(slot).flights.head;
        while place != NO_SLOT {
            let flight = self.flight(place);
            let (next, status) = (flight.next, flight.status);
            if matches!(status, Status::BackOff | Status::AwaitsDeadLetter) {
                self.state.counters.given_up = self.state.counters.given_up.saturating_add(1);
                self.give_up(place);
            }
            place = next;
        }
    }

    /// Ends the drain when nothing is in anybody's hands, or its deadline is reached.
    pub(crate) fn end_drain_if_due(&mut self, slot: u32) {
        let entry = self.entry(slot);
        if entry.in_hands == 0 {
            self.seal(slot, Ended::Drained);
        } else if entry.deadline <= self.state.now && !switched_off!(self, P5) {
            self.seal(slot, Ended::Deadline);
        }
    }

    pub(crate) fn lost_at(&mut self, now: Tick, scope: Scope<'_>) {
        self.pass_time(now);
        let owned = match scope {
            Scope::Some(partitions) => self.lose(partitions),
            Scope::All => self.lose_all(),
            Scope::Fatal => {
                self.state.dead = true;
                self.state.rejoin = None;
                let owned = self.lose_all();
                self.note(Event::ClientDead);
                self.wait_is_for(WaitReason::Dead);
                owned
            }
        };
        if owned {
            self.storm_counts_loss();
        }
        self.state_storm();
    }

    fn lose(&mut self, partitions: &[Partition]) -> bool {
        let mut owned = false;
        for partition in partitions {
            if let Some(slot) = self.find(*partition) {
                owned |= self.entry(slot).phase != Phase::Unowned;
                self.lose_one(slot);
            }
        }
        owned
    }

    /// Loses everything, oldest assignment first.
    pub(crate) fn lose_all(&mut self) -> bool {
        let owned = self.state.owned_count > 0;
        let mut slot = self.state.owned.head;
        while slot != NO_SLOT {
            let next = self.entry(slot).next;
            self.lose_one(slot);
            slot = next;
        }
        owned
    }

    pub(crate) fn lose_one(&mut self, slot: u32) {
        match self.entry(slot).phase {
            Phase::Unowned => return,
            Phase::Active | Phase::Draining => {
                let ended = if switched_off!(self, P4) { Ended::Drained } else { Ended::Lost };
                self.seal(slot, ended);
            }
            Phase::Committing => self.end_committing(slot, false),
        }
        self.wait_is_for(WaitReason::Lost);
    }

    /// Ends an assignment; nothing of it counts from here on. Drained and timed-out ones still
    /// commit their mark, the others are unowned at once.
    pub(crate) fn seal(&mut self, slot: u32, ended: Ended) {
        self.close_assignment(slot, ended);
        let hand_back = matches!(ended, Ended::Drained | Ended::Deadline);
        if hand_back && self.commit_is_needed(slot) {
            self.begin_committing(slot);
        } else {
            self.unown(slot);
        }
    }

    /// Ends an owned assignment whose partition gets a new one at once.
    pub(crate) fn end_for_successor(&mut self, slot: u32, ended: Ended) {
        if self.entry(slot).phase == Phase::Committing {
            let counters = &mut self.state.counters;
            counters.replaced = counters.replaced.saturating_add(1);
            counters.commits_given_up = counters.commits_given_up.saturating_add(1);
            self.note_at(slot, NO_OFFSET, Event::Released { stored: false });
        } else {
            self.close_assignment(slot, ended);
        }
        self.leave_owned(slot);
    }

    fn close_assignment(&mut self, slot: u32, ended: Ended) {
        let mark = self.running_mark(slot);
        let left = self.entry(slot).unfinished;
        self.count_end(slot, ended);
        self.give_up_all(slot);
        let entry = self.entry_mut(slot);
        entry.sealed_mark = mark.unwrap_or(NO_OFFSET);
        entry.phase = Phase::Committing;
        entry.debt = None;
        let was_paused = core::mem::take(&mut entry.paused);
        let partition = entry.partition;
        let assignment = crate::flight::assignment_of(entry.assignment);
        self.paused_ends(was_paused);
        if ended != Ended::Rewound {
            self.count_fruit(slot);
        }
        let mark = mark.map(offset_of);
        let sealed = Sealed { partition, assignment, ended, mark, left };
        self.report(slot, ReportKind::Sealed, Output::Sealed(sealed));
        let mark = self.entry(slot).sealed_mark;
        self.note_at(slot, mark, Event::Sealed(ended));
    }

    fn count_end(&mut self, slot: u32, ended: Ended) {
        let in_hands = u64::from(self.entry(slot).in_hands);
        let counters = &mut self.state.counters;
        if ended == Ended::Lost {
            counters.lost_in_hand = counters.lost_in_hand.saturating_add(in_hands);
        }
        let in_total = match ended {
            Ended::Drained => &mut counters.drained,
            Ended::Deadline => &mut counters.drain_deadlines,
            Ended::Lost => &mut counters.lost,
            Ended::Replaced => &mut counters.replaced,
            Ended::Rewound => &mut counters.rewound,
        };
        *in_total = in_total.saturating_add(1);
        let counters = &mut self.entry_mut(slot).counters;
        let of_partition = match ended {
            Ended::Drained => &mut counters.drained,
            Ended::Deadline => &mut counters.drain_deadlines,
            Ended::Lost => &mut counters.lost,
            Ended::Replaced => &mut counters.replaced,
            Ended::Rewound => &mut counters.rewound,
        };
        *of_partition = of_partition.saturating_add(1);
    }

    fn give_up_all(&mut self, slot: u32) {
        while self.entry(slot).flights.head != NO_SLOT {
            let place = self.entry(slot).flights.head;
            self.state.counters.given_up = self.state.counters.given_up.saturating_add(1);
            self.give_up(place);
        }
    }

    fn paused_ends(&mut self, was_paused: bool) {
        if was_paused {
            self.state.paused_count = self.state.paused_count.saturating_sub(1);
        }
    }

    /// The partition is nobody's here; what it committed is remembered.
    pub(crate) fn unown(&mut self, slot: u32) {
        self.leave_owned(slot);
        let entry = self.entry_mut(slot);
        entry.phase = Phase::Unowned;
        entry.assignment = 0;
        entry.carried = Carried::NONE;
        self.join_remembered(slot);
        self.wait_begins();
    }

    pub(crate) fn polled_at(&mut self, now: Tick) {
        self.pass_time(now);
        if self.state.owned_count > 0 {
            self.state.lease_begins();
            self.schedule_poll_budget();
        }
    }

    /// The fencing token of an owned partition.
    pub(crate) fn token(&self, slot: u32) -> Token {
        let entry = self.entry(slot);
        let assignment = crate::flight::assignment_of(entry.assignment);
        Token { group: entry.group, assignment }
    }
}
