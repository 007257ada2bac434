//! The simulator's long runs, which are examples of `sim`.

use std::process::ExitCode;

use anyhow::Result;

use crate::clock::{Spent, Stopwatch};
use crate::shell;
use crate::workspace::Workspace;

/// Runs the example that these words tell cargo, optimised, with these arguments, and says how long
/// it took.
pub(crate) fn run(
    workspace: &Workspace,
    example: &[&str],
    arguments: &[String],
) -> Result<ExitCode> {
    let mut cargo = workspace.cargo(&["run", "--release", "--package", "rebalance-guard-sim"]);
    cargo.args(example).arg("--").args(arguments);
    let watch = Stopwatch::start();
    shell::run(&mut cargo)?;
    println!("took {}, the build included", Spent(watch.elapsed()));
    Ok(ExitCode::SUCCESS)
}
