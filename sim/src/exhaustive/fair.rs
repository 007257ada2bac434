//! No dead end: from a state a fair environment finishes every record and gets every partition
//! back.
//!
//! The environment answers every ticket and stores every commit, tells positions, offers what is
//! owed and what comes next, lets time pass while it polls, assigns what is not owned, and revokes
//! everything when all is done. What it does depends on the state alone, so a way that meets a
//! state which was finished before needs no more steps.

use rebalance_guard::{CommitAnswer, Outcome, Partition, Phase, Progress, TicketKind, WaitReason};

use super::alphabet::{commit_answered, offset, record, resumed};
use super::mix::Known;
use super::node::{Node, core, partitions, tick};
use super::scope::{DRAIN, NEVER, Scope, Start};
use super::world::{Log, Offer, Row, World, Wrong, number};
use crate::trace::{Action, Resumed, Step};

/// More steps than any end needs.
const STEPS_MAX: usize = 300;

/// What went wrong on the way to an end, and the steps of that way.
pub(super) type Astray = (Wrong, Vec<Step>);

/// Follows the fair environment to the end, or to a state in `known`.
pub(super) fn finishes(node: &Node, scope: &Scope, known: &mut Known) -> Result<(), Astray> {
    let mut print = node.fair_print();
    if known.contains(&print) {
        return Ok(());
    }
    let mut node = node.clone();
    let (mut way, mut steps) = (Vec::new(), Vec::new());
    for _ in 0..STEPS_MAX {
        way.push(print);
        begins_anew_if_dead(&mut node, scope);
        let Some(step) = next_step(&node, scope).map_err(|wrong| (wrong, steps.clone()))? else {
            known.extend(way);
            return Ok(());
        };
        if scope.config.lease != NEVER {
            let now = node.now;
            node.guard.polled(tick(now));
            steps.push(at(now, Action::Polled));
        }
        steps.push(step.clone());
        node.take(&step).map_err(|wrong| (wrong, steps.clone()))?;
        print = node.fair_print();
        if known.contains(&print) {
            known.extend(way);
            return Ok(());
        }
    }
    let detail = format!("not finished after {STEPS_MAX} fair steps: {}", shown(&node, scope));
    // The steps go round in a circle: none of them belongs to the history.
    Err((("dead end", detail), Vec::new()))
}

fn shown(node: &Node, scope: &Scope) -> String {
    let progress = partitions(scope).into_iter().map(|partition| node.guard.progress(partition));
    format!("{:?} {:?}", progress.collect::<Vec<_>>(), node.world.logs)
}

/// The host of a dead client goes on with a new client and a new guard.
fn begins_anew_if_dead(node: &mut Node, scope: &Scope) {
    if node.guard.waiting().is_none_or(|waiting| waiting.why != WaitReason::Dead) {
        return;
    }
    node.guard = core(scope.config, None);
    node.guard.handle_timeout(tick(node.now));
    node.runner.tickets.clear();
    node.world.tickets.clear();
    for log in &mut node.world.logs {
        log.offers.clear();
    }
}

/// The fair thing to do, or `None` when all is done.
fn next_step(node: &Node, scope: &Scope) -> Result<Option<Step>, Wrong> {
    let there = partitions(scope);
    let offer = || there.iter().find_map(|partition| offers(node, *partition));
    if let Some(action) = answer(node, scope).or_else(offer) {
        return Ok(Some(at(node.now, action)));
    }
    if there.iter().any(|partition| waits(node, *partition)) {
        let Some(due) = node.due() else {
            return Err(("dead end", format!("nothing falls due: {}", shown(node, scope))));
        };
        return Ok(Some(at(due.max(node.now + 1), Action::Tick)));
    }
    Ok(assign(node, &there).or_else(|| revoke(node)).map(|action| at(node.now, action)))
}

fn at(now: u64, action: Action) -> Step {
    Step { now: tick(now), action }
}

/// Everything that is not owned and of which something is left.
fn assign(node: &Node, there: &[Partition]) -> Option<Action> {
    let log = |partition: &Partition| &node.world.logs[number(*partition)];
    let open = |p: &&Partition| node.guard.progress(**p).is_none() && !is_over(&node.world, log(p));
    let starts = |p: &Partition| (*p, truth(log(p)));
    let partitions: Vec<_> = there.iter().filter(open).map(starts).collect();
    (!partitions.is_empty()).then_some(Action::Assign { generation: Some(1), partitions })
}

fn revoke(node: &Node) -> Option<Action> {
    let partitions: Vec<_> = node.guard.owned().map(|(partition, _)| partition).collect();
    let deadline = tick(node.now).after(DRAIN);
    (!partitions.is_empty()).then_some(Action::Revoke { partitions, deadline })
}

/// Where the group says that reading resumes.
fn truth(log: &Log) -> Resumed {
    let start = if log.committed.is_some() { Start::Held } else { Start::HeldAt };
    resumed(start, log).unwrap_or_else(|| Resumed::At(offset(0)))
}

/// Nothing of the log is left to do, and the group knows it as far as it can.
fn is_over(world: &World, log: &Log) -> bool {
    let rows = || (0..).zip(log.rows.iter().take(usize::from(log.len)));
    let held = log.committed.as_ref().map_or(0, |(held, _)| *held);
    let over = |(offset, row): (u64, &Row)| {
        row.done || row.passed || (offset < held && world.is_passed_with_another(row))
    };
    rows().all(over) && (held >= u64::from(log.len) || rows().any(|(_, row)| row.passed))
}

/// An answer that somebody owes the guard.
fn answer(node: &Node, scope: &Scope) -> Option<Action> {
    if let Some(index) = node.live().next() {
        let outcome = match node.runner.tickets[index].kind() {
            TicketKind::Run => Outcome::Completed,
            TicketKind::DeadLetter => Outcome::DeadLettered,
        };
        return Some(Action::Answer { ticket: index as u64 + 1, outcome });
    }
    partitions(scope).into_iter().find_map(|partition| {
        let progress = node.guard.progress(partition)?;
        let log = &node.world.logs[number(partition)];
        let own = |o: &&Offer| o.assignment == progress.assignment.value();
        let last = log.offers.iter().rfind(own).filter(|offer| !offer.answered)?;
        Some(commit_answered(partition, last, CommitAnswer::Stored))
    })
}

/// What the client gives an active partition: a position, the record owed, the next one, or one
/// that was given up.
fn offers(node: &Node, partition: Partition) -> Option<Action> {
    let progress = node.guard.progress(partition).filter(|p| p.phase == Phase::Active)?;
    let log = &node.world.logs[number(partition)];
    if log.unknown {
        let (assignment, resume) = (progress.assignment, truth(log));
        return Some(Action::Position { partition, assignment, resume });
    }
    let at = match (progress.owed, progress.paused) {
        (Some(owed), false) => owed.value(),
        (Some(_), true) => return None,
        (None, false) if log.next < u64::from(log.len) => log.next,
        (None, _) => given_up(node, &progress)?,
    };
    let row = log.rows.get(usize::try_from(at).ok()?)?;
    Some(Action::Admit(record(partition, at, row.key)))
}

/// The lowest record given up, once nothing is in flight: the mark stands at it. It needs no place
/// of the budget, so it is offered while fetching is paused, too.
fn given_up(node: &Node, progress: &Progress) -> Option<u64> {
    let nothing_runs = node.guard.in_flight() == 0 && progress.unfinished > 0;
    nothing_runs.then(|| progress.mark.map(|mark| mark.value())).flatten()
}

/// Whether time must bring something for it: a retry, a dead letter, room, an end.
fn waits(node: &Node, partition: Partition) -> bool {
    let progress = node.guard.progress(partition);
    progress.is_some_and(|p| {
        p.phase != Phase::Active || p.unfinished > 0 || p.owed.is_some() || p.paused
    })
}

/// Whatever nobody answers, a revoke ends by its deadline and the time of its last commit (P5).
pub(super) fn hands_over(node: &Node, scope: &Scope) -> Result<(), Astray> {
    let mut node = node.clone();
    let deadline = tick(node.now).after(DRAIN);
    let end = deadline.after(scope.config.commit_timeout).value();
    let mut steps = vec![at(node.now, Action::Revoke { partitions: partitions(scope), deadline })];
    loop {
        let step = steps.last().expect("it begins with one").clone();
        node.judged(&step).map_err(|wrong| (wrong, steps.clone()))?;
        if node.guard.owned().next().is_none() {
            return Ok(());
        }
        let Some(due) = node.due().filter(|due| *due <= end && node.now < end) else {
            let detail = format!("revoked with {deadline:?} and still owned at {}", node.now);
            return Err((("P5", detail), steps));
        };
        steps.push(at(due.max(node.now + 1), Action::Tick));
    }
}
