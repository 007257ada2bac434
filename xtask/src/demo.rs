//! `cargo xtask demo`: from a fresh clone to the table.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::workspace::Workspace;
use crate::{shell, toolchain, wasm};

/// How the demo runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Passed on to `rebalance-guard demo`; `cargo xtask demo -- --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    demo: Vec<String>,
}

/// Builds what the demo needs and runs it; its exit code is ours.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    toolchain::need_c()?;
    toolchain::add_targets(toolchain::PLUGIN)?;
    eprintln!("building the plugin and the gateway (the first time takes minutes)");
    let plugin = wasm::build(workspace.root(), workspace.target())?;
    let build = ["build", "--package", "rebalance-guard-host", "--bin", "rebalance-guard"];
    shell::run(workspace.cargo(&build).env(wasm::PLUGIN_VARIABLE, plugin))?;
    let binary = workspace.target().join("debug/rebalance-guard");
    let status = Command::new(&binary)
        .arg("demo")
        .args(&arguments.demo)
        .status()
        .with_context(|| format!("{} could not be started", binary.display()))?;
    // Ended by a signal: no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}
