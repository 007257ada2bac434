//! Where things lie, and a cargo that builds there.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The checked-out workspace.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// The workspace that this program belongs to.
    pub(crate) fn find() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().context("xtask lies in no folder")?.to_path_buf();
        let target = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |given| root.join(given));
        Ok(Self { root, target })
    }

    /// The folder of the workspace's Cargo.toml.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where builds go.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Cargo, in the root, without what the cargo that started us left in the environment: a
    /// build script that looks at such a variable would otherwise run again each time.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(program);
        command.current_dir(&self.root).args(arguments);
        for (name, _) in env::vars_os() {
            if is_of_the_outer_cargo(&name.to_string_lossy()) {
                command.env_remove(name);
            }
        }
        command
    }
}

fn is_of_the_outer_cargo(name: &str) -> bool {
    const PREFIXES: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || matches!(name, "OUT_DIR" | "LD_LIBRARY_PATH" | "CARGO_PRIMARY_PACKAGE")
}

#[cfg(test)]
mod tests {
    use super::is_of_the_outer_cargo;

    #[test]
    fn the_outer_cargos_variables_are_told_from_the_users() {
        assert!(is_of_the_outer_cargo("CARGO_PKG_NAME"));
        assert!(is_of_the_outer_cargo("LD_LIBRARY_PATH"));
        assert!(!is_of_the_outer_cargo("CARGO_TARGET_DIR"));
        assert!(!is_of_the_outer_cargo("CARGO_HOME"));
    }
}
