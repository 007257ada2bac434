//! The exported functions: the table of `ABI.md`, nothing more.

use rebalance_guard::Partition;

use crate::codec::{self, Code};
use crate::memory::{Plan, Ready, Single, grow};

/// Holds the settings before `rg_init` makes the real exchange buffer.
const BOOT_BYTES: usize = 1_024;

struct State {
    boot: [u8; BOOT_BYTES],
    ready: Option<Ready<'static>>,
}

static STATE: Single<State> = Single::new(State { boot: [0; BOOT_BYTES], ready: None });

fn number(result: Result<i32, Code>) -> i32 {
    match result {
        Ok(number) => number,
        Err(code) => code.number(),
    }
}

fn ready(f: impl FnOnce(&mut Ready<'static>) -> Result<i32, Code>) -> i32 {
    number(STATE.with(|state| state.ready.as_mut().map_or(Err(Code::NotReady), f)))
}

fn buffer<R>(f: impl FnOnce(&mut [u8]) -> R) -> R {
    STATE.with(|state| match &mut state.ready {
        Some(ready) => f(ready.buffer),
        None => f(&mut state.boot),
    })
}

fn plan(state: &State, len: i32) -> Result<Plan, Code> {
    let len = usize::try_from(len).map_err(|_| Code::Length)?;
    Plan::of(&codec::setup(state.boot.get(..len).ok_or(Code::Length)?)?)
}

fn init(state: &mut State, len: i32) -> Result<i32, Code> {
    if state.ready.is_some() {
        return Err(Code::AlreadyInitialised);
    }
    let plan = plan(state, len)?;
    state.ready = Some(plan.carve(grow(plan.bytes())?)?);
    Ok(0)
}

const fn partition(topic: i32, index: i32) -> Partition {
    Partition::new(topic.cast_unsigned(), index)
}

// SAFETY (of every `no_mangle` below): the names begin with `rg_`, which nothing else links.

#[unsafe(no_mangle)]
extern "C" fn rg_abi_version() -> i32 {
    crate::ABI_VERSION
}

#[unsafe(no_mangle)]
extern "C" fn rg_buffer_offset() -> i32 {
    // An address is 32 bits wide here; the caller reads it as unsigned.
    buffer(|buffer| buffer.as_ptr().expose_provenance() as i32)
}

#[unsafe(no_mangle)]
extern "C" fn rg_buffer_len() -> i32 {
    buffer(|buffer| i32::try_from(buffer.len()).unwrap_or(0))
}

#[unsafe(no_mangle)]
extern "C" fn rg_init_bytes(len: i32) -> i64 {
    STATE.with(|state| match (&state.ready, plan(state, len)) {
        (Some(_), _) => i64::from(Code::AlreadyInitialised.number()),
        (None, Ok(plan)) => i64::try_from(plan.bytes()).unwrap_or(i64::MAX),
        (None, Err(code)) => i64::from(code.number()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn rg_init(len: i32) -> i32 {
    number(STATE.with(|state| init(state, len)))
}

#[unsafe(no_mangle)]
extern "C" fn rg_handle(now: i64, len: i32) -> i32 {
    ready(|ready| ready.plugin.handle(ready.buffer, now, len))
}

#[unsafe(no_mangle)]
extern "C" fn rg_admit(now: i64, len: i32) -> i32 {
    ready(|ready| ready.plugin.admit(ready.buffer, now, len))
}

#[unsafe(no_mangle)]
extern "C" fn rg_admit_batch(now: i64, count: i32, len: i32) -> i32 {
    ready(|ready| ready.plugin.admit_batch(ready.buffer, now, count, len))
}

#[unsafe(no_mangle)]
extern "C" fn rg_answer(now: i64, outcome: i32) -> i32 {
    ready(|ready| ready.plugin.answer(ready.buffer, now, outcome))
}

#[unsafe(no_mangle)]
extern "C" fn rg_handle_timeout(now: i64) -> i32 {
    ready(|ready| ready.plugin.handle_timeout(now))
}

#[unsafe(no_mangle)]
extern "C" fn rg_poll_outputs(max: i32) -> i32 {
    ready(|ready| ready.plugin.poll_outputs(ready.buffer, max))
}

#[unsafe(no_mangle)]
extern "C" fn rg_poll_timeout() -> i64 {
    STATE.with(|state| match &state.ready {
        Some(ready) => ready.plugin.poll_timeout(),
        None => i64::from(Code::NotReady.number()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn rg_is_live() -> i32 {
    ready(|ready| ready.plugin.is_live(ready.buffer))
}

#[unsafe(no_mangle)]
extern "C" fn rg_progress(topic: i32, index: i32) -> i32 {
    ready(|ready| Ok(ready.plugin.progress(ready.buffer, partition(topic, index))))
}

#[unsafe(no_mangle)]
extern "C" fn rg_owned(skip: i32) -> i32 {
    ready(|ready| ready.plugin.owned(ready.buffer, skip))
}

#[unsafe(no_mangle)]
extern "C" fn rg_commit_metadata(topic: i32, index: i32) -> i32 {
    ready(|ready| Ok(ready.plugin.commit_metadata(ready.buffer, partition(topic, index))))
}

#[unsafe(no_mangle)]
extern "C" fn rg_waiting() -> i32 {
    ready(|ready| Ok(ready.plugin.waiting(ready.buffer)))
}

#[unsafe(no_mangle)]
extern "C" fn rg_journal(skip: i32) -> i32 {
    ready(|ready| ready.plugin.journal(ready.buffer, skip))
}

#[unsafe(no_mangle)]
extern "C" fn rg_snapshot_len() -> i64 {
    STATE.with(|state| match &state.ready {
        Some(ready) => ready.plugin.snapshot_len(),
        None => i64::from(Code::NotReady.number()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn rg_snapshot() -> i32 {
    ready(|ready| ready.plugin.snapshot(ready.buffer))
}

#[unsafe(no_mangle)]
extern "C" fn rg_restore(now: i64, len: i32) -> i32 {
    ready(|ready| ready.plugin.restore(ready.buffer, now, len))
}

#[unsafe(no_mangle)]
extern "C" fn rg_in_flight() -> i32 {
    ready(|ready| Ok(ready.plugin.in_flight()))
}

#[unsafe(no_mangle)]
extern "C" fn rg_storm() -> i32 {
    ready(|ready| Ok(ready.plugin.storm()))
}

#[unsafe(no_mangle)]
extern "C" fn rg_counters() -> i32 {
    ready(|ready| Ok(ready.plugin.counters(ready.buffer)))
}

#[unsafe(no_mangle)]
extern "C" fn rg_partition_counters(topic: i32, index: i32) -> i32 {
    ready(|ready| Ok(ready.plugin.partition_counters(ready.buffer, partition(topic, index))))
}

#[unsafe(no_mangle)]
extern "C" fn rg_now() -> i64 {
    STATE.with(|state| match &state.ready {
        Some(ready) => ready.plugin.now(),
        None => i64::from(Code::NotReady.number()),
    })
}
