//! A real Apache Kafka for tests: one node (KRaft) on loopback, started from jars and ended with
//! the test process, however that ends.
//!
//! `RG_KAFKA_LIB` names the folder with the jars (`cargo xtask kafka fetch` fetches them), or
//! `RG_KAFKA_BOOTSTRAP` a broker that runs already. With neither the real-Kafka suites are skipped
//! with one loud line, and fail when `RG_REQUIRE=1`.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs, process};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rebalance_guard_host::clock;

/// How long a broker may take from start to the first answer.
const READY: Duration = Duration::from_secs(60);

/// A running broker.
#[derive(Debug)]
pub struct Broker {
    bootstrap: String,
    node: Option<Node>,
}

/// A broker process of ours. A shell stands between: it ends the broker when its own input ends, so
/// that no broker outlives the test process even when that is killed.
#[derive(Debug)]
struct Node {
    shell: Child,
    /// Closed to end the broker.
    lifeline: Option<ChildStdin>,
    pid: u32,
    folder: PathBuf,
}

impl Broker {
    /// The broker that the tests of this process share, or `None` when there is none to be had.
    ///
    /// # Panics
    /// `RG_REQUIRE=1` and no broker; or one that does not start.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Broker>> = OnceLock::new();
        SHARED.get_or_init(Self::from_environment).as_ref()
    }

    /// A broker of the caller's own, to be frozen and stopped, or `None` as above. An external
    /// broker is nobody's own.
    ///
    /// # Panics
    /// As [`Broker::shared`].
    pub fn own() -> Option<Self> {
        match env::var_os("RG_KAFKA_LIB") {
            Some(jars) => Some(Self::start(Path::new(&jars))),
            None => skip("a broker of its own needs RG_KAFKA_LIB"),
        }
    }

    fn from_environment() -> Option<Self> {
        if let Ok(bootstrap) = env::var("RG_KAFKA_BOOTSTRAP") {
            let broker = Self { bootstrap, node: None };
            broker.wait_until_ready();
            broker.announce();
            return Some(broker);
        }
        match env::var_os("RG_KAFKA_LIB") {
            Some(jars) => Some(Self::start(Path::new(&jars))),
            None => skip("no RG_KAFKA_LIB (`cargo xtask kafka fetch`) and no RG_KAFKA_BOOTSTRAP"),
        }
    }

    fn start(jars: &Path) -> Self {
        let node = Node::start(jars);
        let broker = Self { bootstrap: node.1, node: Some(node.0) };
        broker.wait_until_ready();
        broker.announce();
        broker
    }

    fn announce(&self) {
        say(&format!("real-Kafka suite: {}", self.describe()));
    }

    /// `host:port`.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Version of the broker's jars and the cluster id that it answers with.
    ///
    /// # Panics
    /// It does not answer.
    pub fn describe(&self) -> String {
        let cluster = self.client("describe").client().fetch_cluster_id(READY);
        let cluster = cluster.expect("the broker tells its cluster id");
        let version = self.version();
        format!("broker {version} at {}, cluster id {cluster}", self.bootstrap)
    }

    /// From the name of its jar: a broker tells no version over the wire.
    fn version(&self) -> String {
        if self.node.is_none() {
            return "(external)".to_owned();
        }
        let jars = env::var_os("RG_KAFKA_LIB").map(PathBuf::from).unwrap_or_default();
        let names = fs::read_dir(jars).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let version =
            |name: String| Some(name.strip_prefix("kafka_2.13-")?.strip_suffix(".jar")?.to_owned());
        names.filter_map(version).next().unwrap_or_else(|| "(unknown)".to_owned())
    }

    /// Makes a topic.
    ///
    /// # Panics
    /// The broker refuses.
    pub fn create_topic(&self, name: &str, partitions: i32) {
        let admin: AdminClient<DefaultClientContext> =
            self.config().create().expect("an admin client");
        let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        let made = wait_for(admin.create_topics(&[topic], &AdminOptions::new()));
        made.expect("an answer")[0].as_ref().expect("the topic is made");
        let client = self.client("ready");
        let known = || {
            let found = client.fetch_metadata(Some(name), READY).expect("metadata");
            found.topics().iter().all(|topic| {
                topic.error().is_none() && i32::try_from(topic.partitions().len()) == Ok(partitions)
            })
        };
        crate::kafka::eventually("the new topic is known", known);
    }

    /// Deletes a topic.
    ///
    /// # Panics
    /// The broker refuses.
    pub fn delete_topic(&self, name: &str) {
        let admin: AdminClient<DefaultClientContext> =
            self.config().create().expect("an admin client");
        let gone = wait_for(admin.delete_topics(&[name], &AdminOptions::new()));
        gone.expect("an answer")[0].as_ref().expect("the topic is deleted");
    }

    /// Removes the partition's records below `before`, as retention does.
    ///
    /// # Panics
    /// The broker refuses.
    pub fn delete_records(&self, topic: &str, partition: i32, before: i64) {
        let admin: AdminClient<DefaultClientContext> =
            self.config().create().expect("an admin client");
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Offset(before)).expect("an offset");
        let gone = wait_for(admin.delete_records(&list, &AdminOptions::new()));
        gone.expect("an answer").elements()[0].error().expect("the records are removed");
    }

    /// The offset that `group` holds for the partition, read by a client of its own that is no
    /// member; `None` when it holds nothing.
    ///
    /// # Panics
    /// The broker does not answer.
    pub fn committed(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        crate::kafka::committed(&self.bootstrap, group, topic, partition)
    }

    /// The end of the partition's log.
    ///
    /// # Panics
    /// The broker does not answer.
    pub fn log_end(&self, topic: &str, partition: i32) -> i64 {
        let client = self.client("log-end");
        client.fetch_watermarks(topic, partition, READY).expect("watermarks").1
    }

    /// Stops the broker process in its tracks: connections stay open, nothing answers.
    ///
    /// # Panics
    /// It is not ours.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    ///
    /// # Panics
    /// It is not ours.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    /// Kills it.
    ///
    /// # Panics
    /// It is not ours.
    pub fn kill(&self) {
        self.signal("-KILL");
    }

    fn signal(&self, signal: &str) {
        let pid = self.node.as_ref().expect("a broker of ours").pid;
        crate::kafka::signal(pid, signal);
    }

    fn client(&self, group: &str) -> BaseConsumer {
        self.config().set("group.id", group).create().expect("a client")
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.bootstrap);
        config
    }

    fn wait_until_ready(&self) {
        let client = self.client("ready");
        let until = clock::now() + READY;
        loop {
            // Blocks at most this long, so that the loop ends.
            match client.fetch_metadata(None, Duration::from_secs(2)) {
                Ok(metadata) if !metadata.brokers().is_empty() => return,
                answer => assert!(
                    clock::now() < until,
                    "no broker answers at {} within {READY:?}: {:?}",
                    self.bootstrap,
                    answer.err()
                ),
            }
        }
    }
}

impl Node {
    fn start(jars: &Path) -> (Self, String) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            env::temp_dir().join(format!("rebalance-guard-kafka-{}-{number}", process::id()));
        fs::create_dir_all(&folder).expect("a folder for the broker");
        let (port, controller) = (free_port(), free_port());
        let properties = folder.join("server.properties");
        fs::write(&properties, settings(port, controller, &folder)).expect("its settings");
        let class_path = format!("{}/*", jars.display());
        format_storage(&class_path, &properties);
        // The shell tells the broker's process id, then waits for its own input to end.
        let script = "java -Xmx512m -XX:+UseSerialGC -cp \"$1\" kafka.Kafka \"$2\" \
             > \"$3/broker.log\" 2>&1 & pid=$!; echo $pid; cat > /dev/null; kill -CONT $pid; \
             kill -KILL $pid; rm -rf \"$3\"";
        let mut shell = Command::new("sh")
            .args(["-c", script, "broker", &class_path])
            .args([&properties, &folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let said = shell.stdout.take().expect("piped");
        BufReader::new(said).read_line(&mut line).expect("the broker's process id");
        let pid = line.trim().parse().expect("a number");
        let lifeline = shell.stdin.take();
        (Self { shell, lifeline, pid, folder }, format!("127.0.0.1:{port}"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // The shell ends the broker and removes its folder.
        if let Err(error) = self.shell.wait() {
            eprintln!("broker in {}: {error}", self.folder.display());
        }
    }
}

/// Says loudly that a suite does not run, or fails when it must.
fn skip<T>(why: &str) -> Option<T> {
    let required = env::var("RG_REQUIRE").is_ok_and(|value| !matches!(value.as_str(), "" | "0"));
    assert!(!required, "RG_REQUIRE is set and the real-Kafka suite cannot run: {why}");
    say(&format!("SKIPPED: real-Kafka suite: {why}"));
    None
}

/// Past the capture of the test harness, so that it is seen.
fn say(line: &str) {
    // A closed standard error is no reason to fail.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn format_storage(class_path: &str, properties: &Path) {
    let formatted = Command::new("java")
        .args(["-cp", class_path, "kafka.tools.StorageTool", "format"])
        .args(["-t", "cmViYWxhbmNlLWd1YXJkMQ", "-c"])
        .arg(properties)
        .output()
        .expect("java runs");
    assert!(
        formatted.status.success(),
        "the broker's storage cannot be formatted: {}{}",
        String::from_utf8_lossy(&formatted.stdout),
        String::from_utf8_lossy(&formatted.stderr)
    );
}

fn settings(port: u16, controller: u16, folder: &Path) -> String {
    format!(
        "process.roles=broker,controller\n\
         node.id=1\n\
         controller.quorum.voters=1@127.0.0.1:{controller}\n\
         listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
         controller.listener.names=CONTROLLER\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
         log.dirs={}/data\n\
         offsets.topic.replication.factor=1\n\
         offsets.topic.num.partitions=4\n\
         transaction.state.log.replication.factor=1\n\
         transaction.state.log.min.isr=1\n\
         transaction.state.log.num.partitions=4\n\
         share.coordinator.state.topic.replication.factor=1\n\
         share.coordinator.state.topic.min.isr=1\n\
         auto.create.topics.enable=false\n\
         group.initial.rebalance.delay.ms=0\n\
         group.min.session.timeout.ms=1000\n\
         group.consumer.min.session.timeout.ms=3000\n\
         group.consumer.session.timeout.ms=6000\n\
         group.consumer.min.heartbeat.interval.ms=200\n\
         group.consumer.heartbeat.interval.ms=1000\n",
        folder.display()
    )
}

/// Runs a future that librdkafka completes from a thread of its own.
fn wait_for<F: Future>(future: F) -> F::Output {
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake, Waker};
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
