//! Where reading begins, how it ends, and settings that cannot be.

use std::time::Duration;

use rdkafka::types::RDKafkaApiKey as Api;
use rdkafka::types::RDKafkaRespErr as Answer;
use rebalance_guard::{Offset, Resume};
use rebalance_guard_host::clock;
use rebalance_guard_host::gateway::{Event, GatewayError, Protocol, StartAt};
use rebalance_guard_tests::kafka::{Member, eventually};

use super::Stage;

fn resumes(member: &Member) -> Vec<Resume<'static>> {
    let resume = |event: Event| match event {
        Event::Assigned { resume, .. } => Some(resume),
        _ => None,
    };
    member.events().into_iter().filter_map(resume).collect()
}

fn at(offset: u64) -> Offset {
    Offset::new(offset).expect("an offset")
}

/// B62's ground: an empty group gets an offset even when nothing was read.
#[test]
fn a_group_without_an_offset_begins_at_the_first_record_and_says_so() {
    let stage = Stage::new("empty", 1);
    let member = Member::start(stage.settings(Protocol::Cooperative, "a"));
    eventually("it is assigned", || resumes(&member) == [Resume::Empty(Some(at(0)))]);
    member.leave();
    assert_eq!(stage.committed(), [Some(0)]);
}

#[test]
fn a_group_that_begins_at_the_end_skips_what_was_written_before() {
    let stage = Stage::new("latest", 1);
    stage.produce(0, 7);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.start_at = StartAt::Latest;
    let member = Member::start(settings);
    eventually("it is assigned", || resumes(&member) == [Resume::Empty(Some(at(7)))]);
    stage.produce(7, 3);
    eventually("the new ones took effect", || stage.ledger.effects() == 3);
    member.leave();
    assert_eq!(stage.committed(), [Some(10)]);
}

#[test]
fn a_group_with_an_offset_goes_on_there() {
    let stage = Stage::new("goes-on", 1);
    stage.produce(0, 10);
    let first = Member::start(stage.settings(Protocol::Consumer, "a"));
    eventually("ten took effect", || stage.ledger.effects() == 10);
    first.leave();
    let second = Member::start(stage.settings(Protocol::Consumer, "b"));
    eventually("it is assigned", || resumes(&second) == [Resume::committed(at(10))]);
    stage.produce(10, 5);
    eventually("the rest took effect", || stage.ledger.effects() == 15);
    second.leave();
    assert_eq!(stage.ledger.calls_of("b"), 5);
}

/// B04 (microsoft/FluidFramework#4063), B10 (platformatic/kafka#223): while the committed offset is
/// not known nothing runs, and when it is, reading goes on exactly there.
#[test]
fn while_the_resume_position_is_unknown_nothing_runs() {
    let stage = Stage::new("unknown", 1);
    stage.produce(0, 10);
    let first = Member::start(stage.settings(Protocol::Cooperative, "a"));
    eventually("ten took effect", || stage.ledger.effects() == 10);
    first.leave();
    stage.produce(10, 10);
    let busy = Answer::RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS;
    stage.cluster.request_errors(Api::OffsetFetch, &[busy; 200]);
    let mut settings = stage.settings(Protocol::Cooperative, "b");
    settings.drain = Duration::from_secs(2);
    let second = Member::start(settings);
    eventually("it is assigned", || resumes(&second) == [Resume::Unknown]);
    assert_eq!(stage.ledger.calls_of("b"), 0);
    stage.cluster.clear_request_errors(Api::OffsetFetch);
    eventually("the rest took effect", || stage.ledger.effects() == 20);
    second.leave();
    assert_eq!(stage.ledger.calls_of("b"), 10, "nothing below the committed offset ran again");
    assert_eq!(stage.committed(), [Some(20)]);
}

/// A second request ends it where it is, whatever the sink holds.
#[test]
fn a_second_request_to_stop_ends_it_at_once() {
    let stage = Stage::new("at-once", 1);
    stage.produce(0, 5);
    stage.ledger.close();
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.drain = Duration::from_secs(10);
    let member = Member::start(settings);
    eventually("it is assigned", || resumes(&member).len() == 1);
    member.stop.ask();
    let begun = clock::now();
    member.stop.ask();
    let ended = member.ended();
    let took = begun.elapsed();
    stage.ledger.open();
    assert!(ended.is_ok());
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_lease_that_outlasts_the_group_s_patience_is_refused() {
    let stage = Stage::new("lease", 1);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.guard.lease = 30_000;
    let error = Member::start(settings).ended().expect_err("refused");
    assert!(matches!(error, GatewayError::Setting(_)), "{error}");
    assert!(error.to_string().contains("max.poll.interval.ms"), "{error}");
}

#[test]
fn an_unknown_client_setting_is_refused_in_the_client_s_words() {
    let stage = Stage::new("setting", 1);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.client.insert("no.such.setting".to_owned(), "1".to_owned());
    let error = Member::start(settings).ended().expect_err("refused");
    assert!(matches!(error, GatewayError::Client(_)), "{error}");
    assert!(error.to_string().contains("no.such.setting"), "{error}");
}

/// More partitions than the table has places: refused whole, nothing committed.
#[test]
fn more_partitions_than_the_table_holds_end_it_with_the_setting_s_name() {
    let stage = Stage::new("many", 4);
    stage.produce(0, 8);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.guard.partitions = 2;
    let error = Member::start(settings).ended().expect_err("too many");
    assert!(error.to_string().contains("`partitions`"), "{error}");
    assert_eq!((stage.ledger.calls().len(), stage.committed()), (0, vec![None; 4]));
}
