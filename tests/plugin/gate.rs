//! The gate before a plugin: each rule by itself.

use std::time::Duration;

use rebalance_guard::{Config, ConfigError, Tick};
use rebalance_guard_host::engine::Engine as _;
use rebalance_guard_host::plugin::{self, Digest, Limits, LoadError, Plugin};
use rebalance_guard_tests::plugin::{bytes, digest, patient};
use wasmtime::{Config as EngineConfig, Engine};

use crate::faulty::{FUNCTIONS, MEMORY, load, module, module_of};

fn refusal(bytes: &[u8]) -> LoadError {
    load(bytes, patient()).expect_err("the gate lets it pass")
}

/// The refusal of one that passes the gate until it is to be a guard.
fn refusal_at_start(bytes: &[u8]) -> LoadError {
    let plugin = load(bytes, patient()).unwrap_or_else(|error| panic!("{error}"));
    plugin.start(&Config::default()).expect_err("it becomes a guard")
}

#[test]
fn the_plugin_of_this_workspace_passes() {
    let plugin = Plugin::load(bytes(), &digest(), patient()).expect("it passes");
    let mut engine = plugin.start(&Config::default()).expect("it starts");
    assert_eq!(engine.name(), format!("plugin {}", &digest().to_string()[..12]));
    assert_eq!(engine.poll_output(), Ok(None));
    assert_eq!(engine.handle_timeout(Tick::ZERO), Ok(()));
    assert_eq!(engine.dead(), None);
}

#[test]
fn the_skeleton_of_the_faulty_ones_passes() {
    let plugin = load(&module(&[]), patient()).expect("it passes");
    plugin.start(&Config::default()).expect("it starts");
}

#[test]
fn the_plugin_in_the_binary_says_its_hash() {
    match plugin::embedded() {
        Some((bytes, digest)) => {
            assert_eq!(digest, Digest::of(bytes));
            Plugin::load(bytes, &digest, patient()).expect("it passes");
        }
        // Built without a plugin: then `--plugin FILE` is needed, and that is all.
        None => assert_eq!(option_env!("RG_PLUGIN_WASM").unwrap_or_default(), ""),
    }
}

#[test]
fn bytes_of_another_hash_are_refused_before_they_are_read() {
    let expected = digest();
    let mut other = bytes().to_vec();
    *other.last_mut().expect("not empty") ^= 1;
    let found = Digest::of(&other);
    let refused = Plugin::load(&other, &expected, patient()).expect_err("it passes");
    assert_eq!(refused, LoadError::Hash { expected, found });
    let text = refused.to_string();
    assert!(text.contains(&expected.to_string()) && text.contains(&found.to_string()), "{text}");
}

#[test]
fn what_is_no_module_is_refused() {
    let halved = &bytes()[..bytes().len() / 2];
    let component = b"\0asm\x0d\0\x01\0";
    let native = b"\x7fELF\x02\x01\x01\0";
    for bytes in [&b""[..], b"\0asm", b"{}", halved, component, native] {
        let refused = refusal(bytes);
        assert!(matches!(refused, LoadError::NotAModule(_)), "{refused}");
    }
}

#[test]
fn newer_features_are_refused() {
    let memory_64 = r#"(memory (export "memory") i64 3 16)"#;
    let simd = "(func (param v128))";
    let second = "(memory 1 1)";
    for (memory, more) in [(memory_64, ""), (MEMORY, simd), (MEMORY, second)] {
        let refused = refusal(&module_of(memory, more, &[]));
        assert!(matches!(refused, LoadError::NotAModule(_)), "{refused}");
    }
}

#[test]
fn an_import_of_any_kind_is_refused_by_name() {
    for import in [
        r#"(import "env" "now" (func (result i64)))"#,
        r#"(import "env" "now" (global i32))"#,
        r#"(import "env" "now" (table 1 funcref))"#,
    ] {
        let bytes = module_of(&format!("{import} {MEMORY}"), "", &[]);
        assert_eq!(refusal(&bytes), LoadError::Imports("env.now".to_owned()));
    }
    let memory = r#"(import "env" "now" (memory 3 16)) (export "memory" (memory 0))"#;
    assert_eq!(refusal(&module_of(memory, "", &[])), LoadError::Imports("env.now".to_owned()));
}

#[test]
fn every_export_must_be_there() {
    for (name, _) in FUNCTIONS {
        assert_eq!(refusal(&module(&[(name, "")])), LoadError::MissingExport(name));
    }
    let hidden = module_of("(memory 3 16)", "", &[]);
    assert_eq!(refusal(&hidden), LoadError::MissingExport("memory"));
}

#[test]
fn every_export_must_have_its_type() {
    for (name, _) in FUNCTIONS {
        for body in ["(param f64)", "(result i32 i32) (i32.const 0) (i32.const 0)"] {
            let refused = refusal(&module(&[(name, body)]));
            let LoadError::ExportType { name: told, expected, .. } = &refused else {
                panic!("{refused}")
            };
            assert_eq!(told, name);
            assert!(expected.starts_with("a function ("), "{expected}");
        }
    }
    let function = module_of("(memory 3 16)", r#"(func (export "memory"))"#, &[]);
    assert!(matches!(refusal(&function), LoadError::ExportType { name, .. } if name == "memory"));
    let global =
        module_of(MEMORY, r#"(global (export "rg_now") i32 (i32.const 0))"#, &[("rg_now", "")]);
    assert!(matches!(refusal(&global), LoadError::ExportType { found, .. } if found == "a global"));
}

#[test]
fn no_export_may_be_there_that_the_abi_does_not_know() {
    for more in [
        r#"(func (export "more"))"#,
        r#"(table (export "more") 1 funcref)"#,
        r#"(global (export "more") i32 (i32.const 0))"#,
    ] {
        let refused = refusal(&module_of(MEMORY, more, &[]));
        assert_eq!(refused, LoadError::UnexpectedExport("more".to_owned()));
    }
    let mutable = r#"(global (export "__heap_base") (mut i32) (i32.const 0))"#;
    let refused = refusal(&module_of(MEMORY, mutable, &[]));
    assert_eq!(refused, LoadError::UnexpectedExport("__heap_base".to_owned()));
    let again = r#"(export "more" (memory 0))"#;
    let refused = refusal(&module_of(MEMORY, again, &[]));
    assert_eq!(refused, LoadError::UnexpectedExport("more".to_owned()));
}

#[test]
fn a_memory_without_a_maximum_is_refused() {
    let unbounded = module_of(r#"(memory (export "memory") 3)"#, "", &[]);
    assert_eq!(refusal(&unbounded), LoadError::MemoryUnbounded);
}

#[test]
fn a_memory_that_begins_above_the_limit_is_refused_with_both_numbers() {
    let limits = Limits { memory_bytes: 131_072, ..patient() };
    let refused = load(&module(&[]), limits).expect_err("it passes");
    assert_eq!(refused, LoadError::MemoryLimit { needed: 196_608, limit: 131_072 });
    assert!(refused.to_string().contains("196608") && refused.to_string().contains("131072"));
}

#[test]
fn settings_that_need_more_memory_than_the_limit_are_refused_with_both_numbers() {
    let limits = Limits { memory_bytes: 8 << 20, ..patient() };
    let plugin = Plugin::load(bytes(), &digest(), limits).expect("it passes");
    let refused = plugin.start(&Config::default()).expect_err("it fits");
    let LoadError::MemoryLimit { needed, limit } = refused else { panic!("{refused}") };
    assert_eq!(limit, 8 << 20);
    assert!(needed > limit, "{needed}");
    let small = Config { keys: 16, budget: 16, ..Config::default() };
    plugin.start(&small).expect("a smaller guard fits");
}

#[test]
fn settings_that_contradict_themselves_are_refused_by_the_host() {
    let plugin = Plugin::load(bytes(), &digest(), patient()).expect("it passes");
    let refused = plugin.start(&Config { window: 0, ..Config::default() });
    assert_eq!(refused.expect_err("it starts"), LoadError::Config(ConfigError::Zero("window")));
}

#[test]
fn another_abi_version_is_refused() {
    for found in [0, 1, 3, -1] {
        let body = format!("(result i32) (i32.const {found})");
        let refused = refusal(&module(&[("rg_abi_version", &body)]));
        assert_eq!(refused, LoadError::AbiVersion { found, expected: 2 });
    }
}

#[test]
fn a_buffer_outside_the_memory_is_refused() {
    for (offset, len) in [(196_608, 160), (0, 196_609), (-1, 160), (1_024, -1), (0, 159)] {
        let bytes = module(&[
            ("rg_buffer_offset", &format!("(result i32) (i32.const {offset})")),
            ("rg_buffer_len", &format!("(result i32) (i32.const {len})")),
        ]);
        let refused = refusal(&bytes);
        assert!(matches!(refused, LoadError::Buffer { memory: 196_608, .. }), "{refused}");
    }
}

/// A buffer whose address is fine at first and whatever `later` says once `rg_init` was called.
fn moving(later: &str, len: &str) -> Vec<u8> {
    let more = "(global $ready (mut i32) (i32.const 0))";
    let offset =
        format!("(result i32) (select (i32.const {later}) (i32.const 0) (global.get $ready))");
    let len =
        format!("(result i32) (select (i32.const {len}) (i32.const 160) (global.get $ready))");
    let init = "(param i32) (result i32) (global.set $ready (i32.const 1)) (i32.const 0)";
    module_of(
        MEMORY,
        more,
        &[("rg_buffer_offset", &offset), ("rg_buffer_len", &len), ("rg_init", init)],
    )
}

#[test]
fn the_buffer_is_checked_again_once_the_memory_has_grown() {
    load(&moving("0", "131072"), patient())
        .and_then(|plugin| plugin.start(&Config::default()))
        .expect("it stays in the memory");
    for (later, len) in [("65537", "131072"), ("-65536", "131072"), ("0", "131071"), ("0", "-1")] {
        let refused = refusal_at_start(&moving(later, len));
        assert!(matches!(refused, LoadError::Buffer { least: 131_072, .. }), "{refused}");
    }
}

#[test]
fn a_plugin_that_does_not_take_the_settings_is_refused_with_its_code() {
    let refusing = module(&[("rg_init", "(param i32) (result i32) (i32.const -6)")]);
    assert_eq!(refusal_at_start(&refusing), LoadError::Refused { call: "rg_init", code: -6 });
    let refusing = module(&[("rg_init_bytes", "(param i32) (result i64) (i64.const -7)")]);
    assert_eq!(refusal_at_start(&refusing), LoadError::Refused { call: "rg_init_bytes", code: -7 });
    let greedy =
        module(&[("rg_init_bytes", "(param i32) (result i64) (i64.const 0x7fffffffffffffff)")]);
    let refused = refusal_at_start(&greedy);
    assert!(matches!(refused, LoadError::MemoryLimit { limit: 0x4000_0000, .. }), "{refused}");
}

#[test]
fn growing_past_the_limit_in_init_is_the_end() {
    let init = "(param i32) (result i32) (drop (memory.grow (i32.const 8))) (i32.const 0)";
    let limits = Limits { memory_bytes: 4 * 65_536, ..patient() };
    let plugin = load(&module(&[("rg_init", init)]), limits).expect("it passes");
    let refused = plugin.start(&Config { keys: 1, ..Config::default() }).expect_err("it starts");
    assert!(matches!(refused, LoadError::Died { call: "rg_init", .. }), "{refused}");
}

fn reason_of_death_at_start(bytes: &[u8], limits: Limits) -> String {
    match load(bytes, limits).expect_err("it starts") {
        LoadError::Died { call: "start", reason } => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn a_start_function_is_bounded_in_time_and_its_trap_is_a_refusal() {
    let limits = Limits { call_timeout: Duration::from_millis(20), ..Limits::default() };
    let endless = module_of(MEMORY, "(func $start (loop (br 0))) (start $start)", &[]);
    assert!(reason_of_death_at_start(&endless, limits).contains("time limit of 20ms"));
    let trapping = module_of(MEMORY, "(func $start (unreachable)) (start $start)", &[]);
    assert!(reason_of_death_at_start(&trapping, patient()).contains("unreachable"));
}

#[test]
fn a_callers_engine_that_does_not_interrupt_is_refused() {
    let engine = Engine::default();
    let refused =
        Plugin::load_in(&engine, bytes(), &digest(), patient(), 10).expect_err("it passes");
    assert!(matches!(refused, LoadError::NotInterruptible(_)), "{refused}");
    assert!(refused.to_string().contains("epoch_interruption"), "{refused}");
}

#[test]
fn a_callers_engine_that_interrupts_runs_the_plugin_with_the_callers_ticks() {
    let engine = Engine::new(EngineConfig::new().epoch_interruption(true)).expect("an engine");
    let plugin = Plugin::load_in(&engine, bytes(), &digest(), patient(), 2).expect("it passes");
    let mut guard = plugin.start(&Config::default()).expect("it starts");
    // Each call has its own deadline: rises between calls end none.
    for now in 0..10 {
        engine.increment_epoch();
        assert_eq!(guard.handle_timeout(Tick::new(now).expect("small")), Ok(()));
    }
    let endless =
        module(&[("rg_handle_timeout", "(param i64) (result i32) (loop (br 0)) (i32.const 0)")]);
    let plugin =
        Plugin::load_in(&engine, &endless, &Digest::of(&endless), patient(), 2).expect("it passes");
    let mut guard = plugin.start(&Config::default()).expect("it starts");
    let ended = std::thread::scope(|scope| {
        let call = scope.spawn(move || guard.handle_timeout(Tick::ZERO));
        while !call.is_finished() {
            engine.increment_epoch();
            std::thread::yield_now();
        }
        call.join().expect("it comes back")
    });
    assert!(ended.expect_err("it ends by itself").reason.contains("time limit"));
}

#[test]
fn a_callers_engine_with_fuel_is_given_fuel() {
    let mut config = EngineConfig::new();
    config.epoch_interruption(true).consume_fuel(true);
    let engine = Engine::new(&config).expect("an engine");
    let plugin = Plugin::load_in(&engine, bytes(), &digest(), patient(), 10).expect("it passes");
    let mut guard = plugin.start(&Config::default()).expect("it starts");
    assert_eq!(guard.handle_timeout(Tick::ZERO), Ok(()));
}
