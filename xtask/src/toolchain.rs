//! What a build needs beside cargo: Rust targets are added, the rest is asked for.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// The plugin: plain MVP, so that any runtime takes it.
pub(crate) const PLUGIN: &[&str] = &["wasm32v1-none"];
/// The module inside the component.
pub(crate) const COMPONENT: &[&str] = &["wasm32-unknown-unknown"];
/// Where the core must build: two bare-metal machines and both kinds of WebAssembly.
pub(crate) const CORE: &[&str] =
    &["thumbv6m-none-eabi", "thumbv7em-none-eabihf", "wasm32v1-none", "wasm32-unknown-unknown"];

/// Adds the targets that the toolchain in use lacks.
pub(crate) fn add_targets(wanted: &[&str]) -> Result<()> {
    let libraries = libraries()?;
    let missing: Vec<&str> =
        wanted.iter().copied().filter(|target| !libraries.join(target).is_dir()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if shell::on_path("rustup").is_none() {
        bail!(
            "this Rust has no {list} and rustup, which would add it, is missing: install rustup \
             (https://rustup.rs) and say it again"
        );
    }
    eprintln!("adding Rust targets that are missing: {list}");
    shell::run(Command::new("rustup").args(["target", "add"]).args(missing))
        .with_context(|| format!("add them by hand: rustup target add {list}"))
}

fn libraries() -> Result<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .context("rustc could not be started: install Rust with rustup (https://rustup.rs)")?;
    let sysroot = String::from_utf8_lossy(&output.stdout);
    Ok(Path::new(sysroot.trim()).join("lib/rustlib"))
}

/// Says what is missing for the build of the Kafka client (C), before minutes of other work.
pub(crate) fn need_c() -> Result<()> {
    let compiler = ["cc", "gcc", "clang"].into_iter().find_map(shell::on_path);
    if compiler.is_none() && std::env::var_os("CC").is_none() {
        bail!("no C compiler for librdkafka: install one (Debian: apt-get install gcc g++ make)");
    }
    if shell::on_path("make").is_none() {
        bail!("no make for librdkafka: install it (Debian: apt-get install make)");
    }
    Ok(())
}
