//! The command line: `run`, `demo`, `replay`, `simulate`, `completions`.

mod args;
mod assemble;
mod load;
mod logs;
mod replay;
mod run;
mod signals;

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use args::{Cli, Command};
pub(crate) use logs::start as start_logs;

use crate::config::EngineName;
use crate::gateway::EngineFactory;

/// Makes engines of the kind that `name` says.
pub(crate) fn engine(name: &EngineName) -> Result<EngineFactory, String> {
    assemble::engine(name).map_err(|refused| refused.why)
}

/// How the process ends.
pub mod exit {
    /// Stopped as asked, or everything was well.
    pub const OK: u8 = 0;
    /// Could not go on, or the demo's guarded arm dropped or repeated something.
    pub const FAILED: u8 = 1;
    /// The command line or the settings cannot be used.
    pub const SETTINGS: u8 = 2;
    /// Could not start: broker, topic, plugin or sink.
    pub const START: u8 = 3;
    /// Stopped at once by a second signal: 128 + its number.
    pub const SIGNAL: u8 = 128;
}

/// `--version`, with the SHA-256 of the plugin that this binary carries.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let plugin = assemble::embedded_sha256().unwrap_or_else(|| "none".into());
    format!("{}\nplugin sha256: {plugin}", env!("CARGO_PKG_VERSION"))
});

/// The whole command line as clap knows it.
pub fn command() -> clap::Command {
    Cli::command()
        .version(env!("CARGO_PKG_VERSION"))
        .long_version(VERSION.as_str())
        .mut_subcommand("run", |run| run.after_long_help(args::run_help()))
        .mut_subcommand("simulate", |simulate| simulate.after_long_help(crate::simulate::help()))
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let matches = command().get_matches();
    ExitCode::from(dispatch(&matches))
}

fn dispatch(matches: &ArgMatches) -> u8 {
    let cli = match Cli::from_arg_matches(matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    match cli.command {
        Command::Run(args) => {
            let given = matches.subcommand_matches("run");
            run::run(&args, given.unwrap_or(matches))
        }
        Command::Demo(args) => crate::demo::run(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Simulate(args) => crate::simulate::run(&args),
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut command(), "rebalance-guard", &mut out);
            print(&out)
        }
        Command::DemoMember(args) => crate::demo::member(&args),
    }
}

/// Writes to standard output; a closed pipe is the reader's way of saying enough.
pub(crate) fn print(bytes: &[u8]) -> u8 {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => exit::OK,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => exit::OK,
        Err(error) => {
            eprintln!("standard output cannot be written: {error}");
            exit::FAILED
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn the_help_of_run_names_every_setting_with_flag_variable_and_default() {
        let mut command = command();
        let run = command.find_subcommand_mut("run").expect("it exists");
        let help = run.render_long_help().to_string();
        for setting in crate::config::names() {
            let flag = format!("--{}", setting.replace('_', "-"));
            let variable = format!("RG_{}", setting.to_uppercase());
            assert!(help.contains(&flag), "{flag}");
            assert!(help.contains(&format!("[env: {variable}]")), "{variable}: {help}");
        }
        for words in ["RG_GUARD_", "RG_CLIENT_", "Exit codes", "commit_interval", "Examples"] {
            assert!(help.contains(words), "{words}: {help}");
        }
    }

    #[test]
    fn the_help_of_run_says_what_becomes_of_failures_without_a_dead_letter_topic() {
        let mut command = command();
        let run = command.find_subcommand_mut("run").expect("it exists");
        let help = run.render_long_help().to_string();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in ["Without one a record that fails is tried again for ever", "backoff_cap"] {
            assert!(help.contains(words), "{words}: {help}");
        }
    }
}
