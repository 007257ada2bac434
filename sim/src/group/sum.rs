//! How often everything occurred over many runs: a promise is only as good as what it met.

use std::collections::BTreeMap;
use std::fmt;

use super::report::Outcome;
use crate::Census;

/// Counts over many checked runs, by kind.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    runs: u64,
    counts: BTreeMap<&'static str, u64>,
    census: Census,
}

/// Runs in which everything occurs.
pub const ENOUGH: u64 = 2_000;

/// Every fault, transition, callback and commit answer of the group's own.
const KINDS: &[&str] = &[
    "unowned to active",
    "active to active",
    "active to draining",
    "active to committing",
    "active to unowned",
    "draining to committing",
    "draining to unowned",
    "draining to active",
    "committing to unowned",
    "committing to active",
    "callback assign",
    "callback assign none",
    "callback revoke",
    "callback revoke lost",
    "callback poll exceeded",
    "callback fatal",
    "commit sent",
    "commit stored",
    "commit ok",
    "commit timed out",
    "commit illegal generation",
    "commit unknown member",
    "commit stale epoch",
    "commit metadata too large",
    "commit kept back",
    "consumer replaced",
    "rewind",
    "sink applied",
    "sink absorbed",
    "sink refused",
    "fault clock back",
    "fault clock forward",
    "fault compaction",
    "fault crash",
    "fault cut",
    "fault duplicate",
    "fault failing commits",
    "fault hang",
    "fault late answer",
    "fault leader",
    "fault pause",
    "fault reset, back",
    "fault reset, base",
    "fault reset, foreign",
    "fault reset, gone",
    "fault reset, too long",
    "fault reset, version",
    "fault restart",
    "fault slow commits",
    "fault stall",
    "fault truncation",
    "fault twin",
];

/// What no sound host and none of the faults brings about, and why; scenario tests do.
const NEVER: &[(&str, &str)] = &[
    ("verdict refuse, offset limit", "no client hands out an offset that has no next one"),
    ("output sealed replaced", RELEASED),
    ("draining to active", RELEASED),
    ("committing to active", RELEASED),
];
/// What so few runs may well not meet.
const RARE: &[(&str, u64)] = &[("verdict refuse, regression never seen", 20_000)];
const RELEASED: &str = "a host hands partitions back only when the guard released them";

impl Sum {
    /// Counts one run.
    pub fn add(&mut self, outcome: &Outcome) {
        self.runs += 1;
        for (kind, count) in &outcome.counts {
            *self.counts.entry(kind).or_default() += count;
        }
        self.census.merge(&outcome.census);
    }

    /// Counts everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        for (kind, count) in &other.counts {
            *self.counts.entry(kind).or_default() += count;
        }
        self.census.merge(&other.census);
    }

    /// The faults, transitions, verdicts and outputs that never occurred and should have.
    pub fn unmet(&self) -> Vec<&'static str> {
        let rows = self.rows().into_iter().filter(|(_, count)| *count == 0);
        rows.map(|(kind, _)| kind).filter(|kind| self.reason(kind).is_none()).collect()
    }

    /// Why the kind may be missing.
    fn reason(&self, kind: &str) -> Option<&'static str> {
        let rare = RARE.iter().any(|(rare, runs)| *rare == kind && self.runs < *runs);
        let never = NEVER.iter().find(|(never, _)| *never == kind).map(|(_, reason)| *reason);
        never.or_else(|| rare.then_some("rare: once in some six hundred runs"))
    }

    /// Every kind that must occur, or did, with how often.
    fn rows(&self) -> Vec<(&'static str, u64)> {
        let own = KINDS.iter().map(|kind| (*kind, 0));
        let mut own: BTreeMap<_, _> = own.collect();
        own.extend(self.counts.iter().map(|(kind, count)| (*kind, *count)));
        let told = self.census.rarer_than(u64::MAX).into_iter().filter(|(kind, _)| is_told(kind));
        own.into_iter().chain(told).collect()
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "in {} runs", self.runs)?;
        for (kind, count) in self.rows() {
            match self.reason(kind).filter(|_| count == 0) {
                Some(reason) => writeln!(f, "  {kind}: 0 ({reason})")?,
                None => writeln!(f, "  {kind}: {count}")?,
            }
        }
        Ok(())
    }
}

/// Inputs and levels are the host's affair; what the guard says is what must occur.
fn is_told(kind: &str) -> bool {
    kind.starts_with("verdict ") || kind.starts_with("output ")
}
