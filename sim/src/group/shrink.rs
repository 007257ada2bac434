//! Makes a failing run small.

use core::fmt;

use super::options::{Options, Planned};
use super::report::{Failure, Outcome};
use super::{plan, run};

/// A run that still breaks the same promise, with as little in it as could be.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "printed by tests")]
pub struct Shrunk {
    /// The run, its plan written out.
    pub options: Options,
    /// What it came to.
    pub outcome: Outcome,
}

/// Fewer faults, records, members, and less else that may go wrong, as long as the promise stays
/// broken. `None` when the run is clean.
pub fn shrink(options: &Options) -> Option<Shrunk> {
    let promise = run(options).broken?.promise;
    let fails = |candidate: &Options| -> Option<Outcome> {
        let outcome = run(candidate);
        outcome.broken.as_ref().is_some_and(|b| b.promise == promise).then_some(outcome)
    };
    let mut best = Options { plan: Some(plan(options)), ..options.clone() };
    let mut outcome = fails(&best)?;
    loop {
        let smaller = candidates(&best).into_iter().find_map(|candidate| {
            let outcome = fails(&candidate)?;
            Some((candidate, outcome))
        });
        match smaller {
            Some(found) => (best, outcome) = found,
            None => return Some(Shrunk { options: best, outcome }),
        }
    }
}

fn candidates(options: &Options) -> Vec<Options> {
    let planned = options.plan.clone().unwrap_or_default();
    let mut all = Vec::new();
    let with = |plan: Vec<Planned>| Options { plan: Some(plan), ..options.clone() };
    let half = planned.len() / 2;
    if half > 1 {
        all.push(with(planned.iter().take(half).copied().collect()));
    }
    for gone in 0..planned.len() {
        let kept = planned.iter().enumerate().filter(|(index, _)| *index != gone);
        all.push(with(kept.map(|(_, planned)| *planned).collect()));
    }
    if options.rate > 1 {
        all.push(Options { rate: options.rate / 2, ..options.clone() });
    }
    if options.partitions > 1 {
        all.push(Options { partitions: options.partitions - 1, ..options.clone() });
    }
    if options.produce_ms > 10 {
        all.push(Options { produce_ms: options.produce_ms * 3 / 4, ..options.clone() });
    }
    for (failing, copies, keyless) in [
        (0, options.copies, options.keyless),
        (options.failing, 0, options.keyless),
        (options.failing, options.copies, 0),
    ] {
        if (failing, copies, keyless) != (options.failing, options.copies, options.keyless) {
            all.push(Options { failing, copies, keyless, ..options.clone() });
        }
    }
    all
}

impl fmt::Display for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { seed, protocol, members, partitions, rate, .. } = &self.options;
        write!(f, "seed {seed}, {protocol:?}, {members} members, {partitions} partitions, ")?;
        writeln!(f, "{rate} records a second")?;
        for Planned { at, act } in self.options.plan.iter().flatten() {
            writeln!(f, "  {at:>5} ms  {act:?}")?;
        }
        for (member, log) in self.outcome.callback_log.iter().enumerate() {
            for (at, callback) in log {
                writeln!(f, "  {at:>5} ms  member {member}: {callback:?}")?;
            }
        }
        match &self.outcome.broken {
            Some(failure) => write_failure(f, failure),
            None => Ok(()),
        }
    }
}

fn write_failure(f: &mut fmt::Formatter<'_>, failure: &Failure) -> fmt::Result {
    if let Some(trace) = &failure.trace {
        write!(f, "{trace}")?;
    }
    writeln!(f, "{failure}")
}
