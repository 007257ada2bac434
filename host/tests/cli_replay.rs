//! `rebalance-guard replay` as a user runs it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use rebalance_guard::Config;
use rebalance_guard_host::engine::Engine;
use rebalance_guard_host::native::NativeEngine;

const GOOD: &str = r#"{"do":"config","commit_interval":0,"jitter":0,"key_policy":"optional"}
{"do":"assign","now":0,"generation":7,"partitions":[{"partition":0,"committed":100}]}
{"do":"admit","plus":1,"partition":0,"offset":100,"as":"a","expect":{"verdict":"run"}}
{"do":"complete","plus":5,"ticket":"a","expect":{"outputs":["commit"]}}
"#;

/// A file of this process and test alone.
fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("replay-{}-{name}", std::process::id()));
    fs::write(&path, text).expect("a file");
    path
}

fn replay(file: &PathBuf, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rebalance-guard"));
    let output = command.arg("replay").arg(file).args(flags).output().expect("it runs");
    fs::remove_file(file).ok();
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn each_line_is_answered_and_the_model_agrees() {
    let output = replay(&file("good", GOOD), &["--model"]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(
        text(&output.stdout),
        "{\"line\":2,\"now\":0,\"answer\":\"done\",\"outputs\":[]}\n\
         {\"line\":3,\"now\":1,\"verdict\":\"run\",\"outputs\":[]}\n\
         {\"line\":4,\"now\":6,\"answer\":\"done\",\"outputs\":[\"commit\"],\"details\":[{\
         \"kind\":\"commit\",\"topic\":\"t\",\"partition\":0,\"offset\":101,\"token\":\"7.1\",\
         \"metadata\":\"\"}]}\n"
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_first_line_that_differs_ends_it_with_both_values() {
    let bad = GOOD.replace("\"verdict\":\"run\"", "\"verdict\":\"skip\"");
    let output = replay(&file("bad", &bad), &["--quiet"]);
    assert_eq!(text(&output.stderr), "line 3: verdict: expected \"skip\", is \"run\"\n");
    let shown = "{\"line\":3,\"now\":1,\"verdict\":\"run\",\"outputs\":[]}\n";
    assert_eq!(text(&output.stdout), shown);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_file_that_is_no_trace_is_refused_with_the_line_and_what_to_do() {
    let path = file("field", &GOOD.replace("\"offset\":100", "\"ofset\":100"));
    let output = replay(&path, &[]);
    let why = format!("{}: line 3: `offset` is missing\n", path.display());
    assert_eq!((text(&output.stderr), output.status.code()), (why, Some(2)));
    let output = replay(&std::env::temp_dir().join("no-such-trace.jsonl"), &[]);
    assert!(text(&output.stderr).contains("cannot be read"), "{output:?}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_folder_without_the_package_for_node_is_named_with_what_to_do() {
    let folder = std::env::temp_dir();
    let folder = folder.to_str().expect("text");
    let output = replay(&file("js", GOOD), &["--engine", "js", "--js-package", folder]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("has no replay.mjs: give the folder of the package"));
}

#[test]
fn a_trace_that_goes_on_from_bytes_is_refused_by_the_reference_model_with_a_word() {
    let restored = format!("{GOOD}{{\"do\":\"restore\",\"snapshot_hex\":\"00\"}}\n");
    let output = replay(&file("bytes", &restored), &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("line 5: the snapshot's bytes are refused"), "{said}");
}

#[test]
fn with_oracle_the_answers_are_judged_by_the_promises() {
    let output = replay(&file("oracle", GOOD), &["--oracle", "--quiet"]);
    assert_eq!(text(&output.stderr), "the oracle: no promise broken in 3 inputs\n");
    assert_eq!((text(&output.stdout), output.status.code()), (String::new(), Some(0)));
}

#[test]
fn what_the_oracle_cannot_judge_is_said_with_what_to_do() {
    let output = replay(
        &file("oracle-js", GOOD),
        &["--oracle", "--engine", "js", "--js-package", "anywhere"],
    );
    assert_eq!(
        text(&output.stderr),
        "--oracle judges --engine native and plugin: with js leave it out\n"
    );
    assert_eq!(output.status.code(), Some(2));
    let snapshot = snapshot_hex();
    let config = "{\"do\":\"config\"}";
    let restored = format!("{config}\n{{\"do\":\"restore\",\"snapshot_hex\":\"{snapshot}\"}}\n");
    let output = replay(&file("oracle-restored", &restored), &["--oracle", "--quiet"]);
    assert!(text(&output.stderr).contains("take the first file of the recording"), "{output:?}");
    assert_eq!(output.status.code(), Some(2));
}

/// A guard of default settings that was told nothing, as bytes.
fn snapshot_hex() -> String {
    let mut engine = NativeEngine::new(&Config::default()).expect("sound settings");
    let bytes = engine.snapshot().expect("alive").expect("it fits");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
