//! Long runs over small tables, beside plain lists that say what must come out.

use std::collections::VecDeque;

use rebalance_guard::{Answered, Config, InputError, Ticket};

use crate::support::{World, small};

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[test]
#[cfg_attr(miri, ignore = "about size: hours under Miri")]
fn the_dedupe_window_is_exact_over_a_long_run() {
    let mut world = World::with(Config { window: 6, keys: 8, budget: 5_000, ..small() });
    let mut dice = Dice(3);
    let mut finished: VecDeque<u64> = VecDeque::new();
    let mut running: Vec<(u64, Ticket)> = Vec::new();
    world.assign("p0@0");
    for at in 0..4_000 {
        let key = dice.throw(24);
        let expected = match () {
            () if finished.contains(&key) => "skip: finished",
            () if running.iter().any(|&(other, _)| other == key) => "skip: in flight",
            () => "run",
        };
        let record = format!("p0:{at}=key {key}");
        assert_eq!(world.admit(&record), expected, "{record}");
        if expected == "run" {
            running.push((key, world.ticket(&record)));
        }
        while running.len() > 5 || (!running.is_empty() && dice.throw(3) == 0) {
            let which = dice.throw(running.len() as u64) as usize;
            let (key, ticket) = running.swap_remove(which);
            match dice.throw(4) {
                0 => assert_eq!(world.abandon(ticket), Answered::Done),
                _ => {
                    assert_eq!(world.complete(ticket), Answered::Done);
                    finished.push_back(key);
                }
            }
            if finished.len() > 8 {
                finished.pop_front();
            }
        }
        assert_eq!(world.guard.in_flight() as usize, running.len());
    }
    assert!(world.guard.counters().skipped_finished > 500);
    assert!(world.guard.counters().skipped_in_flight > 100);
}

#[test]
#[cfg_attr(miri, ignore = "about size: hours under Miri")]
fn the_partition_table_is_exact_over_a_long_run() {
    let mut world = World::new();
    let mut dice = Dice(5);
    let mut owned: Vec<i32> = Vec::new();
    let mut full = 0;
    for _ in 0..5_000 {
        let index = i32::try_from(dice.throw(12)).expect("small");
        let name = format!("p{index}");
        if dice.throw(2) == 0 {
            let held = owned.contains(&index);
            if !held && owned.len() == 4 {
                let refused = InputError::PartitionsFull { needed: 1, available: 0 };
                assert_eq!(world.try_assign(&format!("{name}@0")), Err(refused));
                full += 1;
            } else {
                world.assign(&format!("{name}@0"));
                owned.retain(|&other| other != index);
                owned.push(index);
            }
        } else {
            world.lost(&name);
            owned.retain(|&other| other != index);
        }
        world.drain();
        let said: Vec<_> = world.guard.owned().map(|(partition, _)| partition.index).collect();
        assert_eq!(said, owned);
        for index in 0..12 {
            assert_eq!(world.owns(&format!("p{index}")), owned.contains(&index));
        }
    }
    assert!(full > 100);
}

#[test]
#[cfg_attr(miri, ignore = "about size: hours under Miri")]
fn marks_are_exact_when_records_finish_in_any_order_for_long() {
    let mut world = World::with(Config { window: 32, budget: 40, ..small() });
    let mut dice = Dice(7);
    let mut open: Vec<(u64, Ticket)> = Vec::new();
    let (mut next, mut last) = (10, 9);
    world.assign("p0@10");
    for _ in 0..5_000 {
        if world.admit(&format!("p0:{next}")) == "run" {
            open.push((next, world.ticket(&format!("p0:{next}"))));
            last = next;
            next += 1 + dice.throw(3);
        } else {
            assert_eq!(world.progress("p0").owed.map(|at| at.value()), Some(next));
            let (_, oldest) = open.remove(0);
            assert_eq!(world.complete(oldest), Answered::Done);
        }
        while open.len() > 1 && dice.throw(2) == 0 {
            let which = 1 + dice.throw(open.len() as u64 - 1) as usize;
            let (_, ticket) = open.remove(which);
            assert_eq!(world.complete(ticket), Answered::Done);
        }
        let mark = open.first().map_or(last + 1, |&(oldest, _)| oldest);
        assert_eq!(world.mark("p0"), mark);
        assert_eq!(world.progress("p0").unfinished as usize, open.len());
        world.commit_all();
    }
    assert!(world.guard.counters().completed > 2_000);
    assert!(world.guard.counters().held_budget > 10);
}
