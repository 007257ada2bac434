//! `cargo xtask exhaustive`.

use std::process::ExitCode;

use anyhow::Result;

use crate::simulator;
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
    let wide = arguments.wide.then(|| "--wide".to_owned());
    let words: Vec<_> = wide.into_iter().chain(arguments.names.iter().cloned()).collect();
    simulator::run(workspace, &["--features", "mutants", "--example", "exhaustive"], &words)
}
