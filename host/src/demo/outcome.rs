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
    /// Distinct orders that must take effect.
    #[serde(skip)]
    good: u64,
    /// Distinct orders that no sink can take, and that must be parked.
    #[serde(skip)]
    poison: u64,
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
        let poison: HashSet<&str> = plan.poison();
        let parked = poison.iter().copied().filter(|_| engine.is_some());
        let owed: HashSet<&str> = good.iter().copied().chain(parked).collect();
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
            good: good.len() as u64,
            poison: poison.len() as u64,
        })
    }

    /// Whether every good order took effect exactly once, and every other one, but no good one,
    /// is parked.
    pub fn is_whole(&self) -> bool {
        self.missing().is_none()
    }

    /// What keeps the arm from being whole.
    pub(super) fn missing(&self) -> Option<String> {
        let Self { took_effect, good, dead_lettered, poison, dropped, repeated, .. } = self;
        let whole = took_effect == good && dead_lettered == poison && *dropped + *repeated == 0;
        (!whole).then(|| {
            format!(
                "{took_effect} of {good} good orders took effect, {repeated} effects were \
                 repeated, {dropped} orders were dropped, and {dead_lettered} orders were parked \
                 where {poison} no sink can take"
            )
        })
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Folder;
    use super::super::ledger::Rules;
    use super::*;

    /// An arm whose ledger holds `effects` and whose dead-letter topic holds `parked`.
    fn outcome(plan: &Plan, effects: &HashSet<&str>, parked: &HashSet<&str>) -> Outcome {
        let folder = Folder::new().expect("a folder");
        let path = folder.0.join("ledger.ndjson");
        let line = |order: &&str| {
            let (partition, offset, key, token) = (0, 0, None, None);
            let (order, member) = ((*order).to_owned(), "m1".to_owned());
            let line = Line { order, partition, offset, key, token, member };
            serde_json::to_string(&line).expect("plain data") + "\n"
        };
        std::fs::write(&path, effects.iter().map(line).collect::<String>()).expect("a file");
        let ledger = Ledger::open(&path, Rules::new(true), Duration::ZERO).expect("a ledger");
        let parked = parked.iter().map(|order| (*order).to_owned()).collect();
        let engine = Some(DemoEngine::Native);
        Outcome::compare(plan, engine, &ledger, &Heard::default(), &parked).expect("it is read")
    }

    #[test]
    fn an_arm_is_whole_when_good_orders_took_effect_and_poison_alone_is_parked() {
        let plan = Plan::new(5, 1_000, 4);
        assert!(outcome(&plan, &plan.good(), &plan.poison()).is_whole());
    }

    #[test]
    fn an_arm_that_parked_its_good_orders_is_not_whole_though_it_dropped_nothing() {
        let plan = Plan::new(5, 1_000, 4);
        let all = plan.records.iter().map(|planned| planned.order.as_str()).collect();
        let outcome = outcome(&plan, &HashSet::new(), &all);
        assert_eq!((outcome.dropped, outcome.repeated), (0, 0));
        assert!(!outcome.is_whole());
        let (good, poison) = (plan.good().len(), plan.poison().len());
        let said = outcome.missing().expect("something is missing");
        assert!(said.contains(&format!("0 of {good} good orders took effect")), "{said}");
        assert!(said.contains(&format!("{} orders were parked", good + poison)), "{said}");
    }

    #[test]
    fn an_arm_that_parked_one_good_order_beside_its_effect_is_not_whole() {
        let plan = Plan::new(5, 1_000, 4);
        let (good, mut parked) = (plan.good(), plan.poison());
        parked.extend(good.iter().take(1));
        assert!(!outcome(&plan, &good, &parked).is_whole());
    }
}
