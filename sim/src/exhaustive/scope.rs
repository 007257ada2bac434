//! How large a world a search walks through.

use rebalance_guard::{Config, KeyPolicy};

/// Records of both partitions together, at most.
pub(super) const RECORDS: usize = 3;
/// How long a revoke with time lets its partitions drain.
pub(super) const DRAIN: u64 = 100;
/// A span that never ends.
pub(super) const NEVER: u64 = u64::MAX >> 1;
/// Every other span, so that few distances between deadlines exist.
const SPAN: u64 = 100;

const ALL_STARTS: &[Start] =
    &[Start::Held, Start::HeldAt, Start::Landed, Start::At(1), Start::Unknown];

/// Where an assign says that reading resumes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Start {
    /// At what the group holds, or nowhere when it holds nothing.
    Held,
    /// The group holds nothing and the client's position is the log's begin.
    HeldAt,
    /// At an offer that nobody answered: it had landed.
    Landed,
    /// At an offset of the host's own.
    At(u64),
    /// The host does not know yet, and asks.
    Unknown,
}

/// One world: its size, what may happen in it, and the settings of its guard.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scope {
    /// Its name in reports.
    pub name: &'static str,
    /// The guard's settings.
    pub config: Config,
    /// Records of each partition; a partition without records is not there.
    pub records: [u8; 2],
    /// Assignments of each partition, rewinds included.
    pub assignments: usize,
    /// Faults in one history: losses, failures, commits not stored, what others do to the group.
    pub faults: u8,
    /// Where assigns say that reading resumes.
    pub starts: &'static [Start],
    /// Different keys among the records.
    pub keys: u8,
    /// Records without a key exist.
    pub keyless: bool,
    /// Two partitions are assigned in one call, too.
    pub together: bool,
    /// The log may lack records: the client steps over any of them.
    pub gaps: bool,
    /// The host rewinds to any offset.
    pub rewinds: bool,
    /// The group's offset is read, and is what it is or what somebody else made of it.
    pub group_offsets: bool,
    /// The end of a partition is told.
    pub ends: bool,
    /// Calls may be the first thing at a deadline, not time alone.
    pub timed_calls: bool,
    /// Steps of the longest history that is walked; what follows from there is not.
    pub steps: usize,
}

impl Scope {
    /// Two faults and two assignments of each partition, two keys and none.
    fn of(name: &'static str, records: [u8; 2]) -> Self {
        let config = Config {
            partitions: 2,
            window: 3,
            keys: 2,
            budget: 3,
            attempts_max: 2,
            backoff: SPAN,
            backoff_cap: SPAN,
            jitter: 0,
            lease: NEVER,
            commit_interval: 0,
            commit_count: 1,
            commit_timeout: SPAN,
            commit_backoff: SPAN,
            key_policy: KeyPolicy::Optional,
            storm_window: 0,
            stall_after: NEVER,
            journal: 0,
            metadata_max: 0,
            ..Config::default()
        };
        Self {
            name,
            config,
            records,
            assignments: 2,
            faults: 2,
            starts: &[Start::Held],
            keys: 2,
            keyless: true,
            together: false,
            gaps: false,
            rewinds: false,
            group_offsets: false,
            ends: false,
            timed_calls: false,
            steps: usize::MAX,
        }
    }

    /// Everything at once: no machine walks through it all, so only to histories of `steps` steps.
    fn whole(name: &'static str, steps: usize) -> Self {
        let all = Self::of(name, [2, 1]).together().positions().timers().metadata().one_key();
        Self { starts: ALL_STARTS, steps, ..all }
    }

    /// The worlds that every run of the tests walks through: a minute or two.
    pub fn small() -> Vec<Self> {
        vec![
            Self::of("two-records", [2, 0]).one_key(),
            Self::of("three-records", [3, 0]).faults(0),
            Self::of("two-partitions", [1, 1]).keyed().faults(0),
            Self::of("together", [2, 1]).together().keyed().once().faults(1),
            Self::of("tight", [2, 1]).tight().one_key().once().faults(0),
            Self::of("positions", [2, 0]).positions().keyless().faults(1),
            Self::of("metadata", [3, 0]).metadata().keyless().faults(0),
            Self::of("timers", [1, 0]).timers().one_key().faults(0),
            Self::of("timers-once", [2, 0]).timers().one_key().once().faults(0),
            Self::of("storms", [2, 0]).storms().keyless().faults(1),
            Self::whole("whole", 4),
        ]
    }

    /// Larger ones: a quarter of an hour, and gigabytes of memory.
    pub fn wide() -> Vec<Self> {
        vec![
            Self::of("wide-three-records", [3, 0]).one_key().faults(1),
            Self::of("wide-two-partitions", [1, 1]).one_key().faults(0),
            Self::of("wide-faults", [1, 1]).keyed().faults(1),
            Self::of("wide-together", [2, 1]).together().keyed().faults(0),
            Self::of("wide-tight", [2, 1]).tight().keyless().faults(0),
            Self::of("wide-positions", [3, 0]).positions().keyless().faults(0),
            Self::of("wide-metadata", [3, 0]).metadata().keyless().faults(1),
            Self::of("wide-timers", [1, 0]).timers().one_key().faults(1),
            Self::of("wide-storms", [2, 0]).storms().keyless(),
            Self::whole("wide-whole", 5),
        ]
    }

    fn faults(self, faults: u8) -> Self {
        Self { faults, ..self }
    }

    fn once(self) -> Self {
        Self { assignments: 1, ..self }
    }

    fn together(self) -> Self {
        Self { together: true, ..self }
    }

    /// Every record has one key, or none.
    fn one_key(self) -> Self {
        Self { keys: 1, ..self }
    }

    /// Every record has the same key.
    fn keyed(self) -> Self {
        Self { keyless: false, ..self.one_key() }
    }

    fn keyless(self) -> Self {
        Self { keys: 0, ..self }
    }

    /// Room for one record in flight, two at or above the mark, one key remembered.
    fn tight(mut self) -> Self {
        (self.config.window, self.config.budget, self.config.keys) = (1, 2, 1);
        self
    }

    /// Reading resumes anywhere, anew, with records missing, and the group's offset is looked at.
    fn positions(self) -> Self {
        Self {
            starts: ALL_STARTS,
            gaps: true,
            rewinds: true,
            group_offsets: true,
            ends: true,
            ..self
        }
    }

    /// Commits carry what is finished above the mark, and may have landed unanswered.
    fn metadata(mut self) -> Self {
        self.config.metadata_max = 24;
        self.starts = &[Start::Held, Start::Landed];
        self
    }

    /// Everything has an end: the lease, keys, stalls, and commits wait for their interval.
    fn timers(mut self) -> Self {
        self.config.lease = 3 * SPAN;
        self.config.key_age = Some(2 * SPAN);
        self.config.stall_after = SPAN;
        self.config.commit_interval = SPAN;
        self.config.commit_count = 2;
        self.timed_calls = true;
        self
    }

    /// Two rebalances in a short time are a storm, and a storm holds records.
    fn storms(mut self) -> Self {
        self.config.storm_window = SPAN;
        (self.config.storm_calm, self.config.storm_rising, self.config.storm_at) = (0, 1, 2);
        self.config.hold_in_storm = true;
        self
    }
}
