//! Outputs come in one order, and end.

use rebalance_guard::Config;

use crate::support::{World, small};

#[test]
fn reports_come_before_commits_before_pauses_before_retries_and_dead_letters() {
    let mut world = World::with(Config { window: 4, ..small() });
    world.assign("p3@0 p1@0 p0@0 p2@0").run("p0:0");
    world.fail(world.ticket("p0:0"));
    world.tick(100).finish("p3:0").run("p3:1");
    world.fail_permanently(world.ticket("p3:1"));
    world.run("p1:5");
    world.lost("p2").run("p1:6");
    assert_eq!(
        world.outputs(),
        [
            "gap p1 0..5",
            "sealed p2 #4: lost, mark 0, left 0",
            "commit p3=1",
            "commit p1=5",
            "pause p3",
            "pause p1",
            "pause p0",
            "dead letter p3:1: permanent, copies 0",
            "retry p0:0",
        ]
    );
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn partitions_come_by_time_of_assign_and_not_by_number() {
    let mut world = World::new();
    world.assign("p3@0").assign("p0@0").assign("p2@0 p1@0").finish("p0:0 p1:0 p2:0 p3:0");
    assert_eq!(world.commits(), ["p3=1", "p0=1", "p2=1", "p1=1"]);
    for name in ["p0", "p1", "p2", "p3"] {
        world.stored(&format!("{name}:1"));
    }
    world.revoke("p3", 0).assign("p3@1").drain().finish("p0:1 p1:1 p2:1 p3:1");
    assert_eq!(world.commits(), ["p0=2", "p2=2", "p1=2", "p3=2"]);
}

#[test]
fn a_report_overtaken_by_the_next_of_its_kind_and_partition_is_counted_and_dropped() {
    let mut world = World::new();
    world.assign("p0@0 p1@0").lost("p0").lost("p1");
    world.assign("p0@0").lost("p0").assign("p0@0").lost("p0");
    assert_eq!(
        world.outputs(),
        ["sealed p1 #2: lost, mark 0, left 0", "sealed p0 #4: lost, mark 0, left 0"]
    );
    assert_eq!(world.guard.counters().reports_dropped, 2);
}

#[test]
fn a_guard_that_was_told_nothing_wants_nothing() {
    let mut world = World::new();
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.next_timeout(), None);
    assert_eq!(world.guard.owned().count(), 0);
}

#[test]
fn what_was_pulled_is_not_given_again() {
    let mut world = World::new();
    world.assign("p0@0 p1@3").finish("p0:0").run("p1:5");
    world.fail_permanently(world.ticket("p1:5"));
    assert_eq!(
        world.outputs(),
        ["gap p1 3..5", "commit p0=1", "commit p1=5", "dead letter p1:5: permanent, copies 0",]
    );
    assert_eq!(world.tick(4_999).outputs(), Vec::<String>::new());
}
