//! Commits never pass unfinished work, and never speak of a partition that left.

use rebalance_guard::{Answered, CommitAnswer, Config, Reply};

use crate::support::{World, small};

#[test]
fn discarding_what_was_in_flight_never_raises_the_commit() {
    // B28 (confluentinc/parallel-consumer#826)
    let mut world = World::new();
    world.assign("p0@100");
    let polled = world.run("p0:100");
    world.revoke("p0", 20_000);
    assert_eq!(world.abandon(polled), Answered::Done);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 100, left 1"]);
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.complete(polled), Answered::Stale);
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn a_quiet_partition_that_moves_often_never_creeps_past_its_end() {
    // B29 (confluentinc/parallel-consumer#894)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
    world.stored("p0:101").revoke("p0", 1_000).drain();
    for _ in 0..20 {
        world.assign("p0@101");
        assert_eq!(world.commits(), Vec::<String>::new());
        assert_eq!(world.mark("p0"), 101);
        world.revoke("p0", 1_000);
        assert_eq!(world.commits(), Vec::<String>::new());
        assert_eq!(world.phase("p0"), "Unowned");
    }
}

#[test]
fn a_completion_between_asking_and_answering_moves_the_commit_no_further_than_it_may() {
    // B29 (confluentinc/parallel-consumer#894), the variant
    let mut world = World::new();
    world.assign("p0@100");
    let (first, second) = (world.run("p0:100"), world.run("p0:101"));
    world.complete(second);
    assert_eq!(world.commits(), Vec::<String>::new());
    assert_eq!(world.mark("p0"), 100);
    world.complete(first);
    assert_eq!(world.commits(), ["p0=102"]);
}

#[test]
fn commits_never_overtake_each_other() {
    // B31 (segmentio/kafka-go#439)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
    world.finish("p0:101");
    assert_eq!(world.commits(), Vec::<String>::new());
    world.stored("p0:101");
    assert_eq!(world.commits(), ["p0=102"]);
    world.stored("p0:102");
    assert_eq!(world.commits(), Vec::<String>::new());
}

#[test]
fn a_late_acknowledgement_of_a_lower_value_is_no_step_back() {
    // B31 (segmentio/kafka-go#439)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
    world.finish("p0:101").tick(5_200);
    assert_eq!(world.commits(), ["p0=102"]);
    world.stored("p0:102");
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Stored), Reply::Done);
    assert_eq!(world.progress("p0").confirmed.map(|at| at.value()), Some(102));
    assert_eq!(world.commits(), Vec::<String>::new());
}

#[test]
fn the_value_of_a_commit_is_what_was_finished_whatever_was_taken_since() {
    // B32 (confluentinc/librdkafka#4534)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    world.run("p0:101");
    assert_eq!(world.commits(), ["p0=101"]);
    world.stored("p0:101");
    assert_eq!(world.commits(), Vec::<String>::new());
}

#[test]
fn a_revoke_of_one_partition_leaves_the_commits_of_the_others_alone() {
    // B34 (vectordotdev/vector#14865)
    let mut world = World::new();
    world.assign("p0@100 p1@200");
    let kept = world.run("p0:100");
    world.run("p1:200");
    world.revoke("p1", 20_000);
    assert_eq!(world.complete(kept), Answered::Done);
    assert_eq!(world.commits(), ["p0=101"]);
}

#[test]
fn each_partition_of_a_mixed_batch_is_committed() {
    // B35 (ordermentum/steveo PR#1054)
    let batch = ["p2:300", "p2:301", "p1:200", "p0:100", "p0:101"];
    for turn in 0..batch.len() {
        let mut order = batch;
        order.rotate_left(turn);
        let mut world = World::new();
        world.assign("p0@100 p1@200 p2@300");
        let mut sorted = order;
        sorted.sort_unstable();
        let tickets: Vec<_> = sorted.iter().map(|&record| (record, world.run(record))).collect();
        for record in order {
            let ticket = tickets.iter().find(|(name, _)| *name == record).expect("admitted").1;
            assert_eq!(world.complete(ticket), Answered::Done);
        }
        assert_eq!(world.commits(), ["p0=102", "p1=201", "p2=302"]);
    }
}

#[test]
fn a_partition_that_leaves_a_commit_set_does_not_take_the_others_with_it() {
    // B37 (faust-streaming/faust#94)
    let mut world = World::new();
    world.assign("p25@0 p40@0 p52@0").finish("p25:0 p40:0 p52:0");
    assert_eq!(world.commits(), ["p25=1", "p40=1", "p52=1"]);
    world.revoke("p40", 1_000);
    assert_eq!(world.commits(), Vec::<String>::new());
    assert_eq!(world.commit_answer("p25:1", 1, CommitAnswer::Retry), Reply::Done);
    assert_eq!(world.commit_answer("p40:1", 2, CommitAnswer::NotMine), Reply::Done);
    assert_eq!(world.commit_answer("p52:1", 3, CommitAnswer::Retry), Reply::Done);
    assert!(!world.owns("p40"));
    assert_eq!(world.tick(200).commits(), ["p25=1", "p52=1"]);
}

#[test]
fn a_commit_set_taken_after_the_revoke_still_names_every_partition_that_is_held() {
    // B37 (faust-streaming/faust#94)
    let mut world = World::new();
    world.assign("p25@0 p40@0 p52@0").finish("p25:0 p40:0 p52:0").lost("p40");
    assert_eq!(world.commits(), ["p25=1", "p52=1"]);
}

#[test]
fn a_commit_refused_for_its_generation_is_offered_again_while_owned() {
    // B38 (confluentinc/librdkafka#4059)
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
    assert_eq!(world.commit_answer("p0:101", 1, CommitAnswer::Retry), Reply::Done);
    world.assign("").tick(199);
    assert_eq!(world.commits(), Vec::<String>::new());
    assert_eq!(world.tick(200).commits(), ["p0=101"]);
}

#[test]
fn a_commit_refused_for_its_generation_is_withdrawn_when_the_loss_follows() {
    // B38 (confluentinc/librdkafka#4059)
    let mut world = World::new();
    world.assign("p0@100 p1@0").finish("p0:100");
    assert_eq!(world.commits(), ["p0=101"]);
    world.commit_answer("p0:101", 1, CommitAnswer::Retry);
    world.lost("p0 p1").tick(10_000);
    assert_eq!(world.commits(), Vec::<String>::new());
}

#[test]
fn a_late_commit_of_the_old_owner_never_happens_and_is_put_right_by_the_new_one() {
    // B40 (segmentio/kafka-go#1308)
    let mut a = World::new();
    a.assign("p2@1");
    let late = a.run("p2:1");
    a.revoke("p2", 0).drain();
    let mut b = World::new();
    b.assign_in(8, "p2@1").finish("p2:1 p2:2");
    assert_eq!(b.commits(), ["p2=3"]);
    b.stored("p2:3");
    assert_eq!(a.complete(late), Answered::Stale);
    assert_eq!(a.commits(), Vec::<String>::new());
    assert_eq!(b.group_offset("p2:2", 1), Reply::Done);
    assert_eq!(b.commits(), ["p2=3"]);
}

#[test]
fn a_partition_that_left_is_never_committed_again() {
    // B41 (akka/alpakka-kafka#118)
    let mut world = World::new();
    world.assign("p1@5 p2@9").finish("p2:9").commit_all();
    world.revoke("p2", 1_000).drain();
    assert_eq!(world.group_offset("p2:41", 2), Reply::Stale);
    for at in 5..30 {
        world.finish(&format!("p1:{at}"));
    }
    assert_eq!(world.commits(), ["p1=30"]);
    assert_eq!(world.group_offset("p2:41", 2), Reply::Stale);
    world.stored("p1:30");
    assert_eq!(world.tick(60_000).commits(), Vec::<String>::new());
}

#[test]
fn abandoned_records_hold_the_mark_until_they_are_offered_again() {
    // B43 (corda PR#6181)
    let mut world = World::new();
    world.assign("p0@100");
    for at in 100..105 {
        let ticket = world.run(&format!("p0:{at}"));
        assert_eq!(world.abandon(ticket), Answered::Done);
    }
    world.assign("").finish("p0:105");
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.progress("p0").unfinished, 5);
    assert_eq!(world.progress("p0").in_hands, 0);
    assert_eq!(world.commits(), Vec::<String>::new());
    for at in 100..105 {
        world.finish(&format!("p0:{at}"));
    }
    assert_eq!(world.commits(), ["p0=106"]);
    assert_eq!(world.progress("p0").unfinished, 0);
}

#[test]
fn a_commit_is_due_at_the_tick_of_its_interval_and_not_before() {
    let slow = Config { commit_interval: 1_000, commit_count: 1_000, ..small() };
    let mut world = World::with(slow);
    world.at(50).assign("p0@100").at(51).finish("p0:100");
    assert_eq!(world.tick(1_049).commits(), Vec::<String>::new());
    assert!(world.next_timeout().is_some_and(|at| at <= 1_050));
    assert_eq!(world.tick(1_050).commits(), ["p0=101"]);
    world.stored("p0:101").finish("p0:101");
    assert_eq!(world.tick(2_049).commits(), Vec::<String>::new());
    assert_eq!(world.tick(2_050).commits(), ["p0=102"]);
}

#[test]
fn a_commit_is_due_before_its_interval_when_enough_records_finished() {
    let counted = Config { commit_interval: 60_000, commit_count: 3, ..small() };
    let mut world = World::with(counted);
    world.assign("p0@100").finish("p0:100 p0:101");
    assert_eq!(world.commits(), Vec::<String>::new());
    world.finish("p0:102");
    assert_eq!(world.commits(), ["p0=103"]);
    world.stored("p0:103").finish("p0:103 p0:104");
    assert_eq!(world.commits(), Vec::<String>::new());
    world.finish("p0:105");
    assert_eq!(world.commits(), ["p0=106"]);
}

#[test]
fn many_finished_records_above_unfinished_work_make_no_commit() {
    let counted = Config { commit_interval: 60_000, commit_count: 3, ..small() };
    let mut world = World::with(counted);
    world.assign("p0@100");
    let slow = world.run("p0:100");
    world.finish("p0:101 p0:102 p0:103 p0:104");
    assert_eq!(world.tick(60_000).commits(), Vec::<String>::new());
    assert_eq!(world.complete(slow), Answered::Done);
    assert_eq!(world.commits(), ["p0=105"]);
}

#[test]
fn commits_are_offered_while_draining_as_while_active() {
    let mut world = World::new();
    world.assign("p0@100");
    let (first, second) = (world.run("p0:100"), world.run("p0:101"));
    world.revoke("p0", 20_000);
    assert_eq!(world.complete(first), Answered::Done);
    assert_eq!(world.outputs(), ["commit p0=101"]);
    world.stored("p0:101");
    assert_eq!(world.phase("p0"), "Draining");
    assert_eq!(world.complete(second), Answered::Done);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 102, left 0", "commit p0=102"]);
}

#[test]
fn a_commit_carries_the_token_captured_at_its_assign() {
    let mut world = World::with(Config { epoch: 2, first_assignment: 40, ..small() });
    world.assign_in(7, "p0@100").assign_in(9, "p1@0").finish("p0:100");
    let Some(rebalance_guard::Output::Commit { token, .. }) = world.guard.poll_output() else {
        panic!("a commit is due");
    };
    assert_eq!(token.to_string(), format!("{}.40", (2_u64 << 32) + 7));
    assert_eq!(world.progress("p1").token.to_string(), format!("{}.41", (2_u64 << 32) + 9));
}
