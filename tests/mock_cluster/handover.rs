//! Partitions move.

use rebalance_guard::Ended;
use rebalance_guard_host::gateway::{Event, Protocol};
use rebalance_guard_tests::kafka::{Member, eventually};

use super::Stage;

fn one_member_runs_everything_once(protocol: Protocol) {
    let stage = Stage::new("once", 3);
    stage.produce(0, 300);
    let member = Member::start(stage.settings(protocol, "a"));
    eventually("300 orders took effect", || stage.ledger.effects() == 300);
    let summary = member.leave();
    assert_eq!(stage.ledger.calls().len(), 300);
    // Read by another client: the next record to read, last finished + 1.
    assert_eq!(stage.committed(), [Some(100), Some(100), Some(100)]);
    assert_eq!(summary.counters.completed, 300);
    assert_eq!((summary.left.len(), summary.running), (0, 0));
}

#[test]
fn a_cooperative_member_runs_everything_once_and_commits_the_next_offset() {
    one_member_runs_everything_once(Protocol::Cooperative);
}

#[test]
fn an_eager_member_runs_everything_once_and_commits_the_next_offset() {
    one_member_runs_everything_once(Protocol::Eager);
}

#[test]
fn a_kip_848_member_runs_everything_once_and_commits_the_next_offset() {
    one_member_runs_everything_once(Protocol::Consumer);
}

fn a_newcomer_takes_over_without_a_repeat(protocol: Protocol) {
    let stage = Stage::new("newcomer", 4);
    // So slow on four workers that the first is busy beyond the mock's rebalance time.
    stage.produce(0, 1_600);
    stage.ledger.slow_down(std::time::Duration::from_millis(12));
    let first = Member::start(stage.settings(protocol, "first"));
    eventually("the first works", || stage.ledger.effects() > 20);
    let second = Member::start(stage.settings(protocol, "second"));
    eventually("the second works", || stage.ledger.calls_of("second") > 10);
    let drained = |event: &Event| matches!(event, Event::Sealed { ended: Ended::Drained, .. });
    assert_eq!(
        first.count(drained),
        2,
        "the first handed two of its four partitions over, drained"
    );
    // The mock refuses commits while a rebalance gathers: leave when it takes them again.
    let stored = |event: &Event| matches!(event, Event::Committed { .. });
    let before = first.count(stored);
    eventually("the first commits again", || first.count(stored) > before);
    first.leave();
    let total = 1_600;
    eventually("all took effect", || stage.ledger.effects() == total);
    second.leave();
    assert_eq!(stage.ledger.calls().len(), total, "a drained hand-over repeats nothing");
    assert_eq!(stage.ledger.fenced(), []);
    let sum: i64 = stage.committed().into_iter().flatten().sum();
    assert_eq!(usize::try_from(sum).expect("small"), total);
}

#[test]
fn a_cooperative_newcomer_takes_over_without_a_repeat() {
    a_newcomer_takes_over_without_a_repeat(Protocol::Cooperative);
}

#[test]
fn a_kip_848_newcomer_takes_over_without_a_repeat() {
    a_newcomer_takes_over_without_a_repeat(Protocol::Consumer);
}
