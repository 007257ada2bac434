//! Which setting hurts most: each is changed alone, under the same faults.

use serde::Serialize;

use super::args::{SimulateArgs, SimulatedProtocol};
use super::figures::{Figures, seconds};
use super::progress::Progress;
use super::scenario::Scenario;

/// One setting, changed alone.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Change {
    pub(super) setting: &'static str,
    pub(super) from: String,
    pub(super) to: String,
    #[serde(skip)]
    scenario: Option<Box<Scenario>>,
    pub(super) figures: Figures,
}

type Setting = fn(&mut SimulateArgs) -> &mut u32;

const TIMES: [(&str, Setting); 3] = [
    ("session-ms", |args| &mut args.session_ms),
    ("max-poll-ms", |args| &mut args.max_poll_ms),
    ("drain-ms", |args| &mut args.drain_ms),
];

/// What can be changed: times to half and twice as much, the other protocols, static ids, workers.
pub(super) fn changes(scenario: &Scenario) -> Vec<Change> {
    let mut changes = Vec::new();
    for (setting, place) in TIMES {
        let mut from = *place(&mut scenario.args.clone());
        from = from.max(1);
        for to in [from / 2, from.saturating_mul(2)] {
            let changed = scenario.with(|args| *place(args) = to);
            changes.push(Change::new(setting, &from, &to, changed));
        }
    }
    let from = scenario.args.protocol;
    for to in SimulatedProtocol::ALL.into_iter().filter(|to| *to != from) {
        let changed = scenario.with(|args| args.protocol = to);
        changes.push(Change::new("protocol", &from.word(), &to.word(), changed));
    }
    let word = |ids: bool| if ids { "on" } else { "off" };
    let ids = scenario.args.static_ids;
    let changed = scenario.with(|args| args.static_ids = !ids);
    changes.push(Change::new("static", &word(ids), &word(!ids), changed));
    let workers = scenario.args.workers;
    for to in [workers / 2, workers.saturating_mul(2)] {
        let changed = scenario.with(|args| args.workers = to);
        changes.push(Change::new("workers", &workers, &to, changed.filter(|_| to > 0)));
    }
    changes.retain(|change| change.scenario.is_some());
    changes
}

impl Change {
    fn new(
        setting: &'static str,
        from: &dyn ToString,
        to: &dyn ToString,
        scenario: Option<Scenario>,
    ) -> Self {
        let (from, to) = (from.to_string(), to.to_string());
        let scenario = scenario.map(Box::new);
        Self { setting, from, to, scenario, figures: Figures::default() }
    }

    /// Runs the group under the changed setting.
    pub(super) fn run(&mut self, guarded: bool, progress: &Progress) {
        progress.step(&format!("{} {}", self.setting, self.to));
        if let Some(scenario) = &self.scenario {
            self.figures = Figures::of(&scenario.run(guarded));
        }
        progress.done();
    }

    /// A line of the table.
    pub(super) fn line(&self, now: &Figures) -> String {
        let Figures { dropped, repeated, paused_ms, latency_p99_ms, .. } = self.figures;
        let change = format!("{} -> {}", self.from, self.to);
        format!(
            "  {:<12} {change:<24} {dropped:>8} {repeated:>9} {:>11} {:>12} {latency_p99_ms:>9}",
            self.setting,
            seconds(paused_ms),
            difference(now.paused_ms, paused_ms),
        )
    }
}

fn difference(before: u64, after: u64) -> String {
    let sign = if after < before { '-' } else { '+' };
    format!("{sign}{}", seconds(before.abs_diff(after)))
}

/// The change that helps most, if any helps.
pub(super) fn most<'a>(changes: &'a [Change], now: &Figures) -> Option<&'a Change> {
    let best = changes.iter().min_by_key(|change| change.figures.harm())?;
    (best.figures.harm() < now.harm()).then_some(best)
}

/// What hurts most, in a sentence.
pub(super) fn verdict(changes: &[Change], now: &Figures) -> String {
    let Some(Change { setting, from, to, figures, .. }) = most(changes, now) else {
        return "No setting hurts: every change makes it the same or worse.".to_owned();
    };
    let mut effects = Vec::new();
    let mut told = |what: &str, before: u64, after: u64| {
        if before != after {
            effects.push(format!("{what} {before} -> {after}"));
        }
    };
    told("dropped", now.dropped, figures.dropped);
    told("repeated", now.repeated, figures.repeated);
    told("paused ms", now.paused_ms, figures.paused_ms);
    told("latency p99 ms", now.latency_p99_ms, figures.latency_p99_ms);
    format!("{setting} hurts most: {from} -> {to} gives {}.", effects.join(", "))
}
