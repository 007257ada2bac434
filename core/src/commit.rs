//! Commits: what is offered, when, and what the answers mean.

use crate::carried::SetText;
use crate::logic::{Logic, switched_off};
use crate::partition::{PartitionEntry, Phase, Start};
use crate::state::NO_OFFSET;
use crate::{Assignment, CommitAnswer, Event, Offset, Partition, Reply, Scope, Tick};

impl Logic<'_> {
    /// The completion mark, or the one fixed when the assignment was sealed.
    pub(crate) fn mark(&self, slot: u32) -> Option<u64> {
        let entry = self.entry(slot);
        if entry.phase == Phase::Committing {
            return (entry.sealed_mark != NO_OFFSET).then_some(entry.sealed_mark);
        }
        if switched_off!(self, P2) && entry.last_admitted != NO_OFFSET {
            return Some(entry.last_admitted.saturating_add(1));
        }
        self.running_mark(slot)
    }

    /// Whether the group still has to learn the mark, or the set above it.
    pub(crate) fn commit_is_needed(&self, slot: u32) -> bool {
        self.needs(slot, |entry| self.string(slot) != entry.string_confirmed)
    }

    /// As [`Logic::commit_is_needed`], without looking at the set: true when it may have changed.
    fn commit_may_be_needed(&self, slot: u32) -> bool {
        self.needs(slot, |entry| {
            self.set_may_differ(entry) || entry.string_offered != entry.string_confirmed
        })
    }

    fn needs(&self, slot: u32, set_is_news: impl FnOnce(&PartitionEntry) -> bool) -> bool {
        let entry = self.entry(slot);
        let Some(mark) = self.mark(slot) else {
            return false;
        };
        let allowed = match entry.start {
            Start::Committed | Start::Empty => true,
            Start::At => entry.finished_any,
            Start::Unknown => false,
        };
        allowed
            && mark >= entry.floor
            && (entry.confirmed == NO_OFFSET
                || mark > entry.confirmed
                || (mark == entry.confirmed && set_is_news(entry)))
    }

    /// Identity of the string as it stands. It is looked at only when it may differ.
    fn string(&self, slot: u32) -> u64 {
        let entry = self.entry(slot);
        if self.set_may_differ(entry) {
            self.set_text(slot).identity()
        } else {
            entry.string_offered
        }
    }

    /// Whether the string may be another than the one offered last.
    const fn set_may_differ(&self, entry: &PartitionEntry) -> bool {
        entry.set_changed
            && self.state.config.metadata_max > 0
            && (entry.places > entry.unfinished
                || !entry.carried.is_empty()
                || entry.string_offered != 0)
    }

    /// When the mark, or the set above it, may be due to be offered: never later than it is.
    pub(crate) fn offer_due(&self, slot: u32) -> Option<Tick> {
        let entry = self.entry(slot);
        #[cfg(feature = "mutants")]
        if entry.reoffer != NO_OFFSET {
            return Some(self.state.now);
        }
        if entry.open != NO_OFFSET || !self.commit_may_be_needed(slot) {
            return None;
        }
        if entry.phase == Phase::Committing || entry.again_at.is_some() {
            return Some(entry.again_at.unwrap_or(self.state.now));
        }
        let mark = self.mark(slot)?;
        let set_alone = entry.offered != NO_OFFSET && mark <= entry.offered;
        if set_alone && (mark < entry.offered || !self.set_may_differ(entry)) {
            return None;
        }
        if entry.finished_since_offer >= self.state.config.commit_count {
            return Some(self.state.now);
        }
        Some(entry.last_offer_tick.after(self.state.config.commit_interval))
    }

    /// Remembers when the partition's next offer is due.
    pub(crate) fn schedule_commit(&mut self, slot: u32) {
        match self.offer_due(slot) {
            Some(due) if due <= self.state.now => self.state.attend(),
            Some(due) => self.state.wake_at(due),
            None => {}
        }
    }

    /// Whether an offer that may be due is one: looks at the set.
    pub(crate) fn is_news(&mut self, slot: u32) -> bool {
        #[cfg(feature = "mutants")]
        if self.entry(slot).reoffer != NO_OFFSET {
            return true;
        }
        let entry = self.entry(slot);
        let forced = entry.phase == Phase::Committing || entry.again_at.is_some();
        let moved = self.mark(slot) != Some(entry.offered);
        if !moved && entry.set_changed && self.string(slot) == entry.string_offered {
            self.entry_mut(slot).set_changed = false;
        }
        self.commit_is_needed(slot) && (forced || moved || self.entry(slot).set_changed)
    }

    /// Offers the mark and the set above it: the offset, and the length of the string.
    pub(crate) fn offer(&mut self, slot: u32) -> (Offset, u16) {
        let set = self.set_text(slot);
        if set == SetText::TooLong {
            let counters = &mut self.state.counters;
            counters.metadata_dropped = counters.metadata_dropped.saturating_add(1);
        }
        let value = self.take_reoffer(slot).or_else(|| self.mark(slot)).unwrap_or(0);
        let now = self.state.now;
        let due = now.after(self.state.config.commit_timeout);
        let entry = self.entry_mut(slot);
        entry.open = value;
        entry.open_due = due;
        entry.offered = value;
        entry.offered_highest = highest(entry.offered_highest, value);
        entry.group_highest = highest(entry.group_highest, value);
        entry.last_offer_tick = now;
        entry.finished_since_offer = 0;
        entry.again_at = None;
        entry.string_offered = set.identity();
        entry.set_changed = false;
        self.state.wake_at(due);
        self.state.counters.commits_offered = self.state.counters.commits_offered.saturating_add(1);
        (crate::admit::offset_of(value), set.len())
    }

    /// The last commit of a sealed assignment is offered at once, unless the open offer is it.
    pub(crate) fn begin_committing(&mut self, slot: u32) {
        let now = self.state.now;
        let deadline = now.after(self.state.config.commit_timeout);
        let string = self.string(slot);
        let entry = self.entry_mut(slot);
        entry.deadline = deadline;
        if entry.open != entry.sealed_mark || string != entry.string_offered {
            entry.open = NO_OFFSET;
            entry.again_at = Some(now);
        }
        self.state.wake_at(deadline);
        self.state.attend();
    }

    /// Committing is over; `stored` says whether its commit was.
    pub(crate) fn end_committing(&mut self, slot: u32, stored: bool) {
        if !stored {
            let counters = &mut self.state.counters;
            counters.commits_given_up = counters.commits_given_up.saturating_add(1);
        }
        self.note_at(slot, NO_OFFSET, Event::Released { stored });
        self.unown(slot);
    }

    pub(crate) fn commit_answered_at(
        &mut self,
        now: Tick,
        partition: Partition,
        assignment: Assignment,
        offset: Offset,
        answer: CommitAnswer,
    ) -> Reply {
        self.pass_time(now);
        let Some(slot) = self.current(partition, assignment) else {
            return self.stale_input(partition);
        };
        let open = self.entry(slot).open == offset.value();
        match answer {
            CommitAnswer::Stored => return self.stored(slot, offset.value()),
            CommitAnswer::Retry if open => self.offer_again_later(slot),
            CommitAnswer::Rejected if open => self.rejected(slot),
            CommitAnswer::Retry | CommitAnswer::Rejected => {
                self.reoffer_stale(slot, offset.value());
                return self.stale_input(partition);
            }
            CommitAnswer::NotMine => {
                self.count_not_mine();
                self.lose_one(slot);
                self.state_storm();
            }
            CommitAnswer::Fatal => {
                self.count_not_mine();
                self.lost_at(self.state.now, Scope::Fatal);
            }
        }
        Reply::Done
    }

    fn count_not_mine(&mut self) {
        let counters = &mut self.state.counters;
        counters.commits_not_mine = counters.commits_not_mine.saturating_add(1);
    }

    fn stored(&mut self, slot: u32, offset: u64) -> Reply {
        let entry = self.entry_mut(slot);
        let partition = entry.partition;
        if entry.offered_highest == NO_OFFSET || offset > entry.offered_highest {
            return self.stale_input(partition);
        }
        entry.confirmed = highest(entry.confirmed, offset);
        entry.group_holds = true;
        entry.ever_confirmed = highest(entry.ever_confirmed, offset);
        if offset == entry.offered {
            entry.string_confirmed = entry.string_offered;
        }
        if entry.open != NO_OFFSET && offset >= entry.open {
            entry.open = NO_OFFSET;
        }
        if entry.again_at.is_some() && entry.phase != Phase::Committing && offset >= entry.offered {
            entry.again_at = None;
        }
        self.state.counters.commits_stored = self.state.counters.commits_stored.saturating_add(1);
        let entry = self.entry(slot);
        if entry.phase == Phase::Committing && !self.commit_is_needed(slot) {
            self.end_committing(slot, true);
        } else {
            self.schedule_commit(slot);
        }
        Reply::Done
    }

    /// The open offer counts as to be retried.
    pub(crate) fn offer_again_later(&mut self, slot: u32) {
        self.state.counters.commits_retried = self.state.counters.commits_retried.saturating_add(1);
        self.offer_again_at(slot, self.state.now.after(self.state.config.commit_backoff));
    }

    fn offer_again_at(&mut self, slot: u32, tick: Tick) {
        let entry = self.entry_mut(slot);
        entry.open = NO_OFFSET;
        entry.again_at = Some(tick);
        self.schedule_commit(slot);
    }

    /// Refused for what it says: at once again the first time, without metadata, then once per
    /// commit time; the second refusal ends Committing.
    fn rejected(&mut self, slot: u32) {
        self.state.counters.commits_rejected =
            self.state.counters.commits_rejected.saturating_add(1);
        let entry = self.entry_mut(slot);
        entry.rejected = entry.rejected.saturating_add(1);
        entry.set_changed = true;
        let first = entry.rejected == 1;
        let committing = entry.phase == Phase::Committing;
        if committing && (!first || !self.commit_is_needed(slot)) {
            self.end_committing(slot, false);
            return;
        }
        let now = self.state.now;
        let again = if first { now } else { now.after(self.state.config.commit_timeout) };
        self.offer_again_at(slot, again);
    }

    /// What the group was seen to hold.
    pub(crate) fn group_offset_at(
        &mut self,
        now: Tick,
        partition: Partition,
        assignment: Assignment,
        offset: Offset,
    ) -> Reply {
        self.pass_time(now);
        let Some(slot) = self.current(partition, assignment) else {
            return self.stale_input(partition);
        };
        let now = self.state.now;
        let seen = offset.value();
        let mark = self.mark(slot);
        let entry = self.entry_mut(slot);
        entry.group_holds = true;
        entry.group_highest = highest(entry.group_highest, seen);
        if mark.is_none_or(|mark| seen > mark) {
            entry.open = NO_OFFSET;
            entry.floor = entry.floor.max(seen);
            if entry.phase == Phase::Committing {
                self.end_committing(slot, false);
            }
        } else if entry.confirmed != NO_OFFSET && seen < entry.confirmed {
            entry.confirmed = seen;
            entry.again_at = Some(now);
            if entry.open == NO_OFFSET {
                self.schedule_commit(slot);
            }
        }
        Reply::Done
    }

    #[cfg(feature = "mutants")]
    fn take_reoffer(&mut self, slot: u32) -> Option<u64> {
        let reoffer = core::mem::replace(&mut self.entry_mut(slot).reoffer, NO_OFFSET);
        (reoffer != NO_OFFSET).then_some(reoffer)
    }

    #[cfg(not(feature = "mutants"))]
    #[allow(clippy::unused_self, clippy::needless_pass_by_ref_mut, reason = "a mutant's hook")]
    const fn take_reoffer(&mut self, _slot: u32) -> Option<u64> {
        None
    }

    #[cfg(feature = "mutants")]
    fn reoffer_stale(&mut self, slot: u32, offset: u64) {
        if switched_off!(self, P3) && offset <= self.entry(slot).group_highest {
            self.entry_mut(slot).reoffer = offset;
            self.state.attend();
        }
    }

    #[cfg(not(feature = "mutants"))]
    #[allow(clippy::unused_self, clippy::needless_pass_by_ref_mut, reason = "a mutant's hook")]
    const fn reoffer_stale(&mut self, _slot: u32, _offset: u64) {}
}

/// The higher of two offsets, where `NO_OFFSET` stands for none.
pub(crate) fn highest(known: u64, offset: u64) -> u64 {
    if known == NO_OFFSET { offset } else { known.max(offset) }
}

impl PartitionEntry {
    /// When the open offer counts as unanswered.
    pub(crate) fn offer_timeout(&self) -> Option<Tick> {
        (self.open != NO_OFFSET).then_some(self.open_due)
    }
}
