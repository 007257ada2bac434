//! A whole consumer group in virtual time: coordinator, clients with their quirks, logs with
//! holes, processes that fail, and the real core in each of them.
//!
//! [`run`] takes [`Options`] and comes to an [`Outcome`]; the same options come to the same
//! outcome, bit for bit. With [`Options::checked`] an oracle watches every guard, and every run is
//! held to what a group promises as a whole:
//!
//! - once faults cease, every record that still exists had its effect or is dead-lettered;
//! - a commit that is stored comes from the partition's owner, never falls, and passes no record
//!   that is not done and that no crash would bring back;
//! - the sink refuses former owners, and never the owner.

mod broker;
mod client;
mod log;
mod naive;
mod options;
mod plan;
mod process;
mod report;
mod seat;
mod shrink;
mod sink;
mod sum;
mod wire;
mod world;

use crate::oracle::{Broken, check_all};

pub use options::{Act, CommitFault, Faults, Options, Planned, Protocol, Reset};
pub use report::{Callback, Failure, Happened, Moment, Outcome};
pub use shrink::{Shrunk, shrink};
pub use sum::{ENOUGH, Sum};

/// Runs the group.
///
/// # Panics
/// When the guard's settings contradict themselves; see [`rebalance_guard::Config::check`].
pub fn run(options: &Options) -> Outcome {
    world::World::new(options).run()
}

/// What happens in a run of these options: their own plan, or what the seed places.
pub fn plan(options: &Options) -> Vec<Planned> {
    plan::plan(options)
}

/// Every promise that the guards of a checked run broke, those included that only show when a
/// history is run again with a part left out.
pub fn audit(options: &Options, outcome: &Outcome) -> Vec<Broken> {
    let all = outcome.traces.iter().flat_map(|trace| {
        let make = || seat::guard(trace.config, options.without());
        check_all(trace.config, trace, make).1
    });
    all.collect()
}
