//! The files of the repository.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// One text file.
pub(crate) struct File {
    /// Its path from the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Its lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// `path:line`, with the line itself.
    pub(crate) fn at(&self, number: usize, line: &str) -> String {
        format!("{}:{number}: {}", self.path, line.trim())
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_manifest(&self) -> bool {
        self.path == "Cargo.toml" || self.path.ends_with("/Cargo.toml")
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("the package lies in the workspace").to_path_buf()
}

/// Every text file that git tracks, or would if it were added.
pub(crate) fn files() -> Vec<File> {
    let root = root();
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .expect("the rules are checked on what git tracks: git is needed");
    assert!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("paths are UTF-8");
    let files: Vec<File> = names
        .split('\0')
        // What a fuzzer wrote keeps no rule.
        .filter(|name| !name.is_empty() && !name.starts_with("fuzz/corpus/"))
        // Deleted and not yet committed, or not text: no line to check.
        .filter_map(|path| {
            let text = fs::read_to_string(root.join(path)).ok()?;
            Some(File { path: path.to_owned(), text })
        })
        .collect();
    assert!(files.len() > 50, "only {} files: the walk is broken", files.len());
    files
}

/// The file at `path`.
pub(crate) fn file(path: &str) -> File {
    let text = fs::read_to_string(root().join(path));
    let text = text.unwrap_or_else(|error| panic!("{path} cannot be read: {error}"));
    File { path: path.to_owned(), text }
}
