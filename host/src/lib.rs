//! rebalance-guard for hosts: the engine (native core or plugin), the rdkafka adapter, workers
//! behind an ownership fence, sinks, and the gateway made of them.
#![deny(unsafe_code)]

pub mod cli;
pub mod clock;
pub mod config;
pub mod dead_letter;
pub mod demo;
pub mod engine;
#[allow(unsafe_code, reason = "calls into librdkafka that rdkafka does not wrap")]
pub mod ffi;
pub mod gateway;
pub mod kafka;
pub mod key;
pub mod memory;
pub mod native;
pub mod plugin;
pub mod record;
pub mod recording;
pub mod recovery;
pub mod simulate;
pub mod sink;
pub mod workers;
