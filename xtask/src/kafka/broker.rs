//! One broker in the foreground: KRaft, loopback, fresh data.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::clock::{Spent, Stopwatch};
use crate::shell;
use crate::workspace::Workspace;

/// How long a broker may take until it answers; it needs 3 s on two idle cores.
const START_MAX: Duration = Duration::from_secs(60);

/// Where the broker listens.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Port for clients on 127.0.0.1; the controller takes a free one.
    #[arg(long, default_value_t = 9092)]
    port: u16,
    /// Topic to create; may be given several times.
    #[arg(long, value_name = "NAME")]
    topic: Vec<String>,
    /// Partitions of each topic.
    #[arg(long, default_value_t = 6)]
    partitions: u16,
}

/// Runs a broker until it ends or a signal ends it.
pub(super) fn run(workspace: &Workspace, library: &Path, options: &Options) -> Result<()> {
    let address = (Ipv4Addr::LOCALHOST, options.port);
    if TcpListener::bind(address).is_err() {
        bail!("port {} is taken: name another with --port", options.port);
    }
    let home = workspace.target().join("kafka").join(format!("broker-{}", options.port));
    let settings = format(&home, library, options.port)?;
    let mut java = java(library, &["-Xmx512m", "-XX:+UseSerialGC"]);
    let mut broker =
        java.arg("kafka.Kafka").arg(&settings).spawn().context("java did not start")?;
    stop_it_with_us(broker.id())?;
    if let Err(why) = set_up(&mut broker, library, options) {
        // It may have ended by itself already.
        let _ended = broker.kill();
        return Err(why);
    }
    let status = broker.wait().context("the broker could not be waited for")?;
    println!("the broker ended ({status})");
    Ok(())
}

fn format(home: &Path, library: &Path, port: u16) -> Result<std::path::PathBuf> {
    if home.exists() {
        fs::remove_dir_all(home).with_context(|| format!("{} not emptied", home.display()))?;
    }
    fs::create_dir_all(home).with_context(|| format!("no folder {}", home.display()))?;
    let settings = home.join("server.properties");
    let text = properties(port, free_port()?, &home.join("data"));
    fs::write(&settings, text).with_context(|| format!("{} not written", settings.display()))?;
    let mut tool = java(library, &[]);
    // Any 16 bytes in URL-safe base64 name a cluster; one broker a cluster, so one name will do.
    tool.args(["kafka.tools.StorageTool", "format", "-t", "cmViYWxhbmNlLWd1YXJkIQ", "-c"]);
    shell::run_quietly(tool.arg(&settings))?;
    Ok(settings)
}

fn java(library: &Path, options: &[&str]) -> Command {
    let mut command = Command::new("java");
    command.args(options).arg("-cp").arg(library.join("*"));
    command
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr().context("no free port")?.port())
}

/// Timeouts are short, so that a killed member is noticed while one watches.
fn properties(port: u16, controller: u16, data: &Path) -> String {
    let lines = [
        "process.roles=broker,controller".to_owned(),
        "node.id=1".to_owned(),
        format!("controller.quorum.voters=1@127.0.0.1:{controller}"),
        format!("listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}"),
        format!("advertised.listeners=PLAINTEXT://127.0.0.1:{port}"),
        "controller.listener.names=CONTROLLER".to_owned(),
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT".to_owned(),
        format!("log.dirs={}", data.display()),
        "num.partitions=6".to_owned(),
        "offsets.topic.replication.factor=1".to_owned(),
        "offsets.topic.num.partitions=4".to_owned(),
        "transaction.state.log.replication.factor=1".to_owned(),
        "transaction.state.log.min.isr=1".to_owned(),
        "transaction.state.log.num.partitions=4".to_owned(),
        "group.initial.rebalance.delay.ms=0".to_owned(),
        "group.min.session.timeout.ms=1000".to_owned(),
        "group.consumer.min.session.timeout.ms=3000".to_owned(),
        "group.consumer.session.timeout.ms=6000".to_owned(),
        "group.consumer.min.heartbeat.interval.ms=200".to_owned(),
        "group.consumer.heartbeat.interval.ms=1000".to_owned(),
    ];
    lines.join("\n") + "\n"
}

fn set_up(broker: &mut Child, library: &Path, options: &Options) -> Result<()> {
    let bootstrap = format!("127.0.0.1:{}", options.port);
    wait_until_it_answers(broker, (Ipv4Addr::LOCALHOST, options.port))?;
    for topic in &options.topic {
        let mut tool = java(library, &[]);
        tool.args(["org.apache.kafka.tools.TopicCommand", "--create", "--bootstrap-server"]);
        tool.args([&bootstrap, "--topic", topic, "--partitions", &options.partitions.to_string()]);
        shell::run_quietly(&mut tool).with_context(|| format!("topic {topic} not created"))?;
    }
    let jars = library.join("*");
    println!("Apache Kafka answers: --bootstrap {bootstrap} (Ctrl-C ends it)");
    println!(
        "records from the terminal: java -cp '{}' org.apache.kafka.tools.ConsoleProducer \\\n    \
         --bootstrap-server {bootstrap} --topic NAME",
        jars.display()
    );
    Ok(())
}

fn wait_until_it_answers(broker: &mut Child, address: (Ipv4Addr, u16)) -> Result<()> {
    let watch = Stopwatch::start();
    while TcpStream::connect(address).is_err() {
        if let Some(status) = broker.try_wait().context("the broker could not be watched")? {
            bail!("the broker ended before it answered ({status}); its words stand above");
        }
        if watch.elapsed() > START_MAX {
            bail!("the broker did not answer within {}", Spent(START_MAX));
        }
        // Bounded by START_MAX: a port cannot be waited for in another way.
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Ctrl-C reaches the broker by itself (one process group); SIGTERM is passed on. Either way this
/// program outlives it, so that the port is free when the prompt is back.
fn stop_it_with_us(broker: u32) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("signals cannot be handled")?;
    thread::spawn(move || {
        for _ in signals.forever() {
            // It may be gone already: nothing to report then.
            let _ended = Command::new("kill").arg(broker.to_string()).status();
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::properties;

    #[test]
    fn the_broker_listens_on_loopback_alone() {
        let text = properties(9092, 9093, Path::new("data"));
        let listeners: Vec<&str> =
            text.lines().filter(|line| line.contains("listeners=")).collect();
        assert_eq!(
            listeners,
            [
                "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
                "advertised.listeners=PLAINTEXT://127.0.0.1:9092",
            ]
        );
    }
}
