//! How long a hand-over may take, and who waits for whom.

use rebalance_guard::{Answered, Config, Reply};

use crate::support::{World, small};

#[test]
fn work_finished_inside_the_drain_counts_and_the_kept_partition_is_untouched() {
    // B44 (PostHog/posthog PR#80897)
    let mut world = World::new();
    world.assign("p0@100 p1@200");
    let (revoked, kept) = (world.run("p0:100"), world.run("p1:200"));
    world.revoke("p0", 20_000).tick(3_000);
    assert_eq!(world.complete(revoked), Answered::Done);
    assert_eq!(world.complete(kept), Answered::Done);
    assert_eq!(
        world.outputs(),
        ["sealed p0 #1: drained, mark 101, left 0", "commit p0=101", "commit p1=201"]
    );
    assert_eq!(world.phase("p1"), "Active");
}

#[test]
fn a_completion_counts_until_the_tick_before_the_deadline() {
    // B44 (PostHog/posthog PR#80897)
    for (at, answer) in
        [(19_999, Answered::Done), (20_000, Answered::Stale), (20_001, Answered::Stale)]
    {
        let mut world = World::new();
        world.assign("p0@100");
        let running = world.run("p0:100");
        world.revoke("p0", 20_000).at(at);
        assert_eq!(world.complete(running), answer, "at {at}");
    }
}

#[test]
fn a_record_that_failed_for_good_is_not_waited_for() {
    // B46 (zio/zio-kafka#1572)
    let mut world = World::new();
    world.assign("p0@1");
    let failed = world.run("p0:1");
    assert_eq!(world.fail_permanently(failed), Answered::Done);
    world.revoke("p0", 20_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 1, left 1"]);
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn a_dead_letter_in_the_producers_hands_is_waited_for() {
    let mut world = World::new();
    world.assign("p0@1");
    let failed = world.run("p0:1");
    world.fail_permanently(failed);
    assert_eq!(world.outputs(), ["dead letter p0:1: permanent, copies 0"]);
    world.revoke("p0", 20_000);
    assert_eq!(world.phase("p0"), "Draining");
    assert_eq!(world.dead_lettered(world.ticket("p0:1")), Answered::Done);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 2, left 0", "commit p0=2"]);
}

#[test]
fn the_order_of_assign_and_revoke_in_one_poll_decides() {
    // B47 (zio/zio-kafka PR#1294)
    let mut world = World::new();
    world.assign("p0@100").revoke("p0", 5_000);
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.admit("p0:100"), "refuse: not owned");

    let mut world = World::new();
    world.assign("p0@100");
    let old = world.run("p0:100");
    world.revoke("p0", 5_000).assign("p0@100");
    assert_eq!(world.phase("p0"), "Active");
    assert_eq!(world.complete(old), Answered::Stale);
    assert_eq!(world.admit("p0:100"), "run");

    let mut world = World::new();
    world.assign("p0@100").finish("p0:100").lost("p0");
    assert_eq!(world.outputs(), ["sealed p0 #1: lost, mark 101, left 0"]);
    assert_eq!(world.phase("p0"), "Unowned");
}

#[test]
fn the_deadline_commits_the_finished_prefix_and_says_how_many_were_cut_off() {
    // B49 (PostHog/posthog PR#56097)
    let mut world = World::with(Config { window: 128, budget: 128, ..small() });
    world.assign("p0@100");
    let tickets: Vec<_> = (100..200).map(|at| world.run(&format!("p0:{at}"))).collect();
    world.revoke("p0", 20_000).at(10_000);
    for &ticket in &tickets[..50] {
        assert_eq!(world.complete(ticket), Answered::Done);
    }
    assert_eq!(world.commits(), ["p0=150"]);
    world.stored("p0:150").tick(19_000);
    assert_eq!(world.complete(tickets[60]), Answered::Done);
    world.tick(20_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: deadline, mark 150, left 49"]);
    world.at(25_000);
    for &ticket in &tickets[50..] {
        assert_eq!(world.complete(ticket), Answered::Stale);
    }
    assert_eq!(world.guard.counters().given_up, 49);
    assert_eq!(world.guard.counters().drain_deadlines, 1);
}

#[test]
fn a_revoke_returns_at_once_and_says_how_much_is_pending() {
    // B50 (aio-libs/aiokafka#335)
    let mut world = World::new();
    world.assign("p0@100");
    let first = world.run("p0:100");
    world.run("p0:101");
    world.revoke("p0", 20_000);
    assert_eq!(world.progress("p0").in_hands, 2);
    assert_eq!(world.progress("p0").deadline.map(|at| at.value()), Some(20_000));
    world.complete(first);
    assert_eq!(world.progress("p0").in_hands, 1);
}

#[test]
fn a_failure_while_draining_is_granted_no_retry() {
    // B52 (twmb/franz-go#457)
    let mut world = World::with(Config { attempts_max: 100, ..small() });
    world.assign("p0@100");
    let first = world.run("p0:100");
    world.fail(first);
    assert_eq!(world.tick(100).outputs(), ["retry p0:100"]);
    world.fail(world.ticket("p0:100"));
    assert_eq!(world.tick(300).outputs(), ["retry p0:100"]);
    world.revoke("p0", 20_000);
    assert_eq!(world.phase("p0"), "Draining");
    assert_eq!(world.fail(world.ticket("p0:100")), Answered::Done);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 100, left 1"]);
    assert_eq!(world.tick(50_000).outputs(), Vec::<String>::new());
}

#[test]
fn a_dead_letter_that_the_topic_refuses_while_draining_is_given_up() {
    let mut world = World::new();
    world.assign("p0@1");
    let failed = world.run("p0:1");
    world.fail_permanently(failed);
    world.drain().revoke("p0", 20_000);
    assert_eq!(world.fail(world.ticket("p0:1")), Answered::Done);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 1, left 1"]);
}

#[test]
fn a_loss_during_the_drain_wins() {
    // B53 (knative-extensions/eventing-kafka#629)
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    let running = world.run("p0:101");
    world.revoke("p0", 90_000).at(60_000).lost("p0");
    assert_eq!(world.outputs(), ["sealed p0 #1: lost, mark 101, left 1"]);
    assert_eq!(world.complete(running), Answered::Stale);
    assert_eq!(world.tick(90_000).outputs(), Vec::<String>::new());
}

#[test]
fn a_loss_during_the_last_commit_wins() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100").revoke("p0", 1_000).lost("p0");
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 0"]);
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.tick(60_000).commits(), Vec::<String>::new());
}

#[test]
fn a_deadline_in_the_past_seals_at_once_and_still_commits_what_was_finished() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    let running = world.run("p0:101");
    world.at(500).revoke("p0", 400);
    assert_eq!(world.outputs(), ["sealed p0 #1: deadline, mark 101, left 1", "commit p0=101"]);
    assert_eq!(world.phase("p0"), "Committing");
    assert_eq!(world.progress("p0").deadline.map(|at| at.value()), Some(5_500));
    assert_eq!(world.complete(running), Answered::Stale);
}

#[test]
fn the_earlier_of_two_deadlines_holds() {
    for (first, second) in [(5_000, 9_000), (9_000, 5_000)] {
        let mut world = World::new();
        world.assign("p0@100").run("p0:100");
        world.revoke("p0", first).revoke("p0", second);
        assert_eq!(world.tick(4_999).phase("p0"), "Draining");
        assert_eq!(world.tick(5_000).outputs(), ["sealed p0 #1: deadline, mark 100, left 1"]);
    }
}

#[test]
fn a_revoke_during_the_last_commit_does_not_prolong_it() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100").revoke("p0", 1_000).drain();
    world.at(3_000).revoke("p0", 60_000);
    assert_eq!(world.tick(4_999).phase("p0"), "Committing");
    assert_eq!(world.tick(5_000).phase("p0"), "Unowned");
}

#[test]
fn an_abandoned_record_ends_the_drain_when_it_was_the_last_in_hands() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100");
    let (one, two) = (world.run("p0:101"), world.run("p0:102"));
    world.drain().stored("p0:101").revoke("p0", 20_000);
    world.complete(two);
    assert_eq!(world.phase("p0"), "Draining");
    world.abandon(one);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 101, left 1"]);
}

#[test]
fn every_revoked_partition_is_gone_by_its_deadline_plus_the_commit_time() {
    let mut world = World::new();
    world.assign("p0@0 p1@0 p2@0").finish("p0:0 p1:0");
    world.run("p1:1");
    world.run("p2:0");
    world.revoke("p0 p1 p2", 20_000).tick(24_999);
    assert_eq!(world.phase("p0"), "Unowned");
    assert_eq!(world.phase("p1"), "Committing");
    assert_eq!(world.phase("p2"), "Unowned");
    assert_eq!(world.tick(25_000).phase("p1"), "Unowned");
    assert_eq!(
        world.outputs(),
        [
            "sealed p0 #1: drained, mark 1, left 0",
            "sealed p1 #2: deadline, mark 1, left 1",
            "sealed p2 #3: deadline, mark 0, left 1",
        ]
    );
}

#[test]
fn a_hand_back_that_comes_after_the_next_assign_is_a_no_op() {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100").revoke("p0", 1_000).drain();
    world.assign("p0@101");
    assert_eq!(world.outputs(), Vec::<String>::new());
    let reply = world.commit_answer("p0:101", 1, rebalance_guard::CommitAnswer::NotMine);
    assert_eq!(reply, Reply::Stale);
    assert_eq!(world.phase("p0"), "Active");
    assert_eq!(world.assignment("p0"), 2);
    assert_eq!(world.guard.counters().replaced, 1);
}

#[test]
fn what_waits_for_a_retry_or_a_dead_letter_is_given_up_at_the_revoke_with_key_and_room() {
    let mut world = World::with(Config { window: 3, ..small() });
    world.assign("p0@100 p1@0").run("p0:100=running");
    let (retried, spent) = (world.run("p0:101=retried"), world.run("p0:102=spent"));
    world.fail(retried);
    world.fail_permanently(spent);
    assert_eq!(world.guard.in_flight(), 3);
    world.revoke("p0", 20_000);
    assert_eq!(world.phase("p0"), "Draining");
    assert_eq!(world.guard.in_flight(), 1);
    assert_eq!(world.guard.counters().given_up, 2);
    for ticket in [retried, spent] {
        assert!(!world.guard.is_live(ticket));
        assert_eq!(world.abandon(ticket), Answered::Stale);
    }
    assert_eq!(world.admit("p1:0=retried"), "run");
    assert_eq!(world.admit("p1:1=spent"), "run");
}

#[test]
fn a_retry_that_was_not_pulled_before_the_revoke_is_given_up() {
    let mut world = World::new();
    world.assign("p0@100").run("p0:100");
    world.fail(world.ticket("p0:100"));
    world.tick(100).revoke("p0", 20_000);
    assert_eq!(world.outputs(), ["sealed p0 #1: drained, mark 100, left 1"]);
    assert_eq!(world.guard.counters().retried, 0);
}
