//! From flags, environment and file to a checked configuration.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::args::RunArgs;
use crate::config::{Given, Layers, Origin, Problems, RunConfig, names};

/// The configuration of `run`; `matches` tell flag from environment.
pub(crate) fn load(args: &RunArgs, matches: &ArgMatches) -> Result<RunConfig, Problems> {
    let (mut layers, mut problems) = (Layers::default(), Vec::new());
    if let Some(path) = &args.config {
        layers.give_file(path, &mut problems);
    }
    for name in names() {
        let Ok(Some(values)) = matches.try_get_many::<String>(name) else { continue };
        let origin = match matches.value_source(name) {
            Some(ValueSource::EnvVariable) => Origin::Env(format!("RG_{}", name.to_uppercase())),
            _ => Origin::Flag(format!("--{}", name.replace('_', "-"))),
        };
        // Containers set variables to nothing to say "not set".
        let unset = |text: &&String| !(text.is_empty() && matches!(origin, Origin::Env(_)));
        values.filter(unset).for_each(|text| layers.give(name, Given::new(text, origin.clone())));
    }
    layers.give_environment(texts(std::env::vars_os()), &mut problems);
    for pair in &args.guard {
        layers.give_pair("guard.", "--guard", pair, &mut problems);
    }
    for pair in &args.set {
        layers.give_pair("client.", "--set", pair, &mut problems);
    }
    RunConfig::build(&layers, problems)
}

/// The variables that are text.
fn texts(vars: std::env::VarsOs) -> impl Iterator<Item = (String, String)> {
    vars.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
