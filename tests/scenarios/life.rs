//! A partition's life: every phase meets every input, pinned as one table.

use rebalance_guard::{CommitAnswer, InputError, Reply};

use crate::support::World;

/// p0 in `phase`, record 100 finished, 101 in a worker's hands (where the phase lets it), the
/// commit of 101 offered and not answered.
fn in_phase(phase: &str) -> World {
    let mut world = World::new();
    world.assign("p0@100").finish("p0:100").run("p0:101");
    assert_eq!(world.commits(), ["p0=101"]);
    match phase {
        "Unowned" => world.lost("p0"),
        "Draining" => world.revoke("p0", 10_000),
        "Committing" => world.revoke("p0", 0),
        _ => &mut world,
    };
    assert_eq!(world.drain().phase("p0"), phase);
    world
}

fn told(reply: Result<Reply, InputError>) -> String {
    match reply {
        Ok(reply) => format!("{reply:?}"),
        Err(_) => "Refused".to_owned(),
    }
}

fn answer(world: &mut World, input: &str) -> String {
    let ticket = world.ticket("p0:101");
    match input {
        "assign" => told(world.try_assign("p0@200")),
        "revoke" => format!("{:?}", world.revoke("p0", 5_000).owns("p9")),
        "revoke now" => format!("{:?}", world.revoke("p0", 0).owns("p9")),
        "lost" => format!("{:?}", world.lost("p0").owns("p9")),
        "rewind" => told(world.rewind("p0:100")),
        "admit" => world.admit("p0:102"),
        "complete" => format!("{:?}", world.complete(ticket)),
        "fail" => format!("{:?}", world.fail(ticket)),
        "abandon" => format!("{:?}", world.abandon(ticket)),
        "stored" => format!("{:?}", world.commit_answer("p0:101", 1, CommitAnswer::Stored)),
        "not mine" => format!("{:?}", world.commit_answer("p0:101", 1, CommitAnswer::NotMine)),
        "group above" => format!("{:?}", world.group_offset("p0:150", 1)),
        "tick 10000" => format!("{:?}", world.tick(10_000).owns("p9")),
        "tick 100000" => format!("{:?}", world.tick(100_000).owns("p9")),
        other => panic!("{other}"),
    }
    .replace("false", "-")
}

const INPUTS: [&str; 14] = [
    "assign",
    "revoke",
    "revoke now",
    "lost",
    "rewind",
    "admit",
    "complete",
    "fail",
    "abandon",
    "stored",
    "not mine",
    "group above",
    "tick 10000",
    "tick 100000",
];

/// phase | input | answer | outputs | phase afterwards and assignment
const TABLE: [&str; 56] = [
    "Unowned | assign | Done |  | Active #2",
    "Unowned | revoke | - |  | Unowned",
    "Unowned | revoke now | - |  | Unowned",
    "Unowned | lost | - |  | Unowned",
    "Unowned | rewind | Refused |  | Unowned",
    "Unowned | admit | refuse: not owned |  | Unowned",
    "Unowned | complete | Stale |  | Unowned",
    "Unowned | fail | Stale |  | Unowned",
    "Unowned | abandon | Stale |  | Unowned",
    "Unowned | stored | Stale |  | Unowned",
    "Unowned | not mine | Stale |  | Unowned",
    "Unowned | group above | Stale |  | Unowned",
    "Unowned | tick 10000 | - |  | Unowned",
    "Unowned | tick 100000 | - |  | Unowned",
    "Active | assign | Done | sealed p0 #1: lost, mark 101, left 1 | Active #2",
    "Active | revoke | - |  | Draining #1",
    "Active | revoke now | - | sealed p0 #1: deadline, mark 101, left 1 | Committing #1",
    "Active | lost | - | sealed p0 #1: lost, mark 101, left 1 | Unowned",
    "Active | rewind | Done | sealed p0 #1: rewound, mark 101, left 1 | Active #2",
    "Active | admit | run |  | Active #1",
    "Active | complete | Done |  | Active #1",
    "Active | fail | Done |  | Active #1",
    "Active | abandon | Done |  | Active #1",
    "Active | stored | Done |  | Active #1",
    "Active | not mine | Done | sealed p0 #1: lost, mark 101, left 1 | Unowned",
    "Active | group above | Done |  | Active #1",
    "Active | tick 10000 | - | commit p0=101 | Active #1",
    "Active | tick 100000 | - | rejoin after 0; sealed p0 #1: lost, mark 101, left 1 | Unowned",
    "Draining | assign | Done | sealed p0 #1: replaced, mark 101, left 1 | Active #2",
    "Draining | revoke | - |  | Draining #1",
    "Draining | revoke now | - | sealed p0 #1: deadline, mark 101, left 1 | Committing #1",
    "Draining | lost | - | sealed p0 #1: lost, mark 101, left 1 | Unowned",
    "Draining | rewind | Refused |  | Draining #1",
    "Draining | admit | refuse: draining |  | Draining #1",
    "Draining | complete | Done | sealed p0 #1: drained, mark 102, left 0; \
     commit p0=102 | Committing #1",
    "Draining | fail | Done | sealed p0 #1: drained, mark 101, left 1 | Committing #1",
    "Draining | abandon | Done | sealed p0 #1: drained, mark 101, left 1 | Committing #1",
    "Draining | stored | Done |  | Draining #1",
    "Draining | not mine | Done | sealed p0 #1: lost, mark 101, left 1 | Unowned",
    "Draining | group above | Done |  | Draining #1",
    "Draining | tick 10000 | - | sealed p0 #1: deadline, mark 101, left 1; \
     commit p0=101 | Committing #1",
    "Draining | tick 100000 | - | sealed p0 #1: deadline, mark 101, left 1 | Unowned",
    "Committing | assign | Done |  | Active #2",
    "Committing | revoke | - |  | Committing #1",
    "Committing | revoke now | - |  | Committing #1",
    "Committing | lost | - |  | Unowned",
    "Committing | rewind | Refused |  | Committing #1",
    "Committing | admit | refuse: sealed |  | Committing #1",
    "Committing | complete | Stale |  | Committing #1",
    "Committing | fail | Stale |  | Committing #1",
    "Committing | abandon | Stale |  | Committing #1",
    "Committing | stored | Done |  | Unowned",
    "Committing | not mine | Done |  | Unowned",
    "Committing | group above | Done |  | Unowned",
    "Committing | tick 10000 | - |  | Unowned",
    "Committing | tick 100000 | - |  | Unowned",
];

#[test]
fn every_phase_answers_every_input_as_the_table_says() {
    let mut table = TABLE.iter();
    for phase in ["Unowned", "Active", "Draining", "Committing"] {
        for input in INPUTS {
            let mut world = in_phase(phase);
            let answer = answer(&mut world, input);
            let outputs = world.outputs().join("; ");
            let after = match world.phase("p0") {
                gone if gone == "Unowned" => gone,
                owned => format!("{owned} #{}", world.assignment("p0")),
            };
            let line = format!("{phase} | {input} | {answer} | {outputs} | {after}");
            assert_eq!(Some(&line.as_str()), table.next());
        }
    }
    assert_eq!(table.next(), None);
}

#[test]
fn an_assign_adds_and_never_replaces_the_set() {
    let mut world = World::new();
    world.assign("p0@0").assign("p1@0");
    let owned: Vec<_> = world.guard.owned().map(|(partition, _)| partition.index).collect();
    assert_eq!(owned, [0, 1]);
    assert_eq!(world.assignment("p0"), 1);
    assert_eq!(world.outputs(), Vec::<String>::new());
}

#[test]
fn a_partition_named_twice_in_one_assign_takes_the_later_entry() {
    let mut world = World::new();
    world.assign("p0@100 p1@0 p0@300");
    assert_eq!(world.mark("p0"), 300);
    assert_eq!(world.guard.owned().count(), 2);
    assert_eq!(world.outputs(), Vec::<String>::new());
    assert_eq!(world.guard.counters().assignments, 2);
}

#[test]
fn a_partition_number_below_zero_refuses_the_assign_whole() {
    let mut world = World::new();
    assert_eq!(world.try_assign("p0@0 p-1@0 p1@0"), Err(InputError::NegativePartition(-1)));
    assert_eq!(world.guard.owned().count(), 0);
    world.assign("p0@0");
    assert_eq!(world.assignment("p0"), 1);
}

#[test]
fn one_partition_number_in_two_topics_is_two_partitions() {
    let mut world = World::new();
    world.assign("1/p2@0 12/p2@0 1/p22@0").finish("1/p2:0 12/p2:0 1/p22:0");
    assert_eq!(world.commits(), ["1/p2=1", "12/p2=1", "1/p22=1"]);
    world.lost("1/p2");
    assert_eq!(world.admit("12/p2:1"), "run");
    assert_eq!(world.admit("1/p22:1"), "run");
    assert_eq!(world.admit("1/p2:1"), "refuse: not owned");
}

#[test]
fn a_generation_that_is_not_known_makes_a_token_of_the_epoch_alone() {
    let mut world = World::new();
    for generation in [None, Some(0), Some(-1)] {
        world.generation = generation;
        world.assign("p0@0");
        assert_eq!(world.progress("p0").token.group, 0);
    }
}

#[test]
fn assignments_are_numbered_from_the_hosts_first_number_and_never_repeat() {
    let first = 1_700_000_000_000_u64 << 20;
    let config = rebalance_guard::Config { first_assignment: first, ..crate::support::small() };
    let mut world = World::with(config);
    for round in 0..10 {
        world.assign("p0@0 p1@0");
        assert_eq!(world.assignment("p0"), first + 2 * round);
        assert_eq!(world.assignment("p1"), first + 2 * round + 1);
        world.lost("p1").revoke("p0", 0);
    }
}

#[test]
fn a_fresh_assignment_is_not_idle_until_a_record_or_the_end_was_seen() {
    // B119 (fede1024/rust-rdkafka PR#644)
    let mut world = World::new();
    world.assign("p0@100 p1@0");
    assert!(!world.progress("p0").idle);
    assert_eq!(world.end_of_partition("p0"), Reply::Done);
    assert!(world.progress("p0").idle);
    assert!(!world.progress("p1").idle);
    let running = world.run("p1:0");
    assert!(!world.progress("p1").idle);
    world.complete(running);
    assert!(world.progress("p1").idle);
    world.assign("p0@100");
    assert!(!world.progress("p0").idle);
}

#[test]
fn a_later_owner_has_the_higher_token() {
    let mut world = World::new();
    let mut tokens = Vec::new();
    for (generation, what) in [(7, "p0@0"), (7, "p0@0"), (8, "p0@0"), (8, "p0@0")] {
        world.assign_in(generation, what);
        tokens.push(world.progress("p0").token);
    }
    assert!(tokens.is_sorted_by(|one, next| one < next));
    let words: Vec<_> = tokens.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["7.1", "7.2", "8.3", "8.4"]);
}
