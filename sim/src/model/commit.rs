//! Offers and what the coordinator said to them.

use rebalance_guard::{Assignment, CommitAnswer, Config, Partition, Phase, Reply, Scope};

use super::Model;
use super::own::{Kind, Offer, Own, later};

impl Model {
    /// The value to offer now, if one is due.
    pub(super) fn due_commit(&self, partition: Partition) -> Option<u64> {
        let own = self.own(partition)?;
        let mark = own.mark()?;
        if own.open.is_some() || !own.needs_commit(&self.config) {
            return None;
        }
        if let Some(again) = own.again_at {
            return (self.now >= again).then_some(mark);
        }
        if own.phase == Phase::Committing {
            return Some(mark);
        }
        let interval = later(own.offer_base, self.config.commit_interval);
        let due = self.now >= interval || own.finished_since >= self.config.commit_count;
        (due && own.wants(mark, &self.config)).then_some(mark)
    }

    /// Notes that `value` was offered.
    pub(super) fn offer(&mut self, partition: Partition, value: u64) {
        let (now, config) = (self.now, self.config);
        let Some(slot) = self.slots.get_mut(&partition) else {
            return;
        };
        slot.offered_ever = slot.offered_ever.max(Some(value));
        let Some(own) = slot.own.as_mut() else { return };
        own.open = Some(Offer { value, at: now });
        own.last_offered = Some(value);
        own.offered = Some(value);
        own.string_offered = own.string(&config);
        own.highest_offered = own.highest_offered.max(Some(value));
        own.again_at = None;
        own.offer_base = now;
        own.finished_since = 0;
    }

    /// Whether a sealed partition has something to commit; makes it due.
    pub(super) fn prepare_last_commit(&mut self, partition: Partition) -> bool {
        let config = self.config;
        let Some(own) = self.own_mut(partition) else {
            return false;
        };
        let Some(mark) = own.mark() else { return false };
        own.again_at = None;
        // The last commit does not wait for an older offer, or for one of another set.
        let same_set = own.string(&config) == own.string_offered;
        own.open = own.open.filter(|offer| offer.value == mark && same_set);
        own.needs_commit(&config)
    }

    pub(super) fn offer_times_out(&mut self, partition: Partition) {
        let config = self.config;
        let Some(own) = self.own_mut(partition) else {
            return;
        };
        if let Some(offer) = own.open.take() {
            let at = later(offer.at, config.commit_timeout);
            own.again_at = Some(later(at, config.commit_backoff));
        }
    }

    pub(super) fn commit_answered(
        &mut self,
        partition: Partition,
        assignment: Assignment,
        offset: u64,
        answer: CommitAnswer,
    ) -> Reply {
        if !self.current(partition, assignment) {
            return Reply::Stale;
        }
        match answer {
            CommitAnswer::Stored => self.stored(partition, offset),
            CommitAnswer::Retry | CommitAnswer::Rejected => {
                self.refused(partition, offset, answer == CommitAnswer::Rejected)
            }
            CommitAnswer::NotMine => {
                self.lose(partition);
                Reply::Done
            }
            CommitAnswer::Fatal => {
                self.lost(Scope::Fatal);
                Reply::Done
            }
        }
    }

    fn stored(&mut self, partition: Partition, offset: u64) -> Reply {
        let config = self.config;
        let Some(slot) = self.slots.get_mut(&partition) else {
            return Reply::Stale;
        };
        let Some(own) = slot.own.as_mut() else {
            return Reply::Stale;
        };
        if own.highest_offered.is_none_or(|highest| offset > highest) {
            return Reply::Stale;
        }
        own.confirmed = own.confirmed.max(Some(offset));
        own.group_empty = false;
        if own.offered == Some(offset) {
            own.string_confirmed.clone_from(&own.string_offered);
        }
        slot.committed_before = slot.committed_before.max(Some(offset));
        if own.open.is_some_and(|offer| offer.value == offset) {
            own.open = None;
        }
        if own.highest_offered == Some(offset) {
            own.again_at = None;
        }
        if own.phase == Phase::Committing && !own.needs_commit(&config) {
            self.release(partition);
        }
        Reply::Done
    }

    fn refused(&mut self, partition: Partition, offset: u64, rejected: bool) -> Reply {
        let (now, config) = (self.now, self.config);
        let Some(own) = self.own_mut(partition) else {
            return Reply::Stale;
        };
        if own.open.is_none_or(|offer| offer.value != offset) {
            return Reply::Stale;
        }
        own.open = None;
        let again = own.rejected;
        own.rejected |= rejected;
        let wait = match (rejected, again) {
            (false, _) => config.commit_backoff,
            (true, false) => 0,
            (true, true) => config.commit_timeout,
        };
        own.again_at = Some(later(now, wait));
        let over = again || !own.needs_commit(&config);
        if rejected && over && own.phase == Phase::Committing {
            self.release(partition);
        }
        Reply::Done
    }

    pub(super) fn group_offset(
        &mut self,
        partition: Partition,
        assignment: Assignment,
        told: u64,
    ) -> Reply {
        if !self.current(partition, assignment) {
            return Reply::Stale;
        }
        let now = self.now;
        let Some(slot) = self.slots.get_mut(&partition) else {
            return Reply::Stale;
        };
        let Some(own) = slot.own.as_mut() else {
            return Reply::Stale;
        };
        own.group_empty = false;
        own.group_seen = true;
        slot.offered_ever = slot.offered_ever.max(Some(told));
        if own.mark().is_none_or(|mark| told > mark) {
            own.open = None;
            own.floor = own.floor.max(told);
            if own.phase == Phase::Committing {
                self.release(partition);
            }
        } else if own.confirmed.is_some_and(|confirmed| told < confirmed) {
            own.confirmed = Some(told);
            own.last_offered = None;
            if own.open.is_none() {
                own.again_at = Some(now);
            }
        }
        Reply::Done
    }
}

impl Own {
    fn may_tell(&self) -> bool {
        match self.kind {
            None => false,
            Some(Kind::Committed | Kind::Empty) => true,
            Some(Kind::At) => self.anything_finished(),
        }
    }

    /// Whether the group does not hold the mark, or not the set above it.
    fn needs_commit(&self, config: &Config) -> bool {
        let Some(mark) = self.mark() else { return false };
        let news = match self.confirmed {
            Some(confirmed) if mark == confirmed => self.string(config) != self.string_confirmed,
            Some(confirmed) => mark > confirmed,
            None => true,
        };
        news && mark >= self.floor && self.may_tell()
    }

    /// Whether the mark, or the set above it, is news enough for an offer.
    fn wants(&self, mark: u64, config: &Config) -> bool {
        match self.last_offered {
            Some(last) if mark == last => self.string(config) != self.string_offered,
            Some(last) => mark > last,
            None => true,
        }
    }
}
