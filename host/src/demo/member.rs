//! A member process of the guarded arm: the gateway as everybody runs it.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::sync::Arc;
use std::time::Duration;

use rebalance_guard::Config;
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use super::traffic::{DEAD_LETTERS, GROUP, TOPIC};
use super::wire::{Latencies, Told};
use super::{DemoEngine, MemberArgs, unguarded};
use crate::gateway::{self, Event, Observer, Protocol, RebalanceKind, Settings, StartAt};
use crate::key::KeyTemplate;
use crate::sink::{HttpSettings, HttpSink, Sink};
use crate::workers::Order;

/// Which logs of the members are shown, such as `info`; none without it.
pub(super) const LOGS: &str = "RG_DEMO_LOGS";
/// Worker threads of a member, in both arms.
pub(super) const WORKERS: usize = 4;
/// Drain and commit time of a hand-over: a mock cluster with short sessions goes on without a
/// member that takes longer than two seconds, and refuses commits while the next rebalance gathers.
const SHORT_MS: u64 = 800;
/// Session and heartbeat, in both arms: what the mock cluster serves soundly.
pub(super) const CLIENT: &[(&str, &str)] =
    &[("session.timeout.ms", "3000"), ("heartbeat.interval.ms", "500")];

/// Runs one member until SIGTERM, or until its parent is gone.
pub fn run(args: &MemberArgs) -> u8 {
    if let Ok(filter) = std::env::var(LOGS)
        && let Err(why) = crate::cli::start_logs(false, &filter)
    {
        eprintln!("{why}");
    }
    let ended =
        end_with_parent().map_err(|error| error.to_string()).and_then(|()| match args.engine {
            Some(engine) => guarded(args, engine),
            None => unguarded::run(args),
        });
    match ended {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("{why}");
            Told::Failed { why }.tell();
            1
        }
    }
}

/// The demo that is gone, however it went, leaves no process behind.
fn end_with_parent() -> io::Result<()> {
    std::thread::Builder::new().name("parent".into()).spawn(|| {
        let mut nothing = [0; 64];
        while matches!(io::stdin().read(&mut nothing), Ok(read) if read > 0) {}
        std::process::exit(1);
    })?;
    Ok(())
}

/// Calls `stop` at each SIGTERM.
pub(super) fn on_sigterm(stop: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM])?;
    let watching = std::thread::Builder::new().name("signals".into());
    watching.spawn(move || signals.forever().for_each(|_| stop()))?;
    Ok(())
}

/// The sink of both arms.
pub(super) fn sink(args: &MemberArgs) -> Result<Arc<dyn Sink>, String> {
    let settings = HttpSettings {
        url: args.sink.clone(),
        connect: HttpSettings::CONNECT,
        total: HttpSettings::TOTAL,
        connections: WORKERS,
    };
    Ok(Arc::new(HttpSink::new(&settings).map_err(|error| error.to_string())?))
}

fn guarded(args: &MemberArgs, engine: DemoEngine) -> Result<(), String> {
    let settings = settings(args, engine)?;
    let (handle, signal) = gateway::stop_signal();
    on_sigterm(move || handle.ask()).map_err(|error| error.to_string())?;
    let mut reporter = Reporter { latencies: Latencies::new() };
    let summary = gateway::run(settings, signal, &mut reporter).map_err(|e| e.to_string())?;
    reporter.latencies.tell();
    let counters = &summary.counters;
    Told::Summary {
        absorbed: counters.skipped_finished + counters.skipped_in_flight,
        fenced: summary.fenced_by_guard + counters.refused_fenced,
        dead_lettered: counters.dead_lettered,
        left: summary.left.iter().map(|(_, _, left)| u64::from(*left)).sum(),
    }
    .tell();
    Ok(())
}

fn settings(args: &MemberArgs, engine: DemoEngine) -> Result<Settings, String> {
    let client: BTreeMap<_, _> =
        CLIENT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Ok(Settings {
        bootstrap: args.bootstrap.clone(),
        topics: vec![TOPIC.into()],
        group: GROUP.into(),
        protocol: Protocol::Cooperative,
        instance_id: None,
        start_at: StartAt::Earliest,
        client,
        guard: Config { commit_timeout: SHORT_MS, ..Config::default() },
        engine: crate::cli::engine(&engine.name())?,
        key: KeyTemplate::parse("{json:/order}").map_err(|error| error.to_string())?,
        order: Order::Partition,
        workers: WORKERS,
        sink: sink(args)?,
        dead_letter_topic: Some(DEAD_LETTERS.into()),
        drain: Duration::from_millis(SHORT_MS),
        bytes_max: Settings::BYTES_MAX,
        control: None,
    })
}

struct Reporter {
    latencies: Latencies,
}

impl Observer for Reporter {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Rebalance { kind, partitions, generation, .. } if *partitions > 0 => {
                let assigned = *kind == RebalanceKind::Assign;
                let generation = *generation;
                Told::Rebalance { assigned, partitions: Vec::new(), generation }.tell();
            }
            Event::Assigned { partition, .. } => {
                let partitions = vec![*partition];
                Told::Rebalance { assigned: true, partitions, generation: 0 }.tell();
            }
            Event::Sealed { partition, .. } => {
                let partitions = vec![*partition];
                Told::Rebalance { assigned: false, partitions, generation: 0 }.tell();
            }
            _ => {}
        }
    }

    fn handed_over(&mut self, added: Duration) {
        self.latencies.add(added);
    }
}
