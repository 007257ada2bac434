//! What the coordinator may answer to a commit.

use std::collections::HashSet;
use std::time::Duration;

use rdkafka::types::RDKafkaApiKey as Api;
use rdkafka::types::RDKafkaRespErr as Answer;
use rebalance_guard_host::gateway::{Event, Protocol};
use rebalance_guard_tests::kafka::{Member, eventually, within};

use super::Stage;

fn failed(event: &Event) -> bool {
    matches!(event, Event::CommitFailed { .. })
}

fn lost(event: &Event) -> bool {
    matches!(event, Event::EverythingLost { .. })
}

/// A member that has run and committed ten records, and then meets these answers.
fn after_answers(protocol: Protocol, answers: &[Answer]) -> (Stage, Member) {
    let stage = Stage::new("commits", 1);
    stage.produce(0, 10);
    let member = Member::start(stage.settings(protocol, "a"));
    eventually("ten are committed", || stage.committed() == [Some(10)]);
    stage.cluster.request_errors(Api::OffsetCommit, answers);
    stage.produce(10, 10);
    (stage, member)
}

#[test]
fn a_commit_that_meets_a_rebalance_is_sent_again() {
    let busy = Answer::RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS;
    let (stage, member) = after_answers(Protocol::Cooperative, &[busy, busy]);
    eventually("all are committed", || stage.committed() == [Some(20)]);
    assert_eq!((member.count(failed), member.count(lost)), (2, 0));
    member.leave();
    assert_eq!(stage.ledger.calls().len(), 20);
}

/// Refused for what it says: ownership is intact and work goes on; it is offered again in time.
#[test]
fn a_commit_without_leave_is_offered_again_and_work_goes_on() {
    let refused = Answer::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
    let (stage, member) = after_answers(Protocol::Cooperative, &[refused]);
    eventually("all took effect", || stage.ledger.effects() == 20);
    eventually("all are committed", || stage.committed() == [Some(20)]);
    assert_eq!((member.count(failed), member.count(lost)), (1, 0));
    member.leave();
}

/// The member is thrown out: everything is lost, no further commit is sent before the next assign,
/// and what was not committed is run again and told apart by its key.
#[test]
fn a_commit_by_an_unknown_member_loses_everything_until_the_next_assign() {
    let unknown = Answer::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
    let (stage, member) = after_answers(Protocol::Cooperative, &[unknown]);
    eventually("all are committed", || stage.committed() == [Some(20)]);
    assert!(member.count(lost) >= 1);
    let events = member.events();
    assert_silent_between_loss_and_assign(&events);
    member.leave();
    assert_eq!(stage.ledger.effects(), 20);
}

/// B38 (confluentinc/librdkafka#4059): the client throws its whole assignment away over an old
/// generation. The guard follows it, loses no record, and repeats nothing that it finished.
#[test]
fn a_commit_under_an_old_generation_loses_no_record() {
    let old = Answer::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION;
    let (stage, member) = after_answers(Protocol::Cooperative, &[old]);
    eventually("all are committed", || stage.committed() == [Some(20)]);
    assert_silent_between_loss_and_assign(&member.events());
    member.leave();
    assert_eq!(stage.ledger.effects(), 20);
    assert_eq!(stage.ledger.calls().len(), 20, "finished keys stay known across a loss");
}

#[test]
fn a_commit_under_a_stale_epoch_is_sent_again() {
    let stale = Answer::RD_KAFKA_RESP_ERR_STALE_MEMBER_EPOCH;
    let (stage, member) = after_answers(Protocol::Consumer, &[stale]);
    eventually("all are committed", || stage.committed() == [Some(20)]);
    assert_eq!((member.count(failed), member.count(lost)), (1, 0));
    member.leave();
}

/// B37 (faust-streaming/faust#94): one partition's refusal does not take the others' commits along.
#[test]
fn a_refused_commit_of_one_partition_leaves_the_others_alone() {
    let stage = Stage::new("one-of-three", 3);
    stage.produce(0, 30);
    let busy = Answer::RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS;
    stage.cluster.request_errors(Api::OffsetCommit, &[busy]);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.guard.commit_backoff = 60_000;
    settings.guard.commit_interval = 500;
    let member = Member::start(settings);
    eventually("two of three are committed", || {
        stage.committed().iter().filter(|held| **held == Some(10)).count() == 2
    });
    assert_eq!(member.count(failed), 1);
    // An orderly leave offers the last one at once.
    member.leave();
    assert_eq!(stage.committed(), [Some(10), Some(10), Some(10)]);
}

/// A coordinator that cannot be reached: work goes on, offsets wait, nothing is lost.
#[test]
fn a_coordinator_that_is_down_delays_commits_and_nothing_else() {
    let (stage, member) = after_answers(Protocol::Cooperative, &[]);
    stage.cluster.broker_down(1).expect("down");
    eventually("those fetched already took effect", || stage.ledger.effects() >= 10);
    stage.cluster.broker_up(1).expect("up");
    eventually("all are committed", || stage.committed() == [Some(20)]);
    member.leave();
    assert_eq!(stage.ledger.effects(), 20);
}

/// A commit that the broker takes long to answer stops neither delivery nor effects.
#[test]
fn a_slow_commit_does_not_stop_delivery() {
    let stage = Stage::new("slow-commit", 1);
    stage.produce(0, 10);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.guard.commit_timeout = 10_000;
    let member = Member::start(settings);
    eventually("ten are committed", || stage.committed() == [Some(10)]);
    stage.cluster.broker_round_trip_time(1, Duration::from_millis(1_500)).expect("slow");
    stage.produce(10, 40);
    eventually("all took effect", || stage.ledger.effects() == 50);
    stage.cluster.broker_round_trip_time(1, Duration::ZERO).expect("quick");
    eventually("all are committed", || stage.committed() == [Some(50)]);
    member.leave();
}

/// What the client has not got an answer for it sends again by itself, in any order: however often
/// the guard asks meanwhile, no second one is on its way.
#[test]
fn while_a_commit_is_on_its_way_no_second_one_follows() {
    let stage = Stage::new("on-its-way", 1);
    stage.ledger.slow_down(Duration::from_millis(20));
    stage.produce(0, 60);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.guard.commit_timeout = 150;
    let member = Member::start(settings);
    eventually("some took effect", || stage.ledger.effects() >= 10);
    stage.cluster.broker_down(1).expect("down");
    eventually("all took effect", || stage.ledger.effects() == 60);
    // Time for the guard to ask several times more.
    assert!(!within(Duration::from_millis(900), || false));
    stage.cluster.broker_up(1).expect("up");
    eventually("all are committed", || stage.committed() == [Some(60)]);
    let stored = |event: &Event| match event {
        Event::Committed { offset, .. } => Some(offset.as_i64()),
        _ => None,
    };
    eventually("the answer is here", || {
        member.events().iter().filter_map(stored).next_back() == Some(60)
    });
    let all: Vec<i64> = member.events().iter().filter_map(stored).collect();
    assert!(all.is_sorted_by(|a, b| a < b), "each once and rising: {all:?}");
    member.leave();
    assert_eq!(stage.ledger.calls().len(), 60);
}

/// Between a loss of everything and the next assign with content no commit is sent: none is stored,
/// and no more than the one that was on its way before the loss is refused, for each partition.
pub(crate) fn assert_silent_between_loss_and_assign(events: &[Event]) {
    let mut silent = false;
    let mut on_their_way = HashSet::new();
    let mut losses = 0;
    for event in events {
        match event {
            Event::EverythingLost { .. } => {
                silent = true;
                losses += 1;
            }
            Event::Assigned { .. } => {
                silent = false;
                on_their_way.clear();
            }
            Event::Committed { .. } => assert!(!silent, "stored after the loss: {events:?}"),
            Event::CommitFailed { topic, partition, .. } if silent => {
                let first = on_their_way.insert((topic.clone(), *partition));
                assert!(first, "a commit after the loss: {events:?}");
            }
            _ => {}
        }
    }
    assert!(losses > 0, "nothing was lost: {events:?}");
}
