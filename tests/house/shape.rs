//! Sizes: small files, small functions.

use crate::none;
use crate::tree::{File, file, files};

/// Lines of a file above its tests.
const LINES_MAX: usize = 400;
/// The crates that are read to be understood; a test file is read one test at a time.
const PRODUCT: &[&str] = &[
    "core/src/",
    "host/src/",
    "host/fence/src/",
    "sim/src/",
    "wasm/src/",
    "wasm/js/src/",
    "xtask/src/",
    "xtask/js-glue/src/",
];

fn lines_without_tests(text: &str) -> usize {
    let tests = |line: &str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
    text.lines().take_while(|line| !tests(line)).count()
}

fn is_product(file: &File) -> bool {
    let tests = file.path.ends_with("/tests.rs") || file.path.contains("/tests/");
    file.is_rust() && !tests && PRODUCT.iter().any(|folder| file.path.starts_with(folder))
}

#[test]
fn no_file_of_the_product_is_longer_than_400_lines_without_tests() {
    let broken: Vec<String> = files()
        .iter()
        .filter(|file| is_product(file))
        .map(|file| (lines_without_tests(&file.text), &file.path))
        .filter(|(lines, _)| *lines > LINES_MAX)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    none("split it by concern before 400 lines", &broken);
}

#[test]
fn no_function_is_longer_than_70_lines() {
    // Clippy counts them; here stands that it is asked to, everywhere.
    assert!(file("clippy.toml").text.contains("too-many-lines-threshold = 70"));
    let word = concat!("too_many", "_lines");
    let allowed: Vec<String> = files()
        .iter()
        // A table of cases in a test reads best in one piece.
        .filter(|file| is_product(file))
        .flat_map(|file| {
            let lines = file.lines().filter(|(_, line)| line.contains(word));
            lines.map(|(number, line)| file.at(number, line)).collect::<Vec<_>>()
        })
        .collect();
    none("no function is excused from the limit", &allowed);
    let broken: Vec<String> = files()
        .iter()
        .filter(|file| file.is_manifest() && file.text.contains("[package]"))
        .filter(|file| {
            !file.text.contains("[lints]\nworkspace = true") && !file.text.contains(word)
        })
        .map(|file| file.path.clone())
        .collect();
    none("each package takes the workspace's lints, or names the limit itself", &broken);
}

#[test]
fn every_file_of_rust_begins_with_what_it_is() {
    let broken: Vec<String> = files()
        .iter()
        .filter(|file| is_product(file) && !file.text.starts_with("//!"))
        .map(|file| file.path.clone())
        .collect();
    none("the first line of a file says what it holds", &broken);
}

#[test]
fn tests_at_the_end_of_a_file_do_not_count() {
    assert_eq!(lines_without_tests("//! a\nfn f() {}\n#[cfg(test)]\nmod tests {\n}\n"), 2);
    assert_eq!(lines_without_tests("//! a\nfn f() {}\n"), 2);
}
