//! rebalance-guard for JavaScript: the class `RebalanceGuard`, a thin shell over the core.
//!
//! Every call reads its arguments whole, then uses the guard, then writes the answer: no code of
//! the caller's runs while the guard is in use. B140 (rustwasm/wasm-bindgen#1578): a call from
//! inside another one finds the guard free, or is refused with the code `busy`.

mod counters;
mod error;
mod guard;
mod heap;
mod inputs;
mod names;
mod outputs;
mod read;
mod settings;
mod state;
mod write;

pub use guard::RebalanceGuard;
