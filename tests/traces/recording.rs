//! What a gateway records is what a replay finds.

use std::fs;
use std::path::{Path, PathBuf};

use rebalance_guard::{Config, Guard};
use rebalance_guard_host::engine::Engine;
use rebalance_guard_host::native::NativeEngine;
use rebalance_guard_host::recording::Recording;
use rebalance_guard_sim::jsonl::File;
use rebalance_guard_sim::{Heap, random, run};
use rebalance_guard_tests::judged::history;
use rebalance_guard_tests::plugin::{EngineSubject, plugin};

use crate::played;

/// A folder of this test's own, empty.
fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("recording-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn native(config: &Config) -> Box<dyn Engine> {
    Box::new(NativeEngine::new(config).expect("sound settings"))
}

/// Names as the random traces number topics.
fn topics() -> Vec<String> {
    (0..8).map(|number| format!("topic-{number}")).collect()
}

/// The files of a recording, the newest first.
fn files(path: &Path) -> Vec<String> {
    let name = |number: usize| match number {
        0 => path.to_owned(),
        _ => path.with_extension(format!("jsonl.{number}")),
    };
    (0..).map_while(|number| fs::read_to_string(name(number)).ok()).collect()
}

fn replays_alike(text: &str) {
    let file = File::read(text).unwrap_or_else(|bad| panic!("{bad}"));
    let config = *file.config();
    let mut guard = Guard::new(Heap::new(&config), config).expect("sound settings");
    let native = played(&file, "native", &mut guard);
    let mut engine = EngineSubject(plugin().start(&config).expect("it starts"));
    assert_eq!(native, played(&file, "plugin", &mut engine));
}

#[test]
fn a_recorded_history_is_answered_alike_when_it_is_told_again() {
    let folder = scratch("alike");
    for (seed, plain) in (0..60).map(|seed| (seed, seed % 2 == 0)) {
        let trace = random::trace(seed, 300);
        let path = folder.join(format!("{seed}.jsonl"));
        let recording = Recording::create(&path, u64::MAX, plain, topics()).expect("it begins");
        let mut engine = EngineSubject(recording.of(native(&trace.config), &trace.config));
        run(&trace, &mut engine);
        drop(engine);
        let files = files(&path);
        assert_eq!(files.len(), 1, "seed {seed}");
        replays_alike(&files[0]);
    }
}

#[test]
fn each_of_a_recordings_files_can_be_replayed_alone() {
    let folder = scratch("files");
    let mut begun = 0;
    for seed in 0..30 {
        let trace = random::trace(seed, 600);
        let path = folder.join(format!("{seed}.jsonl"));
        let recording = Recording::create(&path, 80_000, false, topics()).expect("it begins");
        let mut engine = EngineSubject(recording.of(native(&trace.config), &trace.config));
        run(&trace, &mut engine);
        drop(engine);
        let files = files(&path);
        assert!(files.len() <= 8, "seed {seed} has {} files", files.len());
        begun += files.len();
        files.iter().for_each(|text| replays_alike(text));
    }
    assert!(begun > 100, "{begun} files");
}

#[test]
fn a_key_is_recorded_as_what_it_was_hashed_to() {
    let folder = scratch("keys");
    let trace = random::trace(3, 300);
    let text = |plain| {
        let path = folder.join("keys.jsonl");
        let recording = Recording::create(&path, u64::MAX, plain, topics()).expect("it begins");
        let mut engine = EngineSubject(recording.of(native(&trace.config), &trace.config));
        run(&trace, &mut engine);
        drop(engine);
        fs::read_to_string(path).expect("the file is there")
    };
    let (plain, hashed) = (text(true), text(false));
    let keys = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.split_once("\"key\":\""));
        lines.filter_map(|(_, rest)| rest.split('"').next().map(str::to_owned)).collect()
    };
    let (plain, hashed) = (keys(&plain), keys(&hashed));
    assert_eq!(plain.len(), hashed.len());
    assert!(plain.len() > 50, "{} keys", plain.len());
    for (one, other) in plain.iter().zip(&hashed) {
        assert!(other.len() == 32 || other.is_empty(), "{other:?}");
        assert_ne!(one, other);
    }
    // Equal keys stay equal, and others stay others; blank and oversized ones are alike unusable.
    let plain: Vec<String> = plain
        .into_iter()
        .zip(&hashed)
        .map(|(plain, hashed)| if hashed.is_empty() { String::new() } else { plain })
        .collect();
    let places = |keys: &[String]| -> Vec<Option<usize>> {
        keys.iter().map(|key| keys.iter().position(|known| known == key)).collect()
    };
    assert_eq!(places(&plain), places(&hashed));
}

#[test]
fn an_engine_that_takes_over_begins_a_file_with_what_the_other_knew() {
    let folder = scratch("reload");
    let trace = random::trace(5, 400);
    let path = folder.join("reload.jsonl");
    let recording = Recording::create(&path, u64::MAX, true, topics()).expect("it begins");
    let mut first = EngineSubject(recording.of(native(&trace.config), &trace.config));
    run(&trace, &mut first);
    let snapshot = first.0.snapshot().expect("alive").expect("it fits");
    let now = rebalance_guard::snapshot_taken_at(&snapshot).expect("a snapshot");
    let mut second = recording.of(native(&trace.config), &trace.config);
    assert_eq!(second.restore(now, &snapshot), Ok(true));
    // One that is thrown away again has written nothing.
    drop(recording.of(native(&trace.config), &trace.config));
    second.handle_timeout(now.after(1)).expect("alive");
    while second.poll_output().expect("alive").is_some() {}
    // And back: the first goes on in a file of its own.
    first.0.handle_timeout(now.after(2)).expect("alive");
    while first.0.poll_output().expect("alive").is_some() {}
    drop((first, second));
    let files = files(&path);
    assert_eq!(files.len(), 3);
    for text in &files[..2] {
        assert!(text.lines().nth(1).is_some_and(|line| line.contains("snapshot_hex")), "{text}");
    }
    files.iter().for_each(|text| replays_alike(text));
}

#[test]
fn an_earlier_recording_is_kept_and_a_place_that_cannot_be_written_is_refused() {
    let folder = scratch("kept");
    let path = folder.join("kept.jsonl");
    fs::write(&path, "what was there").expect("written");
    drop(Recording::create(&path, u64::MAX, true, topics()).expect("it begins"));
    assert_eq!(files(&path), ["", "what was there"]);
    let nowhere = folder.join("nowhere").join("file.jsonl");
    Recording::create(&nowhere, u64::MAX, true, topics()).expect_err("there is no such folder");
}

#[test]
fn a_recording_is_judged_by_every_promise_and_one_that_was_altered_is_refused() {
    let folder = scratch("judged");
    let trace = random::trace(11, 300);
    let path = folder.join("judged.jsonl");
    let recording = Recording::create(&path, u64::MAX, true, topics()).expect("it begins");
    let mut engine = EngineSubject(recording.of(native(&trace.config), &trace.config));
    run(&trace, &mut engine);
    drop(engine);
    let text = fs::read_to_string(&path).expect("the file is there");
    assert_eq!(history(&text), Ok(true));
    // Killed in the middle of a line.
    assert_eq!(history(&text[..text.len() - 7]), Ok(true));
    assert_eq!(history(""), Ok(false));
    let altered = text.replacen("\"run\"", "\"skip\"", 1);
    assert_ne!(altered, text);
    let why = history(&altered).expect_err("it was answered otherwise");
    assert!(why.contains("expected"), "{why}");
}
