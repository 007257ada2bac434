//! The package for Node and browsers: `target/js/`, built from wasm/js.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;
use crate::{shell, toolchain};

/// The oldest Node whose test runner and BigInts do.
const NODE_MIN: u32 = 20;

/// Builds the package; returns its folder.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    toolchain::add_targets(toolchain::COMPONENT)?;
    let folder = workspace.target().join("js");
    let build = folder.join("build");
    let arguments = ["build", "--locked", "--package", "rebalance-guard-js"];
    let mut cargo = workspace.cargo(&arguments);
    cargo
        .args(["--profile", "plugin", "--target", "wasm32-unknown-unknown", "--target-dir"])
        .arg(&build)
        // Flags meant for this machine's processor are no flags for the module.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    shell::run(&mut cargo)?;
    let module = build.join("wasm32-unknown-unknown/plugin/rebalance_guard_js.wasm");
    eprintln!("writing its JavaScript; the first time the generator (js-glue) is built");
    let mut glue = workspace.cargo(&["run", "--quiet", "--locked", "--package", "js-glue", "--"]);
    shell::run(glue.arg(&module).arg(&folder))?;
    let source = workspace.root().join("wasm/js");
    for name in ["package.json", "README.md", "player.mjs", "replay.mjs"] {
        copy(&source.join(name), &folder.join(name))?;
    }
    for kind in ["bundler", "web"] {
        let file = folder.join(kind).join("package.json");
        fs::write(&file, "{ \"type\": \"module\" }\n").context("no package.json")?;
    }
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("{} not copied", from.display()))?;
    Ok(())
}

/// Says what is missing for the package's tests.
pub(crate) fn need_node() -> Result<()> {
    let output = Command::new("node").arg("--version").output();
    let output = output.context("no Node: install it (Debian: apt-get install nodejs npm)")?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if major(&version).is_none_or(|major| major < NODE_MIN) {
        bail!("Node {NODE_MIN} or later is needed, this one is {version}");
    }
    shell::on_path("npm").context("no npm: install it (Debian: apt-get install npm)")?;
    Ok(())
}

/// Browsers that the package's tests know, by the names that wasm/js/test/browser.mjs looks for.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Says what is missing for its tests in a browser.
pub(crate) fn need_browser() -> Result<()> {
    if env::var_os("RG_BROWSER").is_some_and(|program| !program.is_empty()) {
        return Ok(());
    }
    let found = BROWSERS.iter().find_map(|name| shell::on_path(name));
    found.map(drop).context(
        "no Chromium: install one (Debian: apt-get install chromium), or name its program in \
         RG_BROWSER",
    )
}

fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Node's tests of the package, and its declarations under the TypeScript compiler.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    let package = build(workspace)?.canonicalize().context("no package")?;
    let mut cargo = workspace.cargo(&["build", "--locked", "--package", "rebalance-guard-host"]);
    shell::run(&mut cargo)?;
    let binary = workspace.target().join("debug/rebalance-guard").canonicalize();
    let binary = binary.context("no binary to compare with")?;
    let source = workspace.root().join("wasm/js");
    let tests = files(&source.join("test"), ".test.mjs")?;
    let mut node = Command::new("node");
    node.current_dir(&source).arg("--test").args(tests).env("RG_JS_PACKAGE", &package);
    node.env("RG_BINARY", &binary);
    shell::run(&mut node)?;
    let mut npm = Command::new("npm");
    shell::run(npm.current_dir(&source).args(["ci", "--no-audit", "--no-fund"]))?;
    let types = package.join("types-test");
    fs::create_dir_all(&types).context("no folder for the check of the types")?;
    for name in ["usage.ts", "tsconfig.json"] {
        copy(&source.join("test").join(name), &types.join(name))?;
    }
    let compiler = source.join("node_modules/typescript/bin/tsc");
    shell::run(Command::new("node").arg(compiler).arg("--project").arg(&types))
}

/// The files of `folder` that end so, by name.
fn files(folder: &Path, end: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(end) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn the_version_of_node_is_read() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("20.20.2"), None);
    }
}
