//! Shortened traces on which the core and the model once differed, with the answer that the design
//! asks for.

use rebalance_guard::{
    Assignment, CommitAnswer, Config, Ended, Guard, Offset, Output, Partition, Record, Resume,
    Sealed, Skip, Tick, Verdict,
};
use rebalance_guard_sim::oracle::check_trace;
use rebalance_guard_sim::{Action, Heap, LostScope, Offered, Resumed, Step, Trace};

use crate::support::core;

const HERE: Partition = Partition::new(0, 0);
const THERE: Partition = Partition::new(0, 1);

fn at(value: u64) -> Tick {
    Tick::new(value).expect("a small tick")
}

fn offset(value: u64) -> Offset {
    Offset::new(value).expect("a small offset")
}

fn offer(
    guard: &mut Guard<Heap>,
    now: u64,
    partition: Partition,
    number: u64,
    key: &str,
) -> Verdict {
    guard.admit(at(now), Record::new(partition, offset(number), Some(key.as_bytes())))
}

fn pulled(guard: &mut Guard<Heap>) -> Vec<Output> {
    std::iter::from_fn(|| guard.poll_output()).take(100).collect()
}

#[test]
fn a_debt_whose_own_reason_is_gone_stays_paused_while_the_budget_is_full() {
    let mut guard = core(Config {
        partitions: 2,
        window: 4,
        budget: 1,
        hold_in_storm: true,
        storm_window: 94,
        storm_rising: 1,
        storm_at: 2,
        storm_calm: 0,
        ..Config::default()
    });
    let (_, _) = (
        guard.assign(at(124), Some(1), &[(HERE, Resume::committed(offset(0)))]),
        guard.revoke(at(179), &[HERE], at(172)),
    );
    let there = [(THERE, Resume::At(offset(0)))];
    assert!(guard.assign(at(179), Some(2), &there).is_ok());
    pulled(&mut guard);
    let held = offer(&mut guard, 179, THERE, 1, "a");
    assert_eq!(held, Verdict::Hold(rebalance_guard::Hold::Storm));
    assert_eq!(pulled(&mut guard), []);
    assert!(matches!(offer(&mut guard, 304, THERE, 0, "b"), Verdict::Run(_)));
    assert_eq!(pulled(&mut guard), [Output::StormEnded]);
}

#[test]
fn a_duplicate_that_takes_the_last_place_of_the_budget_pauses() {
    let mut guard = core(Config { window: 2, budget: 2, ..Config::default() });
    assert!(guard.assign(at(0), None, &[(HERE, Resume::committed(offset(1)))]).is_ok());
    assert!(matches!(offer(&mut guard, 1, HERE, 1, "k"), Verdict::Run(_)));
    assert_eq!(pulled(&mut guard), []);
    assert_eq!(offer(&mut guard, 1, HERE, 2, "k"), Verdict::Skip(Skip::DuplicateInFlight));
    assert_eq!(pulled(&mut guard), [Output::Pause(HERE)]);
}

#[test]
fn a_late_tick_answers_as_the_tick_it_is_clamped_to() {
    let sealed = |now: Tick| {
        let mut guard = core(Config::default());
        assert!(guard.assign(Tick::MAX, None, &[(HERE, Resume::committed(offset(5)))]).is_ok());
        guard.revoke(now, &[HERE], Tick::MAX);
        pulled(&mut guard)
    };
    let assignment = Assignment::new(1).expect("not 0");
    let (mark, left) = (Some(offset(5)), 0);
    let report = Sealed { partition: HERE, assignment, ended: Ended::Lost, mark, left };
    let expected = [Output::Rejoin { back_off: 0 }, Output::Sealed(report)];
    assert_eq!(sealed(Tick::MAX), expected);
    assert_eq!(sealed(at(7)), expected);
}

/// Two ownerships in a row; the drain of the first ends as the second is assigned, and the drain of
/// the second by its deadline.
fn owned_twice(second: Partition, deadline: u64, last: Step) -> Trace {
    let step = |now, action| Step { now: at(now), action };
    let assign = |partition| Action::Assign {
        generation: Some(1),
        partitions: vec![(partition, Resumed::Empty(None))],
    };
    let (offset, namespace) = (offset(0), 0);
    let admit = |partition| {
        let (key, leader_epoch) = (Some(b"k".to_vec()), None);
        Action::Admit(Offered { partition, offset, key, attempts: 0, namespace, leader_epoch })
    };
    let revoke = |partition, deadline| Action::Revoke {
        partitions: vec![partition],
        deadline: at(deadline),
    };
    // Committed already: nothing is left to say when the drain ends.
    let stored = Action::CommitAnswered {
        partition: HERE,
        assignment: Assignment::new(1).expect("numbers begin at 1"),
        offset,
        answer: CommitAnswer::Stored,
    };
    let config = Config { lease: 300, commit_interval: 0, ..Config::default() };
    let steps = vec![
        step(1_000, assign(HERE)),
        step(1_000, admit(HERE)),
        step(1_000, stored),
        step(1_100, revoke(HERE, 1_200)),
        step(1_200, assign(second)),
        step(1_200, admit(second)),
        step(1_200, revoke(second, deadline)),
        last,
    ];
    Trace { seed: 0, config, partitions: vec![HERE, THERE], steps }
}

#[test]
fn the_oracle_knows_that_a_lease_may_begin_at_the_tick_at_which_a_drain_ends() {
    let dies = Step { now: at(1_300), action: Action::Lost(LostScope::Fatal) };
    let expires = Step { now: at(1_500), action: Action::Tick };
    for trace in [owned_twice(HERE, 1_300, dies), owned_twice(THERE, 1_499, expires)] {
        let checked = check_trace(trace.config, &trace, || core(trace.config));
        assert_eq!(checked.map(|stats| stats.sealed), Ok(2), "{trace}");
    }
}
