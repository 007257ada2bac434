//! What the tests share.
#![forbid(unsafe_code)]

/// The README's Rust is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

pub mod broker;
pub mod judged;
pub mod kafka;
pub mod plugin;
