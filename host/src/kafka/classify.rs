//! What the client's errors mean.

use rdkafka::error::RDKafkaErrorCode as Code;
use rebalance_guard::CommitAnswer;

use crate::ffi::Membership;
use crate::gateway::Protocol;

/// What is known of this member at the moment that a commit's answer is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Standing {
    /// A revoke is being served, or the assign that follows it has not come.
    pub(crate) rebalancing: bool,
    /// Single partitions move.
    pub(crate) cooperative: bool,
    /// The client's lost flag.
    pub(crate) lost_flag: bool,
    /// The member id is the one of the last assign.
    pub(crate) same_member: bool,
    /// The client still lists the partition in its assignment.
    pub(crate) assigned: bool,
}

/// What an answered commit means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Meaning {
    /// For the guard.
    Answer(CommitAnswer),
    /// The group has thrown this member out: everything is lost.
    MemberGone,
}

/// The meaning of a commit's error. `standing` costs calls of the client and is asked only where
/// the answer hangs on it.
pub(crate) fn commit_error(code: Code, standing: impl FnOnce() -> Standing) -> Meaning {
    use CommitAnswer::{Fatal, NotMine, Rejected, Retry};
    match code {
        Code::IllegalGeneration => Meaning::Answer(illegal_generation(standing())),
        Code::StaleMemberEpoch => {
            let now = standing();
            let kept = now.assigned && !now.lost_flag && now.same_member;
            Meaning::Answer(if kept { Retry } else { NotMine })
        }
        Code::UnknownMemberId | Code::FencedMemberEpoch | Code::GroupIdNotFound => {
            Meaning::MemberGone
        }
        Code::FencedInstanceId | Code::UnreleasedInstanceId | Code::Fatal | Code::Fenced => {
            Meaning::Answer(Fatal)
        }
        Code::AssignmentLost | Code::State => Meaning::Answer(NotMine),
        Code::RebalanceInProgress
        | Code::NotCoordinator
        | Code::CoordinatorNotAvailable
        | Code::CoordinatorLoadInProgress
        | Code::BrokerTransportFailure
        | Code::AllBrokersDown
        | Code::NetworkException
        | Code::RequestTimedOut
        | Code::OperationTimedOut
        | Code::MessageTimedOut
        | Code::TimedOutQueue
        | Code::WaitingForCoordinator
        | Code::UnstableOffsetCommit
        | Code::DestroyBroker
        | Code::BrokerDestroy
        | Code::InProgress => Meaning::Answer(Retry),
        // Authorization, metadata too large, a topic that is gone, and codes nobody knows: not
        // stored, ownership untouched, and no blind haste.
        _ => Meaning::Answer(Rejected),
    }
}

/// B38 (confluentinc/librdkafka#4059): between the two joins of a cooperative rebalance a commit of
/// a kept partition is refused with the generation that it was sent under; nothing is lost.
fn illegal_generation(now: Standing) -> CommitAnswer {
    let kept = now.cooperative && now.same_member && now.assigned;
    if !now.lost_flag && (now.rebalancing || kept) {
        CommitAnswer::Retry
    } else {
        CommitAnswer::NotMine
    }
}

/// Whether the membership shows that the group has thrown this member out since the last assign.
pub(crate) fn evicted(now: &Membership, id_at_assign: Option<&str>) -> bool {
    now.generation <= 0
        || now.member_id.is_empty()
        || id_at_assign.is_some_and(|id| id != now.member_id)
}

/// What a fatal error of the client calls for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Remedy {
    /// A new consumer and a new guard, after a back-off.
    Again,
    /// The process ends; this is what to change.
    Change(&'static str),
}

/// What to do about a fatal error.
pub(crate) fn fatal(code: Code, protocol: Protocol) -> Remedy {
    match code {
        // The rejoin after a revoke that was held past max.poll.interval.ms.
        Code::InvalidRequest if protocol == Protocol::Consumer => Remedy::Again,
        // A restart inside the session of the process before.
        Code::UnreleasedInstanceId => Remedy::Again,
        Code::FencedInstanceId => Remedy::Change(
            "another process uses the same instance id: give each its own `--instance-id`",
        ),
        Code::GroupAuthorizationFailed => {
            Remedy::Change("grant this principal READ on the consumer group")
        }
        Code::TopicAuthorizationFailed => Remedy::Change("grant this principal READ on the topics"),
        Code::UnsupportedVersion | Code::UnsupportedFeature => {
            Remedy::Change("this broker does not speak the protocol: use `--protocol cooperative`")
        }
        Code::UnsupportedAssignor => {
            Remedy::Change("the broker does not know the assignor: remove `group.remote.assignor`")
        }
        Code::InconsistentGroupProtocol => Remedy::Change(
            "the group's members use another protocol: use theirs, or another `--group`",
        ),
        _ => {
            Remedy::Change("start again; if it comes back, look up the code in the client's words")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: Standing = Standing {
        rebalancing: false,
        cooperative: true,
        lost_flag: false,
        same_member: true,
        assigned: true,
    };

    fn meaning(code: Code, standing: Standing) -> Meaning {
        commit_error(code, || standing)
    }

    #[test]
    fn an_old_generation_in_a_cooperative_join_is_tried_again() {
        // B38 (confluentinc/librdkafka#4059)
        let retry = Meaning::Answer(CommitAnswer::Retry);
        assert_eq!(meaning(Code::IllegalGeneration, KEPT), retry);
        let joining = Standing { cooperative: false, rebalancing: true, ..KEPT };
        assert_eq!(meaning(Code::IllegalGeneration, joining), retry);
    }

    #[test]
    fn an_old_generation_with_any_sign_of_loss_is_not_tried_again() {
        let not_mine = Meaning::Answer(CommitAnswer::NotMine);
        for standing in [
            Standing { lost_flag: true, ..KEPT },
            Standing { lost_flag: true, rebalancing: true, ..KEPT },
            Standing { same_member: false, ..KEPT },
            Standing { assigned: false, ..KEPT },
            Standing { cooperative: false, ..KEPT },
        ] {
            assert_eq!(meaning(Code::IllegalGeneration, standing), not_mine, "{standing:?}");
        }
    }

    #[test]
    fn a_stale_epoch_is_tried_again_only_while_the_partition_is_kept() {
        let answer = |standing| meaning(Code::StaleMemberEpoch, standing);
        assert_eq!(answer(KEPT), Meaning::Answer(CommitAnswer::Retry));
        let gone = Standing { assigned: false, ..KEPT };
        assert_eq!(answer(gone), Meaning::Answer(CommitAnswer::NotMine));
    }

    #[test]
    fn each_code_of_the_table_has_its_class() {
        use CommitAnswer::{Fatal, NotMine, Rejected, Retry};
        let unasked = || -> Standing { panic!("the answer does not hang on the standing") };
        for (code, class) in [
            (Code::FencedInstanceId, Fatal),
            (Code::UnreleasedInstanceId, Fatal),
            (Code::Fatal, Fatal),
            (Code::AssignmentLost, NotMine),
            (Code::State, NotMine),
            (Code::RebalanceInProgress, Retry),
            (Code::NotCoordinator, Retry),
            (Code::CoordinatorNotAvailable, Retry),
            (Code::CoordinatorLoadInProgress, Retry),
            (Code::BrokerTransportFailure, Retry),
            (Code::RequestTimedOut, Retry),
            (Code::WaitingForCoordinator, Retry),
            (Code::UnknownTopicOrPartition, Rejected),
            (Code::TopicAuthorizationFailed, Rejected),
            (Code::GroupAuthorizationFailed, Rejected),
            (Code::OffsetMetadataTooLarge, Rejected),
            (Code::InvalidCommitOffsetSize, Rejected),
            (Code::Unknown, Rejected),
        ] {
            assert_eq!(commit_error(code, unasked), Meaning::Answer(class), "{code:?}");
        }
        for code in [Code::UnknownMemberId, Code::FencedMemberEpoch, Code::GroupIdNotFound] {
            assert_eq!(commit_error(code, unasked), Meaning::MemberGone, "{code:?}");
        }
    }

    #[test]
    fn an_eviction_shows_in_the_id_or_the_generation() {
        let member = |generation, id: &str| Membership { generation, member_id: id.to_owned() };
        assert!(!evicted(&member(3, "a"), Some("a")));
        assert!(!evicted(&member(3, "a"), None));
        assert!(evicted(&member(3, ""), Some("a")));
        assert!(evicted(&member(3, "b"), Some("a")));
        assert!(evicted(&member(-1, "a"), Some("a")));
        assert!(evicted(&member(0, "a"), Some("a")));
    }

    #[test]
    fn only_what_the_facts_call_recoverable_is_tried_again() {
        // B104 (twmb/franz-go#479): fenced by a twin is final.
        assert!(matches!(fatal(Code::FencedInstanceId, Protocol::Eager), Remedy::Change(_)));
        assert_eq!(fatal(Code::UnreleasedInstanceId, Protocol::Consumer), Remedy::Again);
        assert_eq!(fatal(Code::InvalidRequest, Protocol::Consumer), Remedy::Again);
        assert!(matches!(fatal(Code::InvalidRequest, Protocol::Cooperative), Remedy::Change(_)));
    }
}
