//! One instance of the plugin: calls under a deadline, and the exchange buffer.

use std::ops::Range;
use std::time::Duration;

use rebalance_guard::Config;
use wasmtime::{Error, Memory, Store, StoreLimits, StoreLimitsBuilder, Trap, TypedFunc};
use wasmtime::{WasmParams, WasmResults};

use super::calls::Calls;
use super::decode::Broken;
use super::encode::{self, CONFIG_BYTES, ENTRY_BYTES, HEADER_BYTES, TooLong, Writer};
use super::{ABI_VERSION, LoadError, Plugin};

/// The least that the ABI promises once `rg_init` succeeded.
const BUFFER_BYTES_MIN: usize = 128 * 1024;
/// The largest buffer that the ABI lets a host ask for.
const BUFFER_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Starting and making the tables may take as long as so many calls.
const CALLS_TO_START: u64 = 10;

/// What a plugin did against the contract, in words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Failure(pub(super) String);

impl From<Broken> for Failure {
    fn from(Broken(what): Broken) -> Self {
        Self(format!("it answered outside the contract: {what}"))
    }
}

impl From<TooLong> for Failure {
    fn from(_: TooLong) -> Self {
        Self("a request is longer than its exchange buffer".to_owned())
    }
}

pub(super) struct Instance {
    store: Store<StoreLimits>,
    memory: Memory,
    calls: Calls,
    buffer: Range<usize>,
    ticks_per_call: u64,
    fuel_per_call: Option<u64>,
    call_timeout: Duration,
}

impl Instance {
    /// Starts the plugin and checks its version and its first buffer. It has no settings yet.
    pub(super) fn new(plugin: &Plugin) -> Result<Self, LoadError> {
        let limits = plugin.limits;
        let mut store = Store::new(&plugin.engine, store_limits(limits.memory_bytes));
        store.limiter(|limits| limits);
        // A caller's engine may burn fuel although nobody limits it here.
        let burns_fuel = store.set_fuel(u64::MAX).is_ok();
        store.set_epoch_deadline(plugin.ticks_per_call.saturating_mul(CALLS_TO_START));
        let instance = wasmtime::Instance::new(&mut store, &plugin.module, &[]).map_err(
            |error| match error.downcast_ref::<Trap>() {
                Some(_) => died("start", reason(&error, limits.call_timeout)),
                None => LoadError::Start(format!("{error:#}")),
            },
        )?;
        let memory =
            instance.get_memory(&mut store, "memory").ok_or(LoadError::MissingExport("memory"))?;
        let mut this = Self {
            calls: Calls::resolve(&mut store, &instance)?,
            store,
            memory,
            buffer: 0..0,
            ticks_per_call: plugin.ticks_per_call,
            fuel_per_call: burns_fuel.then_some(limits.fuel_per_call.unwrap_or(u64::MAX)),
            call_timeout: limits.call_timeout,
        };
        let found = this.early("rg_abi_version", |calls| &calls.abi_version, ())?;
        if found != ABI_VERSION {
            return Err(LoadError::AbiVersion { found, expected: ABI_VERSION });
        }
        this.find_buffer(CONFIG_BYTES)?;
        Ok(this)
    }

    /// Gives it its settings; it grows its memory for the last time.
    pub(super) fn init(&mut self, config: &Config, limit: u64) -> Result<(), LoadError> {
        // The longest assign, and the largest snapshot.
        let entry = ENTRY_BYTES as u64 + u64::from(config.metadata_max) + 1;
        let list = u64::from(config.partitions).saturating_mul(entry) + HEADER_BYTES as u64;
        let wanted = list.max(rebalance_guard::snapshot_len_max(config));
        let wanted = u32::try_from(wanted.min(BUFFER_BYTES_MAX)).unwrap_or(u32::MAX);
        let written = self.write(|writer| encode::config(writer, config, wanted));
        let len = written.map_err(|Failure(reason)| died("rg_init", reason))?;
        let needed = self.early("rg_init_bytes", |calls| &calls.init_bytes, len)?;
        let Ok(needed) = u64::try_from(needed) else {
            return Err(LoadError::Refused { call: "rg_init_bytes", code: needed });
        };
        let needed = needed.saturating_add(self.memory.data_size(&self.store) as u64);
        if needed > limit {
            return Err(LoadError::MemoryLimit { needed, limit });
        }
        let code = self.early("rg_init", |calls| &calls.init, len)?;
        if code != 0 {
            return Err(LoadError::Refused { call: "rg_init", code: i64::from(code) });
        }
        // From here on it has what it needs.
        let size = self.memory.data_size(&self.store);
        *self.store.data_mut() = store_limits(size as u64);
        self.find_buffer(BUFFER_BYTES_MIN)
    }

    /// Where the buffer is, now that the memory has its size; checked against that size.
    fn find_buffer(&mut self, least: usize) -> Result<(), LoadError> {
        let offset = self.early("rg_buffer_offset", |calls| &calls.buffer_offset, ())?;
        let len = self.early("rg_buffer_len", |calls| &calls.buffer_len, ())?;
        let (offset, len) = (offset.cast_unsigned(), len.cast_unsigned());
        let memory = self.memory.data_size(&self.store);
        let start = offset as usize;
        match start.checked_add(len as usize) {
            Some(end) if end <= memory && len as usize >= least => self.buffer = start..end,
            _ => return Err(LoadError::Buffer { offset, len, memory, least }),
        }
        Ok(())
    }

    fn early<P: WasmParams, R: WasmResults>(
        &mut self,
        call: &'static str,
        pick: impl FnOnce(&Calls) -> &TypedFunc<P, R>,
        params: P,
    ) -> Result<R, LoadError> {
        let ticks = self.ticks_per_call.saturating_mul(CALLS_TO_START);
        arm(&mut self.store, ticks, self.fuel_per_call.map(|_| u64::MAX));
        pick(&self.calls)
            .call(&mut self.store, params)
            .map_err(|error| died(call, reason(&error, self.call_timeout)))
    }

    /// One call, ended when it runs past its time.
    #[inline]
    pub(super) fn call<P: WasmParams, R: WasmResults>(
        &mut self,
        pick: impl FnOnce(&Calls) -> &TypedFunc<P, R>,
        params: P,
    ) -> Result<R, Failure> {
        arm(&mut self.store, self.ticks_per_call, self.fuel_per_call);
        pick(&self.calls)
            .call(&mut self.store, params)
            .map_err(|error| Failure(reason(&error, self.call_timeout)))
    }

    /// Writes a request; its length.
    #[inline]
    pub(super) fn write(
        &mut self,
        f: impl FnOnce(&mut Writer<'_>) -> Result<(), TooLong>,
    ) -> Result<i32, Failure> {
        let buffer = self.memory.data_mut(&mut self.store).get_mut(self.buffer.clone());
        let mut writer = Writer::new(buffer.ok_or_else(no_buffer)?);
        f(&mut writer)?;
        Ok(writer.len())
    }

    /// The answer.
    #[inline]
    pub(super) fn buffer(&self) -> Result<&[u8], Failure> {
        self.memory.data(&self.store).get(self.buffer.clone()).ok_or_else(no_buffer)
    }
}

fn no_buffer() -> Failure {
    Failure("its exchange buffer is outside its memory".to_owned())
}

/// A store without a deadline would end its first call, so one is set before every call.
#[inline]
fn arm(store: &mut Store<StoreLimits>, ticks: u64, fuel: Option<u64>) {
    store.set_epoch_deadline(ticks);
    if let Some(fuel) = fuel {
        // Only given where the engine burns it, so it does not fail.
        let _ = store.set_fuel(fuel);
    }
}

fn store_limits(memory_bytes: u64) -> StoreLimits {
    StoreLimitsBuilder::new()
        .memory_size(usize::try_from(memory_bytes).unwrap_or(usize::MAX))
        .memories(1)
        .tables(1)
        .table_elements(1_024)
        .instances(1)
        .trap_on_grow_failure(true)
        .build()
}

fn died(call: &'static str, reason: String) -> LoadError {
    LoadError::Died { call, reason }
}

fn reason(error: &Error, timeout: Duration) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => format!("it ran past its time limit of {timeout:?}"),
        Some(Trap::OutOfFuel) => "it ran past its limit of instructions".to_owned(),
        Some(trap) => format!("it trapped: {trap}"),
        None => format!("it trapped: {}", error.root_cause()),
    }
}
