//! `cargo xtask mutants`, and those of a change. `.cargo/mutants.toml` says which are left out.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

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

/// What tries them.
const TOOL: &str = "cargo-mutants";
const TOOL_VERSION: &str = "27.1.0";
/// Its exit code when some took too long, and the tests told all others.
const TIMED_OUT: i32 = 3;

/// Tries the mutants of the core one after the other.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    shell::run(&mut command(workspace, arguments)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Tries those of the lines that `diff` changed; fails when one lives.
pub(crate) fn of_change(workspace: &Workspace, diff: &Path) -> Result<()> {
    let output = workspace.target().join("mutants");
    let in_diff = Some(diff.to_owned());
    let arguments = Arguments { shard: None, in_diff, jobs: 2, name: None, output };
    let status = command(workspace, &arguments)?.status().context("cargo could not be started")?;
    if status.success() || status.code() == Some(TIMED_OUT) {
        return Ok(());
    }
    bail!(
        "the tests do not notice some of these changes: write a test that does, or say in \
         .cargo/mutants.toml and docs/mutants.md why none can ({status})"
    )
}

fn command(workspace: &Workspace, arguments: &Arguments) -> Result<Command> {
    let mut cargo = workspace.cargo(&["mutants", "--package", "rebalance-guard"]);
    if shell::on_path(TOOL).is_none() {
        cargo.env("PATH", with_folder(&install(workspace)?)?);
    }
    cargo.args(["--test-package", "rebalance-guard-core-tests", "--profile", "mutants"]);
    cargo.args(["--timeout", "45", "--build-timeout", "120", "--baseline", "skip"]);
    cargo.args(["--no-shuffle", "--output"]).arg(&arguments.output);
    cargo.args(["--jobs", &arguments.jobs.to_string()]);
    if let Some(name) = &arguments.name {
        cargo.args(["--re", name]);
    }
    if let Some(shard) = &arguments.shard {
        cargo.args(["--sharding", "round-robin", "--shard", shard]);
    }
    if let Some(diff) = &arguments.in_diff {
        cargo.arg("--in-diff").arg(diff);
    }
    // Each mutant is built in a copy of its own.
    cargo.env_remove("CARGO_TARGET_DIR").env("RG_SEEDS", SEEDS);
    // Hundreds of failing tests would write their stacks for longer than the limit.
    cargo.env("RUST_BACKTRACE", "0");
    // The stories first: most mutants end there, in a second.
    cargo.args(["--", "--test", "scenarios", "--test", "simulation", "--"]);
    cargo.args(LEFT_OUT.iter().flat_map(|name| ["--skip", name]));
    Ok(cargo)
}

/// Builds the tool into the target folder, once; the folder of its program.
fn install(workspace: &Workspace) -> Result<PathBuf> {
    let root = workspace.target().join("tools");
    let folder = root.join("bin");
    if !folder.join(TOOL).is_file() {
        eprintln!("adding {TOOL} {TOOL_VERSION} under {}: a few minutes, once", root.display());
        let mut cargo = workspace.cargo(&["install", TOOL, "--version", TOOL_VERSION, "--locked"]);
        shell::run(cargo.arg("--root").arg(&root))?;
    }
    folder.canonicalize().context("the tool was not installed")
}

fn with_folder(folder: &Path) -> Result<std::ffi::OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = core::iter::once(folder.to_owned()).chain(env::split_paths(&path));
    env::join_paths(folders).context("the search path cannot be written")
}
