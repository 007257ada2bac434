//! What of the books decides how they judge the future, as a hash.

use core::hash::{Hash, Hasher};

use super::books::{Books, Fate, Life, Stage};
use super::hand_over::later;

impl Books {
    /// Ticks count as distances, assignments by their order; ended ones only name a promise.
    /// Tickets are left to whoever asks: see [`Books::is_stale`].
    pub(super) fn digest(&self, hasher: &mut impl Hasher) {
        for life in self.lives.values().filter(|life| life.is_current()) {
            self.life_digest(life, hasher);
        }
        for (name, at) in &self.finished {
            name.hash(hasher);
            if let Some(age) = self.config.key_age {
                self.until(later(*at, age)).hash(hasher);
            }
        }
        self.finished.len().hash(hasher);
        self.lease.map(|start| self.until(later(start, self.config.lease))).hash(hasher);
        let newer = self.lease_newer.map(|start| self.until(later(start, self.config.lease)));
        newer.filter(|until| *until < u64::MAX).hash(hasher);
        self.budget_told.map(|until| self.until(until)).hash(hasher);
        self.offered_ever.hash(hasher);
    }

    fn until(&self, tick: u64) -> u64 {
        if tick == rebalance_guard::Tick::MAX.value() {
            return u64::MAX;
        }
        tick.saturating_sub(self.now)
    }

    fn life_digest(&self, life: &Life, hasher: &mut impl Hasher) {
        life.partition.hash(hasher);
        let (stage, ends) = match life.stage {
            Stage::Active => (0_u8, 0),
            Stage::Draining(deadline) => (1, self.until(deadline)),
            Stage::Sealed(at) => (2, self.until(later(at, self.config.commit_timeout))),
            Stage::Over => (3, 0),
            Stage::Lost => (4, 0),
        };
        (stage, ends, life.known, life.resume).hash(hasher);
        for (offset, entry) in &life.entries {
            let fate = match entry.fate {
                Fate::Held(_) => 0_u8,
                Fate::Waiting(_) => 1,
                Fate::Finished => 2,
                Fate::GivenUp => 3,
            };
            (offset, &entry.name, fate).hash(hasher);
        }
        (life.entries.len(), &life.owed, life.offers.last()).hash(hasher);
        (life.confirmed, life.floor).hash(hasher);
        (&life.carried, life.carried_epoch).hash(hasher);
    }
}
