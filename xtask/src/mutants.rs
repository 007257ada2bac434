//! `cargo xtask mutants`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::shell;
use crate::workspace::Workspace;

/// Which mutants.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only every n-th, beginning with the k-th from 0: a fair sample, or one machine's share.
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// Only mutants of the lines that a diff changed.
    #[arg(long, value_name = "FILE")]
    in_diff: Option<PathBuf>,
    /// Mutants tried at a time; each builds and tests on two threads.
    #[arg(long, default_value_t = 1, value_name = "N")]
    jobs: u8,
    /// Only mutants whose name, as reports have it, matches.
    #[arg(long, value_name = "REGEX")]
    name: Option<String>,
    /// Where reports go.
    #[arg(long, value_name = "FOLDER", default_value = "target/mutants")]
    output: PathBuf,
}

/// Seeds that each random test takes: enough to tell a mutant, few enough to run once for each.
const SEEDS: &str = "16";
/// What tells no mutant from another: long runs, counts over many seeds, the oracle's own tests.
const LEFT_OUT: [&str; 4] = ["coverage::", "exhaustive::", "group::", "mutants::"];

/// Part of the exhaustive search, which is left out above; no guard that ships has it.
const NOT_SHIPPED: [&str; 1] = ["core/src/fingerprint.rs"];
/// Hooks of the rules that tests switch off; no guard that ships has them.
const HOOKS: &str = "take_reoffer|reoffer_stale";

/// Tries the mutants of the core one after the other.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    if shell::on_path("cargo-mutants").is_none() {
        bail!("cargo-mutants is missing: cargo install cargo-mutants --locked, then say it again");
    }
    let mut cargo = workspace.cargo(&["mutants", "--package", "rebalance-guard"]);
    cargo.args(["--test-package", "rebalance-guard-core-tests", "--profile", "mutants"]);
    cargo.args(["--timeout", "45", "--build-timeout", "120", "--baseline", "skip"]);
    for file in NOT_SHIPPED {
        cargo.args(["--exclude", file]);
    }
    cargo.args(["--exclude-re", HOOKS]);
    cargo.args(["--sharding", "round-robin", "--no-shuffle", "--output"]).arg(&arguments.output);
    cargo.args(["--jobs", &arguments.jobs.to_string()]);
    if let Some(name) = &arguments.name {
        cargo.args(["--re", name]);
    }
    if let Some(shard) = &arguments.shard {
        cargo.args(["--shard", shard]);
    }
    if let Some(diff) = &arguments.in_diff {
        cargo.arg("--in-diff").arg(diff);
    }
    // Each mutant is built in a copy of its own.
    cargo.env_remove("CARGO_TARGET_DIR").env("RG_SEEDS", SEEDS);
    // The stories first: most mutants end there, in a second.
    cargo.args(["--", "--test", "scenarios", "--test", "simulation", "--"]);
    cargo.args(LEFT_OUT.iter().flat_map(|name| ["--skip", name]));
    shell::run(&mut cargo)?;
    Ok(ExitCode::SUCCESS)
}
