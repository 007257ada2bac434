//! The binary, told by signals: another plugin takes over, or is refused; the journal is told.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rebalance_guard_host::plugin::Digest;
use rebalance_guard_tests::kafka::{eventually, signal, unique};
use rebalance_guard_tests::plugin::{bytes, digest};

use super::Stage;

/// `run` on a stage, its effects and its log in a folder of its own.
struct Gateway {
    stage: Stage,
    child: Child,
    folder: PathBuf,
}

impl Gateway {
    fn start(name: &str, engine: &str) -> Self {
        let stage = Stage::new(name, 1);
        let folder = std::env::temp_dir().join(unique(name));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = |name: &str| folder.join(name).display().to_string();
        let mut run = Command::new(env!("CARGO_BIN_EXE_gateway"));
        run.args(["run", "--bootstrap", &stage.bootstrap, "--topic", &stage.topic]);
        run.args(["--group", &stage.group, "--guard", "key_policy=optional"]);
        run.args(["--set", "session.timeout.ms=6000", "--engine", engine]);
        if engine == "plugin" {
            std::fs::write(file("guard.wasm"), bytes()).expect("the plugin's file");
            let sha256 = digest().to_string();
            run.args(["--plugin", &file("guard.wasm"), "--plugin-sha256", &sha256]);
        }
        let to = |name: &str| File::create(file(name)).expect("a file");
        run.stdin(Stdio::null()).stdout(to("effects")).stderr(to("log"));
        let child = run.spawn().expect("the binary starts");
        Self { stage, child, folder }
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.folder.join(name), bytes).expect("a file");
    }

    fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    fn says(&self, times: usize, words: &str) {
        eventually(&format!("the log says {times} times: {words}\n{}", self.text("log")), || {
            self.text("log").matches(words).count() == times
        });
    }

    /// So many more records take effect, each once.
    fn works_on(&self, before: u32, more: u32) {
        self.stage.produce(before, more);
        eventually("all took effect", || {
            self.text("effects").lines().count() == (before + more) as usize
        });
    }

    /// Stops it in order; everything was done and committed.
    fn leaves(mut self, records: i64) {
        self.signal("-TERM");
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0), "{}", self.text("log"));
        assert_eq!(self.stage.committed(), [Some(records)]);
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The plugin with a section behind it that means nothing: other bytes, the same guard.
fn another_build() -> Vec<u8> {
    let named_x = [0, 2, 1, b'x'];
    [bytes(), &named_x].concat()
}

#[test]
fn on_sighup_the_new_plugin_file_takes_over_and_nothing_runs_twice() {
    let gateway = Gateway::start("swap", "plugin");
    gateway.works_on(0, 20);
    let build = another_build();
    gateway.write("guard.wasm", &build);
    gateway.write("guard.wasm.sha256", format!("{}  guard.wasm\n", Digest::of(&build)));
    gateway.signal("-HUP");
    gateway.says(1, "another engine took over, nothing lost");
    let (from, to) = (digest().short(), Digest::of(&build).short());
    let log = gateway.text("log");
    assert!(log.contains(&format!("from=plugin {from} to=plugin {to}")), "{log}");
    gateway.works_on(20, 20);
    gateway.leaves(40);
}

#[test]
fn on_sighup_a_file_without_its_own_sha256_is_refused_and_the_running_plugin_goes_on() {
    let gateway = Gateway::start("unpinned", "plugin");
    gateway.works_on(0, 20);
    gateway.write("guard.wasm", another_build());
    gateway.signal("-HUP");
    gateway.says(1, "the running plugin stays");
    // The same file as at the start may be given again.
    gateway.write("guard.wasm", bytes());
    gateway.signal("-HUP");
    gateway.says(1, "another engine took over, nothing lost");
    gateway.works_on(20, 20);
    gateway.leaves(40);
}

#[test]
fn on_sighup_what_is_no_plugin_is_refused_and_the_running_plugin_goes_on() {
    let gateway = Gateway::start("broken", "plugin");
    gateway.works_on(0, 20);
    let cut = &bytes()[..bytes().len() / 2];
    gateway.write("guard.wasm", cut);
    gateway.write("guard.wasm.sha256", Digest::of(cut).to_string());
    gateway.signal("-HUP");
    gateway.says(1, "the running plugin stays");
    gateway.write("guard.wasm.sha256", "");
    gateway.signal("-HUP");
    gateway.says(2, "the running plugin stays");
    std::fs::remove_file(gateway.folder.join("guard.wasm")).expect("it was there");
    gateway.write("guard.wasm.sha256", digest().to_string());
    gateway.signal("-HUP");
    gateway.says(3, "the running plugin stays");
    gateway.works_on(20, 20);
    gateway.leaves(40);
}

#[test]
fn on_sighup_the_native_guard_stays_and_on_sigusr1_its_journal_is_told() {
    let gateway = Gateway::start("journal", "native");
    gateway.works_on(0, 20);
    gateway.signal("-HUP");
    gateway.says(1, "only a plugin file can be reloaded");
    gateway.signal("-USR1");
    let assigned = format!("topic=\"{}\" partition=0 assignment=", gateway.stage.topic);
    gateway.says(1, &assigned);
    let log = gateway.text("log");
    let told = log.lines().find(|line| line.contains(&assigned)).unwrap_or_default();
    assert!(told.contains("journal") && told.contains("event=assigned"), "{told}");
    gateway.works_on(20, 20);
    gateway.leaves(40);
}
