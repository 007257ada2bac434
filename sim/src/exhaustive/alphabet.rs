//! Everything that can happen in a state.

use rebalance_guard::{Assignment, CommitAnswer, Offset, Outcome, Partition, Phase};

use super::node::{Node, partitions, tick};
use super::scope::{DRAIN, NEVER, Scope, Start};
use super::world::{Key, Log, Offer, PARTITIONS, number};
use crate::trace::{Action, LostScope, Offered, Resumed, Step};

/// One thing that can happen.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) step: Step,
    pub(super) faults: u8,
}

const OUTCOMES: [Outcome; 5] = [
    Outcome::Completed,
    Outcome::DeadLettered,
    Outcome::Failed { permanent: false },
    Outcome::Failed { permanent: true },
    Outcome::Abandoned,
];

const ANSWERS: [CommitAnswer; 5] = [
    CommitAnswer::Stored,
    CommitAnswer::Retry,
    CommitAnswer::Rejected,
    CommitAnswer::NotMine,
    CommitAnswer::Fatal,
];

pub(super) fn offset(value: u64) -> Offset {
    Offset::new(value).expect("logs are short")
}

/// Collects what can happen now, each with the faults that it costs.
struct Choices<'a> {
    node: &'a Node,
    scope: &'a Scope,
    actions: Vec<(Action, u8)>,
}

/// Everything that can happen, in one order.
pub(super) fn choices(node: &Node, scope: &Scope) -> Vec<Choice> {
    let mut all = Choices { node, scope, actions: Vec::with_capacity(48) };
    let there = partitions(scope);
    all.assigns(&there);
    for partition in &there {
        all.owned(*partition);
        all.records(*partition);
    }
    all.revokes(&there);
    all.losses(&there);
    all.tickets();
    if scope.config.lease != NEVER {
        all.free(Action::Polled);
    }
    let mut actions = all.actions;
    let left = scope.faults.saturating_sub(node.world.faults);
    actions.retain(|(_, faults)| *faults <= left);
    at_their_times(node, scope, actions)
}

/// Each action now; time alone to before, at and after the next deadline.
fn at_their_times(node: &Node, scope: &Scope, actions: Vec<(Action, u8)>) -> Vec<Choice> {
    let due = node.due();
    let mut choices = Vec::with_capacity(actions.len() + 3);
    if let Some(due) = due.filter(|due| scope.timed_calls && *due > node.now) {
        for (action, faults) in &actions {
            let step = Step { now: tick(due), action: action.clone() };
            choices.push(Choice { step, faults: *faults });
        }
    }
    for (action, faults) in actions {
        choices.push(Choice { step: Step { now: tick(node.now), action }, faults });
    }
    if let Some(due) = due {
        for now in [due.saturating_sub(1), due, due + 1] {
            if now > node.now {
                let step = Step { now: tick(now), action: Action::Tick };
                choices.push(Choice { step, faults: 0 });
            }
        }
    }
    choices
}

impl<'a> Choices<'a> {
    fn log(&self, partition: Partition) -> &'a Log {
        &self.node.world.logs[number(partition)]
    }

    fn free(&mut self, action: Action) {
        self.actions.push((action, 0));
    }

    fn fault(&mut self, action: Action) {
        self.actions.push((action, 1));
    }

    fn assigns(&mut self, there: &[Partition]) {
        let assign = |partitions| Action::Assign { generation: Some(1), partitions };
        self.free(assign(Vec::new()));
        let may = |p: &Partition| self.log(*p).assignments.len() < self.scope.assignments;
        let there: Vec<_> = there.iter().copied().filter(may).collect();
        for start in self.scope.starts {
            let mut both = Vec::new();
            for partition in &there {
                if let Some(resume) = resumed(*start, self.log(*partition)) {
                    self.free(assign(vec![(*partition, resume.clone())]));
                    both.push((*partition, resume));
                }
            }
            if self.scope.together && both.len() == 2 {
                self.free(assign(both));
            }
        }
    }

    fn owned(&mut self, partition: Partition) {
        let Some(progress) = self.node.guard.progress(partition) else { return };
        let (assignment, log) = (progress.assignment, self.log(partition));
        if log.unknown && progress.phase == Phase::Active {
            for start in self.scope.starts {
                if let Some(resume) = resumed(*start, log) {
                    self.free(Action::Position { partition, assignment, resume });
                }
            }
        }
        if self.scope.rewinds && log.assignments.len() < self.scope.assignments {
            for to in 0..=u64::from(log.len) {
                self.free(Action::Rewind { partition, offset: offset(to) });
            }
        }
        if self.scope.group_offsets {
            let held = log.committed.as_ref().map(|(held, _)| *held);
            for seen in 0..=u64::from(log.len) {
                let action = Action::GroupOffset { partition, assignment, offset: offset(seen) };
                self.actions.push((action, u8::from(held != Some(seen))));
            }
        }
        if self.scope.ends {
            self.free(Action::EndOfPartition { partition, assignment });
        }
        for offer in log.offers.iter().filter(|o| o.assignment == assignment.value()) {
            for answer in ANSWERS {
                self.commit_answer(partition, offer, answer);
            }
        }
    }

    fn commit_answer(&mut self, partition: Partition, offer: &Offer, answer: CommitAnswer) {
        let action = commit_answered(partition, offer, answer);
        if answer == CommitAnswer::Stored {
            self.free(action);
        } else {
            self.fault(action);
        }
    }

    fn records(&mut self, partition: Partition) {
        let progress = self.node.guard.progress(partition);
        let active = progress.is_some_and(|progress| progress.phase == Phase::Active);
        let owes = progress.is_some_and(|progress| progress.owed.is_some());
        let log = self.log(partition);
        let reach = if self.scope.gaps { u64::from(log.len) } else { log.next + u64::from(owes) };
        for at in 0..u64::from(log.len).min(reach + 1) {
            let row = log.rows[usize::try_from(at).unwrap_or(0)];
            for key in self.keys(row.key, active) {
                self.free(Action::Admit(record(partition, at, key)));
            }
        }
    }

    /// Keys that the record may have: its own; or, when none was seen yet, none, one seen before,
    /// or the next one.
    fn keys(&self, known: Key, active: bool) -> Vec<Key> {
        if known != Key::Open {
            return vec![known];
        }
        let different = (self.node.world.keys_used + 1).min(self.scope.keys);
        let keyless = self.scope.keyless || self.scope.keys == 0;
        let mut keys: Vec<_> = keyless.then_some(Key::None).into_iter().collect();
        keys.extend((0..different).map(|nth| Key::Of(b'a' + nth)));
        keys.truncate(if active { keys.len() } else { 1 });
        keys
    }

    fn revokes(&mut self, there: &[Partition]) {
        for deadline in [tick(self.node.now), tick(self.node.now).after(DRAIN)] {
            for partition in there {
                self.free(Action::Revoke { partitions: vec![*partition], deadline });
            }
            if there.len() > 1 {
                self.free(Action::Revoke { partitions: there.to_vec(), deadline });
            }
        }
    }

    fn losses(&mut self, there: &[Partition]) {
        for partition in there {
            self.fault(Action::Lost(LostScope::Some(vec![*partition])));
        }
        self.fault(Action::Lost(LostScope::All));
        self.fault(Action::Lost(LostScope::Fatal));
    }

    /// Answers that may count; those that are over are tried elsewhere.
    fn tickets(&mut self) {
        for ticket in 1..=self.node.runner.tickets.len() as u64 {
            for outcome in OUTCOMES {
                let action = Action::Answer { ticket, outcome };
                if self.node.oracle.is_stale(&action) {
                    continue;
                }
                match outcome {
                    Outcome::Completed | Outcome::DeadLettered => self.free(action),
                    _ => self.fault(action),
                }
            }
        }
    }
}

/// The record as a client gives it.
pub(super) fn record(partition: Partition, at: u64, key: Key) -> Offered {
    let key = match key {
        Key::Of(letter) => Some(vec![letter]),
        Key::Open | Key::None => None,
    };
    Offered { partition, offset: offset(at), key, attempts: 0, namespace: 0, leader_epoch: None }
}

pub(super) fn commit_answered(partition: Partition, offer: &Offer, answer: CommitAnswer) -> Action {
    Action::CommitAnswered {
        partition,
        assignment: numbered(offer.assignment),
        offset: offset(offer.offset),
        answer,
    }
}

fn numbered(assignment: u64) -> Assignment {
    Assignment::new(assignment).expect("numbers begin at 1")
}

/// Where reading resumes, if that start says anything of its own here.
pub(super) fn resumed(start: Start, log: &Log) -> Option<Resumed> {
    let committed = |(held, text): &(u64, Vec<u8>)| Resumed::Committed {
        offset: offset(*held),
        metadata: text.clone(),
    };
    match start {
        Start::Held => Some(log.committed.as_ref().map_or(Resumed::Empty(None), committed)),
        Start::HeldAt => log.committed.is_none().then(|| Resumed::Empty(Some(offset(0)))),
        Start::Landed => {
            let held = log.committed.as_ref().map(|(held, _)| *held);
            let open = log.offers.iter().rev().find(|o| !o.answered && Some(o.offset) >= held)?;
            Some(committed(&(open.offset, open.text.clone())))
        }
        Start::At(at) => Some(Resumed::At(offset(at))),
        Start::Unknown => Some(Resumed::Unknown),
    }
}

/// Inputs that speak of what is over: whatever they say, nothing may come of it.
pub(super) fn stale(node: &Node) -> Vec<Action> {
    let mut actions = Vec::new();
    for ticket in (1..=node.runner.tickets.len() as u64).chain([u64::MAX]) {
        actions.extend(OUTCOMES.map(|outcome| Action::Answer { ticket, outcome }));
    }
    for partition in PARTITIONS {
        let log = &node.world.logs[number(partition)];
        for offer in &log.offers {
            actions.extend(ANSWERS.map(|answer| commit_answered(partition, offer, answer)));
        }
        for assignment in log.assignments.iter().copied().map(numbered) {
            let (resume, offset) = (Resumed::At(offset(0)), offset(0));
            actions.push(Action::Position { partition, assignment, resume });
            actions.push(Action::GroupOffset { partition, assignment, offset });
            actions.push(Action::EndOfPartition { partition, assignment });
        }
    }
    actions.retain(|action| node.oracle.is_stale(action));
    actions
}
