//! `cargo xtask soak`.

use std::process::ExitCode;

use anyhow::Result;

use crate::simulator;
use crate::workspace::Workspace;

/// How many groups.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Seeds to run, each a group of its own with faults of its own.
    #[arg(long, default_value_t = 1_000_000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    first: u64,
}

/// Runs the group simulation, optimised, on every processor.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let seeds = [arguments.seeds.to_string(), arguments.first.to_string()];
    simulator::run(workspace, &["--example", "soak"], &seeds)
}
