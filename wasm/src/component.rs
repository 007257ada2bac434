//! The component face: the same calls over lists of bytes, typed by `wit/guard.wit`.

use std::boxed::Box;
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::vec;
use std::vec::Vec;

use rebalance_guard::{JournalEntry, Partition};

use crate::codec::{
    self, Code, OUTPUT_BYTES, PROGRESS_BYTES, REPLY_BYTES, VERDICT_BYTES, WAITING_BYTES,
};
use crate::memory::{Plan, Ready};
use crate::plugin::NOTHING_DUE;

#[allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes_without_reason,
    clippy::use_self,
    reason = "generated"
)]
mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "plugin" });
    use super::Face;
    export!(Face);
}

use bindings::exports::rebalance_guard::plugin::guard::{Code as WitCode, Guest};

std::thread_local! {
    static READY: RefCell<Option<Ready<'static>>> = const { RefCell::new(None) };
}

struct Face;

impl From<Code> for WitCode {
    fn from(code: Code) -> Self {
        match code {
            Code::NotReady => Self::NotReady,
            Code::AlreadyInitialised => Self::AlreadyInitialised,
            Code::Length => Self::Length,
            Code::Tick => Self::Tick,
            Code::Value => Self::Value,
            Code::Config => Self::Config,
            Code::Memory => Self::Memory,
            Code::Room => Self::Room,
            Code::Snapshot => Self::Snapshot,
        }
    }
}

fn ready<R>(f: impl FnOnce(&mut Ready<'static>) -> Result<R, Code>) -> Result<R, WitCode> {
    READY.with_borrow_mut(|ready| {
        ready.as_mut().map_or(Err(Code::NotReady), f).map_err(WitCode::from)
    })
}

/// Copies a request into the exchange buffer; its length.
fn request(ready: &mut Ready<'static>, bytes: &[u8]) -> Result<i32, Code> {
    ready.buffer.get_mut(..bytes.len()).ok_or(Code::Length)?.copy_from_slice(bytes);
    i32::try_from(bytes.len()).map_err(|_| Code::Length)
}

/// Copies an answer out of it.
fn answer(ready: &Ready<'static>, count: i32, size: usize) -> Vec<u8> {
    let len = usize::try_from(count).unwrap_or(0).saturating_mul(size);
    ready.buffer.get(..len).unwrap_or_default().to_vec()
}

fn tick(now: u64) -> Result<i64, Code> {
    i64::try_from(now).map_err(|_| Code::Tick)
}

fn init(slot: &mut Option<Ready<'static>>, settings: &[u8]) -> Result<(), Code> {
    if slot.is_some() {
        return Err(Code::AlreadyInitialised);
    }
    let plan = Plan::of(&codec::setup(settings)?)?;
    let bytes = usize::try_from(plan.bytes()).map_err(|_| Code::Memory)?;
    // Asked first, for the allocator would trap.
    let mut region: Vec<MaybeUninit<u8>> = Vec::new();
    region.try_reserve_exact(bytes).map_err(|_| Code::Memory)?;
    region.resize(bytes, MaybeUninit::uninit());
    *slot = Some(plan.carve(Box::leak(region.into_boxed_slice()))?);
    Ok(())
}

impl Guest for Face {
    fn abi_version() -> u32 {
        crate::ABI_VERSION.unsigned_abs()
    }

    fn init(settings: Vec<u8>) -> Result<(), WitCode> {
        READY.with_borrow_mut(|slot| init(slot, &settings)).map_err(WitCode::from)
    }

    fn handle(now: u64, input: Vec<u8>) -> Result<Vec<u8>, WitCode> {
        ready(|ready| {
            let len = request(ready, &input)?;
            ready.plugin.handle(ready.buffer, tick(now)?, len)?;
            Ok(answer(ready, 1, REPLY_BYTES))
        })
    }

    fn admit_batch(now: u64, count: u32, records: Vec<u8>) -> Result<Vec<u8>, WitCode> {
        ready(|ready| {
            let len = request(ready, &records)?;
            let count = i32::try_from(count).map_err(|_| Code::Length)?;
            let count = ready.plugin.admit_batch(ready.buffer, tick(now)?, count, len)?;
            Ok(answer(ready, count, VERDICT_BYTES))
        })
    }

    fn answer(now: u64, ticket: Vec<u8>, outcome: u8) -> Result<bool, WitCode> {
        ready(|ready| {
            let stale = ready.plugin.answer(&ticket, tick(now)?, i32::from(outcome))?;
            Ok(stale == 0)
        })
    }

    fn handle_timeout(now: u64) -> Result<(), WitCode> {
        ready(|ready| ready.plugin.handle_timeout(tick(now)?).map(|_| ()))
    }

    fn poll_outputs(max: u32) -> Result<Vec<u8>, WitCode> {
        ready(|ready| {
            let max = i32::try_from(max).unwrap_or(i32::MAX);
            let count = ready.plugin.poll_outputs(ready.buffer, max)?;
            Ok(answer(ready, count, OUTPUT_BYTES))
        })
    }

    fn poll_timeout() -> Result<Option<u64>, WitCode> {
        ready(|ready| {
            let due = ready.plugin.poll_timeout();
            Ok(if due == NOTHING_DUE { None } else { u64::try_from(due).ok() })
        })
    }

    fn is_live(ticket: Vec<u8>) -> Result<bool, WitCode> {
        ready(|ready| ready.plugin.is_live(&ticket).map(|live| live == 1))
    }

    fn progress(topic: u32, index: i32) -> Result<Option<Vec<u8>>, WitCode> {
        ready(|ready| {
            let told = ready.plugin.progress(ready.buffer, Partition::new(topic, index));
            Ok((told == 1).then(|| answer(ready, 1, PROGRESS_BYTES)))
        })
    }

    fn owned() -> Result<Vec<u8>, WitCode> {
        ready(|ready| {
            let mut all = vec![];
            loop {
                let skip = i32::try_from(all.len() / PROGRESS_BYTES).map_err(|_| Code::Length)?;
                let count = ready.plugin.owned(ready.buffer, skip)?;
                if count == 0 {
                    return Ok(all);
                }
                all.extend(answer(ready, count, PROGRESS_BYTES));
            }
        })
    }

    fn commit_metadata(topic: u32, index: i32) -> Result<Vec<u8>, WitCode> {
        ready(|ready| {
            let partition = Partition::new(topic, index);
            let len = ready.plugin.commit_metadata(ready.buffer, partition);
            Ok(answer(ready, len, 1))
        })
    }

    fn waiting() -> Result<Option<Vec<u8>>, WitCode> {
        ready(|ready| {
            let told = ready.plugin.waiting(ready.buffer);
            Ok((told == 1).then(|| answer(ready, 1, WAITING_BYTES)))
        })
    }

    fn journal() -> Result<Vec<u8>, WitCode> {
        ready(|ready| {
            let mut all = vec![];
            loop {
                let skip = all.len() / JournalEntry::BYTES;
                let skip = i32::try_from(skip).map_err(|_| Code::Length)?;
                let count = ready.plugin.journal(ready.buffer, skip)?;
                if count == 0 {
                    return Ok(all);
                }
                all.extend(answer(ready, count, JournalEntry::BYTES));
            }
        })
    }

    fn snapshot() -> Result<Vec<u8>, WitCode> {
        ready(|ready| {
            let len = ready.plugin.snapshot(ready.buffer)?;
            Ok(answer(ready, len, 1))
        })
    }

    fn restore(now: u64, snapshot: Vec<u8>) -> Result<(), WitCode> {
        ready(|ready| {
            let len = request(ready, &snapshot)?;
            ready.plugin.restore(ready.buffer, tick(now)?, len).map(|_| ())
        })
    }

    fn in_flight() -> Result<u32, WitCode> {
        ready(|ready| u32::try_from(ready.plugin.in_flight()).map_err(|_| Code::Value))
    }

    fn storm() -> Result<u8, WitCode> {
        ready(|ready| u8::try_from(ready.plugin.storm()).map_err(|_| Code::Value))
    }

    fn counters() -> Result<Vec<u8>, WitCode> {
        ready(|ready| {
            let count = ready.plugin.counters(ready.buffer);
            Ok(answer(ready, count, 8))
        })
    }

    fn partition_counters(topic: u32, index: i32) -> Result<Option<Vec<u8>>, WitCode> {
        ready(|ready| {
            let partition = Partition::new(topic, index);
            let count = ready.plugin.partition_counters(ready.buffer, partition);
            Ok((count > 0).then(|| answer(ready, count, 8)))
        })
    }

    fn now() -> Result<u64, WitCode> {
        ready(|ready| u64::try_from(ready.plugin.now()).map_err(|_| Code::Value))
    }
}
