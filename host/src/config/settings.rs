//! The settings of `run` outside the guard and the client: names, defaults and types.

use std::path::PathBuf;

/// A setting by its name in the file; the flag is `--name` with dashes, the variable `RG_NAME`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) default: Option<&'static str>,
}

impl Setting {
    /// The setting that the file calls `name`.
    pub(crate) fn in_file(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// Its default.
    pub(crate) fn default_of(name: &str) -> Option<&'static str> {
        SETTINGS.iter().find(|setting| setting.name == name)?.default
    }
}

const fn setting(name: &'static str, default: Option<&'static str>) -> Setting {
    Setting { name, default }
}

/// The names, in the order in which the effective configuration is printed.
pub(crate) const SETTINGS: &[Setting] = &[
    setting("bootstrap", None),
    setting("topic", None),
    setting("group", None),
    setting("protocol", Some("cooperative")),
    setting("instance_id", None),
    setting("start_at", Some("earliest")),
    setting("engine", Some("native")),
    setting("plugin", None),
    setting("plugin_sha256", None),
    setting("key", Some("{topic}/{partition}/{offset}")),
    setting("sink", Some("stdout")),
    setting("sink_timeout", Some("10s")),
    setting("file_sync", Some("each")),
    setting("order", Some("partition")),
    setting("workers", Some("8")),
    setting("dead_letter_topic", None),
    setting("record", None),
    setting("record_mib", Some("64")),
    setting("record_keys", Some("hashed")),
    setting("log", Some("human")),
    setting("log_filter", Some("info")),
];

/// How the group hands partitions over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "the three protocols that Kafka has")]
pub enum ProtocolName {
    /// Classic, everything is revoked in each rebalance.
    Eager,
    /// Classic, only what moves is revoked.
    Cooperative,
    /// KIP-848.
    Consumer,
}

/// Which guard runs.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "matched by the gateway's setup")]
pub enum EngineName {
    /// The core, compiled in.
    Native,
    /// The plugin that this binary carries.
    Embedded,
    /// A plugin file whose SHA-256 the operator vouches for.
    File {
        /// Where it is.
        path: PathBuf,
        /// Its SHA-256, 64 lower-case digits.
        sha256: String,
    },
}

/// Where side effects go.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "matched by the gateway's setup")]
pub enum SinkName {
    /// NDJSON on standard output.
    Stdout,
    /// NDJSON appended to a file.
    File(PathBuf),
    /// `POST` to this URL.
    Http(String),
}

/// What the workers keep in order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "matched by the gateway's setup")]
pub enum OrderName {
    /// Records of one partition run one after another.
    Partition,
    /// Records with one Kafka key run one after another.
    Key,
    /// Nothing.
    None,
}

/// The names of the settings, in the order in which they are printed.
pub fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name)
}
