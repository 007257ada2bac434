//! Records that never succeed.

use rebalance_guard::{Answered, Config, Storm};

use crate::support::{World, small};

#[test]
fn the_attempt_count_starts_again_with_the_ownership() {
    // B88 (karafka/karafka PR#3223)
    let mut world = World::new();
    world.assign("p0@100").run("p0:100");
    world.fail(world.ticket("p0:100"));
    assert_eq!(world.tick(100).outputs(), ["retry p0:100"]);
    world.fail(world.ticket("p0:100"));
    world.revoke("p0", 20_000).assign("p0@100").drain().run("p0:100");
    assert_eq!(world.ticket("p0:100").attempt(), 0);
    world.fail(world.ticket("p0:100"));
    assert_eq!(world.tick(200).outputs(), ["retry p0:100"]);
}

#[test]
fn a_record_that_comes_back_without_progress_fifty_times_is_a_storm() {
    // B89 (apache/pulsar-site PR#1117)
    let mut world = World::new();
    let mut begun = Vec::new();
    for round in 1..=50 {
        world.at(round * 90_000).assign("p0@100").run("p0:100");
        world.fail(world.ticket("p0:100"));
        world.revoke("p0", round * 90_000);
        let outputs = world.outputs();
        assert!(outputs[0].starts_with("sealed p0"), "{outputs:?}");
        begun.extend(outputs.iter().any(|word| word.starts_with("storm began")).then_some(round));
    }
    assert_eq!(begun, [5]);
    assert_eq!(world.guard.storm(), Storm::Storm);
}

#[test]
fn a_record_that_kills_its_process_is_parked_when_its_header_counts() {
    // B89 (apache/pulsar-site PR#1117)
    for (attempts, verdict) in [(0, "run"), (1, "run"), (2, "run"), (3, "park: attempts spent")] {
        let mut world = World::new();
        world.assign("p0@100");
        assert_eq!(world.admit_tried("p0:100", attempts), verdict);
    }
}

#[test]
fn a_dead_letter_that_can_never_be_sent_blocks_the_commit_without_a_tight_loop() {
    // B91 (spring-projects/spring-kafka#1700)
    let mut world = World::with(Config { attempts_max: 1, ..small() });
    world.assign("p0@100").run("p0:100");
    world.fail(world.ticket("p0:100"));
    world.finish("p0:101");
    let asked = "dead letter p0:100: attempts spent, copies 0";
    assert_eq!(world.outputs(), [asked]);
    let mut now = 0;
    for refusal in 1..=20 {
        assert_eq!(world.fail(world.ticket("p0:100")), Answered::Done);
        assert_eq!(world.outputs(), Vec::<String>::new());
        now += (100 << (refusal - 1).min(10)).min(1_000);
        assert_eq!(world.tick(now - 1).outputs(), Vec::<String>::new());
        assert_eq!(world.tick(now).outputs(), [asked]);
        assert_eq!(world.mark("p0"), 100);
        assert_eq!(world.guard.counters().dead_letters_failed, refusal);
    }
    assert_eq!(world.dead_lettered(world.ticket("p0:100")), Answered::Done);
    assert_eq!(world.commits(), ["p0=102"]);
}

#[test]
fn a_retry_that_runs_past_the_lease_is_dead_when_it_ends() {
    // B92 (spring-projects/spring-kafka#2543)
    let late = Config { lease: 300_000, backoff: 200_000, backoff_cap: 200_000, ..small() };
    let mut world = World::with(late);
    world.assign("p0@100").run("p0:100");
    world.fail(world.ticket("p0:100"));
    assert_eq!(world.tick(200_000).outputs(), ["retry p0:100", "poll budget, until 300000"]);
    let retry = world.ticket("p0:100");
    world.tick(300_000);
    assert!(!world.guard.is_live(retry));
    assert_eq!(world.at(350_000).complete(retry), Answered::Stale);
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #1: lost, mark 100, left 1"]);
}

#[test]
fn a_record_without_a_key_is_dead_lettered_like_any_other() {
    // B94 (mateusjunges/laravel-kafka#290)
    let mut world = World::with(Config { attempts_max: 2, ..small() });
    world.assign("p0@100").run("p0:100");
    world.fail(world.ticket("p0:100"));
    assert_eq!(world.tick(100).outputs(), ["retry p0:100"]);
    world.fail(world.ticket("p0:100"));
    assert_eq!(world.outputs(), ["dead letter p0:100: attempts spent, copies 0"]);
    assert_eq!(world.dead_lettered(world.ticket("p0:100")), Answered::Done);
    assert_eq!(world.commits(), ["p0=101"]);
}

#[test]
#[cfg_attr(miri, ignore = "about size: hours under Miri")]
fn partitions_owned_in_the_past_leave_nothing_that_grows() {
    // B95 (getsentry/arroyo#405)
    let mut world = World::with(Config { partitions: 2, window: 50, budget: 50, ..small() });
    for round in 0..1_000 {
        let name = format!("p{round}");
        world.assign(&format!("{name}@0"));
        for at in 0..50 {
            world.run(&format!("{name}:{at}"));
        }
        world.revoke(&name, 0);
        let seal = format!("sealed {name} #{}: deadline, mark 0, left 50", round + 1);
        assert_eq!(world.outputs(), [seal]);
        assert_eq!(world.guard.in_flight(), 0);
        assert_eq!(world.guard.owned().count(), 0);
    }
    assert_eq!(world.guard.counters().given_up, 50_000);
}

#[test]
fn a_record_that_outlives_every_lease_is_seen_without_any_failure_reported() {
    // B97 (schema.ai Kafka notes)
    let mut world = World::with(Config { lease: 300_000, ..small() });
    let mut began = Vec::new();
    for round in 1..=6_u64 {
        let start = round * 1_000_000;
        world.at(start).assign("p0@100").run("p0:100");
        world.tick(start + 300_001);
        let outputs = world.outputs();
        assert!(outputs[0].starts_with("rejoin after"), "{outputs:?}");
        assert!(outputs.contains(&format!("sealed p0 #{round}: lost, mark 100, left 1")));
        began.extend(outputs.iter().any(|word| word.starts_with("storm began")).then_some(round));
        assert_eq!(world.guard.counters().lost_in_hand, round);
        assert_eq!(world.guard.counters().failed, 0);
    }
    assert_eq!(began, [5]);
}
