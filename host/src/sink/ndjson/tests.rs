use std::fs;
use std::sync::Arc;

use rebalance_guard::{Assignment, Partition, Token};
use serde_json::{Value, json};

use super::*;
use crate::record::OwnedRecord;

/// A folder of the test's own, gone when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ndjson-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("ledger.ndjson")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn record() -> OwnedRecord {
    OwnedRecord {
        topic: Arc::from("orders"),
        partition: Partition::new(0, 3),
        offset: 41,
        key: Some(b"k".to_vec()),
        payload: Some(b"{\"order\":1}\n".to_vec()),
        headers: Vec::new(),
        leader_epoch: None,
        timestamp_ms: Some(1_700_000_000_000),
    }
}

fn effect(record: &OwnedRecord) -> Effect<'_> {
    let token = Token { group: 7, assignment: Assignment::new(9).unwrap() };
    Effect { record, idempotency_key: Some("orders/3/41"), token: Some(token), attempt: 2 }
}

fn open(path: &Path) -> NdjsonSink {
    NdjsonSink::open(path, Durability::EachAnswer).unwrap()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_effect_is_one_line() {
    let folder = Folder::new("line");
    let sink = open(&folder.file());
    assert_eq!(sink.deliver(&effect(&record())), SinkAnswer::Done);
    let text = fs::read_to_string(folder.file()).unwrap();
    assert_eq!(
        text,
        "{\"topic\":\"orders\",\"partition\":3,\"offset\":41,\"timestamp\":1700000000000,\
         \"key\":\"k\",\"payload\":\"{\\\"order\\\":1}\\n\",\"idempotency_key\":\"orders/3/41\",\
         \"token\":\"7.9\",\"attempt\":2}\n"
    );
}

// B139 (tulios/kafkajs#185)
#[test]
fn null_empty_and_bytes_that_are_no_text_stay_apart() {
    let folder = Folder::new("null");
    let sink = open(&folder.file());
    let none = OwnedRecord { key: None, payload: None, timestamp_ms: None, ..record() };
    let empty = OwnedRecord { key: Some(vec![]), payload: Some(vec![]), ..record() };
    let bytes = OwnedRecord { key: Some(vec![0xff]), payload: Some(vec![0, 0xfe]), ..record() };
    for record in [&none, &empty, &bytes] {
        let effect = Effect { record, idempotency_key: None, token: None, attempt: 0 };
        assert_eq!(sink.deliver(&effect), SinkAnswer::Done);
    }
    let lines = lines(&folder.file());
    assert_eq!(lines[0]["payload"], Value::Null);
    assert_eq!(lines[0]["key"], Value::Null);
    assert_eq!(lines[0]["timestamp"], Value::Null);
    assert_eq!(lines[0]["token"], Value::Null);
    assert_eq!(lines[0]["idempotency_key"], Value::Null);
    assert_eq!(lines[0].as_object().unwrap().len(), 9);
    assert_eq!(lines[1]["payload"], json!(""));
    assert_eq!(lines[1]["key"], json!(""));
    assert_eq!(lines[2]["payload_base64"], json!("AP4="));
    assert_eq!(lines[2]["key_base64"], json!("/w=="));
    assert_eq!(lines[2].get("payload"), None);
}

#[test]
fn opening_again_goes_on_after_what_is_there() {
    let folder = Folder::new("again");
    for _ in 0..2 {
        let sink = open(&folder.file());
        assert_eq!(sink.deliver(&effect(&record())), SinkAnswer::Done);
    }
    assert_eq!(lines(&folder.file()).len(), 2);
}

#[test]
fn a_line_torn_by_a_crash_is_cut_off() {
    let folder = Folder::new("torn");
    assert_eq!(open(&folder.file()).deliver(&effect(&record())), SinkAnswer::Done);
    let whole = fs::read(folder.file()).unwrap();
    for torn in [1, 9, 10, 50, whole.len() - 2] {
        let mut bytes = whole.clone();
        bytes.extend_from_slice(&whole[..torn]);
        fs::write(folder.file(), bytes).unwrap();
        drop(open(&folder.file()));
        assert_eq!(fs::read(folder.file()).unwrap(), whole, "{torn} bytes of a line");
    }
    // A line longer than what is read at a time.
    let long = OwnedRecord { payload: Some(vec![b'x'; 20_000]), ..record() };
    assert_eq!(open(&folder.file()).deliver(&effect(&long)), SinkAnswer::Done);
    let mut bytes = fs::read(folder.file()).unwrap();
    bytes.truncate(bytes.len() - 5_000);
    fs::write(folder.file(), bytes).unwrap();
    drop(open(&folder.file()));
    assert_eq!(fs::read(folder.file()).unwrap(), whole);
}

#[test]
fn a_last_line_that_is_whole_or_not_ours_only_gets_its_newline() {
    let folder = Folder::new("history");
    for last in ["{\"topic\":\"orders\"}", "{\"mine\":1}", "a note", "{\"topic\":7, half"] {
        fs::write(folder.file(), format!("first\n{last}")).unwrap();
        drop(open(&folder.file()));
        assert_eq!(fs::read_to_string(folder.file()).unwrap(), format!("first\n{last}\n"));
    }
}

#[test]
fn two_writers_of_one_file_are_refused() {
    let folder = Folder::new("busy");
    let first = open(&folder.file());
    let second = NdjsonSink::open(&folder.file(), Durability::OnFlush).unwrap_err();
    assert!(matches!(second, NdjsonError::Busy { .. }), "{second}");
    drop(first);
    drop(open(&folder.file()));
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let folder = Folder::new("nowhere");
    let path = folder.0.join("missing/ledger.ndjson");
    let error = NdjsonSink::open(&path, Durability::EachAnswer).unwrap_err().to_string();
    assert!(error.contains("missing/ledger.ndjson"), "{error}");
    assert!(error.contains("check that the folder exists"), "{error}");
}

#[test]
fn a_full_device_is_tried_again_with_words() {
    let path = Path::new("/dev/full");
    if !path.exists() {
        return;
    }
    let sink = open(path);
    for _ in 0..2 {
        match sink.deliver(&effect(&record())) {
            SinkAnswer::Unreachable { sent: false, why } => {
                assert!(why.starts_with("no room left for /dev/full"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_pipe_that_nobody_reads_is_told() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let stream = Stream::new(File::from(std::os::fd::OwnedFd::from(writer)), "the pipe");
    let why = stream.write(b"line\n").unwrap_err();
    assert!(why.starts_with("nobody reads the pipe any more"), "{why}");
}

#[test]
fn concurrent_workers_write_whole_lines() {
    let folder = Folder::new("threads");
    let sink = open(&folder.file());
    std::thread::scope(|scope| {
        for offset in 0..8 {
            let sink = &sink;
            scope.spawn(move || {
                let record = OwnedRecord { offset, ..record() };
                for _ in 0..20 {
                    assert_eq!(sink.deliver(&effect(&record)), SinkAnswer::Done);
                }
            });
        }
    });
    sink.flush().unwrap();
    let lines = lines(&folder.file());
    for offset in 0..8 {
        assert_eq!(lines.iter().filter(|line| line["offset"] == json!(offset)).count(), 20);
    }
}
