//! Since when nothing is owned, and why.

use crate::Tick;
use crate::logic::Logic;

/// Why nothing is owned.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "hosts match on every reason; a new one is breaking")]
pub enum WaitReason {
    /// Nothing was assigned yet, or the last assign named nothing.
    #[default]
    NothingAssigned,
    /// What was owned was handed over.
    Revoked,
    /// What was owned was lost.
    Lost,
    /// Nobody polled within the lease.
    LeaseExpired,
    /// The client is dead.
    Dead,
}

/// Nothing is owned.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "read by hosts; built by the guard alone")]
pub struct Waiting {
    /// Since when: the end of the last ownership, or tick 0.
    pub since: Tick,
    /// Why.
    pub why: WaitReason,
}

impl Logic<'_> {
    /// An ownership ended.
    pub(crate) fn wait_begins(&mut self) {
        if self.state.owned_count == 0 {
            self.state.waiting = Waiting { since: self.state.now, why: WaitReason::Revoked };
        }
    }

    /// Why nothing is owned, if nothing is.
    pub(crate) fn wait_is_for(&mut self, why: WaitReason) {
        if self.state.owned_count == 0 {
            self.state.waiting.why = why;
        }
    }
}
