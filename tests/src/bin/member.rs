//! One member of a group as a process of its own, for tests that kill and freeze members:
//! `member NAME BOOTSTRAP TOPIC GROUP PROTOCOL LEDGER [SETTING=VALUE]…`, where a setting is
//! `instance`, `drain_ms`, `lease_ms` or one of the client's. A line on its input asks it to stop,
//! the end of its input ends it at once; it tells its events on its output, one a line.
#![forbid(unsafe_code)]

use std::env;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rebalance_guard_host::gateway::{self, Event, Observer, Protocol};
use rebalance_guard_tests::judged::recorded;
use rebalance_guard_tests::kafka::{RECORD, RemoteLedger, settings};

struct Teller;

impl Observer for Teller {
    fn event(&mut self, event: &Event) {
        let line = match event {
            Event::Assigned { topic, partition, token, .. } => {
                format!("assigned {topic} {partition} {token}")
            }
            Event::Rebalance { kind, partitions, generation, lost } => {
                format!("rebalance {kind:?} {partitions} {generation} lost={lost}")
            }
            Event::Sealed { topic, partition, ended, left, .. } => {
                format!("sealed {topic} {partition} {ended:?} {left}")
            }
            Event::FencedBySink { topic, partition, .. } => format!("fenced {topic} {partition}"),
            other => format!("{other:?}"),
        };
        let mut out = std::io::stdout().lock();
        // The test that listens may be gone.
        let _ = writeln!(out, "{line}");
        let _ = out.flush();
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, bootstrap, topic, group, protocol, ledger, changes @ ..] = &arguments[..] else {
        eprintln!("member NAME BOOTSTRAP TOPIC GROUP PROTOCOL LEDGER [SETTING=VALUE]…");
        return ExitCode::from(2);
    };
    let protocol = match &**protocol {
        "eager" => Protocol::Eager,
        "cooperative" => Protocol::Cooperative,
        _ => Protocol::Consumer,
    };
    let address = ledger.parse().expect("the ledger's address");
    let sink = Arc::new(RemoteLedger { address, member: name.clone() });
    let mut settings = settings(bootstrap, topic, group, protocol, sink);
    for change in changes {
        let (name, value) = change.split_once('=').expect("SETTING=VALUE");
        match name {
            "instance" => settings.instance_id = Some(value.to_owned()),
            "drain_ms" => settings.drain = Duration::from_millis(value.parse().expect("ms")),
            "lease_ms" => settings.guard.lease = value.parse().expect("ms"),
            client => drop(settings.client.insert(client.to_owned(), value.to_owned())),
        }
    }
    if let Some(path) = env::var_os(RECORD) {
        settings.engine = recorded(Path::new(&path), settings.topics.clone(), settings.engine);
    }
    let (handle, signal) = gateway::stop_signal();
    std::thread::spawn(move || {
        for _ in std::io::stdin().lock().lines().map_while(Result::ok) {
            handle.ask();
        }
        std::process::exit(3);
    });
    match gateway::run(settings, signal, &mut Teller) {
        Ok(summary) => {
            println!("summary {summary:?}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}
