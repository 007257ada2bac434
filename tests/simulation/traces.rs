//! The generator and the shrinker themselves.

use rebalance_guard_sim::{Action, Model, Trace, random, run, shrink};

use crate::support::{STEPS, core};

#[test]
fn the_same_seed_makes_the_same_trace() {
    let (once, again) = (random::trace(7, STEPS), random::trace(7, STEPS));
    assert_eq!(once.config, again.config);
    assert_eq!(once.steps, again.steps);
    assert_eq!(once.steps.len(), STEPS);
}

#[test]
fn different_seeds_make_different_traces() {
    assert_ne!(random::trace(7, STEPS).steps, random::trace(8, STEPS).steps);
}

#[test]
fn a_trace_made_by_driving_the_core_is_the_one_made_by_driving_the_model() {
    let config = random::config(3);
    let (trace, answers) = random::trace_on(3, STEPS, config, &mut core(config));
    assert_eq!(trace.steps, random::trace(3, STEPS).steps);
    assert_eq!(answers, run(&trace, &mut core(config)));
}

#[test]
fn a_shrunk_trace_still_fails_and_needs_every_step() {
    let trace = random::trace(11, STEPS);
    let fails = |trace: &Trace| {
        let answers = run(trace, &mut Model::new(trace.config));
        answers.iter().map(|answer| answer.outputs.len()).sum::<usize>() >= 3
    };
    assert!(fails(&trace));
    let short = shrink(&trace, fails);
    assert!(fails(&short));
    for dropped in 0..short.steps.len() {
        let mut shorter = short.clone();
        shorter.steps.remove(dropped);
        assert!(!fails(&shorter), "step {dropped} of {short} is not needed");
    }
}

#[test]
fn a_printed_trace_tells_seed_settings_and_every_step() {
    let trace = random::trace(5, 3);
    let text = trace.to_string();
    assert_eq!(text.lines().count(), 5);
    assert!(text.starts_with("seed 5\nConfig { partitions: "), "{text}");
}

#[test]
fn an_answer_names_a_ticket_that_was_never_handed_out_as_a_forged_one() {
    let mut trace = random::trace(1, 0);
    let outcome = rebalance_guard::Outcome::Completed;
    let action = Action::Answer { ticket: 3, outcome };
    trace.steps.push(rebalance_guard_sim::Step { now: rebalance_guard::Tick::ZERO, action });
    let answers = run(&trace, &mut core(trace.config));
    let stale = rebalance_guard::Reply::Answered(rebalance_guard::Answered::Stale);
    assert_eq!(answers[0].said, rebalance_guard_sim::Said::Reply(Ok(stale)));
}
