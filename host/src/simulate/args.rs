//! What the command line of `simulate` looks like.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use rebalance_guard_sim::group;
use serde::Serialize;

/// Flags of `simulate`.
#[derive(Args, Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SimulateArgs {
    /// Processes in the group.
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=64))]
    pub members: u16,
    /// Partitions of the topic.
    #[arg(long, value_name = "N", default_value_t = 6)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=512))]
    pub partitions: u16,
    /// Records a second, over all partitions.
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub rate: u32,
    /// Mean time that a worker takes for a record, in ms; each takes up to twice as long.
    #[arg(long, value_name = "MS", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=600_000))]
    pub work_ms: u32,
    /// Workers of each member.
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: u16,
    /// How the group hands partitions over.
    #[arg(long, value_enum, default_value = "cooperative")]
    pub protocol: SimulatedProtocol,
    /// Members have static ids (group.instance.id): a restart inside the session moves nothing.
    #[arg(long = "static")]
    pub static_ids: bool,
    /// session.timeout.ms.
    #[arg(long, value_name = "MS", default_value_t = 45_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..=3_600_000))]
    pub session_ms: u32,
    /// max.poll.interval.ms. The guard's lease is a tenth below.
    #[arg(long, value_name = "MS", default_value_t = 300_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..=3_600_000))]
    pub max_poll_ms: u32,
    /// How long a revoke waits for workers; never above half the lease.
    #[arg(long, value_name = "MS", default_value_t = 20_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=3_600_000))]
    pub drain_ms: u32,
    /// What goes wrong, with commas: a fault, or a fault and how often (kill=3), or none.
    #[arg(long, value_name = "LIST", default_value = "restart,kill,freeze", value_delimiter = ',')]
    pub faults: Vec<String>,
    /// Which groups run: with the guard, without, or one after the other.
    #[arg(long, value_enum, default_value = "both")]
    pub guard: Guarded,
    /// Seconds of traffic; they pass in virtual time.
    #[arg(long, value_name = "N", default_value_t = 120)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: u32,
    /// Where everything random comes from: the same seed and flags give the same bytes.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON object on stdout instead of the tables.
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
    /// Write a chart of who owned what, and when: FILE.svg, or FILE.html with the figures too.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub chart: Option<PathBuf>,
}

/// The group's protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[allow(clippy::exhaustive_enums, reason = "Kafka has these three")]
pub enum SimulatedProtocol {
    /// Everything is revoked before each rebalance.
    Eager,
    /// Only what moves is revoked.
    Cooperative,
    /// KIP-848 (group.protocol=consumer).
    Consumer,
}

/// Whether members have the guard.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[allow(clippy::exhaustive_enums, reason = "a flag with three values")]
pub enum Guarded {
    /// All have it.
    On,
    /// None has: offsets are stored when a worker is handed a record, and committed each second.
    Off,
    /// One group after the other, under the same faults.
    Both,
}

impl SimulatedProtocol {
    /// All of them, in the order in which they are compared.
    pub(super) const ALL: [Self; 3] = [Self::Eager, Self::Cooperative, Self::Consumer];

    pub(super) const fn of_group(self) -> group::Protocol {
        match self {
            Self::Eager => group::Protocol::Eager,
            Self::Cooperative => group::Protocol::Cooperative,
            Self::Consumer => group::Protocol::Consumer,
        }
    }

    /// The word of the flag.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Eager => "eager",
            Self::Cooperative => "cooperative",
            Self::Consumer => "consumer",
        }
    }
}

/// What follows the flags in `simulate --help`.
pub(crate) fn help() -> String {
    let faults: Vec<String> =
        super::faults::ALL.iter().map(|(name, _, what)| format!("  {name:<16}{what}")).collect();
    format!("Faults:\n{}\n\n{EXAMPLES}", faults.join("\n"))
}

const EXAMPLES: &str = "\
A whole group runs in virtual time, in moments: coordinator, clients with their quirks, processes
that fail, and the real guard in each of them. Try settings here before a rollout does.

Examples:
  What a deployment costs, one restart after the other, with and without static ids:
    rebalance-guard simulate --faults restart=3
    rebalance-guard simulate --faults restart=3 --static

  What a crash costs under your settings, and which of them to change first:
    rebalance-guard simulate --members 6 --partitions 24 --rate 400 --work-ms 50 \\
        --session-ms 45000 --faults kill --guard on

  The same as a picture, and as numbers for a script:
    rebalance-guard simulate --faults kill,freeze --chart group.html
    rebalance-guard simulate --faults kill,freeze --json

How to read it: \"dropped\" records never had an effect, \"repeated\" effects took place again,
\"absorbed\" ones were tried again and known to the sink by their key, \"refused\" ones came from a
former owner. \"Paused\" is time in which nobody read a partition, added up over partitions. Below
the table each setting is changed alone, under the same faults; the one whose change helps most is
what hurts most. That is by these faults alone: a session that ends sooner also ends for a process
that only stood still for a moment.

Exit codes: 0 it ran; 1 a guarded group broke a promise, or the output cannot be written; 2 the
options cannot be used.";
