//! The broker checks membership, never ownership or direction: what a guard must not do is
//! therefore accepted when a plain client does it.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rebalance_guard_host::gateway::{Event, Protocol};
use rebalance_guard_tests::kafka::{Member, Watcher, eventually};

use super::Stage;

/// A member commits a partition that another member owns, and backwards: stored. So the promise
/// that offsets only rise is the guard's alone, and the watcher of the other tests can fail.
#[test]
fn the_broker_takes_a_step_back_from_any_member() {
    let Some(stage) = Stage::new("step-back", 2) else { return };
    stage.produce(0, 200);
    let guarded = Member::start(stage.settings(Protocol::Cooperative, "guarded"));
    stage.wait_for_effects(200);
    eventually("both partitions are committed", || stage.committed() == [100, 100]);
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", stage.broker.bootstrap())
        .set("group.id", &stage.group)
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", "6000")
        .set("enable.auto.commit", "false");
    let plain: BaseConsumer = config.create().expect("a client");
    plain.subscribe(&[&stage.topic]).expect("it subscribes");
    eventually("the plain client owns a partition", || {
        drop(plain.poll(Duration::from_millis(50)));
        plain.assignment().is_ok_and(|list| list.count() == 1)
    });
    let theirs = plain.assignment().expect("its assignment").elements()[0].partition();
    let guards = 1 - theirs;
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&stage.topic, guards, Offset::Offset(50)).expect("an offset");
    plain.commit(&list, CommitMode::Sync).expect("the broker takes it");
    let held = stage.committed();
    assert_eq!(held[usize::try_from(guards).expect("0 or 1")], 50);
    // The guard goes on from what it knows: its next commit lies above everything.
    stage.produce(200, 20);
    eventually("the guard's next commit stands", || {
        drop(plain.poll(Duration::from_millis(20)));
        stage.committed()[usize::try_from(guards).expect("0 or 1")] == 110
    });
    drop(plain);
    guarded.leave();
}

/// B08 (confluentinc/librdkafka#1019), B37 (faust-streaming/faust#94): a zombie in the sink's eyes
/// gives the partition up, and the client is replaced when the group goes on assigning it.
#[test]
fn a_partition_that_the_sink_calls_fenced_is_lost_and_taken_anew() {
    let Some(stage) = Stage::new("fenced", 2) else { return };
    stage.produce(0, 10);
    let mut settings = stage.settings(Protocol::Cooperative, "fenced");
    // A group that was deleted: its generations began again, and the operator has not raised the
    // epoch yet.
    settings.guard.epoch = 0;
    let fenced = Member::start(settings);
    stage.wait_for_effects(10);
    let token = stage.ledger.calls()[0].token;
    stage.ledger.raise_token(0, (token.0 + 2, 0));
    stage.produce(10, 10);
    let refused = |event: &Event| matches!(event, Event::FencedBySink { partition: 0, .. });
    eventually("the sink refuses", || fenced.count(refused) > 0);
    let again = |event: &Event| matches!(event, Event::Subscribed { consumer } if *consumer > 1);
    eventually("the client is replaced", || fenced.count(again) > 0);
    stage.assert_all_took_effect_once(20);
    let summary = fenced.leave();
    assert!(summary.fenced_by_sink >= 1);
    assert_eq!(stage.committed(), stage.log_ends());
}

/// The guard's own lease outlasts the stand-still: only the group's numbers tell.
const SESSION_ALONE: [&str; 1] = ["drain_ms=3000"];
/// The guard's own lease runs out.
const LEASE_TOO: [&str; 3] = ["max.poll.interval.ms=7000", "lease_ms=6500", "drain_ms=3000"];

/// A member that is thrown out while it drains a revoke hears nothing
/// of it: the client's flag stays false for that callback. It stands still in the middle of its
/// drain for longer than its session, and must neither commit what it did before nor go
/// on as the owner of what it kept.
fn thrown_out_in_the_middle_of_a_drain(protocol: Protocol, changes: &[&str]) {
    let Some(stage) = Stage::new("drain", 4) else { return };
    let watcher = Watcher::start(stage.broker.bootstrap(), &stage.group, &stage.topic, 4);
    let stalls = stage.process(protocol, "stalls", changes);
    stage.produce(0, 40);
    stage.wait_for_effects(40);
    // From here on its effects stay open, so that the drain has something to wait for.
    stage.ledger.close();
    stage.produce(40, 40);
    let takes_over = Member::start(stage.settings(protocol, "takes-over"));
    eventually("the drain has begun", || stalls.count("rebalance Revoke") == 1);
    stalls.signal("-STOP");
    let owns_all = || takes_over.count(|e| matches!(e, Event::Assigned { .. })) >= 4;
    eventually("the other owns everything", owns_all);
    stage.ledger.open();
    stage.wait_for_effects(80);
    stage.produce(80, 40);
    eventually("the new owner went on", || stage.ledger.effects() == 120);
    eventually("its work is committed", || stage.committed() == stage.log_ends());
    stalls.signal("-CONT");
    stage.produce(120, 200);
    stage.assert_all_took_effect_once(320);
    eventually("the one that stalled is back", || {
        stalls.count("rebalance Assign") >= 2 && stage.committed() == stage.log_ends()
    });
    takes_over.leave();
    assert_eq!(stalls.leave(), Some(0));
    assert_eq!(stage.committed(), stage.log_ends());
    watcher.end();
}

#[test]
fn an_eager_member_thrown_out_in_the_middle_of_a_drain_commits_nothing_old() {
    thrown_out_in_the_middle_of_a_drain(Protocol::Eager, &SESSION_ALONE);
}

#[test]
fn an_eager_member_whose_lease_ends_in_the_middle_of_a_drain_commits_nothing_old() {
    thrown_out_in_the_middle_of_a_drain(Protocol::Eager, &LEASE_TOO);
}

#[test]
fn a_cooperative_member_thrown_out_in_the_middle_of_a_drain_commits_nothing_old() {
    thrown_out_in_the_middle_of_a_drain(Protocol::Cooperative, &SESSION_ALONE);
}

#[test]
fn a_cooperative_member_whose_lease_ends_in_the_middle_of_a_drain_commits_nothing_old() {
    thrown_out_in_the_middle_of_a_drain(Protocol::Cooperative, &LEASE_TOO);
}

#[test]
fn a_kip_848_member_thrown_out_in_the_middle_of_a_drain_commits_nothing_old() {
    thrown_out_in_the_middle_of_a_drain(Protocol::Consumer, &SESSION_ALONE);
}

#[test]
fn a_kip_848_member_whose_lease_ends_in_the_middle_of_a_drain_commits_nothing_old() {
    thrown_out_in_the_middle_of_a_drain(Protocol::Consumer, &LEASE_TOO);
}
