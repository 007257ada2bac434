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
pub(crate) mod random;
mod report;
mod script;
mod traffic;
mod unguarded;
mod wire;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
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
    eprintln!("{}", announcement(args, &plan, rate));
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
fn announcement(args: &DemoArgs, plan: &Plan, rate: u32) -> String {
    let DemoArgs { members, partitions, records, seed, .. } = args;
    let settings = unguarded::DIFFERENCE.iter().map(|(name, value)| format!("{name}={value}"));
    format!(
        "{records} records at {rate}/s on {partitions} partitions through {members} members, \
         seed {seed}:\n\
         {} orders are sent twice, {} are such that no sink can take them. Meanwhile a rolling\n\
         restart, one member killed, and one stopped for longer than its session.\n\n\
         unguarded: {},\n           \
         offsets stored when a record is handed to a worker; no key, no token;\n           \
         killed while the group's offset is past an order that has not run\n\
         guarded:   enable.auto.commit=false, offsets committed by the guard ({});\n           \
         idempotency key {{json:/order}}, fencing token, dead-letter topic;\n           \
         killed while an effect is open: the guard lets no offset pass an order that has not run\n",
        plan.count(Kind::Again),
        plan.count(Kind::Poison),
        settings.collect::<Vec<_>>().join(",\n           "),
        args.engine.word(),
    )
}

fn show(args: &DemoArgs, report: &Report) -> u8 {
    let text = if args.json {
        report.json().unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"))
    } else {
        report.table(args)
    };
    let printed = crate::cli::print(text.as_bytes());
    let Some(missing) = report.guarded.missing() else { return printed };
    eprintln!("the guarded arm is not whole: {missing}");
    exit::FAILED
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
        // Others write to the temp folder too: the name cannot be guessed, and one that is there
        // already is not taken.
        let random = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!("rebalance-guard-demo-{}-{random:016x}", std::process::id());
        Self::at(std::env::temp_dir().join(name))
    }

    fn at(path: PathBuf) -> io::Result<Self> {
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| named(&path, &error))?;
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    #[test]
    fn each_run_makes_a_folder_that_nobody_can_have_laid_before() {
        let (one, other) = (Folder::new().expect("a folder"), Folder::new().expect("a folder"));
        assert_ne!(one.0, other.0);
        let mode = std::fs::metadata(&one.0).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_is_already_there_is_not_taken() {
        let folder = Folder::new().expect("a folder");
        let taken = Folder::at(folder.0.clone()).map(std::mem::forget);
        assert_eq!(taken.expect_err("it is taken").kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn the_announcement_says_when_each_arm_loses_its_killed_member() {
        let matches = DemoArgs::augment_args(clap::Command::new("demo")).get_matches_from(["demo"]);
        let args = DemoArgs::from_arg_matches(&matches).expect("the defaults are sound");
        let plan = Plan::new(args.seed, args.records, args.partitions);
        let said = announcement(&args, &plan, 400);
        assert!(
            said.contains("killed while the group's offset is past an order that has not run"),
            "{said}"
        );
        assert!(said.contains("killed while an effect is open"), "{said}");
    }
}
