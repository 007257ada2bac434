//! Where the seed places the faults.

use super::options::{Act, CommitFault, Options, Planned, Reset};

/// What happens in this run, in order of time.
pub(super) fn plan(options: &Options) -> Vec<Planned> {
    let mut planner = Planner {
        rng: fastrand::Rng::with_seed(options.seed ^ 0x706C_616E),
        options,
        planned: Vec::new(),
    };
    for member in 0..options.members {
        let at = if member == 0 { 0 } else { planner.rng.u64(0..options.produce_ms / 4 + 1) };
        planner.planned.push(Planned { at, act: Act::Start(member) });
    }
    let mut all = options.plan.clone().unwrap_or_else(|| {
        planner.place_all();
        planner.planned
    });
    all.sort_by_key(|planned| planned.at);
    all
}

struct Planner<'a> {
    rng: fastrand::Rng,
    options: &'a Options,
    planned: Vec<Planned>,
}

impl Planner<'_> {
    fn place_all(&mut self) {
        let faults = self.options.faults;
        let (session, lease) = (self.options.session_ms, self.options.guard.lease);
        self.place(faults.crash, |p, at| p.ends(at, Act::Kill));
        self.place(faults.restart, |p, at| p.ends(at, Act::Stop));
        self.place(faults.pause, |p, at| {
            let (member, span) = (p.member(), p.rng.u64(session / 2..session * 2));
            p.push(at, Act::Pause(member, span));
        });
        self.place(faults.twin, |p, at| {
            let (member, span) = (p.member(), p.rng.u64(1..session));
            p.push(at, Act::Twin(member, span));
        });
        self.place(faults.stall, |p, at| {
            let (member, span) = (p.member(), p.rng.u64(lease / 2..lease * 2));
            p.push(at, Act::Stall(member, span));
        });
        self.place(faults.cut, |p, at| {
            let (member, span) = (p.member(), p.rng.u64(session / 4..session * 3 / 2));
            p.push(at, Act::Cut(member, span));
        });
        self.place_for_commits();
        self.place(faults.hang, |p, at| {
            let (member, span) = (p.member(), p.rng.u64(20..lease * 2));
            p.push(at, Act::Hang(member, span));
        });
        self.place(faults.late_answer, |p, at| {
            let member = p.member();
            p.push(at, Act::LateAnswer(member));
        });
        self.place(faults.clock, |p, at| {
            let far = i64::try_from(lease).unwrap_or(i64::MAX / 4);
            let by = [-10, -40, 30, far][p.rng.usize(0..4)];
            let member = p.member();
            p.push(at, Act::Clock(member, by));
        });
        self.place(faults.duplicate, |p, at| {
            let member = p.member();
            p.push(at, Act::Duplicate(member));
        });
        self.place(faults.leader, |p, at| p.at_partition(at, Act::Leader));
        self.place(faults.compaction, |p, at| p.at_partition(at, Act::Compact));
        self.place(faults.truncation, |p, at| {
            p.at_partition(at, Act::Truncate);
            if p.rng.bool() {
                // With nobody there also what was read goes, as far as it is not committed.
                p.ends(at, Act::Kill);
                p.at_partition(at + 5, Act::Truncate);
            }
        });
        self.place(faults.reset, |p, at| {
            let kind = Reset::ALL[p.rng.usize(0..Reset::ALL.len())];
            let partition = p.rng.u32(0..p.options.partitions.max(1));
            p.push(at, Act::Reset(partition, kind));
        });
    }

    fn place_for_commits(&mut self) {
        let timeout = self.options.guard.commit_timeout;
        self.place(self.options.faults.slow_commit, |p, at| {
            let (span, late) = (p.rng.u64(10..timeout * 6), p.rng.u64(timeout / 2..timeout * 2));
            p.push(at, Act::SlowCommits(span, late));
        });
        self.place(self.options.faults.failing_commit, |p, at| {
            let kinds = [CommitFault::NotStored, CommitFault::InDoubt, CommitFault::TooLarge];
            let (span, kind) = (p.rng.u64(10..timeout * 4), kinds[p.rng.usize(0..3)]);
            p.push(at, Act::FailCommits(span, kind));
        });
    }

    fn place(&mut self, count: u32, one: impl Fn(&mut Self, u64)) {
        for _ in 0..count {
            let at = self.rng.u64(0..self.options.produce_ms.max(1));
            one(self, at);
        }
    }

    fn ends(&mut self, at: u64, act: fn(usize) -> Act) {
        let member = self.member();
        let down = self.rng.u64(1..self.options.session_ms * 2);
        self.push(at, act(member));
        self.push(at + down, Act::Start(member));
    }

    fn at_partition(&mut self, at: u64, act: fn(u32) -> Act) {
        let partition = self.rng.u32(0..self.options.partitions.max(1));
        self.push(at, act(partition));
    }

    fn member(&mut self) -> usize {
        self.rng.usize(0..self.options.members.max(1))
    }

    fn push(&mut self, at: u64, act: Act) {
        self.planned.push(Planned { at, act });
    }
}
