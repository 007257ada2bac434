//! `tests/cases.txt`: the tests that must exist and run. A test that vanished is a failure; a
//! renamed one is a change that somebody looked at.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};

use super::run::Run;

const HEAD: &str = "# Tests that must exist and run, one a line.\n\
                    # Written by: cargo xtask test --update-cases\n";

/// Compares what ran with the list, or writes the list.
pub(super) fn run(run: &mut Run<'_>) -> Result<()> {
    let file = run.workspace.root().join("tests/cases.txt");
    if run.update_cases {
        fs::write(&file, text(&run.ran))
            .with_context(|| format!("{} not written", file.display()))?;
        println!("{} cases written to {}", run.ran.len(), file.display());
        return Ok(());
    }
    let listed =
        fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let listed = names(&listed);
    let news = run.ran.iter().filter(|name| !listed.contains(name.as_str())).count();
    println!("{} cases listed, {} ran, {news} of them not listed yet", listed.len(), run.ran.len());
    compare(&listed, &run.ran)
}

fn compare(listed: &BTreeSet<&str>, ran: &BTreeSet<String>) -> Result<()> {
    if listed.is_empty() {
        bail!("the list of cases is empty: cargo xtask test --update-cases writes it");
    }
    let missing: Vec<&str> = listed.iter().copied().filter(|name| !ran.contains(*name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "{} listed tests did not run: {} (renamed or removed on purpose: cargo xtask test \
         --update-cases)",
        missing.len(),
        missing.join(", ")
    )
}

fn names(text: &str) -> BTreeSet<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

fn text(ran: &BTreeSet<String>) -> String {
    ran.iter().fold(HEAD.to_owned(), |text, name| text + name + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_was_written_is_what_is_read() {
        let ran = set(&["a::x", "b::y"]);
        assert_eq!(names(&text(&ran)), BTreeSet::from(["a::x", "b::y"]));
    }

    #[test]
    fn a_missing_case_is_named() {
        let error = compare(&BTreeSet::from(["a", "b", "c"]), &set(&["b", "d"])).expect_err("gone");
        assert!(error.to_string().starts_with("2 listed tests did not run: a, c ("), "{error}");
    }

    #[test]
    fn a_new_case_is_no_failure() {
        assert!(compare(&BTreeSet::from(["a"]), &set(&["a", "new"])).is_ok());
    }

    #[test]
    fn an_empty_list_proves_nothing() {
        assert!(compare(&BTreeSet::new(), &set(&["a"])).is_err());
    }
}
