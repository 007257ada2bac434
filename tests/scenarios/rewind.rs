//! A host that really seeks back says so.

use rebalance_guard::{Answered, CommitAnswer, InputError, Reply};

use crate::support::{World, partition};

#[test]
fn a_rewind_is_a_new_assignment_of_the_same_generation_at_the_offset() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100 p0:101");
    let running = world.run("p0:102");
    world.drain();
    assert_eq!(world.rewind("p0:100"), Ok(Reply::Done));
    assert_eq!(world.outputs(), ["sealed p0 #1: rewound, mark 102, left 1"]);
    assert_eq!(world.assignment("p0"), 2);
    assert_eq!(world.progress("p0").token.group, 7);
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.complete(running), Answered::Stale);
    assert_eq!(world.admit("p0:100"), "run");
    assert_eq!(world.guard.counters().rewound, 1);
    assert_eq!(world.guard.counters().rebalances, 1);
}

#[test]
fn a_rewind_of_a_committed_start_offers_nothing_before_something_finished() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100 p0:101").commit_all();
    assert_eq!(world.rewind("p0:100"), Ok(Reply::Done));
    assert_eq!(world.commits(), Vec::<String>::new());
    world.finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
}

#[test]
fn a_rewind_while_the_group_holds_nothing_still_offers_its_start() {
    let mut world = World::new();
    world.assign("p0@none:50").finish("p0:50");
    assert_eq!(world.rewind("p0:50"), Ok(Reply::Done));
    assert_eq!(world.outputs(), ["sealed p0 #1: rewound, mark 51, left 0", "commit p0=50"]);
}

#[test]
fn a_rewind_after_an_empty_start_was_stored_offers_nothing_by_itself() {
    let mut world = World::new();
    world.assign("p0@none:50").finish("p0:50").commit_all();
    assert_eq!(world.rewind("p0:50"), Ok(Reply::Done));
    assert_eq!(world.outputs(), ["sealed p0 #1: rewound, mark 51, left 0"]);
}

#[test]
fn a_rewind_above_the_mark_would_step_over_unfinished_work_and_is_refused() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    let running = world.run("p0:101");
    let mark = crate::support::offset(101);
    assert_eq!(world.rewind("p0:102"), Err(InputError::AboveMark { mark }));
    assert_eq!(world.assignment("p0"), 1);
    assert_eq!(world.complete(running), Answered::Done);
    assert_eq!(world.rewind("p0:102"), Ok(Reply::Done));
    assert_eq!(world.mark("p0"), 102);
}

#[test]
fn only_an_active_partition_can_be_rewound() {
    let refused = Err(InputError::NotActive(partition("p0")));
    let mut world = World::new();
    assert_eq!(world.rewind("p0:0"), refused);
    world.assign("p0@100").finish("p0:100");
    let running = world.run("p0:101");
    world.revoke("p0", 20_000);
    assert_eq!(world.rewind("p0:100"), refused);
    assert_eq!(world.complete(running), Answered::Done);
    assert_eq!(world.phase("p0"), "Committing");
    assert_eq!(world.rewind("p0:100"), refused);
    assert_eq!(world.guard.counters().inputs_refused, 3);
}

#[test]
fn a_partition_whose_start_is_not_known_cannot_be_rewound() {
    let mut world = World::new();
    world.assign("p0@? p1@none");
    for name in ["p0", "p1"] {
        let refused = Err(InputError::ResumeUnknown(partition(name)));
        assert_eq!(world.rewind(&format!("{name}:0")), refused);
    }
}

#[test]
fn a_rewind_frees_the_keys_in_flight_and_keeps_the_finished_ones() {
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100=done");
    world.run("p0:101=running");
    assert_eq!(world.rewind("p0:100"), Ok(Reply::Done));
    assert_eq!(world.guard.in_flight(), 0);
    assert_eq!(world.admit("p1:0=running"), "run");
    assert_eq!(world.admit("p0:100=done"), "skip: finished");
    assert_eq!(world.mark("p0"), 101);
}

#[test]
fn a_debt_that_will_not_come_back_is_settled_by_a_rewind_to_the_mark() {
    let mut world = World::with(rebalance_guard::Config { window: 1, ..crate::support::small() });
    world.assign("p0@100");
    let running = world.run("p0:100");
    assert_eq!(world.admit("p0:101"), "hold: window");
    world.complete(running);
    assert_eq!(world.admit("p0:102"), "hold: owed 101");
    assert_eq!(world.rewind("p0:101"), Ok(Reply::Done));
    assert_eq!(world.progress("p0").owed, None);
    assert_eq!(world.admit("p0:102"), "run");
}

#[test]
fn a_debt_in_a_partition_that_began_with_nothing_is_settled_by_a_rewind_to_it() {
    let mut world = World::new();
    world.assign("p0@?");
    assert_eq!(world.admit("p0:100"), "hold: resume unknown");
    assert_eq!(world.position("p0@none", 1), Ok(Reply::Done));
    // 100 was compacted away in between.
    assert_eq!(world.admit("p0:101"), "hold: owed 100");
    let above = world.rewind("p0:101");
    assert_eq!(above, Err(InputError::AboveMark { mark: crate::support::offset(100) }));
    assert_eq!(world.rewind("p0:100"), Ok(Reply::Done));
    assert_eq!(world.progress("p0").owed, None);
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.admit("p0:101"), "run");
}

#[test]
fn a_rewind_needs_a_mark_or_in_a_partition_that_began_with_nothing_a_debt() {
    let mut world = World::new();
    world.assign("p0@? p1@none");
    assert_eq!(world.admit("p0:100"), "hold: resume unknown");
    for what in ["p0:100", "p1:100"] {
        let refused = Err(InputError::ResumeUnknown(partition(&what[..2])));
        assert_eq!(world.rewind(what), refused, "{what}");
    }
}

#[test]
fn a_commit_answer_from_before_the_rewind_is_stale() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
    assert_eq!(world.rewind("p0:100"), Ok(Reply::Done));
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Stored), Reply::Stale);
}

#[test]
fn a_rewind_is_no_step_back_of_the_group() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100 p0:101").commit_all();
    assert_eq!(world.rewind("p0:100"), Ok(Reply::Done));
    assert_eq!(world.outputs(), ["sealed p0 #1: rewound, mark 102, left 0"]);
}

#[test]
fn a_rewound_partition_comes_last_in_the_order_of_assign() {
    let mut world = World::new();
    world.assign("p0@0 p1@0").finish("p0:0 p1:0").commit_all();
    assert_eq!(world.rewind("p0:1"), Ok(Reply::Done));
    world.drain().finish("p0:1 p1:1");
    assert_eq!(world.commits(), ["p1=2", "p0=2"]);
}
