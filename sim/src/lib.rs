//! What the guard is checked against: a reference model on std collections, an oracle that knows
//! only the promises, and seeded random traces to run both over.
//!
//! - [`Model`] answers the same calls with the same answers as the core, written for plainness.
//! - [`oracle`] watches inputs and answers alone and says which promise broke.
//! - [`random`] makes traces from a seed; [`run`] replays one on any [`Subject`]; [`shrink()`]
//!   makes a failing one short.
//! - `exhaustive` (feature `mutants`) walks through every state that a small world can reach.

#![forbid(unsafe_code)]

mod census;
mod compare;
#[cfg(feature = "mutants")]
pub mod exhaustive;
pub mod group;
mod heap;
pub mod jsonl;
mod model;
pub mod oracle;
pub mod random;
mod shrink;
mod subject;
mod trace;

pub use census::Census;
pub use compare::{Difference, difference};
pub use heap::Heap;
pub use model::Model;
pub use shrink::shrink;
pub use subject::Subject;
pub use trace::{
    Action, Answer, LostScope, OUTPUTS_MAX, Offered, Resumed, Runner, Said, Step, Trace, run,
};
