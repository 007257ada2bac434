//! What finished above the mark is told with the commit.

use rebalance_guard::{CommitAnswer, Config, Reply};

use crate::metadata::telling;
use crate::strings::{in_epoch, string};
use crate::support::{World, small, tick};
use crate::words::partition;

/// p0 from 100 on, 100 running, 101 and 102 finished.
fn out_of_order(config: Config) -> World {
    let mut world = World::with(config);
    world.assign("p0@100").run("p0:100");
    world.finish("p0:101 p0:102");
    world
}

fn commit(offset: u64, finished: &[u64]) -> String {
    match string(offset, finished) {
        _ if finished.is_empty() => format!("commit p0={offset}"),
        text => format!("commit p0={offset} +{text}"),
    }
}

#[test]
fn a_commit_names_what_is_finished_above_it() {
    let mut world = out_of_order(telling());
    assert_eq!(world.outputs(), [commit(100, &[101, 102])]);
    world.stored("p0:100");
    world.run("p0:103");
    world.finish("p0:105");
    assert_eq!(world.outputs(), [commit(100, &[101, 102, 105])]);
    world.stored("p0:100");
    world.complete(world.ticket("p0:100"));
    assert_eq!(world.outputs(), [commit(103, &[105])]);
    world.stored("p0:103");
    world.complete(world.ticket("p0:103"));
    assert_eq!(world.outputs(), [commit(106, &[])]);
}

#[test]
fn the_next_owner_skips_what_the_last_commit_named() {
    let mut world = out_of_order(telling());
    world.commit_all().revoke("p0", 0);
    assert_eq!(world.outputs(), ["sealed p0 #1: deadline, mark 100, left 1"]);
    let mut next = World::with(telling());
    next.assign(&format!("p0@100+{}", string(100, &[101, 102])));
    assert_eq!(next.admit("p0:100"), "run");
    assert_eq!(next.admit("p0:101"), "skip: carried");
    assert_eq!(next.admit("p0:102"), "skip: carried");
    assert_eq!(next.admit("p0:103"), "run");
}

#[test]
fn a_set_that_did_not_change_is_not_offered_again() {
    let mut world = out_of_order(telling());
    world.commit_all();
    assert_eq!(world.tick(60_000).outputs(), Vec::<String>::new());
    world.run("p0:103");
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn a_changed_set_waits_for_the_interval_like_a_mark() {
    let mut world = out_of_order(Config { commit_interval: 1_000, commit_count: 100, ..telling() });
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert!(world.next_timeout().is_some_and(|at| at <= 1_000));
    assert_eq!(world.tick(999).outputs(), Vec::<String>::new());
    assert_eq!(world.tick(1_000).outputs(), [commit(100, &[101, 102])]);
}

#[test]
fn a_changed_set_is_hastened_by_the_count() {
    let mut world = out_of_order(Config { commit_interval: 1_000, commit_count: 3, ..telling() });
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.finish("p0:103");
    assert_eq!(world.outputs(), [commit(100, &[101, 102, 103])]);
}

#[test]
fn a_changed_set_is_committed_at_the_end_of_a_drain() {
    let mut world = out_of_order(Config { commit_interval: 1_000, commit_count: 100, ..telling() });
    world.revoke("p0", 500);
    world.tick(500);
    let sealed = "sealed p0 #1: deadline, mark 100, left 1".to_owned();
    assert_eq!(world.outputs(), [sealed, commit(100, &[101, 102])]);
    assert_eq!(world.phase("p0"), "Committing");
    world.stored("p0:100");
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn the_open_offer_of_another_set_is_not_the_last_one() {
    let mut world = out_of_order(telling());
    assert_eq!(world.outputs(), [commit(100, &[101, 102])]);
    world.run("p0:103");
    world.finish("p0:104");
    world.revoke("p0", 0);
    let sealed = "sealed p0 #1: deadline, mark 100, left 2".to_owned();
    assert_eq!(world.outputs(), [sealed, commit(100, &[101, 102, 104])]);
}

#[test]
fn the_open_offer_of_the_same_set_is_the_last_one() {
    let mut world = out_of_order(telling());
    assert_eq!(world.outputs(), [commit(100, &[101, 102])]);
    world.revoke("p0", 0);
    assert_eq!(world.outputs(), ["sealed p0 #1: deadline, mark 100, left 1"]);
    world.stored("p0:100");
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn carried_records_not_met_yet_are_handed_on() {
    let mut world = World::with(telling());
    world.assign(&format!("p0@100+{}", string(100, &[103, 104, 110])));
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.finish("p0:100");
    assert_eq!(world.outputs(), [commit(101, &[103, 104, 110])]);
    world.stored("p0:101").run("p0:101");
    assert_eq!(world.admit("p0:103"), "skip: carried");
    assert_eq!(world.outputs(), Vec::<String>::new(), "the same set, partly met");
    world.finish("p0:105");
    assert_eq!(world.outputs(), [commit(101, &[103, 105, 110])], "104 did not come");
}

#[test]
fn carried_records_below_the_mark_are_dropped() {
    // B79 (confluentinc/parallel-consumer#52)
    let mut world = World::with(telling());
    world.assign(&format!("p0@100+{}", string(100, &[101, 103, 110])));
    world.finish("p0:102");
    assert_eq!(world.outputs()[1], commit(103, &[103, 110]));
}

#[test]
fn an_untouched_set_is_not_committed_again_at_a_hand_over() {
    let mut world = World::with(telling());
    world.assign(&format!("p0@100+{}", string(100, &[103]))).revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 100, left 0"]);
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn a_string_that_would_be_too_long_is_left_out_whole() {
    let mut world = World::with(Config { metadata_max: 14, ..telling() });
    world.assign("p0@100").run("p0:100");
    world.finish("p0:101");
    assert_eq!(world.outputs(), [commit(100, &[101])], "14 bytes fit");
    world.stored("p0:100").run("p0:102");
    world.finish("p0:103");
    assert_eq!(world.outputs(), [commit(100, &[])], "16 bytes do not");
    assert_eq!(world.guard.counters().metadata_dropped, 1);
    world.stored("p0:100");
    world.complete(world.ticket("p0:102"));
    assert_eq!(world.outputs(), [commit(100, &[101, 102, 103])], "one run fits again");
}

#[test]
fn a_rejected_commit_is_offered_without_metadata_and_the_rest_too() {
    let mut world = out_of_order(telling());
    assert_eq!(world.outputs(), [commit(100, &[101, 102])]);
    world.complete(world.ticket("p0:100"));
    world.run("p0:103");
    world.finish("p0:104");
    assert_eq!(world.commit_answer("p0:100", 1, CommitAnswer::Rejected), Reply::Done);
    assert_eq!(world.outputs(), [commit(103, &[])]);
    world.stored("p0:103");
    world.finish("p0:105");
    assert_eq!(world.tick(60_000).outputs(), Vec::<String>::new());
}

#[test]
fn a_rejected_set_is_taken_back_by_a_commit_without_one() {
    let mut world = out_of_order(telling());
    world.commit_all().run("p0:103");
    world.finish("p0:104");
    assert_eq!(world.outputs(), [commit(100, &[101, 102, 104])]);
    assert_eq!(world.commit_answer("p0:100", 1, CommitAnswer::Rejected), Reply::Done);
    assert_eq!(world.outputs(), [commit(100, &[])]);
}

#[test]
fn a_rejected_last_commit_with_nothing_left_to_say_ends_the_wait() {
    let mut world = out_of_order(telling());
    world.revoke("p0", 0);
    assert_eq!(world.outputs()[1], commit(100, &[101, 102]));
    assert_eq!(world.commit_answer("p0:100", 1, CommitAnswer::Rejected), Reply::Done);
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.guard.counters().commits_given_up, 1);
}

#[test]
fn an_unanswered_set_is_offered_again() {
    let mut world = out_of_order(telling());
    assert_eq!(world.outputs(), [commit(100, &[101, 102])]);
    assert_eq!(world.tick(5_000).outputs(), Vec::<String>::new());
    assert_eq!(world.tick(5_200).outputs(), [commit(100, &[101, 102])]);
}

#[test]
fn the_highest_leader_epoch_seen_is_named() {
    let mut world = World::with(telling());
    let text = in_epoch(100, Some(7), &[103]);
    world.assign(&format!("p0@100+{text}")).finish("p0:100");
    assert_eq!(world.outputs(), [format!("commit p0=101 +{}", in_epoch(101, Some(7), &[103]))]);
}

#[test]
fn without_a_committed_start_the_set_is_told_as_well() {
    let mut world = World::with(telling());
    world.assign("p0@at:100").run("p0:100");
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.finish("p0:101");
    assert_eq!(world.outputs(), [commit(100, &[101])]);
}

#[test]
fn the_string_is_read_as_the_state_is_and_never_cut() {
    let mut world = out_of_order(telling());
    let text = string(100, &[101, 102]);
    let mut room = [0; 64];
    assert_eq!(world.guard.commit_metadata(partition("p0"), &mut room), text.len());
    assert_eq!(&room[..text.len()], text.as_bytes());
    let short = text.len() - 1;
    assert_eq!(world.guard.commit_metadata(partition("p0"), &mut room[..short]), 0);
    assert_eq!(world.guard.commit_metadata(partition("p1"), &mut room), 0);
    world.guard.handle_timeout(tick(1));
    let mut silent = out_of_order(small());
    assert_eq!(silent.guard.commit_metadata(partition("p0"), &mut room), 0);
    silent.drain();
}
