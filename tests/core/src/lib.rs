//! The core's tests that need neither Wasmtime nor a Kafka client, in a package of their own so
//! that a mutant of the core is built and tried in seconds.
