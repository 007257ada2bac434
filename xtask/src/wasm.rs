//! Builds the plugin, checks what it promises, and wraps it as a component.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use wasmparser::{ExternalKind, MemoryType, Parser, Payload, Validator, WasmFeatures};
use wit_component::ComponentEncoder;

use crate::shell;

/// Environment variable that tells the host's build which plugin to carry.
pub(crate) const PLUGIN_VARIABLE: &str = "RG_PLUGIN_WASM";

/// The functions of wasm/ABI.md.
const FUNCTIONS: [&str; 26] = [
    "rg_abi_version",
    "rg_admit",
    "rg_admit_batch",
    "rg_answer",
    "rg_buffer_len",
    "rg_buffer_offset",
    "rg_commit_metadata",
    "rg_counters",
    "rg_handle",
    "rg_handle_timeout",
    "rg_in_flight",
    "rg_init",
    "rg_init_bytes",
    "rg_is_live",
    "rg_journal",
    "rg_now",
    "rg_owned",
    "rg_partition_counters",
    "rg_poll_outputs",
    "rg_poll_timeout",
    "rg_progress",
    "rg_restore",
    "rg_snapshot",
    "rg_snapshot_len",
    "rg_storm",
    "rg_waiting",
];

/// Builds the plugin into `target/plugin/`; returns its absolute path.
pub(crate) fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    let built = cargo(root, target, "wasm32v1-none", &[])?;
    let bytes = fs::read(&built).with_context(|| format!("{} cannot be read", built.display()))?;
    check(&bytes).with_context(|| format!("{} is no plugin", built.display()))?;
    leave(target, "rebalance_guard.wasm", &bytes)
}

/// Builds the component into `target/plugin/`; returns its absolute path.
pub(crate) fn build_component(root: &Path, target: &Path) -> Result<PathBuf> {
    let built = cargo(root, target, "wasm32-unknown-unknown", &["--features", "component"])?;
    let module = fs::read(&built).with_context(|| format!("{} cannot be read", built.display()))?;
    let encoder = ComponentEncoder::default().validate(true).module(&module);
    let bytes = encoder.and_then(|mut encoder| encoder.encode()).context("no component")?;
    let imports = imports(&bytes)?;
    ensure!(imports.is_empty(), "the component imports {imports:?}: it may import nothing");
    leave(target, "rebalance_guard.component.wasm", &bytes)
}

fn cargo(root: &Path, target: &Path, triple: &str, more: &[&str]) -> Result<PathBuf> {
    // A folder of its own: other flags and features here never rebuild what lies in the other.
    let folder = target.join("plugin/build");
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(root)
        .args(["build", "--locked", "--package", "rebalance-guard-wasm", "--profile", "plugin"])
        .args(["--target", triple, "--target-dir"])
        .arg(&folder)
        .args(more)
        // Flags meant for this machine's processor are no flags for the plugin.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    shell::run(&mut command)?;
    Ok(folder.join(triple).join("plugin/rebalance_guard_wasm.wasm"))
}

fn leave(target: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf> {
    let folder = target.join("plugin");
    fs::create_dir_all(&folder).with_context(|| format!("no folder {}", folder.display()))?;
    let file = folder.canonicalize().context("no folder for the plugin")?.join(name);
    // Untouched when nothing changed: the host's build watches it.
    if fs::read(&file).ok().as_deref() != Some(bytes) {
        fs::write(&file, bytes).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    let sha256: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    // Not on stdout: that belongs to what is run, such as `demo --json`.
    eprintln!("{name}: {} bytes, sha256 {sha256}", bytes.len());
    Ok(file)
}

/// The plugin's promises: WebAssembly 1.0 alone, no import, the exports of the ABI and no other,
/// one memory that has a maximum.
fn check(bytes: &[u8]) -> Result<()> {
    let features = WasmFeatures::MVP | WasmFeatures::MUTABLE_GLOBAL;
    Validator::new_with_features(features).validate_all(bytes).context("not plain WebAssembly")?;
    let imports = imports(bytes)?;
    ensure!(imports.is_empty(), "it imports {imports:?}: it may import nothing");
    let expected: BTreeSet<_> = FUNCTIONS.into_iter().map(str::to_owned).collect();
    let exports = exports(bytes)?;
    ensure!(exports == expected, "its functions are {exports:?}, by wasm/ABI.md {expected:?}");
    match memories(bytes)?.as_slice() {
        [memory] if memory.maximum.is_some() => Ok(()),
        other => bail!("it must have one memory with a maximum, it has {other:?}"),
    }
}

/// Imports of a module, or of a component and the modules in it that only itself fills.
fn imports(bytes: &[u8]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut depth: usize = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ImportSection(section) if depth == 0 => {
                for import in section.into_imports() {
                    let import = import?;
                    names.push(format!("{}.{}", import.module, import.name));
                }
            }
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    names.push(format!("{:?}", import?.name));
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

fn exports(bytes: &[u8]) -> Result<BTreeSet<String>> {
    let mut functions = BTreeSet::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let Payload::ExportSection(section) = payload? else { continue };
        for export in section {
            let export = export?;
            match (export.kind, export.name) {
                (ExternalKind::Func, name) => {
                    functions.insert(name.to_owned());
                }
                (ExternalKind::Memory, "memory")
                | (ExternalKind::Global, "__data_end" | "__heap_base") => {}
                (kind, name) => bail!("it exports {name} ({kind:?}), which wasm/ABI.md lacks"),
            }
        }
    }
    Ok(functions)
}

fn memories(bytes: &[u8]) -> Result<Vec<MemoryType>> {
    let mut memories = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        if let Payload::MemorySection(section) = payload? {
            for memory in section {
                memories.push(memory?);
            }
        }
    }
    Ok(memories)
}
