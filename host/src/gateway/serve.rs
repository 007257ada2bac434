//! Whatever arrives from the helpers (workers, dead letters, commits, lookups, the clock), served.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Select, never};
use rebalance_guard::{Input, Offset, Outcome, Partition, Resume, Scope, Ticket};

use super::outage::PutOff;
use super::state::{Asking, Fenced, Flow, Gateway, Interrupt};
use super::{Event, stop::Stop};
use crate::clock;
use crate::kafka::lookup::{Found, Held};
use crate::workers::{Done, JobResult};

/// Results served before anything else gets its turn.
const BATCH: usize = 256;
/// The longest sleep: a lost wake-up costs no more.
const NAP: Duration = Duration::from_millis(100);
/// Before a resume position is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// The longest time that a sink may put a retry off.
const PUT_OFF_MAX: Duration = Duration::from_secs(3_600);

impl Gateway<'_> {
    /// Serves what is there, without waiting; whether anything was.
    pub(super) fn serve(&mut self) -> Flow<bool> {
        if self.stop.level() == Stop::Now {
            return Err(Interrupt::StopNow);
        }
        self.look_at_the_clock()?;
        let mut busy = self.serve_workers()?;
        busy |= self.serve_letters()?;
        busy |= self.serve_commits()?;
        busy |= self.serve_lookups()?;
        self.serve_deferred()?;
        self.serve_clock()?;
        self.serve_requests()?;
        self.watch_waiting()?;
        self.submit_waiting();
        self.sync_memory();
        Ok(busy)
    }

    fn serve_workers(&mut self) -> Flow<bool> {
        let mut busy = false;
        for _ in 0..BATCH {
            let Ok(done) = self.pool.results().try_recv() else { break };
            busy = true;
            self.done(done)?;
        }
        Ok(busy)
    }

    /// A worker's answer.
    pub(super) fn done(&mut self, done: Done) -> Flow {
        let Done { job, result } = done;
        let Some(ticket) = job.ticket else { return Ok(()) };
        let (partition, offset) = (job.record.partition, job.record.offset);
        match result {
            JobResult::Completed => {
                self.sink_answers();
                self.engine.answer(self.now(), ticket, Outcome::Completed)?;
                self.drop_flight(partition, ticket.assignment(), offset);
            }
            JobResult::Failed { permanent, why, after } => {
                self.sink_answers();
                let permanent = permanent && self.may_give_up(partition, offset, &why);
                let open = self.note_failure(ticket, partition, offset, &why);
                let after = after.filter(|after| open && !permanent && !after.is_zero());
                self.failed(ticket, partition, permanent, after)?;
            }
            JobResult::Unreachable { sent, why } => self.unreached(job, sent, &why)?,
            JobResult::Abandoned => {
                self.summary.fenced_by_guard += 1;
                self.engine.answer(self.now(), ticket, Outcome::Abandoned)?;
                self.drop_flight(partition, ticket.assignment(), offset);
            }
            JobResult::Fenced { why } => {
                self.sink_answers();
                self.fenced_by_sink(ticket, partition, why)?;
            }
        }
        self.obey_outputs()
    }

    /// Keeps what the sink said for a dead letter; whether the record's fence is still open.
    fn note_failure(
        &mut self,
        ticket: Ticket,
        partition: Partition,
        offset: i64,
        why: &str,
    ) -> bool {
        let (topic, index) = self.name(partition);
        tracing::warn!(%topic, partition = index, offset, why, "effect failed");
        let Some(holding) = self.holding_of(partition, ticket.assignment()) else { return false };
        if let Some(flight) = holding.flights.get_mut(&offset) {
            flight.error = Some(why.to_owned());
        }
        holding.fence.is_open()
    }

    /// Whether a permanent failure may be taken for one: without a dead-letter topic a record given
    /// up would hold its partition for ever, so it is tried again for ever instead.
    fn may_give_up(&self, partition: Partition, offset: i64, why: &str) -> bool {
        if self.letters.is_some() {
            return true;
        }
        let (topic, index) = self.name(partition);
        tracing::error!(%topic, partition = index, offset, why,
            "the sink refuses this record for good and there is no dead-letter topic: it is tried \
             again and holds its partition's commits. Give --dead-letter-topic, or mend the sink");
        false
    }

    /// Answers a failure, or puts the answer off: the guard's own back-off begins when the time
    /// that the sink asked for is over.
    pub(super) fn failed(
        &mut self,
        ticket: Ticket,
        partition: Partition,
        permanent: bool,
        after: Option<Duration>,
    ) -> Flow {
        let Some(after) = after else {
            self.engine.answer(self.now(), ticket, Outcome::Failed { permanent })?;
            return Ok(());
        };
        self.put_off(ticket, partition, after.min(PUT_OFF_MAX), PutOff::Failed(ticket));
        Ok(())
    }

    /// The sink has seen a higher token: a newer owner acts, so this assignment is over.
    fn fenced_by_sink(&mut self, ticket: Ticket, partition: Partition, why: String) -> Flow {
        self.summary.fenced_by_sink += 1;
        let (topic, index) = self.name(partition);
        tracing::warn!(%topic, partition = index, %why, "the sink refused a stale token");
        if let Some(token) =
            self.holding_of(partition, ticket.assignment()).map(|holding| holding.token)
        {
            let (topic, why) = (Arc::clone(&topic), why.clone());
            self.fenced = Some(Fenced { topic, partition: index, token, why });
        }
        self.observer.event(&Event::FencedBySink { topic, partition: index, why });
        if self.holding_of(partition, ticket.assignment()).is_some() {
            let lost = Input::Lost(Scope::Some(&[partition]));
            let _ = self.engine.handle(self.now(), lost)?;
            self.suspect = Some(clock::now());
        }
        Ok(())
    }

    fn serve_letters(&mut self) -> Flow<bool> {
        let mut busy = false;
        for _ in 0..BATCH {
            let answer = self.letters.as_ref().and_then(|l| l.answers().try_recv().ok());
            let Some((ticket, result)) = answer else { break };
            busy = true;
            let key = (ticket.assignment(), ticket.sequence());
            let place = self.parked.remove(&key);
            let outcome = match result {
                Ok(()) => Outcome::DeadLettered,
                Err(_) => Outcome::Failed { permanent: false },
            };
            self.engine.answer(self.now(), ticket, outcome)?;
            if let (Outcome::DeadLettered, Some((partition, offset))) = (outcome, place) {
                self.parked_for_good(ticket, partition, offset);
            }
            self.obey_outputs()?;
        }
        Ok(busy)
    }

    fn parked_for_good(&mut self, ticket: Ticket, partition: Partition, offset: i64) {
        let assignment = ticket.assignment();
        let flight = self.holding_of(partition, assignment).and_then(|h| h.flights.get(&offset));
        if let Some(record) = flight.map(|flight| flight.record.clone()) {
            self.pool.settle(&record, Some(assignment));
            self.drop_flight(partition, assignment, offset);
        }
    }

    fn serve_lookups(&mut self) -> Flow<bool> {
        let mut busy = false;
        while let Ok(found) = self.session.found().try_recv() {
            busy = true;
            if let Some(trouble) = &found.trouble {
                tracing::warn!(%trouble, "where reading resumes is not known yet");
            }
            match &mut self.awaited {
                Some((number, slot)) if *number == found.question => *slot = Some(found),
                _ => self.found_late(&found)?,
            }
        }
        self.ask_again();
        Ok(busy)
    }

    /// The answer to a question that an assign did not wait for.
    pub(super) fn found_late(&mut self, found: &Found) -> Flow {
        let number = Ok(found.question);
        let (mine, others) = self.asking.drain(..).partition(|asking| asking.question == number);
        self.asking = others;
        let mine: Vec<Asking> = mine;
        for mut asking in mine {
            let anew = self.compare_log(&asking.name, asking.partition, found);
            match found.held.get(&asking.name) {
                Some(held) => self.position_known(&asking, held.clone(), anew)?,
                None => {
                    asking.question = Err(clock::now() + ASK_AGAIN);
                    self.asking.push(asking);
                }
            }
        }
        Ok(())
    }

    /// B10 (platformatic/kafka#223), B20 (akka/alpakka-kafka#1027): the answer names the
    /// assignment it was asked for, and client and guard go on from the same number.
    fn position_known(&mut self, asking: &Asking, held: Held, anew: bool) -> Flow {
        let Some(mut known) = Start::of(held) else {
            let question = Err(clock::now() + ASK_AGAIN);
            self.asking.push(Asking { question, ..asking.clone() });
            return Ok(());
        };
        if anew {
            known.forget_metadata();
        }
        let start = known.offset;
        let (partition, assignment) = (asking.partition, asking.assignment);
        let (topic, index) = (&asking.name.0, asking.name.1);
        let Some(holding) = self.holding_of(partition, assignment) else { return Ok(()) };
        holding.resume_unknown = false;
        holding.bound = holding.bound.max(start);
        let dropped: usize = holding.backlog.drain(..).map(|kept| kept.bytes()).sum();
        self.bytes = self.bytes.saturating_sub(dropped);
        self.seek(partition, start)?;
        tracing::info!(%topic, partition = index, start, "where reading resumes is known");
        let resume = known.told();
        let told = self.tell(Input::Position { partition, assignment, resume })?;
        if let Err(error) = told {
            tracing::error!(%error, "the guard refused a resume position");
        }
        self.sync_pause(partition);
        Ok(())
    }

    fn ask_again(&mut self) {
        let now = clock::now();
        let due = |asking: &Asking| asking.question.is_err_and(|at| at <= now);
        let names: Vec<_> = self.asking.iter().filter(|a| due(a)).map(|a| a.name.clone()).collect();
        if names.is_empty() {
            return;
        }
        let check = self.checks_ranges();
        let number = self.session.ask(names, check);
        for asking in self.asking.iter_mut().filter(|a| due(a)) {
            asking.question = Ok(number);
        }
    }

    fn serve_deferred(&mut self) -> Flow {
        let now = clock::now();
        while self.deferred.peek().is_some_and(|Reverse(next)| next.until <= now) {
            let Some(Reverse(due)) = self.deferred.pop() else { break };
            self.end_deferral(due.sequence, true)?;
        }
        Ok(())
    }

    /// A drain does not wait for retries that were put off, nor for a sink that cannot be reached.
    pub(super) fn end_deferrals_of(&mut self, partitions: &[Partition]) -> Flow {
        let all = std::mem::take(&mut self.deferred).into_iter();
        let (mine, others): (Vec<_>, Vec<_>) =
            all.partition(|Reverse(next)| partitions.contains(&next.partition));
        self.deferred = others.into();
        for Reverse(next) in mine {
            self.end_deferral(next.sequence, false)?;
        }
        Ok(())
    }

    fn serve_clock(&mut self) -> Flow {
        let now = self.now();
        if self.engine.poll_timeout()?.is_some_and(|due| due <= now) {
            self.engine.handle_timeout(now)?;
            self.obey_outputs()?;
        }
        Ok(())
    }

    /// Sleeps until something arrives or falls due, at most until `until`. With `polling` the
    /// client's wake-up counts as well.
    pub(super) fn wait(&mut self, polling: bool, until: Option<Instant>) -> Flow {
        let now = clock::now();
        let mut nap = NAP;
        if let Some(due) = self.engine.poll_timeout()? {
            nap = nap.min(Duration::from_millis(due.since(self.now())));
        }
        if let Some(Reverse(next)) = self.deferred.peek() {
            nap = nap.min(next.until.saturating_duration_since(now));
        }
        if let Some(until) = until {
            nap = nap.min(until.saturating_duration_since(now));
        }
        let silent = never();
        let letters = self.letters.as_ref().map_or(&silent, |letters| letters.answers());
        let mut select = Select::new();
        select.recv(self.pool.results());
        select.recv(letters);
        select.recv(&self.session.commit_wake);
        select.recv(self.stop.asked());
        select.recv(self.session.found());
        if let Some(control) = &self.settings.control {
            select.recv(control.asked());
        }
        if polling {
            select.recv(&self.session.wake);
        }
        // Which one is ready does not matter: all are looked at.
        let _ = select.ready_timeout(nap);
        drop(select);
        while self.session.commit_wake.try_recv().is_ok() {}
        if polling {
            while self.session.wake.try_recv().is_ok() {}
        }
        Ok(())
    }

    pub(super) fn rejoin(&self, why: String) -> Interrupt {
        Interrupt::Rejoin { why, back_off: Duration::ZERO }
    }
}

/// Where a partition resumes.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// For the guard, without the metadata.
    pub(super) resume: Resume<'static>,
    /// The string beside a committed offset.
    metadata: Vec<u8>,
    /// Where the client begins to read.
    pub(super) offset: i64,
}

impl Start {
    /// What the group holds, in the guard's words; `None` for an offset that is none.
    pub(super) fn of(held: Held) -> Option<Self> {
        let (start, metadata, resume): (_, _, fn(Offset) -> Resume<'static>) = match held {
            Held::Offset { offset, metadata } => (offset, metadata, Resume::committed),
            Held::Nothing(start) => (start, Vec::new(), |offset| Resume::Empty(Some(offset))),
            Held::OutOfRange { start, .. } => (start, Vec::new(), Resume::At),
        };
        let resume = resume(Offset::try_from(start).ok()?);
        Some(Self { resume, metadata, offset: start })
    }

    /// For the guard, with the metadata.
    pub(super) fn told(&self) -> Resume<'_> {
        match self.resume {
            Resume::Committed { offset, .. } => {
                Resume::Committed { offset, metadata: &self.metadata }
            }
            other => other,
        }
    }

    /// The log is another one: what the string names is not in it.
    pub(super) fn forget_metadata(&mut self) {
        self.metadata.clear();
    }

    /// The offset at which the group stands, where it was committed or is the beginning.
    pub(super) fn bound(&self) -> Option<i64> {
        match self.resume {
            Resume::Committed { .. } | Resume::Empty(Some(_)) => Some(self.offset),
            _ => None,
        }
    }
}
