//! What `run` refuses at the start, against a real broker.

use std::process::Command;
use std::time::Duration;

use rebalance_guard_host::clock;
use rebalance_guard_tests::broker::Broker;
use rebalance_guard_tests::kafka::unique;

#[test]
fn a_topic_that_does_not_exist_is_refused_at_the_start_with_what_to_do() {
    let Some(broker) = Broker::shared() else { return };
    let begun = clock::now();
    let output = Command::new(env!("CARGO_BIN_EXE_gateway"))
        .args(["run", "--bootstrap", broker.bootstrap(), "--group", &unique("g")])
        .args(["--topic", "no-such-topic", "--guard", "key_policy=optional"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("topic no-such-topic"), "{said}");
    assert!(said.contains("Create it or grant access"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
}

#[test]
fn a_dead_letter_topic_that_does_not_exist_is_refused_at_the_start() {
    let Some(broker) = Broker::shared() else { return };
    let topic = unique("orders");
    broker.create_topic(&topic, 1);
    let output = Command::new(env!("CARGO_BIN_EXE_gateway"))
        .args(["run", "--bootstrap", broker.bootstrap(), "--group", &unique("g")])
        .args(["--topic", &topic, "--dead-letter-topic", "no-such-topic"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("no-such-topic"), "{said}");
}
