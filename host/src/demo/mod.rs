//! The demo: a group that loses members, with and without the guard, and a ledger that tells.
//!
//! The parent holds a mock Kafka cluster, the traffic and the ledger; members are processes.

mod args;
mod book;
mod broker;
mod group;
pub mod ledger;
mod member;
mod outcome;
mod progress;
mod random;
mod report;
mod script;
mod traffic;
mod unguarded;
mod wire;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

pub use args::{DemoArgs, DemoEngine, MemberArgs};
pub use member::run as member;
pub use outcome::Outcome;
use progress::Progress;
use report::Report;
use script::{Arm, DemoError};
use traffic::{Kind, Plan};

use crate::cli::exit;

/// Runs the demo and gives its exit code.
pub fn run(args: &DemoArgs) -> u8 {
    if let Err(why) = refuse(args) {
        eprintln!("{why}");
        return exit::SETTINGS;
    }
    match both(args) {
        Ok(report) => show(args, &report),
        Err(DemoError::Interrupted) => {
            eprintln!("stopped; nothing is left behind");
            exit::SIGNAL + 2
        }
        Err(error) => {
            eprintln!("the demo did not come to its end: {error}");
            exit::START
        }
    }
}

/// What the types of the flags cannot say.
fn refuse(args: &DemoArgs) -> Result<(), String> {
    // Said now, and not by a member after half the time.
    crate::cli::engine(&args.engine.name())?;
    if args.partitions < args.members {
        return Err(format!(
            "{} members cannot share {} partitions: give --partitions {} or more",
            args.members, args.partitions, args.members
        ));
    }
    // The mock cluster keeps 5 MB a partition and forgets what is older.
    let most = u32::from(args.partitions) * RECORDS_PER_PARTITION;
    if args.records > most {
        return Err(format!(
            "{} records do not fit into {} partitions of the mock cluster: give at most {most} \
             --records, or more --partitions",
            args.records, args.partitions
        ));
    }
    let least = u32::from(args.partitions) * 100;
    if args.records < least {
        return Err(format!(
            "{} records leave {} partitions idle: give at least {least} --records",
            args.records, args.partitions
        ));
    }
    Ok(())
}

fn both(args: &DemoArgs) -> Result<Report, DemoError> {
    let interrupted = interrupted()?;
    let folder = Folder::new()?;
    let plan = Arc::new(Plan::new(args.seed, args.records, args.partitions));
    let rate = args.rate.unwrap_or_else(|| args.records.div_ceil(TRAFFIC_SECONDS));
    announce(args, &plan, rate);
    let arm = |name: &'static str, engine: Option<DemoEngine>| {
        let progress = Progress::new(name, u64::from(args.records));
        script::run(&Arm {
            args,
            plan: &plan,
            rate,
            engine,
            ledger: folder.0.join(format!("{name}.ndjson")),
            interrupted: &interrupted,
            progress: &progress,
        })
    };
    Ok(Report { unguarded: arm("unguarded", None)?, guarded: arm("guarded", Some(args.engine))? })
}

/// What will happen, and in what the arms differ.
fn announce(args: &DemoArgs, plan: &Plan, rate: u32) {
    let DemoArgs { members, partitions, records, seed, .. } = args;
    let settings = unguarded::DIFFERENCE.iter().map(|(name, value)| format!("{name}={value}"));
    eprintln!(
        "{records} records at {rate}/s on {partitions} partitions through {members} members, \
         seed {seed}:\n\
         {} orders are sent twice, {} are such that no sink can take them. Meanwhile a rolling\n\
         restart, one member killed, and one stopped for longer than its session.\n\n\
         unguarded: {},\n           \
         offsets stored when a record is handed to a worker; no key, no token\n\
         guarded:   enable.auto.commit=false, offsets committed by the guard ({});\n           \
         idempotency key {{json:/order}}, fencing token, dead-letter topic\n",
        plan.count(Kind::Again),
        plan.count(Kind::Poison),
        settings.collect::<Vec<_>>().join(",\n           "),
        args.engine.word(),
    );
}

fn show(args: &DemoArgs, report: &Report) -> u8 {
    let text = if args.json {
        report.json().unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"))
    } else {
        report.table(args)
    };
    let printed = crate::cli::print(text.as_bytes());
    if report.guarded.is_whole() { printed } else { exit::FAILED }
}

/// Set by the first Ctrl-C; the second ends the process, and its members with it.
fn interrupted() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let code = i32::from(exit::SIGNAL) + signal;
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// A folder of this run's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let name = format!("rebalance-guard-demo-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).map_err(|error| named(&path, &error))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to clean.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}; set TMPDIR", path.display()))
}

/// The traffic lasts through the faults.
const TRAFFIC_SECONDS: u32 = 30;
const RECORDS_PER_PARTITION: u32 = 14_000;
