//! Field reports about WebAssembly hosts, each as a test of the boundary.

use rebalance_guard::{
    Answered, Config, Input, Offset, Outcome, Output, Partition, Record, Resume, Tick, Ticket,
    Verdict,
};
use rebalance_guard_host::engine::Engine;
use rebalance_guard_host::plugin::PluginEngine;
use rebalance_guard_tests::plugin::plugin;

const ORDERS: Partition = Partition::new(0, 0);

fn config(first_assignment: u64) -> Config {
    Config {
        partitions: 4,
        window: 4,
        keys: 4,
        budget: 4,
        commit_interval: 0,
        first_assignment,
        ..Config::default()
    }
}

fn offset(number: u64) -> Offset {
    Offset::new(number).expect("below 2^63")
}

fn owning(first_assignment: u64, resume: u64) -> PluginEngine {
    let mut engine = plugin().start(&config(first_assignment)).expect("it starts");
    let partitions = &[(ORDERS, Resume::committed(offset(resume)))];
    let assign = Input::Assign { generation: Some(1), partitions };
    engine.handle(Tick::ZERO, assign).expect("alive").expect("it fits");
    engine
}

fn run(engine: &mut PluginEngine, number: u64) -> Ticket {
    let record = Record::new(ORDERS, offset(number), Some(b"key"));
    match engine.admit(Tick::ZERO, &record).expect("alive") {
        Verdict::Run(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

// B106 (confluent-kafka-go#494), B142 (wasmtime#10995)
#[test]
fn a_ticket_of_a_dead_instance_is_stale_to_the_next_one() {
    let mut dead = owning(1_000, 100);
    let ticket = run(&mut dead, 100);
    drop(dead);
    let mut next = owning(2_000, 100);
    assert_eq!(next.is_live(ticket), Ok(false));
    for outcome in [Outcome::Completed, Outcome::Abandoned, Outcome::Failed { permanent: true }] {
        assert_eq!(next.answer(Tick::ZERO, ticket, outcome), Ok(Answered::Stale));
    }
    assert_eq!(next.poll_output(), Ok(None));
    let own = run(&mut next, 100);
    assert_eq!(next.answer(Tick::ZERO, ticket, Outcome::Completed), Ok(Answered::Stale));
    assert_eq!(next.is_live(own), Ok(true));
}

// B142 (wasmtime#11086)
#[test]
fn a_new_instance_starts_from_what_the_host_knows() {
    let mut dead = owning(1_000, 100);
    let ticket = run(&mut dead, 100);
    assert_eq!(dead.answer(Tick::ZERO, ticket, Outcome::Completed), Ok(Answered::Done));
    drop(dead);
    let mut next = owning(2_000, 101);
    assert_eq!(next.progress(ORDERS).expect("alive").expect("owned").mark, Some(offset(101)));
    run(&mut next, 101);
}

// B146 (kafkajs#448)
#[test]
fn an_offset_above_2_to_the_53_keeps_its_last_digits() {
    const ODD: u64 = (1 << 53) + 1;
    for number in [ODD, Offset::RECORD_MAX.value()] {
        let mut engine = owning(1, number);
        let ticket = run(&mut engine, number);
        assert_eq!(engine.answer(Tick::ZERO, ticket, Outcome::Completed), Ok(Answered::Done));
        match engine.poll_output().expect("alive") {
            Some(Output::Commit { offset, .. }) => assert_eq!(offset.value(), number + 1),
            other => panic!("{other:?}"),
        }
    }
}
