//! `cargo xtask test`: steps in order, each with its time, and a summary.

mod cargo_test;
mod cases;
mod change;
mod run;
mod steps;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::clock::{Spent, Stopwatch};
use crate::workspace::Workspace;
use run::Run;
use steps::Step;

/// Which checks run, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only one part.
    #[arg(long, value_enum, value_name = "NAME")]
    part: Option<Part>,
    /// Leave out what takes longest: the real broker, the model check of the fence, mutants.
    #[arg(long)]
    quick: bool,
    /// Run every step even when one failed.
    #[arg(long)]
    keep_going: bool,
    /// Write the tests that ran into tests/cases.txt, the list of tests that must exist.
    #[arg(long, conflicts_with_all = ["part", "quick"])]
    update_cases: bool,
}

/// A part of the checks.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Part {
    /// Format, lints and the house rules.
    Style,
    /// The documents of the code.
    Docs,
    /// The core: bare-metal builds and its own tests.
    Core,
    /// The plugin: build, zero imports, boundary, beside the native core.
    Plugin,
    /// The package for Node and browsers.
    Js,
    /// The host library and the gateway.
    Host,
    /// Reference model, oracle and random traces.
    Sim,
    /// Hand-over, dedupe, retries and so on, told as stories.
    Scenarios,
    /// The gateway against librdkafka's mock cluster.
    Mock,
    /// The ownership fence, model-checked.
    Fence,
    /// The gateway and the binary against a real broker.
    Kafka,
}

/// Runs the steps.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let mut run = Run::new(workspace, arguments.part, arguments.quick, arguments.update_cases);
    let mut done = Vec::new();
    let mut failed = Vec::new();
    let wanted: Vec<Step> = steps::all().into_iter().filter(|step| run.wants(step)).collect();
    for step in wanted {
        let (spent, outcome) = timed(&step, &mut run);
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("== {}: {word} in {}", step.name, Spent(spent));
        done.push(format!("{word:<6} {:>12}  {}", Spent(spent).to_string(), step.name));
        if let Err(error) = outcome {
            println!("   {error:#}");
            failed.push(step.name);
            if !arguments.keep_going {
                break;
            }
        }
    }
    summary(&run, &done, &failed)
}

fn timed(step: &Step, run: &mut Run<'_>) -> (std::time::Duration, Result<()>) {
    println!("\n== {}", step.name);
    let watch = Stopwatch::start();
    let outcome = (step.act)(run);
    (watch.elapsed(), outcome)
}

fn summary(run: &Run<'_>, done: &[String], failed: &[&str]) -> Result<ExitCode> {
    println!("\nsummary");
    for line in done {
        println!("  {line}");
    }
    for line in run.skipped() {
        println!("  SKIPPED {line}");
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    println!("  everything that ran passed");
    Ok(ExitCode::SUCCESS)
}
