//! Everything together, one ms after the other.

mod faults;
mod member;

use std::collections::BTreeSet;

use self::member::Member;
use super::broker::{Applied, Broker};
use super::log::Logs;
use super::naive::Naive;
use super::options::Options;
use super::plan::plan;
use super::process::{Process, Shared};
use super::report::{Happened, Outcome, Report};
use super::sink::Sink;
use super::wire::Wire;
use crate::Census;
use crate::trace::Trace;

pub(super) struct World<'a> {
    options: &'a Options,
    now: u64,
    logs: Logs,
    broker: Broker,
    sink: Sink,
    wire: Wire,
    report: Report,
    census: Census,
    addresses: u64,
    members: Vec<Option<Member>>,
    /// When a member that is down starts by itself.
    again: Vec<Option<u64>>,
    /// Partitions whose committed offset somebody else wrote: nobody tells their owners.
    touched: BTreeSet<u32>,
    /// From then on nothing new goes wrong.
    faults_end: u64,
    traces: Vec<Trace>,
}

impl<'a> World<'a> {
    pub(super) fn new(options: &'a Options) -> Self {
        Self {
            options,
            now: 0,
            logs: Logs::new(options),
            broker: Broker::new(options),
            sink: Sink::default(),
            wire: Wire::new(options.seed, options.latency_ms),
            report: Report::new(options.partitions, options.members),
            census: Census::default(),
            addresses: 0,
            members: (0..options.members).map(|_| None).collect(),
            again: vec![None; options.members],
            touched: BTreeSet::new(),
            faults_end: 0,
            traces: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Outcome {
        let planned = plan(self.options);
        let mut plan = planned.iter().peekable();
        let last = planned.last().map_or(0, |planned| planned.at);
        let faults_end = self.options.produce_ms.max(last);
        self.faults_end = faults_end;
        let end = faults_end + self.options.settle_ms;
        while self.now < end {
            self.report.now = self.now;
            while let Some(next) = plan.next_if(|next| next.at <= self.now) {
                self.act(next);
            }
            if self.now == faults_end {
                self.continue_fairly();
            }
            self.logs.produce(self.options, self.now);
            self.step();
            if self.report.outcome.broken.is_some() {
                break;
            }
            let pulse = self.now.is_multiple_of(8);
            if self.now > faults_end && pulse && self.is_done() {
                break;
            }
            self.now += 1;
        }
        self.finish()
    }

    fn step(&mut self) {
        while let Some((from, request)) = self.wire.next_request(self.now) {
            let applied = self.broker.serve(self.now, from, request, &mut self.wire);
            if let Some(applied) = applied {
                self.check_commit(&applied);
            }
        }
        self.broker.tick(self.now, &mut self.wire);
        while let Some((to, response)) = self.wire.next_response(self.now) {
            let mut members = self.members.iter_mut().flatten();
            match members.find(|member| member.address() == to.address) {
                Some(Member::Guarded(process)) => process.mail.push_back((to, response)),
                Some(Member::Naive(naive)) => naive.mail.push_back((to, response)),
                None => {}
            }
        }
        for member in 0..self.members.len() {
            self.serve(member);
        }
        self.note_readers();
    }

    fn shared(&mut self) -> Shared<'_> {
        Shared {
            now: self.now,
            options: self.options,
            logs: &mut self.logs,
            broker: &mut self.broker,
            sink: &mut self.sink,
            wire: &mut self.wire,
            report: &mut self.report,
            census: &mut self.census,
            addresses: &mut self.addresses,
        }
    }

    fn serve(&mut self, number: usize) {
        if let Some(at) = self.again.get(number).copied().flatten()
            && at <= self.now
        {
            self.start(number);
        }
        let Some(mut member) = self.members.get_mut(number).and_then(Option::take) else {
            return;
        };
        member.serve(&mut self.shared());
        if member.ended() {
            // A dead client's process begins anew when the broker may have forgotten it.
            if !member.trouble().stopping {
                let back_off = self.options.session_ms + self.options.heartbeat_ms;
                self.set_again(number, Some(self.now + back_off));
            } else if self.now >= self.faults_end {
                self.set_again(number, Some(self.now + 1));
            }
            self.bury(member);
        } else if let Some(place) = self.members.get_mut(number) {
            *place = Some(member);
        }
    }

    fn set_again(&mut self, number: usize, at: Option<u64>) {
        if let Some(again) = self.again.get_mut(number) {
            *again = at;
        }
    }

    fn start(&mut self, number: usize) {
        self.set_again(number, None);
        if self.members.get(number).is_none_or(Option::is_some) {
            return;
        }
        self.report.member = number;
        self.report.moment(None, Happened::Running(true));
        let guarded = self.options.guarded;
        let mut shared = self.shared();
        let member = if guarded {
            Member::Guarded(Box::new(Process::new(number, &mut shared)))
        } else {
            Member::Naive(Box::new(Naive::new(number, &mut shared)))
        };
        if let Some(place) = self.members.get_mut(number) {
            *place = Some(member);
        }
    }

    /// The end of a process; its history is kept.
    fn bury(&mut self, member: Member) {
        self.report.member = member.number();
        self.report.moment(None, Happened::Running(false));
        if let Member::Guarded(process) = member
            && self.options.checked
        {
            self.traces.push(process.seat.trace);
        }
    }

    /// From here on nothing new goes wrong, and everybody is there.
    fn continue_fairly(&mut self) {
        for number in 0..self.options.members {
            self.start(number);
        }
        for number in self.options.members..self.members.len() {
            if let Some(twin) = self.members.get_mut(number).and_then(Option::take) {
                self.bury(twin);
            }
        }
    }

    /// A commit was stored: nobody but the owner's, never back, and past nothing unfinished.
    fn check_commit(&mut self, applied: &Applied) {
        self.report.count("commit stored");
        if !self.options.guarded {
            return;
        }
        let Applied { partition, before, offset, by_owner } = *applied;
        if !by_owner {
            let detail = format!("{offset} of partition {partition} came from somebody else");
            self.report.fail("commits come from owners", detail);
        }
        if before.is_some_and(|before| before > offset) {
            let detail = format!("partition {partition} went from {before:?} to {offset}");
            self.report.fail("committed offsets never fall", detail);
        }
        let committed = |number: u32| self.broker.committed.get(&number).map_or(0, |s| s.offset);
        let range = before.unwrap_or(0)..offset.max(before.unwrap_or(0));
        if let Some(passed) = self.sink.passed_over(&self.logs, partition, range, committed) {
            let detail = format!("{offset} of partition {partition} passes {passed}");
            self.report.fail("commits pass only what is done", detail);
        }
    }

    fn note_readers(&mut self) {
        let mut readers = vec![0; self.options.partitions as usize];
        for member in self.members.iter_mut().flatten() {
            if self.now < member.trouble().paused {
                continue;
            }
            for partition in member.reads() {
                if let Some(count) = readers.get_mut(partition as usize) {
                    *count += 1;
                }
            }
        }
        self.report.read_by(&readers);
    }

    /// Partition, offset of a record that exists and is not done.
    fn undone(&self) -> Vec<(u32, u64)> {
        let mut undone = Vec::new();
        for (partition, log) in (0..).zip(&self.logs.logs) {
            let left = log.entries.iter().filter(|(o, e)| !self.sink.is_done(partition, **o, e));
            undone.extend(left.map(|(offset, _)| (partition, *offset)));
        }
        undone
    }

    /// Partitions whose committed offset has not come to the end.
    fn behind(&self) -> Vec<(u32, u64)> {
        let committed = |number: u32| self.broker.committed.get(&number).map_or(0, |s| s.offset);
        let ends = (0..)
            .zip(&self.logs.logs)
            .filter_map(|(partition, log)| Some((partition, log.entries.last_key_value()?.0 + 1)));
        let behind = |(partition, end): &(u32, u64)| {
            !self.touched.contains(partition) && committed(*partition) < *end
        };
        ends.filter(behind).collect()
    }

    fn is_done(&self) -> bool {
        let own = self.members.iter().take(self.options.members);
        let idle = own.into_iter().all(|m| m.as_ref().is_some_and(Member::is_idle));
        idle && self.behind().is_empty() && (!self.options.guarded || self.undone().is_empty())
    }

    fn finish(mut self) -> Outcome {
        let undone = self.undone();
        if self.options.guarded && self.report.outcome.broken.is_none() {
            if let Some((partition, offset)) = undone.first() {
                let detail = format!("{offset} of partition {partition} had no effect");
                self.report.fail("no record is dropped", detail);
            } else if let Some((partition, end)) = self.behind().first() {
                let detail = format!("partition {partition} is not committed up to {end}");
                self.report.fail("everything gets committed", detail);
            }
        }
        for number in 0..self.members.len() {
            if let Some(member) = self.members.get_mut(number).and_then(Option::take) {
                self.bury(member);
            }
        }
        self.note_readers();
        let mut outcome = self.report.outcome;
        outcome.produced = self.logs.made();
        outcome.applied = self.sink.done.len() as u64;
        outcome.dropped = undone.len() as u64;
        outcome.repeated = self.sink.repeated;
        outcome.absorbed = self.sink.absorbed;
        outcome.refused_at_sink = self.sink.refused;
        outcome.rebalances = self.broker.rebalances;
        outcome.latencies_ms.sort_unstable();
        outcome.ended_ms = self.now;
        outcome.census = self.census;
        outcome.traces = self.traces;
        outcome
    }
}
