//! The package for Node as what answers.

use std::path::Path;
use std::process::{Command, Stdio};

use rebalance_guard_sim::Model;
use rebalance_guard_sim::jsonl::{File, Player};

use crate::cli::{exit, print};

/// What Node answered, and how it ended.
struct Answers {
    lines: Vec<String>,
    code: u8,
}

/// Plays the file on the package in `folder`, and with `model` on the reference model, too.
pub(super) fn replay(folder: &Path, path: &Path, file: &File, model: bool, quiet: bool) -> u8 {
    let answers = match ask_node(folder, path) {
        Ok(answers) => answers,
        Err(why) => {
            eprintln!("{why}");
            return exit::START;
        }
    };
    let mut model = model.then(|| (Player::new(file), Model::new(*file.config())));
    for (number, line) in answers.lines.iter().enumerate() {
        let differs = answers.code != exit::OK && number + 1 == answers.lines.len();
        if !quiet || differs {
            let code = print(format!("{line}\n").as_bytes());
            if code != exit::OK {
                return code;
            }
        }
        let told = model.as_mut().and_then(|(player, model)| player.step(model));
        if let Some(code) = told.and_then(|told| super::beside(told, line)) {
            return code;
        }
    }
    answers.code
}

fn ask_node(folder: &Path, path: &Path) -> Result<Answers, String> {
    let script = folder.join("replay.mjs");
    if !script.is_file() {
        let folder = folder.display();
        return Err(format!(
            "{folder} has no replay.mjs: give the folder of the package, which `cargo xtask js` \
             builds as target/js, with --js-package"
        ));
    }
    let mut node = Command::new("node");
    node.arg(script).arg(path).stderr(Stdio::inherit());
    let output = node.output().map_err(|error| {
        format!("node cannot be started: {error}; install Node 20 or later, or use another engine")
    })?;
    let lines = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    let code = match output.status.code() {
        Some(0) => exit::OK,
        Some(2) => exit::SETTINGS,
        _ => exit::FAILED,
    };
    Ok(Answers { lines, code })
}
