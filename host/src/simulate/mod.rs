//! `rebalance-guard simulate`: a group in virtual time, to see what settings cost before they are
//! rolled out.

mod args;
mod chart;
mod faults;
mod figures;
mod history;
mod plan;
mod progress;
mod report;
mod scenario;
mod sensitivity;

use std::path::PathBuf;

pub(crate) use args::help;
pub use args::{Guarded, SimulateArgs, SimulatedProtocol};
use report::Report;

use crate::cli::exit;

/// Why nothing was simulated, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// A fault that does not exist.
    #[error("--faults: there is no fault `{name}`: {hint}the faults are {all}, or none")]
    Fault {
        /// What was given.
        name: String,
        /// The nearest name, as a question.
        hint: String,
        /// The ones that there are.
        all: String,
    },
    /// A fault with an unusable number.
    #[error("--faults: `{word}` has no count from 0 to {most}: give one, such as `{name}=2`")]
    FaultCount {
        /// What was given.
        word: String,
        /// The fault.
        name: String,
        /// The largest count.
        most: u32,
    },
    /// The client would refuse it.
    #[error(
        "--max-poll-ms {max_poll} is below --session-ms {session}, which the Kafka client refuses: \
         raise the one or lower the other"
    )]
    Poll {
        /// `max.poll.interval.ms`.
        max_poll: u32,
        /// `session.timeout.ms`.
        session: u32,
    },
    /// More work than the workers can do.
    #[error(
        "{rate} records a second of {work} ms each are too many for {workers} workers, which do at \
         most {most}: lower --rate or --work-ms, or raise --members or --workers"
    )]
    Overload {
        /// Records a second.
        rate: u32,
        /// What each takes.
        work: u32,
        /// All workers.
        workers: u64,
        /// What they do with a margin for the faults.
        most: u64,
    },
    /// Too long to be simulated in one go.
    #[error(
        "{records} records are more than {most}, which is what one run may have: lower --seconds \
         or --rate"
    )]
    Records {
        /// As asked.
        records: u64,
        /// The largest number.
        most: u64,
    },
    /// A chart of unknown form.
    #[error("--chart {0}: the name must end with .svg or .html")]
    ChartName(PathBuf),
    /// A chart that cannot be written.
    #[error("--chart {path}: {why}; give a file in a folder that can be written")]
    Chart {
        /// Where.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
}

/// Runs the simulation and gives its exit code.
pub fn run(args: &SimulateArgs) -> u8 {
    match simulate(args) {
        Ok(report) => show(args, &report),
        Err(error) => {
            eprintln!("{error}");
            match error {
                SimulateError::Chart { .. } => exit::FAILED,
                _ => exit::SETTINGS,
            }
        }
    }
}

/// Runs every group that was asked for, and the comparison of settings.
fn simulate(args: &SimulateArgs) -> Result<Report, SimulateError> {
    let scenario = scenario::Scenario::of(args)?;
    let kind = args.chart.as_deref().map(chart::Kind::of).transpose()?;
    let report = Report::make(&scenario);
    if let (Some(path), Some(kind)) = (&args.chart, kind) {
        let drawn = chart::draw(kind, &scenario, &report);
        std::fs::write(path, drawn)
            .map_err(|why| SimulateError::Chart { path: path.clone(), why })?;
    }
    Ok(report)
}

fn show(args: &SimulateArgs, report: &Report) -> u8 {
    let text = if args.json {
        report.json().unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"))
    } else {
        report.table()
    };
    let printed = crate::cli::print(text.as_bytes());
    let Some(broken) = report.broken() else { return printed };
    eprintln!(
        "a guarded group broke a promise, which is a defect of rebalance-guard: {broken}\n\
         please report it with this command line"
    );
    exit::FAILED
}
