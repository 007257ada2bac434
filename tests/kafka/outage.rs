//! The broker freezes, or goes away.

use std::time::Duration;

use rebalance_guard_host::clock;
use rebalance_guard_host::gateway::{Event, GatewayError, Protocol};
use rebalance_guard_tests::broker::Broker;
use rebalance_guard_tests::kafka::{Member, eventually};

use super::Stage;

/// The client's own commit waits for minutes on a frozen broker, and so does its close: a stop must
/// not. What was not committed is run again by the next owner, and absorbed by its key.
#[test]
fn a_frozen_broker_holds_neither_the_drain_nor_the_stop() {
    let Some(broker) = Broker::own() else { return };
    let stage = Stage::on(&broker, "frozen", 2);
    stage.produce(0, 20);
    let mut settings = stage.settings(Protocol::Cooperative, "caught");
    settings.guard.commit_interval = 60_000;
    settings.drain = Duration::from_secs(1);
    let caught = Member::start(settings);
    stage.wait_for_effects(20);
    broker.freeze();
    let begun = clock::now();
    caught.stop.ask();
    eventually("it ends", || caught.has_ended());
    let took = begun.elapsed();
    let failed = caught.count(|event| matches!(event, Event::Committed { .. }));
    caught.ended().expect("it stops in order");
    // The guard's commit time of 3 s, then the watchdog of 10 s over the client's close.
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!(failed, 0, "a frozen broker stores nothing");
    broker.thaw();
    let next = Member::start(stage.settings(Protocol::Cooperative, "next"));
    stage.produce(20, 20);
    stage.assert_all_took_effect_once(40);
    next.leave();
    assert_eq!(stage.committed(), stage.log_ends());
}

/// The broker stops for good while members work: nothing is lost, and a stop still ends.
#[test]
fn a_broker_that_dies_leaves_members_that_still_stop() {
    let Some(broker) = Broker::own() else { return };
    let stage = Stage::on(&broker, "dead", 2);
    stage.produce(0, 20);
    let member = Member::start(stage.settings(Protocol::Consumer, "orphan"));
    stage.wait_for_effects(20);
    broker.kill();
    let begun = clock::now();
    let summary = member.leave();
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    assert_eq!(summary.counters.completed, 20);
}

#[test]
fn an_unreachable_broker_is_said_so_with_its_address() {
    if Broker::shared().is_none() {
        return;
    }
    let stage = Stage::new("unreachable", 1).expect("the broker is there");
    let mut settings = stage.settings(Protocol::Cooperative, "lost");
    settings.bootstrap = "127.0.0.1:1".to_owned();
    let error = Member::start(settings).ended().expect_err("nobody is there");
    assert!(matches!(error, GatewayError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

#[test]
fn an_unknown_topic_is_said_so_with_its_name() {
    let Some(stage) = Stage::new("known", 1) else { return };
    let mut settings = stage.settings(Protocol::Cooperative, "lost");
    settings.topics = vec!["no-such-topic".to_owned()];
    let error = Member::start(settings).ended().expect_err("no such topic");
    assert!(matches!(error, GatewayError::Topic { .. }), "{error}");
    assert!(error.to_string().contains("no-such-topic"), "{error}");
}
