//! Embeds the plugin named by `RG_PLUGIN_WASM` into the binary; without it `--engine plugin` needs
//! `--plugin FILE`. The plugin is built by `cargo xtask wasm`, not from here.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RG_PLUGIN_WASM");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("plugin.rs");
    let text = match env::var_os("RG_PLUGIN_WASM") {
        Some(file) if !file.is_empty() => embed(Path::new(&file)),
        _ => "const EMBEDDED: Option<&[u8]> = None;\n".to_owned(),
    };
    fs::write(out, text).expect("OUT_DIR can be written");
}

fn embed(file: &Path) -> String {
    let file = file.canonicalize().unwrap_or_else(|error| {
        panic!("RG_PLUGIN_WASM names {}: {error}; build it with `cargo xtask wasm`", file.display())
    });
    println!("cargo::rerun-if-changed={}", file.display());
    format!(
        "const EMBEDDED: Option<&[u8]> = Some(include_bytes!({:?}));\n",
        file.display().to_string()
    )
}
