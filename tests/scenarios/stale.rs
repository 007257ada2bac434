//! Same partition, same offset, different ownership: what belongs to the old one never counts.

use rebalance_guard::{Answered, Config, Fenced, InputError, Refuse, Reply, Ticket, Verdict};

use crate::support::{World, small};

/// Every order of `tickets`, each on its own copy of the world.
fn in_every_order(
    world: &World,
    done: &mut Vec<usize>,
    count: usize,
    check: &dyn Fn(&World, &[usize]),
) {
    if done.len() == count {
        check(world, done);
        return;
    }
    for next in 0..count {
        if !done.contains(&next) {
            done.push(next);
            in_every_order(world, done, count, check);
            done.pop();
        }
    }
}

#[test]
fn a_sweep_of_the_old_ownership_leaves_the_fresh_record_at_its_offset_alone() {
    // B13 (parallel-consumer fork#468)
    let mut world = World::new();
    world.assign("p0@100");
    let first = world.run("p0:100");
    world.revoke("p0", 0).assign("p0@100");
    let second = world.run("p0:100");
    assert_eq!(world.abandon(first), Answered::Stale);
    assert_eq!(world.complete(second), Answered::Done);
    assert_eq!(world.mark("p0"), 101);
    assert_eq!(world.commits(), ["p0=101"]);
}

#[test]
fn late_completions_of_the_first_delivery_never_count_on_the_second_in_any_order() {
    // B14 (spring-projects/spring-kafka#4687)
    let mut world = World::new();
    world.assign("p0@100");
    let mut tickets: Vec<Ticket> = Vec::new();
    for round in 0..2 {
        if round == 1 {
            world.revoke("p0", 0).assign("p0@100").drain();
        }
        tickets.extend((100..103).map(|at| world.run(&format!("p0:{at}"))));
    }
    let check = |world: &World, order: &[usize]| {
        let mut world = world.clone();
        let mut open = vec![3, 4, 5];
        for &which in order {
            let expected = if which < 3 { Answered::Stale } else { Answered::Done };
            assert_eq!(world.complete(tickets[which]), expected, "{order:?}");
            open.retain(|&ticket| ticket != which);
            let mark = open.first().map_or(103, |&ticket| 97 + ticket as u64);
            assert_eq!(world.mark("p0"), mark, "{order:?}");
        }
        assert_eq!(world.guard.in_flight(), 0);
        assert_eq!(world.commits(), ["p0=103"]);
    };
    in_every_order(&world, &mut Vec::new(), 6, &check);
}

#[test]
fn completions_below_the_new_resume_position_are_stale_and_harmless() {
    // B16 (PostHog/posthog PR#91764)
    let mut world = World::new();
    world.assign("p0@100");
    let old: Vec<_> = (100..105).map(|at| world.run(&format!("p0:{at}"))).collect();
    world.revoke("p0", 0).assign("p0@103").drain();
    for ticket in old {
        assert_eq!(world.complete(ticket), Answered::Stale);
    }
    assert_eq!(world.guard.counters().stale_answers, 5);
    assert_eq!(world.mark("p0"), 103);
    assert_eq!(world.guard.in_flight(), 0);
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn an_assign_without_a_revoke_is_a_new_ownership() {
    // B17 (apache/kafka#5291)
    let mut world = World::new();
    world.assign_in(1, "p0@100 p3@100");
    let first = world.run("p0:100");
    world.assign_in(3, "p0@150 p3@150");
    assert_eq!(
        world.outputs(),
        ["sealed p0 #1: lost, mark 100, left 1", "sealed p3 #2: lost, mark 100, left 0"]
    );
    assert_eq!(world.complete(first), Answered::Stale);
    assert_eq!(world.mark("p0"), 150);
    assert_eq!(world.progress("p0").token.group, 3);
    world.finish("p0:150");
    assert_eq!(world.commits(), ["p0=151"]);
}

#[test]
fn the_drain_timer_of_the_old_ownership_does_nothing_to_the_new_one() {
    // B19 (akka/alpakka-kafka#570)
    let mut world = World::new();
    world.assign("p0@100");
    let first = world.run("p0:100");
    world.revoke("p0", 5_000).at(1_000).assign("p0@100");
    assert_eq!(world.outputs(), ["sealed p0 #1: replaced, mark 100, left 1"]);
    let second = world.run("p0:100");
    assert_eq!(world.tick(5_000).outputs(), Vec::<String>::new());
    assert_eq!(world.phase("p0"), "Active");
    assert_eq!(world.complete(first), Answered::Stale);
    assert_eq!(world.complete(second), Answered::Done);
    assert_eq!(world.commits(), ["p0=101"]);
}

#[test]
fn a_position_that_was_asked_for_an_older_ownership_is_ignored_whole() {
    // B20 (akka/alpakka-kafka#1027)
    let mut world = World::new();
    world.assign("p0@? p1@?").revoke("p0 p1", 0).assign("p0@?");
    assert_eq!(world.position("p0@100", 1), Ok(Reply::Stale));
    assert_eq!(world.position("p1@100", 2), Ok(Reply::Stale));
    assert!(!world.owns("p1"));
    assert_eq!(world.progress("p0").mark, None);
    assert_eq!(world.position("p0@140", 3), Ok(Reply::Done));
    assert_eq!(world.mark("p0"), 140);
    assert_eq!(world.admit("p0:140"), "run");
    assert_eq!(world.guard.counters().stale_inputs, 2);
}

#[test]
fn a_late_release_by_the_old_worker_does_not_silence_the_new_ownership() {
    // B22 (vectordotdev/vector PR#26438)
    let mut world = World::new();
    world.assign("p0@100");
    let first = world.run("p0:100");
    world.revoke("p0", 20_000).tick(20_000).assign("p0@100");
    assert_eq!(world.abandon(first), Answered::Stale);
    assert_eq!(world.admit("p0:100"), "run");
    assert_eq!(world.progress("p0").in_hands, 1);
}

#[test]
fn an_empty_assign_changes_nothing() {
    // B23 (apache/pekko-connectors-kafka PR#617)
    let mut world = World::new();
    world.assign("p0@0 p1@0").revoke("p1", 0).assign("p1@100").drain();
    let buffered: Vec<_> = (100..106).map(|at| world.run(&format!("p1:{at}"))).collect();
    let (p0, p1) = (world.progress("p0"), world.progress("p1"));
    world.assign("");
    assert_eq!((world.progress("p0"), world.progress("p1")), (p0, p1));
    assert_eq!(world.mark("p1"), 100);
    for ticket in buffered {
        assert_eq!(world.complete(ticket), Answered::Done);
    }
    assert_eq!(world.outputs(), ["commit p1=106"]);
}

#[test]
fn work_finished_after_the_hand_over_is_run_again_and_counted() {
    // B25 (confluentinc/parallel-consumer#777)
    let mut world = World::new();
    world.assign("p0@100");
    let first = world.run("p0:100");
    world.revoke("p0", 0);
    assert_eq!(world.outputs(), ["sealed p0 #1: deadline, mark 100, left 1"]);
    assert_eq!(world.complete(first), Answered::Stale);
    world.assign("p0@100");
    assert_eq!(world.admit("p0:100"), "run");
    assert_eq!(world.guard.counters().stale_answers, 1);
    assert_eq!(world.guard.counters().given_up, 1);
    assert_eq!(world.guard.counters().drain_deadlines, 1);
}

#[test]
fn a_ticket_is_never_the_same_twice_over_many_ownerships() {
    // B26 (cloudamqp/lavinmq PR#2128)
    let mut world = World::new();
    let mut tickets: Vec<Ticket> = Vec::new();
    for _ in 0..100 {
        world.assign("p0@100");
        tickets.extend([world.run("p0:100"), world.run("p0:101")]);
        world.revoke("p0", 0).drain();
    }
    for (place, ticket) in tickets.iter().enumerate() {
        assert_eq!(ticket.sequence(), place as u64 + 1);
    }
    world.assign("p0@100");
    world.run("p0:100");
    for ticket in tickets {
        assert_eq!(world.complete(ticket), Answered::Stale);
    }
    assert_eq!(world.mark("p0"), 100);
}

#[test]
fn an_assignment_counter_at_its_end_refuses_instead_of_starting_again() {
    // B26 (cloudamqp/lavinmq PR#2128), B98 (easy-swoole/kafka#17)
    let mut world = World::with(Config { first_assignment: u64::MAX - 1, ..small() });
    world.assign("p0@100");
    let ticket = world.run("p0:100");
    assert_eq!(world.assignment("p0"), u64::MAX - 1);
    let refused = (0..3).find_map(|_| world.try_assign("p1@0 p2@0").err());
    assert_eq!(refused, Some(InputError::AssignmentsSpent));
    assert!(!world.owns("p1") && !world.owns("p2"));
    assert_eq!(world.complete(ticket), Answered::Done);
    assert_eq!(world.mark("p0"), 101);
}

#[test]
fn a_new_guard_accepts_no_ticket_of_the_process_before() {
    // B106 (confluentinc/confluent-kafka-go#494)
    let mut before = World::with(Config { first_assignment: 1_000 << 20, ..small() });
    before.assign("p0@100");
    let old = before.run("p0:100");
    let mut after = World::with(Config { first_assignment: 2_000 << 20, ..small() });
    after.assign("p0@100");
    let new = after.run("p0:100");
    assert_eq!(after.complete(old), Answered::Stale);
    assert!(!after.guard.is_live(old));
    assert_eq!(after.mark("p0"), 100);
    assert_eq!(after.complete(new), Answered::Done);
    assert!(new.assignment() > old.assignment());
}

#[test]
fn a_stale_result_is_a_final_answer_however_often_it_is_given() {
    // B118 (numaproj/numaflow PR#3194)
    let mut world = World::new();
    world.assign("p0@0 p1@0 p2@100");
    let gone = world.run("p2:100");
    world.revoke("p2", 0).drain();
    for _ in 0..1_000 {
        assert_eq!(world.complete(gone), Answered::Stale);
    }
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.guard.counters().stale_answers, 1_000);
    assert_eq!(world.phase("p0"), "Active");
}

#[test]
fn a_forged_ticket_is_stale() {
    let mut world = World::new();
    world.assign("p0@100");
    let real = world.run("p0:100");
    for byte in 0..Ticket::BYTES {
        let mut bytes = real.to_bytes();
        bytes[byte] ^= 1;
        if let Some(forged) = Ticket::from_bytes(&bytes) {
            assert!(!world.guard.is_live(forged), "byte {byte}");
            assert_eq!(world.complete(forged), Answered::Stale, "byte {byte}");
        }
    }
    assert_eq!(Ticket::from_bytes(&real.to_bytes()), Some(real));
    assert_eq!(world.complete(real), Answered::Done);
}

#[test]
fn taking_stale_inputs_out_of_a_history_changes_no_later_answer() {
    let history = |noise: bool| {
        let mut world = World::new();
        world.assign("p0@100");
        let old = world.run("p0:100=a");
        world.revoke("p0", 0).assign("p0@100");
        let mut seen = vec![world.outputs()];
        for at in 100..104 {
            if noise {
                assert_eq!(world.complete(old), Answered::Stale);
                assert_eq!(world.fail(old), Answered::Stale);
                assert_eq!(world.abandon(old), Answered::Stale);
                assert_eq!(world.group_offset("p0:900", 1), Reply::Stale);
                assert_eq!(world.position("p0@900", 1), Ok(Reply::Stale));
            }
            let verdict = world.admit(&format!("p0:{at}=a{at}"));
            let ticket = world.ticket(&format!("p0:{at}"));
            world.complete(ticket);
            if noise {
                assert_eq!(world.complete(ticket), Answered::Stale);
            }
            seen.push(vec![verdict]);
            seen.push(world.outputs());
        }
        (seen, world.progress("p0"))
    };
    assert_eq!(history(true), history(false));
}

#[test]
fn the_fence_says_not_owned_to_a_record_of_an_ended_ownership() {
    let mut world = World::new();
    world.assign("p0@100").lost("p0");
    let record = rebalance_guard::Record::new(
        crate::support::partition("p0"),
        crate::support::offset(100),
        None,
    );
    let verdict = world.guard.admit(crate::support::tick(1), record);
    assert_eq!(verdict, Verdict::Refuse(Refuse::Fenced(Fenced::NotOwned)));
}
