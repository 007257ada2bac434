//! rebalance-guard as a WebAssembly plugin. `ABI.md` beside this crate is the contract.
//!
//! The core module (the default on wasm32) imports nothing, links no allocator and grows its memory
//! once, in `rg_init`. The component (feature `component`) takes the same packed bytes through WIT.
//! On other targets the crate is a plain library, so that its codec is tested and linted there.
#![cfg_attr(all(target_arch = "wasm32", not(feature = "component")), no_std)]
#![deny(unsafe_code)]

pub mod codec;
#[cfg(all(feature = "component", target_arch = "wasm32"))]
mod component;
#[cfg(all(target_arch = "wasm32", not(feature = "component")))]
#[allow(unsafe_code, reason = "the exported functions reach the one static plugin")]
mod exports;
#[allow(unsafe_code, reason = "carves typed tables out of bytes; each use has a SAFETY line")]
pub mod memory;
pub mod plugin;

/// The version of `ABI.md` that this plugin speaks.
pub const ABI_VERSION: i32 = 2;

/// Nothing to unwind to and nobody to tell: the trap is the report.
#[cfg(all(target_arch = "wasm32", not(feature = "component"), not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
