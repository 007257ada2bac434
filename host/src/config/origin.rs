//! Where a value came from, and what is wrong with it.

use std::fmt;
use std::path::PathBuf;

/// The place that gave a value. Later variants win over earlier ones.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Origin {
    /// Nobody gave it.
    Default,
    /// A line of the configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// Its line, from 1; 0 when the whole file is meant.
        line: usize,
    },
    /// An environment variable.
    Env(String),
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line: 0 } => write!(f, "{}", path.display()),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value as it was written, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Given {
    /// The text.
    pub text: String,
    /// Who gave it.
    pub origin: Origin,
}

impl Given {
    /// `text`, given by `origin`.
    pub fn new(text: impl Into<String>, origin: Origin) -> Self {
        Self { text: text.into(), origin }
    }
}

/// One thing that is wrong with the settings, and what to do about it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Problem {
    /// The place to change.
    pub at: Origin,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Problem {
    /// `what` is wrong at `at`; do `remedy`.
    pub fn new(at: &Origin, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { at: at.clone(), what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    {}", self.at, self.what, self.remedy)
    }
}

/// Everything that is wrong, so that one run tells it all.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the settings cannot be used:")?;
        self.0.iter().try_for_each(|problem| writeln!(f, "  {problem}"))
    }
}

/// Of `known`, the name nearest to `name`, when it is near enough to be meant.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= name.len().div_ceil(3).max(2))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not_guessed() {
        let known = ["bootstrap", "topic", "group"];
        assert_eq!(nearest("botstrap", known.into_iter()), Some("bootstrap"));
        assert_eq!(nearest("gruop", known.into_iter()), Some("group"));
        assert_eq!(nearest("verbosity", known.into_iter()), None);
    }

    #[test]
    fn a_problem_names_its_line_and_its_remedy() {
        let at = Origin::File { path: "guard.toml".into(), line: 7 };
        let problem = Problem::new(&at, "`workers` is 0", "set it to at least 1");
        assert_eq!(problem.to_string(), "guard.toml:7: `workers` is 0\n    set it to at least 1");
    }
}
