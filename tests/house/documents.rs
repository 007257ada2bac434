//! Documents name what exists.

use std::collections::BTreeSet;

use crate::none;
use crate::tree::{File, file, files, root};

fn documents() -> Vec<File> {
    let tops = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let all = files();
    for top in tops {
        assert!(all.iter().any(|file| file.path == top), "{top} is missing");
    }
    all.into_iter().filter(|file| file.path.ends_with(".md")).collect()
}

/// The words after each `marker`.
fn words_after<'a>(text: &'a str, marker: &str) -> Vec<&'a str> {
    text.split(marker)
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next())
        .filter(|word| !word.is_empty() && !word.starts_with('-'))
        .collect()
}

/// The variants of `enum Command` in a file, as clap spells them.
fn commands(path: &str) -> BTreeSet<String> {
    let text = file(path).text;
    let body = text.split("enum Command {").nth(1).and_then(|rest| rest.split("\n}").next());
    let body = body.unwrap_or_else(|| panic!("{path} has no enum Command"));
    body.lines()
        .map(str::trim)
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).next())
        .map(str::to_lowercase)
        .collect()
}

#[test]
fn every_xtask_command_in_a_document_exists() {
    let known = commands("xtask/src/main.rs");
    assert!(known.contains("demo") && known.contains("test"), "{known:?}");
    let mut broken = Vec::new();
    for document in documents() {
        for word in words_after(&document.text, "cargo xtask ") {
            if !known.contains(word) {
                broken.push(format!("{}: cargo xtask {word}", document.path));
            }
        }
    }
    none("cargo xtask --help lists the commands", &broken);
}

/// Cargo's own, which documents use as well.
const FLAGS_OF_CARGO: &[&str] = &["release", "package", "open", "locked"];

#[test]
fn every_flag_in_a_document_exists() {
    let sources: String = files()
        .into_iter()
        .filter(|file| file.is_rust())
        .filter(|file| file.path.starts_with("host/src/") || file.path.starts_with("xtask/src/"))
        .map(|file| file.text)
        .collect();
    let mut broken = Vec::new();
    // The history keeps the names of its time.
    for document in documents().iter().filter(|document| document.path != "CHANGELOG.md") {
        for flag in words_after(&document.text, " --").into_iter().chain(flags(&document.text)) {
            let field = format!(" {}: ", flag.replace('-', "_"));
            if !FLAGS_OF_CARGO.contains(&flag) && !sources.contains(&field) {
                broken.push(format!("{}: --{flag}", document.path));
            }
        }
    }
    none("--help lists the flags", &broken);
}

/// Flags at the beginning of code.
fn flags(text: &str) -> Vec<&str> {
    words_after(text, "`--")
}

#[test]
fn every_file_that_a_document_links_to_exists() {
    let mut broken = Vec::new();
    for document in documents() {
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in links(&document.text) {
            if !root().join(folder).join(link).exists() {
                broken.push(format!("{}: {link}", document.path));
            }
        }
    }
    none("a link leads somewhere", &broken);
}

/// Targets of Markdown links inside the repository, without their anchors.
fn links(text: &str) -> Vec<&str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|link| !link.contains("://") && !link.starts_with('#'))
        .map(|link| link.split('#').next().unwrap_or(link))
        .collect()
}

#[test]
fn ci_runs_the_test_command_of_the_readme() {
    let command = "RG_REQUIRE=1 cargo xtask test";
    assert!(file(".ci/run").text.ends_with(&format!("\n{command}\n")));
    assert!(file("README.md").text.contains(command));
}

#[test]
fn every_code_block_of_a_document_says_its_language() {
    let mut broken = Vec::new();
    for document in documents() {
        let mut open = false;
        for (number, line) in document.lines() {
            if line.trim_start().starts_with("```") {
                open = !open;
                if open && line.trim() == "```" {
                    broken.push(document.at(number, line));
                }
            }
        }
        assert!(!open, "{}: a code block is not closed", document.path);
    }
    none("```sh, ```text, ```toml, ... or ```rust, which is compiled", &broken);
}

#[test]
fn commands_and_links_are_found_in_a_text() {
    let text = "Run `cargo xtask demo`, see [it](a/b.md#c) and [there](https://x.org/y).";
    assert_eq!(words_after(text, "cargo xtask "), ["demo"]);
    assert_eq!(links(text), ["a/b.md"]);
    assert_eq!(flags("`--seed 1` and a -- dash"), ["seed"]);
}
