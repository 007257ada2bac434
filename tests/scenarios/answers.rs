//! Each kind of ticket has its own answers, and a ticket is answered once.

use rebalance_guard::{Answered, Config, Outcome, Ticket, TicketKind};

use crate::support::{World, small};

const OUTCOMES: [Outcome; 5] = [
    Outcome::Completed,
    Outcome::Failed { permanent: false },
    Outcome::Failed { permanent: true },
    Outcome::Abandoned,
    Outcome::DeadLettered,
];

fn running() -> (World, Ticket) {
    let mut world = World::new();
    world.assign("p0@100");
    let ticket = world.run("p0:100");
    (world, ticket)
}

fn dead_letter() -> (World, Ticket) {
    let (mut world, ticket) = running();
    world.fail_permanently(ticket);
    assert_eq!(world.outputs(), ["dead letter p0:100: permanent, copies 0"]);
    let ticket = world.ticket("p0:100");
    (world, ticket)
}

#[test]
fn a_run_ticket_takes_complete_fail_and_abandon() {
    let expected =
        [Answered::Done, Answered::Done, Answered::Done, Answered::Done, Answered::Stale];
    for (outcome, expected) in OUTCOMES.into_iter().zip(expected) {
        let (mut world, ticket) = running();
        assert_eq!(ticket.kind(), TicketKind::Run);
        assert_eq!(world.answer(ticket, outcome), expected, "{outcome:?}");
    }
}

#[test]
fn a_dead_letter_ticket_takes_dead_lettered_fail_and_abandon() {
    let expected =
        [Answered::Stale, Answered::Done, Answered::Done, Answered::Done, Answered::Done];
    for (outcome, expected) in OUTCOMES.into_iter().zip(expected) {
        let (mut world, ticket) = dead_letter();
        assert_eq!(ticket.kind(), TicketKind::DeadLetter);
        assert_eq!(world.answer(ticket, outcome), expected, "{outcome:?}");
    }
}

#[test]
fn an_answer_of_the_wrong_kind_changes_nothing() {
    let (mut world, ticket) = running();
    world.dead_lettered(ticket);
    assert!(world.guard.is_live(ticket));
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.complete(ticket), Answered::Done);
    let (mut world, ticket) = dead_letter();
    world.complete(ticket);
    assert!(world.guard.is_live(ticket));
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.dead_lettered(ticket), Answered::Done);
    assert_eq!(world.mark("p0"), 101);
}

#[test]
fn a_completed_ticket_takes_no_second_answer() {
    for outcome in OUTCOMES {
        let (mut world, ticket) = running();
        world.complete(ticket);
        assert!(!world.guard.is_live(ticket));
        assert_eq!(world.answer(ticket, outcome), Answered::Stale, "{outcome:?}");
        assert_eq!(world.outputs(), ["commit p0=101"]);
        assert_eq!(world.guard.counters().completed, 1);
        assert_eq!(world.guard.in_flight(), 0);
    }
}

#[test]
fn an_abandoned_ticket_takes_no_second_answer() {
    for outcome in OUTCOMES {
        let (mut world, ticket) = running();
        world.abandon(ticket);
        assert!(!world.guard.is_live(ticket));
        assert_eq!(world.answer(ticket, outcome), Answered::Stale, "{outcome:?}");
        assert_eq!(world.mark("p0"), 100);
    }
}

#[test]
fn a_failed_ticket_takes_nothing_but_abandon() {
    for outcome in OUTCOMES {
        let (mut world, ticket) = running();
        world.fail(ticket);
        let expected = match outcome {
            Outcome::Abandoned => Answered::Done,
            _ => Answered::Stale,
        };
        assert_eq!(world.answer(ticket, outcome), expected, "{outcome:?}");
    }
}

#[test]
fn the_ticket_before_a_retry_is_dead_when_the_next_was_handed_out() {
    let (mut world, first) = running();
    world.fail(first);
    assert_eq!(world.tick(100).outputs(), ["retry p0:100"]);
    let second = world.ticket("p0:100");
    assert!(!world.guard.is_live(first));
    assert!(world.guard.is_live(second));
    for outcome in OUTCOMES {
        assert_eq!(world.answer(first, outcome), Answered::Stale, "{outcome:?}");
    }
    assert_eq!(world.complete(second), Answered::Done);
    assert_eq!(world.mark("p0"), 101);
}

#[test]
fn abandoning_in_back_off_frees_the_window_and_ends_the_retry() {
    let (mut world, ticket) = running();
    world.fail(ticket);
    assert_eq!(world.guard.in_flight(), 1);
    assert_eq!(world.abandon(ticket), Answered::Done);
    assert_eq!(world.guard.in_flight(), 0);
    assert_eq!(world.tick(60_000).outputs(), Vec::<String>::new());
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.admit("p0:100"), "run");
}

#[test]
fn abandoning_a_record_that_waits_for_its_dead_letter_is_allowed() {
    let (mut world, ticket) = running();
    world.fail_permanently(ticket);
    assert_eq!(world.abandon(ticket), Answered::Done);
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.guard.in_flight(), 0);
    assert_eq!(world.mark("p0"), 100);
}

#[test]
fn abandoning_a_dead_letter_frees_the_window_and_holds_the_mark() {
    let (mut world, ticket) = dead_letter();
    assert_eq!(world.abandon(ticket), Answered::Done);
    assert_eq!(world.guard.in_flight(), 0);
    assert_eq!(world.progress("p0").unfinished, 1);
    assert_eq!(world.mark("p0"), 100);
    assert_eq!(world.tick(60_000).outputs(), Vec::<String>::new());
}

#[test]
fn completions_are_legal_in_any_order() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let mut world =
            World::with(Config { commit_interval: 90_000, commit_count: 99, ..small() });
        world.assign("p0@100");
        let tickets = [100, 101, 102].map(|at| world.run(&format!("p0:{at}")));
        let mut open = vec![0, 1, 2];
        for which in order {
            assert_eq!(world.complete(tickets[which]), Answered::Done);
            open.retain(|&ticket| ticket != which);
            let mark = open.first().map_or(103, |&first| 100 + first as u64);
            assert_eq!(world.mark("p0"), mark, "{order:?}");
            assert_eq!(world.guard.in_flight() as usize, open.len());
        }
    }
}

#[test]
fn tickets_of_a_sealed_assignment_are_not_live_and_those_of_a_draining_one_are() {
    let (mut world, ticket) = running();
    world.revoke("p0", 20_000);
    assert!(world.guard.is_live(ticket));
    world.tick(20_000);
    assert!(!world.guard.is_live(ticket));
}

#[test]
fn a_failed_record_has_no_live_ticket_until_the_next_is_handed_out() {
    let (mut world, ticket) = running();
    world.fail(ticket);
    assert!(!world.guard.is_live(ticket));
    assert_eq!(world.progress("p0").in_hands, 0);
    assert_eq!(world.tick(100).outputs(), ["retry p0:100"]);
    assert!(world.guard.is_live(world.ticket("p0:100")));
    assert_eq!(world.progress("p0").in_hands, 1);
}
