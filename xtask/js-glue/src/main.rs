//! Writes the JavaScript and the declarations beside the package's module: `js-glue MODULE FOLDER`.
//!
//! A program of its own, so that the other commands of xtask need not wait for its build.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [module, folder] = arguments.as_slice() else { bail!("usage: js-glue MODULE FOLDER") };
    for kind in ["nodejs", "bundler", "web"] {
        write(module, &folder.join(kind), kind).with_context(|| format!("no output for {kind}"))?;
    }
    Ok(())
}

fn write(module: &Path, folder: &Path, kind: &str) -> Result<()> {
    let mut bindgen = Bindgen::new();
    match kind {
        "nodejs" => bindgen.nodejs(true)?,
        "bundler" => bindgen.bundler(true)?,
        _ => bindgen.web(true)?.omit_default_module_path(false),
    };
    bindgen.input_path(module).out_name("rebalance_guard").typescript(true).generate(folder)
}
