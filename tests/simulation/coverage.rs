//! Random traces meet everything that the guard can be told and can answer.

use std::sync::Mutex;

use rebalance_guard_sim::{Census, random};

use crate::support::{STEPS, core, for_each_seed, seeds};

#[test]
fn every_kind_of_input_verdict_and_output_occurs_often() {
    let seeds = seeds(2_000);
    // 100 of each kind in 10,000 traces; as many in proportion when fewer are run.
    let least = (100 * seeds.end).div_ceil(10_000);
    let total = Mutex::new(Census::default());
    for_each_seed(seeds, |seed| {
        let config = random::config(seed);
        let (trace, answers) = random::trace_on(seed, STEPS, config, &mut core(config));
        let mut census = Census::default();
        for (step, answer) in trace.steps.iter().zip(&answers) {
            census.count(step, answer);
        }
        total.lock().expect("no panic").merge(&census);
        None
    });
    let total = total.into_inner().expect("no panic");
    assert_eq!(total.rarer_than(least), []);
    assert_eq!(total.of("error without a name in the census"), 0);
}
