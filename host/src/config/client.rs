//! Settings of the Kafka client that pass through: which are refused, which are secret.

use std::collections::BTreeMap;

use rdkafka::config::ClientConfig;
use rdkafka::error::KafkaError;

use super::guard::number;
use super::layers::Layers;
use super::origin::{Given, Origin, Problem, nearest};
use super::settings::ProtocolName;

/// Settings given to the client as they are, by name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ClientSettings(pub(crate) BTreeMap<String, Given>);

impl ClientSettings {
    /// The client settings of all layers, each checked by the client itself.
    pub(crate) fn read(layers: &Layers, problems: &mut Vec<Problem>) -> Self {
        let mut settings = BTreeMap::new();
        for (name, values) in layers.under("client.") {
            match values {
                [given] => {
                    problems.extend(refused_by_client(name, given));
                    settings.insert(name.to_owned(), given.clone());
                }
                [_, second, ..] => problems.push(Problem::new(
                    &second.origin,
                    format!("the client setting `{name}` is given twice"),
                    "keep one",
                )),
                [] => {}
            }
        }
        Self(settings)
    }

    /// A numeric setting, or its default; what is no number is the client's to refuse.
    pub(crate) fn number(&self, name: &str, default: u64) -> u64 {
        self.0.get(name).and_then(|given| number(&given.text).ok()).unwrap_or(default)
    }

    /// The place that set `name`, or [`Origin::Default`].
    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.0.get(name).map_or(Origin::Default, |given| given.origin.clone())
    }

    /// Settings that the gateway sets itself, and those that undo what it promises.
    pub(crate) fn check(&self, protocol: ProtocolName, problems: &mut Vec<Problem>) {
        for (name, given) in &self.0 {
            problems.extend(self.taken(name, given));
            problems.extend(under_protocol(protocol, name, given));
        }
        self.check_timeouts(protocol, problems);
    }

    fn taken(&self, name: &str, given: &Given) -> Option<Problem> {
        let on = !matches!(given.text.as_str(), "false" | "f" | "0");
        let (what, remedy) = match name {
            "enable.auto.commit" | "auto.commit.enable" | "enable.auto.offset.store" if on => (
                "it lets the client commit records that have not run yet",
                "remove it: the guard commits what is finished",
            ),
            "auto.commit.interval.ms" => (
                "it times auto-commit, which is off",
                "remove it; commit_interval below [guard] times the guard's commits",
            ),
            "offset.store.method" if given.text != "broker" => {
                ("offsets would bypass the group", "remove it: offsets belong to the group")
            }
            "partition.assignment.strategy" => (
                "the protocol decides the assignment strategy",
                "remove it and choose --protocol eager, cooperative or consumer",
            ),
            "group.protocol" => ("it is a setting of its own", "use --protocol"),
            "auto.offset.reset" => {
                ("it is a setting of its own", "use --start-at earliest or latest")
            }
            "group.id" => ("it is a setting of its own", "use --group"),
            "group.instance.id" => ("it is a setting of its own", "use --instance-id"),
            "bootstrap.servers" | "metadata.broker.list" => {
                ("it is a setting of its own", "use --bootstrap")
            }
            "transactional.id" => (
                "it would reach the producer of dead letters, which begins no transactions",
                "remove it: dead letters are sent without transactions",
            ),
            "test.mock.num.brokers" => (
                "it replaces your brokers by a mock",
                "remove it; `rebalance-guard demo` has a mock",
            ),
            _ => return None,
        };
        let what = format!("the client setting `{name}` is refused: {what}");
        Some(Problem::new(&given.origin, what, remedy))
    }

    fn check_timeouts(&self, protocol: ProtocolName, problems: &mut Vec<Problem>) {
        if protocol == ProtocolName::Consumer {
            return;
        }
        let session = self.number("session.timeout.ms", 45_000);
        let heartbeat = self.number("heartbeat.interval.ms", 3_000);
        let poll = self.number("max.poll.interval.ms", MAX_POLL_MS);
        let at = |name: &str, other: &str| self.origin(name).max(self.origin(other));
        if heartbeat >= session {
            problems.push(Problem::new(
                &at("session.timeout.ms", "heartbeat.interval.ms"),
                format!(
                    "heartbeat.interval.ms ({heartbeat}) is not below session.timeout.ms \
                     ({session})"
                ),
                format!("set heartbeat.interval.ms to at most {}", session / 3),
            ));
        }
        if poll < session {
            problems.push(Problem::new(
                &at("session.timeout.ms", "max.poll.interval.ms"),
                format!("max.poll.interval.ms ({poll}) is below session.timeout.ms ({session})"),
                "raise max.poll.interval.ms or lower session.timeout.ms",
            ));
        }
    }
}

/// `max.poll.interval.ms` when nobody sets it.
pub(crate) const MAX_POLL_MS: u64 = 300_000;

/// Whether the value of a client setting must never be shown.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "secret", "token"].iter().any(|word| name.contains(word))
        || name.starts_with("sasl.")
        || name.starts_with("ssl.key")
}

/// The client's own refusal of one setting, in our words.
fn refused_by_client(name: &str, given: &Given) -> Option<Problem> {
    let refused = ClientConfig::new().set(name, &given.text).create_native_config().err()?;
    let why = match refused {
        KafkaError::ClientConfig(_, why, ..) => why,
        other => other.to_string(),
    };
    if why.contains("No such configuration property") {
        let what = format!("unknown client setting `{name}`");
        let remedy = nearest(name, KNOWN.iter().copied()).map_or_else(
            || "see librdkafka's CONFIGURATION.md for the names".into(),
            |near| format!("did you mean `{near}`?"),
        );
        return Some(Problem::new(&given.origin, what, remedy));
    }
    let remedy = if why.contains("OpenSSL") {
        "this binary was built without TLS; build it with `--features tls`"
    } else {
        "see librdkafka's CONFIGURATION.md for the values it takes"
    };
    let why = match why.trim().trim_end_matches('.') {
        // The client's words may repeat the value.
        _ if is_secret(name) => "its value is not accepted",
        why => why,
    };
    let what = format!("the client refuses `{name}`: {why}");
    Some(Problem::new(&given.origin, what, remedy))
}

fn under_protocol(protocol: ProtocolName, name: &str, given: &Given) -> Option<Problem> {
    let broker_decides =
        matches!(name, "session.timeout.ms" | "heartbeat.interval.ms" | "group.protocol.type");
    (protocol == ProtocolName::Consumer && broker_decides).then(|| {
        let what =
            format!("`{name}` contradicts the protocol `consumer`: the broker decides it there");
        Problem::new(&given.origin, what, "remove it, or use --protocol cooperative")
    })
}

/// Client settings worth proposing for a misspelled name.
const KNOWN: &[&str] = &[
    "allow.auto.create.topics",
    "broker.address.family",
    "check.crcs",
    "client.id",
    "client.rack",
    "compression.type",
    "connections.max.idle.ms",
    "debug",
    "enable.partition.eof",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.wait.max.ms",
    "heartbeat.interval.ms",
    "isolation.level",
    "linger.ms",
    "log_level",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "message.max.bytes",
    "metadata.max.age.ms",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "receive.message.max.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retry.backoff.ms",
    "sasl.kerberos.service.name",
    "sasl.mechanisms",
    "sasl.oauthbearer.config",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "session.timeout.ms",
    "socket.connection.setup.timeout.ms",
    "socket.keepalive.enable",
    "socket.nagle.disable",
    "socket.timeout.ms",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "statistics.interval.ms",
    "topic.metadata.refresh.interval.ms",
];
