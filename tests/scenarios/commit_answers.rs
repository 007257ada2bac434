//! Every answer to a commit: in time, late, out of order, and never.

use rebalance_guard::{CommitAnswer, Config, InputError, Reply};

use crate::support::{World, small};

/// p0 at 100 with 100 finished and its commit of 101 offered at tick 10.
fn offered() -> World {
    let mut world = World::new();
    world.assign("p0@100 p1@0").at(10).finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
    world
}

/// p0 Committing with an offer of 101 made at tick 10; its time ends at 5010.
fn committing() -> World {
    let mut world = World::new();
    world.assign("p0@100 p1@0").at(10).finish("p0:100").revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 0", "commit p0=101"]);
    assert_eq!(world.phase("p0"), "Committing");
    world
}

fn confirmed(world: &World) -> Option<u64> {
    world.progress("p0").confirmed.map(|offset| offset.value())
}

#[test]
fn only_the_report_of_the_host_confirms_a_commit() {
    let mut world = offered();
    assert_ne!(confirmed(&world), Some(101));
    world.stored("p0:101");
    assert_eq!(confirmed(&world), Some(101));
    assert_eq!(world.guard.counters().commits_stored, 1);
    assert_eq!(world.tick(60_000).commits(), Vec::<String>::new());
}

#[test]
fn an_unanswered_commit_counts_as_retry_at_its_timeout_and_is_offered_after_the_back_off() {
    let mut world = offered();
    assert_eq!(world.tick(5_009).commits(), Vec::<String>::new());
    assert_eq!(world.guard.counters().commits_retried, 0);
    assert_eq!(world.tick(5_010).commits(), Vec::<String>::new());
    assert_eq!(world.guard.counters().commits_retried, 1);
    assert_eq!(world.tick(5_209).commits(), Vec::<String>::new());
    assert_eq!(world.tick(5_210).commits(), ["p0=101"]);
}

#[test]
fn a_commit_to_be_retried_waits_for_its_back_off_and_then_names_the_newest_mark() {
    let mut world = offered();
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Retry), Reply::Done);
    world.at(50).finish("p0:101");
    assert_eq!(world.tick(209).commits(), Vec::<String>::new());
    assert_eq!(world.tick(210).commits(), ["p0=102"]);
}

#[test]
fn a_stored_that_comes_after_the_timeout_still_counts() {
    let mut world = offered();
    world.tick(5_010);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Stored), Reply::Done);
    assert_eq!(confirmed(&world), Some(101));
    assert_eq!(world.tick(60_000).commits(), Vec::<String>::new());
}

#[test]
fn a_rejected_commit_is_offered_once_more_at_once_and_then_once_per_timeout() {
    let mut world = offered();
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Rejected), Reply::Done);
    assert_eq!(world.commits(), ["p0=101"]);
    assert_eq!(world.at(100).commit_answer("p0:101", 1, CommitAnswer::Rejected), Reply::Done);
    assert_eq!(world.tick(5_099).commits(), Vec::<String>::new());
    assert_eq!(world.tick(5_100).commits(), ["p0=101"]);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Rejected), Reply::Done);
    assert_eq!(world.tick(10_099).commits(), Vec::<String>::new());
    assert_eq!(world.tick(10_100).commits(), ["p0=101"]);
    assert_eq!(world.guard.counters().commits_rejected, 3);
    assert_eq!(world.phase("p0"), "Active");
}

#[test]
fn not_mine_loses_that_partition_alone() {
    let mut world = offered();
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::NotMine), Reply::Done);
    assert_eq!(world.outputs(), ["sealed p0 #1: lost, mark 101, left 0"]);
    assert_eq!(world.admit("p0:101"), "refuse: not owned");
    assert_eq!(world.admit("p1:0"), "run");
}

#[test]
fn fatal_loses_everything_asks_for_no_rejoin_and_refuses_every_later_assign() {
    let mut world = offered();
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Fatal), Reply::Done);
    assert_eq!(
        world.outputs(),
        ["sealed p0 #1: lost, mark 101, left 0", "sealed p1 #2: lost, mark 0, left 0"]
    );
    assert_eq!(world.try_assign("p0@100"), Err(InputError::Dead));
    assert_eq!(world.admit("p1:0"), "refuse: dead");
    assert_eq!(world.tick(1_000_000).outputs(), Vec::<String>::new());
}

#[test]
fn an_answer_that_names_another_assignment_is_stale() {
    let mut world = offered();
    for answer in [
        CommitAnswer::Stored,
        CommitAnswer::Retry,
        CommitAnswer::Rejected,
        CommitAnswer::NotMine,
        CommitAnswer::Fatal,
    ] {
        assert_eq!(world.commit_answer("p0:101", 9, answer), Reply::Stale, "{answer:?}");
    }
    assert_eq!(world.phase("p0"), "Active");
    assert_eq!(world.guard.counters().stale_inputs, 5);
    world.stored("p0:101");
}

#[test]
fn an_answer_to_a_value_that_was_never_offered_is_stale() {
    let mut world = offered();
    assert_eq!(world.commit_answer("p0:102", 1, CommitAnswer::Stored), Reply::Stale);
    assert_eq!(world.commit_answer("p0:100", 1, CommitAnswer::Retry), Reply::Stale);
    assert_eq!(world.commit_answer("p0:100", 1, CommitAnswer::Rejected), Reply::Stale);
    world.stored("p0:101");
    assert_eq!(world.commits(), Vec::<String>::new());
}

#[test]
fn a_retry_for_an_older_value_does_not_disturb_the_open_offer() {
    let mut world = offered();
    world.finish("p0:101").tick(5_210);
    assert_eq!(world.commits(), ["p0=102"]);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Retry), Reply::Stale);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Rejected), Reply::Stale);
    world.stored("p0:102");
    assert_eq!(world.tick(60_000).commits(), Vec::<String>::new());
}

#[test]
fn a_lower_value_that_is_stored_late_leaves_the_higher_offer_open() {
    let mut world = offered();
    world.finish("p0:101").tick(5_210);
    assert_eq!(world.commits(), ["p0=102"]);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Stored), Reply::Done);
    assert_eq!(confirmed(&world), Some(101));
    world.finish("p0:102");
    assert_eq!(world.commits(), Vec::<String>::new());
    world.stored("p0:102");
    assert_eq!(world.commits(), ["p0=103"]);
}

#[test]
fn a_second_answer_to_the_same_commit_changes_nothing() {
    let mut world = offered();
    world.stored("p0:101");
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Retry), Reply::Stale);
    assert_eq!(world.tick(60_000).commits(), Vec::<String>::new());
    assert_eq!(confirmed(&world), Some(101));
}

#[test]
fn the_last_commit_ends_the_hand_over_when_it_is_stored() {
    let mut world = committing();
    world.stored("p0:101");
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn the_hand_over_ends_at_the_commit_time_without_an_answer() {
    let mut world = committing();
    assert_eq!(world.progress("p0").deadline.map(|at| at.value()), Some(5_010));
    assert_eq!(world.tick(5_009).phase("p0"), "Committing");
    assert_eq!(world.tick(5_010).phase("p0"), "Unowned");
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.guard.counters().commits_given_up, 1);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Stored), Reply::Stale);
}

#[test]
fn a_last_commit_to_be_retried_is_offered_again_while_its_time_lasts() {
    let mut world = committing();
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Retry), Reply::Done);
    assert_eq!(world.tick(209).commits(), Vec::<String>::new());
    assert_eq!(world.tick(210).commits(), ["p0=101"]);
    assert_eq!(world.at(4_900).commit_answer("p0:101", 1, CommitAnswer::Retry), Reply::Done);
    assert_eq!(world.tick(5_010).outputs(), Vec::<String>::new());
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn the_second_rejection_ends_the_hand_over() {
    let mut world = committing();
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Rejected), Reply::Done);
    assert_eq!(world.commits(), ["p0=101"]);
    assert_eq!(world.phase("p0"), "Committing");
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Rejected), Reply::Done);
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.guard.counters().commits_given_up, 1);
}

#[test]
fn a_rejection_while_active_counts_toward_the_two_of_the_hand_over() {
    let mut world = offered();
    world.commit_answer("p0:101", 1, CommitAnswer::Rejected);
    world.revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 0", "commit p0=101"]);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Rejected), Reply::Done);
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn not_mine_ends_the_hand_over_at_once() {
    let mut world = committing();
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::NotMine), Reply::Done);
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.tick(10_000).commits(), Vec::<String>::new());
}

#[test]
fn the_hand_over_does_not_wait_for_an_older_offer_and_only_its_own_answer_ends_it() {
    let mut world = offered();
    world.finish("p0:101").revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 102, left 0", "commit p0=102"]);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Stored), Reply::Done);
    assert_eq!(world.phase("p0"), "Committing");
    assert_eq!(world.commit_answer("p0:102", 1, CommitAnswer::Stored), Reply::Done);
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn an_open_offer_of_the_same_value_is_not_repeated_by_the_hand_over() {
    let mut world = offered();
    world.revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 0"]);
    assert_eq!(world.phase("p0"), "Committing");
    world.stored("p0:101");
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn a_commit_in_back_off_is_offered_at_once_when_the_hand_over_comes() {
    let mut world = offered();
    world.commit_answer("p0:101", 1, CommitAnswer::Retry);
    world.at(20).revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 0", "commit p0=101"]);
}

#[test]
fn a_stored_that_overtakes_its_retry_makes_the_retry_void() {
    let slow = Config { commit_interval: 10_000, commit_count: 99, ..small() };
    let mut world = World::with(slow);
    world.assign("p0@100").finish("p0:100");
    assert_eq!(world.tick(10_000).commits(), ["p0=101"]);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Retry), Reply::Done);
    assert_eq!(world.at(10_100).commit_answer("p0:101", 1, CommitAnswer::Stored), Reply::Done);
    world.finish("p0:101");
    assert_eq!(world.tick(19_999).commits(), Vec::<String>::new());
    assert_eq!(world.tick(20_000).commits(), ["p0=102"]);
}
