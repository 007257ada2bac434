//! What clients and the coordinator say to each other, and how long it takes.

use std::collections::BTreeMap;

/// A client object; a new consumer is a new address.
pub(super) type Address = u64;

/// A coordinator's error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Code {
    Ok,
    UnknownMember,
    IllegalGeneration,
    RebalanceInProgress,
    FencedInstance,
    UnreleasedInstance,
    FencedEpoch,
    StaleEpoch,
    TimedOut,
    MetadataTooLarge,
    /// The client's own, after a fatal error.
    Fatal,
}

/// One commit of one partition.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) tag: u64,
    pub(super) member: u64,
    pub(super) generation: i32,
    pub(super) partition: u32,
    pub(super) offset: u64,
    pub(super) metadata: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(super) enum Request {
    Join {
        member: u64,
        owned: Vec<u32>,
    },
    Sync {
        member: u64,
        generation: i32,
    },
    Heartbeat {
        member: u64,
        generation: i32,
    },
    /// KIP-848: joins with epoch 0.
    Reconcile {
        member: u64,
        epoch: i32,
        owned: Vec<u32>,
    },
    /// `keep`: a static member that comes back.
    Leave {
        member: u64,
        keep: bool,
    },
    Commit(Commit),
}

#[derive(Clone, Debug)]
pub(super) enum Response {
    Join { code: Code, member: u64, generation: i32 },
    Sync { code: Code, generation: i32, assigned: Vec<u32> },
    Heartbeat(Code),
    Reconciled { code: Code, member: u64, epoch: i32, assigned: Vec<u32> },
    Commit { tag: u64, code: Code },
}

/// Who sends: its address, its static id, and the connection, which a cut replaces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct From {
    pub(super) address: Address,
    pub(super) instance: Option<usize>,
    pub(super) link: u64,
}

/// Messages under way. Each direction of a connection keeps its order.
pub(super) struct Wire {
    rng: fastrand::Rng,
    latency: u64,
    number: u64,
    requests: BTreeMap<(u64, u64), (From, Request)>,
    responses: BTreeMap<(u64, u64), (From, Response)>,
    last: BTreeMap<(Address, bool), u64>,
}

impl Wire {
    pub(super) fn new(seed: u64, latency: u64) -> Self {
        Self {
            rng: fastrand::Rng::with_seed(seed ^ 0x7769_7265),
            latency: latency.max(1),
            number: 0,
            requests: BTreeMap::new(),
            responses: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }

    pub(super) fn ask(&mut self, now: u64, from: From, request: Request) {
        let due = self.due(now, from.address, true);
        self.requests.insert(due, (from, request));
    }

    pub(super) fn answer(&mut self, now: u64, to: From, response: Response) {
        let due = self.due(now, to.address, false);
        self.responses.insert(due, (to, response));
    }

    /// Whether a commit of the partition is on its way.
    pub(super) fn brings_commit(&self, partition: u32) -> bool {
        let of =
            |request: &Request| matches!(request, Request::Commit(c) if c.partition == partition);
        self.requests.values().any(|(_, request)| of(request))
    }

    /// An answer that is `late` and lets others pass it.
    pub(super) fn answer_late(&mut self, now: u64, late: u64, to: From, response: Response) {
        self.number += 1;
        self.responses.insert((now + self.latency + late, self.number), (to, response));
    }

    fn due(&mut self, now: u64, address: Address, up: bool) -> (u64, u64) {
        let last = self.last.entry((address, up)).or_default();
        *last = (now + self.rng.u64(1..=self.latency)).max(*last);
        self.number += 1;
        (*last, self.number)
    }

    pub(super) fn next_request(&mut self, now: u64) -> Option<(From, Request)> {
        take_due(&mut self.requests, now)
    }

    pub(super) fn next_response(&mut self, now: u64) -> Option<(From, Response)> {
        take_due(&mut self.responses, now)
    }
}

fn take_due<T>(queue: &mut BTreeMap<(u64, u64), T>, now: u64) -> Option<T> {
    let first = queue.first_entry()?;
    (first.key().0 <= now).then(|| first.remove())
}
