//! A group's whole life: killed, frozen and restarted members, and every order takes effect once.

use std::time::Duration;

use rebalance_guard_host::gateway::Protocol;
use rebalance_guard_tests::kafka::{Watcher, eventually, within};

use super::Stage;

const PARTITIONS: i32 = 6;
/// Longer than the session of 6 s.
const FROZEN: Duration = Duration::from_secs(9);

fn every_order_takes_effect_once(protocol: Protocol) {
    let Some(stage) = Stage::new("life", PARTITIONS) else { return };
    stage.ledger.slow_down(Duration::from_millis(4));
    let bootstrap = stage.broker.bootstrap();
    let watcher = Watcher::start(bootstrap, &stage.group, &stage.topic, PARTITIONS);
    let stays = stage.process(protocol, "stays", &[]);
    let killed = stage.process(protocol, "killed", &[]);
    let frozen = stage.process(protocol, "frozen", &[]);
    stage.produce(0, 3_000);
    for name in ["stays", "killed", "frozen"] {
        eventually(&format!("{name} works"), || stage.ledger.calls_of(name) > 10);
    }

    // With records in its hands.
    killed.signal("-KILL");
    let after_kill = stage.ledger.effects();
    stage.produce(3_000, 1_500);
    eventually("the others take over", || stage.ledger.effects() > after_kill + 1_000);

    frozen.signal("-STOP");
    stage.produce(4_500, 1_500);
    let over = within(FROZEN, || false);
    frozen.signal("-CONT");
    assert!(!over);
    eventually("it found out that it had been thrown out", || {
        frozen
            .events()
            .iter()
            .any(|line| line.starts_with("rebalance Revoke") && line.ends_with("lost=true"))
    });

    let restarted = stage.process(protocol, "restarted", &[]);
    assert_eq!(stays.leave(), Some(0), "an orderly leave ends with 0");
    stage.produce(6_000, 500);
    stage.assert_all_took_effect_once(6_500);
    assert_eq!(restarted.leave(), Some(0));
    assert_eq!(frozen.leave(), Some(0), "a former zombie goes on and leaves in order");
    assert_eq!(stage.committed(), stage.log_ends());
    watcher.end();
}

#[test]
fn eager_every_order_takes_effect_once() {
    every_order_takes_effect_once(Protocol::Eager);
}

#[test]
fn cooperative_every_order_takes_effect_once() {
    every_order_takes_effect_once(Protocol::Cooperative);
}

#[test]
fn kip_848_every_order_takes_effect_once() {
    every_order_takes_effect_once(Protocol::Consumer);
}
