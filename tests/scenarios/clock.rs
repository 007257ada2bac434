//! Time that does not move forward changes nothing, and no sum wraps.

use rebalance_guard::{Answered, Config, Tick};

use crate::support::{World, small};

const LAST: u64 = 1 << 62;

#[test]
fn a_late_tick_is_clamped_and_counted() {
    // B110 (confluentinc/librdkafka#3537)
    let mut world = World::new();
    world.assign("p0@100").tick(1_000);
    let before = world.progress("p0");
    world.tick(500).tick(0);
    assert_eq!(world.guard.now().value(), 1_000);
    assert_eq!(world.guard.counters().late_ticks, 2);
    assert_eq!(world.progress("p0"), before);
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.tick(1_000);
    assert_eq!(world.guard.counters().late_ticks, 2);
}

#[test]
fn a_call_with_a_late_tick_happens_at_the_last_one() {
    let mut world = World::new();
    world.assign("p0@100").tick(1_000).at(10);
    let ticket = world.run("p0:100");
    assert_eq!(world.fail(ticket), Answered::Done);
    assert_eq!(world.tick(1_099).outputs(), Vec::<String>::new());
    assert_eq!(world.tick(1_100).outputs(), ["retry p0:100"]);
    world.at(20).revoke("p0", 1_050);
    assert_eq!(world.outputs(), ["sealed p0 #1: deadline, mark 100, left 1"]);
}

#[test]
fn a_late_poll_does_not_shorten_the_lease() {
    let mut world = World::new();
    world.assign("p0@0").poll(60_000).poll(10);
    assert_eq!(world.tick(159_999).phase("p0"), "Active");
    assert_eq!(world.tick(160_000).phase("p0"), "Unowned");
}

#[test]
fn no_tick_above_two_to_the_sixty_second_exists() {
    // B110 (confluentinc/librdkafka#3537)
    assert_eq!(Tick::new(LAST).map(Tick::value), Some(LAST));
    assert_eq!(Tick::new(LAST + 1), None);
    assert_eq!(Tick::new(u64::MAX), None);
    assert_eq!(Tick::new(5).expect("small").after(u64::MAX), Tick::MAX);
}

#[test]
fn spans_that_reach_beyond_the_end_of_time_end_at_it() {
    let endless = Config {
        lease: u64::MAX,
        backoff: u64::MAX,
        backoff_cap: u64::MAX,
        commit_interval: u64::MAX,
        commit_count: 9,
        ..small()
    };
    let mut world = World::with(endless);
    world.at(1_000).assign("p0@100 p1@0").finish("p1:0").run("p0:100");
    world.fail(world.ticket("p0:100"));
    world.tick(LAST - 1);
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.phase("p0"), "Active");
    assert_eq!(
        world.tick(LAST).outputs(),
        [
            "rejoin after 0",
            "sealed p0 #1: lost, mark 100, left 1",
            "sealed p1 #2: lost, mark 1, left 0",
        ]
    );
}

#[test]
fn a_drain_that_may_last_to_the_end_of_time_is_served_until_then() {
    let mut world = World::with(Config { lease: u64::MAX, ..small() });
    world.assign("p0@100");
    let running = world.run("p0:100");
    world.revoke("p0", LAST).tick(LAST - 1);
    assert_eq!(world.phase("p0"), "Draining");
    assert_eq!(world.complete(running), Answered::Done);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 0", "commit p0=101"]);
}

#[test]
fn at_the_last_tick_every_call_is_still_answered() {
    let mut world = World::new();
    world.tick(LAST).assign("p0@100").admit("p0:100");
    world.poll(LAST).revoke("p0", LAST).lost_all().tick(LAST).outputs();
    assert_eq!(world.guard.now(), Tick::MAX);
    assert_eq!(world.guard.counters().late_ticks, 0);
    assert!(!world.owns("p0"));
}

#[test]
fn the_next_timeout_is_never_later_than_what_falls_due() {
    let mut world = World::with(Config { commit_interval: 700, commit_count: 99, ..small() });
    assert_eq!(world.next_timeout(), None);
    world.assign("p0@0 p1@0").finish("p0:0").run("p1:0");
    world.fail(world.ticket("p1:0"));
    let mut seen = Vec::new();
    while world.guard.now().value() < 100_000 {
        let next = world.next_timeout().expect("something is owned");
        assert!(next > world.guard.now().value());
        world.tick(next);
        seen.extend(world.outputs().into_iter().map(|word| format!("{next}: {word}")));
        if seen.last().is_some_and(|word| word.ends_with("retry p1:0")) {
            world.revoke("p1", 40_000);
        }
    }
    assert_eq!(
        seen,
        [
            "100: retry p1:0",
            "700: commit p0=1",
            "5900: commit p0=1",
            "11100: commit p0=1",
            "16300: commit p0=1",
            "21500: commit p0=1",
            "26700: commit p0=1",
            "31900: commit p0=1",
            "37100: commit p0=1",
            "40000: sealed p1 #2: deadline, mark 0, left 1",
            "42300: commit p0=1",
            "47500: commit p0=1",
            "52700: commit p0=1",
            "57900: commit p0=1",
            "63100: commit p0=1",
            "66667: poll budget, until 100000",
            "68300: commit p0=1",
            "73500: commit p0=1",
            "78700: commit p0=1",
            "83900: commit p0=1",
            "89100: commit p0=1",
            "94300: commit p0=1",
            "99500: commit p0=1",
            "100000: rejoin after 0",
            "100000: sealed p0 #1: lost, mark 1, left 0",
        ]
    );
}

/// p0 draining until 5000 with a record in hands, 100 finished and committed.
fn draining() -> World {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100").commit_all();
    world.run("p0:101");
    world.revoke("p0", 5_000).at(5_000);
    world
}

#[test]
fn a_call_lets_its_time_pass_before_it_is_applied() {
    let sealed = "sealed p0 #1: deadline, mark 101, left 1";
    let mut world = draining();
    assert_eq!(world.admit("p0:102"), "refuse: not owned");
    assert_eq!(world.outputs(), [sealed]);

    let mut world = draining();
    world.assign("p0@101");
    assert_eq!(world.outputs(), [sealed]);
    assert_eq!(world.guard.counters().replaced, 0);

    let mut world = draining();
    world.lost("p0");
    assert_eq!(world.outputs(), [sealed]);
    assert_eq!(world.guard.counters().lost, 0);

    let mut world = draining();
    world.poll(5_000);
    assert_eq!(world.outputs(), [sealed]);
}

#[test]
fn an_assign_at_the_tick_of_the_lease_loses_the_old_and_keeps_the_new() {
    let mut world = World::new();
    world.assign("p0@100").run("p0:100");
    world.at(100_000).assign("p0@100");
    assert_eq!(world.outputs(), ["rejoin after 0", "sealed p0 #1: lost, mark 100, left 1"]);
    assert_eq!(world.tick(199_999).phase("p0"), "Active");
    assert_eq!(world.tick(200_000).phase("p0"), "Unowned");
}

#[test]
fn an_answer_at_the_tick_where_the_commit_time_ends_comes_too_late() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100").revoke("p0", 0).drain();
    world.at(5_000);
    let reply = world.commit_answer("p0:101", 1, rebalance_guard::CommitAnswer::Stored);
    assert_eq!(reply, rebalance_guard::Reply::Stale);
    assert_eq!(world.guard.counters().commits_given_up, 1);
}

#[test]
fn what_falls_due_in_one_jump_happens_in_the_order_of_its_ticks() {
    let mut world = World::new();
    world.assign("p0@0 p1@0 p2@0");
    for record in ["p0:0", "p1:0", "p2:0"] {
        world.run(record);
    }
    world.revoke("p2", 30_000).revoke("p0", 10_000).revoke("p1", 20_000).tick(40_000);
    assert_eq!(
        world.outputs(),
        [
            "sealed p0 #1: deadline, mark 0, left 1",
            "sealed p1 #2: deadline, mark 0, left 1",
            "sealed p2 #3: deadline, mark 0, left 1",
        ]
    );
}
