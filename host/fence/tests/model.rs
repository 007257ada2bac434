//! Every interleaving of small programs around the fence, by loom.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p rebalance-guard-fence --release`
#![cfg(loom)]

use std::time::Duration;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;
use rebalance_guard_fence::OwnershipFence;

/// Effects are counted without any order of their own, so whoever counts them on the other side of
/// the barrier sees them only by the order that the fence gives.
struct World {
    fence: OwnershipFence,
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            fence: OwnershipFence::open(),
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        })
    }

    /// One effect, if the fence allows; whether it did.
    fn act(&self) -> bool {
        let Some(_permit) = self.fence.permit() else {
            return false;
        };
        self.begun.fetch_add(1, Relaxed);
        self.ended.fetch_add(1, Relaxed);
        true
    }

    /// Effects begun and ended.
    fn seen(&self) -> (usize, usize) {
        (self.begun.load(Relaxed), self.ended.load(Relaxed))
    }
}

fn worker(world: &Arc<World>) -> thread::JoinHandle<bool> {
    let world = Arc::clone(world);
    thread::spawn(move || world.act())
}

#[test]
fn after_release_nobody_is_inside_and_nothing_is_added() {
    loom::model(|| {
        let world = World::new();
        let worker = worker(&world);
        assert!(world.fence.wait_released(Duration::MAX));
        let (begun, ended) = world.seen();
        assert_eq!(begun, ended, "released while an effect was open");
        let acted = worker.join().expect("the worker ends");
        assert_eq!(world.seen(), (begun, ended), "an effect was added after release");
        assert_eq!(acted, begun == 1);
    });
}

/// Three threads have too many interleavings for a test run, so each is cut off at most twice
/// where it could go on: the bugs of such small programs need no more.
fn model_of_three(program: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(program);
}

#[test]
fn two_workers_are_both_waited_for() {
    model_of_three(|| {
        let world = World::new();
        let workers = [worker(&world), worker(&world)];
        assert!(world.fence.wait_released(Duration::MAX));
        let (begun, ended) = world.seen();
        assert_eq!(begun, ended, "released while an effect was open");
        let acted = workers.map(|worker| worker.join().expect("the worker ends"));
        assert_eq!(world.seen(), (begun, ended), "an effect was added after release");
        assert_eq!(acted.iter().filter(|acted| **acted).count(), begun);
    });
}

#[test]
fn two_waiters_are_both_woken() {
    model_of_three(|| {
        let world = World::new();
        let worker = worker(&world);
        let other = Arc::clone(&world);
        let waiter = thread::spawn(move || other.fence.wait_released(Duration::MAX));
        assert!(world.fence.wait_released(Duration::MAX));
        let (begun, ended) = world.seen();
        assert_eq!(begun, ended, "released while an effect was open");
        assert!(waiter.join().expect("the waiter is woken"));
        worker.join().expect("the worker ends");
    });
}

#[test]
fn a_worker_refused_once_is_refused_for_good() {
    loom::model(|| {
        let world = World::new();
        let again = Arc::clone(&world);
        let worker = thread::spawn(move || (again.act(), again.act()));
        world.fence.close();
        let answers = worker.join().expect("the worker ends");
        assert_ne!(answers, (false, true));
        assert!(world.fence.is_released());
    });
}

#[test]
fn closing_alone_does_not_release() {
    loom::model(|| {
        let world = World::new();
        let worker = worker(&world);
        world.fence.close();
        if world.fence.is_released() {
            let (begun, ended) = world.seen();
            assert_eq!(begun, ended, "released while an effect was open");
        }
        worker.join().expect("the worker ends");
    });
}
