//! What the demo's command line looks like.

use clap::{Args, ValueEnum};

use crate::config::EngineName;

/// Flags of `demo`.
#[derive(Args, Clone, Debug)]
#[non_exhaustive]
pub struct DemoArgs {
    /// The guard of the guarded arm.
    #[arg(long, value_enum, default_value = "plugin")]
    pub engine: DemoEngine,
    /// Members of the group, each a process of its own.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(2..=16))]
    pub members: u16,
    /// Partitions of the topic.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(2..=64))]
    pub partitions: u16,
    /// Records produced in each arm.
    #[arg(long, default_value_t = 12_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1_000..=500_000))]
    pub records: u32,
    /// Records a second; by default so that the traffic lasts through the faults.
    #[arg(long, value_parser = clap::value_parser!(u32).range(10..=20_000))]
    pub rate: Option<u32>,
    /// Seed of the orders, and of who is killed and who is stopped.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON object on stdout instead of the table; progress stays on stderr.
    #[arg(long)]
    pub json: bool,
    /// Let the ledger ignore idempotency keys and fencing tokens: shows what only a sink can catch.
    #[arg(long)]
    pub no_sink_check: bool,
}

/// Which guard the guarded arm runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
#[allow(clippy::exhaustive_enums, reason = "a flag with two values")]
pub enum DemoEngine {
    /// The core, compiled in.
    Native,
    /// The WebAssembly plugin that this binary carries.
    Plugin,
}

/// Flags of a member process. Started by the demo alone.
#[derive(Args, Clone, Debug)]
#[non_exhaustive]
pub struct MemberArgs {
    /// Brokers.
    #[arg(long)]
    pub bootstrap: String,
    /// Where effects go; names the member, too.
    #[arg(long)]
    pub sink: String,
    /// The guard; none: the unguarded arm.
    #[arg(long, value_enum)]
    pub engine: Option<DemoEngine>,
}

impl DemoEngine {
    /// The gateway's name for it.
    pub(super) const fn name(self) -> EngineName {
        match self {
            Self::Native => EngineName::Native,
            Self::Plugin => EngineName::Embedded,
        }
    }

    /// The word of the flag.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Plugin => "plugin",
        }
    }
}
