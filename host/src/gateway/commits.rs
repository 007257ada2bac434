//! Commits on their way.

use rdkafka::error::RDKafkaErrorCode;
use rebalance_guard::{CommitAnswer, Input, Offset, Partition, Token};

use super::Event;
use super::state::{Duty, Flow, Gateway, Interrupt, Sent};
use crate::clock;
use crate::ffi::CommitReply;
use crate::kafka::classify::{Meaning, commit_error};

impl Gateway<'_> {
    /// Sends a commit. No answer is waited for here: the client's own wait has no bound.
    pub(super) fn commit(
        &mut self,
        partition: Partition,
        offset: Offset,
        metadata: String,
        token: Token,
    ) -> Flow {
        let assignment = token.assignment;
        let sent = Sent { partition, assignment, offset };
        let before = self.bounds.get(&partition).copied().unwrap_or_default();
        let holding = self.holding_of(partition, assignment);
        let bound = holding.as_ref().map_or(0, |held| held.bound).max(before);
        if offset.as_i64() > bound {
            return Err(Interrupt::EngineDead(format!(
                "it asked to commit {offset} of partition {} though nothing above {bound} was read",
                partition.index
            )));
        }
        // The client sends what the coordinator did not answer again, by itself and in any order:
        // a second one waits, except the last of a hand-over.
        let open = holding.as_ref().is_none_or(|held| held.fence.is_open());
        let waits = open && holding.is_some_and(|held| held.unanswered > 0);
        // Inside a revoke the client's flag tells nothing; the numbers do. A commit after a loss
        // would delay the whole group's rejoin.
        if self.draining && self.session.is_lost_now() {
            let why = "the group threw this member out during the drain".to_owned();
            self.duties.push_back(Duty::LoseAll(why));
            return Ok(());
        }
        if waits || self.session.is_flagged_lost() || clock::now() < self.quiet_until {
            self.duties.push_back(Duty::CommitAnswer(sent, CommitAnswer::Retry));
            return Ok(());
        }
        self.send_commit(sent, &metadata);
        Ok(())
    }

    fn send_commit(&mut self, sent: Sent, metadata: &str) {
        let Sent { partition, assignment, offset } = sent;
        let (topic, index) = self.name(partition);
        self.commit_number = self.commit_number.wrapping_add(1);
        let number = self.commit_number;
        match self.session.commits().commit(&topic, index, offset.as_i64(), metadata, number) {
            Ok(()) => {
                self.sent.insert(number, sent);
                if let Some(holding) = self.holding_of(partition, assignment) {
                    holding.unanswered = holding.unanswered.saturating_add(1);
                }
            }
            Err(error) => {
                tracing::warn!(%topic, partition = index, %offset, %error, "commit not sent");
                self.duties.push_back(Duty::CommitAnswer(sent, CommitAnswer::Retry));
            }
        }
    }

    /// Whether the client may still send a commit for one of these partitions by itself.
    pub(super) fn commits_on_their_way(&self, partitions: &[Partition]) -> bool {
        self.sent.values().any(|sent| partitions.contains(&sent.partition))
    }

    pub(super) fn serve_commits(&mut self) -> Flow<bool> {
        let mut busy = false;
        while let Some(reply) = self.session.commits().next_reply() {
            busy = true;
            let CommitReply { number, error, .. } = reply;
            if let Some(sent) = self.sent.remove(&number) {
                if let Some(holding) = self.holding_of(sent.partition, sent.assignment) {
                    holding.unanswered = holding.unanswered.saturating_sub(1);
                }
                self.committed(sent, error)?;
                self.obey_outputs()?;
            }
        }
        Ok(busy)
    }

    fn committed(&mut self, sent: Sent, error: Option<RDKafkaErrorCode>) -> Flow {
        let (topic, partition) = self.name(sent.partition);
        let offset = sent.offset;
        let Some(code) = error else {
            tracing::debug!(%topic, partition, %offset, "committed");
            self.log_committed(sent.partition);
            self.tell_observer(Event::Committed { topic, partition, offset });
            return self.stored(sent);
        };
        let rebalancing = self.draining || self.rebalancing;
        let meaning = commit_error(code, || self.session.standing(&topic, partition, rebalancing));
        // A group that rebalances answers so for as long as that takes, to each attempt.
        if matches!(meaning, Meaning::Answer(CommitAnswer::Retry)) {
            tracing::debug!(%topic, partition, %offset, error = %code, "commit not stored yet");
        } else {
            tracing::warn!(%topic, partition, %offset, error = %code, ?meaning,
                "commit not stored");
        }
        let why = code.to_string();
        self.observer.event(&Event::CommitFailed { topic, partition, offset, why: why.clone() });
        match meaning {
            Meaning::Answer(CommitAnswer::Fatal) => {
                let fatal = self.session.fatal_error();
                let (code, words) = fatal.unwrap_or((code, why));
                Err(Interrupt::Fatal(code, words))
            }
            Meaning::Answer(answer) => {
                if answer == CommitAnswer::NotMine {
                    self.suspect = Some(clock::now());
                }
                self.answer_commit(sent, answer)
            }
            Meaning::MemberGone => self.lose_all(format!("the group refused a commit: {why}")),
        }
    }

    /// The coordinator has it. After a higher one it stepped back: the higher one is offered again.
    fn stored(&mut self, sent: Sent) -> Flow {
        let Sent { partition, assignment, offset } = sent;
        self.answer_commit(sent, CommitAnswer::Stored)?;
        let Some(holding) = self.holding_of(partition, assignment) else { return Ok(()) };
        let highest = holding.stored.replace(offset);
        if highest.is_some_and(|highest| highest > offset) {
            tracing::warn!(?partition, %offset, ?highest, "commits were stored in reverse order");
            self.obey_outputs()?;
            // B40: what the group holds is told as it was seen.
            let seen = Input::GroupOffset { partition, assignment, offset };
            let _ = self.engine.handle(self.now(), seen)?;
        }
        Ok(())
    }

    pub(super) fn answer_commit(&mut self, sent: Sent, answer: CommitAnswer) -> Flow {
        let Sent { partition, assignment, offset } = sent;
        let input = Input::CommitAnswered { partition, assignment, offset, answer };
        // Never refused with an error: an answer that is over is stale.
        let _ = self.engine.handle(self.now(), input)?;
        Ok(())
    }
}
