//! Watches inputs and answers alone and says which promise broke.
//!
//! | promise | how it is seen |
//! |---|---|
//! | P1 | no ticket for an assignment from its revoke on; issued ones count until its seal |
//! | P2 | every commit offered is the completion mark of the oracle's own books |
//! | P3 | offers of an assignment never fall, nor lie below what was confirmed in it |
//! | P4 | after a loss neither tickets nor commits, and the report says lost |
//! | P5 | a drain is reported by its deadline with what was left, and ends a commit time later |
//! | P6 | the trace without its refused inputs gives the same answers |
//! | P7 | nothing is admitted above a held record, no commit passes one, no string names open
//! |    | work |
//! | P8 | the trace without its stale inputs gives the same answers; stale ones are told so |
//! | P9 | a key runs again, and is skipped, exactly when the window and the flights say so; what an
//! |    | owner before finished is skipped, and nothing else as such |
//! | P10 | clamping late ticks, and adding some, changes nothing |
//! | P11 | two engines answer alike, see [`crate::difference`] |
//! | P12 | outputs end; window and budget are never exceeded; alarms come when they are due, once |
//!
//! [`check_trace`] judges a history by all of them at once; each has a function of its own, too,
//! such as [`p1_two_phase_fence`]. A history that is not a trace yet becomes one beside a
//! [`Witness`].

mod books;
#[cfg(feature = "mutants")]
mod digest;
mod hand_over;
mod judge;
mod outputs;
mod promises;
pub(crate) mod rerun;
mod set;
mod witness;

use core::fmt;

use rebalance_guard::Config;

#[cfg(feature = "mutants")]
use crate::trace::Action;
use crate::trace::{Answer, Step, Trace};
use crate::{Subject, run};
use books::Books;
pub use promises::{
    p1_two_phase_fence, p2_no_commit_past_unfinished_work, p3_marks_only_rise,
    p4_lost_means_nothing_more, p5_every_revoke_ends, p6_a_refused_input_leaves_no_trace,
    p7_no_record_vanishes, p8_stale_is_inert, p9_dedupe_never_loses_work,
    p10_late_time_changes_nothing, p11_one_behaviour, p12_bounded,
};
pub use witness::Witness;

/// One promise broken.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Broken {
    /// Which: `"P1"` to `"P12"`.
    pub promise: &'static str,
    /// What was seen and what should have been.
    pub detail: String,
    /// Number of the step, from 0.
    pub step: usize,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} broken at step {}: {}", self.promise, self.step, self.detail)
    }
}

impl core::error::Error for Broken {}

/// What a checked trace held, for proving that a test saw something.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Stats {
    /// Steps observed.
    pub steps: u64,
    /// Tickets handed out.
    pub tickets: u64,
    /// Commits offered.
    pub commits: u64,
    /// Assignments ended.
    pub sealed: u64,
    /// Refused inputs that were taken out for P6.
    pub refused: u64,
    /// Stale inputs that were taken out for P8.
    pub stale: u64,
    /// Late ticks clamped for P10.
    pub late: u64,
}

/// Watches one history.
#[derive(Clone, Debug)]
pub struct Oracle {
    books: Books,
    steps: usize,
}

impl Oracle {
    /// An oracle for a fresh guard of `config`; `partitions` are those whose progress the answers
    /// tell, in order.
    pub fn new(config: Config, partitions: &[rebalance_guard::Partition]) -> Self {
        Self { books: Books::new(config, partitions), steps: 0 }
    }

    /// One step and what was answered to it.
    ///
    /// # Errors
    /// The first promise that it breaks.
    pub fn observe(&mut self, step: &Step, answer: &Answer) -> Result<(), Broken> {
        let number = self.steps;
        self.steps += 1;
        self.books.observe(step, answer).map_err(|(promise, detail)| Broken {
            promise,
            detail,
            step: number,
        })
    }

    /// Whether the input speaks of what is over, or answers a ticket again.
    #[cfg(feature = "mutants")]
    pub(crate) fn is_stale(&self, action: &Action) -> bool {
        self.books.is_stale(action)
    }

    /// Hashes what decides the judgements to come; tickets handed out are left to the caller.
    #[cfg(feature = "mutants")]
    pub(crate) fn digest(&self, hasher: &mut impl core::hash::Hasher) {
        self.books.digest(hasher);
    }

    /// What was seen so far.
    pub fn stats(&self) -> Stats {
        Stats { steps: self.steps as u64, ..self.books.stats }
    }
}

/// Runs a trace on a fresh guard and checks every promise, the ones that need runs of altered
/// traces included.
///
/// # Errors
/// The first promise that broke.
pub fn check_trace<S: Subject>(
    config: Config,
    trace: &Trace,
    make_guard: impl Fn() -> S,
) -> Result<Stats, Broken> {
    let (stats, broken) = check_all(config, trace, make_guard);
    match broken.into_iter().next() {
        None => Ok(stats),
        Some(first) => Err(first),
    }
}

/// As [`check_trace`], with every kind of check made whatever the others found: the first break
/// seen while watching, then those seen by altered runs.
pub fn check_all<S: Subject>(
    config: Config,
    trace: &Trace,
    make_guard: impl Fn() -> S,
) -> (Stats, Vec<Broken>) {
    let Watched { answers, stale, mut stats, broken } = Watched::new(config, trace, &make_guard);
    let mut broken = Vec::from_iter(broken);
    let rerun = rerun::Rerun { trace, answers: &answers, make_guard: &make_guard };
    broken.extend(rerun.without_refused(&mut stats));
    broken.extend(rerun.without_stale(&stale, &mut stats));
    broken.extend(rerun.on_a_clamped_clock(&mut stats));
    (stats, broken)
}

/// A history told once, under the oracle.
struct Watched {
    answers: Vec<Answer>,
    /// Which inputs speak of what is over, up to the first break: after one the books are wrong,
    /// so what they call stale is not to be trusted.
    stale: Vec<bool>,
    stats: Stats,
    broken: Option<Broken>,
}

impl Watched {
    fn new<S: Subject>(config: Config, trace: &Trace, make_guard: impl Fn() -> S) -> Self {
        let answers = run(trace, &mut make_guard());
        let mut oracle = Oracle::new(config, &trace.partitions);
        let (mut stale, mut broken) = (Vec::new(), None);
        for (step, answer) in trace.steps.iter().zip(&answers) {
            stale.push(oracle.books.is_stale(&step.action));
            broken = oracle.observe(step, answer).err();
            if broken.is_some() {
                break;
            }
        }
        Self { answers, stale, stats: oracle.stats(), broken }
    }
}
