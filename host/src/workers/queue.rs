//! Who runs next: the queue of runnable jobs and the ordered lanes, without threads.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use rebalance_guard::{Assignment, Partition};

use super::{Job, JobId, Order};
use crate::record::OwnedRecord;

/// Jobs that wait. A lane lives exactly as long as it has a holder, so it is never evicted.
#[derive(Debug)]
pub(super) struct Queue {
    order: Order,
    capacity: usize,
    /// Jobs waiting or running, and failed holders: a retry finds its place kept, so those that
    /// wait behind it can never keep it out.
    taken: usize,
    ready: VecDeque<Job>,
    lanes: HashMap<LaneKey, Lane>,
}

/// Compared by its bytes; that equal hashes are not equal keys is the map's business.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum LaneKey {
    Partition(Partition),
    RecordKey(Partition, Box<[u8]>),
}

#[derive(Debug)]
struct Lane {
    /// Whose turn it is.
    holder: JobId,
    state: Turn,
    waiting: VecDeque<Job>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Turn {
    /// The holder is ready or runs.
    Going,
    /// The holder failed; its retry goes straight on.
    Blocked,
    /// The holder runs though its assignment is over: the lane goes on when it ends, however.
    Ending,
}

/// How a run ended, as the lane sees it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    /// The record is finished with, or never began.
    Release,
    /// It must run again, or be settled, before the lane goes on.
    Block,
}

impl Queue {
    pub(super) fn new(order: Order, capacity: usize) -> Self {
        Self { order, capacity, taken: 0, ready: VecDeque::new(), lanes: HashMap::new() }
    }

    /// Takes the job, or gives it back when there is no room.
    pub(super) fn submit(&mut self, job: Job) -> Result<(), Job> {
        let full = self.taken >= self.capacity;
        let Some(key) = self.lane_of(&job.record) else {
            if full {
                return Err(job);
            }
            self.ready.push_back(job);
            self.taken += 1;
            return Ok(());
        };
        match self.lanes.entry(key) {
            Entry::Occupied(entry) if entry.get().is_blocked_by(job.id()) => {
                entry.into_mut().state = Turn::Going;
                self.ready.push_back(job);
                return Ok(());
            }
            _ if full => return Err(job),
            Entry::Occupied(entry) => entry.into_mut().waiting.push_back(job),
            Entry::Vacant(entry) => {
                entry.insert(Lane::held_by(job.id()));
                self.ready.push_back(job);
            }
        }
        self.taken += 1;
        Ok(())
    }

    /// The next job to run.
    pub(super) fn next(&mut self) -> Option<Job> {
        self.ready.pop_front()
    }

    /// A job that [`Queue::next`] gave has ended.
    pub(super) fn finish(&mut self, job: &Job, end: End) {
        let Some(key) = self.lane_of(&job.record) else {
            self.taken -= 1;
            return;
        };
        match self.lanes.get_mut(&key) {
            Some(lane) if end == End::Block && lane.state == Turn::Going => {
                lane.state = Turn::Blocked;
            }
            Some(_) => self.release(&key),
            None => {}
        }
    }

    /// The failed record is finished with elsewhere; whether its lane was blocked by it.
    pub(super) fn settle(&mut self, record: &OwnedRecord, assignment: Option<Assignment>) -> bool {
        let id = JobId::of(record, assignment);
        match self.lane_of(record) {
            Some(key) if self.lanes.get(&key).is_some_and(|lane| lane.is_blocked_by(id)) => {
                self.release(&key);
                true
            }
            _ => false,
        }
    }

    /// Takes out every job of the assignment that has not begun and lets go of its lanes; a lane
    /// whose holder runs goes on when that run ends.
    pub(super) fn forget(&mut self, assignment: Assignment) -> Vec<Job> {
        let over = |id: JobId| id.assignment == Some(assignment);
        let mut out = Vec::new();
        for lane in self.lanes.values_mut() {
            let (gone, kept) = lane.waiting.drain(..).partition(|job| over(job.id()));
            lane.waiting = kept;
            out.extend::<VecDeque<Job>>(gone);
        }
        self.taken -= out.len();
        let (gone, kept) = self.ready.drain(..).partition(|job| over(job.id()));
        self.ready = kept;
        for job in VecDeque::<Job>::into_iter(gone) {
            self.finish(&job, End::Release);
            out.push(job);
        }
        let held: Vec<LaneKey> = self
            .lanes
            .iter()
            .filter(|(_, lane)| over(lane.holder))
            .map(|(key, _)| key.clone())
            .collect();
        for key in held {
            match self.lanes.get_mut(&key) {
                Some(lane) if lane.state == Turn::Going => lane.state = Turn::Ending,
                Some(lane) if lane.state == Turn::Blocked => self.release(&key),
                _ => {}
            }
        }
        out.sort_by_key(Job::id);
        out
    }

    /// Takes out everything that has not begun.
    pub(super) fn drain(&mut self) -> Vec<Job> {
        let mut out: Vec<Job> = self.ready.drain(..).collect();
        for lane in self.lanes.values_mut() {
            out.extend(lane.waiting.drain(..));
        }
        self.taken -= out.len();
        out.sort_by_key(Job::id);
        out
    }

    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Jobs that wait for a worker or for their lane.
    pub(super) fn queued(&self) -> usize {
        self.ready.len() + self.lanes.values().map(|lane| lane.waiting.len()).sum::<usize>()
    }

    pub(super) fn blocked(&self) -> usize {
        self.lanes.values().filter(|lane| lane.state == Turn::Blocked).count()
    }

    /// The holder is done: the next in line, or the lane's end.
    fn release(&mut self, key: &LaneKey) {
        let Some(lane) = self.lanes.get_mut(key) else {
            return;
        };
        self.taken -= 1;
        match lane.waiting.pop_front() {
            Some(next) => {
                lane.holder = next.id();
                lane.state = Turn::Going;
                self.ready.push_back(next);
            }
            None => {
                self.lanes.remove(key);
            }
        }
    }

    fn lane_of(&self, record: &OwnedRecord) -> Option<LaneKey> {
        match (self.order, &record.key) {
            (Order::Partition, _) => Some(LaneKey::Partition(record.partition)),
            (Order::Key, Some(key)) => {
                Some(LaneKey::RecordKey(record.partition, key.as_slice().into()))
            }
            (Order::None, _) | (Order::Key, None) => None,
        }
    }
}

impl Lane {
    fn held_by(holder: JobId) -> Self {
        Self { holder, state: Turn::Going, waiting: VecDeque::new() }
    }

    fn is_blocked_by(&self, id: JobId) -> bool {
        self.state == Turn::Blocked && self.holder == id
    }
}
