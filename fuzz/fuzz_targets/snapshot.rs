#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| rebalance_guard_core_tests::fuzz::snapshot(bytes));
