//! Rebalances that come too fast.

use std::collections::VecDeque;

use rebalance_guard::{Config, Output, Storm};

use super::Model;
use super::own::later;

/// Counts rebalances in a sliding window.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    /// Ticks of the counted ones.
    events: VecDeque<u64>,
    pub(super) level: Storm,
    /// The generation counted last.
    generation: Option<i32>,
    /// Whether the last assign came without a generation.
    blind: bool,
    /// A revoke or loss was counted and no assign followed yet.
    pair: bool,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            events: VecDeque::new(),
            level: Storm::Calm,
            generation: None,
            blind: false,
            pair: false,
        }
    }
}

impl Meter {
    /// The first tick at which the oldest counted rebalance no longer counts.
    pub(super) fn next_drop(&self, config: &Config) -> Option<u64> {
        self.events.front().map(|at| later(*at, config.storm_window))
    }

    /// Whether the pace alone is that of a storm that has not ended.
    pub(super) fn fast(&self, config: &Config) -> bool {
        self.events.len() > usize::from(config.storm_calm)
    }

    /// The last generation known, or 0.
    pub(super) fn last_generation(&self) -> u64 {
        self.generation.and_then(|generation| u64::try_from(generation).ok()).unwrap_or(0)
    }

    /// Forgets the rebalances of another clock.
    pub(super) fn forget(&mut self) {
        self.events.clear();
    }

    fn prune(&mut self, now: u64, config: &Config) {
        while self.next_drop(config).is_some_and(|drop| drop <= now) {
            self.events.pop_front();
        }
    }
}

impl Model {
    /// An assign was applied.
    pub(super) fn count_assign(&mut self, generation: Option<i32>, content: bool) {
        let known = generation.filter(|generation| *generation >= 1);
        if known.is_some() || content {
            self.storm.blind = known.is_none();
        }
        match known {
            Some(generation) => {
                if self.storm.generation != Some(generation) {
                    self.storm.generation = Some(generation);
                    self.count_rebalance();
                }
                self.storm.pair = false;
            }
            None if content && !core::mem::take(&mut self.storm.pair) => self.count_rebalance(),
            None => {}
        }
    }

    /// A revoke or a loss named something owned.
    pub(super) fn count_departure(&mut self) {
        if self.storm.blind {
            self.storm.pair = true;
            self.count_rebalance();
        }
    }

    fn count_rebalance(&mut self) {
        self.storm.events.push_back(self.now);
    }

    pub(super) fn drop_old_rebalances(&mut self) {
        self.storm.prune(self.now, &self.config);
    }

    /// What a storm advises to wait before the next join.
    pub(super) fn storm_back_off(&self) -> u64 {
        self.config.storm_window / u64::from(self.config.storm_rising.max(1))
    }

    /// Finds the level anew and reports a begin or an end.
    pub(super) fn judge_storm(&mut self) {
        let config = &self.config;
        let count = self.storm.events.len();
        let barren = self.slots.values().any(|s| s.fruitless >= u32::from(config.storm_at));
        let calm = count <= usize::from(config.storm_calm) && !barren;
        let before = self.storm.level;
        let after = if count >= usize::from(config.storm_at) || barren {
            Storm::Storm
        } else if calm {
            Storm::Calm
        } else if before == Storm::Calm && count >= usize::from(config.storm_rising) {
            Storm::Rising
        } else {
            before
        };
        self.storm.level = after;
        if after == Storm::Storm && before != Storm::Storm {
            self.report(Output::StormBegan { back_off: self.storm_back_off() });
        }
        if before == Storm::Storm && after != Storm::Storm {
            self.report(Output::StormEnded);
        }
    }
}
