//! P11: the core and the reference model, written apart from each other, answer alike.

use rebalance_guard_sim::{Difference, Model, Trace, difference, random};

use crate::support::{STEPS, core, for_each_seed, seeds, shortened};

fn differs(trace: &Trace) -> Option<Difference> {
    difference(trace, &mut core(trace.config), &mut Model::new(trace.config))
}

fn complaint(trace: &Trace) -> Option<String> {
    let first = differs(trace)?;
    let short = shortened(trace, first.step, |trace| differs(trace).is_some());
    let difference = differs(&short).unwrap_or(first);
    Some(difference.explain(&short, "core", "model"))
}

#[test]
fn p11_the_core_and_the_model_answer_every_input_alike() {
    for_each_seed(seeds(2_000), |seed| complaint(&random::trace(seed, STEPS)));
}

#[test]
fn p11_the_core_and_the_model_still_agree_after_thousands_of_inputs() {
    for_each_seed(seeds(40), |seed| complaint(&random::trace(seed, 5_000)));
}

#[test]
fn a_difference_is_shown_with_its_seed_and_the_shortened_trace() {
    let trace = random::trace(1, STEPS);
    let mut other = trace.config;
    other.budget += 1;
    let fails = |trace: &Trace| {
        difference(trace, &mut core(trace.config), &mut Model::new(other)).is_some()
    };
    let first = difference(&trace, &mut core(trace.config), &mut Model::new(other))
        .expect("a larger budget shows within one trace");
    let short = shortened(&trace, first.step, fails);
    let last = difference(&short, &mut core(trace.config), &mut Model::new(other))
        .expect("a shortened trace still fails");
    let text = last.explain(&short, "core", "model");
    assert!(short.steps.len() < trace.steps.len());
    assert!(text.starts_with("seed 1\n"), "{text}");
    assert!(text.ends_with(&format!("the two differ at step {}", last.step)), "{text}");
}
