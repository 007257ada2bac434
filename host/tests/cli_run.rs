//! `run` against a mock cluster: sinks that misbehave, a full disk, signals.

mod cli_support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use cli_support::{Kafka, TinyDisk, scratch};
use rebalance_guard_host::clock;

/// A sink that does `answer` with each connection; gives its URL.
fn sink(answer: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("its address"));
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    url
}

#[test]
fn stdout_carries_the_records_alone_and_the_end_is_committed() {
    let kafka = Kafka::with(20, 10);
    let mut gateway = kafka.run("stdout", &["--log", "json"]);
    gateway.until("every record", |it| it.stdout().lines().count() == 20);
    gateway.signal("-TERM");
    assert_eq!(gateway.code(), 0, "{}", gateway.stderr());
    for line in gateway.stdout().lines() {
        let record: serde_json::Value = serde_json::from_str(line).expect("NDJSON");
        assert_eq!(record["topic"], "orders");
    }
    for line in gateway.stderr().lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("JSON logs");
    }
    assert!(gateway.stderr().contains("effective configuration"));
    assert_eq!(kafka.committed(), 20);
}

#[test]
fn a_sink_that_hangs_holds_the_offsets_and_the_end_says_what_was_left() {
    let kafka = Kafka::with(5, 10);
    // Kept open and never answered, until the test ends.
    let url = sink(std::mem::forget);
    let mut gateway = kafka.run("hangs", &["--sink", &url, "--sink-timeout", "300ms"]);
    gateway.until("an outage", |it| it.stderr().contains("the sink cannot be reached"));
    gateway.signal("-TERM");
    assert_eq!(gateway.code(), 0, "{}", gateway.stderr());
    assert!(gateway.stderr().contains("left for the next owner"), "{}", gateway.stderr());
    assert_eq!(kafka.committed(), 0);
}

#[test]
fn a_sink_that_answers_nonsense_holds_the_offsets() {
    let kafka = Kafka::with(5, 10);
    let url = sink(|mut stream| {
        let mut request = [0; 1_024];
        let _ = stream.read(&mut request).and_then(|_| stream.write_all(b"\x00\xffhello\r\n\r\n"));
    });
    let mut gateway = kafka.run("nonsense", &["--sink", &url]);
    gateway.until("a failure", |it| it.stderr().contains("effect failed"));
    gateway.signal("-TERM");
    assert_eq!(gateway.code(), 0, "{}", gateway.stderr());
    assert_eq!(kafka.committed(), 0);
}

#[test]
fn a_second_signal_stops_at_once() {
    let kafka = Kafka::with(5, 10);
    let url = sink(std::mem::forget);
    // The first alone would wait for the sink: ten seconds.
    let mut gateway = kafka.run("twice", &["--sink", &url]);
    gateway.until("an assignment", |it| it.stderr().contains("assigned"));
    gateway.signal("-TERM");
    gateway.until("the first to be heard", |it| it.stderr().contains("stopping: draining"));
    let begun = clock::now();
    gateway.signal("-TERM");
    assert_eq!(gateway.code(), 143, "{}", gateway.stderr());
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(kafka.committed(), 0);
}

#[test]
fn a_full_disk_under_the_file_sink_loses_nothing_and_commits_nothing_unwritten() {
    let folder = scratch("disk");
    let disk = TinyDisk::mount(&folder.path("mounted"));
    let file = match &disk {
        Some(disk) => format!("{}/effects.ndjson", disk.path()),
        None => "/dev/full".to_owned(),
    };
    let kafka = Kafka::with(500, 300);
    let mut gateway = kafka.run("full", &["--sink", &format!("file:{file}")]);
    gateway.until("the disk to be full", |it| it.stderr().contains("No space left"));
    gateway.signal("-TERM");
    assert_eq!(gateway.code(), 0, "{}", gateway.stderr());
    let committed = usize::try_from(kafka.committed()).expect("an offset");
    let written = match disk {
        Some(_) => std::fs::read_to_string(&file).expect("the file"),
        None => String::new(),
    };
    let lines = written.lines().count();
    assert!(written.is_empty() || written.ends_with('\n'), "no part of a line is left");
    for line in written.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("whole lines");
    }
    assert!(committed <= lines, "{committed} committed, {lines} written");
    assert!(lines < 500, "the disk was too large for this test");
    assert!(lines > 0 || file == "/dev/full", "nothing was written at all");
}

#[test]
fn a_topic_of_more_partitions_than_the_default_is_owned_whole() {
    let kafka = Kafka::empty(70);
    let mut gateway = kafka.run("wide", &[]);
    let owned = |it: &cli_support::Running| it.stderr().contains("kind=Assign partitions=70");
    gateway.until("all of them", owned);
    gateway.signal("-TERM");
    assert_eq!(gateway.code(), 0, "{}", gateway.stderr());
    assert!(gateway.stderr().contains("stopping: draining partitions=70"), "{}", gateway.stderr());
}

#[test]
fn fewer_guard_partitions_than_the_topics_have_are_refused_at_the_start() {
    let kafka = Kafka::empty(3);
    let mut gateway = kafka.run("narrow", &["--guard", "partitions=2"]);
    assert_eq!(gateway.code(), 2, "{}", gateway.stderr());
    let said = gateway.stderr();
    assert!(said.contains("`partitions` below [guard] is 2, but the topics have 3"), "{said}");
}

#[test]
fn what_a_gateway_records_is_answered_alike_in_a_replay() {
    let kafka = Kafka::with(20, 10);
    let folder = scratch("recorded");
    let file = folder.path("incident.jsonl");
    let mut gateway = kafka.run("records", &["--record", &file]);
    gateway.until("every record", |it| it.stdout().lines().count() == 20);
    gateway.signal("-TERM");
    assert_eq!(gateway.code(), 0, "{}", gateway.stderr());
    let text = std::fs::read_to_string(&file).expect("the recording");
    for told in ["assign", "admit", "complete", "commit_answer", "revoke"] {
        assert!(text.contains(&format!("\"do\":\"{told}\"")), "no {told} in {text}");
    }
    assert!(text.contains("\"topic\":\"orders\""), "{text}");
    let replayed = cli_support::run(&["replay", &file, "--quiet", "--model", "--oracle"]);
    assert_eq!(replayed.code, 0, "{}\n{text}", replayed.stderr);
    assert!(replayed.stderr.contains("no promise broken in "), "{}", replayed.stderr);
}

#[test]
fn a_recording_that_cannot_be_made_is_refused_at_the_start() {
    let refused = cli_support::run(&[
        "run",
        "--bootstrap=localhost:1",
        "--topic=orders",
        "--group=g",
        "--guard=key_policy=optional",
        "--record=/nowhere/incident.jsonl",
    ]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let said = "the recording /nowhere/incident.jsonl cannot be made: No such file or directory";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
}
