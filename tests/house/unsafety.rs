//! Where `unsafe` may stand.

use crate::none;
use crate::tree::{File, file, files};

/// The plugin's memory and exports, and librdkafka's numbers that rdkafka does not wrap.
const PERMITTED: &[&str] = &["wasm/src/memory.rs", "wasm/src/exports.rs", "host/src/ffi.rs"];
/// Lines above a block in which its reason may stand.
const REASON_WITHIN: usize = 6;

/// The keyword in code: not in a comment, not as part of a longer name.
fn has_keyword(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    let parts = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    parts.into_iter().any(|word| word == concat!("un", "safe"))
}

/// A block, function or implementation; an attribute such as `no_mangle` needs no reason.
fn needs_reason(line: &str) -> bool {
    has_keyword(line) && !line.trim_start().starts_with("#[")
}

fn without_reason(file: &File) -> Vec<String> {
    let lines: Vec<&str> = file.text.lines().collect();
    let explained = |number: usize| {
        lines[number.saturating_sub(REASON_WITHIN + 1)..number]
            .iter()
            .any(|line| line.contains("// SAFETY:") || line.contains("/// # Safety"))
    };
    file.lines()
        .filter(|(number, line)| needs_reason(line) && !explained(*number))
        .map(|(number, line)| file.at(number, line))
        .collect()
}

#[test]
fn the_keyword_stands_in_three_files_alone() {
    let mut broken = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        if !PERMITTED.contains(&file.path.as_str()) {
            let lines = file.lines().filter(|(_, line)| has_keyword(line));
            broken.extend(lines.map(|(number, line)| file.at(number, line)));
        }
    }
    none("it belongs into one of the three files that are read for it", &broken);
}

#[test]
fn each_use_says_why_it_is_sound() {
    let broken: Vec<String> =
        PERMITTED.iter().flat_map(|path| without_reason(&file(path))).collect();
    none("a SAFETY line stands above it", &broken);
}

#[test]
fn the_core_and_the_simulator_forbid_it() {
    for path in ["core/src/lib.rs", "sim/src/lib.rs"] {
        let forbid = concat!("#![forbid(un", "safe_code)]");
        assert!(file(path).text.contains(forbid), "{path} does not say {forbid}");
    }
}

#[test]
fn names_and_comments_are_no_use_of_it() {
    let word = concat!("un", "safe");
    assert!(has_keyword(&format!("    {word} {{ run() }}")));
    assert!(!has_keyword(&format!("#![forbid({word}_code)]")));
    assert!(!has_keyword(&format!("// {word} here")));
    assert!(!needs_reason(&format!("#[{word}(no_mangle)]")));
}
