//! The list of field reports names files and tests that exist, and leaves few out.

use std::collections::BTreeSet;

use crate::none;
use crate::tree::{file, files};

struct Row {
    id: String,
    reports: String,
    here: String,
}

fn rows() -> Vec<Row> {
    let text = file("docs/field-reports.md").text;
    let rows = text.lines().filter(|line| line.starts_with("| B"));
    rows.map(|line| {
        let mut cells = line.split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned());
        let mut next = || cells.next().expect("three columns");
        Row { id: next(), reports: next(), here: next() }
    })
    .collect()
}

/// What stands between backquotes.
fn named(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_file_and_test_named_in_the_list_of_field_reports_exists() {
    let rows = rows();
    assert_eq!(rows.len(), 99);
    let paths: BTreeSet<String> = files().into_iter().map(|file| file.path).collect();
    let mut broken = Vec::new();
    for Row { id, here, .. } in &rows {
        for name in named(here) {
            let there = match name.split_once("::") {
                Some((suite, module)) => paths.contains(&format!("tests/{suite}/{module}.rs")),
                None if name.ends_with(".jsonl") => paths.contains(&format!("tests/traces/{name}")),
                None => true,
            };
            if !there {
                broken.push(format!("{id}: {name}"));
            }
        }
    }
    none("name what is there", &broken);
}

#[test]
fn every_trace_of_a_field_report_stands_in_the_list() {
    let text = file("docs/field-reports.md").text;
    let traces = files().into_iter().filter_map(|file| {
        let name = file.path.strip_prefix("tests/traces/b")?.to_owned();
        Some(format!("b{name}"))
    });
    let missing: Vec<String> = traces.filter(|name| !text.contains(&format!("`{name}`"))).collect();
    none("docs/field-reports.md lists it", &missing);
}

#[test]
fn each_field_report_cites_a_public_one_and_at_most_ten_have_no_trace_or_test() {
    let rows = rows();
    let without = |row: &&Row| !row.here.contains(".jsonl") && !row.here.contains("::");
    let reasons: Vec<_> = rows.iter().filter(without).map(|row| row.id.clone()).collect();
    assert!(reasons.len() <= 10, "{reasons:?}");
    let uncited = rows.iter().filter(|row| row.reports.len() < 4);
    assert_eq!(uncited.map(|row| row.id.clone()).collect::<Vec<_>>(), Vec::<String>::new());
}
