//! `cargo xtask kafka`: a real Apache Kafka without containers, from Maven Central's jars.

mod broker;
mod fetch;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::workspace::Workspace;

/// What to do with Kafka.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Only fetch the jars (about 50 MB) into target/kafka/; does nothing when they are there.
    Fetch,
    /// Fetch when needed, then run one broker in the foreground until Ctrl-C.
    ///
    /// It listens on loopback alone, keeps its data in a folder that is emptied at each start, and
    /// prints the address for --bootstrap once it answers.
    Start(broker::Options),
}

/// Fetches, or fetches and starts.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let library = fetch(workspace)?;
    match &arguments.command {
        Command::Fetch => println!("Kafka's jars: {}", library.display()),
        Command::Start(options) => broker::run(workspace, &library, options)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder of Kafka's jars, fetched when it is not there yet.
pub(crate) fn fetch(workspace: &Workspace) -> Result<PathBuf> {
    fetch::run(&workspace.target().join("kafka"))
}
