//! What goes wrong, done.

use super::World;
use super::member::Member;
use crate::group::options::{Act, Planned};
use crate::group::process::Trouble;

impl World<'_> {
    pub(super) fn act(&mut self, planned: &Planned) {
        let now = self.now;
        match planned.act {
            Act::Start(member) => self.start(member),
            Act::Stop(member) => self.with(member, "fault restart", |t| t.stopping = true),
            Act::Kill(member) => {
                if let Some(killed) = self.members.get_mut(member).and_then(Option::take) {
                    self.report.count("fault crash");
                    self.bury(killed);
                }
            }
            Act::Twin(member, span) => self.twin(member, now + span),
            Act::Pause(member, span) => {
                self.with(member, "fault pause", |t| t.paused = now + span);
            }
            Act::Stall(member, span) => {
                self.with(member, "fault stall", |t| t.stalled = now + span);
            }
            Act::Cut(member, span) => self.with(member, "fault cut", |t| t.cut = now + span),
            Act::SlowCommits(span, late) => {
                self.report.count("fault slow commits");
                self.broker.slow = (now + span, late);
            }
            Act::FailCommits(span, kind) => {
                self.report.count("fault failing commits");
                self.broker.failing = (now + span, kind);
            }
            Act::Hang(member, span) => self.with(member, "fault hang", |t| t.hang = Some(span)),
            Act::LateAnswer(member) => self.with(member, "late answer asked", |t| t.twice = true),
            Act::Clock(member, by) if by < 0 => {
                self.with(member, "fault clock back", |t| t.skew = t.skew.saturating_add(by));
            }
            Act::Clock(member, by) => {
                self.with(member, "fault clock forward", |t| t.skew = t.skew.saturating_add(by));
            }
            Act::Duplicate(member) => self.duplicate(member),
            Act::Leader(partition) => {
                self.report.count("fault leader");
                if let Some(log) = self.logs.log_mut(partition) {
                    log.epoch += 1;
                }
            }
            Act::Compact(partition) => {
                if self.logs.compact(partition) > 0 {
                    self.report.count("fault compaction");
                }
            }
            Act::Truncate(partition) => self.truncate(partition),
            Act::Reset(partition, kind) => {
                if let Some(fault) = self.broker.reset(partition, kind) {
                    self.report.count(fault);
                    self.touched.insert(partition);
                }
            }
        }
    }

    /// The old process goes on beside the new one.
    fn twin(&mut self, number: usize, until: u64) {
        if let Some(mut old) = self.members.get_mut(number).and_then(Option::take) {
            self.report.count("fault twin");
            old.trouble().paused = until;
            self.members.push(Some(old));
            self.start(number);
        }
    }

    fn with(&mut self, member: usize, fault: &'static str, make: impl FnOnce(&mut Trouble)) {
        if let Some(member) = self.members.get_mut(member).and_then(Option::as_mut) {
            make(member.trouble());
            self.report.count(fault);
        }
    }

    fn duplicate(&mut self, number: usize) {
        if let Some(Some(Member::Guarded(process))) = self.members.get_mut(number)
            && process.deliver_again()
        {
            self.report.count("fault duplicate");
        }
    }

    fn truncate(&mut self, partition: u32) {
        let committed = self.broker.committed.get(&partition).map_or(0, |stored| stored.offset);
        let held = self.members.iter().flatten().any(|member| match member {
            Member::Guarded(process) => process.has(partition),
            Member::Naive(_) => true,
        });
        let held = held || self.wire.brings_commit(partition);
        if let Some(log) = self.logs.log_mut(partition) {
            log.read = if held { log.read.max(committed) } else { committed };
        }
        if let Some(end) = self.logs.truncate(partition) {
            self.report.count("fault truncation");
            for member in self.members.iter_mut().flatten() {
                if let Member::Guarded(process) = member {
                    process.cut_off(partition, end);
                }
            }
        }
    }
}
