//! One function a promise. Each tells the history to a fresh guard.
//!
//! What is seen by watching (P1 to P5, P7, P9, P12) is judged up to the first break of any promise,
//! for after one the books are wrong: the function of another promise finds nothing then.

use super::rerun::Rerun;
use super::{Broken, Stats, Watched};
use crate::trace::Trace;
use crate::{Subject, difference, run};

type Judged = Result<(), Broken>;

/// P1: from its revoke on an assignment is given no ticket; those it has count until its seal.
///
/// # Errors
/// The promise broke.
pub fn p1_two_phase_fence<S: Subject>(trace: &Trace, make_guard: impl Fn() -> S) -> Judged {
    seen("P1", trace, make_guard)
}

/// P2: every commit offered is the completion mark of a current assignment, or the one fixed when
/// it was sealed.
///
/// # Errors
/// The promise broke.
pub fn p2_no_commit_past_unfinished_work<S: Subject>(
    trace: &Trace,
    make_guard: impl Fn() -> S,
) -> Judged {
    seen("P2", trace, make_guard)
}

/// P3: no offer lies below an earlier one of its assignment, nor below what was confirmed in it.
///
/// # Errors
/// The promise broke.
pub fn p3_marks_only_rise<S: Subject>(trace: &Trace, make_guard: impl Fn() -> S) -> Judged {
    seen("P3", trace, make_guard)
}

/// P4: after a loss neither ticket nor commit, and the report says lost.
///
/// # Errors
/// The promise broke.
pub fn p4_lost_means_nothing_more<S: Subject>(trace: &Trace, make_guard: impl Fn() -> S) -> Judged {
    seen("P4", trace, make_guard)
}

/// P5: by its deadline plus the commit time, with a report of what was left.
///
/// # Errors
/// The promise broke.
pub fn p5_every_revoke_ends<S: Subject>(trace: &Trace, make_guard: impl Fn() -> S) -> Judged {
    seen("P5", trace, make_guard)
}

/// P6: without its refused inputs the history is answered alike.
///
/// # Errors
/// The promise broke.
pub fn p6_a_refused_input_leaves_no_trace<S: Subject>(
    trace: &Trace,
    make_guard: impl Fn() -> S,
) -> Judged {
    rerun(trace, make_guard, |rerun| rerun.without_refused(&mut Stats::default()))
}

/// P7: nothing is admitted or committed past a held record, and no string names open work.
///
/// # Errors
/// The promise broke.
pub fn p7_no_record_vanishes<S: Subject>(trace: &Trace, make_guard: impl Fn() -> S) -> Judged {
    seen("P7", trace, make_guard)
}

/// P8: without the inputs that speak of what is over the history is answered alike.
///
/// # Errors
/// The promise broke.
pub fn p8_stale_is_inert<S: Subject>(trace: &Trace, make_guard: impl Fn() -> S) -> Judged {
    let Watched { answers, stale, mut stats, broken } =
        Watched::new(trace.config, trace, &make_guard);
    if let Some(broken) = broken.filter(|broken| broken.promise == "P8") {
        return Err(broken);
    }
    let rerun = Rerun { trace, answers: &answers, make_guard: &make_guard };
    rerun.without_stale(&stale, &mut stats).map_or(Ok(()), Err)
}

/// P9: a key runs again, and is skipped, exactly when the window and the flights say so.
///
/// # Errors
/// The promise broke.
pub fn p9_dedupe_never_loses_work<S: Subject>(trace: &Trace, make_guard: impl Fn() -> S) -> Judged {
    seen("P9", trace, make_guard)
}

/// P10: late ticks clamped, or added, change no answer.
///
/// # Errors
/// The promise broke.
pub fn p10_late_time_changes_nothing<S: Subject>(
    trace: &Trace,
    make_guard: impl Fn() -> S,
) -> Judged {
    rerun(trace, make_guard, |rerun| rerun.on_a_clamped_clock(&mut Stats::default()))
}

/// P11: both guards answer alike, step by step. What is broken names the step that differs.
///
/// # Errors
/// The promise broke.
pub fn p11_one_behaviour(
    trace: &Trace,
    left: &mut impl Subject,
    right: &mut impl Subject,
) -> Judged {
    match difference(trace, left, right) {
        None => Ok(()),
        Some(found) => {
            let detail = format!("told {:?} by one, {:?} by the other", found.left, found.right);
            Err(Broken { promise: "P11", detail, step: found.step })
        }
    }
}

/// P12: outputs end, window and budget are never exceeded, an alarm is told once.
///
/// # Errors
/// The promise broke.
pub fn p12_bounded<S: Subject>(trace: &Trace, make_guard: impl Fn() -> S) -> Judged {
    seen("P12", trace, make_guard)
}

fn seen<S: Subject>(promise: &str, trace: &Trace, make_guard: impl Fn() -> S) -> Judged {
    let broken = Watched::new(trace.config, trace, make_guard).broken;
    broken.filter(|broken| broken.promise == promise).map_or(Ok(()), Err)
}

fn rerun<S: Subject, F: Fn() -> S>(
    trace: &Trace,
    make_guard: F,
    judge: impl FnOnce(Rerun<'_, F>) -> Option<Broken>,
) -> Judged {
    let answers = run(trace, &mut make_guard());
    judge(Rerun { trace, answers: &answers, make_guard: &make_guard }).map_or(Ok(()), Err)
}
