//! The storm detector: rebalances counted in a sliding window, and ownerships that end fruitless.

use crate::logic::Logic;
use crate::report::ReportKind;
use crate::{Config, Event, Output, Tick};

/// How fast rebalances come.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[allow(clippy::exhaustive_enums, reason = "hosts match on every level; a new one is breaking")]
pub enum Storm {
    /// As they should.
    #[default]
    Calm,
    /// Often.
    Rising,
    /// So often that no work gets done.
    Storm,
}

const EVENTS: usize = Config::STORM_AT_MAX as usize;

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct StormState {
    pub(crate) level: Storm,
    /// The latest rebalances, oldest first; no more are kept than the highest threshold needs.
    events: [Tick; EVENTS],
    pub(crate) count: u16,
    pub(crate) last_generation: u32,
    /// The last assign said no generation.
    pub(crate) blind: bool,
    /// A revoke or loss was counted and its assign has not come.
    pub(crate) pair_open: bool,
    /// Partitions whose last ownerships were all fruitless, `storm_at` in a row.
    pub(crate) stuck: u32,
}

impl StormState {
    pub(crate) const fn new() -> Self {
        Self {
            level: Storm::Calm,
            events: [Tick::ZERO; EVENTS],
            count: 0,
            last_generation: 0,
            blind: true,
            pair_open: false,
            stuck: 0,
        }
    }

    pub(crate) const fn level(&self) -> Storm {
        self.level
    }

    /// The generation of the last assign that said one, or 0.
    pub(crate) const fn last_generation(&self) -> u32 {
        self.last_generation
    }

    /// The latest rebalances, oldest first.
    pub(crate) fn events(&self) -> &[Tick] {
        self.events.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// So many rebalances as a snapshot tells them.
    pub(crate) fn set_events(
        &mut self,
        count: u16,
        mut next: impl FnMut() -> Option<Tick>,
    ) -> Option<()> {
        for event in self.events.get_mut(..usize::from(count))? {
            *event = next()?;
        }
        self.count = count;
        Some(())
    }

    /// Forgets the rebalances of another clock.
    pub(crate) const fn forget(&mut self) {
        self.count = 0;
    }

    pub(crate) const fn partition_recovered(&mut self) {
        self.stuck = self.stuck.saturating_sub(1);
    }

    /// Whether more rebalances are left in the window than a calm group has.
    pub(crate) const fn is_fast(&self, config: &Config) -> bool {
        self.count > config.storm_calm
    }

    fn push(&mut self, now: Tick) {
        if usize::from(self.count) == EVENTS {
            self.drop_oldest();
        }
        if let Some(free) = self.events.get_mut(usize::from(self.count)) {
            *free = now;
            self.count = self.count.saturating_add(1);
        }
    }

    fn drop_oldest(&mut self) {
        self.events.copy_within(1.., 0);
        self.count = self.count.saturating_sub(1);
    }

    /// When the oldest rebalance leaves the window.
    pub(crate) fn expiry(&self, config: &Config) -> Option<Tick> {
        let oldest = self.events.first().filter(|_| self.count > 0)?;
        Some(oldest.after(config.storm_window))
    }

    pub(crate) fn expire(&mut self, now: Tick, config: &Config) {
        while self.expiry(config).is_some_and(|expiry| expiry <= now) {
            self.drop_oldest();
        }
    }

    fn next_level(&self, config: &Config) -> Storm {
        let stuck = self.stuck > 0;
        let calm = self.count <= config.storm_calm;
        match self.level {
            Storm::Storm if calm && !stuck => Storm::Calm,
            Storm::Storm => Storm::Storm,
            _ if stuck || self.count >= config.storm_at => Storm::Storm,
            _ if self.count >= config.storm_rising => Storm::Rising,
            Storm::Rising if !calm => Storm::Rising,
            _ => Storm::Calm,
        }
    }
}

impl Logic<'_> {
    /// With generations known, each distinct one counts; without, an assign that no revoke or loss
    /// preceded.
    pub(crate) fn storm_counts_assign(&mut self, generation: u32, content: bool) {
        let storm = &mut self.state.storm;
        if generation > 0 {
            let distinct = generation != storm.last_generation;
            storm.last_generation = generation;
            storm.blind = false;
            storm.pair_open = false;
            if distinct {
                self.count_rebalance();
            }
        } else if content {
            storm.blind = true;
            if !core::mem::take(&mut storm.pair_open) {
                self.count_rebalance();
            }
        }
    }

    /// A revoke or loss of something that was owned.
    pub(crate) fn storm_counts_loss(&mut self) {
        if self.state.storm.blind {
            self.state.storm.pair_open = true;
            self.count_rebalance();
        }
    }

    fn count_rebalance(&mut self) {
        self.state.storm.push(self.state.now);
        if self.state.config.hold_in_storm {
            self.state.attend();
        }
        self.state.counters.rebalances = self.state.counters.rebalances.saturating_add(1);
        self.state.wake_at(self.state.now.after(self.state.config.storm_window));
    }

    /// An ownership ended: did it get anything done, though records came?
    pub(crate) fn count_fruit(&mut self, slot: u32) {
        let storm_at = self.state.config.storm_at;
        let entry = self.entry_mut(slot);
        let before = entry.fruitless;
        if entry.finished_any {
            entry.fruitless = 0;
        } else if entry.record_seen {
            entry.fruitless = before.saturating_add(1);
        }
        let after = entry.fruitless;
        if before < storm_at && after >= storm_at {
            self.state.storm.stuck = self.state.storm.stuck.saturating_add(1);
        } else if before >= storm_at && after < storm_at {
            self.state.storm.partition_recovered();
        }
    }

    /// Brings the level up to date and reports where it turned.
    pub(crate) fn state_storm(&mut self) {
        let before = self.state.storm.level;
        let level = self.state.storm.next_level(&self.state.config);
        self.state.storm.level = level;
        if before != Storm::Storm && level == Storm::Storm {
            self.state.counters.storms = self.state.counters.storms.saturating_add(1);
            let back_off = self.advised_back_off();
            self.report(0, ReportKind::Storm, Output::StormBegan { back_off });
            self.note(Event::StormBegan);
        } else if before == Storm::Storm && level != Storm::Storm {
            self.report(0, ReportKind::Storm, Output::StormEnded);
            self.note(Event::StormEnded);
        }
    }

    /// A pace of joins at which the count falls below `storm_rising` again.
    fn advised_back_off(&self) -> u64 {
        let config = &self.state.config;
        config.storm_window.checked_div(u64::from(config.storm_rising)).unwrap_or(0)
    }

    /// Units to wait before rejoining.
    pub(crate) fn rejoin_back_off(&self) -> u64 {
        if self.state.storm.level == Storm::Storm { self.advised_back_off() } else { 0 }
    }
}
