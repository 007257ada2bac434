//! A consumer as librdkafka is one: threads of its own that talk to the coordinator, callbacks
//! that wait for the next poll, and a lost flag that has holes.

mod answers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::options::{Options, Protocol};
use super::wire::{Address, Code, Commit, From, Request, Wire};

/// What the next poll brings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Event {
    Assign(Vec<u32>),
    Revoke(Vec<u32>),
    PollExceeded,
    Fatal(Code),
}

/// Where its membership stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Join {
    Init,
    /// A request is out: join, then sync.
    Asking,
    /// The application is to assign or unassign.
    Callback,
    Steady,
    Closed,
}

/// What follows once the application did as it was asked.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Then {
    Join,
    Begin,
    Settle,
    Assign(Vec<u32>, bool),
}

pub(super) struct Client {
    pub(super) from: From,
    protocol: Protocol,
    session: u64,
    heartbeat: u64,
    max_poll: u64,
    /// 0: none.
    pub(super) member: u64,
    pub(super) generation: i32,
    /// The one flag for everything, cleared by any assign or unassign.
    pub(super) lost: bool,
    pub(super) fatal: bool,
    join: Join,
    then: Then,
    /// It was put out of the group while a callback was waiting.
    evicted: bool,
    /// Nothing is asked before the next poll.
    exceeded: bool,
    pub(super) owned: BTreeSet<u32>,
    events: VecDeque<Event>,
    pub(super) answers: VecDeque<(u64, Code)>,
    out: Vec<Request>,
    /// Commits without an answer, for a new connection.
    open: BTreeMap<u64, Commit>,
    /// The last commit of each partition.
    newest: BTreeMap<u32, u64>,
    last: Option<Request>,
    next_beat: u64,
    heard: u64,
    polled: u64,
    cut: bool,
}

impl Client {
    pub(super) fn new(options: &Options, address: Address, instance: usize, now: u64) -> Self {
        let instance = options.static_ids.then_some(instance);
        Self {
            from: From { address, instance, link: 0 },
            protocol: options.protocol,
            session: options.session_ms,
            heartbeat: options.heartbeat_ms,
            max_poll: options.max_poll_ms,
            member: 0,
            generation: -1,
            lost: false,
            fatal: false,
            join: Join::Init,
            then: Then::Settle,
            evicted: false,
            exceeded: false,
            owned: BTreeSet::new(),
            events: VecDeque::new(),
            answers: VecDeque::new(),
            out: Vec::new(),
            open: BTreeMap::new(),
            newest: BTreeMap::new(),
            last: None,
            next_beat: now,
            heard: now,
            polled: now,
            cut: false,
        }
    }

    /// Its own threads: runs also while the application is busy.
    pub(super) fn serve(&mut self, now: u64, cut: bool, wire: &mut Wire) {
        self.reconnect(cut);
        if self.fatal || self.join == Join::Closed {
            return self.flush(now, wire);
        }
        let in_group = self.join != Join::Init;
        if in_group && !self.exceeded && self.polled + self.max_poll <= now {
            self.exceed();
        }
        // Only a steady classic member looks at its session, and no KIP-848 member does.
        let classic = self.protocol != Protocol::Consumer;
        if classic && self.join == Join::Steady && self.heard + self.session <= now {
            self.member = 0;
            self.lose_all();
        }
        if self.join == Join::Init && self.events.is_empty() && !self.exceeded {
            self.begin(now);
        }
        if matches!(self.join, Join::Steady | Join::Callback) && self.next_beat <= now {
            self.beat(now);
        }
        self.flush(now, wire);
    }

    /// A new connection: what had no answer is sent again, commits under today's generation.
    fn reconnect(&mut self, cut: bool) {
        if cut && !self.cut {
            self.from.link += 1;
        } else if !cut && self.cut {
            self.from.link += 1;
            if self.join == Join::Asking {
                self.out.extend(self.last.clone());
            }
            // Of one partition only the newest: an older one again would step back.
            let newest = |commit: &&Commit| self.newest.get(&commit.partition) == Some(&commit.tag);
            let parked: Vec<Commit> = self.open.values().filter(newest).cloned().collect();
            for commit in parked {
                self.send_commit(commit);
            }
        }
        self.cut = cut;
    }

    fn flush(&mut self, now: u64, wire: &mut Wire) {
        for request in self.out.drain(..) {
            if !self.cut {
                wire.ask(now, self.from, request);
            }
        }
    }

    fn begin(&mut self, now: u64) {
        self.heard = now;
        self.evicted = false;
        // Answers to what an earlier membership asked are not for this one.
        self.from.link += 1;
        if self.protocol == Protocol::Consumer {
            self.generation = 0;
            self.join = Join::Asking;
            let owned = self.owned.iter().copied().collect();
            self.ask(Request::Reconcile { member: self.member, epoch: 0, owned });
        } else {
            self.ask_to_join();
        }
    }

    fn ask_to_join(&mut self) {
        self.join = Join::Asking;
        let owned = match self.protocol {
            Protocol::Cooperative => self.owned.iter().copied().collect(),
            _ => Vec::new(),
        };
        self.ask(Request::Join { member: self.member, owned });
    }

    fn ask(&mut self, request: Request) {
        self.last = Some(request.clone());
        self.out.push(request);
    }

    fn beat(&mut self, now: u64) {
        self.next_beat = now + self.heartbeat;
        let (member, generation) = (self.member, self.generation);
        let outside = match self.protocol {
            Protocol::Consumer => generation <= 0,
            _ => member == 0,
        };
        if self.evicted || outside {
            return;
        }
        self.out.push(if self.protocol == Protocol::Consumer {
            let owned = self.owned.iter().copied().collect();
            Request::Reconcile { member, epoch: generation, owned }
        } else {
            Request::Heartbeat { member, generation }
        });
    }

    /// The application did not poll in time: the client leaves by itself.
    fn exceed(&mut self) {
        self.exceeded = true;
        self.events.push_back(Event::PollExceeded);
        if self.from.instance.is_none() {
            self.out.push(Request::Leave { member: self.member, keep: false });
        }
        if self.protocol == Protocol::Consumer {
            self.generation = 0;
        } else {
            // The generation stays as it is; only the id is gone.
            self.member = 0;
        }
        self.lose_all();
    }

    /// The flag is not set while a callback waits: whoever is inside it is not told.
    fn lose_all(&mut self) {
        if self.join == Join::Callback {
            self.evicted = true;
            return;
        }
        if self.owned.is_empty() {
            self.join = Join::Init;
            return;
        }
        self.lost = true;
        self.events.push_back(Event::Revoke(self.owned.iter().copied().collect()));
        self.join = Join::Callback;
        self.then = Then::Begin;
    }

    fn die(&mut self, code: Code) {
        self.fatal = true;
        self.owned.clear();
        self.events.clear();
        self.events.push_back(Event::Fatal(code));
    }

    /// Commits one partition; parked while the coordinator cannot be reached.
    pub(super) fn commit(&mut self, tag: u64, partition: u32, offset: u64, metadata: Vec<u8>) {
        let (member, generation) = (self.member, self.generation);
        let commit = Commit { tag, member, generation, partition, offset, metadata };
        if self.fatal {
            self.answers.push_back((tag, Code::Fatal));
            return;
        }
        self.newest.insert(partition, tag);
        self.open.insert(tag, commit.clone());
        if !self.cut {
            self.send_commit(commit);
        }
    }

    /// Whether a commit of the partition goes out again with the next connection.
    pub(super) fn may_commit(&self, partition: u32) -> bool {
        self.open.values().any(|commit| commit.partition == partition)
    }

    fn send_commit(&mut self, commit: Commit) {
        let (member, generation) = (self.member, self.generation);
        self.out.push(Request::Commit(Commit { member, generation, ..commit }));
    }

    /// The application polls; a callback may be due.
    pub(super) fn poll(&mut self, now: u64) -> Option<Event> {
        self.polled = now;
        let event = self.events.pop_front();
        if event.is_none() {
            self.exceeded = false;
        }
        event
    }

    pub(super) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether a rebalance is under way.
    pub(super) fn is_moving(&self) -> bool {
        self.join != Join::Steady
    }

    /// `unassign`, or `incremental_unassign`.
    pub(super) fn unassign(&mut self, now: u64, partitions: &[u32]) {
        self.owned.retain(|partition| !partitions.contains(partition));
        self.lost = false;
        if self.after_eviction() {
            return;
        }
        match core::mem::replace(&mut self.then, Then::Settle) {
            Then::Join => self.ask_to_join(),
            Then::Begin => self.join = Join::Init,
            Then::Settle => self.settle(now),
            Then::Assign(added, again) => {
                self.events.push_back(Event::Assign(added));
                self.then = if again { Then::Join } else { Then::Settle };
            }
        }
    }

    /// `assign`, or `incremental_assign`.
    pub(super) fn assign(&mut self, now: u64, partitions: &[u32]) {
        self.owned.extend(partitions);
        self.lost = false;
        if self.after_eviction() {
            return;
        }
        match core::mem::replace(&mut self.then, Then::Settle) {
            Then::Join => self.ask_to_join(),
            _ => self.settle(now),
        }
    }

    fn settle(&mut self, now: u64) {
        self.join = Join::Steady;
        // KIP-848 acknowledges at once.
        self.next_beat = if self.protocol == Protocol::Consumer { now } else { self.next_beat };
    }

    /// What was kept back while the callback ran.
    fn after_eviction(&mut self) -> bool {
        if !core::mem::take(&mut self.evicted) {
            return false;
        }
        self.then = Then::Settle;
        self.events.retain(|event| *event == Event::PollExceeded);
        self.join = Join::Steady;
        if self.protocol == Protocol::Consumer && self.exceeded && !self.owned.is_empty() {
            // It joins anew while it still names partitions, which the coordinator refuses.
            self.die(Code::Fatal);
        } else {
            self.lose_all();
        }
        true
    }

    /// Says good-bye, if it can.
    pub(super) fn close(&mut self, now: u64, wire: &mut Wire) {
        let keep = self.from.instance.is_some();
        if self.member != 0 && !self.fatal {
            self.out.push(Request::Leave { member: self.member, keep });
        }
        self.flush(now, wire);
        self.join = Join::Closed;
        self.owned.clear();
    }
}
