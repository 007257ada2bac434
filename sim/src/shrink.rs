//! Makes a failing trace short.

use crate::Trace;

/// The shortest trace found by dropping steps for which `fails` still holds: first halves, then
/// smaller runs, then single steps, until nothing more can go.
///
/// Dropping a step may change what later ones mean (tickets are named by hand-out number); that
/// costs a chance, never a wrong answer, since every candidate is tried.
pub fn shrink(trace: &Trace, fails: impl Fn(&Trace) -> bool) -> Trace {
    let mut best = trace.clone();
    let mut run = best.steps.len().div_ceil(2).max(1);
    loop {
        let dropped = drop_runs(&mut best, run, &fails);
        if run > 1 {
            run /= 2;
        } else if !dropped {
            return best;
        }
    }
}

/// Drops every run of `length` steps that the failure does not need.
fn drop_runs(best: &mut Trace, length: usize, fails: &impl Fn(&Trace) -> bool) -> bool {
    let mut dropped = false;
    // From the end: what came last depends on what came first.
    let mut end = best.steps.len();
    while end > 0 {
        let start = end.saturating_sub(length);
        let mut candidate = best.clone();
        candidate.steps.drain(start..end);
        if fails(&candidate) {
            *best = candidate;
            dropped = true;
        }
        end = start.min(best.steps.len());
    }
    dropped
}
