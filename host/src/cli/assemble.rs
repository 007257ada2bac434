//! From a checked configuration to the parts of a gateway.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rebalance_guard::Config;

use super::exit;
use crate::config::{EngineName, OrderName, ProtocolName, RunConfig, SinkName};
use crate::engine::Engine;
use crate::gateway::{EngineFactory, Protocol, Settings, StartAt};
use crate::native::NativeEngine;
use crate::plugin::{self, Digest, Limits, Plugin};
use crate::recording::Recording;
use crate::recovery::Recovering;
use crate::sink::{Durability, HttpSettings, HttpSink, NdjsonSink, Sink};
use crate::workers::Order;

/// Why a gateway cannot be put together, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) why: String,
    pub(crate) code: u8,
}

impl Refused {
    fn start(why: impl Into<String>) -> Self {
        Self { why: why.into(), code: exit::START }
    }
}

/// The SHA-256 of the plugin that this binary carries.
pub(crate) fn embedded_sha256() -> Option<String> {
    plugin::embedded().map(|(_, digest)| digest.to_string())
}

/// The parts of the gateway that `config` describes. Opens the sink and loads the plugin.
pub(crate) fn settings(
    config: &RunConfig,
    recording: Option<&Recording>,
) -> Result<Settings, Refused> {
    Ok(Settings {
        bootstrap: config.bootstrap.clone(),
        topics: config.topics.clone(),
        group: config.group.clone(),
        protocol: match config.protocol {
            ProtocolName::Eager => Protocol::Eager,
            ProtocolName::Cooperative => Protocol::Cooperative,
            ProtocolName::Consumer => Protocol::Consumer,
        },
        instance_id: config.instance_id.clone(),
        start_at: if config.start_at_end { StartAt::Latest } else { StartAt::Earliest },
        client: config.client_settings().map(|(n, v)| (n.to_owned(), v.to_owned())).collect(),
        guard: config.guard.config,
        engine: recorded(engine(&config.engine)?, recording),
        key: config.key.clone(),
        order: match config.order {
            OrderName::Partition => Order::Partition,
            OrderName::Key => Order::Key,
            OrderName::None => Order::None,
        },
        workers: config.workers,
        sink: sink(config)?,
        dead_letter_topic: config.dead_letter_topic.clone(),
        drain: Duration::from_millis(config.guard.drain),
        bytes_max: Settings::BYTES_MAX,
        control: None,
    })
}

/// The recording that `config` asks for.
pub(crate) fn recording(config: &RunConfig) -> Result<Option<Recording>, Refused> {
    let Some(path) = &config.record else { return Ok(None) };
    let bytes_max = u64::from(config.record_mib) << 20;
    Recording::create(path, bytes_max, config.record_plain_keys, config.topics.clone())
        .map(Some)
        .map_err(|error| {
            let path = path.display();
            Refused::start(format!("the recording {path} cannot be made: {error}; check --record"))
        })
}

/// The same engines under the recording, if there is one.
pub(crate) fn recorded(mut factory: EngineFactory, recording: Option<&Recording>) -> EngineFactory {
    let Some(recording) = recording.cloned() else { return factory };
    EngineFactory::new(move |config: &Config| {
        let engine = factory.make(config)?;
        Ok(Box::new(recording.of(engine, config)) as Box<dyn Engine>)
    })
}

/// Makes engines of the kind that `name` says; a plugin passes its gate here, once.
pub(crate) fn engine(name: &EngineName) -> Result<EngineFactory, Refused> {
    let plugin = match name {
        EngineName::Native => return Ok(native()),
        EngineName::Embedded => {
            let Some((bytes, digest)) = plugin::embedded() else {
                return Err(Refused::start(
                    "this binary carries no plugin: build it with `cargo xtask wasm` first, give \
                     --plugin FILE, or use --engine native",
                ));
            };
            Plugin::load(bytes, &digest, Limits::default())
        }
        EngineName::File { path, sha256 } => {
            let digest: Digest =
                sha256.parse().map_err(|error| Refused::start(format!("plugin: {error}")))?;
            Plugin::load(&read(path)?, &digest, Limits::default())
        }
    };
    let plugin = plugin.map_err(|error| Refused::start(error.to_string()))?;
    Ok(recovering(plugin))
}

/// Engines of the plugin file as it is now. Its SHA-256 stands in `FILE.sha256` beside it (as
/// `sha256sum` writes it), or is still the one given at the start.
pub(crate) fn reloaded(name: &EngineName) -> Result<EngineFactory, Refused> {
    let EngineName::File { path, sha256 } = name else {
        return Err(Refused::start(
            "only a plugin file can be reloaded: start with --plugin FILE --plugin-sha256 DIGITS",
        ));
    };
    let mut beside = path.as_os_str().to_owned();
    beside.push(".sha256");
    let digits = match std::fs::read_to_string(&beside) {
        Ok(text) => text.split_whitespace().next().unwrap_or_default().to_owned(),
        Err(_) => sha256.clone(),
    };
    engine(&EngineName::File { path: path.clone(), sha256: digits })
}

/// Engines of the plugin that outlive a trap.
fn recovering(plugin: Plugin) -> EngineFactory {
    EngineFactory::new(move |config: &Config| {
        let plugin = plugin.clone();
        let engine = Recovering::start(config, move |config| {
            let engine = plugin.start(config).map_err(|error| error.to_string())?;
            Ok(Box::new(engine) as Box<dyn Engine>)
        })?;
        Ok(Box::new(engine) as Box<dyn Engine>)
    })
}

fn native() -> EngineFactory {
    EngineFactory::new(|config: &Config| {
        let engine = NativeEngine::new(config).map_err(|error| error.to_string())?;
        Ok(Box::new(engine) as Box<dyn Engine>)
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Refused> {
    std::fs::read(path).map_err(|error| {
        let path = path.display();
        Refused::start(format!("the plugin {path} cannot be read: {error}; check --plugin"))
    })
}

fn sink(config: &RunConfig) -> Result<Arc<dyn Sink>, Refused> {
    let refused = |error: &dyn std::fmt::Display| Refused::start(format!("the sink: {error}"));
    match &config.sink {
        SinkName::Stdout => Ok(Arc::new(NdjsonSink::stdout().map_err(|error| refused(&error))?)),
        SinkName::File(path) => {
            let durability =
                if config.sync_each { Durability::EachAnswer } else { Durability::OnFlush };
            Ok(Arc::new(NdjsonSink::open(path, durability).map_err(|error| refused(&error))?))
        }
        SinkName::Http(url) => Ok(Arc::new(http(url, config.sink_timeout, config.workers)?)),
    }
}

/// An HTTP sink that keeps a connection a worker.
pub(crate) fn http(url: &str, total: Duration, workers: usize) -> Result<HttpSink, Refused> {
    let connect = HttpSettings::CONNECT.min(total);
    let settings = HttpSettings { url: url.to_owned(), connect, total, connections: workers };
    HttpSink::new(&settings).map_err(|error| Refused::start(error.to_string()))
}
