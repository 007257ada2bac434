//! `replay`: tell a recorded or written history to a guard and see what it answers.

mod js;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rebalance_guard::{
    Config, Input, InputError, Output, Partition, Progress, Record, Reply, Storm, Tick, Ticket,
    Verdict, Waiting,
};
use rebalance_guard_sim::jsonl::{File, Played, Player};
use rebalance_guard_sim::{Model, Subject};

use super::{assemble, exit, print};
use crate::config::EngineName;
use crate::engine::{Engine, EngineDead};

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

Exit codes:
  0  every expectation holds
  1  a line was answered otherwise, or the engine and the model differ
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
        return js::replay(package, &args.file, &file, args.model, args.quiet);
    }
    let engine = match engine(args, file.config()) {
        Ok(engine) => engine,
        Err(why) => {
            eprintln!("{why}");
            return exit::START;
        }
    };
    let mut answering = Answering { engine, dead: None };
    let mut model = args.model.then(|| (Player::new(&file), Model::new(*file.config())));
    let mut player = Player::new(&file);
    while let Some(played) = player.step(&mut answering) {
        if let Some(dead) = &answering.dead {
            eprintln!("{dead}");
            return exit::FAILED;
        }
        let played = match played {
            Ok(played) => played,
            Err(why) => {
                eprintln!("{}: {why}", args.file.display());
                return exit::SETTINGS;
            }
        };
        if !args.quiet || played.difference.is_some() {
            let code = print(format!("{}\n", played.shown).as_bytes());
            if code != exit::OK {
                return code;
            }
        }
        if let Some(difference) = played.difference {
            eprintln!("line {}: {difference}", played.line);
            return exit::FAILED;
        }
        let told = model.as_mut().and_then(|(player, model)| player.step(model));
        if let Some(code) = told.and_then(|told| beside(told, &played.shown)) {
            return code;
        }
    }
    exit::OK
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

fn engine(args: &ReplayArgs, config: &Config) -> Result<Box<dyn Engine>, String> {
    let name = match (args.engine, &args.plugin, &args.plugin_sha256) {
        (Answers::Native | Answers::Js, ..) => EngineName::Native,
        (Answers::Plugin, Some(path), Some(sha256)) => {
            EngineName::File { path: path.clone(), sha256: sha256.clone() }
        }
        (Answers::Plugin, ..) => EngineName::Embedded,
    };
    assemble::engine(&name).map_err(|refused| refused.why)?.make(config)
}

/// An engine that answers traces; once dead it answers nothing that counts.
struct Answering {
    engine: Box<dyn Engine>,
    dead: Option<EngineDead>,
}

impl Answering {
    fn ask<R>(&mut self, otherwise: R, call: impl FnOnce(&mut dyn Engine) -> Dies<R>) -> R {
        match call(&mut *self.engine) {
            Ok(answer) => answer,
            Err(dead) => {
                self.dead.get_or_insert(dead);
                otherwise
            }
        }
    }
}

type Dies<R> = Result<R, EngineDead>;

impl Subject for Answering {
    fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        self.ask(Ok(Reply::Stale), |engine| engine.handle(now, input))
    }

    fn admit_batch(&mut self, now: Tick, records: &[Record<'_>]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        self.ask((), |engine| engine.admit_batch(now, records, &mut verdicts));
        verdicts
    }

    fn handle_timeout(&mut self, now: Tick) {
        self.ask((), |engine| engine.handle_timeout(now));
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.ask(None, |engine| engine.poll_output())
    }

    fn poll_timeout(&mut self) -> Option<Tick> {
        self.ask(None, |engine| engine.poll_timeout())
    }

    fn is_live(&mut self, ticket: Ticket) -> bool {
        self.ask(false, |engine| engine.is_live(ticket))
    }

    fn progress(&mut self, partition: Partition) -> Option<Progress> {
        self.ask(None, |engine| engine.progress(partition))
    }

    fn commit_metadata(&mut self, partition: Partition) -> Vec<u8> {
        self.ask(Vec::new(), |engine| engine.commit_metadata(partition))
    }

    fn waiting(&mut self) -> Option<Waiting> {
        self.ask(None, |engine| engine.waiting())
    }

    fn in_flight(&mut self) -> u32 {
        self.ask(0, |engine| engine.in_flight())
    }

    fn snapshot(&mut self) -> Option<Vec<u8>> {
        self.ask(None, |engine| engine.snapshot())
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool {
        self.ask(false, |engine| engine.restore(now, snapshot))
    }

    fn storm(&mut self) -> Storm {
        self.ask(Storm::Calm, |engine| engine.storm())
    }
}
