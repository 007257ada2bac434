//! Members as processes of the real binary.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rebalance_guard_host::clock;
use rebalance_guard_tests::kafka::signal;

/// One `rebalance-guard run`; its logs are in a file that failures show.
pub(crate) struct Member {
    pub(crate) name: String,
    child: Child,
    log: PathBuf,
}

impl Member {
    pub(crate) fn start(name: &str, folder: &Path, arguments: &[String]) -> Self {
        let log = folder.join(format!("{name}.log"));
        let child = Command::new(env!("CARGO_BIN_EXE_gateway"))
            .arg("run")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).expect("a file for its logs"))
            .spawn()
            .expect("the member starts");
        Self { name: name.to_owned(), child, log }
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Its exit code, once it ended.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let status = self.child.try_wait().expect("a child of ours")?;
        Some(status.code().unwrap_or(-1))
    }

    /// Waits for its end.
    pub(crate) fn end(&mut self, within: Duration) -> i32 {
        let deadline = clock::now() + within;
        loop {
            if let Some(code) = self.ended() {
                return code;
            }
            assert!(clock::now() < deadline, "{} does not end: {}", self.name, self.logs());
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// The partitions that its log says it owns.
    pub(crate) fn assigned(&self) -> BTreeSet<i32> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let mut owned = BTreeSet::new();
        for line in text.lines() {
            let number = line.split(" partition=").nth(1).and_then(|rest| rest.split(' ').next());
            let Some(number) = number.and_then(|text| text.parse().ok()) else { continue };
            if line.contains(": assigned topic=") {
                owned.insert(number);
            } else if line.contains(": assignment ended") {
                owned.remove(&number);
            }
        }
        owned
    }

    /// The end of its logs.
    pub(crate) fn logs(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // Gone already, or to go now: SIGKILL ends a frozen process, too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
