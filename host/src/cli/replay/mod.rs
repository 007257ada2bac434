//! `replay`: tell a recorded or written history to a guard and see what it answers.

mod answering;
mod js;
mod judge;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rebalance_guard_sim::Model;
use rebalance_guard_sim::jsonl::{File, Played, Player};

use super::{assemble, exit, print};
use crate::config::EngineName;
use crate::gateway::EngineFactory;
use answering::Answering;
use judge::Judge;

/// Flags of `replay`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(crate) struct ReplayArgs {
    /// The trace file: one JSON object a line, the settings first.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What answers.
    #[arg(long, value_enum, default_value_t = Answers::Native)]
    engine: Answers,
    /// Plugin file instead of the one that this binary carries; needs --plugin-sha256.
    #[arg(long, value_name = "FILE", requires = "plugin_sha256")]
    plugin: Option<PathBuf>,
    /// SHA-256 that the plugin file must have.
    #[arg(long, value_name = "DIGITS", requires = "plugin")]
    plugin_sha256: Option<String>,
    /// Folder of the package for Node, which `cargo xtask js` builds as target/js.
    #[arg(long, value_name = "FOLDER", required_if_eq("engine", "js"))]
    #[arg(env = "RG_JS_PACKAGE", hide_env_values = true)]
    js_package: Option<PathBuf>,
    /// Tell it to the reference model as well; both must answer alike.
    #[arg(long)]
    model: bool,
    /// Judge the answers by the guard's promises as well: P1 to P10 and P12.
    #[arg(long)]
    oracle: bool,
    /// Print the lines that differ alone.
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Answers {
    Native,
    Plugin,
    /// The package for Node, in --js-package.
    Js,
}

const HELP: &str = r#"Prints one answer a line. The first line whose answer is not the expected
one ends the replay, with both values. The format, with everything that can be told and expected,
is docs/trace-format.md.

Example:
  printf '%s\n' \
    '{"do":"config","commit_interval":0,"jitter":0,"key_policy":"optional"}' \
    '{"do":"assign","now":0,"generation":7,"partitions":[{"partition":0,"committed":100}]}' \
    '{"do":"admit","plus":1,"partition":0,"offset":100,"as":"a"}' \
    '{"do":"complete","plus":5,"ticket":"a","expect":{"outputs":["commit"]}}' > order.jsonl
  rebalance-guard replay order.jsonl --model

With --oracle the history is then told to fresh guards of the same engine, every output pulled
after every line: nothing that a promise forbids may show, and nothing may change when refused or
stale lines are left out.

Exit codes:
  0  every expectation holds
  1  a line was answered otherwise, the engine and the model differ, or a promise is broken
  2  the file or the command line cannot be used"#;

/// Plays the file. Gives the exit code.
pub(crate) fn replay(args: &ReplayArgs) -> u8 {
    let file = match read(args) {
        Ok(file) => file,
        Err(why) => {
            eprintln!("{why}");
            return exit::SETTINGS;
        }
    };
    if let (Answers::Js, Some(package)) = (args.engine, &args.js_package) {
        if args.oracle {
            eprintln!("--oracle judges --engine native and plugin: with js leave it out");
            return exit::SETTINGS;
        }
        return js::replay(package, &args.file, &file, args.model, args.quiet);
    }
    match told(args, &file) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("{why}");
            exit::START
        }
    }
}

/// Tells the file to an engine of this process.
fn told(args: &ReplayArgs, file: &File) -> Result<u8, String> {
    let mut factory = factory(args)?;
    let mut judge = Judge::new(file, Answering::new(factory.make(file.config())?));
    let mut model = args.model.then(|| (Player::new(file), Model::new(*file.config())));
    let mut player = Player::new(file);
    while let Some(played) = player.step(&mut judge.witness) {
        if let Some(dead) = judge.dead() {
            eprintln!("{dead}");
            return Ok(exit::FAILED);
        }
        let played = match played {
            Ok(played) => played,
            Err(why) => {
                eprintln!("{}: {why}", args.file.display());
                return Ok(exit::SETTINGS);
            }
        };
        judge.told(played.line);
        if !args.quiet || played.difference.is_some() {
            let code = print(format!("{}\n", played.shown).as_bytes());
            if code != exit::OK {
                return Ok(code);
            }
        }
        if let Some(difference) = played.difference {
            eprintln!("line {}: {difference}", played.line);
            return Ok(exit::FAILED);
        }
        let told = model.as_mut().and_then(|(player, model)| player.step(model));
        if let Some(code) = told.and_then(|told| beside(told, &played.shown)) {
            return Ok(code);
        }
    }
    if args.oracle { judge.judge(&mut factory) } else { Ok(exit::OK) }
}

/// The exit code if the model cannot play the line, or answers otherwise.
fn beside(told: Result<Played, String>, shown: &str) -> Option<u8> {
    match told {
        Ok(model) if model.shown == shown => None,
        Ok(model) => {
            eprintln!("line {}: the model answers otherwise:\n{}", model.line, model.shown);
            Some(exit::FAILED)
        }
        Err(why) => {
            eprintln!("{why}; try without --model");
            Some(exit::SETTINGS)
        }
    }
}

fn read(args: &ReplayArgs) -> Result<File, String> {
    let name = args.file.display();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| format!("{name} cannot be read: {error}"))?;
    File::read(&text).map_err(|why| format!("{name}: {why}"))
}

fn factory(args: &ReplayArgs) -> Result<EngineFactory, String> {
    let name = match (args.engine, &args.plugin, &args.plugin_sha256) {
        (Answers::Native | Answers::Js, ..) => EngineName::Native,
        (Answers::Plugin, Some(path), Some(sha256)) => {
            EngineName::File { path: path.clone(), sha256: sha256.clone() }
        }
        (Answers::Plugin, ..) => EngineName::Embedded,
    };
    assemble::engine(&name).map_err(|refused| refused.why)
}
