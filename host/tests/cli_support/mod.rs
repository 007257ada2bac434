//! Starting the binary, and a mock cluster for it.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer as _};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rebalance_guard_host::clock;

/// A process that has ended.
#[derive(Debug)]
pub struct Finished {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the binary starts");
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rebalance-guard"));
    command.args(arguments).stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Finished {
    Finished::of(&mut command(arguments))
}

/// A folder that goes with the test.
pub struct Scratch(PathBuf);

pub fn scratch(name: &str) -> Scratch {
    let folder = std::env::temp_dir().join(format!("rg-cli-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    Scratch(folder)
}

impl Scratch {
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A process that runs, its output in files.
pub struct Running {
    child: Child,
    folder: Scratch,
}

impl Running {
    pub fn start(name: &str, arguments: &[&str]) -> Self {
        let folder = scratch(name);
        let file = |name: &str| File::create(folder.path(name)).expect("a file");
        let child = command(arguments).stdout(file("out")).stderr(file("err")).spawn();
        Self { child: child.expect("the binary starts"), folder }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn stdout(&self) -> String {
        std::fs::read_to_string(self.folder.path("out")).expect("its output")
    }

    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.folder.path("err")).expect("its logs")
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().expect("kill runs");
        assert!(sent.success(), "{name} to {pid}");
    }

    pub fn until(&mut self, what: &str, mut ready: impl FnMut(&Self) -> bool) {
        let deadline = clock::now() + Duration::from_secs(60);
        while !ready(self) {
            let ended = self.child.try_wait().expect("a child of ours");
            assert!(ended.is_none(), "{what}: it ended, {ended:?}: {}", self.stderr());
            assert!(clock::now() < deadline, "{what}: {}\n{}", self.stdout(), self.stderr());
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Waits for its end.
    pub fn code(&mut self) -> i32 {
        let deadline = clock::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                return status.code().unwrap_or(-1);
            }
            assert!(clock::now() < deadline, "it does not end: {}", self.stderr());
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A mock cluster with a topic `orders` of one partition and some records.
pub struct Kafka {
    cluster: MockCluster<'static, DefaultProducerContext>,
}

impl Kafka {
    /// A topic of so many partitions and no record.
    pub fn empty(partitions: i32) -> Self {
        let cluster = MockCluster::new(1).expect("a mock cluster");
        cluster.create_topic("orders", partitions, 1).expect("a topic");
        Self { cluster }
    }

    pub fn with(records: usize, bytes: usize) -> Self {
        let Self { cluster } = Self::empty(1);
        let producer: BaseProducer = ClientConfig::new()
            .set("bootstrap.servers", cluster.bootstrap_servers())
            .create()
            .expect("a producer");
        for number in 0..records {
            let payload = format!("{{\"order\":{number},\"note\":\"{}\"}}", "x".repeat(bytes));
            let record = BaseRecord::<(), str>::to("orders").payload(&payload).partition(0);
            producer.send(record).map_err(|(error, _)| error).expect("room");
        }
        producer.flush(Duration::from_secs(30)).expect("the mock takes them");
        Self { cluster }
    }

    pub fn bootstrap(&self) -> String {
        self.cluster.bootstrap_servers()
    }

    /// What the group `billing` holds; 0 when nothing.
    pub fn committed(&self) -> i64 {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", self.bootstrap())
            .set("group.id", "billing")
            .create()
            .expect("a client");
        let mut list = TopicPartitionList::new();
        list.add_partition("orders", 0);
        let found = consumer.committed_offsets(list, Duration::from_secs(30)).expect("an answer");
        match found.find_partition("orders", 0).expect("what was asked for").offset() {
            Offset::Offset(offset) => offset,
            _ => 0,
        }
    }

    /// `run` on this cluster with these further flags.
    pub fn run(&self, name: &str, more: &[&str]) -> Running {
        let bootstrap = self.bootstrap();
        let mut arguments = vec!["run", "--bootstrap", &bootstrap, "--topic", "orders"];
        arguments.extend(["--group", "billing", "--guard", "key_policy=optional"]);
        arguments.extend(["--set", "session.timeout.ms=6000"]);
        arguments.extend(["--set", "heartbeat.interval.ms=500"]);
        arguments.extend(more);
        Running::start(name, &arguments)
    }
}

/// A file system of 64 KiB, or none where mounting is not allowed.
pub struct TinyDisk(String);

impl TinyDisk {
    pub fn mount(folder: &str) -> Option<Self> {
        std::fs::create_dir_all(folder).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]);
        mount.output().is_ok_and(|done| done.status.success()).then(|| Self(folder.to_owned()))
    }

    pub fn path(&self) -> &str {
        &self.0
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
