//! What is simulated: the group, its settings and what goes wrong.

#[cfg(feature = "mutants")]
use rebalance_guard::Rule;
use rebalance_guard::{Config, KeyPolicy};

/// A rule to switch off, where the build knows of that.
#[cfg(feature = "mutants")]
pub(super) type Without = Option<Rule>;
/// A build without mutants.
#[cfg(not(feature = "mutants"))]
#[derive(Clone, Copy)]
pub(super) struct Without;

/// How the group hands partitions over.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "Kafka has these three")]
pub enum Protocol {
    /// Everything is revoked before each rebalance (`range`, `roundrobin`).
    Eager,
    /// Only what moves is revoked (`cooperative-sticky`, KIP-429).
    #[default]
    Cooperative,
    /// The coordinator reconciles each member by itself (`group.protocol=consumer`, KIP-848).
    Consumer,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Eager, Self::Cooperative, Self::Consumer];
}

/// How many of each fault one run meets.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "built with `..Faults::default()`")]
pub struct Faults {
    /// A process dies at once and starts again a while later.
    pub crash: u32,
    /// A process stops in good order and starts again.
    pub restart: u32,
    /// A process stands still, its client's threads too, and goes on as if nothing had been.
    pub pause: u32,
    /// The poll thread does not poll; the client's own threads go on.
    pub stall: u32,
    /// A client cannot reach the coordinator, and still fetches.
    pub cut: u32,
    /// Commits are stored and answered late.
    pub slow_commit: u32,
    /// Commits fail, stored or not.
    pub failing_commit: u32,
    /// Workers begin records and do not come back for long.
    pub hang: u32,
    /// A worker's answer is given twice, the second time as something else.
    pub late_answer: u32,
    /// A process's clock jumps forwards or back.
    pub clock: u32,
    /// A record is delivered again.
    pub duplicate: u32,
    /// A partition gets a new leader.
    pub leader: u32,
    /// Old records vanish from a log.
    pub compaction: u32,
    /// A log loses its end to an unclean election.
    pub truncation: u32,
    /// A process is taken for dead and replaced while it stands still, and goes on later.
    pub twin: u32,
    /// Somebody else writes the group's offset: back, away, or with a string of their own.
    pub reset: u32,
}

impl Faults {
    /// The same number of every fault.
    pub const fn each(count: u32) -> Self {
        Self {
            crash: count,
            restart: count,
            pause: count,
            stall: count,
            cut: count,
            slow_commit: count,
            failing_commit: count,
            hang: count,
            late_answer: count,
            clock: count,
            duplicate: count,
            leader: count,
            compaction: count,
            truncation: count,
            twin: count,
            reset: count,
        }
    }
}

/// Something that happens to the group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "read by tests")]
pub enum Act {
    /// A member's process starts, if it does not run.
    Start(usize),
    /// It closes its consumer in good order and ends.
    Stop(usize),
    /// It dies.
    Kill(usize),
    /// It stands still for so many ms, and another process takes its place at once.
    Twin(usize, u64),
    /// It stands still for so many ms.
    Pause(usize, u64),
    /// Its poll thread is busy for so many ms.
    Stall(usize, u64),
    /// It cannot reach the coordinator for so many ms.
    Cut(usize, u64),
    /// For so many ms commits are answered so much later.
    SlowCommits(u64, u64),
    /// For so many ms commits are answered with an error.
    FailCommits(u64, CommitFault),
    /// What its workers begin next takes so many ms.
    Hang(usize, u64),
    /// Its next answer is given twice.
    LateAnswer(usize),
    /// Its clock moves by so many ms.
    Clock(usize, i64),
    /// What it was handed last is handed to it again.
    Duplicate(usize),
    /// A partition has a new leader.
    Leader(u32),
    /// Some of a partition's old records vanish.
    Compact(u32),
    /// A partition's unread end vanishes, and its offsets are used again.
    Truncate(u32),
    /// The group's offset of a partition is written by somebody else.
    Reset(u32, Reset),
}

/// What somebody else makes of a committed offset.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "read by tests")]
pub enum Reset {
    /// It is gone, as after its retention.
    Gone,
    /// It is set back.
    Back,
    /// It stays, with a string of another program.
    Foreign,
    /// It stays, with a string of a later build.
    Version,
    /// It is set back, and the string stays.
    Base,
    /// It stays, with a string that is too long.
    TooLong,
}

impl Reset {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Gone, Self::Back, Self::Foreign, Self::Version, Self::Base, Self::TooLong];
}

/// How commits fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "read by tests")]
pub enum CommitFault {
    /// Not stored.
    NotStored,
    /// Stored, and the answer says that it timed out.
    InDoubt,
    /// The broker takes no metadata.
    TooLarge,
}

/// When something happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "read by tests")]
pub struct Planned {
    /// The time, in ms.
    pub at: u64,
    /// What.
    pub act: Act,
}

/// One run. Times are in ms of virtual time.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "built with `..Options::default()`")]
pub struct Options {
    /// Everything random comes from it.
    pub seed: u64,
    /// How partitions are handed over.
    pub protocol: Protocol,
    /// Processes in the group.
    pub members: usize,
    /// Partitions of the topic.
    pub partitions: u32,
    /// Records a second, over all partitions.
    pub rate: u64,
    /// How long records are produced, and faults occur.
    pub produce_ms: u64,
    /// The longest time after that, in which everything must get done.
    pub settle_ms: u64,
    /// Mean time that a worker takes for a record; each takes up to twice as long.
    pub work_ms: u64,
    /// Workers of a process.
    pub workers: usize,
    /// Percent of attempts that fail.
    pub failing: u8,
    /// Percent of records that repeat the key of an earlier one.
    pub copies: u8,
    /// Percent of records without a key.
    pub keyless: u8,
    /// Whether headers of some records say that they were tried too often before.
    pub worn: bool,
    /// Whether members have static ids (KIP-345).
    pub static_ids: bool,
    /// `session.timeout.ms`.
    pub session_ms: u64,
    /// `heartbeat.interval.ms`.
    pub heartbeat_ms: u64,
    /// `max.poll.interval.ms`, which is the rebalance timeout as well.
    pub max_poll_ms: u64,
    /// Time between polls.
    pub poll_ms: u64,
    /// The longest time that a message takes one way; at least 1.
    pub latency_ms: u64,
    /// How long a revoke waits for workers.
    pub drain_ms: u64,
    /// The guard's settings. Its first assignment is set for each process.
    pub guard: Config,
    /// Without it records are handed to workers and their offsets committed every
    /// `commit_interval`, as auto-commit does.
    pub guarded: bool,
    /// Whether an oracle watches every guard.
    pub checked: bool,
    /// How many of each fault the seed places, when there is no plan.
    pub faults: Faults,
    /// What happens when, instead of what the seed places.
    pub plan: Option<Vec<Planned>>,
    /// A rule of the guard to switch off, for the tests of the oracle.
    #[cfg(feature = "mutants")]
    pub without: Option<Rule>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            protocol: Protocol::default(),
            members: 3,
            partitions: 6,
            rate: 100,
            produce_ms: 60_000,
            settle_ms: 240_000,
            work_ms: 20,
            workers: 4,
            failing: 0,
            copies: 0,
            keyless: 0,
            worn: false,
            static_ids: false,
            session_ms: 45_000,
            heartbeat_ms: 3_000,
            max_poll_ms: 300_000,
            poll_ms: 5,
            latency_ms: 2,
            drain_ms: 20_000,
            guard: Config { lease: 270_000, ..Config::default() },
            guarded: true,
            checked: false,
            faults: Faults::default(),
            plan: None,
            #[cfg(feature = "mutants")]
            without: None,
        }
    }
}

impl Options {
    #[cfg(feature = "mutants")]
    pub(super) const fn without(&self) -> Without {
        self.without
    }

    #[cfg(not(feature = "mutants"))]
    #[allow(clippy::unused_self, reason = "the other build reads a field")]
    pub(super) const fn without(&self) -> Without {
        Without
    }

    /// A small group with small timeouts, its settings and a mix of faults all from `seed`: a run
    /// takes a few ms.
    pub fn random(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed ^ 0x6772_6F75);
        let partitions = rng.u32(2..6);
        let lease = rng.u64(150..230);
        let guard = small_guard(&mut rng, partitions, lease);
        let faults = Faults {
            crash: rng.u32(0..3),
            restart: rng.u32(0..2),
            pause: rng.u32(0..3),
            stall: rng.u32(0..2),
            cut: rng.u32(0..2),
            slow_commit: rng.u32(0..3),
            failing_commit: rng.u32(0..3),
            hang: rng.u32(0..3),
            late_answer: rng.u32(0..3),
            clock: rng.u32(0..3),
            duplicate: rng.u32(0..6),
            leader: if rng.u8(0..8) == 0 { 40 } else { rng.u32(0..3) },
            compaction: rng.u32(0..3),
            truncation: rng.u32(0..2),
            twin: u32::from(rng.u8(0..3) == 0),
            reset: rng.u32(0..3),
        };
        Self {
            seed,
            protocol: Protocol::ALL[usize::try_from(seed % 3).unwrap_or(0)],
            members: rng.usize(1..4),
            partitions,
            rate: rng.u64(100..350),
            produce_ms: 600,
            settle_ms: 6_000,
            work_ms: rng.u64(1..12),
            workers: rng.usize(1..5),
            failing: [0, 5, 30][rng.usize(0..3)],
            copies: [0, 10, 40][rng.usize(0..3)],
            keyless: [0, 3, 30][rng.usize(0..3)],
            worn: true,
            static_ids: rng.u8(0..4) == 0,
            session_ms: rng.u64(80..140),
            heartbeat_ms: rng.u64(8..20),
            max_poll_ms: lease + 20,
            poll_ms: rng.u64(3..7),
            latency_ms: rng.u64(1..4),
            drain_ms: rng.u64(5..60),
            guard,
            guarded: true,
            checked: true,
            faults,
            plan: None,
            #[cfg(feature = "mutants")]
            without: None,
        }
    }
}

fn small_guard(rng: &mut fastrand::Rng, partitions: u32, lease: u64) -> Config {
    Config {
        partitions,
        window: rng.u32(2..12),
        keys: [0, 4, 64, 1_024][rng.usize(0..4)],
        budget: rng.u32(2..12),
        attempts_max: rng.u16(1..4),
        backoff: rng.u64(1..8),
        backoff_cap: 20,
        lease,
        commit_interval: rng.u64(5..30),
        commit_count: rng.u32(2..20),
        commit_timeout: rng.u64(8..25),
        commit_backoff: rng.u64(1..8),
        storm_window: rng.u64(100..600),
        storm_rising: 2,
        storm_at: rng.u16(2..6),
        storm_calm: 1,
        hold_in_storm: rng.u8(0..4) == 0,
        stall_after: rng.u64(60..200),
        journal: 16,
        key_policy: if rng.bool() { KeyPolicy::Optional } else { KeyPolicy::Required },
        metadata_max: [0, 24, 3_072][rng.usize(0..3)],
        ..Config::default()
    }
}
