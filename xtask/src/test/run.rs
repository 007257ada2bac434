//! What the steps of one run share.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::Part;
use super::steps::Step;
use crate::workspace::Workspace;
use crate::{toolchain, wasm};

/// One run: what was asked for, what was built, what was seen.
pub(super) struct Run<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) part: Option<Part>,
    pub(super) update_cases: bool,
    /// Names of the tests that ran.
    pub(super) ran: BTreeSet<String>,
    quick: bool,
    plugin: Option<PathBuf>,
    kafka: Option<PathBuf>,
    skipped: Vec<String>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        part: Option<Part>,
        quick: bool,
        update_cases: bool,
    ) -> Self {
        let (ran, skipped) = (BTreeSet::new(), Vec::new());
        Self { workspace, part, update_cases, ran, quick, plugin: None, kafka: None, skipped }
    }

    /// Whether the step belongs to what was asked for.
    pub(super) fn wants(&self, step: &Step) -> bool {
        if self.quick && step.slow {
            return false;
        }
        match self.part {
            None => true,
            Some(part) => step.parts.contains(&part),
        }
    }

    /// Whether the slow steps are left out.
    pub(super) fn quick(&self) -> bool {
        self.quick
    }

    /// The plugin, built when it was not yet in this run.
    pub(super) fn plugin(&mut self) -> Result<PathBuf> {
        if let Some(plugin) = &self.plugin {
            return Ok(plugin.clone());
        }
        toolchain::add_targets(toolchain::PLUGIN)?;
        let plugin = wasm::build(self.workspace.root(), self.workspace.target())?;
        self.plugin = Some(plugin.clone());
        Ok(plugin)
    }

    /// Cargo with the plugin in its environment: always the same, so that nothing is built twice.
    pub(super) fn cargo(&mut self, arguments: &[&str]) -> Result<Command> {
        let plugin = self.plugin()?;
        let mut command = self.workspace.cargo(arguments);
        command.env(wasm::PLUGIN_VARIABLE, plugin);
        Ok(command)
    }

    /// The jars of the broker, if this run has any.
    pub(super) fn kafka(&self) -> Option<&Path> {
        self.kafka.as_deref()
    }

    /// Tells the tests where the broker's jars are.
    pub(super) fn use_kafka(&mut self, library: PathBuf) {
        self.kafka = Some(library);
    }

    /// Something cannot run here: a loud line, or an error when RG_REQUIRE=1 says that it must.
    pub(super) fn skip(&mut self, what: &str, why: &anyhow::Error) -> Result<()> {
        if required() {
            bail!("{what} must run (RG_REQUIRE is set) and cannot: {why:#}");
        }
        println!("SKIPPED: {what}: {why:#}");
        self.skipped.push(format!("{what}: {why:#}"));
        Ok(())
    }

    /// What was skipped.
    pub(super) fn skipped(&self) -> &[String] {
        &self.skipped
    }
}

fn required() -> bool {
    env::var("RG_REQUIRE").is_ok_and(|value| !matches!(value.as_str(), "" | "0"))
}
