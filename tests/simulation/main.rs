//! Random traces over the core: beside the reference model, under the oracle of the promises, and
//! with one rule switched off at a time. `RG_SEEDS` sets how many seeds each test takes.

mod counters;
mod coverage;
mod differential;
mod exhaustive;
mod found;
mod group;
mod lazy;
mod mutants;
mod promises;
mod snapshot;
mod support;
mod timeouts;
mod traces;
