//! Why a plugin is not taken.

use rebalance_guard::ConfigError;

use super::Digest;

/// Why a plugin was refused, and what to do about it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Not the bytes that were pinned.
    #[error(
        "the plugin's sha256 is {found}, pinned is {expected}: \
         take the right file, or pin the new hash after checking where it comes from"
    )]
    Hash {
        /// What was pinned.
        expected: Digest,
        /// What the file has.
        found: Digest,
    },
    /// Not a WebAssembly module that this host takes.
    #[error(
        "the plugin is no WebAssembly core module of the plain kind: {0}; \
         build it with `cargo xtask wasm`"
    )]
    NotAModule(String),
    /// It asks for something from its host.
    #[error(
        "the plugin imports {0}; a guard needs nothing from its host, so it gets nothing: \
         build it for wasm32v1-none"
    )]
    Imports(String),
    /// An export of the contract is not there.
    #[error("the plugin does not export `{0}`: it speaks another ABI than wasm/ABI.md")]
    MissingExport(&'static str),
    /// An export has another type.
    #[error("the plugin's export `{name}` is {found}, the ABI says {expected}")]
    ExportType {
        /// Which.
        name: String,
        /// By the ABI.
        expected: String,
        /// In the plugin.
        found: String,
    },
    /// It exports what the contract does not know.
    #[error(
        "the plugin exports `{0}`, which the ABI does not know: \
         it is no guard, or a newer one than this host"
    )]
    UnexpectedExport(String),
    /// Its memory may grow without end.
    #[error("the plugin's memory has no maximum: link it with --max-memory")]
    MemoryUnbounded,
    /// Another ABI version.
    #[error(
        "the plugin speaks ABI {found}, this host speaks {expected}: \
         use a plugin built from the same release"
    )]
    AbiVersion {
        /// The plugin's.
        found: i32,
        /// This host's.
        expected: i32,
    },
    /// The exchange buffer that it names is not in its memory, or too small.
    #[error(
        "the plugin's exchange buffer ({len} bytes at {offset}) does not fit its memory \
         of {memory} bytes, or is smaller than {least} bytes"
    )]
    Buffer {
        /// Where it begins.
        offset: u32,
        /// How long it is.
        len: u32,
        /// Size of the memory.
        memory: usize,
        /// The least that the ABI promises.
        least: usize,
    },
    /// The caller's engine would let a runaway plugin run forever.
    #[error(
        "the Wasmtime engine given does not interrupt by epochs ({0}): \
         make it with Config::epoch_interruption(true) and raise its epoch regularly"
    )]
    NotInterruptible(String),
    /// The settings contradict themselves.
    #[error("the guard's settings: {0}")]
    Config(#[from] ConfigError),
    /// The settings need more memory than the limit.
    #[error(
        "the settings need {needed} bytes of plugin memory and the limit is {limit}: \
         lower `keys`, `budget` or `partitions`, or raise the plugin's memory limit"
    )]
    MemoryLimit {
        /// Bytes that the settings need.
        needed: u64,
        /// Bytes that there may be.
        limit: u64,
    },
    /// It answered its first calls with an error code.
    #[error("the plugin refused `{call}` with code {code}: it does not take these settings")]
    Refused {
        /// Which call.
        call: &'static str,
        /// Its code, see wasm/ABI.md.
        code: i64,
    },
    /// It could not be started.
    #[error("the plugin cannot be started: {0}")]
    Start(String),
    /// It trapped, or ran past its time, before it was ready.
    #[error("the plugin died in `{call}`: {reason}")]
    Died {
        /// Which call.
        call: &'static str,
        /// What happened.
        reason: String,
    },
    /// The thread that ends runaway calls could not be started.
    #[error("the thread that limits the plugin's time cannot be started: {0}")]
    Ticker(String),
}
