//! Runs the guard as a WebAssembly plugin. The host knows it as bytes and by `wasm/ABI.md` alone.
//!
//! [`Plugin::load`] is the gate: pinned hash, no imports, the exact exports, bounded memory, ABI
//! version. [`Plugin::start`] gives one guard. Whatever the plugin does afterwards, the host stays
//! whole: a trap, a call past its time or an answer outside the contract ends that guard for good
//! ([`EngineDead`](crate::engine::EngineDead)), and another can be started.

mod calls;
mod decode;
mod digest;
mod encode;
mod engine;
mod error;
mod gate;
mod instance;
mod shorten;
mod ticker;

use std::sync::Arc;
use std::time::Duration;

use rebalance_guard::Config;
use wasmtime::Module;

pub use self::digest::{Digest, DigestError};
pub use self::engine::PluginEngine;
pub use self::error::LoadError;
use self::ticker::Ticker;

/// The ABI version that this host speaks.
pub const ABI_VERSION: i32 = 2;

/// What a plugin may use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// The longest that one call may run. With a caller's own engine: see [`Plugin::load_in`].
    pub call_timeout: Duration,
    /// The largest memory of one guard, in bytes.
    pub memory_bytes: u64,
    /// Instructions that one call may run: the same on every machine, for tests and replays.
    /// `None`: time alone limits.
    pub fuel_per_call: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { call_timeout: Duration::from_secs(1), memory_bytes: 1 << 30, fuel_per_call: None }
    }
}

/// The plugin that was built into this binary and its sha256, if there is one.
pub fn embedded() -> Option<(&'static [u8], Digest)> {
    EMBEDDED.map(|bytes| (bytes, Digest::of(bytes)))
}

/// A plugin that passed the gate, compiled once; each [`Plugin::start`] gives a fresh guard.
#[derive(Clone, Debug)]
pub struct Plugin {
    engine: wasmtime::Engine,
    module: Module,
    digest: Digest,
    limits: Limits,
    ticks_per_call: u64,
    /// Kept alive by it; `None`: the engine is ticked by whoever made it.
    _ticker: Option<Arc<Ticker>>,
}

impl Plugin {
    /// Loads a plugin whose sha256 must be `expected`, in an engine of its own with its own ticker.
    ///
    /// # Errors
    /// [`LoadError`]: which rule it breaks and what to do.
    pub fn load(bytes: &[u8], expected: &Digest, limits: Limits) -> Result<Self, LoadError> {
        // Before a byte of it is parsed.
        gate::hash(bytes, expected)?;
        let engine = gate::engine(&limits)?;
        let ticker = Ticker::start(&engine, limits.call_timeout / TICKS_PER_CALL)
            .map_err(|error| LoadError::Ticker(error.to_string()))?;
        let module = gate::compile(&engine, bytes, &limits)?;
        let plugin = Self {
            engine,
            module,
            digest: *expected,
            limits,
            // The first tick may come at once.
            ticks_per_call: u64::from(TICKS_PER_CALL) + 1,
            _ticker: Some(Arc::new(ticker)),
        };
        plugin.try_out()
    }

    /// Loads a plugin into the caller's own engine, which must interrupt by epochs; the caller
    /// raises its epoch, and `ticks_per_call` rises end a call. `limits.call_timeout` is only
    /// told in reports then.
    ///
    /// # Errors
    /// [`LoadError`]; [`LoadError::NotInterruptible`] when a deadline in the past does not end a
    /// call in that engine.
    pub fn load_in(
        engine: &wasmtime::Engine,
        bytes: &[u8],
        expected: &Digest,
        limits: Limits,
        ticks_per_call: u64,
    ) -> Result<Self, LoadError> {
        gate::hash(bytes, expected)?;
        gate::probe(engine)?;
        let module = gate::compile(engine, bytes, &limits)?;
        let plugin = Self {
            engine: engine.clone(),
            module,
            digest: *expected,
            limits,
            // One rise may come at once, so fewer than two would end calls that did nothing wrong.
            ticks_per_call: ticks_per_call.max(2),
            _ticker: None,
        };
        plugin.try_out()
    }

    /// Starts it once without settings: what only running shows is part of the gate.
    fn try_out(self) -> Result<Self, LoadError> {
        instance::Instance::new(&self)?;
        Ok(self)
    }

    /// A fresh guard with these settings.
    ///
    /// # Errors
    /// [`LoadError::Config`], [`LoadError::MemoryLimit`], or what the plugin does against the
    /// contract.
    pub fn start(&self, config: &Config) -> Result<PluginEngine, LoadError> {
        PluginEngine::new(self, config)
    }

    /// The sha256 of its bytes.
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }
}

/// A coarse tick overshoots its deadline by up to itself: a tenth is little.
const TICKS_PER_CALL: u32 = 10;

// `const EMBEDDED: Option<&[u8]>`, written by build.rs.
include!(concat!(env!("OUT_DIR"), "/plugin.rs"));
