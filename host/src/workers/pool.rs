//! The threads around the queue.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use rebalance_guard::Assignment;

use super::queue::{End, Queue};
use super::{Done, Job, JobId, JobResult, Leftovers, Load, PoolSettings};
use crate::clock;
use crate::record::OwnedRecord;
use crate::sink::{Sink, SinkAnswer};

/// Threads that run side effects. Dropped without [`WorkerPool::shutdown`] it begins nothing more
/// and waits for nobody.
#[derive(Debug)]
pub struct WorkerPool {
    shared: Arc<Shared>,
    /// Workers own the senders: the channel closes when the last of them has ended.
    results: Receiver<Done>,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    /// What each worker is at, apart from `state`: it is cleared when the result has been handed
    /// on.
    running: Box<[Mutex<Option<JobId>>]>,
    sink: Arc<dyn Sink>,
    pulse: Pulse,
}

/// When the owner of the pool last showed itself. After a stand-still of the whole process workers
/// would go on before the poll thread hears that everything was lost meanwhile.
#[derive(Debug)]
struct Pulse {
    origin: Instant,
    /// In ms since `origin`.
    last: AtomicU64,
    /// The longest silence in ms.
    limit: AtomicU64,
}

impl Pulse {
    fn start() -> Self {
        let (last, limit) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        Self { origin: clock::now(), last, limit }
    }

    fn now(&self) -> u64 {
        let span = clock::now().saturating_duration_since(self.origin);
        u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
    }

    fn is_fresh(&self) -> bool {
        let silence = self.now().saturating_sub(self.last.load(Ordering::Acquire));
        silence <= self.limit.load(Ordering::Acquire)
    }
}

struct State {
    queue: Queue,
    stopping: bool,
}

impl WorkerPool {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(settings: PoolSettings, sink: Arc<dyn Sink>) -> io::Result<Self> {
        let workers = settings.workers.get();
        let capacity = settings.capacity.get();
        let state = State { queue: Queue::new(settings.order, capacity), stopping: false };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            work: Condvar::new(),
            running: (0..workers).map(|_| Mutex::new(None)).collect(),
            sink,
            pulse: Pulse::start(),
        });
        let (sender, results) = bounded(capacity.min(RESULTS_MAX));
        let pool = Self { shared, results };
        for index in 0..workers {
            let (shared, sender) = (Arc::clone(&pool.shared), sender.clone());
            thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(move || shared.work(index, &sender))?;
        }
        Ok(pool)
    }

    /// Hands a job to the workers, never blocking.
    ///
    /// A retry of a record that blocks its lane goes straight on and always finds room. A job given
    /// back must be submitted again before anything later of its partition, or order is lost.
    ///
    /// # Errors
    /// The job itself, when the pool is full or ends.
    #[allow(clippy::result_large_err, reason = "the caller gets its job back, as it was")]
    pub fn try_submit(&self, job: Job) -> Result<(), Job> {
        let mut state = self.shared.lock();
        if state.stopping {
            return Err(job);
        }
        state.queue.submit(job)?;
        self.shared.wake_one(&state);
        Ok(())
    }

    /// What became of the jobs. Only the poll thread should take from it, and must go on taking:
    /// workers wait when it is full.
    pub fn results(&self) -> &Receiver<Done> {
        &self.results
    }

    /// The failed record is finished with: its dead letter was acknowledged, or it was given up.
    /// Its lane goes on. Answers whether a lane was waiting for it.
    pub fn settle(&self, record: &OwnedRecord, assignment: Option<Assignment>) -> bool {
        let mut state = self.shared.lock();
        let settled = state.queue.settle(record, assignment);
        self.shared.wake_one(&state);
        settled
    }

    /// Takes back every job of the assignment that has not begun, each as abandoned, and lets go
    /// of its lanes. Called after the assignment's fence was closed, on revoke as on loss. What a
    /// worker is inside still comes back through [`WorkerPool::results`], and keeps its lane
    /// until then.
    pub fn forget(&self, assignment: Assignment) -> Vec<Done> {
        let mut state = self.shared.lock();
        let jobs = state.queue.forget(assignment);
        drop(state);
        self.shared.work.notify_all();
        abandoned(jobs).collect()
    }

    /// From now on nothing begins when [`WorkerPool::beat`] was not called for so long.
    pub fn hold_after(&self, silence: Duration) {
        self.beat();
        let limit = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
        self.shared.pulse.limit.store(limit, Ordering::Release);
    }

    /// Whoever owns the pool is there, and knows of nothing that was lost.
    pub fn beat(&self) {
        self.shared.pulse.last.store(self.shared.pulse.now(), Ordering::Release);
    }

    /// How much there is to do.
    pub fn load(&self) -> Load {
        let busy = self.shared.running().len();
        let state = self.shared.lock();
        Load { busy, queued: state.queue.queued(), blocked: state.queue.blocked() }
    }

    /// Begins nothing more, waits at most `within` for what runs, and says what was left.
    pub fn shutdown(self, within: Duration) -> Leftovers {
        let deadline = clock::now() + within.min(SHUTDOWN_MAX);
        let jobs = self.shared.stop();
        let mut left = Leftovers { done: abandoned(jobs).collect(), running: Vec::new() };
        while let Ok(done) = self.results.recv_deadline(deadline) {
            left.done.push(done);
        }
        left.running = self.shared.running();
        left
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        drop(self.shared.stop());
    }
}

impl Shared {
    fn work(&self, index: usize, results: &Sender<Done>) {
        while let Some(job) = self.next_job(index) {
            let result = run(&*self.sink, &job);
            let end = match result {
                JobResult::Completed | JobResult::Abandoned => End::Release,
                JobResult::Failed { .. }
                | JobResult::Unreachable { .. }
                | JobResult::Fenced { .. } => End::Block,
            };
            // Before the result is handed on: the poll thread may answer it with a retry at once.
            let mut state = self.lock();
            state.queue.finish(&job, end);
            self.wake_one(&state);
            drop(state);
            let sent = results.send(Done { job, result });
            self.set_running(index, None);
            if sent.is_err() {
                return;
            }
        }
    }

    /// Waits for a job; `None` when the pool ends.
    fn next_job(&self, index: usize) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            if !self.pulse.is_fresh() {
                let waited = self.work.wait_timeout(state, STALE);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            if let Some(job) = state.queue.next() {
                self.set_running(index, Some(job.id()));
                return Some(job);
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn stop(&self) -> Vec<Job> {
        let mut state = self.lock();
        state.stopping = true;
        let jobs = state.queue.drain();
        drop(state);
        self.work.notify_all();
        jobs
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_one(&self, state: &State) {
        if state.queue.ready() > 0 {
            self.work.notify_one();
        }
    }

    fn set_running(&self, index: usize, id: Option<JobId>) {
        *self.running[index].lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    fn running(&self) -> Vec<JobId> {
        let slots = self.running.iter();
        slots.filter_map(|slot| *slot.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("workers", &self.running.len()).finish_non_exhaustive()
    }
}

/// Between two looks at a pulse that has stopped.
const STALE: Duration = Duration::from_millis(20);
/// Results that wait for the poll thread; its room is taken at once, and workers may wait.
const RESULTS_MAX: usize = 1024;
/// As good as for ever, and no clock overflows by it.
const SHUTDOWN_MAX: Duration = Duration::from_secs(u32::MAX as u64);

/// Runs one job behind its fence. The permit is given back before anybody hears of the result.
fn run(sink: &dyn Sink, job: &Job) -> JobResult {
    let Some(fence) = &job.fence else {
        return deliver(sink, job);
    };
    let Some(permit) = fence.permit() else {
        return JobResult::Abandoned;
    };
    let result = deliver(sink, job);
    if matches!(result, JobResult::Fenced { .. }) {
        // A newer owner acts: this assignment is over, whatever the group says later.
        fence.close();
    }
    drop(permit);
    result
}

fn deliver(sink: &dyn Sink, job: &Job) -> JobResult {
    let answer = catch_unwind(AssertUnwindSafe(|| sink.deliver(&job.effect())));
    match answer {
        Ok(SinkAnswer::Done) => JobResult::Completed,
        Ok(SinkAnswer::Fenced { why }) => JobResult::Fenced { why },
        Ok(SinkAnswer::Retry { after, why }) => JobResult::Failed { permanent: false, why, after },
        Ok(SinkAnswer::Unreachable { sent, why }) => JobResult::Unreachable { sent, why },
        Ok(SinkAnswer::Permanent { why }) => {
            JobResult::Failed { permanent: true, why, after: None }
        }
        Err(panic) => JobResult::Failed {
            permanent: false,
            why: format!("the sink panicked: {}", words_of(&*panic)),
            after: None,
        },
    }
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without words")
}

fn abandoned(jobs: Vec<Job>) -> impl Iterator<Item = Done> {
    jobs.into_iter().map(|job| Done { job, result: JobResult::Abandoned })
}
