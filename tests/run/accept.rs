//! The acceptance run.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rebalance_guard_host::clock;
use rebalance_guard_host::demo::ledger::{Ledger, Rules, read};
use rebalance_guard_tests::broker::Broker;
use rebalance_guard_tests::kafka::{Watcher, unique};
use rebalance_guard_tests::plugin;

use crate::group::Member;

const PARTITIONS: i32 = 12;
/// What an effect takes at the sink: the bound on how fast the group is.
const WORK: Duration = Duration::from_millis(4);
const PLUGIN: &str = "guard.wasm";
const FROZEN: Duration = Duration::from_secs(12);

/// One protocol with one engine.
pub(crate) struct Case {
    pub(crate) protocol: &'static str,
    pub(crate) engine: &'static str,
    pub(crate) rules: Rules,
    pub(crate) records: u32,
}

impl Case {
    pub(crate) fn new(protocol: &'static str, engine: &'static str) -> Self {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
        let percent = number("RG_RUN_PUT_OFF").unwrap_or(0);
        let rules = Rules::new(true).putting_off(u8::try_from(percent).expect("a percentage"));
        Self { protocol, engine, rules, records: number("RG_RUN_RECORDS").unwrap_or(6_000) }
    }

    /// Distinct orders: one in 21 is sent twice, so 5 % of the orders.
    fn distinct(&self) -> u32 {
        self.records - self.records / 21
    }
}

/// One after another: three members, a broker and a sink are enough for two cores.
static TURN: Mutex<()> = Mutex::new(());

pub(crate) fn run(case: &Case) {
    let Some(broker) = Broker::shared() else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    println!("real-Kafka suite: {}", broker.describe());
    let mut stage = Stage::new(broker, case);
    stage.faults();
    stage.settle();
    stage.leave();
    stage.judge();
}

struct Stage<'a> {
    broker: &'a Broker,
    case: &'a Case,
    topic: String,
    group: String,
    folder: PathBuf,
    ledger: Ledger,
    watcher: Option<Watcher>,
    members: Vec<Member>,
    started: u32,
    /// The log ends: all was produced before the members started.
    ends: Vec<i64>,
    /// For each fault, the partitions that its victim owned or worked on.
    touched: Vec<BTreeSet<i32>>,
}

impl<'a> Stage<'a> {
    fn new(broker: &'a Broker, case: &'a Case) -> Self {
        let (topic, group) = (unique("orders"), unique("billing"));
        broker.create_topic(&topic, PARTITIONS);
        broker.create_topic(&format!("{topic}.dead"), 1);
        produce(broker.bootstrap(), &topic, case);
        let folder = std::env::temp_dir().join(&group);
        std::fs::create_dir_all(&folder).expect("a folder for logs and ledger");
        std::fs::write(folder.join(PLUGIN), plugin::bytes()).expect("the plugin as a file");
        let ledger = folder.join("ledger.ndjson");
        let mut stage = Self {
            watcher: Some(Watcher::start(broker.bootstrap(), &group, &topic, PARTITIONS)),
            ledger: Ledger::open(&ledger, case.rules, WORK).expect("a ledger"),
            members: Vec::new(),
            started: 0,
            touched: Vec::new(),
            ends: (0..PARTITIONS).map(|it| broker.log_end(&topic, it)).collect(),
            broker,
            case,
            topic,
            group,
            folder,
        };
        for _ in 0..3 {
            stage.start();
        }
        stage
    }

    fn start(&mut self) {
        self.started += 1;
        let name = format!("m{}", self.started);
        let mut arguments: Vec<String> = [
            "--bootstrap",
            self.broker.bootstrap(),
            "--topic",
            &self.topic,
            "--group",
            &self.group,
            "--protocol",
            self.case.protocol,
            "--key",
            "{json:/order}",
            "--sink",
            &self.ledger.url(&name),
            "--dead-letter-topic",
            &format!("{}.dead", self.topic),
            "--log-filter",
            "info",
        ]
        .map(str::to_owned)
        .to_vec();
        if self.case.protocol != "consumer" {
            for setting in ["session.timeout.ms=6000", "heartbeat.interval.ms=1000"] {
                arguments.extend(["--set".to_owned(), setting.to_owned()]);
            }
        }
        if self.case.engine == "plugin" {
            let file = self.folder.join(PLUGIN).display().to_string();
            let sha256 = plugin::digest().to_string();
            arguments.extend(["--engine", "plugin", "--plugin", &file].map(str::to_owned));
            arguments.extend(["--plugin-sha256".to_owned(), sha256]);
        }
        self.members.push(Member::start(&name, &self.folder, &arguments));
    }

    /// One killed, one frozen for longer than its session, one restarted: at about half of the
    /// records.
    fn faults(&mut self) {
        let half = self.case.distinct() * 45 / 100;
        self.until("45 % of the orders", |this| this.effects() >= half as usize);
        let busiest = (0..3).max_by_key(|member| self.in_flight(*member)).unwrap_or(0);
        self.members.swap(0, busiest);
        let in_flight = self.in_flight(0);
        assert!(in_flight >= 100, "{in_flight} records in flight at the kill");
        let done = self.effects() * 100 / self.case.distinct() as usize;
        assert!((40..=60).contains(&done), "the kill comes at {done} %");
        self.fault(0, "-KILL");
        self.fault(1, "-STOP");
        let thaw = clock::now() + FROZEN;
        self.fault(2, "-TERM");
        let code = self.members[2].end(Duration::from_secs(40));
        assert_eq!(code, 0, "{} was stopped by SIGTERM: {}", "m3", self.members[2].logs());
        self.start();
        self.start();
        self.until("the frozen time to pass", |_| clock::now() >= thaw);
        self.members[1].signal("-CONT");
        self.members.remove(2);
        self.members.remove(0);
    }

    fn fault(&mut self, member: usize, signal: &str) {
        // What it owns, begun or not, and what it was the last to work on.
        let mut owned = self.members[member].assigned();
        owned.extend(self.owned(member));
        assert!(!owned.is_empty(), "{} has work", self.members[member].name);
        self.members[member].signal(signal);
        self.touched.push(owned);
    }

    /// The partitions that a member works on.
    fn owned(&self, member: usize) -> BTreeSet<i32> {
        let name = &self.members[member].name;
        let book = self.ledger.book();
        let mine = book.owners.iter().filter(|(_, owner)| *owner == name);
        mine.map(|(partition, _)| *partition).collect()
    }

    /// Records of a member's assigned partitions that the sink has not seen: as far as its window
    /// reaches they are in flight, since all were produced before it started.
    fn in_flight(&self, member: usize) -> i64 {
        let assigned = self.members[member].assigned();
        let end = |it: &i32| usize::try_from(*it).ok().and_then(|at| self.ends.get(at));
        let ends: i64 = assigned.iter().filter_map(end).sum();
        let book = self.ledger.book();
        let seen = book.calls.keys().filter(|(partition, _)| assigned.contains(partition)).count();
        ends - i64::try_from(seen).expect("small")
    }

    fn effects(&self) -> usize {
        self.ledger.book().effects.len()
    }

    /// Until the group committed the end of every partition.
    fn settle(&mut self) {
        let ends = self.ends.clone();
        let total: i64 = ends.iter().sum();
        assert_eq!(total, i64::from(self.case.records));
        self.until("the group to commit the end of the log", |this| {
            (0..PARTITIONS).zip(&ends).all(|(partition, end)| {
                this.broker.committed(&this.group, &this.topic, partition) == Some(*end)
            })
        });
    }

    fn leave(&mut self) {
        for member in &self.members {
            member.signal("-TERM");
        }
        for member in &mut self.members {
            let code = member.end(Duration::from_secs(40));
            assert_eq!(code, 0, "{} ends: {}", member.name, member.logs());
        }
        self.watcher.take().expect("it watches until now").end();
    }

    fn judge(&self) {
        let lines = read(self.ledger.path()).expect("the ledger");
        let mut times: HashMap<&str, u32> = HashMap::new();
        for line in &lines {
            *times.entry(&line.order).or_default() += 1;
        }
        assert_eq!(times.len(), self.case.distinct() as usize, "orders that took effect");
        let repeated: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
        assert!(repeated.is_empty(), "repeated effects: {repeated:?}");
        let book = self.ledger.book();
        for ((partition, offset), calls) in &book.calls {
            assert!(!calls.key_changed, "{partition}@{offset} changed its key: {calls:?}");
            let faults = self.touched.iter().filter(|touched| touched.contains(partition)).count();
            let most = 1 + calls.put_off + u32::try_from(faults).expect("three");
            assert!(calls.raw <= most, "{partition}@{offset}, at most {most} calls: {calls:?}");
        }
        let raw: u64 = book.calls.values().map(|calls| u64::from(calls.raw)).sum();
        println!(
            "{} {}: {} records, {} orders, {raw} calls, {} absorbed by the sink, {} fenced",
            self.case.protocol,
            self.case.engine,
            self.case.records,
            times.len(),
            book.absorbed,
            book.fenced
        );
        drop(book);
        std::fs::remove_dir_all(&self.folder).expect("the folder of this run");
    }

    fn until(&mut self, what: &str, mut ready: impl FnMut(&Self) -> bool) {
        // Far above what any step takes on a busy machine, and bounded.
        let longest = Duration::from_secs(90) + Duration::from_millis(3) * self.case.records;
        let deadline: Instant = clock::now() + longest;
        while !ready(self) {
            for member in &mut self.members {
                if let Some(code) = member.ended().filter(|code| *code != 0 && *code != -1) {
                    panic!("{} ended by itself with {code}: {}", member.name, member.logs());
                }
            }
            let logs = || self.members.iter().map(Member::logs).collect::<Vec<_>>().join("\n--\n");
            assert!(clock::now() < deadline, "waited for {what} in vain: {}", logs());
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

/// Order `n` to partition `n % 12`; one in 20 again, in the same partition or in another.
fn produce(bootstrap: &str, topic: &str, case: &Case) {
    let mut config = ClientConfig::new();
    let producer: BaseProducer =
        config.set("bootstrap.servers", bootstrap).create().expect("a producer");
    let mut sent = 0;
    let mut send = |order: u32, partition: u32| {
        let payload = format!("{{\"order\":\"o-{order}\",\"amount_cents\":{}}}", order + 1);
        let key = format!("o-{order}");
        let partition = i32::try_from(partition).expect("small") % PARTITIONS;
        let record = BaseRecord::to(topic).key(&key).payload(&payload).partition(partition);
        producer.send(record).map_err(|(error, _)| error).expect("room in the queue");
        producer.poll(Duration::ZERO);
        sent += 1;
    };
    for order in 0..case.distinct() {
        send(order, order);
        if order % 20 == 19 && order / 20 < case.records / 21 {
            // An order of a while ago: some copies follow at once, some much later.
            let again = order - order % 7;
            send(again, if again % 40 < 20 { again } else { again + 5 });
        }
    }
    producer.flush(Duration::from_secs(60)).expect("the broker takes them");
    assert_eq!(sent, case.records);
}
