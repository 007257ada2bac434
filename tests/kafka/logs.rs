//! Logs that are not what they were: cut by retention, ending before the group's offset, deleted
//! and made anew.

use rebalance_guard::Resume;
use rebalance_guard_host::gateway::{Event, Protocol, StartAt};
use rebalance_guard_host::key::KeyTemplate;
use rebalance_guard_tests::kafka::{Member, eventually};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use super::Stage;

/// Commits for the empty group, as an administrator would.
fn commit(stage: &Stage<'_>, offset: i64) {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", stage.broker.bootstrap()).set("group.id", &stage.group);
    let plain: BaseConsumer = config.create().expect("a client");
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&stage.topic, 0, Offset::Offset(offset)).expect("an offset");
    plain.commit(&list, CommitMode::Sync).expect("an empty group takes it");
    assert_eq!(stage.committed(), [offset]);
}

/// What was out of range, and where reading began instead.
fn out_of_range(member: &Member) -> Vec<(i64, i64)> {
    let such = |event: Event| match event {
        Event::OutOfRange { committed, start, .. } => Some((committed, start)),
        _ => None,
    };
    member.events().into_iter().filter_map(such).collect()
}

fn offsets_of_calls(stage: &Stage<'_>) -> Vec<i64> {
    let mut offsets: Vec<i64> = stage.ledger.calls().iter().map(|call| call.offset).collect();
    offsets.sort_unstable();
    offsets
}

/// The group holds an offset beyond the log's end (the topic was made anew, the log was cut).
#[test]
fn a_log_that_ends_before_the_group_s_offset_is_read_from_its_beginning() {
    let Some(stage) = Stage::new("cut", 1) else { return };
    stage.produce(0, 10);
    commit(&stage, 100);
    let reader = Member::start(stage.settings(Protocol::Cooperative, "reader"));
    stage.assert_all_took_effect_once(10);
    eventually("the group's offset is real again", || stage.committed() == [10]);
    assert_eq!(out_of_range(&reader), [(100, 0)]);
    let summary = reader.leave();
    assert_eq!((summary.consumers, summary.counters.rewound), (2, 0));
}

/// B65: retention passed the group. What is left is read, whatever `start_at` says: that setting
/// decides for groups without an offset.
#[test]
fn a_group_that_retention_passed_skips_nothing_that_is_kept() {
    for protocol in [Protocol::Eager, Protocol::Cooperative, Protocol::Consumer] {
        let Some(stage) = Stage::new("retention", 1) else { return };
        stage.produce(0, 30);
        commit(&stage, 5);
        stage.broker.delete_records(&stage.topic, 0, 20);
        let mut settings = stage.settings(protocol, "reader");
        settings.start_at = StartAt::Latest;
        let reader = Member::start(settings);
        eventually("what is kept is done", || stage.committed() == [30]);
        assert_eq!(out_of_range(&reader), [(5, 20)]);
        reader.leave();
        assert_eq!(offsets_of_calls(&stage), (20..30).collect::<Vec<_>>());
    }
}

/// The same under a member that lags: its client stops with an error, and another begins at the
/// first record that is kept.
#[test]
fn retention_that_passes_a_lagging_member_does_not_stop_it() {
    let Some(stage) = Stage::new("lagging", 1) else { return };
    stage.ledger.close();
    let mut settings = stage.settings(Protocol::Cooperative, "reader");
    // The client fetches nothing while one record waits.
    settings.bytes_max = 1;
    let reader = Member::start(settings);
    stage.produce(0, 1);
    let assigned = |event: &Event| matches!(event, Event::Assigned { .. });
    eventually("it is assigned", || reader.count(assigned) == 1);
    stage.produce(1, 29);
    stage.broker.delete_records(&stage.topic, 0, 20);
    stage.ledger.open();
    eventually("what is kept is done", || stage.committed() == [30]);
    assert_eq!(reader.leave().consumers, 2);
    let done = offsets_of_calls(&stage);
    assert!((20..30).all(|offset| done.contains(&offset)), "{done:?}");
}

/// Keys made of offsets are those of another log: what finished under them says nothing of the
/// records there.
#[test]
fn a_topic_made_anew_runs_its_records_under_old_offsets() {
    let Some(stage) = Stage::new("anew", 1) else { return };
    stage.produce(0, 10);
    let mut settings = stage.settings(Protocol::Cooperative, "reader");
    settings.key = KeyTemplate::default();
    settings.client.insert("topic.metadata.refresh.interval.ms".to_owned(), "500".to_owned());
    let reader = Member::start(settings);
    eventually("the group holds the first ten", || stage.committed() == [10]);
    stage.broker.delete_topic(&stage.topic);
    let gone = |event: &Event| matches!(event, Event::Sealed { .. });
    eventually("the deleted topic's partition is gone", || reader.count(gone) == 1);
    stage.broker.create_topic(&stage.topic, 1);
    stage.produce(100, 4);
    eventually("the new ones ran", || stage.ledger.calls().len() == 14);
    eventually("the group's offset is the new log's", || stage.committed() == [4]);
    let resumes = |event: &Event| match event {
        Event::Assigned { resume, .. } => Some(*resume),
        _ => None,
    };
    let resumes: Vec<Resume<'_>> = reader.events().iter().filter_map(resumes).collect();
    assert!(resumes.len() >= 2, "{resumes:?}");
    assert_eq!(reader.leave().counters.skipped_finished, 0);
}
