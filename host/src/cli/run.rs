//! `run`: consume a topic under the guard.

use clap::ArgMatches;

use super::args::RunArgs;
use super::{assemble, exit, load, logs, signals};
use crate::config::RunConfig;
use crate::gateway::{self, GatewayError, Summary, Unwatched};

/// Runs until a signal, or until it cannot go on. Gives the exit code.
pub(crate) fn run(args: &RunArgs, matches: &ArgMatches) -> u8 {
    let config = match load::load(args, matches) {
        Ok(config) => config,
        Err(problems) => {
            eprint!("{problems}");
            return exit::SETTINGS;
        }
    };
    if args.check {
        return super::print(config.effective().as_bytes());
    }
    if let Err(why) = logs::start(config.log_json, &config.log_filter) {
        eprintln!("{why}");
        return exit::SETTINGS;
    }
    announce(&config);
    start(&config)
}

/// The effective configuration goes where the logs go: standard output may be the sink.
fn announce(config: &RunConfig) {
    let effective = config.effective();
    if config.log_json {
        tracing::info!(configuration = effective, "effective configuration");
    } else {
        eprintln!("# effective configuration\n{effective}");
    }
    if config.key_is_default() {
        tracing::warn!(
            key = %config.key,
            "this key absorbs redelivery only; name the operation (--key '{{json:/order}}') to \
             absorb records that were sent twice"
        );
    }
}

/// The broker's `offset.metadata.max.bytes` unless it was set.
const BROKERS_METADATA_MAX: u16 = 4_096;

fn warn_of_metadata(config: &RunConfig) {
    let metadata_max = config.guard.config.metadata_max;
    if metadata_max > BROKERS_METADATA_MAX {
        tracing::warn!(
            metadata_max,
            "a broker takes {BROKERS_METADATA_MAX} bytes of commit metadata unless its \
             offset.metadata.max.bytes says more; of a longer one only the offset is committed"
        );
    }
}

fn start(config: &RunConfig) -> u8 {
    let assembled = assemble::recording(config)
        .and_then(|recording| Ok((assemble::settings(config, recording.as_ref())?, recording)));
    let (mut settings, recording) = match assembled {
        Ok(assembled) => assembled,
        Err(refused) => {
            tracing::error!("{}", refused.why);
            return refused.code;
        }
    };
    warn_of_metadata(config);
    let (handle, signal) = gateway::stop_signal();
    let (control, requests) = gateway::control();
    settings.control = Some(requests);
    let (journal, engine) = (control.clone(), config.engine.clone());
    let reload = move || match assemble::reloaded(&engine) {
        Ok(factory) => {
            if !control.reload(assemble::recorded(factory, recording.as_ref())) {
                tracing::warn!("the gateway is busy with another reload");
            }
        }
        Err(refused) => tracing::error!(why = %refused.why, "the running plugin stays"),
    };
    // When too many wait, the journal is coming anyway.
    let journal = move || _ = journal.journal();
    let hurry = match signals::watch(handle, reload, journal) {
        Ok(hurry) => hurry,
        Err(error) => {
            tracing::error!("signals cannot be watched: {error}");
            return exit::START;
        }
    };
    let ended = gateway::run(settings, signal, &mut Unwatched);
    let code = match ended {
        Ok(summary) => {
            report(&summary);
            exit::OK
        }
        Err(error) => {
            tracing::error!("{error}");
            code_of(&error)
        }
    };
    hurry.code().unwrap_or(code)
}

/// What was done and what was left.
fn report(summary: &Summary) {
    let counters = &summary.counters;
    for (topic, partition, left) in &summary.left {
        tracing::warn!(topic = &**topic, partition, left, "left for the next owner");
    }
    tracing::info!(
        completed = counters.completed,
        skipped = counters.skipped_finished + counters.skipped_in_flight,
        dead_lettered = counters.dead_lettered,
        fenced_by_guard = summary.fenced_by_guard,
        fenced_by_sink = summary.fenced_by_sink,
        rebalances = summary.rebalances,
        left = summary.left.iter().map(|(_, _, left)| u64::from(*left)).sum::<u64>(),
        "stopped"
    );
}

fn code_of(error: &GatewayError) -> u8 {
    match error {
        GatewayError::Setting(_) | GatewayError::Guard(_) | GatewayError::Client(_) => {
            exit::SETTINGS
        }
        GatewayError::EngineDies { .. } | GatewayError::Fatal { .. } => exit::FAILED,
        _ => exit::START,
    }
}
