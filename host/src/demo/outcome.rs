//! What became of an arm's records: the ledger compared with what was produced.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;

use serde::Serialize;

use super::DemoEngine;
use super::group::Heard;
use super::ledger::{Ledger, Line, read};
use super::traffic::{Kind, Plan};
use super::wire::histogram;

/// One arm in numbers.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// Records produced, second copies and poison included.
    pub produced: u64,
    /// Distinct orders that took effect.
    pub took_effect: u64,
    /// Orders that took no effect and are on no dead-letter topic. Poison counts in the guarded
    /// arm alone: the usual consumer logs it and goes on.
    pub dropped: u64,
    /// Effects beyond the first of their order.
    pub repeated: u64,
    /// Second copies that never reached the sink.
    pub absorbed_by_guard: u64,
    /// Calls that the sink knew by their key.
    pub absorbed_by_sink: u64,
    /// Records and effects that the guard's fence stopped.
    pub fenced_by_guard: u64,
    /// Calls that the sink refused by their token.
    pub fenced_by_sink: u64,
    /// Distinct orders on the dead-letter topic.
    pub dead_lettered: u64,
    /// Generations of the group in which partitions moved.
    pub rebalances: u64,
    /// Time from a record's delivery to its hand-over to a worker, in µs.
    pub added_latency_p50_us: u64,
    /// The same for the slowest of a hundred.
    pub added_latency_p99_us: u64,
}

impl Outcome {
    pub(super) fn compare(
        plan: &Plan,
        engine: Option<DemoEngine>,
        ledger: &Ledger,
        heard: &Heard,
        dead_letters: &BTreeSet<String>,
    ) -> io::Result<Self> {
        let lines = read(ledger.path())?;
        let times = times(&lines);
        let good = plan.good();
        let poison = plan.records.iter().filter(|planned| planned.kind == Kind::Poison);
        let poison = poison.map(|planned| planned.order.as_str()).filter(|_| engine.is_some());
        let owed: HashSet<&str> = good.iter().copied().chain(poison).collect();
        let lost = |order: &&&str| !times.contains_key(**order) && !dead_letters.contains(**order);
        let (p50, p99) = latencies(heard);
        let book = ledger.book();
        Ok(Self {
            produced: plan.records.len() as u64,
            took_effect: times.keys().filter(|order| good.contains(*order)).count() as u64,
            dropped: owed.iter().filter(lost).count() as u64,
            repeated: times.values().map(|times| times - 1).sum(),
            absorbed_by_guard: if engine.is_some() {
                kept_back(plan, ledger_calls(&book))
            } else {
                0
            },
            absorbed_by_sink: book.absorbed,
            fenced_by_guard: heard.fenced,
            fenced_by_sink: book.fenced,
            dead_lettered: dead_letters.len() as u64,
            rebalances: heard.generations.len() as u64,
            added_latency_p50_us: p50,
            added_latency_p99_us: p99,
        })
    }

    /// Whether every order took effect exactly once, or is parked.
    pub fn is_whole(&self) -> bool {
        self.dropped == 0 && self.repeated == 0
    }
}

/// How often each order took effect, by the ledger's file.
fn times(lines: &[Line]) -> HashMap<&str, u64> {
    let mut times = HashMap::new();
    for line in lines {
        *times.entry(line.order.as_str()).or_default() += 1;
    }
    times
}

fn ledger_calls(book: &super::ledger::Book) -> impl Fn(i32, i64) -> bool + '_ {
    |partition, offset| book.calls.contains_key(&(partition, offset))
}

/// Second copies for which no call was ever made.
fn kept_back(plan: &Plan, called: impl Fn(i32, i64) -> bool) -> u64 {
    let mut kept = 0;
    for (partition, end) in plan.ends() {
        for offset in 0..end {
            let again = plan.at(partition, offset).is_some_and(|it| it.kind == Kind::Again);
            kept += u64::from(again && !called(partition, offset));
        }
    }
    kept
}

fn latencies(heard: &Heard) -> (u64, u64) {
    let mut all = histogram();
    for (value, count) in heard.latencies.values().flatten() {
        all.saturating_record_n(*value, *count);
    }
    (all.value_at_quantile(0.5), all.value_at_quantile(0.99))
}
