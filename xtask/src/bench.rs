//! `cargo xtask bench`.

use std::process::ExitCode;

use anyhow::Result;

use crate::shell;
use crate::workspace::Workspace;

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Passed on to Criterion: a filter, or options such as --quick.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    criterion: Vec<String>,
}

/// Runs the benchmarks, optimised.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let mut cargo = workspace.cargo(&["bench", "--package", "rebalance-guard-benches", "--bench"]);
    cargo.arg("admit").arg("--").args(&arguments.criterion);
    shell::run(&mut cargo)?;
    Ok(ExitCode::SUCCESS)
}
