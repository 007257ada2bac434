//! Which callbacks come in which order.

use rebalance_guard_host::gateway::{Event, Protocol, RebalanceKind};
use rebalance_guard_tests::kafka::{Member, eventually};

use super::Stage;

/// Kind, count of partitions, generation.
fn callbacks(member: &Member) -> Vec<(RebalanceKind, usize, i32)> {
    let all = member.events();
    let rebalances = all.into_iter().filter_map(|event| match event {
        Event::Rebalance { kind, partitions, generation, lost } => {
            assert!(!lost, "nobody was thrown out");
            Some((kind, partitions, generation))
        }
        _ => None,
    });
    rebalances.collect()
}

/// Starts a second member and gives the first one's callbacks once both own half of six partitions.
fn when_a_second_member_joins(protocol: Protocol) -> Option<Vec<(RebalanceKind, usize, i32)>> {
    let stage = Stage::new("callbacks", 6)?;
    let first = Member::start(stage.settings(protocol, "first"));
    let assigned = |event: &Event| matches!(event, Event::Assigned { .. });
    eventually("the first owns all", || first.count(assigned) == 6);
    let second = Member::start(stage.settings(protocol, "second"));
    eventually("the second owns half", || second.count(assigned) == 3);
    eventually("the first heard of it", || callbacks(&first).len() >= 3);
    let seen = callbacks(&first);
    second.leave();
    first.leave();
    Some(seen)
}

#[test]
fn eager_asks_everything_back_and_assigns_half() {
    let Some(seen) = when_a_second_member_joins(Protocol::Eager) else { return };
    use RebalanceKind::{Assign, Revoke};
    assert_eq!(seen, [(Assign, 6, 1), (Revoke, 6, 1), (Assign, 3, 2)]);
}

#[test]
fn cooperative_asks_half_back_under_the_new_generation_and_assigns_nothing() {
    let Some(seen) = when_a_second_member_joins(Protocol::Cooperative) else { return };
    use RebalanceKind::{Assign, Revoke};
    // The revoke already shows the new generation: the token is the one of the assign.
    assert_eq!(seen[..3], [(Assign, 6, 1), (Revoke, 3, 2), (Assign, 0, 2)]);
    // The second join that follows assigns nothing, too.
    assert!(seen[3..].iter().all(|(kind, count, _)| (*kind, *count) == (Assign, 0)), "{seen:?}");
}

#[test]
fn kip_848_asks_half_back_and_assigns_nothing_at_once() {
    let Some(seen) = when_a_second_member_joins(Protocol::Consumer) else { return };
    use RebalanceKind::{Assign, Revoke};
    // One epoch for all three: it rises after the revoke was acknowledged, without a callback.
    let epoch = seen[0].2;
    assert!(epoch >= 2, "{seen:?}");
    assert_eq!(seen[..3], [(Assign, 6, epoch), (Revoke, 3, epoch), (Assign, 0, epoch)]);
}

/// A topic that is deleted under its readers is lost, and the others go on.
#[test]
fn a_deleted_topic_takes_only_its_own_partitions_along() {
    let Some(stage) = Stage::new("deleted", 2) else { return };
    let other = Stage::new("kept", 2).expect("the broker is there");
    stage.produce(0, 10);
    let mut settings = stage.settings(Protocol::Cooperative, "reader");
    settings.topics.push(other.topic.clone());
    settings.client.insert("topic.metadata.refresh.interval.ms".to_owned(), "500".to_owned());
    let reader = Member::start(settings);
    stage.wait_for_effects(10);
    stage.broker.delete_topic(&stage.topic);
    let gone =
        |event: &Event| matches!(event, Event::Sealed { topic, .. } if **topic == *stage.topic);
    eventually("the deleted topic's partitions are gone", || reader.count(gone) == 2);
    other.produce(100, 10);
    stage.wait_for_effects(20);
    reader.leave();
    assert_eq!(other.broker.log_end(&other.topic, 0), 5);
    let held = |p| {
        rebalance_guard_tests::kafka::committed(
            other.broker.bootstrap(),
            &stage.group,
            &other.topic,
            p,
        )
    };
    assert_eq!((held(0), held(1)), (Some(5), Some(5)));
}
