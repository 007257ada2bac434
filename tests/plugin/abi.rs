//! `wasm/ABI.md` says what the plugin does: its example, its table, its codes.

use rebalance_guard_tests::plugin::bytes;
use wasmtime::{Engine, ExternType, Module};

use crate::raw::{Raw, settings};

const PAGE: &str = include_str!("../../wasm/ABI.md");

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace()
        .map(|digits| u8::from_str_radix(digits, 16).expect("two hex digits"))
        .collect()
}

/// The lines of the example; bytes that go on in the next line are joined.
fn example() -> Vec<(String, String)> {
    let (_, block) = PAGE.split_once("```example\n").expect("the page has an example");
    let (block, _) = block.split_once("```").expect("it ends");
    let mut steps: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        match line.split_once(' ') {
            Some(("", more)) => steps.last_mut().expect("a line to go on").1 += &format!(" {more}"),
            Some((what, rest)) => steps.push((what.to_owned(), rest.to_owned())),
            None => panic!("{line}"),
        }
    }
    steps
}

#[test]
fn the_worked_example_of_the_page_is_what_the_plugin_does() {
    let mut raw = Raw::new();
    let steps = example();
    assert!(steps.len() > 15, "{steps:?}");
    for (what, rest) in steps {
        match what.as_str() {
            "write" => raw.write(&hex(&rest)),
            "read" => {
                let expected = hex(&rest);
                assert_eq!(raw.read(expected.len()), expected, "read {rest}");
            }
            "call" => {
                let (call, result) = rest.split_once(") = ").expect("a result");
                let (name, numbers) = call.split_once('(').expect("parameters");
                let numbers: Vec<i64> = numbers
                    .split(',')
                    .map(str::trim)
                    .filter(|number| !number.is_empty())
                    .map(|number| number.parse().expect("a number"))
                    .collect();
                assert_eq!(raw.call(name, &numbers).to_string(), result, "{rest}");
            }
            _ => panic!("{what} {rest}"),
        }
    }
}

/// Name, number types of the parameters, type of the result, of each row of the table.
fn table() -> Vec<(String, Vec<String>, String)> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `rg_"));
    rows.map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let kinds = |cell: &str| -> Vec<String> {
            let words = cell.split(|c: char| !c.is_ascii_alphanumeric());
            words.filter(|word| matches!(*word, "i32" | "i64")).map(str::to_owned).collect()
        };
        let result = kinds(cells[3]).first().expect("a result").clone();
        (cells[1].trim_matches('`').to_owned(), kinds(cells[2]), result)
    })
    .collect()
}

#[test]
fn the_table_of_exports_lists_every_function_with_its_type() {
    let module = Module::from_binary(&Engine::default(), bytes()).expect("it compiles");
    let mut exported: Vec<_> = module
        .exports()
        .filter_map(|export| match export.ty() {
            ExternType::Func(kind) => {
                let params = kind.params().map(|kind| kind.to_string()).collect();
                let result = kind.results().next().expect("a result").to_string();
                Some((export.name().to_owned(), params, result))
            }
            _ => None,
        })
        .collect();
    let mut listed = table();
    listed.sort();
    exported.sort();
    assert_eq!(listed, exported);
}

// B140 (wasm-bindgen#1578), B145 (rust-lang/rust#48564)
#[test]
fn nothing_is_imported_so_nothing_calls_back_and_no_clock_is_read() {
    let module = Module::from_binary(&Engine::default(), bytes()).expect("it compiles");
    assert_eq!(module.imports().len(), 0);
    let mut raw = Raw::new();
    raw.write(&settings());
    assert_eq!(raw.call("rg_init", &[160]), 0);
    for (name, params, _) in table() {
        raw.call(&name, &vec![0; params.len()]);
    }
}

#[test]
fn before_init_every_other_call_says_not_ready() {
    let mut raw = Raw::new();
    for (name, params, _) in table() {
        let early =
            ["rg_abi_version", "rg_buffer_offset", "rg_buffer_len", "rg_init", "rg_init_bytes"];
        if !early.contains(&name.as_str()) {
            assert_eq!(raw.call(&name, &vec![0; params.len()]), -1, "{name}");
        }
    }
    assert_eq!(raw.call("rg_buffer_len", &[]), 1_024);
}

#[test]
fn init_grows_the_memory_once_and_is_refused_the_second_time() {
    let mut raw = Raw::new();
    let before = raw.memory_bytes();
    raw.write(&settings());
    let asked = raw.call("rg_init_bytes", &[160]);
    assert_eq!(raw.call("rg_init", &[160]), 0);
    let grown = i64::try_from(raw.memory_bytes() - before).expect("a size");
    assert_eq!(grown, (asked + 65_535) / 65_536 * 65_536);
    let state = raw.state();
    raw.write(&settings());
    assert_eq!(raw.call("rg_init", &[160]), -2);
    assert_eq!(raw.call("rg_init_bytes", &[160]), -2);
    assert!(raw.state() == state, "a refused init left a trace");
}

#[test]
fn settings_that_cannot_be_are_refused_and_can_be_corrected() {
    let with = |at: usize, bytes: &[u8]| {
        let mut settings = settings();
        settings[at..at + bytes.len()].copy_from_slice(bytes);
        settings
    };
    let mut raw = Raw::new();
    let before = raw.memory_bytes();
    let cases: [(&str, Vec<u8>, i64, i64); 11] = [
        ("too short", settings(), 159, -3),
        ("too long", settings(), 161, -3),
        ("a negative length", settings(), -1, -3),
        ("longer than the buffer", settings(), 1_025, -3),
        ("another version", with(0, &[1]), 160, -5),
        ("an unknown policy", with(41, &[2]), 160, -5),
        ("a used spare byte", with(47, &[1]), 160, -5),
        ("no partitions", with(8, &[0; 4]), 160, -6),
        ("a jitter above 100", with(40, &[101]), 160, -6),
        ("tables beyond all memory", with(16, &[0, 0, 0, 16]), 160, -7),
        ("a buffer beyond its limit", with(4, &[1, 0, 0, 4]), 160, -7),
    ];
    for (what, settings, len, code) in cases {
        raw.write(&settings);
        assert_eq!(raw.call("rg_init", &[len]), code, "{what}");
    }
    // The largest places that the settings allow, and more of them than an address has bits.
    raw.write(&with(8, &[0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 16]));
    assert_eq!(raw.call("rg_init", &[160]), -7);
    assert!(raw.call("rg_init_bytes", &[160]) > 1 << 36);
    assert_eq!(raw.memory_bytes(), before, "a refused init took memory");
    raw.write(&settings());
    assert_eq!(raw.call("rg_init", &[160]), 0);
}

/// A guard that owns partition 3 from offset 100, with record 100 in flight.
fn owning() -> (Raw, Vec<u8>) {
    let mut raw = Raw::new();
    raw.write(&settings());
    assert_eq!(raw.call("rg_init", &[160]), 0);
    raw.write(&assign());
    assert_eq!(raw.call("rg_handle", &[0, 56]), 0);
    raw.write(&record());
    assert_eq!(raw.call("rg_admit", &[1, 35]), 0);
    let ticket = raw.read(32)[8..].to_vec();
    assert_eq!(raw.call("rg_poll_outputs", &[8]), 0);
    (raw, ticket)
}

fn assign() -> Vec<u8> {
    let mut bytes = vec![0; 56];
    (bytes[1], bytes[4], bytes[12]) = (1, 1, 7);
    (bytes[36], bytes[48]) = (3, 100);
    bytes
}

fn record() -> Vec<u8> {
    let mut bytes = vec![0; 32];
    (bytes[4], bytes[8], bytes[16]) = (3, 100, 3);
    bytes.extend(b"o-1");
    bytes
}

/// Header of an input: kind, detail, count, assignment, offset.
fn header(kind: u8, detail: u8, count: u32, assignment: u64, offset: u64) -> Vec<u8> {
    let mut bytes = vec![kind, detail, 0, 0];
    bytes.extend(count.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(assignment.to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes
}

fn changed(mut bytes: Vec<u8>, at: usize, value: u8) -> Vec<u8> {
    bytes[at] = value;
    bytes
}

#[test]
fn a_broken_input_is_refused_and_leaves_the_guard_as_it_was() {
    let (mut raw, ticket) = owning();
    let state = raw.state();
    let big = 1_u64 << 63;
    let answered = [header(8, 0, 0, 0, 0), ticket.clone()].concat();
    let cases: [(&str, Vec<u8>, i64); 23] = [
        ("nothing", vec![], -3),
        ("half a header", header(10, 0, 0, 0, 0)[..16].to_vec(), -3),
        ("an unknown kind", header(11, 0, 0, 0, 0), -5),
        ("a used spare byte", changed(header(10, 0, 0, 0, 0), 2, 1), -5),
        ("a field that polled does not have", header(10, 0, 0, 0, 1), -5),
        ("something after polled", [header(10, 0, 0, 0, 0), vec![0]].concat(), -3),
        ("an assign with too few entries", changed(assign(), 4, 2), -3),
        ("an assign with too many entries", changed(assign(), 4, 0), -3),
        ("an assign of endless entries", header(0, 0, u32::MAX, 0, 0), -3),
        ("an assign with an unknown resume", changed(assign(), 40, 5), -5),
        ("an assign at offset 2^63", changed(assign(), 55, 0x80), -5),
        ("a generation that is not known and given", changed(assign(), 1, 0), -5),
        ("a revoke with a deadline above 2^62", header(2, 0, 0, 0, (1 << 62) + 1), -4),
        ("a revoke of endless partitions", header(2, 0, u32::MAX, 0, 0), -3),
        ("a loss of an unknown scope", header(3, 3, 0, 0, 0), -5),
        ("a loss of all that names one", [header(3, 1, 1, 0, 0), vec![0; 8]].concat(), -5),
        ("a rewind to 2^63", header(4, 0, 0, 0, big), -5),
        ("a position of assignment 0", header(1, 3, 0, 0, 5), -5),
        ("a commit answered in an unknown way", header(9, 5, 0, 77, 5), -5),
        ("an admit without a record", header(7, 0, 0, 0, 0), -3),
        ("an answer without a ticket", header(8, 0, 0, 0, 0), -3),
        ("an answer of an unknown outcome", changed(answered.clone(), 1, 5), -5),
        ("an answer to bytes that are no ticket", changed(answered, 54, 2), -5),
    ];
    for (what, bytes, code) in cases {
        raw.write(&bytes);
        let len = i64::try_from(bytes.len()).expect("short");
        assert_eq!(raw.call("rg_handle", &[2, len]), code, "{what}");
        assert!(raw.state() == state, "{what} left a trace");
    }
}

#[test]
fn a_broken_record_is_refused_and_a_batch_with_one_is_refused_whole() {
    let (mut raw, _) = owning();
    let state = raw.state();
    let good = changed(record(), 8, 101);
    let cases: [(&str, Vec<u8>, i64); 6] = [
        ("half a record", record()[..20].to_vec(), -3),
        ("a key longer than the rest", changed(record(), 16, 4), -3),
        ("a key longer than any", changed(record(), 18, 1), -5),
        ("an offset of 2^63", changed(record(), 15, 0x80), -5),
        ("a used spare byte", changed(record(), 27, 1), -5),
        ("a leader epoch below -1", changed(record(), 31, 0x80), -5),
    ];
    for (what, bytes, code) in cases {
        raw.write(&bytes);
        let len = i64::try_from(bytes.len()).expect("short");
        assert_eq!(raw.call("rg_admit", &[2, len]), code, "{what}");
        let batch = [good.clone(), bytes].concat();
        raw.write(&batch);
        let len = i64::try_from(batch.len()).expect("short");
        assert_eq!(raw.call("rg_admit_batch", &[2, 2, len]), code, "{what}, in a batch");
        assert!(raw.state() == state, "{what} left a trace");
    }
    raw.write(&[good.clone(), good].concat());
    for (count, len) in [(1, 70), (3, 70), (-1, 70), (2, 69), (i64::from(i32::MAX), 70)] {
        assert_eq!(raw.call("rg_admit_batch", &[2, count, len]), -3, "{count} in {len}");
    }
    assert!(raw.state() == state, "a refused batch left a trace");
    assert_eq!(raw.call("rg_admit_batch", &[2, 2, 70]), 2);
}

#[test]
fn ticks_tickets_and_counts_out_of_range_are_refused() {
    let (mut raw, ticket) = owning();
    let state = raw.state();
    for now in [-1, (1 << 62) + 1, i64::MIN, i64::MAX] {
        raw.write(&record());
        assert_eq!(raw.call("rg_admit", &[now, 35]), -4);
        assert_eq!(raw.call("rg_admit_batch", &[now, 1, 35]), -4);
        assert_eq!(raw.call("rg_handle_timeout", &[now]), -4);
        raw.write(&header(10, 0, 0, 0, 0));
        assert_eq!(raw.call("rg_handle", &[now, 32]), -4);
        raw.write(&ticket);
        assert_eq!(raw.call("rg_answer", &[now, 0]), -4);
    }
    for outcome in [-1, 5, i64::from(i32::MAX), i64::from(i32::MIN)] {
        assert_eq!(raw.call("rg_answer", &[2, outcome]), -5);
    }
    raw.write(&changed(ticket, 23, 1));
    assert_eq!(raw.call("rg_answer", &[2, 0]), -5);
    assert_eq!(raw.call("rg_is_live", &[]), -5);
    assert_eq!(raw.call("rg_poll_outputs", &[-1]), -3);
    assert_eq!(raw.call("rg_owned", &[-1]), -3);
    assert_eq!(raw.call("rg_owned", &[1]), 0);
    assert_eq!(raw.call("rg_handle", &[2, i64::from(i32::MIN)]), -3);
    assert_eq!(raw.call("rg_handle", &[2, i64::from(i32::MAX)]), -3);
    assert!(raw.state() == state, "a refused call left a trace");
    assert_eq!(raw.call("rg_now", &[]), 1);
}
