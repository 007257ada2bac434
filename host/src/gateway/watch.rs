//! The loop's own clock: what a stand-still of the process means.

use std::time::Duration;

use super::state::{Flow, Gateway};
use super::{Protocol, Settings};
use crate::clock;

/// A loop that did not go round for so long was stopped, or waited for something that hung.
const STOOD_STILL: Duration = Duration::from_secs(2);
/// How long no commit is sent then.
const QUIET: Duration = Duration::from_secs(1);
/// The group's session when nobody sets it, of the client and (KIP-848) of the broker.
const SESSION: Duration = Duration::from_secs(45);

/// After so long without a heartbeat the group throws a member out.
pub(super) fn session_span(settings: &Settings) -> Duration {
    let set = match settings.protocol {
        Protocol::Eager | Protocol::Cooperative => settings.client.get("session.timeout.ms"),
        // The broker's setting; the client does not tell it.
        Protocol::Consumer => None,
    };
    set.and_then(|ms| ms.parse().ok()).map_or(SESSION, Duration::from_millis)
}

impl Gateway<'_> {
    /// Tells the workers that the poll thread goes round. A commit after an eviction delays the
    /// whole group's rejoin: after a stand-still the client gets time to hear of one. After one
    /// that outlasted the session everything is lost, before any worker goes on.
    pub(super) fn look_at_the_clock(&mut self) -> Flow {
        let now = clock::now();
        let span = now.saturating_duration_since(self.turned);
        self.turned = now;
        if span > STOOD_STILL {
            tracing::warn!(?span, "stood still");
            self.quiet_until = now + QUIET;
        }
        if span > session_span(&self.settings) && !self.holdings.is_empty() {
            self.lose_all("stood still longer than the group's session".to_owned())?;
            self.obey_outputs()?;
        }
        self.pool.beat();
        Ok(())
    }
}
