//! The plugin: its bytes, the gate before it, what the host survives, and that it is the native
//! core.
#![forbid(unsafe_code)]

mod abi;
mod boundary;
mod differential;
mod faulty;
mod gate;
mod interrupted;
mod raw;
mod recovery;
mod reports;
