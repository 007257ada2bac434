//! What no file may contain.

use crate::none;
use crate::tree::{File, files};

/// Written in halves, so that this file does not break its own rule.
const LEFTOVERS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("dbg", "!("),
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("#[ig", "nore"),
    concat!("This is", " a placeholder"),
];

/// Folders of one machine; the repository works on any.
const MACHINES: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/tmp/ba", "sh_jobs"),
    concat!("/ro", "ot/"),
    concat!("/fa", "rm/"),
    concat!("/ho", "me/"),
];

/// Notes that are not part of the repository.
const ABSENT: &[&str] = &[
    concat!("kafka-f", "acts"),
    concat!("wasm-f", "acts"),
    concat!("design", ".md"),
    concat!("field-", "reports"),
    concat!("performance", ".md"),
    concat!("style", ".md"),
    concat!("api-", "sketch"),
    concat!("trace-", "format.md"),
];

/// Documents of the repository whose names are also those of such notes.
const DOCUMENTS: &[&str] = &["docs/field-reports.md", "docs/trace-format.md"];

fn containing(words: &[&str], file: &File) -> Vec<String> {
    file.lines()
        .filter(|(_, line)| words.iter().any(|word| line.contains(word)))
        .map(|(number, line)| file.at(number, line))
        .collect()
}

#[test]
fn no_leftover_stays_in_a_file() {
    let broken: Vec<String> = files()
        .iter()
        // A licence is quoted, a lock file written by cargo.
        .filter(|file| !file.path.starts_with("LICENSE") && !file.path.ends_with(".lock"))
        .flat_map(|file| containing(LEFTOVERS, file))
        .collect();
    none("finish it or open an issue; the tree holds no leftovers", &broken);
}

#[test]
fn no_file_names_a_folder_of_one_machine() {
    let broken: Vec<String> = files().iter().flat_map(|file| containing(MACHINES, file)).collect();
    none("paths are relative or made at run time", &broken);
}

#[test]
fn no_file_cites_what_a_reader_does_not_have() {
    let mut broken = Vec::new();
    for file in files() {
        for (number, line) in file.lines() {
            // What `docs/` holds is here, whatever its name is elsewhere.
            let rest = DOCUMENTS.iter().fold(line.to_owned(), |rest, here| rest.replace(here, ""));
            if ABSENT.iter().any(|word| rest.contains(word)) {
                broken.push(file.at(number, line));
            }
        }
    }
    none("say it here, or cite something public", &broken);
}

#[test]
fn every_sleep_says_why_above_it() {
    let sleep = concat!("thread::", "sleep(");
    let mut broken = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (number, line) in file.lines().filter(|(_, line)| line.contains(sleep)) {
            let above = &lines[number.saturating_sub(4)..number];
            if !above.iter().any(|line| line.contains("// ")) {
                broken.push(file.at(number, line));
            }
        }
    }
    none("a sleep is no synchronization: say in a comment what bounds it and why", &broken);
}

#[test]
fn every_line_of_rust_fits_a_hundred_columns() {
    let mut broken = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let long = file.lines().filter(|(_, line)| line.chars().count() > 100);
        broken.extend(long.map(|(number, line)| file.at(number, line)));
    }
    none("at most 100 columns", &broken);
}

#[test]
fn no_test_is_called_a_test() {
    let mut broken = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (number, line) in file.lines() {
            let tested = number > 1 && lines[number - 2].trim().starts_with("#[test]");
            if tested && line.contains(concat!("fn te", "st_")) {
                broken.push(file.at(number, line));
            }
        }
    }
    none("a test's name is a sentence that says what holds", &broken);
}

#[test]
fn the_words_are_found_where_they_are() {
    let text = format!("fine\nlet x = {}x);\n", LEFTOVERS[3]);
    let file = File { path: "a.rs".to_owned(), text };
    assert_eq!(containing(LEFTOVERS, &file), [format!("a.rs:2: let x = {}x);", LEFTOVERS[3])]);
    assert!(containing(MACHINES, &file).is_empty());
}
