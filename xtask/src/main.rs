//! The project's commands. People and CI run the same ones; `cargo xtask --help` lists them.

mod bench;
mod clock;
mod demo;
mod exhaustive;
mod js;
mod kafka;
mod miri;
mod mutants;
mod shell;
mod simulator;
mod soak;
mod test;
mod toolchain;
mod wasm;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Builds, shows, tests and measures rebalance-guard.
///
/// Nothing but rustup, a C compiler and make is needed for the demo; the tests against a real
/// broker also want Java 17 and Maven. What a command can add by itself (Rust targets, the broker's
/// jars) it adds, and says so.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch a consumer group lose members while every record takes effect exactly once.
    ///
    /// Builds the plugin and the gateway, then runs `rebalance-guard demo` with the arguments that
    /// follow. Example: cargo xtask demo --engine native --seed 3
    Demo(demo::Arguments),
    /// Run every check: style, bare-metal builds, plugin, documents, tests, a real broker.
    ///
    /// Stops at the first failure. What cannot run on this machine (no Java, no Maven) is skipped
    /// with a line that says so; with RG_REQUIRE=1 in the environment it fails instead.
    Test(test::Arguments),
    /// Measure the hot path.
    ///
    /// Runs the Criterion benchmarks; arguments that follow go to Criterion. Example: cargo xtask
    /// bench admit
    Bench(bench::Arguments),
    /// Fetch Apache Kafka and run one broker on loopback.
    Kafka(kafka::Arguments),
    /// Run many seeds of the group simulation, on every processor.
    ///
    /// Each seed is a consumer group with crashes, cuts, stalls, failing commits and more, in one
    /// of the three protocols, held to every promise. Stops at the first seed that breaks one and
    /// prints it as small as it gets. Example: cargo xtask soak --seeds 20000
    Soak(soak::Arguments),
    /// Walk through every history of small worlds.
    ///
    /// One or two partitions, up to three records, two assignments each, faults: everything that
    /// can happen, in every order, on the real core. Prints how many states each world has and
    /// stops at the shortest history that breaks a promise or cannot be finished.
    /// docs/simulation.md has the worlds. Example: cargo xtask exhaustive positions
    Exhaustive(exhaustive::Arguments),
    /// Run the core, the plugin's exchange buffer and the scenarios under Miri.
    ///
    /// Needs a nightly toolchain (rustup toolchain install nightly); the component is added. Takes
    /// some twenty minutes, most of it for the scenarios and the exchange buffer.
    Miri,
    /// Change the core in one place at a time and see whether a test notices.
    ///
    /// Adds cargo-mutants under the target folder when it is missing. All of it takes hours; a
    /// shard is a fair sample, and a diff limits it to what a change touched. docs/mutants.md has
    /// the results. Example: cargo xtask mutants --shard 0/16
    Mutants(mutants::Arguments),
    /// Build the plugin into target/plugin/ and check it: no import, bounded memory, plain MVP.
    Wasm(WasmArguments),
    /// Build the package for Node and browsers into target/js/.
    Js,
}

#[derive(Debug, clap::Args)]
struct WasmArguments {
    /// Build the component as well, for hosts that load plugins by WIT.
    #[arg(long)]
    component: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    match &arguments.command {
        Command::Demo(arguments) => demo::run(&workspace, arguments),
        Command::Test(arguments) => test::run(&workspace, arguments),
        Command::Bench(arguments) => bench::run(&workspace, arguments),
        Command::Exhaustive(arguments) => exhaustive::run(&workspace, arguments),
        Command::Kafka(arguments) => kafka::run(&workspace, arguments),
        Command::Js => {
            println!("the package: {}", js::build(&workspace)?.display());
            Ok(ExitCode::SUCCESS)
        }
        Command::Miri => miri::run(&workspace),
        Command::Mutants(arguments) => mutants::run(&workspace, arguments),
        Command::Soak(arguments) => soak::run(&workspace, arguments),
        Command::Wasm(arguments) => build_plugin(&workspace, arguments.component),
    }
}

fn build_plugin(workspace: &Workspace, component: bool) -> anyhow::Result<ExitCode> {
    toolchain::add_targets(toolchain::PLUGIN)?;
    let plugin = wasm::build(workspace.root(), workspace.target())?;
    println!("the plugin: {}", plugin.display());
    if component {
        toolchain::add_targets(toolchain::COMPONENT)?;
        let component = wasm::build_component(workspace.root(), workspace.target())?;
        println!("the component: {}", component.display());
    }
    Ok(ExitCode::SUCCESS)
}
