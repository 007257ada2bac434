//! When which fault hits whom.

use rebalance_guard_sim::group::{Act, CommitFault, Planned};

use super::args::SimulateArgs;
use super::faults::Fault;
use crate::demo::random::Random;

/// All members start within this time.
const START_MS: u64 = 1_000;

/// Spreads the faults over the middle of the traffic, in an order and upon victims that the seed
/// draws.
pub(super) fn plan(args: &SimulateArgs, faults: &[Fault]) -> Vec<Planned> {
    let mut planner = Planner {
        random: Random::new(args.seed),
        args,
        free_at: vec![0; usize::from(args.members)],
        planned: Vec::new(),
    };
    for member in 0..usize::from(args.members) {
        let at = planner.random.below(START_MS);
        planner.push(at, Act::Start(member));
    }
    let mut faults = faults.to_vec();
    for last in (1..faults.len()).rev() {
        faults.swap(last, planner.index(last + 1));
    }
    let all = u64::from(args.seconds) * 1_000;
    let (begin, share) = (all / 10, all * 8 / 10 / (faults.len() as u64).max(1));
    for (number, fault) in (0..).zip(faults) {
        let at = begin + number * share + planner.random.below((share / 2).max(1));
        planner.place(at, fault);
    }
    planner.planned.sort_by_key(|planned| planned.at);
    planner.planned
}

struct Planner<'a> {
    random: Random,
    args: &'a SimulateArgs,
    /// When each member has got over what it met.
    free_at: Vec<u64>,
    planned: Vec<Planned>,
}

impl Planner<'_> {
    fn push(&mut self, at: u64, act: Act) {
        self.planned.push(Planned { at, act });
    }

    /// A number below `count`.
    fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(count as u64)).unwrap_or(0)
    }

    /// A member that has nothing to get over, if there is one.
    fn victim(&mut self, at: u64) -> usize {
        let members = 0..self.free_at.len();
        let free = |member: &usize| self.free_at.get(*member).is_some_and(|free| *free <= at);
        let free: Vec<usize> = members.clone().filter(free).collect();
        let among = if free.is_empty() { members.collect() } else { free };
        let chosen = self.index(among.len());
        among.get(chosen).copied().unwrap_or(0)
    }

    /// It has to get over it until then.
    fn busy(&mut self, member: usize, until: u64) {
        if let Some(free_at) = self.free_at.get_mut(member) {
            *free_at = until;
        }
    }

    /// From `from` to below `to`.
    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.random.below(to.saturating_sub(from).max(1))
    }

    /// From 1.1 to 1.8 times as long.
    fn beyond(&mut self, limit: u32) -> u64 {
        let limit = u64::from(limit);
        self.between(limit * 11 / 10, limit * 18 / 10)
    }

    fn place(&mut self, at: u64, fault: Fault) {
        let act = match fault {
            Fault::SlowCommit => {
                let span = self.between(10_000, 30_000);
                Act::SlowCommits(span, self.between(1_000, 8_000))
            }
            Fault::FailingCommit => {
                let span = self.between(10_000, 30_000);
                let stored = self.index(2) == 1;
                let kind = if stored { CommitFault::InDoubt } else { CommitFault::NotStored };
                Act::FailCommits(span, kind)
            }
            Fault::Compaction => Act::Compact(self.partition()),
            Fault::Truncation => Act::Truncate(self.partition()),
            _ => self.of_member(at, fault),
        };
        self.push(at, act);
    }

    fn partition(&mut self) -> u32 {
        u32::try_from(self.index(usize::from(self.args.partitions))).unwrap_or(0)
    }

    fn of_member(&mut self, at: u64, fault: Fault) -> Act {
        let member = self.victim(at);
        match fault {
            Fault::Restart => {
                let down = self.between(2_000, 8_000);
                self.down(at, member, down, Act::Stop(member))
            }
            Fault::Kill => {
                let down = self.between(5_000, 20_000);
                self.down(at, member, down, Act::Kill(member))
            }
            Fault::Freeze | Fault::Network => {
                let span = self.beyond(self.args.session_ms);
                self.busy(member, at + span);
                let freeze = fault == Fault::Freeze;
                if freeze { Act::Pause(member, span) } else { Act::Cut(member, span) }
            }
            Fault::Stall => {
                let span = self.beyond(self.args.max_poll_ms);
                self.busy(member, at + span);
                Act::Stall(member, span)
            }
            Fault::Hang => {
                let drain = u64::from(self.args.drain_ms);
                Act::Hang(member, self.between(drain / 2, drain * 2))
            }
            Fault::Clock => {
                let by = i64::try_from(self.between(1_000, 60_000)).unwrap_or(1_000);
                Act::Clock(member, if self.index(2) == 0 { by } else { -by })
            }
            Fault::Duplicate => Act::Duplicate(member),
            _ => Act::LateAnswer(member),
        }
    }

    fn down(&mut self, at: u64, member: usize, span: u64, act: Act) -> Act {
        self.push(at + span, Act::Start(member));
        self.busy(member, at + span);
        act
    }
}
