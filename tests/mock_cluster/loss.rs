//! Ownership that is gone, with and without a callback.

use rdkafka::types::RDKafkaApiKey as Api;
use rdkafka::types::RDKafkaRespErr as Answer;
use rebalance_guard::Ended;
use rebalance_guard_host::gateway::{Event, GatewayError, Protocol, RebalanceKind};
use rebalance_guard_tests::kafka::{Member, eventually};

use super::Stage;
use super::commits::assert_silent_between_loss_and_assign;

fn sealed_as(ended: Ended) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Sealed { ended: how, .. } if *how == ended)
}

/// A member is thrown out by a heartbeat's answer while effects are open.
fn thrown_out_by(protocol: Protocol, api: Api, answer: Answer) {
    let stage = Stage::new("loss", 2);
    stage.produce(0, 10);
    let mut settings = stage.settings(protocol, "a");
    // Nothing is committed before the loss: after it nothing may be.
    settings.guard.commit_interval = 60_000;
    let member = Member::start(settings);
    eventually("some took effect", || stage.ledger.effects() == 10);
    stage.ledger.close();
    stage.produce(10, 20);
    stage.cluster.request_errors(api, &[answer]);
    eventually("both partitions are lost", || member.count(sealed_as(Ended::Lost)) == 2);
    assert_eq!(stage.committed(), [None, None], "lost flushes and commits nothing");
    stage.ledger.open();
    eventually("all took effect", || stage.ledger.effects() == 30);
    assert_silent_between_loss_and_assign(&member.events());
    assert_eq!(member.count(sealed_as(Ended::Drained)), 0);
    member.leave();
    assert_eq!(stage.committed(), [Some(15), Some(15)]);
}

#[test]
fn cooperative_unknown_member_commits_nothing_and_loses_no_record() {
    let answer = Answer::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
    thrown_out_by(Protocol::Cooperative, Api::Heartbeat, answer);
}

#[test]
fn cooperative_illegal_generation_commits_nothing_and_loses_no_record() {
    let answer = Answer::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION;
    thrown_out_by(Protocol::Cooperative, Api::Heartbeat, answer);
}

#[test]
fn eager_unknown_member_commits_nothing_and_loses_no_record() {
    let answer = Answer::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
    thrown_out_by(Protocol::Eager, Api::Heartbeat, answer);
}

/// B104 (twmb/franz-go#479): fatal comes without a revoke. Nothing more is committed, and the
/// process ends with the client's words and what to change.
#[test]
fn a_fenced_instance_id_ends_the_gateway_and_names_the_remedy() {
    let stage = Stage::new("fatal", 1);
    stage.produce(0, 10);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.instance_id = Some("twin".to_owned());
    settings.guard.commit_interval = 60_000;
    let member = Member::start(settings);
    eventually("ten took effect", || stage.ledger.effects() == 10);
    let fenced = Answer::RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
    stage.cluster.request_errors(Api::Heartbeat, &[fenced]);
    eventually("it ends", || member.has_ended());
    let revoked = member.count(
        |event| matches!(event, Event::Rebalance { kind, .. } if *kind == RebalanceKind::Revoke),
    );
    let error = member.ended().expect_err("fatal");
    assert!(matches!(error, GatewayError::Fatal { .. }), "{error}");
    assert!(error.to_string().contains("--instance-id"), "{error}");
    assert_eq!(revoked, 0, "a fatal error comes without a callback");
    assert_eq!(stage.committed(), [None]);
}

/// The assignment half of the tokens of one process only rises, over consumers and engines.
pub(crate) fn assert_tokens_rise(events: &[Event]) {
    let tokens: Vec<u64> = events
        .iter()
        .filter_map(|event| match event {
            Event::Assigned { token, .. } => Some(token.assignment.value()),
            _ => None,
        })
        .collect();
    assert!(tokens.len() >= 2 && tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}
