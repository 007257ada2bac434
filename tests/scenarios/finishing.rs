//! Retries, back-off times and dead letters.

use rebalance_guard::{Answered, Config, KeyPolicy, Reason, Record, Verdict};

use crate::support::{World, offset, partition, small, tick};

/// The tick at which the next output comes, found by stepping; nothing comes before it.
fn next_output_at(world: &mut World, from: u64) -> (u64, Vec<String>) {
    for now in from..from + 20_000 {
        let outputs = world.tick(now).outputs();
        if !outputs.is_empty() {
            return (now, outputs);
        }
    }
    panic!("nothing came");
}

#[test]
fn the_back_off_doubles_with_each_attempt_up_to_its_cap_and_ends_in_a_dead_letter() {
    let mut world = World::with(Config { attempts_max: 6, ..small() });
    world.assign("p0@100").run("p0:100");
    let mut now = 0;
    for (attempt, delay) in [(0, 100), (1, 200), (2, 400), (3, 800), (4, 1_000)] {
        let ticket = world.ticket("p0:100");
        assert_eq!(ticket.attempt(), attempt);
        assert_eq!(world.fail(ticket), Answered::Done);
        assert!(world.next_timeout().is_some_and(|at| at <= now + delay));
        assert_eq!(next_output_at(&mut world, now), (now + delay, vec!["retry p0:100".into()]));
        now += delay;
    }
    assert_eq!(world.ticket("p0:100").attempt(), 5);
    assert_eq!(world.fail(world.ticket("p0:100")), Answered::Done);
    assert_eq!(world.outputs(), ["dead letter p0:100: attempts spent, copies 0"]);
    assert_eq!(world.ticket("p0:100").attempt(), 6);
    assert_eq!(world.guard.counters().retried, 5);
    assert_eq!(world.guard.counters().failed, 6);
}

#[test]
fn a_retry_is_due_at_its_tick_and_not_before() {
    let mut world = World::new();
    world.assign("p0@100");
    let ticket = world.run("p0:100");
    world.at(1_000).fail(ticket);
    assert_eq!(world.tick(1_099).outputs(), Vec::<String>::new());
    assert_eq!(world.tick(1_100).outputs(), ["retry p0:100"]);
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn jitter_only_shortens_a_delay_by_its_share_and_is_the_same_for_the_same_seed() {
    let retried_at = |jitter_seed| {
        let mut world = World::with(Config { jitter: 20, jitter_seed, ..small() });
        world.assign("p0@0");
        for at in 0..32 {
            let ticket = world.run(&format!("p0:{at}"));
            world.fail(ticket);
        }
        assert_eq!(world.outputs(), ["pause p0"]);
        let per_tick = |world: &mut World, now| world.tick(now).outputs().len();
        (1..=100).map(|now| per_tick(&mut world, now)).collect::<Vec<_>>()
    };
    let retried = retried_at(1);
    assert_eq!(retried[..79].iter().sum::<usize>(), 0);
    assert_eq!(retried.iter().sum::<usize>(), 32);
    assert!(retried[79..].iter().filter(|&&count| count > 0).count() > 5);
    assert_eq!(retried, retried_at(1));
    assert_ne!(retried, retried_at(2));
}

#[test]
fn with_one_attempt_the_first_failure_is_the_last() {
    let mut world = World::with(Config { attempts_max: 1, ..small() });
    world.assign("p0@100");
    let ticket = world.run("p0:100");
    world.fail(ticket);
    assert_eq!(world.outputs(), ["dead letter p0:100: attempts spent, copies 0"]);
}

#[test]
fn a_permanent_failure_skips_the_retries() {
    let mut world = World::new();
    world.assign("p0@100");
    let ticket = world.run("p0:100");
    world.fail_permanently(ticket);
    assert_eq!(world.outputs(), ["dead letter p0:100: permanent, copies 0"]);
    assert_eq!(world.ticket("p0:100").attempt(), 1);
}

#[test]
fn only_the_acknowledged_dead_letter_finishes_the_offset() {
    let mut world = World::new();
    world.assign("p0@100");
    let ticket = world.run("p0:100");
    world.fail_permanently(ticket);
    assert_eq!(world.mark("p0"), 100);
    world.drain();
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.dead_lettered(world.ticket("p0:100")), Answered::Done);
    assert_eq!(world.mark("p0"), 101);
    assert_eq!(world.commits(), ["p0=101"]);
    assert_eq!(world.guard.counters().dead_letters_asked, 1);
    assert_eq!(world.guard.counters().dead_lettered, 1);
    assert_eq!(world.guard.in_flight(), 0);
}

#[test]
fn a_refused_dead_letter_is_asked_for_again_after_a_back_off_of_its_own() {
    let mut world = World::new();
    world.assign("p0@100");
    let ticket = world.run("p0:100");
    world.fail_permanently(ticket);
    world.drain();
    let mut now = 0;
    for delay in [100, 200, 400, 800, 1_000, 1_000] {
        world.fail(world.ticket("p0:100"));
        let again = vec!["dead letter p0:100: permanent, copies 0".to_owned()];
        assert_eq!(next_output_at(&mut world, now), (now + delay, again));
        now += delay;
    }
    assert_eq!(world.guard.counters().dead_letters_failed, 6);
    assert_eq!(world.guard.counters().failed, 1);
    assert_eq!(world.guard.counters().retried, 0);
}

#[test]
fn a_record_tried_to_the_cap_before_is_parked_at_once() {
    let mut world = World::new();
    world.assign("p0@100");
    assert_eq!(world.admit_tried("p0:100", 2), "run");
    assert_eq!(world.ticket("p0:100").attempt(), 2);
    assert_eq!(world.admit_tried("p0:101", 3), "park: attempts spent");
    assert_eq!(world.admit_tried("p0:102", u16::MAX), "park: attempts spent");
    world.fail(world.ticket("p0:100"));
    assert_eq!(world.outputs(), ["dead letter p0:100: attempts spent, copies 0"]);
    assert_eq!(world.guard.counters().parked, 2);
}

#[test]
fn a_seeded_attempt_waits_as_long_as_one_that_was_counted_here() {
    let mut world = World::new();
    world.assign("p0@100");
    assert_eq!(world.admit_tried("p0:100", 1), "run");
    world.fail(world.ticket("p0:100"));
    assert_eq!(next_output_at(&mut world, 0), (200, vec!["retry p0:100".to_owned()]));
}

#[test]
fn a_parked_record_is_finished_by_its_dead_letter_alone() {
    let mut world = World::with(Config { key_policy: KeyPolicy::Required, ..small() });
    world.assign("p0@100");
    assert_eq!(world.admit("p0:100"), "park: no usable key");
    let parked = world.ticket("p0:100");
    assert_eq!(world.complete(parked), Answered::Stale);
    assert_eq!(world.guard.in_flight(), 1);
    assert_eq!(world.fail(parked), Answered::Done);
    assert_eq!(world.tick(99).outputs(), Vec::<String>::new());
    assert_eq!(world.tick(100).outputs(), ["dead letter p0:100: no usable key, copies 0"]);
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.dead_lettered(world.ticket("p0:100")), Answered::Done);
    assert_eq!(world.commits(), ["p0=101"]);
}

#[test]
fn a_parked_record_with_a_key_reserves_it() {
    let mut world = World::new();
    world.assign("p0@100");
    assert_eq!(world.admit_tried("p0:100=a", 3), "park: attempts spent");
    assert_eq!(world.admit("p0:101=a"), "skip: in flight");
    assert_eq!(world.dead_lettered(world.ticket("p0:100")), Answered::Done);
    assert_eq!(world.mark("p0"), 102);
    assert_eq!(world.admit("p0:102=a"), "run");
}

#[test]
fn a_record_with_no_usable_key_says_so_even_when_it_was_tried_to_the_cap() {
    let mut world = World::with(Config { key_policy: KeyPolicy::Required, ..small() });
    world.assign("p0@100");
    let record = Record::new(partition("p0"), offset(100), None);
    let verdict = world.guard.admit(tick(0), Record { attempts: 9, ..record });
    assert!(matches!(verdict, Verdict::Park(_, Reason::NoUsableKey | Reason::AttemptsSpent)));
    assert_eq!(world.guard.in_flight(), 1);
}

#[test]
fn the_promise_is_not_committed_before_completed_and_no_more() {
    // B85 (PostHog/posthog#88013): what the worker did inside its effect is the sink's business.
    let mut world = World::new();
    world.assign("p0@100");
    let first = world.run("p0:100=a");
    world.fail(first);
    assert_eq!(world.commits(), Vec::<String>::new());
    assert_eq!(world.tick(100).outputs(), ["retry p0:100"]);
    assert_eq!(world.complete(world.ticket("p0:100")), Answered::Done);
    assert_eq!(world.commits(), ["p0=101"]);
}

#[test]
fn retries_of_a_partition_come_in_the_order_of_admission() {
    let mut world = World::new();
    world.assign("p1@0 p0@0");
    let tickets = ["p0:0", "p1:0", "p0:1", "p1:1"].map(|record| world.run(record));
    for ticket in tickets.into_iter().rev() {
        world.fail(ticket);
    }
    assert_eq!(world.tick(100).outputs(), ["retry p1:0", "retry p1:1", "retry p0:0", "retry p0:1"]);
}
