//! A run in numbers.

use rebalance_guard_sim::group::Outcome;
use serde::Serialize;

/// What one group came to. Times are virtual.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub(super) struct Figures {
    pub(super) produced: u64,
    pub(super) took_effect: u64,
    /// Records without an effect, at the end of everything.
    pub(super) dropped: u64,
    /// Effects that took place again.
    pub(super) repeated: u64,
    /// Effects that were tried again, and known to the sink by their key.
    pub(super) absorbed_by_sink: u64,
    /// Effects of former owners that the sink refused.
    pub(super) refused_by_sink: u64,
    pub(super) dead_lettered: u64,
    pub(super) rebalances: u64,
    /// Time in which nobody read a partition, over all partitions.
    pub(super) paused_ms: u64,
    /// The longest such time of one partition.
    pub(super) longest_pause_ms: u64,
    /// From production to effect.
    pub(super) latency_p50_ms: u64,
    pub(super) latency_p99_ms: u64,
    pub(super) latency_max_ms: u64,
    /// When everything was done.
    pub(super) ended_ms: u64,
}

impl Figures {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let latencies = &outcome.latencies_ms;
        let at = |percent: usize| {
            let place = latencies.len().saturating_sub(1) * percent / 100;
            latencies.get(place).copied().unwrap_or(0)
        };
        Self {
            produced: outcome.produced,
            took_effect: outcome.applied,
            dropped: outcome.dropped,
            repeated: outcome.repeated,
            absorbed_by_sink: outcome.absorbed,
            refused_by_sink: outcome.refused_at_sink,
            dead_lettered: outcome.dead_lettered,
            rebalances: outcome.rebalances,
            paused_ms: outcome.paused_ms.iter().sum(),
            longest_pause_ms: outcome.longest_pause_ms.iter().copied().max().unwrap_or(0),
            latency_p50_ms: at(50),
            latency_p99_ms: at(99),
            latency_max_ms: at(100),
            ended_ms: outcome.ended_ms,
        }
    }

    /// How bad it is: wrong effects first, then time without a reader, then waiting.
    pub(super) const fn harm(&self) -> (u64, u64, u64) {
        (self.dropped + self.repeated, self.paused_ms, self.latency_p99_ms)
    }

    /// Rows of the table.
    pub(super) fn rows(&self) -> [(&'static str, String); 13] {
        let number = |number: u64| number.to_string();
        [
            ("produced", number(self.produced)),
            ("took effect", number(self.took_effect)),
            ("dropped", number(self.dropped)),
            ("repeated effects", number(self.repeated)),
            ("repeats absorbed by the sink", number(self.absorbed_by_sink)),
            ("former owners refused by the sink", number(self.refused_by_sink)),
            ("dead-lettered", number(self.dead_lettered)),
            ("rebalances", number(self.rebalances)),
            ("paused, all partitions, s", seconds(self.paused_ms)),
            ("longest pause of a partition, s", seconds(self.longest_pause_ms)),
            ("latency p50, ms", number(self.latency_p50_ms)),
            ("latency p99, ms", number(self.latency_p99_ms)),
            ("latency max, ms", number(self.latency_max_ms)),
        ]
    }
}

/// `12.345`.
pub(super) fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}
