//! Promises that speak of two histories: the one told and one with something taken out.

use rebalance_guard::{Reply, Tick, Verdict};

use super::{Broken, Stats};
use crate::trace::{Action, Answer, Said, Step, Trace};
use crate::{Subject, run};

pub(super) struct Rerun<'a, F> {
    pub(super) trace: &'a Trace,
    pub(super) answers: &'a [Answer],
    pub(super) make_guard: &'a F,
}

impl<S: Subject, F: Fn() -> S> Rerun<'_, F> {
    /// P6: each refused input becomes a tick of the same time.
    pub(super) fn without_refused(&self, stats: &mut Stats) -> Option<Broken> {
        let refused: Vec<bool> =
            self.answers.iter().map(|answer| is_refused(&answer.said)).collect();
        stats.refused += refused.iter().filter(|refused| **refused).count() as u64;
        self.without("P6", "a refused input left a trace", &refused)
    }

    /// P8: each stale input becomes a tick of the same time.
    pub(super) fn without_stale(&self, stale: &[bool], stats: &mut Stats) -> Option<Broken> {
        stats.stale += stale.iter().filter(|stale| **stale).count() as u64;
        self.without("P8", "a stale input changed something", stale)
    }

    fn without(&self, promise: &'static str, what: &str, out: &[bool]) -> Option<Broken> {
        let mut altered = self.trace.clone();
        let mut kept = vec![true; altered.steps.len()];
        for (index, (step, out)) in altered.steps.iter_mut().zip(out).enumerate() {
            if *out {
                step.action = Action::Tick;
                kept[index] = false;
            }
        }
        let answers = run(&altered, &mut (self.make_guard)());
        let pairs = self.answers.iter().zip(&answers).zip(&kept).enumerate();
        for (step, ((before, after), kept)) in pairs {
            let same = (!kept || before.said == after.said)
                && before.outputs == after.outputs
                && before.metadata == after.metadata
                && before.waiting == after.waiting
                && before.live == after.live
                && before.storm == after.storm
                && before.progress == after.progress;
            if !same {
                let detail = format!("{what}: told {before:?}, without it {after:?}");
                return Some(Broken { promise, detail, step });
            }
        }
        None
    }

    /// P10: late ticks clamped by the oracle, and an even later one after each step.
    pub(super) fn on_a_clamped_clock(&self, stats: &mut Stats) -> Option<Broken> {
        let clamped = self.clamped(stats);
        let stride = clamped.steps.len() / self.trace.steps.len().max(1);
        let answers = run(&clamped, &mut (self.make_guard)());
        let pairs = self.answers.iter().zip(answers.chunks(stride.max(1)));
        for (step, (before, after)) in pairs.enumerate() {
            let [after, late @ ..] = after else { continue };
            let disturbed = late.iter().any(|late| !late.outputs.is_empty());
            if before != after || disturbed {
                let detail = format!(
                    "a late tick changed something: told {before:?}, \
                     on a clamped clock {after:?}, after a late tick {late:?}"
                );
                return Some(Broken { promise: "P10", detail, step });
            }
        }
        None
    }

    /// The trace on a clock that never goes back. What falls due at the very tick of its making
    /// would be news to a second call at that tick, so then no late ticks are added.
    fn clamped(&self, stats: &mut Stats) -> Trace {
        let timeless = self.trace.config.commit_timeout == 0
            || self.trace.config.storm_window == 0
            || self.trace.steps.iter().any(|step| step.now == Tick::MAX);
        let mut clamped = Trace { steps: Vec::new(), ..self.trace.clone() };
        let mut now = Tick::ZERO;
        for step in &self.trace.steps {
            if step.action.is_call() {
                stats.late += u64::from(step.now < now);
                now = now.max(step.now);
            }
            clamped.steps.push(Step { now, action: step.action.clone() });
            if !timeless {
                let late = Tick::new(now.value() / 2).unwrap_or(Tick::ZERO);
                clamped.steps.push(Step { now: late, action: Action::Tick });
            }
        }
        clamped
    }
}

/// Refused whole: an error, a refused record, or nothing but refused records.
pub(crate) fn is_refused(said: &Said) -> bool {
    let refused = |verdict: &Verdict| matches!(verdict, Verdict::Refuse(_));
    match said {
        Said::Reply(Ok(Reply::Verdict(verdict))) => refused(verdict),
        Said::Reply(reply) => reply.is_err(),
        Said::Batch(verdicts) => !verdicts.is_empty() && verdicts.iter().all(refused),
        Said::Nothing => false,
    }
}
