//! The plugin's functions, resolved once.

use wasmtime::{AsContextMut, Instance, TypedFunc, WasmParams, WasmResults};

use super::LoadError;

/// The exports that the host calls.
pub(super) struct Calls {
    pub(super) abi_version: TypedFunc<(), i32>,
    pub(super) buffer_offset: TypedFunc<(), i32>,
    pub(super) buffer_len: TypedFunc<(), i32>,
    pub(super) init_bytes: TypedFunc<i32, i64>,
    pub(super) init: TypedFunc<i32, i32>,
    pub(super) handle: TypedFunc<(i64, i32), i32>,
    pub(super) admit: TypedFunc<(i64, i32), i32>,
    pub(super) admit_batch: TypedFunc<(i64, i32, i32), i32>,
    pub(super) answer: TypedFunc<(i64, i32), i32>,
    pub(super) handle_timeout: TypedFunc<i64, i32>,
    pub(super) poll_outputs: TypedFunc<i32, i32>,
    pub(super) poll_timeout: TypedFunc<(), i64>,
    pub(super) is_live: TypedFunc<(), i32>,
    pub(super) progress: TypedFunc<(i32, i32), i32>,
    pub(super) owned: TypedFunc<i32, i32>,
    pub(super) commit_metadata: TypedFunc<(i32, i32), i32>,
    pub(super) waiting: TypedFunc<(), i32>,
    pub(super) journal: TypedFunc<i32, i32>,
    pub(super) snapshot: TypedFunc<(), i32>,
    pub(super) restore: TypedFunc<(i64, i32), i32>,
    pub(super) in_flight: TypedFunc<(), i32>,
    pub(super) storm: TypedFunc<(), i32>,
    pub(super) counters: TypedFunc<(), i32>,
}

impl Calls {
    pub(super) fn resolve(
        mut store: impl AsContextMut,
        instance: &Instance,
    ) -> Result<Self, LoadError> {
        let store = &mut store;
        Ok(Self {
            abi_version: function(store, instance, "rg_abi_version")?,
            buffer_offset: function(store, instance, "rg_buffer_offset")?,
            buffer_len: function(store, instance, "rg_buffer_len")?,
            init_bytes: function(store, instance, "rg_init_bytes")?,
            init: function(store, instance, "rg_init")?,
            handle: function(store, instance, "rg_handle")?,
            admit: function(store, instance, "rg_admit")?,
            admit_batch: function(store, instance, "rg_admit_batch")?,
            answer: function(store, instance, "rg_answer")?,
            handle_timeout: function(store, instance, "rg_handle_timeout")?,
            poll_outputs: function(store, instance, "rg_poll_outputs")?,
            poll_timeout: function(store, instance, "rg_poll_timeout")?,
            is_live: function(store, instance, "rg_is_live")?,
            progress: function(store, instance, "rg_progress")?,
            owned: function(store, instance, "rg_owned")?,
            commit_metadata: function(store, instance, "rg_commit_metadata")?,
            waiting: function(store, instance, "rg_waiting")?,
            journal: function(store, instance, "rg_journal")?,
            snapshot: function(store, instance, "rg_snapshot")?,
            restore: function(store, instance, "rg_restore")?,
            in_flight: function(store, instance, "rg_in_flight")?,
            storm: function(store, instance, "rg_storm")?,
            counters: function(store, instance, "rg_counters")?,
        })
    }
}

/// The gate has compared the types already.
fn function<P: WasmParams, R: WasmResults>(
    store: &mut impl AsContextMut,
    instance: &Instance,
    name: &'static str,
) -> Result<TypedFunc<P, R>, LoadError> {
    instance.get_typed_func(store, name).map_err(|_| LoadError::MissingExport(name))
}
