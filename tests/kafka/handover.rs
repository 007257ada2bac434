//! Orderly hand-overs: nothing is repeated.

use std::time::Duration;

use rebalance_guard::Ended;
use rebalance_guard_host::gateway::{Event, Protocol};
use rebalance_guard_tests::kafka::{Member, Watcher, eventually};

use super::Stage;

/// A second member joins, the first leaves, with effects open each time. The commit inside the
/// revoke is stored, so that the next owner begins exactly where the last one ended.
fn two_hand_overs_repeat_nothing(protocol: Protocol) {
    let Some(stage) = Stage::new("hand-over", 6) else { return };
    let count = 1_200;
    stage.produce(0, count);
    stage.ledger.slow_down(Duration::from_millis(5));
    let watcher = Watcher::start(stage.broker.bootstrap(), &stage.group, &stage.topic, 6);
    let first = Member::start(stage.settings(protocol, "first"));
    eventually("the first works", || stage.ledger.calls_of("first") > 20);
    let second = Member::start(stage.settings(protocol, "second"));
    eventually("the second works", || stage.ledger.calls_of("second") > 20);
    let drained = |event: &Event| matches!(event, Event::Sealed { ended: Ended::Drained, .. });
    let moved = if protocol == Protocol::Eager { 6 } else { 3 };
    assert_eq!(first.count(drained), moved, "drained, not cut off");
    // Records that no worker had begun are left to the next owner; none was cut off.
    assert_eq!(first.leave().running, 0);
    let count = usize::try_from(count).expect("small");
    stage.assert_all_took_effect_once(count);
    second.leave();
    assert_eq!(stage.ledger.calls().len(), count, "no call was a repeat");
    assert_eq!(stage.committed(), stage.log_ends());
    watcher.end();
}

#[test]
fn eager_hand_overs_repeat_nothing() {
    two_hand_overs_repeat_nothing(Protocol::Eager);
}

#[test]
fn cooperative_hand_overs_repeat_nothing() {
    two_hand_overs_repeat_nothing(Protocol::Cooperative);
}

#[test]
fn kip_848_hand_overs_repeat_nothing() {
    two_hand_overs_repeat_nothing(Protocol::Consumer);
}

/// A drain that its deadline ends hands over with what was finished, and says so.
#[test]
fn a_sink_that_hangs_does_not_hold_the_hand_over_past_its_deadline() {
    let Some(stage) = Stage::new("hang", 2) else { return };
    stage.produce(0, 20);
    let mut settings = stage.settings(Protocol::Cooperative, "hung");
    settings.drain = Duration::from_secs(1);
    let hung = Member::start(settings);
    eventually("some orders took effect", || stage.ledger.effects() >= 4);
    stage.ledger.close();
    let before = stage.ledger.effects();
    stage.produce(20, 20);
    eventually("records wait in the sink", || hung.count(|_| true) > 0 && before >= 4);
    let begun = rebalance_guard_host::clock::now();
    hung.stop.ask();
    eventually("it ends", || hung.has_ended());
    let took = begun.elapsed();
    let open = hung.count(|event| matches!(event, Event::EffectsOpenAtRelease { .. }));
    let summary = hung.ended().expect("it stops in order");
    assert!(took < Duration::from_secs(15), "drain 1 s, last commits, close: {took:?}");
    assert_eq!(open, 2, "both partitions were handed over with an effect open");
    assert_eq!(summary.running, 2);
    // What was left is run by the next owner; the sink tells the repeats apart by their key.
    stage.ledger.open();
    let next = Member::start(stage.settings(Protocol::Cooperative, "next"));
    stage.assert_all_took_effect_once(40);
    next.leave();
    assert_eq!(stage.committed(), stage.log_ends());
}
