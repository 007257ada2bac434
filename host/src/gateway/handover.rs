//! Partitions come and go.

use std::collections::VecDeque;
use std::time::Duration;

use rebalance_guard::{Input, InputError, Partition, Resume, Scope, Ticket};

use super::serve::Start;
use super::state::{Asking, Fenced, Flow, Gateway, Interrupt};
use super::{Event, GatewayError, RebalanceKind};
use crate::clock;
use crate::kafka::classify::evicted;
use crate::kafka::context::Callback;
use crate::workers::{Done, Job, JobResult};

/// How long an assign waits for the committed offsets; afterwards the guard holds every record
/// until they are known.
const LOOKUP: Duration = Duration::from_secs(3);
/// How long a client may list partitions that the guard does not own before it is replaced.
const DISAGREE: Duration = Duration::from_secs(5);
/// Clients in a row that may be replaced because the sink refuses what the group says is ours.
const FENCES_MAX: u32 = 5;
/// Between two looks at the client's assignment.
const LOOK: Duration = Duration::from_secs(1);

impl Gateway<'_> {
    /// A rebalance callback, answered before the next poll.
    pub(super) fn callback(&mut self, callback: Callback) -> Flow {
        let generation = callback.membership.as_ref().map_or(0, |member| member.generation);
        let lost = callback.kind == RebalanceKind::Revoke
            && (callback.lost_flag || self.session.was_lost(callback.membership.as_ref()));
        let count = callback.partitions.len();
        self.summary.rebalances += u64::from(count > 0);
        tracing::info!(kind = ?callback.kind, partitions = count, generation, lost, "rebalance");
        let kind = callback.kind;
        self.tell_observer(Event::Rebalance { kind, partitions: count, generation, lost });
        match kind {
            RebalanceKind::Assign => self.assigned(callback),
            RebalanceKind::Revoke if lost => self.lost(callback),
            RebalanceKind::Revoke => self.revoked(&callback.partitions),
        }
    }

    fn assigned(&mut self, callback: Callback) -> Flow {
        let member = callback.membership.as_ref();
        // An answer from before an eviction: the group does not know this member any more.
        let stale = member.is_none_or(|member| evicted(member, None));
        if stale && !callback.partitions.is_empty() {
            return Err(self.rejoin("partitions were assigned without a membership".to_owned()));
        }
        let stranger = member.is_some_and(|member| self.session.is_other_member(member));
        if stranger && !self.holdings.is_empty() {
            self.lose_all("the group knows this member by another id".to_owned())?;
            self.obey_outputs()?;
        }
        let generation = member.map(|member| member.generation);
        self.session.joined_as(callback.membership);
        self.rebalancing = false;
        let starts = self.resume_positions(&callback.partitions)?;
        let numbers = self.numbers(&callback.partitions);
        let told = |start| Option::as_ref(start).map_or(Resume::Unknown, Start::told);
        let named: Vec<(Partition, Resume<'_>)> =
            numbers.iter().copied().zip(starts.iter().map(told)).collect();
        let assign = Input::Assign { generation, partitions: &named };
        if let Err(error) = self.engine.handle(self.now(), assign)? {
            return Err(Interrupt::Failed(refused_assign(&error)));
        }
        for ((name, partition), start) in callback.partitions.iter().zip(&numbers).zip(&starts) {
            self.begin(name, *partition, start.as_ref())?;
        }
        self.obey_outputs()?;
        let offsets = starts.iter().map(|start| start.as_ref().map(|start| start.offset));
        let exact: Vec<_> = callback.partitions.iter().cloned().zip(offsets).collect();
        self.session
            .assign(&exact)
            .map_err(|error| self.rejoin(format!("the client refused its assignment: {error}")))?;
        for partition in &numbers {
            // A pause of an earlier assignment may outlive it in the client.
            self.set_pause(*partition);
        }
        Ok(())
    }

    fn begin(&mut self, name: &(String, i32), partition: Partition, start: Option<&Start>) -> Flow {
        // B17 (apache/kafka#5291): assigned again without a revoke, the old one is over.
        self.end_holding(partition);
        let Some(token) = self.begin_holding(partition, false)? else { return Ok(()) };
        let resume = start.map_or(Resume::Unknown, |start| start.resume);
        let bound = start.and_then(Start::bound);
        if let (Some(bound), Some(holding)) = (bound, self.holdings.get_mut(&partition)) {
            holding.bound = bound;
        }
        if resume == Resume::Unknown {
            if let Some(holding) = self.holdings.get_mut(&partition) {
                holding.resume_unknown = true;
            }
            self.asking.push(Asking {
                name: name.clone(),
                partition,
                assignment: token.assignment,
                question: Err(clock::now()),
            });
        }
        let (topic, index) = self.name(partition);
        tracing::info!(%topic, partition = index, %token, ?resume, "assigned");
        self.tell_observer(Event::Assigned { topic, partition: index, token, resume });
        Ok(())
    }

    /// Where each partition resumes, as far as the broker answers in time. Everything else is
    /// served meanwhile.
    fn resume_positions(&mut self, partitions: &[(String, i32)]) -> Flow<Vec<Option<Start>>> {
        if partitions.is_empty() {
            return Ok(Vec::new());
        }
        let until = clock::now() + LOOKUP.min(self.drain);
        let check = self.checks_ranges();
        self.awaited = Some((self.session.ask(partitions.to_vec(), check), None));
        let found = loop {
            self.serve()?;
            let answered = matches!(self.awaited, Some((_, Some(_))));
            if answered || clock::now() >= until {
                break self.awaited.take().and_then(|(_, found)| found);
            }
            self.wait(false, Some(until))?;
        };
        let Some(found) = found else { return Ok(vec![None; partitions.len()]) };
        let mut starts = Vec::with_capacity(partitions.len());
        for name in partitions {
            let partition = self.topics.partition(&name.0, name.1);
            let anew = self.compare_log(name, partition, &found);
            let mut start = found.held.get(name).cloned().and_then(Start::of);
            if let Some(start) = start.as_mut().filter(|_| anew) {
                start.forget_metadata();
            }
            starts.push(start);
        }
        Ok(starts)
    }

    /// A revoke of what is gone already: nothing is flushed, nothing committed.
    fn lost(&mut self, callback: Callback) -> Flow {
        let everything = self.session.was_lost(callback.membership.as_ref());
        let partitions = self.numbers(&callback.partitions);
        self.close_fences(&partitions);
        if everything {
            self.lose_all("the group threw this member out".to_owned())?;
        } else {
            let _ = self.engine.handle(self.now(), Input::Lost(Scope::Some(&partitions)))?;
        }
        self.obey_outputs()?;
        self.hand_back(&callback.partitions)
    }

    /// A revoke with a drain: everything is fenced before anything else happens, then whatever
    /// arrives is served until each partition is released, and only then are they handed back.
    fn revoked(&mut self, names: &[(String, i32)]) -> Flow {
        let partitions = self.numbers(names);
        self.release(&partitions)?;
        self.serve_commits()?;
        if self.commits_on_their_way(&partitions) {
            // Sent later it could take the group's offset back under the next owner.
            return Err(self.rejoin("the client still holds a commit of what it hands back".into()));
        }
        self.hand_back(names)
    }

    /// Fences, drains and commits these partitions, at most until the drain's deadline and the last
    /// commits' time.
    pub(super) fn release(&mut self, partitions: &[Partition]) -> Flow {
        self.close_fences(partitions);
        let fences: Vec<_> = partitions
            .iter()
            .filter_map(|p| self.holdings.get(p).map(|holding| (*p, holding.fence.clone())))
            .collect();
        self.rebalancing = true;
        let span = u64::try_from(self.drain.as_millis()).unwrap_or(u64::MAX);
        let deadline = self.now().after(span);
        let _ = self.engine.handle(self.now(), Input::Revoke { partitions, deadline })?;
        self.draining = true;
        let drained = self.drain_all(partitions);
        self.draining = false;
        drained?;
        for (partition, fence) in fences {
            self.check_released(partition, fence.is_released());
        }
        // The flag says nothing of an eviction during the drain.
        if !self.holdings.is_empty() && self.session.is_lost_now() {
            self.lose_all("the group threw this member out during the drain".to_owned())?;
            self.obey_outputs()?;
        }
        Ok(())
    }

    fn drain_all(&mut self, partitions: &[Partition]) -> Flow {
        self.obey_outputs()?;
        self.give_up_unbegun(partitions)?;
        self.end_deferrals_of(partitions)?;
        let commit_time = Duration::from_millis(self.settings.guard.commit_timeout);
        // The guard ends every drain by itself; this is for an engine that does not.
        let end = clock::now() + self.drain + commit_time + Duration::from_secs(1);
        loop {
            let busy = self.serve()?;
            if self.all_released(partitions)? || clock::now() >= end {
                return Ok(());
            }
            if !busy {
                self.wait(false, Some(end))?;
            }
        }
    }

    fn all_released(&mut self, partitions: &[Partition]) -> Flow<bool> {
        for partition in partitions {
            if self.engine.progress(*partition)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What no worker has begun gets no permit any more: the next owner runs it.
    fn give_up_unbegun(&mut self, partitions: &[Partition]) -> Flow {
        for partition in partitions {
            let Some(holding) = self.holdings.get_mut(partition) else { continue };
            let assignment = holding.assignment;
            let waiting: usize = holding.backlog.drain(..).map(|kept| kept.bytes()).sum();
            self.bytes = self.bytes.saturating_sub(waiting);
            let mut unbegun = self.pool.forget(assignment);
            let waiting = std::mem::take(&mut self.unsubmitted).into_iter();
            let (mine, others): (VecDeque<Job>, VecDeque<Job>) =
                waiting.partition(|job| job.ticket.map(Ticket::assignment) == Some(assignment));
            self.unsubmitted = others;
            let abandoned = |job| Done { job, result: JobResult::Abandoned };
            unbegun.extend(mine.into_iter().map(abandoned));
            for done in unbegun {
                self.done(done)?;
            }
        }
        Ok(())
    }

    fn check_released(&mut self, partition: Partition, released: bool) {
        if released {
            return;
        }
        let (topic, index) = self.name(partition);
        tracing::error!(%topic, partition = index,
            "handing over although the sink has not answered for every effect: only the sink's \
             check of the fencing token protects these records now");
        self.tell_observer(Event::EffectsOpenAtRelease { topic, partition: index });
    }

    fn close_fences(&self, partitions: &[Partition]) {
        for partition in partitions {
            if let Some(holding) = self.holdings.get(partition) {
                holding.fence.close();
            }
        }
    }

    fn numbers(&mut self, names: &[(String, i32)]) -> Vec<Partition> {
        names.iter().map(|(topic, index)| self.topics.partition(topic, *index)).collect()
    }

    fn hand_back(&mut self, names: &[(String, i32)]) -> Flow {
        let told = self.session.hand_back(names);
        told.map_err(|error| self.rejoin(format!("the client refused the hand-back: {error}")))
    }

    /// After a loss without a callback the client may go on listing partitions that the guard does
    /// not own; nothing would ever run them. Given some time to find out by itself, it is replaced.
    pub(super) fn look_after_suspect(&mut self) -> Flow {
        let now = clock::now();
        let Some(since) = self.suspect else { return Ok(()) };
        if self.looked.is_some_and(|looked| now < looked + LOOK) {
            return Ok(());
        }
        self.looked = Some(now);
        if now >= since + DISAGREE {
            self.suspect = None;
            let fenced = self.fenced.take();
            if self.client_lists_unowned()? {
                return Err(self.replace_client(fenced)?);
            }
        }
        Ok(())
    }

    /// What is still owned is drained and committed before the client is replaced.
    fn replace_client(&mut self, fenced: Option<Fenced>) -> Flow<Interrupt> {
        let owned: Vec<_> = self.engine.owned()?.into_iter().map(|(owned, _)| owned).collect();
        if !owned.is_empty() {
            self.release(&owned)?;
        }
        let why = "the client lists partitions whose ownership was lost".to_owned();
        let Some(Fenced { topic, partition, token, why: said }) = fenced else {
            return Ok(self.rejoin(why));
        };
        let (times, back_off) = self.fences.another();
        if times < FENCES_MAX {
            return Ok(Interrupt::Rejoin { why, back_off });
        }
        let topic = topic.to_string();
        let error = GatewayError::FencedForGood { topic, partition, token, why: said, times };
        Ok(Interrupt::Failed(error))
    }

    fn client_lists_unowned(&mut self) -> Flow<bool> {
        let Ok(listed) = self.session.assignment() else { return Ok(true) };
        for partition in self.numbers(&listed) {
            if self.engine.progress(partition)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn refused_assign(error: &InputError) -> GatewayError {
    GatewayError::Setting(format!("the guard cannot own what the group assigns: {error}"))
}
