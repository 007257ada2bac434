//! The worker pool: order, bounds, the fence, and ends.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rebalance_guard::{Assignment, Partition, Ticket, Token};
use rebalance_guard_fence::OwnershipFence;
use rebalance_guard_host::clock;
use rebalance_guard_host::record::{Effect, OwnedRecord};
use rebalance_guard_host::sink::{Sink, SinkAnswer};
use rebalance_guard_host::workers::{
    Done, Job, JobId, JobResult, Load, Order, PoolSettings, WorkerPool,
};

/// Longer than anything here takes; only a broken pool waits so long.
const LONG: Duration = Duration::from_secs(30);
/// A time in which nothing that must not happen happened.
const SHORT: Duration = Duration::from_millis(50);

type Place = (i32, i64);

/// A sink whose effects stay open until the test answers them.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    begun: Vec<Place>,
    open: Vec<Place>,
    answers: HashMap<Place, SinkAnswer>,
    panics: Vec<Place>,
}

impl Sink for Gate {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        let place = (effect.record.partition.index, effect.record.offset);
        let mut state = self.state.lock().unwrap();
        state.begun.push(place);
        state.open.push(place);
        self.changed.notify_all();
        let waiting = |state: &mut GateState| !state.answers.contains_key(&place);
        state = self.changed.wait_while(state, waiting).unwrap();
        state.open.retain(|open| *open != place);
        let answer = state.answers.remove(&place).unwrap();
        let panics = state.panics.contains(&place);
        drop(state);
        assert!(!panics, "the sink broke at {place:?}");
        answer
    }
}

impl Gate {
    fn answer(&self, place: Place, answer: SinkAnswer) {
        self.state.lock().unwrap().answers.insert(place, answer);
        self.changed.notify_all();
    }

    fn done(&self, place: Place) {
        self.answer(place, SinkAnswer::Done);
    }

    fn fail(&self, place: Place) {
        self.answer(place, SinkAnswer::Retry { after: None, why: "not now".to_owned() });
    }

    /// Waits until exactly `places` are inside an effect, and stays so for a moment.
    fn expect_open(&self, places: &[Place]) {
        let sorted = |open: &[Place]| {
            let mut open = open.to_vec();
            open.sort_unstable();
            open
        };
        let differs = |state: &mut GateState| sorted(&state.open) != places;
        let state = self.state.lock().unwrap();
        let (mut state, late) = self.changed.wait_timeout_while(state, LONG, differs).unwrap();
        assert!(!late.timed_out(), "open: {:?}, expected: {places:?}", state.open);
        let same = |state: &mut GateState| sorted(&state.open) == places;
        state = self.changed.wait_timeout_while(state, SHORT, same).unwrap().0;
        assert_eq!(sorted(&state.open), places);
    }

    fn begun(&self) -> Vec<Place> {
        self.state.lock().unwrap().begun.clone()
    }
}

fn assignment(number: u64) -> Assignment {
    Assignment::new(number).unwrap()
}

fn ticket(number: u64, attempt: u16) -> Ticket {
    let mut bytes = [0; Ticket::BYTES];
    bytes[4..12].copy_from_slice(&number.to_le_bytes());
    bytes[20..22].copy_from_slice(&attempt.to_le_bytes());
    Ticket::from_bytes(&bytes).unwrap()
}

fn record(partition: i32, offset: i64, key: Option<&[u8]>) -> Arc<OwnedRecord> {
    Arc::new(OwnedRecord {
        topic: Arc::from("orders"),
        partition: Partition::new(0, partition),
        offset,
        key: key.map(<[u8]>::to_vec),
        payload: None,
        headers: Vec::new(),
        leader_epoch: None,
        timestamp_ms: None,
    })
}

/// A job of assignment 1.
fn job(partition: i32, offset: i64, key: Option<&[u8]>) -> Job {
    job_of(1, &OwnershipFence::open(), record(partition, offset, key))
}

fn job_of(number: u64, fence: &OwnershipFence, record: Arc<OwnedRecord>) -> Job {
    Job {
        ticket: Some(ticket(number, 0)),
        record,
        idempotency_key: None,
        token: Some(Token { group: 1, assignment: assignment(number) }),
        fence: Some(fence.clone()),
        attempt: 0,
    }
}

fn retry_of(done: Done) -> Job {
    let attempt = done.job.attempt + 1;
    Job { ticket: Some(ticket(1, attempt)), attempt, ..done.job }
}

fn pool(workers: usize, order: Order, capacity: usize) -> (WorkerPool, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let size = |size| NonZeroUsize::new(size).unwrap();
    let settings = PoolSettings { workers: size(workers), order, capacity: size(capacity) };
    let sink: Arc<dyn Sink> = gate.clone();
    (WorkerPool::start(settings, sink).unwrap(), gate)
}

fn submit(pool: &WorkerPool, job: Job) {
    assert!(pool.try_submit(job).is_ok(), "there is room");
}

fn next(pool: &WorkerPool) -> Done {
    pool.results().recv_timeout(LONG).expect("a result")
}

fn place(done: &Done) -> Place {
    (done.job.record.partition.index, done.job.record.offset)
}

fn expect_completed(pool: &WorkerPool, expected: Place) {
    let done = next(pool);
    assert_eq!((place(&done), done.result), (expected, JobResult::Completed));
}

fn expect_failed(pool: &WorkerPool, expected: Place) -> Done {
    let done = next(pool);
    assert_eq!(place(&done), expected);
    assert!(matches!(done.result, JobResult::Failed { permanent: false, .. }), "{done:?}");
    done
}

#[test]
fn without_order_everything_runs_at_once() {
    let (pool, gate) = pool(4, Order::None, 8);
    for offset in 0..4 {
        submit(&pool, job(0, offset, Some(b"same")));
    }
    gate.expect_open(&[(0, 0), (0, 1), (0, 2), (0, 3)]);
    assert_eq!(pool.load(), Load { busy: 4, queued: 0, blocked: 0 });
    gate.done((0, 3));
    expect_completed(&pool, (0, 3));
    (0..3).for_each(|offset| gate.done((0, offset)));
}

#[test]
fn a_partition_runs_in_order_and_partitions_side_by_side() {
    let (pool, gate) = pool(4, Order::Partition, 8);
    for (partition, offset) in [(0, 10), (0, 11), (1, 5), (0, 12), (1, 6)] {
        submit(&pool, job(partition, offset, None));
    }
    gate.expect_open(&[(0, 10), (1, 5)]);
    assert_eq!(pool.load(), Load { busy: 2, queued: 3, blocked: 0 });
    gate.done((0, 10));
    expect_completed(&pool, (0, 10));
    gate.expect_open(&[(0, 11), (1, 5)]);
    for place in [(0, 11), (0, 12), (1, 5), (1, 6)] {
        gate.done(place);
        expect_completed(&pool, place);
    }
}

// B133 (confluentinc/parallel-consumer#579)
#[test]
fn equal_key_bytes_from_different_buffers_run_in_order() {
    let (pool, gate) = pool(4, Order::Key, 8);
    submit(&pool, job(0, 100, Some(&[1, 2, 3])));
    submit(&pool, job(0, 101, Some(&[1, 2, 3])));
    submit(&pool, job(0, 102, Some(&[1, 2])));
    submit(&pool, job(0, 103, Some(&[])));
    gate.expect_open(&[(0, 100), (0, 102), (0, 103)]);
    gate.done((0, 100));
    expect_completed(&pool, (0, 100));
    gate.expect_open(&[(0, 101), (0, 102), (0, 103)]);
    (101..104).for_each(|offset| gate.done((0, offset)));
}

// B130 (confluentinc/parallel-consumer#318), B131 (confluentinc/parallel-consumer#183)
#[test]
fn records_without_a_key_wait_for_nobody() {
    let (pool, gate) = pool(10, Order::Key, 16);
    for offset in 100..110 {
        submit(&pool, job(0, offset, None));
    }
    let all: Vec<Place> = (100..110).map(|offset| (0, offset)).collect();
    gate.expect_open(&all);
    all.into_iter().for_each(|place| gate.done(place));
}

// B134 (confluentinc/parallel-consumer#314)
#[test]
fn one_key_in_two_partitions_is_two_keys() {
    let (pool, gate) = pool(4, Order::Key, 8);
    let (mine, other) = (OwnershipFence::open(), OwnershipFence::open());
    submit(&pool, job_of(1, &mine, record(0, 100, Some(b"k"))));
    submit(&pool, job_of(2, &other, record(1, 100, Some(b"k"))));
    gate.expect_open(&[(0, 100), (1, 100)]);
    mine.close();
    assert_eq!(pool.forget(assignment(1)).len(), 0);
    submit(&pool, job_of(2, &other, record(1, 101, Some(b"k"))));
    gate.done((1, 100));
    expect_completed(&pool, (1, 100));
    gate.expect_open(&[(0, 100), (1, 101)]);
    gate.done((0, 100));
    gate.done((1, 101));
}

// B128 (kpipe PR#137): a key with live work is never evicted; a full table says "wait".
#[test]
fn a_full_pool_gives_the_job_back_and_forgets_no_lane() {
    let (pool, gate) = pool(4, Order::Key, 3);
    submit(&pool, job(0, 100, Some(b"a")));
    submit(&pool, job(0, 101, Some(b"b")));
    submit(&pool, job(0, 102, Some(b"c")));
    gate.expect_open(&[(0, 100), (0, 101), (0, 102)]);
    let back = pool.try_submit(job(0, 103, Some(b"d"))).expect_err("the pool is full");
    assert_eq!(back.record.offset, 103);
    gate.done((0, 101));
    expect_completed(&pool, (0, 101));
    submit(&pool, job(0, 104, Some(b"a")));
    gate.expect_open(&[(0, 100), (0, 102)]);
    gate.done((0, 100));
    expect_completed(&pool, (0, 100));
    gate.expect_open(&[(0, 102), (0, 104)]);
    gate.done((0, 102));
    gate.done((0, 104));
}

#[test]
fn a_failed_record_keeps_its_lane_until_its_retry_completed() {
    let (pool, gate) = pool(2, Order::Partition, 3);
    for offset in 0..3 {
        submit(&pool, job(0, offset, None));
    }
    gate.fail((0, 0));
    let failed = expect_failed(&pool, (0, 0));
    gate.expect_open(&[]);
    assert_eq!(pool.load(), Load { busy: 0, queued: 2, blocked: 1 });
    // The pool is full, and still the retry finds its place.
    assert!(pool.try_submit(job(1, 0, None)).is_err());
    submit(&pool, retry_of(failed));
    gate.fail((0, 0));
    let failed = expect_failed(&pool, (0, 0));
    assert_eq!(failed.job.attempt, 1);
    submit(&pool, retry_of(failed));
    for offset in 0..3 {
        gate.done((0, offset));
        expect_completed(&pool, (0, offset));
    }
    assert_eq!(gate.begun(), [(0, 0), (0, 0), (0, 0), (0, 1), (0, 2)]);
}

#[test]
fn a_record_that_the_sink_did_not_answer_keeps_its_lane_and_its_attempts() {
    let (pool, gate) = pool(2, Order::Partition, 3);
    submit(&pool, job(0, 0, None));
    submit(&pool, job(0, 1, None));
    gate.answer((0, 0), SinkAnswer::Unreachable { sent: true, why: "silence".to_owned() });
    let done = next(&pool);
    let silence = JobResult::Unreachable { sent: true, why: "silence".to_owned() };
    assert_eq!((done.result, done.job.attempt), (silence, 0));
    gate.expect_open(&[]);
    assert_eq!(pool.load(), Load { busy: 0, queued: 1, blocked: 1 });
    submit(&pool, done.job);
    // One after the other: a lane goes on before its last result is told.
    for offset in 0..2 {
        gate.done((0, offset));
        expect_completed(&pool, (0, offset));
    }
    assert_eq!(gate.begun(), [(0, 0), (0, 0), (0, 1)]);
}

#[test]
fn a_settled_record_lets_its_lane_go_on_once() {
    let (pool, gate) = pool(2, Order::Partition, 4);
    submit(&pool, job(0, 0, None));
    submit(&pool, job(0, 1, None));
    gate.expect_open(&[(0, 0)]);
    let first = record(0, 0, None);
    assert!(!pool.settle(&first, Some(assignment(1))), "it runs, so it is not settled");
    gate.answer((0, 0), SinkAnswer::Permanent { why: "no such order".to_owned() });
    let done = next(&pool);
    let why = "no such order".to_owned();
    assert_eq!(done.result, JobResult::Failed { permanent: true, why, after: None });
    assert!(!pool.settle(&first, Some(assignment(2))), "another assignment's record");
    gate.expect_open(&[]);
    assert!(pool.settle(&first, Some(assignment(1))));
    assert!(!pool.settle(&first, Some(assignment(1))));
    gate.expect_open(&[(0, 1)]);
    gate.done((0, 1));
    expect_completed(&pool, (0, 1));
}

#[test]
fn after_the_close_what_has_not_begun_never_begins() {
    let (pool, gate) = pool(1, Order::None, 4);
    let fence = OwnershipFence::open();
    for offset in 0..3 {
        submit(&pool, job_of(1, &fence, record(0, offset, None)));
    }
    gate.expect_open(&[(0, 0)]);
    fence.close();
    assert!(!fence.wait_released(SHORT), "a worker is inside an effect");
    gate.done((0, 0));
    assert!(fence.wait_released(LONG));
    expect_completed(&pool, (0, 0));
    for offset in 1..3 {
        let done = next(&pool);
        assert_eq!((place(&done), done.result), ((0, offset), JobResult::Abandoned));
    }
    assert_eq!(gate.begun(), [(0, 0)]);
}

// B50 (aio-libs/aiokafka#335): a revoke waits for no worker's lock, and no worker for the revoke's.
#[test]
fn after_a_stand_still_nothing_begins_before_the_owner_is_heard_of() {
    let (pool, gate) = pool(1, Order::None, 2);
    let silence = Duration::from_secs(1);
    pool.hold_after(silence);
    let began = clock::now();
    while began.elapsed() <= silence {
        gate.expect_open(&[]);
    }
    submit(&pool, job(0, 0, None));
    gate.expect_open(&[]);
    gate.expect_open(&[]);
    assert_eq!(pool.load(), Load { busy: 0, queued: 1, blocked: 0 });
    pool.beat();
    gate.expect_open(&[(0, 0)]);
    gate.done((0, 0));
    expect_completed(&pool, (0, 0));
}

#[test]
fn forgetting_an_assignment_does_not_wait_for_its_workers() {
    let (pool, gate) = pool(1, Order::Partition, 8);
    let (old, new) = (OwnershipFence::open(), OwnershipFence::open());
    for offset in 0..3 {
        submit(&pool, job_of(1, &old, record(0, offset, None)));
    }
    gate.expect_open(&[(0, 0)]);
    old.close();
    let dropped = pool.forget(assignment(1));
    let offsets: Vec<i64> = dropped.iter().map(|done| done.job.record.offset).collect();
    assert_eq!(offsets, [1, 2]);
    assert!(dropped.iter().all(|done| done.result == JobResult::Abandoned));
    // The partition came back while the old effect hangs: its order holds all the same.
    submit(&pool, job_of(2, &new, record(0, 0, None)));
    gate.expect_open(&[(0, 0)]);
    assert_eq!(gate.begun().len(), 1);
    gate.fail((0, 0));
    expect_failed(&pool, (0, 0));
    gate.done((0, 0));
    let done = next(&pool);
    assert_eq!(done.job.id(), JobId { assignment: Some(assignment(2)), ..done.job.id() });
    assert_eq!(done.result, JobResult::Completed);
}

#[test]
fn forgetting_frees_a_lane_that_a_failed_record_kept() {
    let (pool, gate) = pool(1, Order::Key, 2);
    let (old, new) = (OwnershipFence::open(), OwnershipFence::open());
    submit(&pool, job_of(1, &old, record(0, 0, Some(b"k"))));
    gate.fail((0, 0));
    expect_failed(&pool, (0, 0));
    submit(&pool, job_of(2, &new, record(0, 1, Some(b"k"))));
    old.close();
    assert_eq!(pool.forget(assignment(1)).len(), 0);
    gate.done((0, 1));
    expect_completed(&pool, (0, 1));
    // Both places are free again.
    submit(&pool, job_of(2, &new, record(0, 2, Some(b"k"))));
    submit(&pool, job_of(2, &new, record(0, 3, Some(b"k"))));
    gate.done((0, 2));
    gate.done((0, 3));
    expect_completed(&pool, (0, 2));
    expect_completed(&pool, (0, 3));
}

#[test]
fn a_fenced_answer_closes_the_fence() {
    let (pool, gate) = pool(1, Order::None, 4);
    let fence = OwnershipFence::open();
    for offset in 0..2 {
        submit(&pool, job_of(1, &fence, record(0, offset, None)));
    }
    gate.answer((0, 0), SinkAnswer::Fenced { why: "7.2 is above".to_owned() });
    let why = "7.2 is above".to_owned();
    assert_eq!(next(&pool).result, JobResult::Fenced { why });
    assert_eq!(next(&pool).result, JobResult::Abandoned);
    assert!(fence.is_released());
    assert_eq!(gate.begun(), [(0, 0)]);
}

#[test]
fn a_panicking_sink_fails_the_record_and_keeps_the_worker() {
    let (pool, gate) = pool(1, Order::Partition, 4);
    gate.state.lock().unwrap().panics.push((0, 0));
    let fence = OwnershipFence::open();
    submit(&pool, job_of(1, &fence, record(0, 0, None)));
    submit(&pool, job(1, 0, None));
    gate.done((0, 0));
    let failed = expect_failed(&pool, (0, 0));
    let JobResult::Failed { why, .. } = failed.result else { unreachable!("it failed") };
    assert!(why.starts_with("the sink panicked: the sink broke at (0, 0)"), "{why}");
    assert_eq!(fence.in_effect(), 0, "its permit is given back");
    gate.done((1, 0));
    expect_completed(&pool, (1, 0));
}

#[test]
fn shutdown_reports_what_ended_what_never_began_and_what_still_runs() {
    let (pool, gate) = pool(2, Order::Partition, 8);
    for (partition, offset) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        submit(&pool, job(partition, offset, None));
    }
    gate.expect_open(&[(0, 0), (1, 0)]);
    gate.done((0, 0));
    gate.expect_open(&[(0, 1), (1, 0)]);
    let left = pool.shutdown(SHORT);
    let done: Vec<_> = left.done.iter().map(|done| (place(done), done.result.clone())).collect();
    assert_eq!(done, [((1, 1), JobResult::Abandoned), ((0, 0), JobResult::Completed)]);
    let running = |id: &JobId| (id.partition.index, id.offset);
    let mut running: Vec<Place> = left.running.iter().map(running).collect();
    running.sort_unstable();
    assert_eq!(running, [(0, 1), (1, 0)]);
    gate.done((0, 1));
    gate.done((1, 0));
}

#[test]
fn shutdown_waits_for_what_ends_in_time() {
    let (pool, gate) = pool(2, Order::None, 8);
    submit(&pool, job(0, 0, None));
    submit(&pool, job(0, 1, None));
    gate.expect_open(&[(0, 0), (0, 1)]);
    gate.done((0, 0));
    gate.done((0, 1));
    let left = pool.shutdown(LONG);
    assert_eq!(left.done.len(), 2);
    assert_eq!(left.running, []);
}

#[test]
fn results_that_nobody_takes_block_neither_submit_nor_shutdown() {
    let (pool, gate) = pool(2, Order::None, 2);
    let mut submitted = 0;
    let mut full = 0;
    // Workers come to wait for room in the results, the poll thread never does.
    let mut offset = 0;
    while full < 1_000 {
        gate.done((0, offset));
        match pool.try_submit(job(0, offset, None)) {
            Ok(()) => {
                submitted += 1;
                full = 0;
            }
            Err(_) => full += 1,
        }
        offset += 1;
        std::thread::yield_now();
    }
    let left = pool.shutdown(LONG);
    assert_eq!(left.done.len(), submitted);
    assert_eq!(left.running, []);
}

#[test]
fn the_unguarded_arm_runs_without_ticket_token_and_fence() {
    let (pool, gate) = pool(1, Order::None, 2);
    let unguarded = Job { ticket: None, token: None, fence: None, ..job(0, 7, None) };
    submit(&pool, unguarded);
    gate.done((0, 7));
    expect_completed(&pool, (0, 7));
}

/// Partition and record key.
type Lane = (i32, Option<Vec<u8>>);

/// Logs offsets by lane and fails every seventh record once.
#[derive(Default)]
struct Log(Mutex<HashMap<Lane, Vec<i64>>>);

impl Sink for Log {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        let record = effect.record;
        let lane = (record.partition.index, record.key.clone());
        self.0.lock().unwrap().entry(lane).or_default().push(record.offset);
        if record.offset % 7 == 0 && effect.attempt == 0 {
            return SinkAnswer::Retry { after: None, why: "once".to_owned() };
        }
        SinkAnswer::Done
    }
}

#[test]
fn every_job_comes_back_once_and_in_order_under_load() {
    const RECORDS: i64 = 20_000;
    let log = Arc::new(Log::default());
    let sink: Arc<dyn Sink> = log.clone();
    let size = |size| NonZeroUsize::new(size).unwrap();
    let settings = PoolSettings { workers: size(8), order: Order::Key, capacity: size(64) };
    let pool = WorkerPool::start(settings, sink).unwrap();
    let mut completed = HashMap::new();
    let mut take = |done: Done| match done.result {
        JobResult::Completed => {
            let times: &mut u32 = completed.entry(place(&done)).or_default();
            *times += 1;
            1
        }
        _ => {
            submit(&pool, retry_of(done));
            0
        }
    };
    let mut finished = 0;
    for offset in 0..RECORDS {
        let key = (offset % 13).to_le_bytes();
        let mut job = job((offset % 3) as i32, offset, Some(&key));
        while let Err(back) = pool.try_submit(job) {
            finished += take(next(&pool));
            job = back;
        }
        while let Ok(done) = pool.results().try_recv() {
            finished += take(done);
        }
    }
    while finished < RECORDS {
        finished += take(next(&pool));
    }
    assert_eq!(completed.len() as i64, RECORDS);
    assert!(completed.values().all(|times| *times == 1));
    for offsets in log.0.lock().unwrap().values() {
        assert!(offsets.is_sorted(), "a retry runs before what comes after it");
    }
}
