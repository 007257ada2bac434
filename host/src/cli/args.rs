//! What the command line looks like. Values of `run` are texts here: the configuration checks them
//! alike, wherever they were given.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

use super::replay::ReplayArgs;
use crate::demo::{DemoArgs, MemberArgs};
use crate::simulate::SimulateArgs;

/// Guarded Kafka consumption: every record takes effect once at the sink, while consumers crash,
/// stall and rebalance.
#[derive(Debug, Parser)]
#[command(name = "rebalance-guard", arg_required_else_help = true)]
#[command(after_help = "Try `rebalance-guard demo` first: it needs no Kafka.\n\
    `rebalance-guard run --help` has examples and the exit codes.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Consume a topic under the guard and carry each record to a sink.
    Run(Box<RunArgs>),
    /// Watch a group lose members with and without the guard. Needs no Kafka.
    Demo(DemoArgs),
    /// Tell a recorded history to a guard and see what it answers. Needs no Kafka.
    Replay(ReplayArgs),
    /// See what settings and faults cost a group, with and without the guard, in virtual time.
    Simulate(SimulateArgs),
    /// Print a completion script for a shell.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    #[command(hide = true)]
    DemoMember(MemberArgs),
}

/// Flags of `run`. Each is also a setting of the file and an environment variable.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// TOML file with the settings below, named as the flags with `_` for `-`.
    #[arg(long, env = "RG_CONFIG", hide_env_values = true, value_name = "FILE")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Print the effective configuration on stdout and stop.
    #[arg(long)]
    pub(crate) check: bool,
    /// Brokers, comma-separated.
    #[arg(long, env = "RG_BOOTSTRAP", hide_env_values = true, value_name = "HOST:PORT")]
    #[arg(value_hint = ValueHint::Hostname)]
    pub(crate) bootstrap: Option<String>,
    /// Topic to read; may be given several times or as a list with commas.
    #[arg(long, env = "RG_TOPIC", hide_env_values = true, value_name = "TOPIC")]
    pub(crate) topic: Vec<String>,
    /// Consumer group.
    #[arg(long, env = "RG_GROUP", hide_env_values = true, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// How the group hands partitions over: cooperative (default), eager, or consumer (KIP-848).
    #[arg(long, env = "RG_PROTOCOL", hide_env_values = true, value_name = "PROTOCOL")]
    pub(crate) protocol: Option<String>,
    /// Static member id, unique among living members.
    #[arg(long, env = "RG_INSTANCE_ID", hide_env_values = true, value_name = "ID")]
    pub(crate) instance_id: Option<String>,
    /// Where reading begins if the group holds nothing: earliest (default) or latest.
    #[arg(long, env = "RG_START_AT", hide_env_values = true, value_name = "PLACE")]
    pub(crate) start_at: Option<String>,
    /// The guard: native (default, compiled in) or plugin (WebAssembly, sandboxed).
    #[arg(long, env = "RG_ENGINE", hide_env_values = true, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// Plugin file instead of the one that this binary carries; needs --plugin-sha256.
    #[arg(long, env = "RG_PLUGIN", hide_env_values = true, value_name = "FILE")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) plugin: Option<String>,
    /// SHA-256 that the plugin file must have.
    #[arg(long, env = "RG_PLUGIN_SHA256", hide_env_values = true, value_name = "HEX")]
    pub(crate) plugin_sha256: Option<String>,
    /// Template of the idempotency key: {key}, {header:NAME}, {json:/POINTER}, {topic},
    /// {partition}, {offset}. Default {topic}/{partition}/{offset}, which absorbs redelivery only:
    /// name the operation, such as {json:/order}, to absorb records that were sent twice.
    #[arg(long, env = "RG_KEY", hide_env_values = true, value_name = "TEMPLATE")]
    pub(crate) key: Option<String>,
    /// Where effects go: stdout (default), file:PATH, or http://HOST:PORT/PATH.
    #[arg(long, env = "RG_SINK", hide_env_values = true, value_name = "SINK")]
    pub(crate) sink: Option<String>,
    /// Time limit of one delivery to an HTTP sink; 10s by default.
    #[arg(long, env = "RG_SINK_TIMEOUT", hide_env_values = true, value_name = "SPAN")]
    pub(crate) sink_timeout: Option<String>,
    /// When a file sink syncs: before each answer (each, the default), or when the process ends
    /// (end), which survives the process but not the machine.
    #[arg(long, env = "RG_FILE_SYNC", hide_env_values = true, value_name = "WHEN")]
    pub(crate) file_sync: Option<String>,
    /// What runs in order: partition (default), key (the Kafka record key), or none.
    #[arg(long, env = "RG_ORDER", hide_env_values = true, value_name = "ORDER")]
    pub(crate) order: Option<String>,
    /// Worker threads; 8 by default.
    #[arg(long, env = "RG_WORKERS", hide_env_values = true, value_name = "N")]
    pub(crate) workers: Option<String>,
    /// Topic for records given up. A must while key_policy is required (the default). Without one
    /// a record that fails is tried again for ever, at most backoff_cap apart, and the commits of
    /// its partition wait for it.
    #[arg(long, env = "RG_DEAD_LETTER_TOPIC", hide_env_values = true, value_name = "TOPIC")]
    pub(crate) dead_letter_topic: Option<String>,
    /// Record what the guard is told and answers, for `rebalance-guard replay`. The files of an
    /// earlier recording are kept as FILE.1 (the newest) to FILE.7.
    #[arg(long, env = "RG_RECORD", hide_env_values = true, value_name = "FILE")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<String>,
    /// Size that all files of the recording may have together; 64 by default. The newest is kept.
    #[arg(long, env = "RG_RECORD_MIB", hide_env_values = true, value_name = "MIB")]
    pub(crate) record_mib: Option<String>,
    /// Keys in the recording: hashed (default; equal keys stay equal) or plain.
    #[arg(long, env = "RG_RECORD_KEYS", hide_env_values = true, value_name = "FORM")]
    pub(crate) record_keys: Option<String>,
    /// Logs on stderr: human (default) or json.
    #[arg(long, env = "RG_LOG", hide_env_values = true, value_name = "FORM")]
    pub(crate) log: Option<String>,
    /// Which logs, such as `warn` or `info,rebalance_guard_host::gateway=debug`; info by default.
    #[arg(long, env = "RG_LOG_FILTER", hide_env_values = true, value_name = "FILTER")]
    pub(crate) log_filter: Option<String>,
    /// Setting of the Kafka client; repeatable. Secrets are better given by RG_CLIENT_… (`_` for
    /// `.`: RG_CLIENT_SASL_PASSWORD) or in the table `client` of the file.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Setting of the guard, see below; repeatable.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) guard: Vec<String>,
}

/// What follows the flags in `run --help`.
pub(crate) fn run_help() -> String {
    format!("{}\n{EXAMPLES}", crate::config::guard_help())
}

const EXAMPLES: &str = "\
A flag wins over the environment, the environment over the file, the file over the default. The
effective configuration is printed before the start, secrets masked.

Examples:
  Look at a topic, one JSON line a record:
    rebalance-guard run --bootstrap localhost:9092 --topic orders --group look \\
        --dead-letter-topic orders.dead

  Carry each order to a service exactly once, though some are sent twice:
    rebalance-guard run --bootstrap localhost:9092 --topic orders --group billing \\
        --key '{json:/order}' --sink http://localhost:8080/orders --dead-letter-topic orders.dead

  The same from a file:
    rebalance-guard run --config guard.toml

    bootstrap = \"localhost:9092\"
    topic = \"orders\"
    group = \"billing\"
    protocol = \"consumer\"
    key = \"{json:/order}\"
    sink = \"http://localhost:8080/orders\"
    dead_letter_topic = \"orders.dead\"
    [guard]
    attempts_max = 8
    [client]
    security.protocol = \"SASL_SSL\"

While the sink cannot be reached (refused, or no answer in time), records wait in order and are
tried again with a growing delay up to backoff_cap; that costs no attempt, only answers do. Without
a dead-letter topic a record that is refused is tried again for ever.

Ctrl-C or SIGTERM drains, commits, leaves the group and says what was left; a second one stops at
once. SIGUSR1 writes the guard's journal into the log: its last refusals and transitions.

SIGHUP reads the plugin file again (--engine plugin --plugin FILE) and lets it take over with
everything that the running one knows, records in flight included. Write the new file's SHA-256
beside it first: sha256sum FILE > FILE.sha256. On any failure the running plugin stays, and the log
says why.

Exit codes:
  0    stopped as asked
  1    could not go on; what was not committed is read again by the next owner
  2    the command line or the settings cannot be used
  3    could not start: broker unreachable, topic unknown, plugin or sink unusable
  130  stopped at once by a second Ctrl-C (143: SIGTERM)";
