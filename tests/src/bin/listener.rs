//! A plain consumer as a process of its own, which tells the callbacks that it gets:
//! `listener BOOTSTRAP TOPIC GROUP PROTOCOL SETTING=VALUE…`. It answers each at once, as the client
//! asks, and commits nothing. A line on its input tells it what to do: `stall MS` (not to poll for
//! so long; the client's own threads go on) or `stop`. The end of its input ends it at once.
#![forbid(unsafe_code)]

use std::env;
use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientConfig, ClientContext};
use rebalance_guard_host::{clock, ffi};

struct Teller;

impl ClientContext for Teller {}

impl ConsumerContext for Teller {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        // Read before the assign call, which clears it.
        let lost = consumer.assignment_lost();
        // A client that closes has no numbers to give.
        let generation = ffi::membership(consumer).map_or(-1, |membership| membership.generation);
        let count = |list: &rdkafka::TopicPartitionList| list.count();
        match rebalance {
            Rebalance::Assign(list) => tell(&format!("assign {} {generation}", count(list))),
            Rebalance::Revoke(list) => {
                let lost = if lost { " lost" } else { "" };
                tell(&format!("revoke {} {generation}{lost}", count(list)));
            }
            Rebalance::Error(error) => tell(&format!("error {error}")),
        }
    }
}

fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    // The test that listens may be gone.
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// The consumer that the arguments describe.
fn consumer(arguments: &[String]) -> BaseConsumer<Teller> {
    let [bootstrap, topic, group, protocol, changes @ ..] = arguments else {
        panic!("listener BOOTSTRAP TOPIC GROUP PROTOCOL SETTING=VALUE…");
    };
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("group.id", group);
    config.set("enable.auto.commit", "false");
    match &**protocol {
        "eager" => config.set("partition.assignment.strategy", "range"),
        "cooperative" => config.set("partition.assignment.strategy", "cooperative-sticky"),
        _ => config.set("group.protocol", "consumer"),
    };
    for change in changes {
        let (name, value) = change.split_once('=').expect("SETTING=VALUE");
        config.set(name, value);
    }
    let consumer: BaseConsumer<Teller> = config.create_with_context(Teller).expect("a client");
    consumer.subscribe(&[topic]).expect("it subscribes");
    consumer
}

/// What its input tells it to do.
fn orders() -> Receiver<String> {
    let (give, take) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if give.send(line).is_err() {
                break;
            }
        }
        std::process::exit(3);
    });
    take
}

fn stall(span: Duration) {
    let until = clock::now() + span;
    while let Some(left) = until.checked_duration_since(clock::now()) {
        std::thread::park_timeout(left);
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let consumer = consumer(&arguments);
    let orders = orders();
    loop {
        match consumer.poll(Duration::from_millis(20)) {
            Some(Err(KafkaError::MessageConsumption(RDKafkaErrorCode::PollExceeded))) => {
                tell("poll-exceeded");
            }
            Some(Err(KafkaError::MessageConsumptionFatal(code))) => {
                tell("fatal");
                eprintln!("fatal: {code}");
            }
            _ => {}
        }
        match orders.try_recv().as_deref() {
            Ok("stop") => break,
            Ok(order) => {
                let span = order.strip_prefix("stall ").and_then(|ms| ms.parse().ok());
                stall(Duration::from_millis(span.expect("`stall MS` or `stop`")));
            }
            Err(_) => {}
        }
    }
    drop(consumer);
    tell("stopped");
    std::process::exit(0);
}
