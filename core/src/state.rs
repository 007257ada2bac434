//! The guard's scalars; the tables lie in [`crate::memory`].

use crate::storm::StormState;
use crate::{Config, Counters, Tick, Waiting};

/// "No slot", "no record in flight" in the links of lists.
pub(crate) const NO_SLOT: u32 = u32::MAX;
/// "No offset" in tables. Real offsets are at most 2^63 - 1.
pub(crate) const NO_OFFSET: u64 = u64::MAX;

/// Ends of a doubly linked list whose links lie in table entries.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Ends {
    pub(crate) head: u32,
    pub(crate) tail: u32,
}

impl Ends {
    pub(crate) const EMPTY: Self = Self { head: NO_SLOT, tail: NO_SLOT };
}

/// Where pulling outputs stands.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Stage {
    Rejoin,
    Reports,
    Commits,
    Pauses,
    Retries,
    Stalls,
    PollBudget,
    Drained,
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) config: Config,
    /// The last tick that counted.
    pub(crate) now: Tick,
    pub(crate) next_assignment: u64,
    pub(crate) next_sequence: u64,
    /// Records in flight, all partitions.
    pub(crate) in_flight: u32,
    /// Flights never used begin here; the used and freed ones hang on `free_flights`.
    pub(crate) flights_touched: u32,
    pub(crate) free_flights: u32,
    /// Next place in the ring of finished keys, and how many it holds.
    pub(crate) finished_next: u32,
    pub(crate) finished_len: u32,
    /// Partition slots never used begin here.
    pub(crate) partitions_touched: u32,
    /// Owned partitions by time of assign.
    pub(crate) owned: Ends,
    pub(crate) owned_count: u32,
    /// Unowned ones that are remembered, oldest first.
    pub(crate) remembered: Ends,
    pub(crate) remembered_count: u32,
    /// How many owned partitions are paused.
    pub(crate) paused_count: u32,
    pub(crate) reports: Ends,
    /// The last poll, or the assign that began owning.
    pub(crate) lease_start: Tick,
    pub(crate) poll_budget_told: bool,
    pub(crate) lease_expired: bool,
    pub(crate) dead: bool,
    pub(crate) rejoin: Option<u64>,
    /// Holds while nothing is owned.
    pub(crate) waiting: Waiting,
    pub(crate) storm: StormState,
    /// Next place in the ring of the journal.
    pub(crate) journal_next: u32,
    /// Nothing falls due before this tick.
    pub(crate) due: Option<Tick>,
    pub(crate) stage: Stage,
    pub(crate) cursor: u32,
    pub(crate) counters: Counters,
    #[cfg(feature = "mutants")]
    pub(crate) off: Option<crate::logic::Rule>,
}

impl State {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            next_assignment: config.first_assignment,
            config,
            now: Tick::ZERO,
            next_sequence: 1,
            in_flight: 0,
            flights_touched: 0,
            free_flights: NO_SLOT,
            finished_next: 0,
            finished_len: 0,
            partitions_touched: 0,
            owned: Ends::EMPTY,
            owned_count: 0,
            remembered: Ends::EMPTY,
            remembered_count: 0,
            paused_count: 0,
            reports: Ends::EMPTY,
            lease_start: Tick::ZERO,
            poll_budget_told: false,
            lease_expired: false,
            dead: false,
            rejoin: None,
            waiting: Waiting::default(),
            storm: StormState::new(),
            journal_next: 0,
            due: None,
            stage: Stage::Drained,
            cursor: NO_SLOT,
            counters: Counters::default(),
            #[cfg(feature = "mutants")]
            off: None,
        }
    }

    pub(crate) const fn outputs_possible(&self) -> bool {
        !matches!(self.stage, Stage::Drained)
    }

    pub(crate) const fn next_due(&self) -> Option<Tick> {
        self.due
    }

    /// Outputs may have become due: pulling starts again from the first kind.
    pub(crate) const fn attend(&mut self) {
        self.stage = Stage::Rejoin;
        self.cursor = self.owned.head;
    }

    /// Something falls due at `tick`.
    pub(crate) fn wake_at(&mut self, tick: Tick) {
        self.due = Some(self.due.map_or(tick, |due| due.min(tick)));
    }

    /// Whether the storm policy holds records now.
    pub(crate) fn storm_holds(&self) -> bool {
        // By pace alone: a partition that gets nothing done could never end a storm whose holds
        // keep it from working.
        self.config.hold_in_storm
            && self.storm.level() == crate::Storm::Storm
            && self.storm.is_fast(&self.config)
    }

    /// Whether another record may be in flight.
    pub(crate) const fn window_has_room(&self) -> bool {
        self.in_flight < self.config.window
    }
}
