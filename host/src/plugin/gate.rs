//! What is checked before a plugin runs.

use wasmtime::{
    Config, Engine, ExternType, FuncType, Instance, Module, Mutability, Store, Trap, ValType,
};

use super::{Digest, Limits, LoadError};

/// The functions of wasm/ABI.md: name, parameters, result (`i`: i32, `I`: i64).
const FUNCTIONS: [(&str, &str, char); 26] = [
    ("rg_abi_version", "", 'i'),
    ("rg_admit", "Ii", 'i'),
    ("rg_admit_batch", "Iii", 'i'),
    ("rg_answer", "Ii", 'i'),
    ("rg_buffer_len", "", 'i'),
    ("rg_buffer_offset", "", 'i'),
    ("rg_counters", "", 'i'),
    ("rg_handle", "Ii", 'i'),
    ("rg_handle_timeout", "I", 'i'),
    ("rg_commit_metadata", "ii", 'i'),
    ("rg_in_flight", "", 'i'),
    ("rg_init", "i", 'i'),
    ("rg_init_bytes", "i", 'I'),
    ("rg_is_live", "", 'i'),
    ("rg_journal", "i", 'i'),
    ("rg_now", "", 'I'),
    ("rg_owned", "i", 'i'),
    ("rg_partition_counters", "ii", 'i'),
    ("rg_poll_outputs", "i", 'i'),
    ("rg_poll_timeout", "", 'I'),
    ("rg_progress", "ii", 'i'),
    ("rg_restore", "Ii", 'i'),
    ("rg_snapshot", "", 'i'),
    ("rg_snapshot_len", "", 'I'),
    ("rg_storm", "", 'i'),
    ("rg_waiting", "", 'i'),
];

pub(super) fn hash(bytes: &[u8], expected: &Digest) -> Result<(), LoadError> {
    let found = Digest::of(bytes);
    if found == *expected { Ok(()) } else { Err(LoadError::Hash { expected: *expected, found }) }
}

/// An engine that takes plain modules alone and ends calls at their deadline.
pub(super) fn engine(limits: &Limits) -> Result<Engine, LoadError> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .consume_fuel(limits.fuel_per_call.is_some())
        .wasm_relaxed_simd(false)
        .wasm_simd(false)
        .wasm_multi_memory(false)
        .wasm_memory64(false)
        .wasm_tail_call(false)
        .wasm_extended_const(false);
    Engine::new(&config).map_err(|error| LoadError::Start(error.to_string()))
}

/// Compiles the module and checks what its declarations show.
pub(super) fn compile(engine: &Engine, bytes: &[u8], limits: &Limits) -> Result<Module, LoadError> {
    let module = Module::from_binary(engine, bytes)
        .map_err(|error| LoadError::NotAModule(format!("{error:#}")))?;
    let imports: Vec<_> =
        module.imports().map(|import| format!("{}.{}", import.module(), import.name())).collect();
    if !imports.is_empty() {
        return Err(LoadError::Imports(imports.join(", ")));
    }
    memory(&module, limits)?;
    exports(&module)?;
    Ok(module)
}

fn exports(module: &Module) -> Result<(), LoadError> {
    for (name, params, result) in FUNCTIONS {
        let found = module.get_export(name).ok_or(LoadError::MissingExport(name))?;
        let expected = signature(params, result);
        if !found.func().is_some_and(|found| is(found, params, result)) {
            let found = describe(&found);
            return Err(LoadError::ExportType { name: name.to_owned(), expected, found });
        }
    }
    for export in module.exports() {
        let name = export.name();
        match export.ty() {
            ExternType::Func(_) if FUNCTIONS.iter().any(|(known, ..)| *known == name) => {}
            ExternType::Memory(_) if name == "memory" => {}
            // The linker's own marks, of no use and no harm.
            ExternType::Global(global)
                if global.mutability() == Mutability::Const
                    && matches!(name, "__data_end" | "__heap_base") => {}
            _ => return Err(LoadError::UnexpectedExport(name.to_owned())),
        }
    }
    Ok(())
}

fn memory(module: &Module, limits: &Limits) -> Result<(), LoadError> {
    let found = module.get_export("memory").ok_or(LoadError::MissingExport("memory"))?;
    let Some(memory) = found.memory().filter(|m| !m.is_64() && !m.is_shared()) else {
        let (name, expected) = ("memory".to_owned(), "a memory of 32 bits".to_owned());
        return Err(LoadError::ExportType { name, expected, found: describe(&found) });
    };
    if memory.maximum().is_none() {
        return Err(LoadError::MemoryUnbounded);
    }
    let needed = memory.minimum().saturating_mul(memory.page_size());
    let limit = limits.memory_bytes;
    if needed > limit { Err(LoadError::MemoryLimit { needed, limit }) } else { Ok(()) }
}

fn is(found: &FuncType, params: &str, result: char) -> bool {
    fn same(found: &ValType, expected: char) -> bool {
        match expected {
            'i' => found.is_i32(),
            _ => found.is_i64(),
        }
    }
    found.params().len() == params.len()
        && found.params().zip(params.chars()).all(|(found, expected)| same(&found, expected))
        && found.results().len() == 1
        && found.results().all(|found| same(&found, result))
}

fn signature(params: &str, result: char) -> String {
    let name = |kind| if kind == 'i' { "i32" } else { "i64" };
    let params: Vec<_> = params.chars().map(name).collect();
    format!("a function ({}) -> {}", params.join(", "), name(result))
}

fn describe(found: &ExternType) -> String {
    match found {
        ExternType::Func(function) => {
            let list = |types: Vec<ValType>| {
                types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            };
            let (params, results) = (function.params().collect(), function.results().collect());
            format!("a function ({}) -> {}", list(params), list(results))
        }
        ExternType::Memory(_) => "a memory".to_owned(),
        ExternType::Global(_) => "a global".to_owned(),
        ExternType::Table(_) => "a table".to_owned(),
        _ => "something else".to_owned(),
    }
}

/// `(module (func (export "probe")))`
const PROBE: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\
    \x07\x09\x01\x05probe\0\0\x0a\x04\x01\x02\0\x0b";

/// A call whose deadline has passed must end at once: no ticker is needed to see that.
pub(super) fn probe(engine: &Engine) -> Result<(), LoadError> {
    let refused = |why: String| LoadError::NotInterruptible(why);
    let module = Module::from_binary(engine, PROBE).map_err(|error| refused(error.to_string()))?;
    let mut store = Store::new(engine, ());
    // Fails where the engine burns no fuel, and then none is needed.
    let _ = store.set_fuel(u64::MAX);
    store.set_epoch_deadline(0);
    let instance = Instance::new(&mut store, &module, &[]);
    let called = instance.and_then(|instance| {
        instance.get_typed_func::<(), ()>(&mut store, "probe")?.call(&mut store, ())
    });
    match called {
        Err(error) if error.downcast_ref() == Some(&Trap::Interrupt) => Ok(()),
        Err(error) => Err(refused(format!("the probe ended with: {error}"))),
        Ok(()) => Err(refused("a call with a deadline in the past was not ended".to_owned())),
    }
}
