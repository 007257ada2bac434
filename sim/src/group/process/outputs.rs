//! What the guard asks for is done.

use rebalance_guard::{CommitAnswer, Offset, Output};

use super::work::{Job, Kind};
use super::{Open, Process, Shared};
use crate::group::options::Protocol;
use crate::group::seat::{number, partition};
use crate::group::wire::Code;
use crate::trace::{Action, Answer};

impl Process {
    /// `first` is the hand-out number of the first ticket in this answer.
    pub(super) fn obey(&mut self, shared: &mut Shared<'_>, answer: &Answer, first: u64) {
        let mut ticket = first + self.tickets_in(answer);
        let mut strings = answer.metadata.iter();
        let mut rejoin = None;
        for output in &answer.outputs {
            match *output {
                Output::Rejoin { back_off } => rejoin = Some(back_off),
                Output::Commit { partition, offset, token, .. } => {
                    let string = strings.next().cloned().unwrap_or_default();
                    let number = number(partition);
                    self.send(shared, number, token.assignment, offset.value(), string);
                }
                Output::Pause(partition) => {
                    self.paused.insert(number(partition));
                }
                Output::Resume(partition) => {
                    self.paused.remove(&number(partition));
                }
                Output::Retry { partition, offset, .. } => {
                    self.hand(shared, ticket, number(partition), offset.value(), Kind::Run);
                    ticket += 1;
                }
                Output::DeadLetter { partition, offset, .. } => {
                    self.hand(shared, ticket, number(partition), offset.value(), Kind::Dead);
                    ticket += 1;
                }
                Output::Stalled { partition, seek } => {
                    self.stalled.insert(number(partition), seek);
                }
                _ => {}
            }
        }
        if let Some(back_off) = rejoin {
            self.close_and_rejoin(shared, back_off);
        }
    }

    fn send(
        &mut self,
        shared: &mut Shared<'_>,
        number: u32,
        assignment: rebalance_guard::Assignment,
        offset: u64,
        string: Vec<u8>,
    ) {
        if self.rejoin.is_some() {
            return;
        }
        // Without a member id or generation an empty group would take it from anybody.
        if self.is_lost() {
            shared.report.count("commit kept back");
            return;
        }
        shared.report.count("commit sent");
        self.tags += 1;
        self.commits.insert(self.tags, Open { partition: number, assignment, offset });
        self.client.commit(self.tags, number, offset, string);
    }

    pub(super) fn hand(
        &mut self,
        shared: &Shared<'_>,
        ticket: u64,
        number: u32,
        offset: u64,
        kind: Kind,
    ) {
        let Some(progress) = self.seat.guard.progress(partition(number)) else {
            return;
        };
        let found = shared.logs.log(number).and_then(|log| log.entries.get(&offset));
        // Compacted away meanwhile: the application still has it in its hands.
        let entry = found.cloned();
        let token = progress.token;
        self.queue.push_back(Job {
            ticket,
            partition: number,
            offset,
            kind,
            token,
            entry,
            ends: 0,
        });
    }

    /// Where nothing moves though nothing of it is in a worker's hands or waits for one, the
    /// records are not coming: the client is sent back to where they stand.
    pub(super) fn seek_where_stalled(&mut self, shared: &mut Shared<'_>) {
        for (number, seek) in core::mem::take(&mut self.stalled) {
            let Some(progress) = self.seat.guard.progress(partition(number)) else { continue };
            let stuck = progress.mark == Some(seek) || progress.owed == Some(seek);
            if !stuck || self.rejoin.is_some() || !self.is_active(number) {
                continue;
            }
            let mut jobs = self.queue.iter().chain(&self.running);
            if jobs.any(|job| job.partition == number && self.seat.is_live(job.ticket)) {
                self.stalled.insert(number, seek);
            } else {
                self.seek_back(shared, number, seek);
            }
        }
    }

    fn seek_back(&mut self, shared: &mut Shared<'_>, number: u32, seek: Offset) {
        let partition = partition(number);
        let (answer, _) = self.tell(shared, Action::Rewind { partition, offset: seek });
        if matches!(answer.said, crate::trace::Said::Reply(Ok(_))) {
            shared.report.count("rewind");
            self.forget(number);
            self.fetch.insert(number, seek.value());
        }
    }

    pub(super) fn hear_commits(&mut self, shared: &mut Shared<'_>) {
        while let Some((tag, code)) = self.client.answers.pop_front() {
            let Some(open) = self.commits.remove(&tag) else {
                continue;
            };
            let Ok(offset) = Offset::new(open.offset) else {
                continue;
            };
            shared.report.count(match code {
                Code::Ok => "commit ok",
                Code::UnknownMember => "commit unknown member",
                Code::IllegalGeneration => "commit illegal generation",
                Code::RebalanceInProgress => "commit rebalance in progress",
                Code::FencedInstance => "commit fenced instance",
                Code::StaleEpoch => "commit stale epoch",
                Code::TimedOut => "commit timed out",
                Code::MetadataTooLarge => "commit metadata too large",
                _ => "commit fatal",
            });
            let answer = self.classify(code, open.partition);
            let partition = partition(open.partition);
            let assignment = open.assignment;
            self.tell(shared, Action::CommitAnswered { partition, assignment, offset, answer });
        }
    }

    /// A generation error in the middle of a rebalance says nothing about ownership.
    fn classify(&self, code: Code, number: u32) -> CommitAnswer {
        let cooperative = self.client.protocol() == Protocol::Cooperative;
        let kept = cooperative
            && !self.client.lost
            && self.client.member == self.id
            && self.client.owned.contains(&number);
        match code {
            Code::Ok => CommitAnswer::Stored,
            Code::TimedOut | Code::RebalanceInProgress | Code::StaleEpoch => CommitAnswer::Retry,
            Code::IllegalGeneration if kept || self.client.is_moving() => CommitAnswer::Retry,
            Code::MetadataTooLarge => CommitAnswer::Rejected,
            Code::FencedInstance | Code::UnreleasedInstance | Code::Fatal => CommitAnswer::Fatal,
            _ => CommitAnswer::NotMine,
        }
    }
}
