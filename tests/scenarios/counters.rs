//! Every verdict, every end and every stale call is counted, each in its own place.

use rebalance_guard::{CommitAnswer, Config, Counters, KeyPolicy, Tick};

use crate::support::{World, small};

/// The counters that are not 0, by name.
fn counted(world: &World) -> Vec<String> {
    let text = format!("{:?}", world.guard.counters());
    let fields = text.trim_start_matches("Counters { ").trim_end_matches(" }").split(", ");
    fields.filter(|field| !field.ends_with(": 0")).map(str::to_owned).collect()
}

#[test]
fn a_new_guard_counted_nothing() {
    assert_eq!(World::new().guard.counters(), &Counters::default());
}

#[test]
fn verdicts_are_counted() {
    let config = Config { window: 2, budget: 3, key_policy: KeyPolicy::Required, ..small() };
    let mut world = World::with(config);
    world.assign("p0@0 p1@? p2@0");
    let first = world.run("p0:0=a");
    world.admit("p0:0=a");
    world.complete(first);
    world.admit("p0:1=a");
    world.admit("p0:2");
    world.admit("p1:0=x");
    world.admit("p1:1=y");
    let slow = world.run("p0:3=b");
    world.admit("p2:0=c");
    world.complete(slow);
    world.finish("p0:4=d");
    world.admit("p0:5=e");
    world.admit("p0:0");
    world.admit("p0:9223372036854775807=z");
    world.admit("p3:0=z");
    assert_eq!(
        counted(&world),
        [
            "run: 3",
            "parked: 1",
            "skipped_finished: 1",
            "skipped_in_flight: 1",
            "held_owed: 1",
            "held_resume_unknown: 1",
            "held_window: 1",
            "held_budget: 1",
            "refused_fenced: 1",
            "refused_regression: 1",
            "refused_offset_limit: 1",
            "completed: 3",
            "assignments: 3",
            "rebalances: 1",
        ]
    );
}

#[test]
fn answers_to_tickets_are_counted() {
    let mut world = World::new();
    world.assign("p0@0");
    let tickets = [0, 1, 2].map(|at| world.run(&format!("p0:{at}")));
    world.fail(tickets[0]);
    world.tick(100).drain();
    world.complete(world.ticket("p0:0"));
    world.complete(tickets[0]);
    world.fail_permanently(tickets[1]);
    world.drain();
    world.fail(world.ticket("p0:1"));
    world.tick(200).drain();
    world.dead_lettered(world.ticket("p0:1"));
    world.abandon(tickets[2]);
    assert_eq!(
        counted(&world),
        [
            "run: 3",
            "completed: 1",
            "failed: 2",
            "retried: 1",
            "dead_letters_asked: 2",
            "dead_letters_failed: 1",
            "dead_lettered: 1",
            "abandoned: 1",
            "stale_answers: 1",
            "assignments: 1",
            "commits_offered: 1",
            "rebalances: 1",
        ]
    );
}

#[test]
fn commits_and_their_answers_are_counted() {
    let mut world = World::new();
    world.assign("p0@0 p1@0").finish("p0:0 p1:0").drain();
    world.commit_answer("p0:1", 1, CommitAnswer::Retry);
    world.tick(200).drain();
    world.commit_answer("p0:1", 1, CommitAnswer::Rejected);
    world.drain().stored("p0:1");
    world.commit_answer("p0:1", 9, CommitAnswer::Stored);
    world.commit_answer("p1:1", 2, CommitAnswer::NotMine);
    world.finish("p0:1").revoke("p0", 200).drain().tick(5_200);
    assert_eq!(
        counted(&world),
        [
            "run: 3",
            "completed: 3",
            "stale_inputs: 1",
            "assignments: 2",
            "drained: 1",
            "lost: 1",
            "commits_offered: 5",
            "commits_stored: 1",
            "commits_retried: 1",
            "commits_rejected: 1",
            "commits_not_mine: 1",
            "commits_given_up: 1",
            "rebalances: 1",
        ]
    );
}

#[test]
fn ends_of_assignments_are_counted() {
    let mut world = World::new();
    world.assign("p0@0").revoke("p0", 0);
    world.assign("p0@0").run("p0:0");
    world.revoke("p0", 0).assign("p0@0").run("p0:0");
    world.revoke("p0", 9).assign("p0@0").assign("p0@0").run("p0:0");
    assert!(world.rewind("p0:0").is_ok());
    assert!(world.rewind("p0:1").is_err());
    world.run("p0:0");
    world.tick(1_000).guard.handle_timeout(Tick::ZERO);
    world.tick(100_000);
    assert_eq!(
        counted(&world),
        [
            "run: 4",
            "inputs_refused: 1",
            "given_up: 4",
            "lost_in_hand: 1",
            "assignments: 6",
            "drained: 1",
            "drain_deadlines: 1",
            "lost: 2",
            "replaced: 1",
            "rewound: 1",
            "leases_expired: 1",
            "rebalances: 1",
            "late_ticks: 1",
            "reports_dropped: 5",
        ]
    );
}

#[test]
fn counters_tell_partitions_apart() {
    let mut world = World::with(Config { window: 1, ..small() });
    world.assign("p0@100 p1@0").run("p0:100=a");
    world.admit("p1:0");
    world.admit("p0:100=a");
    world.admit("p0:99");
    world.complete(world.ticket("p0:100"));
    world.complete(world.ticket("p0:100"));
    let of = |world: &World, name| {
        let partition = crate::support::partition(name);
        let c = world.guard.partition_counters(partition).expect("remembered");
        [c.admitted, c.skipped, c.held, c.refused, c.finished, c.stale, c.assignments]
    };
    assert_eq!(of(&world, "p0"), [1, 1, 0, 1, 1, 1, 1]);
    assert_eq!(of(&world, "p1"), [0, 0, 1, 0, 0, 0, 1]);
    world.revoke("p0", 0);
    assert_eq!(of(&world, "p0"), [1, 1, 0, 1, 1, 1, 1]);
}
