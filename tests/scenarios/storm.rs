//! Detecting that a group never settles.

use rebalance_guard::{Config, Storm};

use crate::support::{World, small};

/// p0 is revoked and assigned again at `now`.
fn rebalance(world: &mut World, now: u64) {
    world.at(now).revoke("p0", now).assign("p0@0");
}

/// Generations not known, five rebalances at 0, 1000, … 4000.
fn stormy(config: Config) -> World {
    let mut world = World::with(config);
    world.generation = None;
    world.assign("p0@0");
    for round in 1..5 {
        rebalance(&mut world, round * 1_000);
    }
    world
}

fn began(outputs: &[String]) -> usize {
    outputs.iter().filter(|word| word.starts_with("storm began")).count()
}

#[test]
fn rebalances_in_the_window_rise_to_a_storm_and_calm_down_with_hysteresis() {
    let mut world = World::new();
    world.generation = None;
    world.assign("p0@0");
    let mut levels = vec![world.guard.storm()];
    for round in 1..5 {
        rebalance(&mut world, round * 1_000);
        levels.push(world.guard.storm());
    }
    assert_eq!(levels, [Storm::Calm, Storm::Calm, Storm::Rising, Storm::Rising, Storm::Storm]);
    assert_eq!(
        world.outputs(),
        ["sealed p0 #4: drained, mark 0, left 0", "storm began, wait 20000"]
    );
    assert_eq!(world.tick(62_999).outputs(), Vec::<String>::new());
    assert_eq!(world.guard.storm(), Storm::Storm);
    assert!(world.next_timeout().is_some_and(|at| at <= 63_000));
    assert_eq!(world.tick(63_000).outputs(), ["storm ended"]);
    assert_eq!(world.guard.storm(), Storm::Calm);
    assert_eq!(world.guard.counters().storms, 1);
}

#[test]
fn a_rising_storm_calms_down_without_a_word() {
    let mut world = World::new();
    world.generation = None;
    world.assign("p0@0");
    rebalance(&mut world, 1_000);
    rebalance(&mut world, 2_000);
    assert_eq!(world.guard.storm(), Storm::Rising);
    world.tick(60_999);
    assert_eq!(world.guard.storm(), Storm::Rising);
    world.tick(61_000).drain();
    assert_eq!(world.guard.storm(), Storm::Calm);
    assert_eq!(world.guard.counters().storms, 0);
}

#[test]
#[cfg_attr(miri, ignore = "about size: hours under Miri")]
fn an_endless_storm_is_reported_early_and_once() {
    // B98 (easy-swoole/kafka#17)
    for known in [true, false] {
        let mut world = World::new();
        world.generation = known.then_some(1);
        world.assign("p0@100");
        let mut reported = Vec::new();
        for round in 1..=1_000 {
            world.at(round * 10).revoke("p0", round * 10);
            world.generation = known.then_some(round as i32 + 1);
            world.assign("p0@100");
            reported.extend((began(&world.outputs()) > 0).then_some(round));
        }
        assert_eq!(reported, [4], "generations known: {known}");
        assert_eq!(world.guard.counters().rebalances, 1_001);
        assert_eq!(world.guard.counters().storms, 1);
    }
}

#[test]
fn a_burst_that_ends_clears_the_alarm_and_a_second_one_raises_it_again() {
    // B101 (confluentinc/parallel-consumer PR#909)
    let mut world = World::with(Config { storm_window: 300_000, lease: 10_000_000, ..small() });
    world.generation = None;
    world.assign("p0@0").lost_all().tick(1_000_000).drain();
    for burst in 1..=2_u64 {
        let start = burst * 1_000_000;
        world.at(start).assign("p0@0");
        for round in 1..=5 {
            assert_eq!(began(&world.outputs()), 0);
            rebalance(&mut world, start + round * 40_000);
        }
        assert_eq!(began(&world.outputs()), 1);
        assert_eq!(world.guard.storm(), Storm::Storm);
        assert_eq!(world.tick(start + 760_000).outputs(), ["storm ended"]);
        world.lost_all().tick(start + 999_999).drain();
    }
    assert_eq!(world.guard.counters().storms, 2);
}

#[test]
fn a_jump_of_the_clock_raises_no_alarm() {
    // B110 (confluentinc/librdkafka#3537)
    let mut world = World::new();
    world.generation = None;
    world.assign("p0@0").tick(500).tick(400).tick(0).tick(846_018_558_000);
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #1: lost, mark 0, left 0"]);
    assert_eq!(world.guard.storm(), Storm::Calm);
}

#[test]
fn with_generations_known_only_a_new_one_counts_and_an_empty_assign_tells_it_too() {
    let mut world = World::new();
    let mut counted = Vec::new();
    for (generation, what) in [(7, "p0@0"), (7, ""), (7, "p1@0"), (8, ""), (8, "p2@0"), (9, "")] {
        world.assign_in(generation, what).revoke("p1", 0).lost("p2");
        counted.push(world.guard.counters().rebalances);
    }
    assert_eq!(counted, [1, 1, 1, 2, 2, 3]);
}

#[test]
fn with_generations_unknown_a_revoke_with_content_counts_and_its_assign_does_not() {
    let mut world = World::new();
    world.generation = None;
    let counted = |world: &World| world.guard.counters().rebalances;
    world.assign("");
    assert_eq!(counted(&world), 0);
    world.assign("p0@0 p1@0 p2@0");
    assert_eq!(counted(&world), 1);
    world.revoke("p3", 0).lost("p3").revoke("", 0);
    assert_eq!(counted(&world), 1);
    world.revoke("p0 p1", 0);
    assert_eq!(counted(&world), 2);
    world.assign("p0@0");
    assert_eq!(counted(&world), 2);
    world.assign("p1@0");
    assert_eq!(counted(&world), 3);
    world.lost("p0");
    assert_eq!(counted(&world), 4);
    world.assign("p0@0");
    assert_eq!(counted(&world), 4);
}

#[test]
fn ownerships_that_finish_nothing_though_records_came_are_a_storm_at_any_pace() {
    let mut world = World::new();
    let mut begun = Vec::new();
    for round in 1..=6 {
        world.at(round * 10_000_000).assign("p0@0").run("p0:0");
        world.revoke("p0", 0);
        begun.push(began(&world.outputs()));
    }
    assert_eq!(begun, [0, 0, 0, 0, 1, 0]);
    assert_eq!(world.guard.counters().rebalances, 1);
}

#[test]
fn one_finished_record_ends_a_row_of_fruitless_ownerships_and_the_storm() {
    let mut world = World::new();
    for round in 1..=5 {
        world.at(round * 10_000_000).assign("p0@0").run("p0:0");
        world.revoke("p0", 0).drain();
    }
    assert_eq!(world.guard.storm(), Storm::Storm);
    world.at(60_000_000).assign("p0@0").finish("p0:0").revoke("p0", 60_000_000);
    let outputs = world.outputs();
    assert!(outputs.contains(&"storm ended".to_owned()), "{outputs:?}");
    assert_eq!(world.guard.storm(), Storm::Calm);
}

#[test]
fn ownerships_without_records_neither_add_to_the_row_nor_end_it() {
    let mut world = World::new();
    for round in 1..=9 {
        world.at(round * 10_000_000).assign("p0@0");
        if round % 2 == 1 {
            world.run("p0:0");
        }
        let before = world.guard.storm();
        world.revoke("p0", 0).drain();
        assert_eq!(before, Storm::Calm);
        assert_eq!(world.guard.storm() == Storm::Storm, round == 9, "round {round}");
    }
}

#[test]
fn the_row_of_fruitless_ownerships_is_a_partitions_own() {
    let mut world = World::new();
    for round in 1..=4 {
        for name in ["p0", "p1", "p2"] {
            world.at(round * 10_000_000).assign(&format!("{name}@0")).run(&format!("{name}:0"));
            world.revoke(name, 0).drain();
        }
    }
    assert_eq!(world.guard.storm(), Storm::Calm);
}

#[test]
fn records_run_in_a_storm_unless_the_policy_holds_them() {
    let mut world = stormy(small());
    assert_eq!(world.guard.storm(), Storm::Storm);
    assert_eq!(world.admit("p0:0"), "run");
}

#[test]
fn the_policy_holds_records_in_a_storm_and_resumes_when_it_is_over() {
    let mut world = stormy(Config { hold_in_storm: true, ..small() });
    assert_eq!(
        world.outputs(),
        ["sealed p0 #4: drained, mark 0, left 0", "storm began, wait 20000", "pause p0"]
    );
    assert_eq!(world.admit("p0:0"), "hold: storm");
    assert_eq!(world.admit("p0:1"), "hold: owed 0");
    assert_eq!(world.progress("p0").owed.map(|at| at.value()), Some(0));
    assert_eq!(world.tick(63_000).outputs(), ["storm ended", "resume p0"]);
    assert_eq!(world.admit("p0:0"), "run");
    assert_eq!(world.guard.counters().held_storm, 1);
}

#[test]
fn duplicates_are_skipped_in_a_storm_and_an_abandoned_record_waits_for_its_end() {
    let mut world = World::with(Config { hold_in_storm: true, ..small() });
    world.generation = None;
    world.assign("p0@0 p1@0").finish("p1:0=a");
    let abandoned = world.run("p1:1");
    world.abandon(abandoned);
    for round in 1..5 {
        rebalance(&mut world, round * 1_000);
    }
    assert_eq!(world.guard.storm(), Storm::Storm);
    assert_eq!(world.admit("p1:2=a"), "skip: finished");
    assert_eq!(world.admit("p1:1"), "hold: storm");
}

#[test]
fn a_lease_that_ends_in_a_storm_advises_to_wait_before_the_rejoin() {
    let mut world = stormy(Config { lease: 30_000, ..small() });
    world.drain().tick(34_000);
    assert_eq!(world.outputs(), ["rejoin after 20000", "sealed p0 #5: lost, mark 0, left 0"]);
}

#[test]
fn an_ownership_without_records_does_not_end_the_storm_of_fruitless_ones() {
    let mut world = World::new();
    for round in 1..=5 {
        world.at(round * 10_000_000).assign("p0@0").run("p0:0");
        world.revoke("p0", 0).drain();
    }
    world.at(60_000_000).assign("p0@0").revoke("p0", 0);
    assert_eq!(world.outputs(), ["sealed p0 #6: drained, mark 0, left 0"]);
    assert_eq!(world.guard.storm(), Storm::Storm);
}

#[test]
fn a_rewind_is_no_fruitless_end() {
    let mut world = World::new();
    world.assign("p0@0");
    for _ in 0..10 {
        world.run("p0:0");
        assert_eq!(world.rewind("p0:0"), Ok(rebalance_guard::Reply::Done));
    }
    assert_eq!(world.guard.storm(), Storm::Calm);
}

#[test]
fn holds_end_with_the_storms_pace_even_if_a_partition_never_got_anything_done() {
    let mut world = World::with(Config { hold_in_storm: true, ..small() });
    for round in 0..5 {
        world.poll_until(round * 100_000 + 1).assign("p0@0");
        world.run("p0:0");
        world.lost_all().drain();
    }
    assert_eq!(world.guard.storm(), Storm::Storm);
    world.poll_until(600_000).assign("p0@0 p1@0").drain();
    assert_eq!(world.guard.storm(), Storm::Storm);
    world.poll_until(700_000).drain();
    assert_eq!(world.admit("p1:0"), "run");
    world.finish("p0:0").revoke("p0", 800_000);
    assert_eq!(world.guard.storm(), Storm::Calm);
}
