//! The last refusals and transitions can be read afterwards.

use rebalance_guard::{Config, JournalEntry};

use crate::support::{World, small};
use crate::words::name;

fn noting(entries: u32) -> World {
    World::with(Config { journal: entries, ..small() })
}

fn line(entry: JournalEntry) -> String {
    let place = entry.partition.map_or_else(|| "-".to_owned(), name);
    let assignment = entry.assignment.map_or_else(String::new, |number| format!(" #{number}"));
    let offset = entry.offset.map_or_else(String::new, |offset| format!(" @{offset}"));
    let times = if entry.times == 1 { String::new() } else { format!(" x{}", entry.times) };
    format!("{} {place}{assignment}{offset}: {}{times}", entry.at.value(), entry.event)
}

fn journal(world: &World) -> Vec<String> {
    world.guard.journal().map(line).collect()
}

#[test]
fn a_hand_over_reads_as_a_story() {
    let mut world = noting(32);
    world.assign("p0@100 p1@?").finish("p0:100");
    world.at(10).revoke("p0", 5_000).commit_all();
    assert_eq!(
        journal(&world),
        [
            "0 p0 #1 @100: assigned",
            "0 p1 #2: assigned",
            "10 p0 #1: revoked",
            "10 p0 #1 @101: sealed: drained",
            "10 p0 #1: released, last commit stored",
        ]
    );
}

#[test]
fn refusals_are_kept_with_their_reason() {
    let mut world = noting(32);
    world.assign("p0@100").run("p0:100");
    world.admit("p0:100");
    world.admit("p7:3");
    let ticket = world.ticket("p0:100");
    world.complete(ticket);
    world.complete(ticket);
    assert!(world.rewind("p0:500").is_err());
    assert_eq!(
        journal(&world)[1..],
        [
            "0 p0 #1 @100: refused: offset does not move forward: last 100, in flight here",
            "0 p7 @3: refused: fenced: not owned",
            "0 - #1: stale answer",
            "0 -: input refused: a rewind above 101 would step over unfinished \
             work",
        ]
    );
}

#[test]
fn the_same_refusal_in_a_row_is_one_entry() {
    let mut world = noting(32);
    for offset in 5..105 {
        world.admit(&format!("p0:{offset}"));
    }
    assert_eq!(journal(&world), ["0 p0 @5: refused: fenced: not owned x100"]);
}

#[test]
fn the_oldest_entries_make_room() {
    let mut world = noting(3);
    world.assign("p0@0 p1@0 p2@0 p3@0").at(5).lost("p0");
    let kept = ["0 p2 #3 @0: assigned", "0 p3 #4 @0: assigned", "5 p0 #1 @0: sealed: lost"];
    assert_eq!(journal(&world), kept);
}

#[test]
fn an_expired_lease_a_dead_client_and_a_storm_are_noted() {
    let mut world = World::with(Config { journal: 4, storm_at: 3, lease: 1_000, ..small() });
    world.assign("p0@0").tick(1_000);
    assert_eq!(journal(&world)[1..], ["1000 p0 #1 @0: sealed: lost", "1000 -: lease expired"]);
    world.assign_in(8, "").assign_in(9, "").fatal();
    assert_eq!(journal(&world)[2..], ["1000 -: storm began", "1000 -: client dead"]);
}

#[test]
fn without_places_nothing_is_noted() {
    let mut world = noting(0);
    world.assign("p0@0").admit("p1:0");
    assert_eq!(journal(&world), Vec::<String>::new());
}
