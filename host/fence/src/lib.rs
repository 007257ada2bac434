//! The ownership fence of one assignment: a one-load check, a permit that is held for the length of
//! an effect, and a barrier that waits until nobody holds one.
//!
//! The owner of a partition makes one [`OwnershipFence`] an assignment and gives every worker a
//! clone. A worker takes a [`Permit`] right before an effect and drops it right after. When the
//! partition is asked back the owner calls [`OwnershipFence::close`]: from then on no permit is
//! given, so what no worker has begun never begins; and when [`OwnershipFence::wait_released`]
//! answers `true`, no worker is inside an effect of that assignment, and none will ever be again.
//!
//! Openness and the count of permits live in *one* atomic word: a worker that counted itself in
//! one atomic and read openness from another could pass a fence that is being closed, whatever
//! the memory order of a load and a store that do not meet. The model checker says the same; run
//! it with
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p rebalance-guard-fence --release
//! ```
#![forbid(unsafe_code)]

use std::fmt;
use std::time::Duration;

use sync::{Arc, AtomicUsize, Condvar, Mutex, Ordering};

/// The fence of one assignment. Clones are handles to the same fence.
#[derive(Clone)]
pub struct OwnershipFence {
    shared: Arc<Shared>,
}

/// Leave to be inside an effect. Dropped when the effect is over, however it ended.
#[must_use = "the effect is covered only while the permit is held"]
pub struct Permit<'a> {
    shared: &'a Shared,
}

struct Shared {
    /// [`CLOSED`] or 0, plus the count of permits.
    word: AtomicUsize,
    /// Guards nothing but the way to sleep: the waiter looks at `word` under it.
    sleep: Mutex<()>,
    released: Condvar,
}

/// The top bit; the rest counts permits, of which there are no more than threads.
const CLOSED: usize = 1 << (usize::BITS - 1);

impl OwnershipFence {
    /// An open fence.
    pub fn open() -> Self {
        Self {
            shared: Arc::new(Shared {
                word: AtomicUsize::new(0),
                sleep: Mutex::new(()),
                released: Condvar::new(),
            }),
        }
    }

    /// Whether effects may still begin: one load. Only a permit makes the answer last.
    pub fn is_open(&self) -> bool {
        self.word() & CLOSED == 0
    }

    /// Leave to begin an effect now, or `None` once the fence was closed.
    pub fn permit(&self) -> Option<Permit<'_>> {
        let word = &self.shared.word;
        let mut seen = word.load(Ordering::Acquire);
        while seen & CLOSED == 0 {
            // A swap and not an addition: a count that went up on a closed fence would make the
            // barrier wait for an effect that never happens.
            match word.compare_exchange_weak(seen, seen + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    return Some(Permit { shared: &self.shared });
                }
                Err(now) => seen = now,
            }
        }
        None
    }

    /// From now on no permit is given. Effects that hold one may finish. Closing again is harmless;
    /// a fence never opens again, since an assignment never comes back.
    pub fn close(&self) {
        self.shared.word.fetch_or(CLOSED, Ordering::AcqRel);
    }

    /// Whether it is closed and nobody is inside an effect any more: final once true.
    pub fn is_released(&self) -> bool {
        self.word() == CLOSED
    }

    /// Effects that hold a permit at this moment.
    pub fn in_effect(&self) -> usize {
        self.word() & !CLOSED
    }

    /// Closes the fence if it is open and waits until nobody is inside an effect, at most `within`.
    /// After `true` nobody is and nobody ever will be; after `false` somebody still was.
    #[must_use = "false means that an effect outlives the hand-over: report it"]
    pub fn wait_released(&self, within: Duration) -> bool {
        self.close();
        self.is_released() || self.sleep_until_released(within)
    }

    #[cfg(not(loom))]
    fn sleep_until_released(&self, within: Duration) -> bool {
        let guard = self.shared.sleep.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let woken =
            self.shared.released.wait_timeout_while(guard, within, |()| !self.is_released());
        drop(woken);
        self.is_released()
    }

    /// The model has no time, so it waits for ever: a lost wake-up shows as a deadlock.
    #[cfg(loom)]
    fn sleep_until_released(&self, _within: Duration) -> bool {
        let mut guard = self.shared.sleep.lock().expect("loom's lock is not poisoned");
        while !self.is_released() {
            guard = self.shared.released.wait(guard).expect("loom's lock is not poisoned");
        }
        true
    }

    /// Acquire: whoever reads "nobody inside" sees all that those inside did.
    fn word(&self) -> usize {
        self.shared.word.load(Ordering::Acquire)
    }
}

impl fmt::Debug for OwnershipFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("OwnershipFence");
        out.field("open", &self.is_open()).field("in_effect", &self.in_effect()).finish()
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let before = self.shared.word.fetch_sub(1, Ordering::AcqRel);
        if before == CLOSED | 1 {
            // Through the lock: a waiter that saw the old word either sleeps already, or still
            // holds the lock and looks again.
            drop(self.shared.sleep.lock());
            self.shared.released.notify_all();
        }
    }
}

#[cfg(not(loom))]
mod sync {
    pub(crate) use std::sync::atomic::{AtomicUsize, Ordering};
    pub(crate) use std::sync::{Arc, Condvar, Mutex};
}

#[cfg(loom)]
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
    pub(crate) use loom::sync::{Arc, Condvar, Mutex};
}
