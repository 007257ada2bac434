//! The demo as people start it: both arms, and an end in the middle that leaves nothing behind.

mod cli_support;

use std::sync::{Mutex, PoisonError};

use cli_support::{Finished, Running, TinyDisk, command, run, scratch};

/// One demo at a time: each is a group of processes.
static TURN: Mutex<()> = Mutex::new(());

/// The plugin where this binary carries one, else the native guard.
fn engine() -> &'static str {
    if rebalance_guard_host::plugin::embedded().is_some() { "plugin" } else { "native" }
}

fn demo(more: &[&str]) -> (i32, serde_json::Value) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let said = run(&[["demo", "--json", "--engine", engine()].as_slice(), more].concat());
    let told = serde_json::from_str(&said.stdout);
    let told = told.unwrap_or_else(|error| panic!("{error}: {}\n{}", said.stdout, said.stderr));
    assert!(said.stderr.contains("enable.auto.commit=true"), "{}", said.stderr);
    (said.code, told)
}

#[test]
fn the_guarded_arm_is_whole_and_the_unguarded_drops_and_repeats() {
    let (code, told) = demo(&["--records", "9000", "--seed", "6"]);
    let number = |arm: &str, name: &str| told[arm][name].as_u64().expect("a number");
    assert_eq!(code, 0, "{told}");
    assert_eq!((number("guarded", "dropped"), number("guarded", "repeated")), (0, 0), "{told}");
    assert!(number("unguarded", "dropped") > 0, "{told}");
    assert!(number("unguarded", "repeated") > 0, "{told}");
    assert!(number("guarded", "absorbed_by_guard") > 0, "{told}");
    assert!(number("guarded", "absorbed_by_sink") > 0, "{told}");
    assert!(number("guarded", "fenced_by_guard") > 0, "{told}");
    assert!(number("guarded", "dead_lettered") > 0, "{told}");
    for arm in ["unguarded", "guarded"] {
        assert_eq!(number(arm, "produced"), 9_000, "{told}");
        assert!(number(arm, "rebalances") >= 4, "{told}");
    }
}

#[test]
fn a_ledger_that_ignores_key_and_token_shows_the_repeats() {
    let (code, told) = demo(&["--records", "9000", "--seed", "7", "--no-sink-check"]);
    assert_eq!(code, 1, "{told}");
    assert_eq!(told["guarded"]["dropped"], 0, "{told}");
    assert!(told["guarded"]["repeated"].as_u64().expect("a number") > 0, "{told}");
    assert_eq!(told["guarded"]["absorbed_by_sink"], 0, "{told}");
}

#[test]
fn ctrl_c_ends_the_demo_and_leaves_no_process_and_no_file_behind() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut demo = Running::start("demo", &["demo", "--engine", "native"]);
    demo.until("members at work", |it| it.stderr().contains("m1 is stopped"));
    let members = children(demo.pid());
    assert!(members.len() >= 3, "{members:?}");
    let folder = folder(demo.pid());
    demo.signal("-INT");
    assert_eq!(demo.code(), 130, "{}", demo.stderr());
    assert!(!folder.exists());
    let left: Vec<_> = members.iter().filter(|pid| lives(**pid)).collect();
    assert!(left.is_empty(), "members left behind: {left:?}");
}

#[test]
fn a_full_disk_under_the_ledger_ends_the_demo_with_what_to_do() {
    let folder = scratch("ledger");
    // Where mounting is not allowed there is no small disk to fill; the ledger's own test has
    // /dev/full.
    let Some(disk) = TinyDisk::mount(&folder.path("mounted")) else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let said = Finished::of(command(&["demo", "--engine", "native"]).env("TMPDIR", disk.path()));
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert!(said.stderr.contains("No space left"), "{}", said.stderr);
    assert!(said.stderr.contains("set TMPDIR to another place"), "{}", said.stderr);
    assert_eq!(said.stdout, "");
}

#[test]
fn a_killed_demo_takes_its_members_with_it() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut demo = Running::start("killed", &["demo", "--engine", "native"]);
    demo.until("members", |it| children(it.pid()).len() >= 3);
    let members = children(demo.pid());
    let folder = folder(demo.pid());
    demo.signal("-KILL");
    assert_eq!(demo.code(), -1);
    let deadline = rebalance_guard_host::clock::now() + std::time::Duration::from_secs(20);
    while members.iter().any(|pid| lives(*pid)) {
        assert!(rebalance_guard_host::clock::now() < deadline, "members outlive their demo");
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    // What SIGKILL leaves is the temp folder's, and ours to clean here.
    std::fs::remove_dir_all(folder).expect("it was there");
}

/// The folder of a running demo: its name ends in random digits.
fn folder(pid: u32) -> std::path::PathBuf {
    let begin = format!("rebalance-guard-demo-{pid}-");
    let entries = std::fs::read_dir(std::env::temp_dir()).expect("a temp folder").flatten();
    let mut ours = entries.filter(|it| it.file_name().to_string_lossy().starts_with(&begin));
    ours.next().expect("the demo's folder").path()
}

/// Processes whose parent is `parent`.
fn children(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("a Linux machine").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| status(*id).is_some_and(|(of, _)| of == parent)).collect()
}

fn lives(id: u32) -> bool {
    status(id).is_some_and(|(_, state)| state != 'Z')
}

/// Parent and state of a process.
fn status(id: u32) -> Option<(u32, char)> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, state))
}
