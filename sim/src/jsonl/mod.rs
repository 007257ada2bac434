//! Trace files: one JSON object a line, the language in which a history is told to a guard.
//! `docs/trace-format.md` is the contract.

mod compare;
mod fields;
mod hashing;
mod line;
mod player;
mod traces;
mod words;
mod write;

use rebalance_guard::{Config, Partition};
use serde_json::Value;

pub use hashing::KeyHashing;
use line::{Call, Line};
pub use player::{Played, Player};
pub use traces::lines;
pub use write::{Told, Writer};

/// Topic names as the guard's numbers, in order of first mention.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topics(Vec<String>);

impl Topics {
    fn number(&mut self, name: &str) -> u32 {
        let known = self.0.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    fn name(&self, number: u32) -> String {
        let known = usize::try_from(number).ok().and_then(|index| self.0.get(index));
        known.cloned().unwrap_or_else(|| format!("#{number}"))
    }
}

/// A trace file, read and checked whole.
#[derive(Clone, Debug)]
pub struct File {
    config: Config,
    topics: Topics,
    /// Every partition that the file names, in order of first mention.
    partitions: Vec<Partition>,
    lines: Vec<(usize, Line)>,
}

impl File {
    /// Reads a file; empty lines are left out.
    ///
    /// # Errors
    /// The first line that is none, with its number and what to do.
    pub fn read(text: &str) -> Result<Self, String> {
        let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let mut numbered = numbered.filter(|(_, line)| !line.is_empty()).peekable();
        let mut topics = Topics::default();
        let named = |number: usize, bad: String| format!("line {number}: {bad}");
        let Some((first, text)) = numbered.next() else {
            return Err("the file is empty: its first line is `{\"do\":\"config\"}`".to_owned());
        };
        let config = object(text)
            .and_then(|value| line::config(value, &mut topics))
            .map_err(|bad| named(first, bad))?;
        let mut lines = Vec::new();
        for (number, text) in numbered {
            let line = object(text).and_then(|value| line::line(value, &mut topics));
            lines.push((number, line.map_err(|bad| named(number, bad))?));
        }
        let mut partitions = Vec::new();
        for (_, line) in &lines {
            for partition in mentioned(&line.call) {
                if !partitions.contains(&partition) {
                    partitions.push(partition);
                }
            }
        }
        Ok(Self { config, topics, partitions, lines })
    }

    /// The settings of the guard that it is told to.
    pub const fn config(&self) -> &Config {
        &self.config
    }
}

fn object(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not one JSON object: {error}"))
}

fn mentioned(call: &Call) -> Vec<Partition> {
    match call {
        Call::Assign { partitions, .. } => partitions.iter().map(|(named, _)| *named).collect(),
        Call::Admit { record, .. } => vec![record.partition],
        Call::AdmitBatch { records } => records.iter().map(|(one, _)| one.partition).collect(),
        Call::Revoke { partitions, .. } => partitions.clone(),
        _ => Vec::new(),
    }
}

/// Plays a whole file; the answers, up to the first line that differs.
///
/// # Errors
/// A line that cannot be played.
pub fn play(file: &File, subject: &mut impl crate::Subject) -> Result<Vec<Played>, String> {
    let mut player = Player::new(file);
    let mut all = Vec::new();
    while let Some(played) = player.step(subject) {
        let played = played?;
        let over = played.difference.is_some();
        all.push(played);
        if over {
            break;
        }
    }
    Ok(all)
}
