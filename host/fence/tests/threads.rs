//! The fence between real threads.
#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rebalance_guard_fence::OwnershipFence;

/// Long enough for any machine: what it bounds ends by itself.
const LONG: Duration = Duration::from_secs(30);
/// Short enough for a test: what it bounds never ends by itself.
const SHORT: Duration = Duration::from_millis(20);

#[test]
fn an_open_fence_gives_permits() {
    let fence = OwnershipFence::open();
    assert!(fence.is_open());
    let (first, second) = (fence.permit(), fence.permit());
    assert!(first.is_some() && second.is_some());
    assert_eq!(fence.in_effect(), 2);
    drop((first, second));
    assert_eq!(fence.in_effect(), 0);
    assert!(!fence.is_released(), "an open fence is not released, though nobody is inside");
}

#[test]
fn a_closed_fence_gives_none_and_never_opens_again() {
    let fence = OwnershipFence::open();
    fence.close();
    fence.close();
    assert!(!fence.is_open());
    assert!(fence.permit().is_none());
    assert!(fence.wait_released(Duration::ZERO));
    assert!(fence.permit().is_none());
}

#[test]
fn what_began_before_the_close_may_finish() {
    let fence = OwnershipFence::open();
    let permit = fence.permit();
    fence.close();
    assert!(fence.permit().is_none());
    assert!(!fence.wait_released(SHORT), "somebody is inside");
    assert_eq!(fence.in_effect(), 1);
    drop(permit);
    assert!(fence.wait_released(Duration::ZERO));
}

#[test]
fn waiting_closes() {
    let fence = OwnershipFence::open();
    assert!(fence.wait_released(Duration::ZERO));
    assert!(fence.permit().is_none());
}

#[test]
fn clones_are_one_fence() {
    let fence = OwnershipFence::open();
    let handle = fence.clone();
    let permit = handle.permit();
    fence.close();
    assert!(!handle.is_open());
    assert!(!fence.is_released());
    drop(permit);
    assert!(fence.is_released());
}

#[test]
fn an_effect_that_panics_is_over() {
    let fence = OwnershipFence::open();
    let effect = catch_unwind(AssertUnwindSafe(|| {
        let _permit = fence.permit();
        panic!("the effect failed");
    }));
    assert!(effect.is_err());
    assert!(fence.wait_released(Duration::ZERO));
}

#[test]
fn the_waiter_is_woken_by_the_last_permit() {
    let fence = OwnershipFence::open();
    let permits = [fence.permit(), fence.permit()];
    let waiting = Barrier::new(2);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            waiting.wait();
            fence.wait_released(LONG)
        });
        waiting.wait();
        drop(permits);
        assert!(waiter.join().expect("the waiter ends"));
    });
}

/// The verification line "the fence holds against concurrent threads and nothing is added after
/// release".
#[test]
fn the_fence_holds_against_concurrent_threads_and_nothing_is_added_after_release() {
    for _ in 0..200 {
        let fence = OwnershipFence::open();
        let effects = AtomicUsize::new(0);
        let inside = AtomicUsize::new(0);
        let ended = AtomicBool::new(false);
        let start = Barrier::new(5);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    // Beyond the close, so that each thread also tries against a closed fence.
                    while !ended.load(Ordering::Acquire) {
                        if let Some(_permit) = fence.permit() {
                            inside.fetch_add(1, Ordering::Relaxed);
                            effects.fetch_add(1, Ordering::Relaxed);
                            inside.fetch_sub(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            start.wait();
            while effects.load(Ordering::Relaxed) < 50 {
                std::hint::spin_loop();
            }
            assert!(fence.wait_released(LONG));
            assert_eq!(inside.load(Ordering::Relaxed), 0, "a worker is inside after release");
            let at_release = effects.load(Ordering::Relaxed);
            for _ in 0..1_000 {
                assert_eq!(effects.load(Ordering::Relaxed), at_release, "added after release");
            }
            ended.store(true, Ordering::Release);
        });
    }
}
