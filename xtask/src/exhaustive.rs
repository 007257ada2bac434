//! `cargo xtask exhaustive`.

use std::process::ExitCode;

use anyhow::Result;

use crate::clock::{Spent, Stopwatch};
use crate::shell;
use crate::workspace::Workspace;

/// Which worlds.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The larger worlds instead of those that the tests walk through: a quarter of an hour, and
    /// several gigabytes of memory.
    #[arg(long)]
    wide: bool,
    /// Only the worlds of these names.
    #[arg(value_name = "WORLD")]
    names: Vec<String>,
}

/// Walks through every history of small worlds, optimised.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let mut cargo = workspace.cargo(&["run", "--release", "--package", "rebalance-guard-sim"]);
    cargo.args(["--features", "mutants", "--example", "exhaustive", "--"]);
    if arguments.wide {
        cargo.arg("--wide");
    }
    cargo.args(&arguments.names);
    let watch = Stopwatch::start();
    shell::run(&mut cargo)?;
    println!("took {}, the build included", Spent(watch.elapsed()));
    Ok(ExitCode::SUCCESS)
}
