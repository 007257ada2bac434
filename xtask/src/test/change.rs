//! Whether the tests notice when a line of the core that was changed is wrong: its mutants.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::run::Run;
use crate::mutants;

/// Where a change begins, if not where the branch left the main one: any name that git knows.
const BASE: &str = "RG_BASE";

/// Tries the mutants of the change.
pub(super) fn run(run: &mut Run<'_>) -> Result<()> {
    let root = run.workspace.root();
    let Some(base) = base(root)? else {
        println!("where the change begins is not known here; say it with {BASE}=COMMIT");
        return Ok(());
    };
    let base = base.trim();
    let diff = git(root, &["diff", base, "--", "core/src"])?;
    if diff.is_empty() {
        println!("no line of the core changed since {base}");
        return Ok(());
    }
    let folder = run.workspace.target().join("mutants");
    fs::create_dir_all(&folder).context("no folder for the change")?;
    let file = folder.join("change.diff");
    fs::write(&file, diff).context("the change cannot be written")?;
    mutants::of_change(run.workspace, &file)
}

/// Where the branch left the main one; on the main one itself, the commit before the last.
fn base(root: &Path) -> Result<Option<String>> {
    if let Ok(base) = env::var(BASE)
        && !base.is_empty()
    {
        return Ok(Some(git(root, &["rev-parse", "--verify", &base])?));
    }
    let head = git(root, &["merge-base", "HEAD", "HEAD"])?;
    let left = git(root, &["merge-base", "HEAD", "origin/HEAD"]).ok();
    let before = || git(root, &["rev-parse", "--verify", "--quiet", "HEAD^"]).ok();
    Ok(left.filter(|left| *left != head).or_else(before))
}

/// What git prints.
fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(root).args(arguments).output();
    let output = output.context("git could not be started")?;
    if !output.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
