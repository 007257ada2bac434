//! One step against the books.

use rebalance_guard::{
    Answered, CommitAnswer, Hold, Outcome, Output, Partition, Reply, Skip, Ticket, TicketKind,
    Verdict,
};

use super::books::{Books, Entry, Fate, Finding, Handed, Stage, name_of};
use crate::trace::{Action, Answer, LostScope, OUTPUTS_MAX, Offered, Said, Step};

pub(super) type Judged = Result<(), Finding>;

pub(super) fn broken<T>(promise: &'static str, detail: String) -> Result<T, Finding> {
    Err((promise, detail))
}

impl Books {
    pub(super) fn observe(&mut self, step: &Step, answer: &Answer) -> Judged {
        if answer.outputs.len() >= OUTPUTS_MAX {
            return broken("P12", format!("{OUTPUTS_MAX} outputs and no end"));
        }
        // A dead client is not asked to rejoin, so a fatal loss hides the end of the lease.
        let rejoin = answer.outputs.iter().any(|o| matches!(o, Output::Rejoin { .. }));
        let fatal = step.action == Action::Lost(LostScope::Fatal);
        let rejoin = rejoin || (fatal && self.lease_is_over(step.now.value(), answer));
        if step.action.is_call() {
            self.pass_time(step.now.value(), rejoin, answer);
        }
        self.judge_said(&step.action, &answer.said)?;
        self.judge_reports(answer)?;
        self.judge_strings(answer)?;
        for output in &answer.outputs {
            self.judge_output(output)?;
        }
        self.judge_life_signs(answer)?;
        self.judge_ends(answer)?;
        self.judge_room()
    }

    fn judge_said(&mut self, action: &Action, said: &Said) -> Judged {
        match (action, said) {
            (Action::AdmitBatch(records), Said::Batch(verdicts)) => {
                if records.len() != verdicts.len() {
                    return broken("P11", format!("{} verdicts", verdicts.len()));
                }
                let mut pairs = records.iter().zip(verdicts);
                pairs.try_for_each(|(record, verdict)| self.judge_verdict(record, *verdict))
            }
            (Action::Admit(record), Said::Reply(Ok(Reply::Verdict(verdict)))) => {
                self.judge_verdict(record, *verdict)
            }
            (Action::Answer { ticket, outcome }, Said::Reply(Ok(Reply::Answered(answered)))) => {
                self.judge_answer(*ticket, *outcome, *answered)
            }
            (action, Said::Reply(Ok(reply))) => self.judge_reply(action, *reply),
            _ => Ok(()),
        }
    }

    fn judge_reply(&mut self, action: &Action, reply: Reply) -> Judged {
        if self.is_stale(action) && reply != Reply::Stale {
            return broken("P8", format!("{action:?} speaks of what is over and counted"));
        }
        if reply == Reply::Stale {
            return Ok(());
        }
        match action {
            Action::Assign { partitions, .. } => self.assigned(partitions),
            Action::Position { partition, resume, .. } => {
                let config = self.config;
                if let Some(life) = self.life_mut(*partition) {
                    life.resume_at(resume, &config);
                }
            }
            Action::Revoke { partitions, deadline } => self.revoked(partitions, deadline.value()),
            Action::Lost(scope) => self.lost(scope),
            Action::Rewind { partition, offset } => self.rewound(*partition, offset.value()),
            Action::GroupOffset { partition, offset, .. } => self.told(*partition, offset.value()),
            Action::CommitAnswered { partition, offset, answer, .. } => {
                self.commit_answered(*partition, offset.value(), *answer);
            }
            Action::Polled => self.polled(),
            _ => {}
        }
        Ok(())
    }

    fn told(&mut self, partition: Partition, offset: u64) {
        let Some(life) = self.life_mut(partition) else {
            return;
        };
        if life.mark().is_some_and(|mark| offset > mark) {
            life.floor = life.floor.max(offset);
        } else if life.confirmed.is_some_and(|confirmed| offset < confirmed) {
            life.confirmed = Some(offset);
        }
    }

    fn commit_answered(&mut self, partition: Partition, offset: u64, answer: CommitAnswer) {
        match answer {
            CommitAnswer::Stored => {
                if let Some(life) = self.life_mut(partition) {
                    life.confirmed = life.confirmed.max(Some(offset));
                }
            }
            CommitAnswer::NotMine => self.lose(partition),
            CommitAnswer::Fatal => self.lost(&LostScope::Fatal),
            CommitAnswer::Retry | CommitAnswer::Rejected => {}
        }
    }

    fn judge_verdict(&mut self, record: &Offered, verdict: Verdict) -> Judged {
        let offset = record.offset.value();
        if let Some(life) = self.life_mut(record.partition) {
            let fixes = match verdict {
                Verdict::Hold(hold) => !matches!(hold, Hold::Owed(_) | Hold::ResumeUnknown),
                Verdict::Refuse(_) => false,
                _ => true,
            };
            if fixes && life.known && life.resume.is_none() {
                life.resume = Some(offset);
            }
        }
        if !matches!(
            verdict,
            Verdict::Refuse(_) | Verdict::Hold(Hold::Owed(_) | Hold::ResumeUnknown)
        ) && let Some(life) = self.life_mut(record.partition)
        {
            life.may_void(record);
        }
        match verdict {
            Verdict::Run(ticket) | Verdict::Park(ticket, _) => self.judge_run(record, ticket),
            Verdict::Skip(Skip::Carried) => self.judge_carried(record),
            Verdict::Skip(skip) => self.judge_skip(record, skip),
            Verdict::Hold(Hold::Owed(_)) | Verdict::Refuse(_) => Ok(()),
            Verdict::Hold(_) => {
                self.owes(record.partition, offset);
                Ok(())
            }
        }
    }

    /// A held record is owed, unless it was given up here before: then it holds the mark itself.
    fn owes(&mut self, partition: Partition, offset: u64) {
        if let Some(life) = self.life_mut(partition)
            && !life.entries.contains_key(&offset)
        {
            life.owed.insert(offset);
        }
    }

    fn judge_run(&mut self, record: &Offered, ticket: Ticket) -> Judged {
        let offset = record.offset.value();
        self.judge_ticket(record.partition, ticket)?;
        self.judge_debt(record)?;
        let name = name_of(record);
        if let Some(name) = &name {
            if self.is_finished(name) {
                return broken("P9", format!("{record:?} runs although its key finished"));
            }
            if self.reserved(name).is_some() {
                return broken("P9", format!("{record:?} runs although its key is in flight"));
            }
        }
        if self.life(record.partition).is_some_and(|(_, life)| life.must_skip(record)) {
            return broken("P9", format!("{record:?} runs although an owner before finished it"));
        }
        let index = self.tickets.len();
        self.hand_out(record.partition, offset, ticket);
        let Some(life) = self.life_mut(record.partition) else {
            return Ok(());
        };
        if !life.may_enter(offset) {
            return broken("P9", format!("{record:?} runs a second time in one assignment"));
        }
        life.entries.insert(offset, Entry { name, fate: Fate::Held(index) });
        Ok(())
    }

    /// Every ticket, however it is handed out, belongs to an assignment that may start work.
    pub(super) fn judge_ticket(&self, partition: Partition, ticket: Ticket) -> Judged {
        let number = ticket.assignment().value();
        let promise = match self.lives.get(&number).map(|life| life.stage) {
            Some(Stage::Active) => {
                let current = self.life(partition).is_some_and(|(current, _)| current == number);
                return if current {
                    Ok(())
                } else {
                    broken("P1", format!("{ticket:?} is not of the partition's assignment"))
                };
            }
            Some(Stage::Lost) | None => "P4",
            Some(_) => "P1",
        };
        broken(promise, format!("{ticket:?} was issued for an assignment that may start nothing"))
    }

    /// A record that is taken or skipped stands in for its own debt and for none below it.
    pub(super) fn judge_debt(&mut self, record: &Offered) -> Judged {
        let offset = record.offset.value();
        let Some(life) = self.life_mut(record.partition) else {
            return Ok(());
        };
        life.owed.remove(&offset);
        match life.owed.range(..offset).next() {
            None => Ok(()),
            Some(owed) => broken("P7", format!("{record:?} was taken before the held {owed}")),
        }
    }

    fn judge_skip(&mut self, record: &Offered, skip: Skip) -> Judged {
        let offset = record.offset.value();
        let Some(name) = name_of(record) else {
            return broken("P9", format!("{record:?} has no key and was skipped"));
        };
        let first = self.reserved(&name);
        let known = match skip {
            Skip::Carried => true,
            Skip::DuplicateFinished => self.is_finished(&name),
            Skip::DuplicateInFlight => first.is_some(),
        };
        if !known {
            return broken("P9", format!("{record:?} skipped as {skip:?}, and its key is not"));
        }
        let enters = self.life(record.partition).is_some_and(|(_, life)| life.may_enter(offset));
        if enters {
            self.judge_voucher(skip, first)?;
            self.judge_debt(record)?;
        }
        if let Some(life) = self.life_mut(record.partition) {
            life.owed.remove(&offset);
            if enters {
                life.entries.insert(offset, Entry { name: None, fate: Fate::Finished });
            }
        }
        Ok(())
    }

    /// A first copy vouches for later ones only while a crash would bring it back.
    fn judge_voucher(&self, skip: Skip, first: Option<(Partition, u64)>) -> Judged {
        let forgetful = self.partitions.len() > self.config.partitions as usize;
        let (Skip::DuplicateInFlight, Some((partition, offset)), false) = (skip, first, forgetful)
        else {
            return Ok(());
        };
        match self.offered_ever.get(&partition) {
            Some(offered) if offset < *offered => broken(
                "P7",
                format!("the copy at {offset} vouched although {offered} was offered before"),
            ),
            _ => Ok(()),
        }
    }

    fn judge_answer(&mut self, number: u64, outcome: Outcome, answered: Answered) -> Judged {
        let Some((index, handed)) = self.ticket(number) else {
            return if answered == Answered::Stale {
                Ok(())
            } else {
                broken("P8", format!("forged ticket {number} was answered {answered:?}"))
            };
        };
        let fits = match outcome {
            Outcome::Completed => handed.kind == TicketKind::Run,
            Outcome::DeadLettered => handed.kind == TicketKind::DeadLetter,
            Outcome::Failed { .. } | Outcome::Abandoned => true,
        };
        let counts = fits && self.counts(index, handed, outcome == Outcome::Abandoned);
        match (counts, answered) {
            (true, Answered::Done) => {
                self.apply_answer(handed, outcome, index);
                Ok(())
            }
            (false, Answered::Stale) => Ok(()),
            (true, Answered::Stale) => {
                broken("P1", format!("ticket {number} is open and {outcome:?} did not count"))
            }
            (false, Answered::Done) => {
                let stage = self.lives.get(&handed.life).map(|life| life.stage);
                let promise = match stage {
                    Some(Stage::Sealed(_) | Stage::Over) => "P1",
                    Some(Stage::Lost) => "P4",
                    _ => "P8",
                };
                broken(promise, format!("ticket {number} is dead or answered and counted"))
            }
        }
    }

    fn apply_answer(&mut self, handed: Handed, outcome: Outcome, index: usize) {
        let Some(life) = self.lives.get_mut(&handed.life) else {
            return;
        };
        let draining = matches!(life.stage, Stage::Draining(_));
        let partition = life.partition;
        let Some(entry) = life.entries.get_mut(&handed.offset) else {
            return;
        };
        entry.fate = match outcome {
            Outcome::Completed | Outcome::DeadLettered => Fate::Finished,
            Outcome::Failed { .. } if !draining => Fate::Waiting(index),
            Outcome::Failed { .. } | Outcome::Abandoned => Fate::GivenUp,
        };
        if outcome == Outcome::Completed {
            let now = self.now;
            self.finished.extend(entry.name.clone().map(|name| (name, now)));
            while self.finished.len() > self.config.keys as usize {
                self.finished.pop_front();
            }
        }
        self.end_drain_if_done(partition);
    }

    pub(super) fn hand_out(&mut self, partition: Partition, offset: u64, ticket: Ticket) {
        let life = self.current.get(&partition).copied().unwrap_or(0);
        self.tickets.push(Handed { life, offset, kind: ticket.kind() });
        self.stats.tickets += 1;
    }

    /// Tickets are live exactly while somebody may work under them.
    fn judge_life_signs(&self, answer: &Answer) -> Judged {
        for ((index, handed), live) in self.tickets.iter().enumerate().rev().zip(&answer.live) {
            let stage = self.lives.get(&handed.life).map(|life| life.stage);
            let entry = self.lives.get(&handed.life).and_then(|l| l.entries.get(&handed.offset));
            let held = entry.is_some_and(|entry| entry.fate == Fate::Held(index));
            if held != *live {
                let promise = match stage {
                    Some(Stage::Lost) => "P4",
                    Some(Stage::Active) => "P8",
                    _ => "P1",
                };
                return broken(promise, format!("ticket {}: live is {live}", index + 1));
            }
        }
        Ok(())
    }

    /// What the guard shows as owned ends in time; what it no longer shows is over.
    fn judge_ends(&mut self, answer: &Answer) -> Judged {
        let shown = self.partitions.clone().into_iter().zip(&answer.progress);
        for (partition, progress) in shown {
            let shown = progress.map(|progress| progress.assignment.value());
            let Some((number, life)) = self.life(partition) else {
                if let Some(shown) = shown {
                    return broken("P5", format!("{shown} of {partition:?} should have ended"));
                }
                continue;
            };
            match life.stage {
                Stage::Sealed(_) if shown != Some(number) => self.finish(number, Stage::Over),
                _ if shown != Some(number) => {
                    return broken("P5", format!("{number} of {partition:?} ended unreported"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn judge_room(&self) -> Judged {
        let flying: usize =
            self.lives.values().filter(|life| life.runs()).map(|life| life.in_flight()).sum();
        if flying > self.config.window as usize {
            return broken("P12", format!("{flying} records in flight"));
        }
        for life in self.lives.values().filter(|life| life.runs()) {
            let places = life.entries.range(life.mark().unwrap_or(0)..).count();
            if places > self.config.budget as usize {
                return broken("P12", format!("{places} places taken in {:?}", life.partition));
            }
        }
        Ok(())
    }
}
