//! Tables, JSON, and what hurts most.

use std::fmt::Write as _;

use rebalance_guard_sim::group::{self, Outcome};
use serde::Serialize;

use super::args::SimulateArgs;
use super::faults;
use super::figures::{Figures, seconds};
use super::progress::Progress;
use super::scenario::Scenario;
use super::sensitivity::{self, Change};

/// One group that ran.
#[derive(Debug)]
pub(super) struct Arm {
    pub(super) guarded: bool,
    pub(super) figures: Figures,
    pub(super) outcome: Outcome,
}

impl Arm {
    pub(super) const fn name(&self) -> &'static str {
        if self.guarded { "guarded" } else { "unguarded" }
    }
}

/// All groups and the comparison.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) title: String,
    settings: SimulateArgs,
    events: Vec<Planned>,
    pub(super) arms: Vec<Arm>,
    changes: Vec<Change>,
}

/// Something that went wrong, or somebody who came.
#[derive(Clone, Debug, Serialize)]
struct Planned {
    at_ms: u64,
    what: String,
}

#[derive(Serialize)]
struct Json<'a> {
    settings: &'a SimulateArgs,
    events: &'a [Planned],
    #[serde(skip_serializing_if = "Option::is_none")]
    unguarded: Option<&'a Figures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarded: Option<&'a Figures>,
    /// The group whose settings were changed.
    compared: &'static str,
    changes: &'a [Change],
    hurts_most: Option<&'a Change>,
}

impl Report {
    /// Runs everything.
    pub(super) fn make(scenario: &Scenario) -> Self {
        let mut changes = sensitivity::changes(scenario);
        let progress = Progress::new(scenario.arms().len() + changes.len());
        let mut arms = Vec::new();
        for guarded in scenario.arms().iter().copied() {
            progress.step(if guarded { "guarded" } else { "unguarded" });
            let outcome = scenario.run(guarded);
            arms.push(Arm { guarded, figures: Figures::of(&outcome), outcome });
            progress.done();
        }
        let guarded = arms.last().is_some_and(|arm| arm.guarded);
        for change in &mut changes {
            change.run(guarded, &progress);
        }
        let told =
            |planned: &group::Planned| Planned { at_ms: planned.at, what: faults::words(planned) };
        Self {
            title: scenario.title(),
            settings: scenario.args.clone(),
            events: scenario.plan.iter().map(told).collect(),
            arms,
            changes,
        }
    }

    /// The group whose settings were changed.
    fn compared(&self) -> (&'static str, Figures) {
        let last = self.arms.last().map(|arm| (arm.name(), arm.figures));
        last.unwrap_or_default()
    }

    /// What hurts most.
    pub(super) fn verdict(&self) -> String {
        sensitivity::verdict(&self.changes, &self.compared().1)
    }

    /// A promise that a guarded group broke.
    pub(super) fn broken(&self) -> Option<String> {
        let guarded = self.arms.iter().filter(|arm| arm.guarded);
        let mut broken = guarded.filter_map(|arm| arm.outcome.broken.as_ref());
        broken.next().map(ToString::to_string)
    }

    /// One line of JSON.
    pub(super) fn json(&self) -> Result<String, serde_json::Error> {
        let (compared, figures) = self.compared();
        let arm = |guarded: bool| {
            self.arms.iter().find(|arm| arm.guarded == guarded).map(|arm| &arm.figures)
        };
        let json = Json {
            settings: &self.settings,
            events: &self.events,
            unguarded: arm(false),
            guarded: arm(true),
            compared,
            changes: &self.changes,
            hurts_most: sensitivity::most(&self.changes, &figures),
        };
        let mut line = serde_json::to_string(&json)?;
        line.push('\n');
        Ok(line)
    }

    /// The tables.
    pub(super) fn table(&self) -> String {
        let mut text = format!("{}\n\n", self.title);
        // Writing to a String cannot fail.
        for Planned { at_ms, what } in &self.events {
            let _ = writeln!(text, "{:>10} s  {what}", seconds(*at_ms));
        }
        let _ = write!(text, "\n{:<36}", "");
        for arm in &self.arms {
            let _ = write!(text, "{:>12}", arm.name());
        }
        text.push('\n');
        let columns: Vec<_> = self.arms.iter().map(|arm| arm.figures.rows()).collect();
        for (row, (name, _)) in Figures::default().rows().iter().enumerate() {
            let _ = write!(text, "{name:<36}");
            for (_, value) in columns.iter().filter_map(|column| column.get(row)) {
                let _ = write!(text, "{value:>12}");
            }
            text.push('\n');
        }
        self.comparison(&mut text);
        text
    }

    fn comparison(&self, text: &mut String) {
        let (name, now) = self.compared();
        let _ = writeln!(
            text,
            "\nOne setting changed at a time, {name}, the same faults:\n  {:<12} {:<24} {:>8} \
             {:>9} {:>11} {:>12} {:>9}",
            "setting", "change", "dropped", "repeated", "paused, s", "difference", "p99, ms"
        );
        for change in &self.changes {
            let _ = writeln!(text, "{}", change.line(&now));
        }
        let _ = writeln!(text, "\n{}", self.verdict());
    }
}
