//! The HTTP sink against a hand-made server that answers badly on purpose.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rebalance_guard::{Assignment, Partition, Token};
use rebalance_guard_host::clock;
use rebalance_guard_host::record::{Effect, OwnedRecord};
use rebalance_guard_host::sink::{
    HttpSettings, HttpSink, HttpSinkError, Sink, SinkAnswer, visible_ascii,
};

/// What the server saw of one request.
#[derive(Clone, Debug)]
struct Request {
    line: String,
    /// By lower-case name.
    headers: HashMap<String, String>,
    body: Vec<u8>,
    /// Counts the server's connections from 1.
    connection: usize,
}

/// What the server does after a request.
#[derive(Clone)]
enum Then {
    /// Sends these bytes and goes on reading.
    Send(String),
    /// Sends these bytes and closes.
    SendAndClose(String),
    /// Keeps the connection and says nothing.
    Hang,
    /// Sends a good head and then a byte of body every 20 ms.
    Drip(&'static str),
}

struct Server {
    url: String,
    requests: Receiver<Request>,
    /// Kept so that hanging connections stay open.
    hanging: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    fn answering(then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/effects?shop=1", listener.local_addr().unwrap());
        let (seen, requests) = channel();
        let hanging = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&hanging);
        thread::spawn(move || {
            for (index, stream) in listener.incoming().enumerate() {
                let (seen, then, keep) = (seen.clone(), then.clone(), Arc::clone(&keep));
                let stream = stream.unwrap();
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while let Some(request) = read(&mut reader, index + 1) {
                        if seen.send(request).is_err() || !act(&then, &stream, &keep) {
                            return;
                        }
                    }
                });
            }
        });
        Self { url, requests, hanging }
    }

    fn status(status: &str, headers: &str, body: &str) -> Self {
        Self::answering(Then::Send(answer(status, headers, body)))
    }

    fn sink(&self) -> HttpSink {
        self.sink_within(Duration::from_secs(20))
    }

    fn sink_within(&self, total: Duration) -> HttpSink {
        let connect = Duration::from_secs(2);
        let settings = HttpSettings { url: self.url.clone(), connect, total, connections: 4 };
        HttpSink::new(&settings).unwrap()
    }

    fn deliver(&self) -> SinkAnswer {
        self.sink().deliver(&effect(&record()))
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
}

/// One request, or `None` at the end of the connection.
fn read(reader: &mut BufReader<TcpStream>, connection: usize) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = HashMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        let before = headers.insert(name.to_lowercase(), value.to_owned());
        assert_eq!(before, None, "{name} twice");
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { line: line.trim_end().to_owned(), headers, body, connection })
}

/// Whether the connection goes on.
fn act(then: &Then, mut stream: &TcpStream, keep: &Mutex<Vec<TcpStream>>) -> bool {
    match then {
        Then::Send(bytes) => stream.write_all(bytes.as_bytes()).is_ok(),
        Then::SendAndClose(bytes) => {
            let _ = stream.write_all(bytes.as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Both);
            false
        }
        Then::Hang => {
            keep.lock().unwrap().push(stream.try_clone().unwrap());
            false
        }
        Then::Drip(head) => {
            let _ = stream.write_all(head.as_bytes());
            while stream.write_all(b"x").is_ok() {
                // The slowness that is tried here.
                thread::sleep(Duration::from_millis(20));
            }
            false
        }
    }
}

fn record() -> OwnedRecord {
    OwnedRecord {
        topic: Arc::from("orders"),
        partition: Partition::new(0, 3),
        offset: 41,
        key: None,
        payload: Some(b"{\"order\":1}".to_vec()),
        headers: Vec::new(),
        leader_epoch: None,
        timestamp_ms: None,
    }
}

fn effect(record: &OwnedRecord) -> Effect<'_> {
    let token = Token { group: 7, assignment: Assignment::new(9).unwrap() };
    Effect { record, idempotency_key: Some("A-1"), token: Some(token), attempt: 2 }
}

/// Whether it may have been sent, and why it was not answered.
fn unreachable(answer: SinkAnswer) -> (bool, String) {
    match answer {
        SinkAnswer::Unreachable { sent, why } => (sent, why),
        other => panic!("it was answered: {other:?}"),
    }
}

fn retry(answer: SinkAnswer) -> (Option<Duration>, String) {
    match answer {
        SinkAnswer::Retry { after, why } => (after, why),
        other => panic!("no retry: {other:?}"),
    }
}

#[test]
fn a_post_carries_payload_key_token_and_place() {
    let server = Server::status("200 OK", "", "");
    assert_eq!(server.deliver(), SinkAnswer::Done);
    let request = server.requests.recv().unwrap();
    assert_eq!(request.line, "POST /effects?shop=1 HTTP/1.1");
    assert_eq!(request.body, b"{\"order\":1}");
    let expected = [
        ("idempotency-key", "A-1"),
        ("fencing-token", "7.9"),
        ("kafka-topic", "orders"),
        ("kafka-partition", "3"),
        ("kafka-offset", "41"),
        ("content-length", "11"),
        ("content-type", "application/octet-stream"),
    ];
    for (name, value) in expected {
        assert_eq!(request.headers.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!(request.headers.get("kafka-tombstone"), None);
}

#[test]
fn without_key_and_token_their_headers_are_absent() {
    let server = Server::status("204 No Content", "", "");
    let record = record();
    let unguarded = Effect { record: &record, idempotency_key: None, token: None, attempt: 0 };
    assert_eq!(server.sink().deliver(&unguarded), SinkAnswer::Done);
    let request = server.requests.recv().unwrap();
    assert_eq!(request.headers.get("idempotency-key"), None);
    assert_eq!(request.headers.get("fencing-token"), None);
}

// B139 (tulios/kafkajs#185)
#[test]
fn a_tombstone_is_told_from_an_empty_payload() {
    let server = Server::status("200 OK", "", "");
    let sink = server.sink();
    for (payload, tombstone) in [(None, Some("true")), (Some(Vec::new()), None)] {
        let record = OwnedRecord { payload, ..record() };
        assert_eq!(sink.deliver(&effect(&record)), SinkAnswer::Done);
        let request = server.requests.recv().unwrap();
        assert_eq!(request.headers.get("kafka-tombstone").map(String::as_str), tombstone);
        assert_eq!(request.headers.get("content-length").map(String::as_str), Some("0"));
        assert_eq!(request.body, b"");
    }
}

#[test]
fn many_effects_share_one_connection_whatever_the_answers() {
    for status in ["200 OK", "503 Service Unavailable", "412 Precondition Failed", "404 Not Found"]
    {
        let server = Server::status(status, "", "some words");
        let sink = server.sink();
        for _ in 0..50 {
            sink.deliver(&effect(&record()));
        }
        let connections: Vec<usize> =
            server.requests.try_iter().map(|request| request.connection).collect();
        assert_eq!(connections, vec![1; 50], "{status}");
    }
}

#[test]
fn concurrent_workers_keep_a_connection_each() {
    let server = Server::status("200 OK", "", "");
    let sink = server.sink();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(sink.deliver(&effect(&record())), SinkAnswer::Done);
                }
            });
        }
    });
    let requests: Vec<Request> = server.requests.try_iter().collect();
    assert_eq!(requests.len(), 200);
    assert!(requests.iter().all(|request| request.connection <= 4));
}

#[test]
fn each_status_has_its_meaning() {
    for status in ["200 OK", "201 Created", "204 No Content", "299 Fine"] {
        assert_eq!(Server::status(status, "", "").deliver(), SinkAnswer::Done, "{status}");
    }
    for status in ["408 a", "409 a", "425 a", "429 a", "500 a", "502 a", "503 a", "599 a", "600 a"]
    {
        let (after, why) = retry(Server::status(status, "", "busy").deliver());
        assert_eq!(after, None);
        assert!(why.contains(&status[..3]) && why.ends_with(": busy"), "{why}");
    }
    for status in ["400 a", "401 a", "403 a", "404 a", "410 a", "413 a", "422 a", "431 a", "499 a"]
    {
        match Server::status(status, "", "bad\r\norder").deliver() {
            SinkAnswer::Permanent { why } => assert!(why.ends_with(": bad  order"), "{why}"),
            other => panic!("{status}: {other:?}"),
        }
    }
    match Server::status("412 Precondition Failed", "", "8.1 was here").deliver() {
        SinkAnswer::Fenced { why } => {
            assert_eq!(why, "the sink answered 412 Precondition Failed: 8.1 was here");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_redirect_is_permanent_and_not_followed() {
    let target = Server::status("200 OK", "", "");
    for status in ["301 a", "302 a", "303 a", "307 a", "308 a", "304 a"] {
        let server = Server::status(status, &format!("Location: {}\r\n", target.url), "");
        match server.deliver() {
            SinkAnswer::Permanent { why } => assert!(why.contains("not redirected"), "{why}"),
            other => panic!("{status}: {other:?}"),
        }
    }
    assert!(target.requests.try_recv().is_err());
}

#[test]
fn retry_after_is_obeyed_in_seconds_and_as_a_date() {
    let after = |value: &str| {
        let header = format!("Retry-After: {value}\r\n");
        retry(Server::status("503 Service Unavailable", &header, "").deliver()).0
    };
    assert_eq!(after("7"), Some(Duration::from_secs(7)));
    assert_eq!(after("0"), Some(Duration::ZERO));
    assert_eq!(after("99999999999"), Some(Duration::from_secs(3600)));
    assert_eq!(after("-1"), None);
    assert_eq!(after("soon"), None);
    assert_eq!(after("99999999999999999999999"), None);
    assert_eq!(after("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
    let moment = std::time::UNIX_EPOCH + clock::since_epoch() + Duration::from_secs(120);
    let span = after(&httpdate::fmt_http_date(moment)).unwrap();
    assert!((Duration::from_secs(100)..=Duration::from_secs(120)).contains(&span), "{span:?}");
}

#[test]
fn a_sink_that_says_nothing_is_given_up_in_time() {
    let server = Server::answering(Then::Hang);
    let sink = server.sink_within(Duration::from_millis(300));
    let began = clock::now();
    let (sent, why) = unreachable(sink.deliver(&effect(&record())));
    assert!(sent);
    assert_eq!(why, "no answer from the sink in time; it may have acted");
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(server.hanging.lock().unwrap().len(), 1);
}

#[test]
fn nobody_listening_is_unreachable_and_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let (connect, total) = (HttpSettings::CONNECT, HttpSettings::TOTAL);
    let sink = HttpSink::new(&HttpSettings { url, connect, total, connections: 1 }).unwrap();
    let (sent, why) = unreachable(sink.deliver(&effect(&record())));
    assert!(!sent);
    assert!(why.starts_with("no answer from the sink: "), "{why}");
}

#[test]
fn answers_that_are_no_http_are_tried_again() {
    let garbage = [
        "",
        "\0\u{1}\u{2}\r\n\r\n",
        "SSH-2.0-OpenSSH_9.9\r\n",
        "HTTP/1.1 OK\r\n\r\n",
        "HTTP/1.1 20",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        "HTTP/1.1 99 Too Low\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ];
    for garbage in garbage {
        let server = Server::answering(Then::SendAndClose(garbage.to_owned()));
        let why = match server.deliver() {
            SinkAnswer::Retry { why, .. } | SinkAnswer::Unreachable { sent: true, why } => why,
            other => panic!("{garbage:?}: {other:?}"),
        };
        assert!(!why.is_empty(), "{garbage:?}");
    }
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(100_000));
    retry(Server::answering(Then::SendAndClose(endless)).deliver());
}

#[test]
fn the_head_decides_when_the_body_is_slow_or_cut() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly".to_owned();
    assert_eq!(Server::answering(Then::SendAndClose(cut)).deliver(), SinkAnswer::Done);
    let cut = "HTTP/1.1 503 Busy\r\nContent-Length: 100\r\nRetry-After: 3\r\n\r\nonly".to_owned();
    let (after, why) = retry(Server::answering(Then::SendAndClose(cut)).deliver());
    assert_eq!(
        (after, why.as_str()),
        (Some(Duration::from_secs(3)), "the sink answered 503 Service Unavailable")
    );
    let slow = Server::answering(Then::Drip("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"));
    let began = clock::now();
    assert_eq!(slow.deliver(), SinkAnswer::Done);
    assert!(began.elapsed() < Duration::from_secs(10), "the body is not worth waiting for");
}

#[test]
fn a_long_answer_is_cut() {
    let (_, why) = retry(Server::status("500 a", "", &"x".repeat(1_000_000)).deliver());
    assert!(why.len() < 300, "{}", why.len());
    let (_, why) = retry(Server::status("500 a", "", &"x".repeat(10_000)).deliver());
    assert!(why.len() < 300, "{}", why.len());
}

#[test]
fn a_connection_that_the_sink_closed_is_replaced() {
    let good = answer("200 OK", "Connection: close\r\n", "");
    let server = Server::answering(Then::SendAndClose(good));
    let sink = server.sink();
    for connection in 1..=3 {
        assert_eq!(sink.deliver(&effect(&record())), SinkAnswer::Done);
        assert_eq!(server.requests.recv().unwrap().connection, connection);
    }
}

#[test]
fn keys_and_topics_of_any_text_are_safe_and_stay_apart() {
    assert_eq!(visible_ascii("orders/3/41"), "orders/3/41");
    assert_eq!(visible_ascii("a b"), "a%20b");
    assert_eq!(visible_ascii("a%20b"), "a%2520b");
    assert_eq!(visible_ascii("é\r\nX: y\0"), "%C3%A9%0D%0AX:%20y%00");
    let server = Server::status("200 OK", "", "");
    let record = OwnedRecord { topic: Arc::from("or ders"), ..record() };
    let key = Some("50%\r\nFencing-Token: 99.99");
    let sneaky = Effect { idempotency_key: key, ..effect(&record) };
    assert_eq!(server.sink().deliver(&sneaky), SinkAnswer::Done);
    let headers = server.requests.recv().unwrap().headers;
    assert_eq!(headers["idempotency-key"], "50%25%0D%0AFencing-Token:%2099.99");
    assert_eq!(headers["fencing-token"], "7.9");
    assert_eq!(headers["kafka-topic"], "or%20ders");
}

#[test]
fn urls_that_cannot_be_posted_to_are_refused_with_a_remedy() {
    let refuse = |url: &str| {
        let url = url.to_owned();
        let (connect, total) = (HttpSettings::CONNECT, HttpSettings::TOTAL);
        HttpSink::new(&HttpSettings { url, connect, total, connections: 1 }).unwrap_err()
    };
    assert_eq!(refuse("https://shop.example/x"), HttpSinkError::Https);
    assert!(refuse("https://x/").to_string().contains("not supported by this build"));
    assert_eq!(refuse("ftp://x/"), HttpSinkError::Scheme("ftp".to_owned()));
    for url in ["", "shop", "/path", "http://", "http:// x/", "localhost:80/x"] {
        let error = refuse(url).to_string();
        assert!(error.contains("for example http://"), "{url}: {error}");
    }
    let secret = refuse("http://me:hunter2@shop.example/");
    assert_eq!(secret, HttpSinkError::Credentials);
    assert!(!secret.to_string().contains("hunter2"));
    let server = Server::status("200 OK", "", "");
    assert!(!format!("{:?}", server.sink()).contains("shop=1"));
}

#[test]
fn a_host_name_is_looked_up_and_remembered() {
    let server = Server::status("200 OK", "", "");
    let url = server.url.replace("127.0.0.1", "localhost");
    let (connect, total) = (HttpSettings::CONNECT, HttpSettings::TOTAL);
    let sink = HttpSink::new(&HttpSettings { url, connect, total, connections: 1 }).unwrap();
    for _ in 0..3 {
        assert_eq!(sink.deliver(&effect(&record())), SinkAnswer::Done);
        let request = server.requests.recv().unwrap();
        assert!(request.headers["host"].starts_with("localhost:"), "{request:?}");
    }
    let (url, connections) = ("http://no-such-host.invalid/".to_owned(), 1);
    let nowhere = HttpSink::new(&HttpSettings { url, connect, total, connections }).unwrap();
    unreachable(nowhere.deliver(&effect(&record())));
}
