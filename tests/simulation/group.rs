//! A whole consumer group under faults: every guard under the oracle, and the group held to what
//! it promises as a whole.

mod callbacks;
mod mutants;
mod recordings;

use std::sync::Mutex;

use rebalance_guard_sim::group::{ENOUGH, Faults, Options, Outcome, Sum, audit, run, shrink};

use crate::support::{for_each_seed, seeds};

/// So many meet everything.
const SEEDS: u64 = ENOUGH;

/// Runs one seed; what is broken, as small as it gets.
fn complaint(options: &Options, outcome: &Outcome) -> Option<String> {
    outcome.broken.as_ref()?;
    let shrunk = shrink(options).map(|shrunk| shrunk.to_string());
    Some(shrunk.unwrap_or_else(|| String::from("and not again: it is not deterministic")))
}

#[test]
fn no_promise_breaks_in_a_group_under_mixed_faults_and_all_of_them_occur() {
    let sum = Mutex::new(Sum::default());
    let seeds = seeds(SEEDS);
    for_each_seed(seeds.clone(), |seed| {
        let options = Options::random(seed);
        let outcome = run(&options);
        sum.lock().expect("no thread panics with it").add(&outcome);
        complaint(&options, &outcome)
    });
    if seeds.end < SEEDS {
        return;
    }
    let sum = sum.into_inner().expect("no thread panics with it");
    assert_eq!(sum.unmet(), Vec::<&str>::new(), "of\n{sum}");
}

#[test]
fn a_sum_without_a_kind_says_which_is_missing() {
    let mut sum = Sum::default();
    sum.add(&run(&Options { faults: Faults::default(), ..Options::random(1) }));
    assert!(sum.unmet().contains(&"fault crash"), "{sum}");
    assert!(!sum.unmet().contains(&"sink applied"), "{sum}");
    assert!(sum.to_string().contains("fault crash: 0"), "{sum}");
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
