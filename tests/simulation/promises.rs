//! The oracle over random traces: no promise breaks, and it saw what it judges.

use rebalance_guard_sim::oracle::{Stats, check_trace};
use rebalance_guard_sim::{Model, Subject, Trace, random};

use crate::support::{STEPS, core, for_each_seed, seeds, shortened};

fn complaint<S: Subject>(trace: &Trace, make: impl Fn() -> S) -> Option<String> {
    let broken = check_trace(trace.config, trace, &make).err()?;
    let again = |trace: &Trace| {
        check_trace(trace.config, trace, &make).is_err_and(|b| b.promise == broken.promise)
    };
    let short = shortened(trace, broken.step, again);
    let broken = check_trace(trace.config, &short, &make).err().unwrap_or(broken);
    Some(format!("{short}{broken}"))
}

#[test]
fn every_promise_holds_for_the_core() {
    for_each_seed(seeds(1_000), |seed| {
        let trace = random::trace(seed, STEPS);
        complaint(&trace, || core(trace.config))
    });
}

#[test]
fn every_promise_holds_for_the_model() {
    for_each_seed(seeds(200), |seed| {
        let trace = random::trace(seed, STEPS);
        complaint(&trace, || Model::new(trace.config))
    });
}

#[test]
fn the_oracle_saw_tickets_commits_ends_and_inputs_to_take_out() {
    let mut sum = Stats::default();
    for seed in 0..50 {
        let trace = random::trace(seed, STEPS);
        let stats = check_trace(trace.config, &trace, || core(trace.config))
            .unwrap_or_else(|broken| panic!("{trace}{broken}"));
        sum.steps += stats.steps;
        sum.tickets += stats.tickets;
        sum.commits += stats.commits;
        sum.sealed += stats.sealed;
        sum.refused += stats.refused;
        sum.stale += stats.stale;
        sum.late += stats.late;
    }
    assert_eq!(sum.steps, 10_000);
    for (what, count) in [
        ("tickets", sum.tickets),
        ("commits", sum.commits),
        ("ends", sum.sealed),
        ("refused inputs", sum.refused),
        ("stale inputs", sum.stale),
        ("late ticks", sum.late),
    ] {
        assert!(count >= 200, "{count} {what} in 10,000 steps");
    }
}
