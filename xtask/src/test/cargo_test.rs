//! `cargo test`, looked at: which tests ran.

use std::process::Command;

use anyhow::Result;

use super::Part;
use super::run::Run;
use crate::shell;

/// Runs the tests of the part that was asked for, or all.
pub(super) fn run(run: &mut Run<'_>) -> Result<()> {
    let mut cargo = run.cargo(&["test", "--no-fail-fast"])?;
    cargo.args(selection(run.part));
    match run.kafka() {
        Some(library) => cargo.env("RG_KAFKA_LIB", library),
        None => cargo.env_remove("RG_KAFKA_LIB"),
    };
    if run.quick() {
        // What was asked to be left out is not required.
        cargo.env_remove("RG_REQUIRE");
    }
    // What the tests say: which broker they met, which traces they ran.
    cargo.args(["--", "--show-output"]);
    run_cargo(run, &mut cargo, "")
}

/// Runs `cargo` and notes what it ran, each name behind `prefix`.
pub(super) fn run_cargo(run: &mut Run<'_>, cargo: &mut Command, prefix: &str) -> Result<()> {
    let mut reading = Reading::default();
    let outcome = shell::run_and_look(cargo, &mut |line| {
        if let Some(name) = reading.test_that_ran(line) {
            run.ran.insert(format!("{prefix}{name}"));
        }
    });
    println!("{} tests ran so far", run.ran.len());
    outcome
}

/// What cargo is told for each part.
fn selection(part: Option<Part>) -> &'static [&'static str] {
    const OURS: &str = "--package=rebalance-guard-tests";
    const CORES: &str = "--package=rebalance-guard-core-tests";
    match part {
        Some(Part::Core) => &["--package=rebalance-guard"],
        Some(Part::Host) => &["--package=rebalance-guard-host", "--package=rebalance-guard-fence"],
        Some(Part::Sim) => {
            const SIM: &str = "--package=rebalance-guard-sim";
            &[SIM, CORES, "--lib", "--test=simulation", "--test=corpus"]
        }
        Some(Part::Style) => &[OURS, "--test=house"],
        Some(Part::Plugin) => &["--package=rebalance-guard-wasm", OURS, "--lib", "--test=plugin"],
        Some(Part::Scenarios) => &[CORES, "--test=scenarios"],
        Some(Part::Mock) => &[OURS, "--test=mock_cluster"],
        Some(Part::Kafka) => &[OURS, "--test=kafka", "--test=run"],
        Some(Part::Docs | Part::Fence | Part::Js) | None => &["--workspace"],
    }
}

/// Reads cargo's and libtest's lines.
#[derive(Debug, Default)]
struct Reading {
    /// The program whose tests are running.
    program: String,
}

impl Reading {
    /// The full name of the test that `line` reports, unless it was ignored.
    fn test_that_ran(&mut self, line: &str) -> Option<String> {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("Running ") {
            self.program = program(rest)?;
            return None;
        }
        if let Some(library) = line.strip_prefix("Doc-tests ") {
            self.program = format!("doc:{library}");
            return None;
        }
        let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
        if outcome.starts_with("ignored") {
            return None;
        }
        Some(format!("{}::{}", self.program, without_place(name)))
    }
}

/// `unittests src/main.rs (target/debug/deps/name-0123)` is `name-bin`, other files' `name`.
fn program(running: &str) -> Option<String> {
    let (source, file) = running.strip_suffix(')')?.rsplit_once(" (")?;
    let file = file.rsplit(['/', '\\']).next()?;
    let name = file.rsplit_once('-').map_or(file, |(name, _hash)| name);
    let bin = if source.ends_with("src/main.rs") { "-bin" } else { "" };
    Some(format!("{name}{bin}"))
}

/// Without what moves when a line is added above: `(line 23)`, and the mode after it.
fn without_place(name: &str) -> &str {
    name.split(" (line ").next().unwrap_or(name).trim_end()
}

#[cfg(test)]
mod tests {
    use super::Reading;

    fn names(lines: &[&str]) -> Vec<String> {
        let mut reading = Reading::default();
        lines.iter().filter_map(|line| reading.test_that_ran(line)).collect()
    }

    #[test]
    fn a_test_is_named_after_its_program() {
        let lines = [
            "     Running unittests src/lib.rs (target/debug/deps/rebalance_guard-01ab)",
            "running 2 tests",
            "test keys::a_key_is_kept ... ok",
            "     Running unittests src/main.rs (/t/debug/deps/rebalance_guard-9f)",
            "test a_flag ... FAILED",
            "     Running house/main.rs (target/debug/deps/house-9f)",
            "test lines_are_short ... ok",
        ];
        let expected = [
            "rebalance_guard::keys::a_key_is_kept",
            "rebalance_guard-bin::a_flag",
            "house::lines_are_short",
        ];
        assert_eq!(names(&lines), expected);
    }

    #[test]
    fn an_ignored_test_did_not_run() {
        let lines = [
            "test a ... ignored",
            "test b ... ignored, why",
            "test result: ok. 0 passed; 2 ignored",
        ];
        assert_eq!(names(&lines), Vec::<String>::new());
    }

    #[test]
    fn a_document_test_has_no_line_number() {
        let lines = [
            "   Doc-tests rebalance_guard",
            "test core/src/guard.rs - guard::Guard (line 23) ... ok",
            "test core/src/lib.rs - (line 7) - compile ... ok",
        ];
        let expected = [
            "doc:rebalance_guard::core/src/guard.rs - guard::Guard",
            "doc:rebalance_guard::core/src/lib.rs -",
        ];
        assert_eq!(names(&lines), expected);
    }

    #[test]
    fn words_of_the_test_behind_its_name_do_not_hide_it() {
        assert_eq!(names(&["test a ... broker 4.3.1, cluster x"]), ["::a"]);
    }
}
