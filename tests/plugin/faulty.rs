//! Plugins with a fault, written as text: one that keeps to the ABI, with parts replaced.

use rebalance_guard_host::plugin::{Digest, Limits, LoadError, Plugin};

/// Every function of the ABI as a plugin that does nothing would have it.
pub(crate) const FUNCTIONS: [(&str, &str); 26] = [
    ("rg_abi_version", "(result i32) (i32.const 2)"),
    ("rg_admit", "(param i64 i32) (result i32) (i32.const 0)"),
    ("rg_admit_batch", "(param i64 i32 i32) (result i32) (local.get 1)"),
    ("rg_answer", "(param i64 i32) (result i32) (i32.const 0)"),
    ("rg_buffer_len", "(result i32) (i32.const 131072)"),
    ("rg_buffer_offset", "(result i32) (i32.const 1024)"),
    ("rg_commit_metadata", "(param i32 i32) (result i32) (i32.const 0)"),
    ("rg_counters", "(result i32) (i32.const 48)"),
    ("rg_handle", "(param i64 i32) (result i32) (i32.const 0)"),
    ("rg_handle_timeout", "(param i64) (result i32) (i32.const 0)"),
    ("rg_in_flight", "(result i32) (i32.const 0)"),
    ("rg_init", "(param i32) (result i32) (i32.const 0)"),
    ("rg_init_bytes", "(param i32) (result i64) (i64.const 0)"),
    ("rg_is_live", "(result i32) (i32.const 0)"),
    ("rg_journal", "(param i32) (result i32) (i32.const 0)"),
    ("rg_now", "(result i64) (i64.const 0)"),
    ("rg_owned", "(param i32) (result i32) (i32.const 0)"),
    ("rg_partition_counters", "(param i32 i32) (result i32) (i32.const 0)"),
    ("rg_poll_outputs", "(param i32) (result i32) (i32.const 0)"),
    ("rg_poll_timeout", "(result i64) (i64.const 0x7fffffffffffffff)"),
    ("rg_progress", "(param i32 i32) (result i32) (i32.const 0)"),
    ("rg_restore", "(param i64 i32) (result i32) (i32.const 0)"),
    ("rg_snapshot", "(result i32) (i32.const 0)"),
    ("rg_snapshot_len", "(result i64) (i64.const 0)"),
    ("rg_storm", "(result i32) (i32.const 0)"),
    ("rg_waiting", "(result i32) (i32.const 0)"),
];

pub(crate) const MEMORY: &str = r#"(memory (export "memory") 3 16)"#;

/// A module that keeps to the ABI except for `replaced` functions (an empty text leaves one out);
/// `memory` and `more` are taken as they are.
pub(crate) fn module_of(memory: &str, more: &str, replaced: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("(module {memory}\n");
    for (name, kept) in FUNCTIONS {
        let body = replaced.iter().find(|(other, _)| *other == name).map_or(kept, |(_, b)| *b);
        if !body.is_empty() {
            text += &format!("(func (export \"{name}\") {body})\n");
        }
    }
    text += &format!("{more})");
    ::wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The same with the usual memory and nothing more.
pub(crate) fn module(replaced: &[(&str, &str)]) -> Vec<u8> {
    module_of(MEMORY, "", replaced)
}

/// Loads it under its own hash.
pub(crate) fn load(bytes: &[u8], limits: Limits) -> Result<Plugin, LoadError> {
    Plugin::load(bytes, &Digest::of(bytes), limits)
}
