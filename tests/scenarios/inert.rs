//! What is refused or stale leaves no trace but in the counters: the whole state is compared.

use rebalance_guard::{Answered, CommitAnswer, InputError, Outcome, Reply, Ticket};

use crate::support::{World, partition};

/// Everything that the guard holds, without what it counted.
fn state(world: &World) -> String {
    let mut text = format!("{:?}", *world.guard);
    for kind in ["Counters {", "PartitionCounters {"] {
        while let Some(from) = text.find(kind) {
            let length = text[from..].find('}').expect("a closing brace");
            text.replace_range(from..=from + length, "-");
        }
    }
    assert!(text.contains("Draining"), "the state is shown");
    text
}

/// p0 active with work of every kind, p1 draining, p2 committing, p3 with an unknown start and a
/// debt; the table is full. With it come tickets that are dead or answered.
fn busy() -> (World, Vec<Ticket>) {
    let mut world = World::new();
    world.assign("p0@100 p1@0 p2@0 p3@?");
    world.finish("p0:100=done p2:0").run("p0:101=running");
    let stale = [world.run("p0:105"), world.run("p0:106"), world.run("p0:107")];
    let [completed, abandoned, failed] = stale;
    world.complete(completed);
    world.abandon(abandoned);
    world.fail(failed);
    world.run("p1:0");
    assert_eq!(world.admit("p3:7"), "hold: resume unknown");
    world.drain().tick(100).drain();
    world.fail(world.ticket("p0:107"));
    world.revoke("p1 p2", 20_000).drain();
    assert_eq!((world.phase("p1"), world.phase("p2")), ("Draining".into(), "Committing".into()));
    (world, stale.to_vec())
}

#[test]
#[cfg_attr(miri, ignore = "compares long texts: hours under Miri")]
fn a_refused_record_leaves_no_trace() {
    let (mut world, _) = busy();
    let before = state(&world);
    for (record, answer) in [
        ("p0:99", "refuse: not above 107, below resume"),
        ("p0:100", "refuse: not above 107, finished"),
        ("p0:101", "refuse: not above 107, in flight"),
        ("p0:103", "refuse: not above 107, never seen"),
        ("p0:105", "refuse: not above 107, finished"),
        ("p0:107", "refuse: not above 107, in flight"),
        ("p0:9223372036854775807", "refuse: offset limit"),
        ("p1:1", "refuse: draining"),
        ("p2:1", "refuse: sealed"),
        ("p4:0", "refuse: not owned"),
        ("p4:0=done", "refuse: not owned"),
    ] {
        assert_eq!(world.admit(record), answer, "{record}");
        assert_eq!(state(&world), before, "{record}");
    }
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
#[cfg_attr(miri, ignore = "compares long texts: hours under Miri")]
fn a_keyed_record_delivered_twice_leaves_no_trace() {
    let (mut world, _) = busy();
    let before = state(&world);
    assert_eq!(world.admit("p0:100=done"), "skip: finished");
    assert_eq!(world.admit("p0:101=running"), "skip: in flight");
    assert_eq!(state(&world), before);
}

#[test]
#[cfg_attr(miri, ignore = "compares long texts: hours under Miri")]
fn a_refused_input_leaves_no_trace() {
    let (mut world, _) = busy();
    let before = state(&world);
    let mark = crate::support::offset(101);
    assert_eq!(
        world.try_assign("p0@0 p4@0"),
        Err(InputError::PartitionsFull { needed: 1, available: 0 })
    );
    assert_eq!(world.try_assign("p0@0 p-7@0"), Err(InputError::NegativePartition(-7)));
    assert_eq!(world.rewind("p0:102"), Err(InputError::AboveMark { mark }));
    assert_eq!(world.rewind("p1:0"), Err(InputError::NotActive(partition("p1"))));
    assert_eq!(world.rewind("p2:0"), Err(InputError::NotActive(partition("p2"))));
    assert_eq!(world.rewind("p4:0"), Err(InputError::NotActive(partition("p4"))));
    assert_eq!(world.rewind("p3:0"), Err(InputError::ResumeUnknown(partition("p3"))));
    assert_eq!(world.position("p3@?", 4), Err(InputError::NoPosition));
    assert_eq!(state(&world), before);
    assert_eq!(world.guard.counters().inputs_refused, 8);
}

#[test]
#[cfg_attr(miri, ignore = "compares long texts: hours under Miri")]
fn a_stale_ticket_leaves_no_trace() {
    let (mut world, stale) = busy();
    let before = state(&world);
    for ticket in stale {
        for outcome in [
            Outcome::Completed,
            Outcome::Failed { permanent: false },
            Outcome::Failed { permanent: true },
            Outcome::Abandoned,
            Outcome::DeadLettered,
        ] {
            assert_eq!(world.answer(ticket, outcome), Answered::Stale, "{ticket:?} {outcome:?}");
            assert_eq!(state(&world), before, "{ticket:?} {outcome:?}");
        }
    }
    assert_eq!(world.guard.counters().stale_answers, 15);
}

#[test]
#[cfg_attr(miri, ignore = "compares long texts: hours under Miri")]
fn a_stale_input_leaves_no_trace() {
    let (mut world, _) = busy();
    let before = state(&world);
    let answers = [
        CommitAnswer::Stored,
        CommitAnswer::Retry,
        CommitAnswer::Rejected,
        CommitAnswer::NotMine,
        CommitAnswer::Fatal,
    ];
    for answer in answers {
        for (commit, assignment) in [("p0:101", 9), ("p2:1", 1), ("p4:1", 3)] {
            assert_eq!(world.commit_answer(commit, assignment, answer), Reply::Stale);
        }
    }
    assert_eq!(world.commit_answer("p2:2", 3, CommitAnswer::Stored), Reply::Stale);
    assert_eq!(world.commit_answer("p2:0", 3, CommitAnswer::Retry), Reply::Stale);
    assert_eq!(world.position("p3@7", 9), Ok(Reply::Stale));
    assert_eq!(world.position("p0@7", 1), Ok(Reply::Stale));
    assert_eq!(world.group_offset("p0:900", 9), Reply::Stale);
    assert_eq!(world.group_offset("p4:900", 1), Reply::Stale);
    assert_eq!(state(&world), before);
}

#[test]
#[cfg_attr(miri, ignore = "compares long texts: hours under Miri")]
fn what_names_nothing_that_is_owned_leaves_no_trace() {
    let (mut world, _) = busy();
    let before = state(&world);
    world.assign("").revoke("", 0).lost("").revoke("p4 p9", 0).lost("p4 p9");
    assert_eq!(state(&world), before);
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
#[cfg_attr(miri, ignore = "compares long texts: hours under Miri")]
fn time_that_does_not_move_leaves_no_trace() {
    let (mut world, _) = busy();
    let before = state(&world);
    world.tick(100).tick(99).tick(0).tick(100);
    assert_eq!(state(&world), before);
}
