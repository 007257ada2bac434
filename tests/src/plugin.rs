//! The built plugin, for tests: its bytes, loaded once, and an engine as a subject of traces.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs};

use rebalance_guard::{
    Input, InputError, Output, Partition, Progress, Record, Reply, Storm, Tick, Ticket, Verdict,
    Waiting,
};
use rebalance_guard_host::engine::Engine;
use rebalance_guard_host::plugin::{Digest, Limits, Plugin};
use rebalance_guard_sim::Subject;

/// The plugin's bytes: the file that `RG_PLUGIN_WASM` names, else built once.
///
/// # Panics
/// There is no such file, or the plugin cannot be built.
pub fn bytes() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let file = match env::var_os("RG_PLUGIN_WASM") {
            Some(file) if !file.is_empty() => PathBuf::from(file),
            _ => build(),
        };
        fs::read(&file).unwrap_or_else(|error| {
            panic!("{}: {error}; build it with `cargo xtask wasm`", file.display())
        })
    })
}

/// A folder of its own, so that the cargo that runs the tests is not in its way.
fn build() -> PathBuf {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let target = root.join(target).join("plugin/build");
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root)
        .args(["build", "--quiet", "--package", "rebalance-guard-wasm", "--profile", "plugin"])
        .args(["--target", "wasm32v1-none", "--target-dir"])
        .arg(&target)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()
        .expect("cargo can be started");
    assert!(
        status.success(),
        "the plugin cannot be built; its target comes with `rustup target add wasm32v1-none`"
    );
    target.join("wasm32v1-none/plugin/rebalance_guard_wasm.wasm")
}

/// Its sha256.
pub fn digest() -> Digest {
    Digest::of(bytes())
}

/// Time enough for a call on a machine that is busy with other tests.
pub fn patient() -> Limits {
    Limits { call_timeout: Duration::from_secs(60), ..Limits::default() }
}

/// The plugin, loaded once.
///
/// # Panics
/// The gate refuses it.
pub fn plugin() -> &'static Plugin {
    static PLUGIN: OnceLock<Plugin> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        Plugin::load(bytes(), &digest(), patient()).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// An engine that a trace can be run on.
#[derive(Debug)]
pub struct EngineSubject<E>(pub E);

/// A subject has no way to die: a dead engine ends the test.
fn alive<T>(answer: Result<T, rebalance_guard_host::engine::EngineDead>) -> T {
    answer.unwrap_or_else(|dead| panic!("{dead}"))
}

impl<E: Engine> Subject for EngineSubject<E> {
    fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        // The hot calls have exports of their own, which a trace must reach too.
        match input {
            Input::Admit(record) if record.offset.value() % 2 == 0 => {
                Ok(Reply::Verdict(alive(self.0.admit(now, &record))))
            }
            Input::Answer { ticket, outcome } if ticket.sequence().is_multiple_of(2) => {
                Ok(Reply::Answered(alive(self.0.answer(now, ticket, outcome))))
            }
            _ => alive(self.0.handle(now, input)),
        }
    }

    fn admit_batch(&mut self, now: Tick, records: &[Record<'_>]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        alive(self.0.admit_batch(now, records, &mut verdicts));
        verdicts
    }

    fn handle_timeout(&mut self, now: Tick) {
        alive(self.0.handle_timeout(now));
    }

    fn poll_output(&mut self) -> Option<Output> {
        alive(self.0.poll_output())
    }

    fn poll_timeout(&mut self) -> Option<Tick> {
        alive(self.0.poll_timeout())
    }

    fn is_live(&mut self, ticket: Ticket) -> bool {
        alive(self.0.is_live(ticket))
    }

    fn progress(&mut self, partition: Partition) -> Option<Progress> {
        alive(self.0.progress(partition))
    }

    fn commit_metadata(&mut self, partition: Partition) -> Vec<u8> {
        alive(self.0.commit_metadata(partition))
    }

    fn waiting(&mut self) -> Option<Waiting> {
        alive(self.0.waiting())
    }

    fn in_flight(&mut self) -> u32 {
        alive(self.0.in_flight())
    }

    fn snapshot(&mut self) -> Option<Vec<u8>> {
        alive(self.0.snapshot())
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool {
        alive(self.0.restore(now, snapshot))
    }

    fn storm(&mut self) -> Storm {
        alive(self.0.storm())
    }
}
