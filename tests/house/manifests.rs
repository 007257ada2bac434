//! What depends on what, and why.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::none;
use crate::tree::{File, file, files};

/// A package's folder, and the workspace's packages that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("wasm", &["rebalance-guard"]),
    ("wasm/js", &["rebalance-guard"]),
    ("sim", &["rebalance-guard"]),
    ("host/fence", &[]),
    ("host", &["rebalance-guard", "rebalance-guard-fence", "rebalance-guard-sim"]),
    ("benches", &["rebalance-guard", "rebalance-guard-host", "rebalance-guard-sim"]),
    (
        "tests",
        &[
            "rebalance-guard",
            "rebalance-guard-host",
            "rebalance-guard-fence",
            "rebalance-guard-sim",
        ],
    ),
    ("tests/core", &["rebalance-guard", "rebalance-guard-sim", "rebalance-guard-wasm"]),
    ("fuzz", &["rebalance-guard", "rebalance-guard-core-tests"]),
    ("xtask", &[]),
    ("xtask/js-glue", &[]),
];
/// All that the core may use of others.
const CORE_USES: &[&str] = &["heapless", "siphasher"];

fn manifests() -> Vec<File> {
    files().into_iter().filter(File::is_manifest).collect()
}

fn parsed(file: &File) -> Table {
    file.text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.path))
}

/// Every dependency of every kind, with what is asked of it.
fn dependencies(table: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, value) in table {
        match value {
            Value::Table(inner) if name.ends_with("dependencies") => {
                found.extend(inner.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
            Value::Table(inner) => found.extend(dependencies(inner)),
            _ => {}
        }
    }
    found
}

fn names_of(folder: &str) -> Vec<String> {
    let table = parsed(&file(&format!("{folder}/Cargo.toml")));
    dependencies(&table).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn no_arrow_points_the_wrong_way() {
    let mut broken = Vec::new();
    for (folder, allowed) in ARROWS {
        for name in names_of(folder) {
            if name.starts_with("rebalance-guard") && !allowed.contains(&name.as_str()) {
                broken.push(format!("{folder} depends on {name}"));
            }
        }
    }
    none("core <- wasm, host, sim; sim <- host; all <- tests, benches", &broken);
}

#[test]
fn every_package_has_its_arrows_listed() {
    let broken: Vec<String> = manifests()
        .iter()
        .filter_map(|file| file.path.strip_suffix("/Cargo.toml"))
        .filter(|folder| !ARROWS.iter().any(|(listed, _)| listed == folder))
        .map(str::to_owned)
        .collect();
    none("a new package says what it may depend on", &broken);
}

#[test]
fn the_core_uses_nothing_that_is_not_listed() {
    let broken: Vec<String> =
        names_of("core").into_iter().filter(|name| !CORE_USES.contains(&name.as_str())).collect();
    none("the core stays small enough to be read whole", &broken);
}

#[test]
fn every_dependency_says_what_it_is_for() {
    let broken: Vec<String> = manifests().iter().flat_map(unexplained).collect();
    none("a few words above each dependency", &broken);
}

/// Dependencies without a comment right above. The workspace's own need none.
fn unexplained(file: &File) -> Vec<String> {
    let mut inside = false;
    let mut above = "";
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        if line.starts_with('[') {
            inside = line.contains("dependencies");
        } else if inside && is_entry(line) && !above.starts_with('#') {
            found.push(file.at(number, line));
        }
        above = line;
    }
    found
}

fn is_entry(line: &str) -> bool {
    let own = line.starts_with("rebalance-guard");
    line.starts_with(|c: char| c.is_ascii_alphabetic()) && line.contains('=') && !own
}

#[test]
fn a_dependency_of_two_packages_has_one_version() {
    let mut versions: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for file in manifests() {
        for (name, value) in dependencies(&parsed(&file)) {
            if let Some(version) = version(&value) {
                let users = versions.entry(name).or_default().entry(version).or_default();
                users.push(file.path.clone());
            }
        }
    }
    let broken: Vec<String> = versions
        .iter()
        .filter(|(_, versions)| versions.len() > 1)
        .map(|(name, versions)| format!("{name}: {versions:?}"))
        .collect();
    none("one version, one build, one behaviour", &broken);
}

fn version(value: &Value) -> Option<String> {
    let version = value.as_table().map_or(Some(value), |table| table.get("version"))?;
    version.as_str().map(str::to_owned)
}

#[test]
fn what_the_boundary_was_tested_against_is_pinned() {
    let host = parsed(&file("host/Cargo.toml"));
    let exact = |name: &str| {
        let found = dependencies(&host).into_iter().find(|(other, _)| other == name);
        let version = found.and_then(|(_, value)| version(&value));
        assert!(version.as_deref().is_some_and(|v| v.starts_with('=')), "{name}: {version:?}");
    };
    exact("wasmtime");
    exact("rdkafka");
    exact("rdkafka-sys");
}

#[test]
fn every_package_takes_the_licence_of_the_workspace() {
    let workspace = file("Cargo.toml");
    assert!(workspace.text.contains("license = \"MIT OR Apache-2.0\""));
    assert!(file("LICENSE-MIT").text.starts_with("MIT License"));
    assert!(file("LICENSE-APACHE").text.contains("Apache License"));
    let broken: Vec<String> = manifests()
        .iter()
        .filter(|file| file.text.contains("[package]"))
        .filter(|file| !file.text.contains("license.workspace = true"))
        .map(|file| file.path.clone())
        .collect();
    none("license.workspace = true", &broken);
}

#[test]
fn an_unexplained_dependency_is_found() {
    let text = "[dependencies]\n# Why.\na = \"1\"\nb = \"1\"\nrebalance-guard.workspace = true\n";
    let file = File { path: "x/Cargo.toml".to_owned(), text: text.to_owned() };
    assert_eq!(unexplained(&file), ["x/Cargo.toml:4: b = \"1\""]);
}
