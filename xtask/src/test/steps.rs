//! The steps: what each one proves.

use anyhow::Result;

use super::Part::{self, Core, Docs, Fence, Host, Js, Kafka, Mock, Plugin, Scenarios, Sim, Style};
use super::run::Run;
use super::{cargo_test, cases, change};
use crate::{js, kafka, shell, toolchain, wasm};

/// One step.
pub(super) struct Step {
    pub(super) name: &'static str,
    /// The parts it belongs to.
    pub(super) parts: &'static [Part],
    /// Left out by --quick.
    pub(super) slow: bool,
    pub(super) act: fn(&mut Run<'_>) -> Result<()>,
}

/// The cheap ones first.
pub(super) fn all() -> Vec<Step> {
    let tested = &[Style, Core, Plugin, Host, Sim, Scenarios, Mock, Kafka];
    vec![
        step("format", &[Style], format),
        step("the core on bare metal and WebAssembly", &[Core], bare_metal),
        step("the plugin", &[Plugin], plugin),
        step("lints", &[Style], lints),
        step("documents", &[Docs], documents),
        step("the package for Node and browsers", &[Js], package_for_js),
        slow("the broker's jars", &[Kafka], broker),
        slow("the fence, model-checked", &[Fence], fence),
        step("tests", tested, cargo_test::run),
        slow("the list of cases", &[], cases::run),
        slow("mutants of the change", &[], change::run),
    ]
}

fn step(name: &'static str, parts: &'static [Part], act: fn(&mut Run<'_>) -> Result<()>) -> Step {
    Step { name, parts, slow: false, act }
}

fn slow(name: &'static str, parts: &'static [Part], act: fn(&mut Run<'_>) -> Result<()>) -> Step {
    Step { name, parts, slow: true, act }
}

fn format(run: &mut Run<'_>) -> Result<()> {
    shell::run(&mut run.workspace.cargo(&["fmt", "--all", "--check"]))
}

fn bare_metal(run: &mut Run<'_>) -> Result<()> {
    toolchain::add_targets(toolchain::CORE)?;
    let mut cargo = run.workspace.cargo(&["build", "--package", "rebalance-guard", "--lib"]);
    for target in toolchain::CORE {
        cargo.args(["--target", target]);
    }
    shell::run(&mut cargo)
}

fn plugin(run: &mut Run<'_>) -> Result<()> {
    run.plugin()?;
    toolchain::add_targets(toolchain::COMPONENT)?;
    wasm::build_component(run.workspace.root(), run.workspace.target())?;
    Ok(())
}

fn lints(run: &mut Run<'_>) -> Result<()> {
    toolchain::need_c()?;
    let host = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    shell::run(&mut run.cargo(&host)?)?;
    let package = ["clippy", "--package", "rebalance-guard-wasm", "--target", "wasm32v1-none"];
    shell::run(run.cargo(&package)?.args(["--", "-D", "warnings"]))
}

fn documents(run: &mut Run<'_>) -> Result<()> {
    let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    shell::run(run.cargo(&arguments)?.env("RUSTDOCFLAGS", "-D warnings"))
}

fn package_for_js(run: &mut Run<'_>) -> Result<()> {
    if let Err(why) = js::need_node() {
        return run.skip("the tests of the package for Node and browsers", &why);
    }
    if let Err(why) = js::need_browser() {
        run.skip("the package in a browser", &why)?;
    }
    js::test(run.workspace)
}

fn broker(run: &mut Run<'_>) -> Result<()> {
    match kafka::fetch(run.workspace) {
        Ok(library) => {
            run.use_kafka(library);
            Ok(())
        }
        Err(why) => run.skip("the tests against a real broker", &why),
    }
}

/// Loom replaces the atomics by a flag of the whole build: its own folder, the fence alone.
fn fence(run: &mut Run<'_>) -> Result<()> {
    let target = run.workspace.target().join("loom");
    let arguments = ["test", "--package", "rebalance-guard-fence", "--release", "--target-dir"];
    let mut cargo = run.workspace.cargo(&arguments);
    cargo.arg(target).env("RUSTFLAGS", "--cfg loom");
    cargo_test::run_cargo(run, &mut cargo, "loom:")
}
