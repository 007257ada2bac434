//! One state: the real guard, its judge, and the environment.

use core::hash::{Hash, Hasher};

use rebalance_guard::{
    CommitAnswer, Config, Guard, Output, Partition, Rule, StaticMemory, Tick, TicketKind,
};

use super::alphabet::Choice;
use super::mix::Mix;
use super::scope::Scope;
use super::world::{PARTITIONS, World, Wrong};
use crate::oracle::Oracle;
use crate::trace::{Action, Answer, Runner, Step};

/// Tables as small as the searches allow, so that a copy costs little.
pub(super) type Core = Guard<StaticMemory<2, 3, 2, 3, 24, 0>>;

/// Where a search begins: late enough for late ticks.
pub(super) const BEGIN: u64 = 1_000;

/// No snapshot of such tables is longer.
const SNAPSHOT_MAX: usize = 4_096;

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) guard: Core,
    pub(super) runner: Runner,
    pub(super) oracle: Oracle,
    pub(super) world: World,
    pub(super) now: u64,
}

pub(super) fn core(config: Config, without: Option<Rule>) -> Core {
    let memory = StaticMemory::new();
    let made = match without {
        None => Guard::new(memory, config),
        Some(rule) => Guard::without(memory, config, rule),
    };
    made.expect("the settings of a search are sound")
}

/// The partitions that are there.
pub(super) fn partitions(scope: &Scope) -> Vec<Partition> {
    let there = PARTITIONS.into_iter().zip(scope.records);
    there.filter(|(_, records)| *records > 0).map(|(partition, _)| partition).collect()
}

pub(super) fn tick(value: u64) -> Tick {
    Tick::new(value).unwrap_or(Tick::MAX)
}

impl Node {
    pub(super) fn root(scope: &Scope, without: Option<Rule>) -> Self {
        let mut guard = core(scope.config, without);
        guard.handle_timeout(tick(BEGIN));
        let mut oracle = Oracle::new(scope.config, &PARTITIONS);
        let begin = Self::begin();
        let mut runner = Runner::default();
        let answer = runner.step(&mut guard, &PARTITIONS, &begin);
        oracle.observe(&begin, &answer).expect("nothing happened yet");
        Self { guard, runner, oracle, world: World::new(scope), now: BEGIN }
    }

    /// The step that every history begins with.
    pub(super) fn begin() -> Step {
        Step { now: tick(BEGIN), action: Action::Tick }
    }

    /// The state that a choice leads to, judged, and what was answered.
    pub(super) fn after(&self, choice: &Choice) -> Result<(Self, Answer), Wrong> {
        let mut after = self.clone();
        after.world.faults += choice.faults;
        let answer = after.judged(&choice.step)?;
        Ok((after, answer))
    }

    /// The step itself, without a judge.
    pub(super) fn take(&mut self, step: &Step) -> Result<Answer, Wrong> {
        let answer = self.told(step)?;
        self.learn(step, &answer)?;
        Ok(answer)
    }

    /// The step, and every promise that can be judged by it.
    pub(super) fn judged(&mut self, step: &Step) -> Result<Answer, Wrong> {
        let repeated = self.repeated();
        let answer = self.told(step)?;
        self.oracle.observe(step, &answer).map_err(|broken| (broken.promise, broken.detail))?;
        self.learn(step, &answer)?;
        self.count_faults(step, &answer, self.repeated() - repeated);
        Ok(answer)
    }

    fn told(&mut self, step: &Step) -> Result<Answer, Wrong> {
        let answer = self.runner.step(&mut self.guard, &PARTITIONS, step);
        self.now = self.now.max(step.now.value());
        self.timers_are_in_time()?;
        Ok(answer)
    }

    fn learn(&mut self, step: &Step, answer: &Answer) -> Result<(), Wrong> {
        self.world.learn(step, answer)?;
        self.world.number_assignments(answer);
        Ok(())
    }

    fn repeated(&self) -> u64 {
        self.guard.counters().commits_retried
    }

    /// Time brings faults, too: an offer that nobody answered in time, a lease that ran out.
    fn count_faults(&mut self, step: &Step, answer: &Answer, repeated: u64) {
        let retry = |action: &Action| {
            matches!(action, Action::CommitAnswered { answer: CommitAnswer::Retry, .. })
        };
        let unanswered = repeated.saturating_sub(u64::from(retry(&step.action)));
        let expired = answer.outputs.iter().any(|o| matches!(o, Output::Rejoin { .. }));
        let faults = u8::try_from(unanswered).unwrap_or(u8::MAX).saturating_add(u8::from(expired));
        self.world.faults = self.world.faults.saturating_add(faults);
    }

    /// A snapshot brings the same guard back.
    pub(super) fn comes_back(&self) -> Result<(), Wrong> {
        let mut room = [0; SNAPSHOT_MAX];
        let length = self.guard.snapshot(&mut room).expect("no snapshot of so few is longer");
        let mut again = core(*self.guard.config(), None);
        let restored = again.reload(tick(self.now), &room[..length]);
        if restored.is_ok() && print_of(&again) == self.guard_print() {
            return Ok(());
        }
        Err(("snapshot", format!("restored: {restored:?}, and it is another guard")))
    }

    /// The guard's bound for the next deadline is never late; it is made exact, so that states
    /// differ in nothing else.
    fn timers_are_in_time(&mut self) -> Result<(), Wrong> {
        let bound = self.guard.poll_timeout();
        self.guard.look_again();
        let exact = self.guard.poll_timeout();
        let output = self.guard.poll_output();
        if output.is_none() && (exact.is_none() || bound.is_some_and(|bound| Some(bound) <= exact))
        {
            return Ok(());
        }
        Err((
            "P12",
            format!("told to call at {bound:?}, but {exact:?} is due, bringing {output:?}"),
        ))
    }

    /// What decides the guard's future.
    pub(super) fn guard_print(&self) -> u64 {
        print_of(&self.guard)
    }

    fn print_into(&self, mix: &mut Mix) {
        self.guard.fingerprint(mix);
        self.due().map(|due| due - self.now).hash(mix);
        self.world.fingerprint(mix);
        for ticket in self.live() {
            self.world.tickets[ticket].hash(mix);
        }
    }

    /// The state without what the search has left to spend: what a fair end depends on.
    pub(super) fn fair_print(&self) -> u64 {
        let mut mix = Mix::new();
        self.print_into(&mut mix);
        mix.finish()
    }

    /// The whole state.
    pub(super) fn print(&self) -> u64 {
        let mut mix = Mix::new();
        self.print_into(&mut mix);
        self.oracle.digest(&mut mix);
        self.world.budget(&mut mix);
        mix.finish()
    }

    /// Indices of tickets in somebody's hands.
    pub(super) fn live(&self) -> impl Iterator<Item = usize> + '_ {
        let tickets = self.runner.tickets.iter().enumerate();
        tickets.filter(|(_, ticket)| self.guard.is_live(**ticket)).map(|(index, _)| index)
    }

    /// Tickets that are over, a bit for each place, kind, attempt and whether the assignment goes
    /// on: what a guard could mistake one for. Each alone must change nothing, so it does not
    /// matter which of them are out together.
    pub(super) fn over(&self) -> u64 {
        let tickets = self.runner.tickets.iter().zip(&self.world.tickets);
        let over = tickets.filter(|(ticket, _)| !self.guard.is_live(**ticket));
        over.fold(0, |bits, (ticket, (log, _))| {
            let last = self.world.logs[usize::from(*log)].assignments.last();
            let current = u16::from(last == Some(&ticket.assignment().value()));
            let letter = u16::from(ticket.kind() == TicketKind::DeadLetter);
            let place = u16::from(ticket.to_bytes()[0] % 3);
            bits | 1 << (((ticket.attempt() % 4) * 3 + place) * 4 + letter * 2 + current)
        })
    }

    /// The next tick at which something may fall due.
    pub(super) fn due(&self) -> Option<u64> {
        let due = self.guard.poll_timeout()?;
        (due < Tick::MAX).then(|| due.value().max(self.now))
    }
}

/// What decides a guard's future.
pub(super) fn print_of(guard: &Core) -> u64 {
    let mut mix = Mix::new();
    guard.fingerprint(&mut mix);
    mix.finish()
}
