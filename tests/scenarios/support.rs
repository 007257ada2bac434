//! A small world around one guard, so that a scenario reads as what happened.
//!
//! Words: `p0` is partition 0 of topic 0, `3/p0` of topic 3; `p0:100` is a record without a key,
//! `p0:100=a` one with key `a`. An assign says where reading resumes: `p0@100` committed,
//! `p0@none` nothing committed, `p0@none:50` nothing committed and the client starts at 50,
//! `p0@at:50` the host's own choice, `p0@?` not known yet.

use std::collections::HashMap;

use rebalance_guard::{
    Answered, CommitAnswer, Config, Input, InputError, KeyPolicy, Offset, Outcome, Output,
    Partition, Progress, Record, Reply, Scope, Tick, Ticket, Verdict,
};

use crate::told::Told;
use crate::words::{list, owned, record, said, wanted};
pub(crate) use crate::words::{number, offset, partition, tick};

/// Small tables, no jitter, commits offered at once, keys optional, no metadata, no stalls.
pub(crate) fn small() -> Config {
    Config {
        partitions: 4,
        window: 32,
        keys: 32,
        budget: 32,
        attempts_max: 3,
        backoff: 100,
        backoff_cap: 1_000,
        jitter: 0,
        lease: 100_000,
        commit_interval: 0,
        commit_count: 1,
        commit_timeout: 5_000,
        commit_backoff: 200,
        key_policy: KeyPolicy::Optional,
        metadata_max: 0,
        journal: 0,
        stall_after: u64::MAX,
        ..Config::default()
    }
}

/// A guard, a clock and the tickets handed out.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) guard: Told,
    pub(crate) generation: Option<i32>,
    now: u64,
    tickets: HashMap<(Partition, Offset), Ticket>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(small())
    }

    pub(crate) fn with(config: Config) -> Self {
        Self { guard: Told::new(config), generation: Some(7), now: 0, tickets: HashMap::new() }
    }

    /// Later calls happen at `now`; nothing is called.
    pub(crate) fn at(&mut self, now: u64) -> &mut Self {
        self.now = now;
        self
    }

    /// Lets time pass until `now`.
    pub(crate) fn tick(&mut self, now: u64) -> &mut Self {
        self.now = now;
        self.guard.handle_timeout(tick(now));
        self
    }

    /// The host polls at `now`.
    pub(crate) fn poll(&mut self, now: u64) -> &mut Self {
        self.now = now;
        assert_eq!(self.handle(Input::Polled), Ok(Reply::Done));
        self
    }

    /// Quiet until `now`, with the host polling all along.
    pub(crate) fn poll_until(&mut self, now: u64) -> &mut Self {
        let step = (self.guard.config().lease / 2).max(1);
        while self.now + step < now {
            self.poll(self.now + step);
        }
        self.poll(now)
    }

    fn time(&self) -> Tick {
        tick(self.now)
    }

    pub(crate) fn handle(&mut self, input: Input<'_>) -> Result<Reply, InputError> {
        self.guard.handle(self.time(), input)
    }

    pub(crate) fn try_assign(&mut self, what: &str) -> Result<Reply, InputError> {
        let partitions: Vec<_> = what.split_whitespace().map(owned).collect();
        let now = self.time();
        self.guard.assign(now, self.generation, &partitions)
    }

    /// An assign that must be accepted.
    pub(crate) fn assign(&mut self, what: &str) -> &mut Self {
        assert_eq!(self.try_assign(what), Ok(Reply::Done), "assign {what}");
        self
    }

    /// An assign in generation `generation`, as those that follow.
    pub(crate) fn assign_in(&mut self, generation: i32, what: &str) -> &mut Self {
        self.generation = Some(generation);
        self.assign(what)
    }

    pub(crate) fn position(&mut self, what: &str, assignment: u64) -> Result<Reply, InputError> {
        let (partition, resume) = owned(what);
        self.handle(Input::Position { partition, assignment: number(assignment), resume })
    }

    /// A revoke whose drain ends at tick `deadline`.
    pub(crate) fn revoke(&mut self, what: &str, deadline: u64) -> &mut Self {
        let partitions = list(what);
        let now = self.time();
        self.guard.revoke(now, &partitions, tick(deadline));
        self
    }

    pub(crate) fn lost(&mut self, what: &str) -> &mut Self {
        let partitions = list(what);
        let now = self.time();
        self.guard.lost(now, Scope::Some(&partitions));
        self
    }

    pub(crate) fn lost_all(&mut self) -> &mut Self {
        let now = self.time();
        self.guard.lost(now, Scope::All);
        self
    }

    pub(crate) fn fatal(&mut self) -> &mut Self {
        let now = self.time();
        self.guard.lost(now, Scope::Fatal);
        self
    }

    pub(crate) fn rewind(&mut self, what: &str) -> Result<Reply, InputError> {
        let (partition, offset, _) = record(what);
        self.handle(Input::Rewind { partition, offset })
    }

    pub(crate) fn group_offset(&mut self, what: &str, assignment: u64) -> Reply {
        let (partition, offset, _) = record(what);
        let input = Input::GroupOffset { partition, assignment: number(assignment), offset };
        self.handle(input).expect("a group offset is never an error")
    }

    pub(crate) fn end_of_partition(&mut self, what: &str) -> Reply {
        let partition = partition(what);
        let assignment = self.progress(what).assignment;
        let input = Input::EndOfPartition { partition, assignment };
        self.handle(input).expect("an end of partition is never an error")
    }

    /// Offers a record; the answer in words.
    pub(crate) fn admit(&mut self, what: &str) -> String {
        self.admit_tried(what, 0)
    }

    /// Offers a record that was tried before, as its header says.
    pub(crate) fn admit_tried(&mut self, what: &str, attempts: u16) -> String {
        let (partition, offset, key) = record(what);
        let record = Record { attempts, ..Record::new(partition, offset, key) };
        let now = self.time();
        let verdict = self.guard.admit(now, record);
        if let Verdict::Run(ticket) | Verdict::Park(ticket, _) = verdict {
            self.tickets.insert((partition, offset), ticket);
        }
        said(verdict)
    }

    /// Offers a record that must be run, and gives its ticket.
    pub(crate) fn run(&mut self, what: &str) -> Ticket {
        assert_eq!(self.admit(what), "run", "admit {what}");
        self.ticket(what)
    }

    /// Runs each of these records to its end.
    pub(crate) fn finish(&mut self, what: &str) -> &mut Self {
        for record in what.split_whitespace() {
            let ticket = self.run(record);
            assert_eq!(self.complete(ticket), Answered::Done, "complete {record}");
        }
        self
    }

    /// The ticket last handed out for a record.
    pub(crate) fn ticket(&self, what: &str) -> Ticket {
        let (partition, offset, _) = record(what);
        self.tickets[&(partition, offset)]
    }

    pub(crate) fn answer(&mut self, ticket: Ticket, outcome: Outcome) -> Answered {
        let now = self.time();
        self.guard.answer(now, ticket, outcome)
    }

    pub(crate) fn complete(&mut self, ticket: Ticket) -> Answered {
        self.answer(ticket, Outcome::Completed)
    }

    pub(crate) fn fail(&mut self, ticket: Ticket) -> Answered {
        self.answer(ticket, Outcome::Failed { permanent: false })
    }

    pub(crate) fn fail_permanently(&mut self, ticket: Ticket) -> Answered {
        self.answer(ticket, Outcome::Failed { permanent: true })
    }

    pub(crate) fn abandon(&mut self, ticket: Ticket) -> Answered {
        self.answer(ticket, Outcome::Abandoned)
    }

    pub(crate) fn dead_lettered(&mut self, ticket: Ticket) -> Answered {
        self.answer(ticket, Outcome::DeadLettered)
    }

    /// The coordinator answers the commit `p0:101` that assignment `assignment` offered.
    pub(crate) fn commit_answer(
        &mut self,
        what: &str,
        assignment: u64,
        answer: CommitAnswer,
    ) -> Reply {
        let (partition, offset, _) = record(what);
        let assignment = number(assignment);
        let input = Input::CommitAnswered { partition, assignment, offset, answer };
        self.handle(input).expect("a commit's answer is never an error")
    }

    /// The coordinator stored the commit `p0:101`; it must count.
    pub(crate) fn stored(&mut self, what: &str) -> &mut Self {
        let (partition, _, _) = record(what);
        let progress = self.guard.progress(partition).expect("owned");
        let reply = self.commit_answer(what, progress.assignment.value(), CommitAnswer::Stored);
        assert_eq!(reply, Reply::Done, "stored {what}");
        self
    }

    /// Everything that the guard wants done now, in its order and in words.
    pub(crate) fn outputs(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        while let Some(output) = self.guard.poll_output() {
            if let Output::Retry { ticket, partition, offset }
            | Output::DeadLetter { ticket, partition, offset, .. } = output
            {
                self.tickets.insert((partition, offset), ticket);
            }
            words.push(wanted(output) + &self.metadata(output));
            assert!(words.len() < 100_000, "outputs end");
        }
        words
    }

    /// The string of a commit, as ` +rg1…`; nothing when there is none.
    fn metadata(&self, output: Output) -> String {
        let Output::Commit { partition, metadata, .. } = output else { return String::new() };
        let mut room = [0; 4_096];
        let len = self.guard.commit_metadata(partition, &mut room);
        assert_eq!(len, usize::from(metadata), "the length told with the commit");
        let text = core::str::from_utf8(&room[..len]).expect("ASCII");
        if text.is_empty() { String::new() } else { format!(" +{text}") }
    }

    /// The commits among the outputs, as `p0=101`.
    pub(crate) fn commits(&mut self) -> Vec<String> {
        let outputs = self.outputs();
        outputs.iter().filter_map(|word| Some(word.strip_prefix("commit ")?.to_owned())).collect()
    }

    /// Pulls outputs that the scenario is not about.
    pub(crate) fn drain(&mut self) -> &mut Self {
        self.outputs();
        self
    }

    /// Offers and stores commits until nothing is offered any more.
    pub(crate) fn commit_all(&mut self) -> &mut Self {
        loop {
            let commits = self.commits();
            if commits.is_empty() {
                return self;
            }
            for commit in commits {
                let offer = commit.split_whitespace().next().unwrap_or_default();
                self.stored(&offer.replace('=', ":"));
            }
        }
    }

    pub(crate) fn progress(&self, what: &str) -> Progress {
        self.guard.progress(partition(what)).expect("owned")
    }

    pub(crate) fn owns(&self, what: &str) -> bool {
        self.guard.progress(partition(what)).is_some()
    }

    /// The completion mark of an owned partition whose resume position is known.
    pub(crate) fn mark(&self, what: &str) -> u64 {
        self.progress(what).mark.expect("resume position known").value()
    }

    /// The number of the current assignment.
    pub(crate) fn assignment(&self, what: &str) -> u64 {
        self.progress(what).assignment.value()
    }

    /// Phase in a word, "Unowned" included.
    pub(crate) fn phase(&self, what: &str) -> String {
        match self.guard.progress(partition(what)) {
            Some(progress) => format!("{:?}", progress.phase),
            None => "Unowned".to_owned(),
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<u64> {
        self.guard.poll_timeout().map(Tick::value)
    }
}
