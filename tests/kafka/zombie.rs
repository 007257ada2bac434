//! The broker checks membership, never ownership or direction: what a guard must not do is therefore
//! accepted when a plain client does it.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rebalance_guard_host::gateway::{Event, Protocol};
use rebalance_guard_tests::kafka::{Member, eventually};

use super::Stage;

/// A member commits a partition that another member owns, and backwards: stored. So the promise that
/// offsets only rise is the guard's alone, and the watcher of the other tests can fail.
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

/// The group holds an offset beyond the log's end (the topic was made anew, the log was cut): the
/// client goes back by itself, and the guard follows it instead of refusing what it delivers.
#[test]
fn a_log_that_ends_before_the_group_s_offset_is_read_from_its_beginning() {
    let Some(stage) = Stage::new("cut", 1) else { return };
    stage.produce(0, 10);
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", stage.broker.bootstrap()).set("group.id", &stage.group);
    let plain: BaseConsumer = config.create().expect("a client");
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&stage.topic, 0, Offset::Offset(100)).expect("an offset");
    plain.commit(&list, CommitMode::Sync).expect("an empty group takes it");
    assert_eq!(stage.committed(), [100]);
    let reader = Member::start(stage.settings(Protocol::Cooperative, "reader"));
    stage.assert_all_took_effect_once(10);
    eventually("the group's offset is real again", || stage.committed() == [10]);
    assert_eq!(reader.leave().counters.rewound, 1);
}
