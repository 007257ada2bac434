//! A whole consumer group under faults: every guard under the oracle, and the group held to what
//! it promises as a whole.

mod callbacks;
mod mutants;
mod recordings;

use std::collections::BTreeMap;
use std::sync::Mutex;

use rebalance_guard_sim::Census;
use rebalance_guard_sim::group::{Options, Outcome, audit, run, shrink};

use crate::support::{for_each_seed, seeds};

/// So many meet everything.
const SEEDS: u64 = 2_000;

/// Runs one seed; what is broken, as small as it gets.
fn complaint(options: &Options, outcome: &Outcome) -> Option<String> {
    outcome.broken.as_ref()?;
    let shrunk = shrink(options).map(|shrunk| shrunk.to_string());
    Some(shrunk.unwrap_or_else(|| String::from("and not again: it is not deterministic")))
}

/// What a sound host and the simulated faults never bring about; scenario tests do.
const NEVER: &[&str] = &[
    // No client hands out an offset that has no next one.
    "verdict refuse, offset limit",
    // Nor one below a held record that it never handed out before.
    "verdict refuse, regression never seen",
    // A host hands partitions back only when the guard released them.
    "output sealed replaced",
];

/// Everything of the group's own that one suite must meet.
const KINDS: &[&str] = &[
    "unowned to active",
    "active to active",
    "active to draining",
    "active to committing",
    "active to unowned",
    "draining to committing",
    "draining to unowned",
    "committing to unowned",
    "callback assign",
    "callback assign none",
    "callback revoke",
    "callback revoke lost",
    "callback poll exceeded",
    "callback fatal",
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

#[test]
fn no_promise_breaks_in_a_group_under_mixed_faults_and_all_of_them_occur() {
    let sum = Mutex::new((BTreeMap::new(), Census::default()));
    let seeds = seeds(SEEDS);
    for_each_seed(seeds.clone(), |seed| {
        let options = Options::random(seed);
        let outcome = run(&options);
        let complaint = complaint(&options, &outcome);
        let mut sum = sum.lock().expect("no thread panics with it");
        for (kind, count) in outcome.counts {
            *sum.0.entry(kind).or_insert(0) += count;
        }
        sum.1.merge(&outcome.census);
        complaint
    });
    if seeds.end < SEEDS {
        return;
    }
    let (counts, census) = sum.into_inner().expect("no thread panics with it");
    let missing: Vec<_> = KINDS.iter().filter(|kind| !counts.contains_key(*kind)).collect();
    assert_eq!(missing, Vec::<&&str>::new(), "of {counts:#?}");
    let unmet: Vec<_> = census.rarer_than(1).into_iter().map(|(kind, _)| kind).collect();
    let unmet: Vec<_> = unmet
        .into_iter()
        .filter(|kind| kind.starts_with("verdict ") || kind.starts_with("output "))
        .filter(|kind| !NEVER.contains(kind))
        .collect();
    assert_eq!(unmet, Vec::<&str>::new());
}

#[test]
fn a_host_does_not_go_back_for_records_that_its_workers_have() {
    // A stall is told after 68 ms, and one worker has more than that before it: seeking back at
    // every stall, the host began the same records anew for ever.
    let options = Options::random(68_604);
    assert_eq!(complaint(&options, &run(&options)), None);
}

#[test]
fn what_a_commit_on_its_way_names_is_not_cut_off_the_log() {
    // Nobody could tell: the commit landed after the log had been cut and written anew below it.
    let options = Options::random(313_018);
    assert_eq!(complaint(&options, &run(&options)), None);
}

#[test]
fn histories_of_guards_in_a_group_hold_when_run_again_with_parts_left_out() {
    for_each_seed(seeds(60), |seed| {
        let options = Options::random(seed);
        let outcome = run(&options);
        let broken = audit(&options, &outcome);
        (!broken.is_empty()).then(|| format!("{broken:?}"))
    });
}

#[test]
fn without_a_guard_the_same_groups_drop_and_repeat_records() {
    let (mut dropped, mut repeated) = (0, 0);
    for seed in 0..40 {
        let outcome = run(&Options { guarded: false, checked: false, ..Options::random(seed) });
        dropped += outcome.dropped;
        repeated += outcome.repeated;
    }
    assert!(dropped > 0, "{dropped} records dropped");
    assert!(repeated > 0, "{repeated} effects repeated");
}

#[test]
fn the_same_seed_is_the_same_history() {
    for seed in 0..30 {
        let options = Options::random(seed);
        let (one, other) = (run(&options), run(&options));
        assert_eq!(one.counts, other.counts, "seed {seed}");
        assert_eq!(one.timeline, other.timeline, "seed {seed}");
        assert_eq!(one.callback_log, other.callback_log, "seed {seed}");
        assert_eq!(one.latencies_ms, other.latencies_ms, "seed {seed}");
        assert_eq!(one.traces.len(), other.traces.len(), "seed {seed}");
        for (one, other) in one.traces.iter().zip(&other.traces) {
            assert_eq!(one.steps, other.steps, "seed {seed}");
        }
    }
}
