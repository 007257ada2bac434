//! The order of callbacks in each protocol, as clients of a real broker see them.

use rebalance_guard_sim::group::{Act, Callback, Options, Planned, Protocol, run};

fn assign(partitions: &[u32], generation: i32) -> Callback {
    Callback::Assign { partitions: partitions.to_vec(), generation }
}

fn revoke(partitions: &[u32], generation: i32) -> Callback {
    Callback::Revoke { partitions: partitions.to_vec(), lost: false, generation }
}

/// Two members, four partitions, no records; what each saw, in order.
fn seen(protocol: Protocol, static_ids: bool, acts: &[(u64, Act)]) -> Vec<Vec<Callback>> {
    let plan = acts.iter().map(|(at, act)| Planned { at: *at, act: *act }).collect();
    let options = Options {
        protocol,
        static_ids,
        members: 2,
        partitions: 4,
        rate: 0,
        produce_ms: 2_000,
        session_ms: 200,
        heartbeat_ms: 20,
        max_poll_ms: 1_000,
        plan: Some(plan),
        settle_ms: 0,
        ..Options::default()
    };
    let outcome = run(&options);
    let logs = outcome.callback_log.into_iter();
    logs.map(|log| log.into_iter().map(|(_, callback)| callback).collect()).collect()
}

const BOTH: [(u64, Act); 2] = [(0, Act::Start(0)), (100, Act::Start(1))];

fn both_and(acts: &[(u64, Act)]) -> Vec<(u64, Act)> {
    BOTH.iter().chain(acts).copied().collect()
}

#[test]
fn eager_members_give_everything_back_when_one_joins_or_goes() {
    let join = seen(Protocol::Eager, false, &BOTH);
    let first = [assign(&[0, 1, 2, 3], 1), revoke(&[0, 1, 2, 3], 1), assign(&[0, 1], 2)];
    assert_eq!(join, [first.to_vec(), vec![assign(&[2, 3], 2)]]);

    let back = [revoke(&[0, 1], 2), assign(&[0, 1, 2, 3], 3)];
    let leave = seen(Protocol::Eager, false, &both_and(&[(500, Act::Stop(1))]));
    assert_eq!(leave[0][3..], back);
    assert_eq!(leave[1], [assign(&[2, 3], 2), revoke(&[2, 3], 2)]);

    let crash = seen(Protocol::Eager, false, &both_and(&[(500, Act::Kill(1))]));
    assert_eq!(crash[0][3..], back);
    assert_eq!(crash[1], [assign(&[2, 3], 2)]);
}

#[test]
fn cooperative_members_give_back_what_moves_under_the_new_generation() {
    let join = seen(Protocol::Cooperative, false, &BOTH);
    let first = [assign(&[0, 1, 2, 3], 1), revoke(&[2, 3], 2), assign(&[], 2), assign(&[], 3)];
    assert_eq!(join, [first.to_vec(), vec![assign(&[], 2), assign(&[2, 3], 3)]]);

    let leave = seen(Protocol::Cooperative, false, &both_and(&[(500, Act::Stop(1))]));
    assert_eq!(leave[0][4..], [assign(&[2, 3], 4)]);
    assert_eq!(leave[1][2..], [revoke(&[2, 3], 3)]);

    let crash = seen(Protocol::Cooperative, false, &both_and(&[(500, Act::Kill(1))]));
    assert_eq!(crash[0][4..], [assign(&[2, 3], 4)]);
    assert_eq!(crash[1].len(), 2);
}

#[test]
fn kip_848_members_are_brought_to_their_target_one_by_one() {
    let join = seen(Protocol::Consumer, false, &BOTH);
    let first = [assign(&[0, 1, 2, 3], 2), revoke(&[2, 3], 2), assign(&[], 2)];
    assert_eq!(join, [first.to_vec(), vec![assign(&[2, 3], 3)]]);

    let leave = seen(Protocol::Consumer, false, &both_and(&[(500, Act::Stop(1))]));
    assert_eq!(leave[0][3..], [assign(&[2, 3], 4)]);
    assert_eq!(leave[1][1..], [revoke(&[2, 3], 3)]);

    let crash = seen(Protocol::Consumer, false, &both_and(&[(500, Act::Kill(1))]));
    assert_eq!(crash[0][3..], [assign(&[2, 3], 4)]);
    assert_eq!(crash[1].len(), 1);
}

#[test]
fn a_static_member_that_crashes_and_comes_back_is_given_the_same_under_the_same_generation() {
    for protocol in [Protocol::Eager, Protocol::Cooperative] {
        let before = seen(protocol, true, &BOTH);
        let generation = if protocol == Protocol::Eager { 2 } else { 3 };
        let back = both_and(&[(500, Act::Kill(1)), (600, Act::Start(1))]);
        let after = seen(protocol, true, &back);
        assert_eq!(after[0], before[0], "the other does not notice");
        let again = [before[1].clone(), vec![assign(&[2, 3], generation)]].concat();
        assert_eq!(after[1], again);
    }
}

#[test]
fn a_static_kip_848_member_that_crashes_is_refused_until_its_session_is_over() {
    let back = both_and(&[(500, Act::Kill(1)), (600, Act::Start(1))]);
    let after = seen(Protocol::Consumer, true, &back);
    let taken = [assign(&[2, 3], 4), revoke(&[2, 3], 4), assign(&[], 4)];
    assert_eq!(after[0][3..], taken);
    assert_eq!(after[1], [assign(&[2, 3], 3), Callback::Fatal, assign(&[2, 3], 5)]);
}

#[test]
fn a_static_member_that_closes_leaves_its_partitions_and_finds_them_again() {
    for protocol in Protocol::ALL {
        let before = seen(protocol, true, &BOTH);
        let back = both_and(&[(500, Act::Stop(1)), (600, Act::Start(1))]);
        let after = seen(protocol, true, &back);
        assert_eq!(after[0], before[0], "{protocol:?}: the other does not notice");
        let generation = if protocol == Protocol::Eager { 2 } else { 3 };
        let again = vec![revoke(&[2, 3], generation), assign(&[2, 3], generation)];
        assert_eq!(after[1], [before[1].clone(), again].concat(), "{protocol:?}");
    }
}

#[test]
fn a_member_that_stands_still_for_longer_than_its_session_is_told_that_all_is_lost() {
    for protocol in Protocol::ALL {
        let after = seen(protocol, false, &both_and(&[(500, Act::Pause(1, 400))]));
        let lost = after[1].iter().filter(|c| matches!(c, Callback::Revoke { lost: true, .. }));
        assert_eq!(lost.count(), 1, "{protocol:?}: {:?}", after[1]);
    }
}

#[test]
fn a_member_that_does_not_poll_is_told_so_and_then_that_all_is_lost() {
    for protocol in Protocol::ALL {
        let acts = [(0, Act::Start(0)), (100, Act::Stall(0, 1_500))];
        let after = seen(protocol, false, &acts);
        assert_eq!(after[0][1], Callback::PollExceeded, "{protocol:?}");
        let Callback::Revoke { partitions, lost, .. } = &after[0][2] else {
            panic!("{protocol:?}: {:?}", after[0]);
        };
        assert_eq!((partitions.as_slice(), *lost), (&[0, 1, 2, 3][..], true), "{protocol:?}");
    }
}
