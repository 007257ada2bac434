//! The core's tests that need neither Wasmtime nor a Kafka client, in a package of their own so
//! that a mutant of the core is built and tried in seconds. This library holds what the fuzz
//! targets run, so that a committed corpus is replayed on stable by the same functions.

#![forbid(unsafe_code)]

pub mod fuzz;
