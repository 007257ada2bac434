//! What the mock-cluster and real-Kafka suites share: members in threads and processes, a ledger
//! that they act on, and eyes of its own on the group's offsets.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rebalance_guard::Config;
use rebalance_guard_host::clock;
use rebalance_guard_host::gateway::{
    self, EngineFactory, Event, GatewayError, Observer, Protocol, Settings, StartAt, StopHandle,
    Summary,
};
use rebalance_guard_host::key::KeyTemplate;
use rebalance_guard_host::native::NativeEngine;
use rebalance_guard_host::record::Effect;
use rebalance_guard_host::sink::{Sink, SinkAnswer};
use rebalance_guard_host::workers::Order;

use crate::judged::{Judged, recorded};

/// The longest that any wait of these suites may take before it is a failure.
pub const PATIENCE: Duration = Duration::from_secs(45);

/// Shows the gateway's logs on a failure when `RUST_LOG` asks for them.
pub fn show_logs() {
    let filter = std::env::var("RUST_LOG").unwrap_or_default();
    let filter = tracing_subscriber::EnvFilter::new(filter);
    // Another test was first.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
}

/// Waits until `ready`, looking every few milliseconds.
///
/// # Panics
/// It does not come true in time.
pub fn eventually(what: &str, ready: impl FnMut() -> bool) {
    assert!(within(PATIENCE, ready), "in {PATIENCE:?} it did not come true that {what}");
}

/// Whether `ready` came true in `span`.
pub fn within(span: Duration, mut ready: impl FnMut() -> bool) -> bool {
    let until = clock::now() + span;
    loop {
        if ready() {
            return true;
        }
        if clock::now() >= until {
            return false;
        }
        // Paces the looks; what ends the wait is `ready` or the deadline.
        thread::park_timeout(Duration::from_millis(10));
    }
}

/// A name that no other test of any process uses.
pub fn unique(name: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{name}-{}-{number}", std::process::id())
}

/// Sends a signal to a process of ours.
///
/// # Panics
/// There is no such process.
pub fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill runs");
    assert!(sent.success(), "kill {signal} {pid}");
}

/// The offset that `group` holds, asked by a client that is no member.
///
/// # Panics
/// The broker does not answer.
pub fn committed(bootstrap: &str, group: &str, topic: &str, partition: i32) -> Option<i64> {
    Onlooker::new(bootstrap, group).committed(topic, partition)
}

/// A client that reads the group's offsets without being a member.
pub struct Onlooker(BaseConsumer);

impl Onlooker {
    /// One for `group`.
    ///
    /// # Panics
    /// The client cannot be made.
    pub fn new(bootstrap: &str, group: &str) -> Self {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap).set("group.id", group);
        Self(config.create().expect("a client"))
    }

    /// What the group holds for the partition.
    ///
    /// # Panics
    /// The broker does not answer.
    pub fn committed(&self, topic: &str, partition: i32) -> Option<i64> {
        self.try_committed(topic, partition).expect("the group's offset")
    }

    /// The same, without patience.
    ///
    /// # Errors
    /// In the client's words.
    pub fn try_committed(&self, topic: &str, partition: i32) -> Result<Option<i64>, String> {
        let mut list = TopicPartitionList::new();
        list.add_partition(topic, partition);
        let found = self.0.committed_offsets(list, Duration::from_secs(10));
        let found = found.map_err(|error| error.to_string())?;
        let element = found.find_partition(topic, partition).expect("what was asked for");
        Ok(match element.offset() {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        })
    }
}

/// Watches that a group's offsets never go back.
pub struct Watcher {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<u32, String>>,
}

impl Watcher {
    /// Watches from now on.
    pub fn start(bootstrap: &str, group: &str, topic: &str, partitions: i32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&stop);
        let onlooker = Onlooker::new(bootstrap, group);
        let topic = topic.to_owned();
        let thread = thread::spawn(move || {
            let mut highest: HashMap<i32, i64> = HashMap::new();
            let mut looks = 0;
            while !ended.load(Ordering::Relaxed) {
                for partition in 0..partitions {
                    // A broker that does not answer tells nothing about going back.
                    let Ok(held) = onlooker.try_committed(&topic, partition) else { continue };
                    let Some(held) = held else { continue };
                    looks += 1;
                    let before = highest.insert(partition, held).unwrap_or(held);
                    if held < before {
                        return Err(format!("{topic}/{partition} went back: {before} -> {held}"));
                    }
                }
                thread::park_timeout(Duration::from_millis(20));
            }
            Ok(looks)
        });
        Self { stop, thread }
    }

    /// Ends the watch.
    ///
    /// # Panics
    /// An offset went back, or none was ever seen.
    pub fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        let looks = self.thread.join().expect("the watcher lives").expect("offsets only rise");
        assert!(looks > 0, "the watcher saw no offset at all");
    }
}

/// Writes records `first..first + count`, record `n` to partition `n % partitions` with the key
/// `order-n` and the payload `{"order":"n"}`.
///
/// # Panics
/// The broker does not take them.
pub fn produce(bootstrap: &str, topic: &str, partitions: i32, first: u32, count: u32) {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap);
    let producer: BaseProducer = config.create().expect("a producer");
    for number in first..first + count {
        let (key, payload) = (format!("order-{number}"), format!("{{\"order\":\"{number}\"}}"));
        let partition = i32::try_from(number).expect("small") % partitions;
        let record = BaseRecord::to(topic).key(&key).payload(&payload).partition(partition);
        producer.send(record).map_err(|(error, _)| error).expect("room in the queue");
        producer.poll(Duration::ZERO);
    }
    producer.flush(PATIENCE).expect("the broker takes them");
}

/// One call that reached the ledger.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Call {
    /// Idempotency key.
    pub key: String,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// Fencing token.
    pub token: (u64, u64),
    /// Who called.
    pub member: String,
    /// Whether it took effect; otherwise the key was known.
    pub took_effect: bool,
}

#[derive(Debug, Default)]
struct Book {
    calls: Vec<Call>,
    fenced: Vec<Call>,
    known: HashMap<String, usize>,
    highest: HashMap<i32, (u64, u64)>,
}

/// A sink that honours key and token, in this process or over a line protocol on loopback.
#[derive(Clone, Debug)]
pub struct Ledger {
    book: Arc<Mutex<Book>>,
    delay: Arc<Mutex<Duration>>,
    closed: Arc<AtomicBool>,
    member: String,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            book: Arc::default(),
            delay: Arc::default(),
            closed: Arc::default(),
            member: "thread".to_owned(),
        }
    }
}

impl Ledger {
    /// The same ledger, for another member's calls.
    #[must_use]
    pub fn for_member(&self, member: &str) -> Self {
        Self { member: member.to_owned(), ..self.clone() }
    }

    /// From now on each call takes so long.
    pub fn slow_down(&self, delay: Duration) {
        *self.delay.lock().unwrap_or_else(PoisonError::into_inner) = delay;
    }

    /// Calls wait until [`Ledger::open`].
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Lets waiting calls through.
    pub fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }

    /// Calls that were let in, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.book().calls.clone()
    }

    /// Calls refused for a stale token.
    pub fn fenced(&self) -> Vec<Call> {
        self.book().fenced.clone()
    }

    /// How many keys took effect.
    pub fn effects(&self) -> usize {
        self.book().known.len()
    }

    /// Calls by the member.
    pub fn calls_of(&self, member: &str) -> usize {
        self.book().calls.iter().filter(|call| call.member == member).count()
    }

    /// Claims the partition for a newer owner, as a process elsewhere would.
    pub fn raise_token(&self, partition: i32, token: (u64, u64)) {
        self.book().highest.insert(partition, token);
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call in, after the delay; `false`: fenced.
    fn act(&self, mut call: Call) -> bool {
        let delay = *self.delay.lock().unwrap_or_else(PoisonError::into_inner);
        let until = clock::now() + delay;
        while clock::now() < until || self.closed.load(Ordering::SeqCst) {
            thread::park_timeout(Duration::from_millis(2));
        }
        let mut book = self.book();
        let highest = book.highest.entry(call.partition).or_insert(call.token);
        if call.token < *highest {
            book.fenced.push(call);
            return false;
        }
        *highest = call.token;
        let times = book.known.entry(call.key.clone()).or_insert(0);
        *times += 1;
        call.took_effect = *times == 1;
        book.calls.push(call);
        true
    }

    /// Serves the ledger on loopback.
    ///
    /// # Panics
    /// No port to be had.
    pub fn serve(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let ledger = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let ledger = ledger.clone();
                thread::spawn(move || ledger.converse(&stream));
            }
        });
        address
    }

    fn converse(&self, stream: &TcpStream) -> Option<()> {
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
        let mut stream = stream;
        while let Some(Ok(line)) = lines.next() {
            let answer = if self.act(Call::parse(&line)?) { "done\n" } else { "fenced\n" };
            stream.write_all(answer.as_bytes()).ok()?;
        }
        Some(())
    }
}

impl Sink for Ledger {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        answer(self.act(Call::of(effect, &self.member)))
    }
}

fn answer(let_in: bool) -> SinkAnswer {
    if let_in {
        SinkAnswer::Done
    } else {
        SinkAnswer::Fenced { why: "a newer owner was here".to_owned() }
    }
}

impl Call {
    fn of(effect: &Effect<'_>, member: &str) -> Self {
        let token = effect.token.expect("a guarded effect has a token");
        Self {
            key: effect.idempotency_key.unwrap_or("-").to_owned(),
            partition: effect.record.partition.index,
            offset: effect.record.offset,
            token: (token.group, token.assignment.value()),
            member: member.to_owned(),
            took_effect: false,
        }
    }

    fn line(&self) -> String {
        let Self { key, partition, offset, token, member, .. } = self;
        format!("{key} {partition} {offset} {} {} {member}\n", token.0, token.1)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        Some(Self {
            key: words.next()?.to_owned(),
            partition: words.next()?.parse().ok()?,
            offset: words.next()?.parse().ok()?,
            token: (words.next()?.parse().ok()?, words.next()?.parse().ok()?),
            member: words.next()?.to_owned(),
            took_effect: false,
        })
    }
}

/// The ledger as a process elsewhere sees it: one connection a call.
#[derive(Debug)]
pub struct RemoteLedger {
    /// Where it is served.
    pub address: SocketAddr,
    /// Whose calls these are.
    pub member: String,
}

impl RemoteLedger {
    fn call(&self, effect: &Effect<'_>) -> std::io::Result<SinkAnswer> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(Call::of(effect, &self.member).line().as_bytes())?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        match line.trim() {
            "done" => Ok(answer(true)),
            "fenced" => Ok(answer(false)),
            other => Err(std::io::Error::other(format!("the ledger said {other:?}"))),
        }
    }
}

impl Sink for RemoteLedger {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        self.call(effect)
            .unwrap_or_else(|error| SinkAnswer::Unreachable { sent: true, why: error.to_string() })
    }
}

/// Settings of a member: quick rebalances, quick commits, four workers, the record key as key.
///
/// # Panics
/// Never: the key template is one.
pub fn settings(
    bootstrap: &str,
    topic: &str,
    group: &str,
    protocol: Protocol,
    sink: Arc<dyn Sink>,
) -> Settings {
    let mut client = BTreeMap::new();
    let mut set = |key: &str, value: &str| drop(client.insert(key.to_owned(), value.to_owned()));
    set("max.poll.interval.ms", "30000");
    if protocol != Protocol::Consumer {
        set("session.timeout.ms", "6000");
        set("heartbeat.interval.ms", "500");
    }
    let guard = Config {
        lease: 20_000,
        commit_interval: 100,
        commit_timeout: 3_000,
        backoff: 50,
        ..Config::default()
    };
    Settings {
        bootstrap: bootstrap.to_owned(),
        topics: vec![topic.to_owned()],
        group: group.to_owned(),
        protocol,
        instance_id: None,
        start_at: StartAt::Earliest,
        client,
        guard,
        engine: native(),
        key: KeyTemplate::parse("{key}").expect("a template"),
        order: Order::Partition,
        workers: 4,
        sink,
        dead_letter_topic: None,
        drain: Duration::from_secs(5),
        bytes_max: Settings::BYTES_MAX,
        control: None,
    }
}

/// Native engines.
pub fn native() -> EngineFactory {
    EngineFactory::new(|config| match NativeEngine::new(config) {
        Ok(engine) => Ok(Box::new(engine)),
        Err(error) => Err(error.to_string()),
    })
}

/// A gateway on a thread of this process.
pub struct Member {
    /// Asks it to stop.
    pub stop: StopHandle,
    events: Arc<Mutex<Vec<Event>>>,
    thread: JoinHandle<Result<Summary, GatewayError>>,
}

struct Recorder(Arc<Mutex<Vec<Event>>>);

impl Observer for Recorder {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
    }
}

impl Member {
    /// Starts one. When it has ended, everything that its guard was told is judged.
    pub fn start(mut settings: Settings) -> Self {
        let judged = Judged::new();
        settings.engine = recorded(&judged.path(), settings.topics.clone(), settings.engine);
        Self::run(settings, move || {
            judged.judge();
        })
    }

    /// Starts one whose engine lies on purpose, which no judge would let pass.
    pub fn start_unjudged(settings: Settings) -> Self {
        Self::run(settings, || {})
    }

    fn run(settings: Settings, at_the_end: impl FnOnce() + Send + 'static) -> Self {
        show_logs();
        let (stop, signal) = gateway::stop_signal();
        let events = Arc::new(Mutex::new(Vec::new()));
        let mut recorder = Recorder(Arc::clone(&events));
        let thread = thread::spawn(move || {
            let ended = gateway::run(settings, signal, &mut recorder);
            if let Err(error) = &ended {
                eprintln!("a member ended: {error}");
            }
            at_the_end();
            ended
        });
        Self { stop, events, thread }
    }

    /// What it told so far.
    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many of its events are such.
    pub fn count(&self, such: impl Fn(&Event) -> bool) -> usize {
        self.events().iter().filter(|event| such(event)).count()
    }

    /// Whether it ended by itself.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Asks it to stop and waits for its summary.
    ///
    /// # Panics
    /// It ended with an error.
    pub fn leave(self) -> Summary {
        self.stop.ask();
        self.ended().expect("it stops in order")
    }

    /// Waits until it ended.
    ///
    /// # Errors
    /// Why it ended early.
    ///
    /// # Panics
    /// It panicked.
    pub fn ended(self) -> Result<Summary, GatewayError> {
        self.thread.join().expect("no panic")
    }
}

/// The variable that tells a member where to record what its guard is told.
pub const RECORD: &str = "RG_MEMBER_RECORD";

/// A gateway in a process of its own, to be stopped, frozen and killed. When it is gone, everything
/// that its guard was told is judged.
pub struct MemberProcess {
    child: Child,
    /// A line asks it to stop; its end ends the process.
    stdin: ChildStdin,
    events: Arc<Mutex<Vec<String>>>,
    judged: Option<Judged>,
}

impl MemberProcess {
    /// Starts `program` (the test package's `member`) with these arguments, see there.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        let judged = Judged::new();
        let mut child = Command::new(program)
            .args(arguments)
            .env(RECORD, judged.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the member starts");
        let stdin = child.stdin.take().expect("piped");
        let stdout = child.stdout.take().expect("piped");
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&events);
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Self { child, stdin, events, judged: Some(judged) }
    }

    /// Lines that it told so far.
    pub fn events(&self) -> Vec<String> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many of them begin so.
    pub fn count(&self, beginning: &str) -> usize {
        self.events().iter().filter(|line| line.starts_with(beginning)).count()
    }

    /// Gives it a line.
    ///
    /// # Panics
    /// It does not listen.
    pub fn tell(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).expect("it listens");
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Asks it to stop and waits for its exit code.
    ///
    /// # Panics
    /// It does not end in time.
    pub fn leave(mut self) -> Option<i32> {
        self.stdin.write_all(b"stop\n").expect("it listens");
        eventually("the member ends", || self.child.try_wait().expect("a child").is_some());
        self.child.wait().expect("its end").code()
    }
}

impl Drop for MemberProcess {
    fn drop(&mut self) {
        // Gone already, or to go now.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(judged) = self.judged.take().filter(|_| !thread::panicking()) {
            judged.judge();
        }
    }
}
