//! Shortened traces on which the core and the model once differed, with the answer that the design
//! asks for.

use rebalance_guard::{
    Config, Ended, Guard, Offset, Output, Partition, Record, Resume, Sealed, Skip, Tick, Verdict,
};
use rebalance_guard_sim::Heap;

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
    let assignment = rebalance_guard::Assignment::new(1).expect("not 0");
    let (mark, left) = (Some(offset(5)), 0);
    let report = Sealed { partition: HERE, assignment, ended: Ended::Lost, mark, left };
    let expected = [Output::Rejoin { back_off: 0 }, Output::Sealed(report)];
    assert_eq!(sealed(Tick::MAX), expected);
    assert_eq!(sealed(at(7)), expected);
}
