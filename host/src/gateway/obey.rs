//! What the guard asks for, done.

use std::cmp::Reverse;
use std::time::Duration;

use rebalance_guard::{Ended, Input, Offset, Output, Partition, Scope, Sealed, Token};

use super::Event;
use super::state::{Duty, Flow, Gateway, Holding, Interrupt};
use crate::clock;

impl Gateway<'_> {
    /// Pulls until the guard owes nothing more, then does what could not be done in between (the
    /// guard is asked nothing while it is being pulled), and so on until both are through.
    pub(super) fn obey_outputs(&mut self) -> Flow {
        let guard = &self.settings.guard;
        let outputs_max = 256 + 4 * u64::from(guard.window) + 16 * u64::from(guard.partitions);
        // Each of a partition's waiting records may be offered again.
        let duties_max = outputs_max.saturating_mul(256);
        for _ in 0..duties_max {
            self.pull(outputs_max)?;
            match self.duties.pop_front() {
                Some(duty) => self.do_duty(duty)?,
                None => return Ok(()),
            }
        }
        Err(Interrupt::EngineDead(format!("it asked for more than {duties_max} things at once")))
    }

    /// A guard owes at most so many outputs for one call; one that goes on without end would hang
    /// the poll thread.
    fn pull(&mut self, outputs_max: u64) -> Flow {
        for _ in 0..outputs_max {
            match self.engine.poll_output()? {
                Some(output) => self.obey(output)?,
                None => return Ok(()),
            }
        }
        Err(Interrupt::EngineDead(format!("it gave more than {outputs_max} outputs for one call")))
    }

    fn do_duty(&mut self, duty: Duty) -> Flow {
        match duty {
            Duty::OfferAgain(partition) => self.offer_again(partition)?,
            Duty::Answer(ticket, outcome) => {
                self.engine.answer(self.now(), ticket, outcome)?;
            }
            Duty::CommitAnswer(sent, answer) => self.answer_commit(sent, answer)?,
            Duty::LoseAll(why) => self.lose_all(why)?,
        }
        Ok(())
    }

    fn obey(&mut self, output: Output) -> Flow {
        match output {
            Output::Rejoin { back_off } => {
                let why = "the lease ran out without a poll".to_owned();
                return Err(Interrupt::Rejoin { why, back_off: Duration::from_millis(back_off) });
            }
            Output::Sealed(sealed) => self.sealed(sealed),
            Output::Gap { partition, from, to } => {
                let (topic, partition) = self.name(partition);
                tracing::info!(%topic, partition, %from, %to,
                    "the first record lies above the resume position");
            }
            Output::StepBack { partition: at, from, to } => {
                let (topic, partition) = self.name(at);
                tracing::warn!(%topic, partition, %from, %to,
                    "the group's offset lies below what this process committed");
                // An administrator's reset, or the first offsets of a topic made anew.
                self.log_made_anew(at);
            }
            Output::StormBegan { back_off } => {
                tracing::warn!(
                    back_off_ms = back_off,
                    "rebalances come faster than work can be done"
                );
            }
            Output::StormEnded => tracing::info!("the storm of rebalances is over"),
            Output::MetadataIgnored { partition, why } => {
                let (topic, partition) = self.name(partition);
                tracing::warn!(%topic, partition, %why,
                    "commit metadata was not used: what it may have named runs again");
                self.tell_observer(Event::MetadataIgnored { topic, partition, why });
            }
            Output::Stalled { partition, seek } => self.stalled(partition, seek),
            Output::PollBudget { until } => {
                tracing::warn!(
                    left_ms = until.since(self.now()),
                    "the client has not been polled for two thirds of the lease: at its end \
                     everything is lost. Look at what holds the hand-over: a sink that does not \
                     answer, a `drain` that is too long"
                );
            }
            Output::Commit { partition, offset, token, metadata } => {
                // Read before anything else is told: it is the string of this very state.
                let text = match metadata {
                    0 => String::new(),
                    _ => String::from_utf8(self.engine.commit_metadata(partition)?)
                        .unwrap_or_default(),
                };
                self.commit(partition, offset, text, token)?;
            }
            Output::Pause(partition) => self.ask_pause(partition, true),
            Output::Resume(partition) => self.ask_pause(partition, false),
            Output::Retry { ticket, partition, offset } => {
                self.run(ticket, partition, offset.as_i64());
            }
            Output::DeadLetter { ticket, partition, offset, reason, copies } => {
                self.park(ticket, partition, offset.as_i64(), reason, copies);
            }
        }
        Ok(())
    }

    /// Unfinished or owed work and no progress. A record that waits for a sink says so itself; what
    /// is owed and not here was lost by the client and is read again.
    fn stalled(&mut self, partition: Partition, seek: Offset) {
        let (topic, index) = self.name(partition);
        let stall_ms = self.settings.guard.stall_after;
        let holding = self.holdings.get(&partition);
        let in_flight = holding.map_or(0, |holding| holding.flights.len());
        let waiting = holding.map_or(0, |holding| holding.backlog.len());
        tracing::warn!(%topic, partition = index, offset = %seek, in_flight, waiting, stall_ms,
            "no progress: look at the sink's answers for this offset, and at its dead letter");
        self.tell_observer(Event::Stalled { topic, partition: index, offset: seek });
    }

    fn ask_pause(&mut self, partition: Partition, pause: bool) {
        if let Some(holding) = self.holdings.get_mut(&partition) {
            holding.pause_asked = pause;
        }
        self.sync_pause(partition);
        if !pause {
            self.duties.push_back(Duty::OfferAgain(partition));
        }
    }

    /// An assignment is over: nothing of it begins any more, and its records are let go.
    pub(super) fn sealed(&mut self, sealed: Sealed) {
        let Sealed { partition, assignment, ended, mark, left } = sealed;
        if self.holding_of(partition, assignment).is_some() {
            self.end_holding(partition);
        }
        let (topic, index) = self.name(partition);
        match ended {
            Ended::Drained | Ended::Rewound => {
                tracing::info!(%topic, partition = index, %assignment, ?ended, ?mark, left,
                    "assignment ended");
            }
            Ended::Deadline | Ended::Lost | Ended::Replaced => {
                tracing::warn!(%topic, partition = index, %assignment, ?ended, ?mark, left,
                    "assignment ended; what was left is read again by the next owner");
            }
        }
        if self.stopping && left > 0 {
            self.summary.left.push((topic.clone(), index, left));
        }
        self.tell_observer(Event::Sealed { topic, partition: index, ended, mark, left });
    }

    /// Takes the partition's holding apart. What a worker is inside still answers, to no effect.
    pub(super) fn end_holding(&mut self, partition: Partition) {
        let Some(holding) = self.holdings.remove(&partition) else { return };
        holding.fence.close();
        let log = self.logs.entry(partition).or_default();
        log.reached = log.reached.max(holding.reached);
        let bound = self.bounds.entry(partition).or_default();
        *bound = holding.bound.max(*bound);
        self.bytes = self.bytes.saturating_sub(holding.bytes());
        let forgotten = self.pool.forget(holding.assignment).len();
        self.unsubmitted
            .retain(|job| job.ticket.map(|t| t.assignment()) != Some(holding.assignment));
        self.summary.fenced_by_guard += forgotten as u64;
        self.parked.retain(|(assignment, _), _| *assignment != holding.assignment);
        self.put_off.retain(|_, what| {
            what.ticket().is_none_or(|ticket| ticket.assignment() != holding.assignment)
        });
        let put_off = &self.put_off;
        self.deferred.retain(|Reverse(next)| put_off.contains_key(&next.sequence));
        self.asking.retain(|asking| asking.assignment != holding.assignment);
    }

    /// Opens a holding for the assignment that the guard has begun for the partition.
    pub(super) fn begin_holding(
        &mut self,
        partition: Partition,
        paused: bool,
    ) -> Flow<Option<Token>> {
        let Some(progress) = self.engine.progress(partition)? else { return Ok(None) };
        self.assignment_max = self.assignment_max.max(progress.assignment.value());
        let mut holding = Holding::new(progress.assignment, progress.token);
        holding.paused = paused;
        holding.incarnation = self.logs.get(&partition).map_or(0, |log| log.incarnation);
        self.holdings.insert(partition, holding);
        Ok(Some(progress.token))
    }

    /// Ownership of everything is gone, by another sign than a callback.
    pub(super) fn lose_all(&mut self, why: String) -> Flow {
        for holding in self.holdings.values() {
            holding.fence.close();
        }
        tracing::warn!(%why, "everything counts as lost");
        let _ = self.engine.handle(self.now(), Input::Lost(Scope::All))?;
        self.suspect = Some(clock::now());
        self.tell_observer(Event::EverythingLost { why });
        Ok(())
    }
}
