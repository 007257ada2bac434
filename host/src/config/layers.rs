//! Every value as it was given, by layer: flag over environment over file.

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::guard::TABLE;
use super::origin::{Given, Origin, Problem, nearest};
use super::settings::{Setting, names};

/// Values by setting name (`bootstrap`, `guard.drain`, `client.session.timeout.ms`).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Layers {
    values: BTreeMap<String, Vec<Given>>,
}

impl Layers {
    /// Adds a value. One of a stronger place replaces the weaker ones, one of the same place joins
    /// them: whether several are allowed is the setting's business.
    pub fn give(&mut self, name: &str, given: Given) {
        let values = self.values.entry(name.to_owned()).or_default();
        let rank = |origin: &Origin| match origin {
            Origin::Default => 0,
            Origin::File { .. } => 1,
            Origin::Env(_) => 2,
            Origin::Flag(_) => 3,
        };
        match values.first().map(|first| rank(&first.origin).cmp(&rank(&given.origin))) {
            Some(std::cmp::Ordering::Greater) => {}
            Some(std::cmp::Ordering::Less) => *values = vec![given],
            Some(std::cmp::Ordering::Equal) | None => values.push(given),
        }
    }

    /// The values of a setting, in order.
    pub fn all(&self, name: &str) -> &[Given] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// The values whose name begins with `prefix`, without it.
    pub(crate) fn under(&self, prefix: &str) -> impl Iterator<Item = (&str, &[Given])> {
        self.values
            .iter()
            .filter_map(move |(name, values)| Some((name.strip_prefix(prefix)?, values.as_slice())))
    }

    /// Reads `NAME=VALUE` of a repeatable flag into `prefix` + NAME.
    pub fn give_pair(&mut self, prefix: &str, flag: &str, pair: &str, problems: &mut Vec<Problem>) {
        let Some((name, value)) = pair.split_once('=').map(|(n, v)| (n.trim(), v.trim())) else {
            let at = Origin::Flag(flag.into());
            let what = format!("`{pair}` is no NAME=VALUE");
            problems.push(Problem::new(&at, what, format!("write {flag} name=value")));
            return;
        };
        let origin = Origin::Flag(format!("{flag} {name}"));
        if prefix == "guard." && !TABLE.iter().any(|row| row.name == name) {
            problems.push(unknown(&origin, name, TABLE.iter().map(|row| row.name)));
            return;
        }
        self.give(&format!("{prefix}{name}"), Given::new(value, origin));
    }

    /// Reads the environment's `RG_CLIENT_…` and `RG_GUARD_…`, `_` standing for `.` in the former.
    pub fn give_environment(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
        problems: &mut Vec<Problem>,
    ) {
        for (name, value) in variables.filter(|(_, value)| !value.is_empty()) {
            let origin = Origin::Env(name.clone());
            if let Some(setting) = name.strip_prefix("RG_CLIENT_") {
                let setting = setting.to_lowercase().replace('_', ".");
                self.give(&format!("client.{setting}"), Given::new(value, origin));
            } else if let Some(setting) = name.strip_prefix("RG_GUARD_") {
                let setting = setting.to_lowercase();
                if TABLE.iter().any(|row| row.name == setting) {
                    self.give(&format!("guard.{setting}"), Given::new(value, origin));
                } else {
                    problems.push(unknown(&origin, &setting, TABLE.iter().map(|row| row.name)));
                }
            }
        }
    }

    /// Reads a configuration file.
    pub fn give_file(&mut self, path: &Path, problems: &mut Vec<Problem>) {
        let whole = Origin::File { path: path.into(), line: 0 };
        match std::fs::read_to_string(path) {
            Ok(text) => self.give_text(path, &text, problems),
            Err(error) => problems.push(Problem::new(
                &whole,
                format!("the configuration cannot be read: {error}"),
                "check the path and its permissions, or leave --config out",
            )),
        }
    }

    /// Reads the text of a configuration file.
    pub fn give_text(&mut self, path: &Path, text: &str, problems: &mut Vec<Problem>) {
        let file = File { path, text };
        match DeTable::parse(text) {
            Ok(table) => table.get_ref().iter().for_each(|(name, value)| {
                self.give_top(&file, name.get_ref(), name.span().start, value.get_ref(), problems)
            }),
            Err(error) => {
                let at = file.at(error.span().map_or(0, |span| span.start));
                let what = format!("not valid TOML: {}", error.message().replace('\n', ", "));
                problems.push(Problem::new(&at, what, "fix this line; texts need \"quotes\""));
            }
        }
    }

    fn give_top(
        &mut self,
        file: &File<'_>,
        name: &str,
        position: usize,
        value: &DeValue<'_>,
        problems: &mut Vec<Problem>,
    ) {
        let origin = file.at(position);
        match (name, value) {
            ("guard", DeValue::Table(table)) => self.give_guard(file, table, problems),
            ("client", DeValue::Table(table)) => self.give_client(file, "client", table, problems),
            ("guard" | "client", _) => problems.push(Problem::new(
                &origin,
                format!("`{name}` is a table"),
                format!("write [{name}] on a line of its own, its settings below"),
            )),
            _ => match Setting::in_file(name) {
                Some(setting) => self.give_value(setting.name, &origin, value, problems),
                None => problems.push(misplaced(&origin, name)),
            },
        }
    }

    fn give_guard(&mut self, file: &File<'_>, table: &DeTable<'_>, problems: &mut Vec<Problem>) {
        for (name, value) in table {
            let origin = file.at(name.span().start);
            let name = name.get_ref();
            if TABLE.iter().any(|row| row.name == name) {
                self.give_value(&format!("guard.{name}"), &origin, value.get_ref(), problems);
            } else {
                problems.push(unknown(&origin, name, TABLE.iter().map(|row| row.name)));
            }
        }
    }

    /// `session.timeout.ms = 6000` without quotes is a nest of tables in TOML; both are read.
    fn give_client(
        &mut self,
        file: &File<'_>,
        prefix: &str,
        table: &DeTable<'_>,
        problems: &mut Vec<Problem>,
    ) {
        for (name, value) in table {
            let origin = file.at(name.span().start);
            let name = format!("{prefix}.{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => self.give_client(file, &name, inner, problems),
                value => self.give_value(&name, &origin, value, problems),
            }
        }
    }

    fn give_value(
        &mut self,
        name: &str,
        origin: &Origin,
        value: &DeValue<'_>,
        problems: &mut Vec<Problem>,
    ) {
        match value {
            DeValue::Array(items) => {
                items
                    .iter()
                    .for_each(|item| self.give_value(name, origin, item.get_ref(), problems));
            }
            DeValue::Table(_) | DeValue::Datetime(_) => problems.push(Problem::new(
                origin,
                format!("`{name}` is neither text, number nor list"),
                "write one value",
            )),
            DeValue::String(text) => self.give(name, Given::new(text.as_ref(), origin.clone())),
            DeValue::Integer(number) => {
                self.give(name, Given::new(number.to_string(), origin.clone()))
            }
            DeValue::Float(number) => self.give(name, Given::new(number.as_str(), origin.clone())),
            DeValue::Boolean(value) => {
                self.give(name, Given::new(value.to_string(), origin.clone()))
            }
        }
    }
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    /// The line of a byte position.
    fn at(&self, position: usize) -> Origin {
        let before = self.text.as_bytes().iter().take(position);
        let line = before.filter(|byte| **byte == b'\n').count() + 1;
        Origin::File { path: self.path.into(), line }
    }
}

/// A name that the top level of the file does not know: perhaps it belongs into a table.
fn misplaced(origin: &Origin, name: &str) -> Problem {
    if TABLE.iter().any(|row| row.name == name) {
        let what = format!("`{name}` is a setting of the guard");
        return Problem::new(origin, what, "move it below [guard]");
    }
    unknown(origin, name, names())
}

/// `name` is no setting; the nearest one of `known` is proposed.
pub(crate) fn unknown<'a>(
    origin: &Origin,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Problem {
    let remedy = nearest(name, known).map_or_else(
        || "see `rebalance-guard run --help` for the names".into(),
        |near| format!("did you mean `{near}`?"),
    );
    Problem::new(origin, format!("unknown setting `{name}`"), remedy)
}
