//! The rdkafka adapter: one consumer, its callbacks turned into the guard's inputs.

pub(crate) mod classify;
pub(crate) mod client;
pub(crate) mod context;
pub(crate) mod lookup;
pub(crate) mod session;
pub(crate) mod topics;
