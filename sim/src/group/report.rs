//! What one run showed.

use std::collections::BTreeMap;

use rebalance_guard::Phase;

use crate::Census;
use crate::oracle::Broken;
use crate::trace::Trace;

/// One call of the rebalance callback, as an application sees it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "compared with recordings of real clients")]
pub enum Callback {
    /// Partitions were added; none is normal.
    Assign {
        /// Which.
        partitions: Vec<u32>,
        /// The generation or member epoch that the client shows meanwhile.
        generation: i32,
    },
    /// Partitions go.
    Revoke {
        /// Which.
        partitions: Vec<u32>,
        /// The client's lost flag.
        lost: bool,
        /// The generation or member epoch that the client shows meanwhile.
        generation: i32,
    },
    /// The client left because it was not polled.
    PollExceeded,
    /// The client is dead; no callback comes.
    Fatal,
}

/// What the timeline tells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "drawn by charts")]
pub enum Happened {
    /// A member's guard has the partition in this phase now.
    Phase(Phase),
    /// It was lost, not handed over.
    Lost,
    /// Fetching stopped for want of room, or goes on.
    Paused(bool),
    /// An effect took place at the sink; again, if it cannot tell.
    Effect {
        /// Whether it had taken place before.
        repeated: bool,
    },
    /// A member's process began or ended.
    Running(bool),
}

/// One event of the timeline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "drawn by charts")]
pub struct Moment {
    /// When, in ms.
    pub at: u64,
    /// Whose.
    pub member: usize,
    /// Which partition, if it is about one.
    pub partition: Option<u32>,
    /// What.
    pub what: Happened,
}

/// A promise of the guard's or of the group's that did not hold.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "read by tests")]
pub struct Failure {
    /// `"P1"` to `"P12"`, or a promise of the group as a whole.
    pub promise: &'static str,
    /// What was seen.
    pub detail: String,
    /// When, in ms.
    pub at: u64,
    /// The guard that broke it, if one did: its whole history, to be replayed and shrunk.
    pub trace: Option<Box<Trace>>,
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} broken at {} ms: {}", self.promise, self.at, self.detail)
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "read by tests and charts")]
pub struct Outcome {
    /// Records produced.
    pub produced: u64,
    /// Effects that took place.
    pub applied: u64,
    /// Records that exist, were passed by a commit or never read, and had no effect.
    pub dropped: u64,
    /// Effects that took place again.
    pub repeated: u64,
    /// Effects tried again and absorbed by their key.
    pub absorbed: u64,
    /// Effects of former owners that the sink refused.
    pub refused_at_sink: u64,
    /// Records on the dead-letter topic.
    pub dead_lettered: u64,
    /// Rebalances that the coordinator completed.
    pub rebalances: u64,
    /// Per partition, ms in which nobody read it.
    pub paused_ms: Vec<u64>,
    /// Per partition, the longest such time.
    pub longest_pause_ms: Vec<u64>,
    /// From production to effect, in ms, sorted.
    pub latencies_ms: Vec<u64>,
    /// When everything was done, in ms.
    pub ended_ms: u64,
    /// What happened when.
    pub timeline: Vec<Moment>,
    /// Per member, its callbacks and when they ran.
    pub callback_log: Vec<Vec<(u64, Callback)>>,
    /// How often each kind of fault, callback and transition occurred.
    pub counts: BTreeMap<&'static str, u64>,
    /// The same for what guards were told and answered; empty without the oracle.
    pub census: Census,
    /// The history of each guard; empty without the oracle.
    pub traces: Vec<Trace>,
    /// The first promise that did not hold.
    pub broken: Option<Failure>,
}

/// What is written down while a run goes on.
pub(super) struct Report {
    pub(super) now: u64,
    pub(super) member: usize,
    pub(super) outcome: Outcome,
    /// Since when nobody reads a partition.
    idle: Vec<Option<u64>>,
    /// The members that read it.
    readers: Vec<u32>,
}

impl Report {
    pub(super) fn new(partitions: u32, members: usize) -> Self {
        let outcome = Outcome {
            paused_ms: vec![0; partitions as usize],
            longest_pause_ms: vec![0; partitions as usize],
            callback_log: vec![Vec::new(); members],
            ..Outcome::default()
        };
        let idle = vec![Some(0); partitions as usize];
        Self { now: 0, member: 0, outcome, idle, readers: vec![0; partitions as usize] }
    }

    pub(super) fn count(&mut self, kind: &'static str) {
        *self.outcome.counts.entry(kind).or_default() += 1;
    }

    pub(super) fn fail(&mut self, promise: &'static str, detail: String) {
        if self.outcome.broken.is_none() {
            let failure = Failure { promise, detail, at: self.now, trace: None };
            self.outcome.broken = Some(failure);
        }
    }

    pub(super) fn oracle(&mut self, broken: &Broken, trace: &Trace) {
        if self.outcome.broken.is_none() {
            self.outcome.broken = Some(Failure {
                promise: broken.promise,
                detail: format!("member {}, {broken}", self.member),
                at: self.now,
                trace: Some(Box::new(trace.clone())),
            });
        }
    }

    pub(super) fn moment(&mut self, partition: Option<u32>, what: Happened) {
        let (at, member) = (self.now, self.member);
        self.outcome.timeline.push(Moment { at, member, partition, what });
    }

    pub(super) fn effect(&mut self, member: usize, partition: u32, repeated: bool) {
        let (at, what) = (self.now, Happened::Effect { repeated });
        self.outcome.timeline.push(Moment { at, member, partition: Some(partition), what });
    }

    pub(super) fn phase(&mut self, partition: u32, phase: Phase) {
        self.moment(Some(partition), Happened::Phase(phase));
    }

    pub(super) fn paused(&mut self, partition: u32, paused: bool) {
        self.moment(Some(partition), Happened::Paused(paused));
    }

    pub(super) fn callback(&mut self, callback: Callback) {
        self.count(match &callback {
            Callback::Assign { partitions, .. } if partitions.is_empty() => "callback assign none",
            Callback::Assign { .. } => "callback assign",
            Callback::Revoke { lost: true, .. } => "callback revoke lost",
            Callback::Revoke { .. } => "callback revoke",
            Callback::PollExceeded => "callback poll exceeded",
            Callback::Fatal => "callback fatal",
        });
        let now = self.now;
        if let Some(log) = self.outcome.callback_log.get_mut(self.member) {
            log.push((now, callback));
        }
    }

    /// Readers of each partition at this ms.
    pub(super) fn read_by(&mut self, readers: &[u32]) {
        let now = self.now;
        for (index, (idle, count)) in self.idle.iter_mut().zip(readers).enumerate() {
            match (*idle, *count > 0) {
                (None, false) => *idle = Some(now),
                (Some(since), true) => {
                    let span = now - since;
                    if let Some(sum) = self.outcome.paused_ms.get_mut(index) {
                        *sum += span;
                    }
                    if let Some(longest) = self.outcome.longest_pause_ms.get_mut(index) {
                        *longest = span.max(*longest);
                    }
                    *idle = None;
                }
                _ => {}
            }
        }
        self.readers = readers.to_vec();
    }
}
