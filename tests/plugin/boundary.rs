//! What the host survives once a plugin runs: endless calls, traps, growth, garbage.

use std::time::{Duration, Instant};

use rebalance_guard::{Config, Input, Offset, Outcome, Partition, Record, Resume, Tick, Ticket};
use rebalance_guard_host::clock;
use rebalance_guard_host::engine::{Engine, EngineDead};
use rebalance_guard_host::plugin::{Limits, PluginEngine};
use rebalance_guard_tests::plugin::{patient, plugin};

use crate::faulty::{MEMORY, load, module, module_of};

fn started(bytes: &[u8]) -> PluginEngine {
    let plugin = load(bytes, patient()).unwrap_or_else(|error| panic!("{error}"));
    plugin.start(&Config::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn with(name: &str, body: &str) -> PluginEngine {
    started(&module(&[(name, body)]))
}

fn record() -> Record<'static> {
    Record::new(Partition::new(0, 3), Offset::ZERO, Some(b"k"))
}

fn ticket() -> Ticket {
    let mut bytes = [0; Ticket::BYTES];
    bytes[4] = 1;
    Ticket::from_bytes(&bytes).expect("assignment 1")
}

/// Every call of the engine, by name; what it says when dead.
fn all_calls(engine: &mut PluginEngine) -> Vec<(&'static str, Result<(), EngineDead>)> {
    let now = Tick::ZERO;
    vec![
        ("handle", engine.handle(now, Input::Polled).map(|_| ())),
        ("admit", engine.admit(now, &record()).map(|_| ())),
        ("admit_batch", engine.admit_batch(now, &[record()], &mut Vec::new())),
        ("answer", engine.answer(now, ticket(), Outcome::Completed).map(|_| ())),
        ("handle_timeout", engine.handle_timeout(now)),
        ("poll_output", engine.poll_output().map(|_| ())),
        ("poll_timeout", engine.poll_timeout().map(|_| ())),
        ("is_live", engine.is_live(ticket()).map(|_| ())),
        ("progress", engine.progress(Partition::new(0, 3)).map(|_| ())),
        ("owned", engine.owned().map(|_| ())),
        ("storm", engine.storm().map(|_| ())),
        ("counters", engine.counters().map(|_| ())),
    ]
}

#[test]
fn a_trap_ends_the_guard_for_good_and_every_later_call_says_why() {
    let mut engine = with("rg_storm", "(result i32) (unreachable)");
    assert_eq!(engine.handle_timeout(Tick::ZERO), Ok(()));
    let dead = engine.storm().expect_err("it trapped");
    assert!(dead.reason.contains("trapped") && dead.reason.contains("unreachable"), "{dead}");
    assert_eq!(engine.dead(), Some(&dead));
    for (call, said) in all_calls(&mut engine) {
        assert_eq!(said, Err(dead.clone()), "{call}");
    }
    assert!(dead.to_string().contains("every partition counts as lost"), "{dead}");
}

#[test]
fn a_runaway_call_is_ended_by_its_deadline() {
    let endless =
        module(&[("rg_admit", "(param i64 i32) (result i32) (loop (br 0)) (i32.const 0)")]);
    let timeout = Duration::from_millis(50);
    let plugin = load(&endless, Limits { call_timeout: timeout, ..Limits::default() });
    let plugin = plugin.unwrap_or_else(|error| panic!("{error}"));
    let mut engine = plugin.start(&Config::default()).unwrap_or_else(|error| panic!("{error}"));
    let begun: Instant = clock::now();
    let dead = engine.admit(Tick::ZERO, &record()).expect_err("it ends");
    let took = begun.elapsed();
    assert_eq!(dead.reason, "it ran past its time limit of 50ms");
    assert!(took >= timeout, "ended early, after {took:?}");
    // Eleven ticks of 5 ms on a quiet machine; the rest is for a busy one.
    assert!(took < Duration::from_secs(5), "ended after {took:?}");
    assert_eq!(engine.poll_output(), Err(dead));
}

#[test]
fn endless_recursion_is_a_trap_like_any_other() {
    let bytes = module_of(
        MEMORY,
        "(func $deep (result i32) (i32.add (call $deep) (i32.const 1)))",
        &[("rg_storm", "(result i32) (call $deep)")],
    );
    let dead = started(&bytes).storm().expect_err("it ends");
    assert!(dead.reason.contains("call stack exhausted"), "{dead}");
}

#[test]
fn memory_growth_after_init_is_the_end() {
    let grow = "(param i64) (result i32) (drop (memory.grow (i32.const 1))) (i32.const 0)";
    let mut engine = with("rg_handle_timeout", grow);
    let dead = engine.handle_timeout(Tick::ZERO).expect_err("it grew");
    assert!(dead.reason.contains("trapped"), "{dead}");
    assert_eq!(engine.storm(), Err(dead));
}

/// A function that fills the front of the buffer with zeros but for `number` at `at`, and gives
/// `result`.
fn telling(params: &str, at: u32, number: &str, result: &str) -> String {
    telling_all(params, &[(at, number)], result)
}

fn telling_all(params: &str, numbers: &[(u32, &str)], result: &str) -> String {
    let mut body = params.to_owned();
    for word in (0..80).step_by(8) {
        let number = numbers.iter().find(|(at, _)| *at == word).map_or("0", |(_, number)| *number);
        body += &format!(" (i64.store (i32.const {}) (i64.const {number}))", 1_024 + word);
    }
    body + &format!(" ({result})")
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table, one row a broken answer")]
fn an_answer_outside_the_contract_is_the_end_and_named() {
    type Call = fn(&mut PluginEngine) -> Result<(), EngineDead>;
    let admit: Call = |engine| engine.admit(Tick::ZERO, &record()).map(|_| ());
    let batch: Call = |engine| engine.admit_batch(Tick::ZERO, &[record(); 3], &mut Vec::new());
    let polled: Call = |engine| engine.handle(Tick::ZERO, Input::Polled).map(|_| ());
    let answer: Call = |engine| engine.answer(Tick::ZERO, ticket(), Outcome::Completed).map(|_| ());
    let pass: Call = |engine| engine.handle_timeout(Tick::ZERO);
    let output: Call = |engine| engine.poll_output().map(|_| ());
    let due: Call = |engine| engine.poll_timeout().map(|_| ());
    let live: Call = |engine| engine.is_live(ticket()).map(|_| ());
    let standing: Call = |engine| engine.progress(Partition::new(0, 3)).map(|_| ());
    let owned: Call = |engine| engine.owned().map(|_| ());
    let storm: Call = |engine| engine.storm().map(|_| ());
    let counters: Call = |engine| engine.counters().map(|_| ());
    let text: Call = |engine| engine.commit_metadata(Partition::new(0, 3)).map(|_| ());
    let waiting: Call = |engine| engine.waiting().map(|_| ());
    let journal: Call = |engine| engine.journal().map(|_| ());
    let snapshot: Call = |engine| engine.snapshot().map(|_| ());
    let restore: Call = |engine| engine.restore(Tick::ZERO, b"RGSN").map(|_| ());

    const TWO: &str = "(param i64 i32) (result i32)";
    const TO: &str = "(result i32)";
    const PULL: &str = "(param i32) (result i32)";
    const PARTITION: &str = "(param i32 i32) (result i32)";
    let zero = "i32.const 0";
    let one = "i32.const 1";
    let cases: Vec<(&str, String, Call, &str)> = vec![
        ("rg_admit", telling(TWO, 0, "0", zero), admit, "a ticket of another kind, or none"),
        ("rg_admit", telling(TWO, 0, "5", "i32.const 5"), admit, "an unknown verdict"),
        ("rg_admit", telling(TWO, 0, "0x602", "i32.const 2"), admit, "an unknown verdict"),
        ("rg_admit", telling(TWO, 0, "0x603", "i32.const 3"), admit, "an unknown reason to hold"),
        ("rg_admit", telling(TWO, 0, "0x50004", "i32.const 4"), admit, "an unknown fence"),
        (
            "rg_admit",
            telling(TWO, 0, "0x40104", "i32.const 4"),
            admit,
            "an unknown kind of regression",
        ),
        ("rg_admit", telling(TWO, 0, "2", zero), admit, "answered `rg_admit` with code 0"),
        (
            "rg_admit",
            telling(TWO, 0, "2", "i32.const -3"),
            admit,
            "answered `rg_admit` with code -3",
        ),
        (
            "rg_admit_batch",
            "(param i64 i32 i32) (result i32) (i32.const 2)".into(),
            batch,
            "code 2",
        ),
        (
            "rg_admit_batch",
            "(param i64 i32 i32) (result i32) (i32.const -5)".into(),
            batch,
            "code -5",
        ),
        (
            "rg_admit_batch",
            "(param i64 i32 i32) (result i32) (i32.const 0x7fffffff)".into(),
            batch,
            "code 2147483647",
        ),
        ("rg_handle", telling(TWO, 0, "2", zero), polled, "a ticket of another kind"),
        ("rg_handle", telling(TWO, 0, "3", zero), polled, "a reply to another kind of input"),
        ("rg_handle", telling(TWO, 0, "5", zero), polled, "an unknown reply"),
        ("rg_handle", telling(TWO, 0, "0xff04", zero), polled, "an unknown refusal"),
        ("rg_handle", telling(TWO, 0, "0", one), polled, "answered `rg_handle` with code 1"),
        ("rg_answer", telling(TWO, 0, "0", "i32.const 2"), answer, "an unknown answer to a ticket"),
        ("rg_handle_timeout", "(param i64) (result i32) (i32.const -4)".into(), pass, "code -4"),
        ("rg_poll_outputs", telling(PULL, 0, "14", one), output, "an unknown output"),
        ("rg_poll_outputs", telling(PULL, 0, "0x50b", one), output, "an unknown reason to ignore"),
        ("rg_poll_outputs", telling(PULL, 0, "6", one), output, "assignment number 0"),
        (
            "rg_poll_outputs",
            telling(PULL, 0, "0x501", one),
            output,
            "an unknown end of an assignment",
        ),
        ("rg_poll_outputs", telling(PULL, 0, "9", one), output, "a ticket of another kind"),
        ("rg_poll_outputs", telling(PULL, 0, "5", "i32.const 2"), output, "a count above"),
        ("rg_poll_outputs", telling(PULL, 0, "5", "i32.const -1"), output, "code -1"),
        ("rg_poll_timeout", "(result i64) (i64.const 0x4000000000000001)".into(), due, "no tick"),
        ("rg_poll_timeout", "(result i64) (i64.const -1)".into(), due, "no tick"),
        ("rg_is_live", "(result i32) (i32.const 2)".into(), live, "a count above"),
        ("rg_is_live", "(result i32) (i32.const -5)".into(), live, "code -5"),
        ("rg_progress", telling(PARTITION, 72, "4", one), standing, "an unknown phase"),
        ("rg_progress", telling(PARTITION, 72, "1", one), standing, "assignment number 0"),
        ("rg_owned", "(param i32) (result i32) (i32.const 65)".into(), owned, "a count above"),
        (
            "rg_owned",
            "(param i32) (result i32) (i32.const 0x7fffffff)".into(),
            owned,
            "a count above",
        ),
        ("rg_owned", "(param i32) (result i32) (i32.const -1)".into(), owned, "code -1"),
        ("rg_owned", telling(PULL, 72, "1", one), owned, "assignment number 0"),
        ("rg_storm", "(result i32) (i32.const 3)".into(), storm, "an unknown storm level"),
        ("rg_counters", "(result i32) (i32.const 47)".into(), counters, "code 47"),
        ("rg_counters", "(result i32) (i32.const 49)".into(), counters, "code 49"),
        ("rg_commit_metadata", telling(PARTITION, 0, "0", "i32.const 3073"), text, "a count above"),
        ("rg_commit_metadata", telling(PARTITION, 0, "0", "i32.const -1"), text, "code -1"),
        ("rg_waiting", telling(TO, 8, "5", one), waiting, "an unknown reason to wait"),
        ("rg_waiting", "(result i32) (i32.const 2)".into(), waiting, "a count above"),
        ("rg_journal", telling(PULL, 8, "2", one), journal, "no entry of a journal"),
        ("rg_journal", "(param i32) (result i32) (i32.const 257)".into(), journal, "a count above"),
        ("rg_snapshot", "(result i32) (i32.const 0x7fffffff)".into(), snapshot, "a short snapshot"),
        ("rg_snapshot", "(result i32) (i32.const -1)".into(), snapshot, "code -1"),
        ("rg_restore", "(param i64 i32) (result i32) (i32.const 1)".into(), restore, "code 1"),
    ];
    for (name, body, call, expected) in cases {
        let mut engine = with(name, &body);
        let dead = call(&mut engine).expect_err(&body);
        assert!(dead.reason.contains(expected), "{body}\n{dead}");
        assert_eq!(call(&mut engine), Err(dead), "{body}");
    }
}

#[test]
fn an_offset_above_its_limit_is_not_believed() {
    let numbers = [(0, "2"), (16, "0x8000000000000000")];
    let big = &telling_all("(param i32) (result i32)", &numbers, "i32.const 1");
    let dead = with("rg_poll_outputs", big).poll_output().expect_err("it is believed");
    assert!(dead.reason.contains("an offset above 2^63 - 1"), "{dead}");
}

#[test]
fn a_standing_of_another_partition_is_not_believed() {
    let numbers = [(8, "1"), (24, "1"), (72, "1")];
    let other = &telling_all("(param i32 i32) (result i32)", &numbers, "i32.const 1");
    let mut engine = with("rg_progress", other);
    assert!(matches!(engine.progress(Partition::new(0, 0)), Ok(Some(_))));
    let dead = engine.progress(Partition::new(0, 3)).expect_err("it is believed");
    assert!(dead.reason.contains("the standing of another partition"), "{dead}");
}

// B148 (wasmtime#3571)
#[test]
fn a_plugin_that_dies_takes_no_other_with_it() {
    let now = Tick::ZERO;
    let orders = Partition::new(0, 3);
    let at = Resume::committed(Offset::ZERO);
    let assign = Input::Assign { generation: Some(1), partitions: &[(orders, at)] };
    let mut sound = plugin().start(&Config::default()).expect("it starts");
    sound.handle(now, assign).expect("alive").expect("it fits");
    let mut faulty = with("rg_handle", "(param i64 i32) (result i32) (unreachable)");
    faulty.handle(now, assign).expect_err("it traps");
    assert!(sound.progress(orders).expect("alive").is_some());
    let verdict = sound.admit(now, &record()).expect("alive");
    assert!(matches!(verdict, rebalance_guard::Verdict::Run(_)), "{verdict:?}");
}

#[test]
fn a_list_longer_than_the_buffer_is_told_all_the_same() {
    let now = Tick::ZERO;
    let config = Config { partitions: 4, window: 4, keys: 4, budget: 4, ..Config::default() };
    let mut engine = plugin().start(&config).expect("it starts");
    let orders = Partition::new(0, 3);
    let first = (orders, Resume::committed(Offset::ZERO));
    let last = (orders, Resume::At(Offset::new(7).expect("small")));
    let mut many = vec![first; 20_000];
    many.push(last);
    let assign = Input::Assign { generation: None, partitions: &many };
    engine.handle(now, assign).expect("alive").expect("one partition fits");
    let mark = engine.progress(orders).expect("alive").expect("owned").mark;
    assert_eq!(mark, Some(Offset::new(7).expect("small")), "the later entry counts");

    let unknown: Vec<_> = (4..20_004).map(|index| (Partition::new(0, index), first.1)).collect();
    let assign = Input::Assign { generation: None, partitions: &unknown };
    let refused = engine.handle(now, assign).expect("alive").expect_err("too many");
    let needed = 20_000;
    assert_eq!(refused, rebalance_guard::InputError::PartitionsFull { needed, available: 0 });

    let mut named: Vec<_> = unknown.iter().map(|(partition, _)| *partition).collect();
    named.push(orders);
    let revoke = Input::Revoke { partitions: &named, deadline: now };
    engine.handle(now, revoke).expect("alive").expect("never refused");
    assert!(matches!(
        engine.poll_output(),
        Ok(Some(rebalance_guard::Output::Sealed(sealed))) if sealed.partition == orders
    ));
    assert_eq!(engine.owned().expect("alive"), []);
}

#[test]
fn a_key_of_any_length_passes_the_boundary() {
    let config = Config { partitions: 4, window: 8, keys: 4, budget: 8, ..Config::default() };
    let mut engine = plugin().start(&config).expect("it starts");
    let orders = Partition::new(0, 3);
    let at = Resume::committed(Offset::ZERO);
    let assign = Input::Assign { generation: None, partitions: &[(orders, at)] };
    engine.handle(Tick::ZERO, assign).expect("alive").expect("it fits");
    let long = vec![b'k'; 10_000_000];
    let lengths = [1, 40, 41, 65_535, 65_536, 10_000_000];
    let records: Vec<_> = (0_u64..)
        .zip(lengths)
        .map(|(offset, len)| {
            Record::new(orders, Offset::new(offset).expect("small"), Some(&long[..len]))
        })
        .collect();
    let mut verdicts = Vec::new();
    engine.admit_batch(Tick::ZERO, &records, &mut verdicts).expect("alive");
    let ran: Vec<_> =
        verdicts.iter().map(|v| matches!(v, rebalance_guard::Verdict::Run(_))).collect();
    assert_eq!(ran, [true, true, true, true, false, false], "{verdicts:?}");
}
