//! The settings of `run`: flag over environment over file over default, checked before anything
//! starts.

mod check;
mod client;
mod guard;
mod layers;
mod origin;
mod print;
mod settings;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::key::KeyTemplate;
use client::{ClientSettings, MAX_POLL_MS};
pub use guard::GuardSettings;
use guard::{GuardSetting, number, span};
pub use layers::Layers;
pub use origin::{Given, Origin, Problem, Problems};
use settings::Setting;
pub use settings::{EngineName, OrderName, ProtocolName, SinkName, names};

/// Everything that `run` needs to know, checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunConfig {
    /// `host:port`, several separated by commas.
    pub bootstrap: String,
    /// Topics to read.
    pub topics: Vec<String>,
    /// Consumer group.
    pub group: String,
    /// Group protocol.
    pub protocol: ProtocolName,
    /// Static member id.
    pub instance_id: Option<String>,
    /// Whether reading begins at the end where the group holds nothing.
    pub start_at_end: bool,
    /// Which guard.
    pub engine: EngineName,
    /// Template of the idempotency key.
    pub key: KeyTemplate,
    /// Where effects go.
    pub sink: SinkName,
    /// Time limit of one delivery to an HTTP sink.
    pub sink_timeout: Duration,
    /// Whether a file sink syncs before each answer, not only at the end.
    pub sync_each: bool,
    /// What workers keep in order.
    pub order: OrderName,
    /// Worker threads.
    pub workers: usize,
    /// Where given-up records go.
    pub dead_letter_topic: Option<String>,
    /// Where what the guard is told is recorded.
    pub record: Option<PathBuf>,
    /// Size that the files of the recording may have together, in MiB.
    pub record_mib: u32,
    /// Whether keys are recorded as they are.
    pub record_plain_keys: bool,
    /// Whether logs are JSON.
    pub log_json: bool,
    /// Which logs are written, in the words of `RUST_LOG`.
    pub log_filter: String,
    /// The guard's settings.
    pub guard: GuardSettings,
    pub(crate) client: ClientSettings,
    given: BTreeMap<String, Given>,
}

impl RunConfig {
    /// Checks all layers and puts them together; `problems` are those already found.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn build(layers: &Layers, problems: Vec<Problem>) -> Result<Self, Problems> {
        let mut reader = Reader { layers, problems, given: BTreeMap::new() };
        let client = ClientSettings::read(layers, &mut reader.problems);
        let config = reader.read(client);
        let mut problems = reader.problems;
        if problems.is_empty() {
            problems = check::contradictions(&config);
        }
        config.client.check(config.protocol, &mut problems);
        if problems.is_empty() { Ok(config) } else { Err(Problems(problems)) }
    }

    /// The effective configuration as TOML, secrets masked.
    pub fn effective(&self) -> String {
        print::Effective(self).to_string()
    }

    /// Settings for the Kafka client as the user gave them, secrets included.
    pub fn client_settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.client.0.iter().map(|(name, given)| (name.as_str(), given.text.as_str()))
    }

    /// Whether the key is the default, which absorbs redelivery only.
    pub fn key_is_default(&self) -> bool {
        self.key.to_string() == KeyTemplate::DEFAULT
    }

    /// Where a setting was given.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        match name.strip_prefix("client.") {
            Some(name) => self.client.origin(name),
            None => self.given.get(name).map_or(Origin::Default, |given| given.origin.clone()),
        }
    }

    /// The TOML of a setting outside the guard and the client, when it has a value.
    fn shown(&self, name: &str) -> Option<String> {
        if name == "topic" && self.topics.len() > 1 {
            let topics: Vec<_> = self.topics.iter().map(|topic| print::quoted(topic)).collect();
            return Some(format!("[{}]", topics.join(", ")));
        }
        let text = self.given.get(name).map(|given| given.text.as_str());
        let text = text.or_else(|| Setting::default_of(name))?;
        Some(match name {
            "workers" | "record_mib" => text.to_owned(),
            "sink" => print::quoted(&print::without_user(text)),
            _ => print::quoted(text),
        })
    }
}

/// Help text about the guard's settings, for `run --help`.
pub fn guard_help() -> String {
    guard::help()
}

/// Reads setting after setting and remembers what was wrong with each.
struct Reader<'a> {
    layers: &'a Layers,
    problems: Vec<Problem>,
    given: BTreeMap<String, Given>,
}

impl Reader<'_> {
    fn read(&mut self, client: ClientSettings) -> RunConfig {
        RunConfig {
            bootstrap: self.required("bootstrap", "the brokers, such as localhost:9092"),
            topics: self.topics(),
            group: self.required("group", "the consumer group"),
            protocol: self.protocol(),
            instance_id: self.optional("instance_id"),
            start_at_end: self.one_of("start_at", &["earliest", "latest"]) == "latest",
            engine: self.engine(),
            key: self.key(),
            sink: self.sink(),
            sink_timeout: self.span("sink_timeout"),
            sync_each: self.one_of("file_sync", &["each", "end"]) == "each",
            order: self.order(),
            workers: usize::try_from(self.count("workers", 1, 1_024)).unwrap_or(1),
            dead_letter_topic: self.optional("dead_letter_topic"),
            record: self.optional("record").map(PathBuf::from),
            record_mib: self.count("record_mib", 8, 65_536),
            record_plain_keys: self.one_of("record_keys", &["hashed", "plain"]) == "plain",
            log_json: self.one_of("log", &["human", "json"]) == "json",
            log_filter: self.text("log_filter"),
            guard: self.guard(client.number("max.poll.interval.ms", MAX_POLL_MS)),
            client,
            given: std::mem::take(&mut self.given),
        }
    }

    fn problem(&mut self, at: &Origin, what: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem::new(at, what, remedy));
    }

    /// The one value given, if any.
    fn given(&mut self, name: &str) -> Option<Given> {
        let given = match self.layers.all(name) {
            [] => return None,
            [given] => given.clone(),
            [first, second, ..] => {
                let (first, second) = (first.clone(), second.clone());
                self.problem(&second.origin, format!("`{name}` is given twice"), "keep one");
                first
            }
        };
        if given.text.trim().is_empty() {
            self.problem(
                &given.origin,
                format!("`{name}` is empty"),
                "give it a value, or remove it",
            );
            return None;
        }
        self.given.insert(name.to_owned(), given.clone());
        Some(given)
    }

    fn optional(&mut self, name: &str) -> Option<String> {
        self.given(name).map(|given| given.text)
    }

    fn text(&mut self, name: &str) -> String {
        self.optional(name).unwrap_or_else(|| Setting::default_of(name).unwrap_or("").to_owned())
    }

    fn required(&mut self, name: &str, what: &str) -> String {
        let value = self.optional(name);
        if value.is_none() && self.layers.all(name).is_empty() {
            self.missing(name, what);
        }
        value.unwrap_or_default()
    }

    fn missing(&mut self, name: &str, what: &str) {
        let at = Origin::Flag(format!("--{name}"));
        let remedy = format!(
            "give --{name}, the environment variable RG_{}, or `{name}` in the file of --config",
            name.to_uppercase()
        );
        self.problem(&at, format!("missing: {what}"), remedy);
    }

    fn topics(&mut self) -> Vec<String> {
        let given = self.layers.all("topic").to_vec();
        if given.is_empty() {
            self.missing("topic", "the topic to read");
        }
        let mut topics: Vec<String> = Vec::new();
        for one in &given {
            for topic in one.text.split(',').map(str::trim) {
                if topic.is_empty() || topic.starts_with('^') {
                    let remedy = "give the name of a topic (patterns are not supported)";
                    self.problem(&one.origin, format!("`{topic}` is no topic"), remedy);
                } else if !topics.iter().any(|known| known == topic) {
                    topics.push(topic.to_owned());
                }
            }
        }
        if let Some(first) = given.into_iter().next() {
            self.given.insert("topic".into(), first);
        }
        topics
    }

    /// One of `words`; the first when something else was given, which is then a problem.
    fn one_of(&mut self, name: &str, words: &[&'static str]) -> &'static str {
        let given = self.given(name);
        let text = given.as_ref().map(|given| given.text.as_str());
        let text = text.or_else(|| Setting::default_of(name)).unwrap_or("");
        if let Some(word) = words.iter().find(|word| **word == text) {
            return word;
        }
        if let Some(given) = given {
            let what = format!("`{name}` is `{}`", given.text);
            self.problem(&given.origin, what, format!("choose one of {}", words.join(", ")));
        }
        words.first().copied().unwrap_or("")
    }

    fn protocol(&mut self) -> ProtocolName {
        match self.one_of("protocol", &["cooperative", "eager", "consumer"]) {
            "eager" => ProtocolName::Eager,
            "consumer" => ProtocolName::Consumer,
            _ => ProtocolName::Cooperative,
        }
    }

    fn order(&mut self) -> OrderName {
        match self.one_of("order", &["partition", "key", "none"]) {
            "key" => OrderName::Key,
            "none" => OrderName::None,
            _ => OrderName::Partition,
        }
    }

    fn engine(&mut self) -> EngineName {
        let engine = self.one_of("engine", &["native", "plugin"]);
        let (file, sha256) = (self.given("plugin"), self.given("plugin_sha256"));
        match (engine, file, sha256) {
            ("native", None, None) => EngineName::Native,
            ("native", file, sha256) => {
                if let Some(given) = file.or(sha256) {
                    let what = "a plugin is named, but the engine is native";
                    self.problem(&given.origin, what, "set engine to plugin, or remove it");
                }
                EngineName::Native
            }
            (_, None, None) => EngineName::Embedded,
            (_, None, Some(sha256)) => {
                let what = "a SHA-256 is given without a plugin file";
                self.problem(&sha256.origin, what, "give --plugin FILE, or remove it");
                EngineName::Embedded
            }
            (_, Some(file), None) => {
                let remedy = "give --plugin-sha256; `sha256sum FILE` prints it: compare it with \
                              its author's";
                self.problem(&file.origin, "a plugin file needs its SHA-256", remedy);
                EngineName::Embedded
            }
            (_, Some(file), Some(sha256)) => self.plugin(&file, &sha256),
        }
    }

    fn plugin(&mut self, file: &Given, sha256: &Given) -> EngineName {
        let digits = sha256.text.to_ascii_lowercase();
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            let what = "plugin_sha256 is no SHA-256";
            self.problem(&sha256.origin, what, "give 64 hexadecimal digits");
        }
        EngineName::File { path: PathBuf::from(&file.text), sha256: digits }
    }

    fn key(&mut self) -> KeyTemplate {
        let Some(given) = self.given("key") else { return KeyTemplate::default() };
        KeyTemplate::parse(&given.text).unwrap_or_else(|error| {
            let what = format!("`key`, column {}: {}", error.column, error.what);
            self.problem(&given.origin, what, error.remedy);
            KeyTemplate::default()
        })
    }

    fn sink(&mut self) -> SinkName {
        let Some(given) = self.given("sink") else {
            return SinkName::Stdout;
        };
        match given.text.split_once(':') {
            None if given.text == "stdout" => SinkName::Stdout,
            Some(("file", path)) if !path.is_empty() => SinkName::File(path.into()),
            Some(("http" | "https", rest)) if rest.starts_with("//") => SinkName::Http(given.text),
            _ => {
                let what = format!("`sink` is `{}`", print::without_user(&given.text));
                self.problem(
                    &given.origin,
                    what,
                    "give stdout, file:PATH or http://HOST:PORT/PATH",
                );
                SinkName::Stdout
            }
        }
    }

    fn span(&mut self, name: &str) -> Duration {
        let given = self.given(name);
        let text = given.as_ref().map(|given| given.text.as_str());
        match (span(text.or_else(|| Setting::default_of(name)).unwrap_or("")), given) {
            (Ok(0), Some(given)) => {
                self.problem(&given.origin, format!("`{name}` is 0"), "set it to at least 1ms");
                Duration::ZERO
            }
            (Ok(ms), _) => Duration::from_millis(ms),
            (Err(why), given) => {
                let at = given.map_or(Origin::Default, |given| given.origin);
                self.problem(
                    &at,
                    format!("`{name}` {why}"),
                    "correct it, or remove it for the default",
                );
                Duration::ZERO
            }
        }
    }

    /// A whole number from `least` to `most`.
    fn count(&mut self, name: &str, least: u32, most: u32) -> u32 {
        let given = self.given(name);
        let text = given.as_ref().map(|given| given.text.as_str());
        match number::<u32>(text.or_else(|| Setting::default_of(name)).unwrap_or("")) {
            Ok(count) if (least..=most).contains(&count) => count,
            _ => {
                let at = given.as_ref().map_or(Origin::Default, |given| given.origin.clone());
                let text = given.map_or_else(String::new, |given| given.text);
                let what = format!("`{name}` is `{text}`");
                let remedy = format!("set it to a whole number from {least} to {most}");
                self.problem(&at, what, remedy);
                least
            }
        }
    }

    fn guard(&mut self, max_poll: u64) -> GuardSettings {
        let mut settings = GuardSettings::for_max_poll(max_poll);
        if let Some(lease) = self.layers.all("guard.lease").first().and_then(|g| span(&g.text).ok())
        {
            settings.drain = GuardSettings::DRAIN.min(lease / 2);
        }
        let names: Vec<String> = self.layers.under("guard.").map(|(name, _)| name.into()).collect();
        for name in names {
            let full = format!("guard.{name}");
            let (Some(given), Some(row)) = (self.given(&full), GuardSetting::named(&name)) else {
                continue;
            };
            if let Err(why) = row.set(&mut settings, &given.text) {
                let what = format!("`{name}` is `{}`, but it {why}", given.text);
                self.problem(&given.origin, what, "correct it, or remove it for the default");
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests;
