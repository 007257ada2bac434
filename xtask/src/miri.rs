//! `cargo xtask miri`.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::clock::{Spent, Stopwatch};
use crate::shell;
use crate::workspace::Workspace;

/// What runs under Miri, as arguments of `cargo miri test`. It is some hundred times slower than
/// the machine, so random traces are not, and of the exchange buffer's corpus a few files.
const RUNS: [&[&str]; 4] = [
    &["--package", "rebalance-guard", "--lib"],
    &["--package", "rebalance-guard-wasm", "--lib"],
    &["--package", "rebalance-guard-core-tests", "--test", "scenarios"],
    &["--package", "rebalance-guard-core-tests", "--test", "corpus", "exchange"],
];

/// Adds what is missing, then runs.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let mut rustup = Command::new("rustup");
    rustup.args(["component", "add", "miri", "rust-src", "--toolchain", "nightly"]);
    shell::run(&mut rustup).context("Miri needs a nightly: rustup toolchain install nightly")?;
    let watch = Stopwatch::start();
    for arguments in RUNS {
        let mut rustup = Command::new("rustup");
        rustup.current_dir(workspace.root()).args(["run", "nightly", "cargo", "miri", "test"]);
        // The tests read files of the repository.
        rustup.args(arguments).env("MIRIFLAGS", "-Zmiri-disable-isolation");
        shell::run(&mut rustup)?;
    }
    println!("Miri found nothing; it took {}", Spent(watch.elapsed()));
    Ok(ExitCode::SUCCESS)
}
