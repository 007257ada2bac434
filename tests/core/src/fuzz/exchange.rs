//! The plugin's exchange buffer: any bytes, any lengths, any order of calls.

use std::mem::MaybeUninit;

use rebalance_guard::{Config, KeyPolicy, Partition};
use rebalance_guard_wasm::codec::{self, Code, Setup};
use rebalance_guard_wasm::memory::{Plan, Ready};

use super::source::Source;

/// Settings that would take more memory than this are measured and not carved.
const REGION_MAX: u64 = 4 << 20;
/// Miri is some hundred times slower, and each call's state is compared whole.
const CALLS_MAX: usize = if cfg!(miri) { 40 } else { 200 };

/// No call panics, and a refused one leaves the state as it was. A first byte of 255 means that
/// the rest are settings.
pub fn exchange(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    if source.u8() == u8::MAX {
        return settings(source.rest());
    }
    let setup = Setup { buffer_bytes: 0, config: small(&mut source) };
    let plan = Plan::of(&setup).expect("the settings are sound");
    let mut region = region(&plan);
    let mut ready = plan.carve(&mut region).expect("the region was measured");
    for _ in 0..CALLS_MAX {
        if source.is_empty() {
            break;
        }
        call(&mut ready, &mut source);
    }
}

fn small(source: &mut Source<'_>) -> Config {
    let key_policy = if source.below(2) == 0 { KeyPolicy::Required } else { KeyPolicy::Optional };
    Config {
        partitions: 3,
        window: u32::from(source.below(6)) + 1,
        keys: u32::from(source.below(6)),
        budget: u32::from(source.below(6)) + 1,
        journal: u32::from(source.below(6)),
        commit_interval: u64::from(source.below(40)),
        lease: 100,
        stall_after: 50,
        first_assignment: 1,
        key_policy,
        ..Config::default()
    }
}

fn settings(bytes: &[u8]) {
    let Ok(setup) = codec::setup(bytes) else { return };
    let Ok(plan) = Plan::of(&setup) else { return };
    if plan.bytes() <= REGION_MAX {
        let mut region = region(&plan);
        let ready = plan.carve(&mut region).expect("the region was measured");
        assert_eq!(ready.plugin.now(), 0);
    }
}

fn region(plan: &Plan) -> Vec<MaybeUninit<u8>> {
    vec![MaybeUninit::uninit(); usize::try_from(plan.bytes()).expect("it was looked at")]
}

fn state(ready: &Ready<'_>) -> Vec<u8> {
    let len = usize::try_from(ready.plugin.snapshot_len()).expect("it is small");
    let mut bytes = vec![0; len];
    let written = ready.plugin.snapshot(&mut bytes);
    assert_eq!(written, i32::try_from(len).map_err(|_| Code::Room));
    bytes
}

/// One call: which, the time, the bytes written into the buffer, and the arguments.
fn call(ready: &mut Ready<'_>, source: &mut Source<'_>) {
    let number = source.u8();
    let now = i64::from_ne_bytes(source.number().to_ne_bytes());
    let mut len = 0;
    if number & 32 == 0 {
        let bytes = source.bytes(200);
        ready.buffer[..bytes.len()].copy_from_slice(bytes);
        len = i32::try_from(bytes.len()).expect("at most 200");
    }
    if number & 64 != 0 {
        len = i32::from_le_bytes(source.array());
    }
    let before = state(ready);
    let answered = answered(ready, number & 31, now, len, source);
    if answered.is_err() || number & 31 >= READS {
        assert_eq!(state(ready), before, "call {number}: {answered:?}");
    }
    if let Ok(number) = answered {
        assert!(number >= 0, "call {number} gave {number}");
    }
}

/// Calls from this number on only read.
const READS: u8 = 16;

fn answered(
    ready: &mut Ready<'_>,
    number: u8,
    now: i64,
    len: i32,
    source: &mut Source<'_>,
) -> Result<i32, Code> {
    let Ready { plugin, buffer } = ready;
    match number {
        0..=3 => plugin.handle(buffer, now, len),
        4..=6 => plugin.admit(buffer, now, len),
        7 => plugin.admit_batch(buffer, now, i32::from(source.u8()) - 1, len),
        8..=10 => plugin.answer(buffer, now, i32::from(source.u8()) - 1),
        11 => plugin.handle_timeout(now),
        12..=14 => plugin.poll_outputs(buffer, i32::from(source.u8()) - 1),
        15 => plugin.restore(buffer, now, len),
        16 => plugin.is_live(buffer),
        17 => Ok(plugin.progress(buffer, partition(source))),
        18 => plugin.owned(buffer, i32::from(source.u8()) - 1),
        19 => Ok(plugin.commit_metadata(buffer, partition(source))),
        20 => Ok(plugin.waiting(buffer)),
        21 => plugin.journal(buffer, i32::from(source.u8()) - 1),
        22..=24 => plugin.snapshot(buffer),
        25 => Ok(plugin.in_flight()),
        26 => Ok(plugin.storm()),
        27 => Ok(plugin.counters(buffer)),
        28 => Ok(plugin.partition_counters(buffer, partition(source))),
        29 => Ok(i32::from(plugin.poll_timeout() < 0)),
        30 => Ok(i32::from(plugin.now() < 0)),
        _ => plugin.snapshot(&mut buffer[..usize::from(source.u8())]),
    }
}

fn partition(source: &mut Source<'_>) -> Partition {
    Partition::new(u32::from(source.below(2)), i32::from(source.u8()) - 1)
}
