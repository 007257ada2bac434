//! What is offered depends on where the assign said that reading resumes.

use rebalance_guard::{Config, Offset, OffsetError, Reply};

use crate::support::{World, small};

/// Commits come due with the hand-over alone.
fn slow() -> World {
    World::with(Config { commit_interval: 90_000, commit_count: 1_000, ..small() })
}

#[test]
fn an_empty_start_is_committed_at_the_hand_over_even_with_nothing_finished() {
    // B62 (confluent-kafka-python#1329)
    let mut world = slow();
    world.assign("p0@none:50");
    assert_eq!(world.outputs(), Vec::<String>::new());
    world.revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 50, left 0", "commit p0=50"]);
    world.stored("p0:50");
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn an_empty_start_is_offered_while_active_when_the_interval_is_due() {
    let mut world = slow();
    world.assign("p0@none:50").run("p0:50");
    assert_eq!(world.tick(89_999).commits(), Vec::<String>::new());
    assert_eq!(world.tick(90_000).commits(), ["p0=50"]);
    world.stored("p0:50");
    assert_eq!(world.commits(), Vec::<String>::new());
}

#[test]
fn an_empty_start_without_an_offset_takes_the_first_record_offered() {
    let mut world = World::new();
    world.assign("p0@none");
    assert_eq!(world.progress("p0").mark, None);
    assert_eq!(world.outputs(), Vec::<String>::new());
    let first = world.run("p0:70");
    assert_eq!(world.outputs(), ["commit p0=70"]);
    world.stored("p0:70").complete(first);
    assert_eq!(world.outputs(), ["commit p0=71"]);
}

#[test]
fn the_first_record_offered_fixes_an_empty_start_even_when_it_is_held() {
    let mut world = World::with(Config { window: 1, ..small() });
    world.assign("p1@0 p0@none").run("p1:0");
    assert_eq!(world.admit("p0:70"), "hold: window");
    assert_eq!(world.mark("p0"), 70);
    world.revoke("p0", 1_000);
    assert_eq!(
        world.outputs(),
        ["sealed p0 #2: drained, mark 70, left 0", "commit p0=70", "pause p1"]
    );
}

#[test]
fn an_empty_start_without_an_offset_and_without_a_record_has_nothing_to_commit() {
    let mut world = World::new();
    world.assign("p0@none").revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark none, left 0"]);
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn a_start_of_the_hosts_own_choice_is_offered_only_when_something_finished() {
    let mut world = World::new();
    world.assign("p0@at:50").revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 50, left 0"]);
    world.assign("p0@at:50");
    let running = world.run("p0:60");
    assert_eq!(world.outputs(), ["gap p0 50..60"]);
    assert_eq!(world.mark("p0"), 60);
    world.complete(running);
    assert_eq!(world.outputs(), ["commit p0=61"]);
}

#[test]
fn a_committed_start_offers_nothing_before_the_mark_moves() {
    let mut world = World::new();
    world.assign("p0@100");
    world.run("p0:100");
    assert_eq!(world.tick(60_000).outputs(), Vec::<String>::new());
}

#[test]
fn admitting_over_a_gap_raises_the_mark_and_the_commit() {
    let mut world = World::new();
    world.assign("p0@100");
    world.run("p0:105");
    assert_eq!(world.outputs(), ["gap p0 100..105", "commit p0=105"]);
    assert_eq!(world.mark("p0"), 105);
}

#[test]
fn a_late_position_counts_like_the_start_it_tells() {
    let mut world = World::new();
    world.assign("p0@? p1@? p2@?");
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.position("p0@10", 1), Ok(Reply::Done));
    assert_eq!(world.position("p1@none:20", 2), Ok(Reply::Done));
    assert_eq!(world.position("p2@at:30", 3), Ok(Reply::Done));
    assert_eq!(world.outputs(), ["commit p1=20"]);
    world.finish("p0:10 p2:30").stored("p1:20");
    assert_eq!(world.outputs(), ["commit p0=11", "commit p2=31"]);
}

#[test]
fn offset_zero_is_an_offset() {
    // B71 (kafka4beam/brod#222)
    let mut world = World::new();
    world.assign("p0@0").finish("p0:0");
    assert_eq!(world.outputs(), ["commit p0=1"]);
    let mut world = World::new();
    world.assign("p0@0").revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 0, left 0"]);
    let mut world = slow();
    world.assign("p0@none:0").revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 0, left 0", "commit p0=0"]);
}

#[test]
fn logical_offsets_are_refused_before_they_reach_the_guard() {
    // B73 (confluentinc/librdkafka#1102)
    for logical in [-1_001, -2, -1, i64::MIN] {
        assert_eq!(Offset::try_from(logical), Err(OffsetError::Negative(logical)));
    }
    assert_eq!(Offset::try_from(0), Ok(Offset::ZERO));
    assert_eq!(Offset::new(1 << 63), Err(OffsetError::TooLarge(1 << 63)));
}

#[test]
fn the_largest_offsets_are_committed_without_wrapping() {
    // B74 (parallel-consumer#37)
    let mut world = World::new();
    world.assign("p0@9223372036854775805");
    world.finish("p0:9223372036854775805 p0:9223372036854775806");
    assert_eq!(world.admit("p0:9223372036854775807"), "refuse: offset limit");
    assert_eq!(world.outputs(), ["commit p0=9223372036854775807"]);
    world.stored("p0:9223372036854775807").revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 9223372036854775807, left 0"]);
    assert_eq!(world.guard.counters().refused_offset_limit, 1);
}

#[test]
#[cfg_attr(miri, ignore = "about size: hours under Miri")]
fn one_unfinished_record_below_forty_thousand_finished_ones_holds_the_mark() {
    // B74 (parallel-consumer#37)
    let mut world = World::with(Config { budget: 40_001, window: 2, ..small() });
    world.assign("p0@0");
    let slow = world.run("p0:0");
    for at in 1..=40_000 {
        world.finish(&format!("p0:{at}"));
    }
    assert_eq!(world.mark("p0"), 0);
    assert_eq!(world.commits(), Vec::<String>::new());
    world.complete(slow);
    assert_eq!(world.mark("p0"), 40_001);
    assert_eq!(world.commits(), ["p0=40001"]);
}

#[test]
fn offsets_near_the_top_are_counted_one_by_one() {
    // B76 (seaweedfs Kafka gateway change notes)
    let mut world = World::new();
    world.assign("p0@9223372036854770000").finish("p0:9223372036854770000");
    assert_eq!(world.commits(), ["p0=9223372036854770001"]);
    assert_eq!(Offset::try_from(-1), Err(OffsetError::Negative(-1)));
    assert_eq!(world.mark("p0"), 9_223_372_036_854_770_001);
}

#[test]
fn offsets_that_skip_transaction_markers_are_completed_in_any_order() {
    // B77 (spring-projects/spring-kafka#4258)
    let mut world = World::new();
    world.assign("p0@0");
    let tickets: Vec<_> = [0, 2, 4, 6].map(|at| world.run(&format!("p0:{at}"))).into();
    for (which, mark) in [(0, 2), (1, 4), (3, 4), (2, 7)] {
        world.complete(tickets[which]);
        assert_eq!(world.mark("p0"), mark);
    }
    assert_eq!(world.commits(), ["p0=7"]);
}

#[test]
fn offsets_that_compaction_removed_hold_nothing_back() {
    // B79 (confluentinc/parallel-consumer#52), B82 (jepsen.io, Redpanda 21.10.1)
    let mut world = World::new();
    world.assign("p0@100 p1@5").finish("p0:100 p0:101 p0:102 p0:104");
    world.finish("p1:5 p1:9 p1:10 p1:1000");
    assert_eq!(world.outputs(), ["commit p0=105", "commit p1=1001"]);
}

#[test]
fn a_marker_at_the_end_of_the_log_is_never_committed_past() {
    // B80 (confluentinc/librdkafka#3917)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100").commit_all();
    assert_eq!(world.end_of_partition("p0"), Reply::Done);
    assert_eq!(world.mark("p0"), 101);
    assert_eq!(world.tick(60_000).outputs(), Vec::<String>::new());
}

#[test]
fn a_first_record_that_is_a_duplicate_fixes_an_empty_start_too() {
    let mut world = World::new();
    world.assign("p0@0 p1@none").finish("p0:0=a").commit_all();
    assert_eq!(world.admit("p1:40=a"), "skip: finished");
    assert_eq!(world.outputs(), ["commit p1=41"]);
}

#[test]
fn a_start_that_was_never_told_ends_without_a_mark_and_without_a_commit() {
    let mut world = World::new();
    world.assign("p0@?");
    assert_eq!(world.admit("p0:7"), "hold: resume unknown");
    world.drain().revoke("p0", 1_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark none, left 0"]);
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn a_token_never_falls_when_the_generation_is_not_known_for_once() {
    let mut world = World::new();
    world.assign_in(7, "p0@0");
    assert_eq!(world.progress("p0").token.to_string(), "7.1");
    world.generation = None;
    world.assign("p0@0");
    assert_eq!(world.progress("p0").token.to_string(), "7.2");
}
