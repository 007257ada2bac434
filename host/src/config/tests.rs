use std::path::Path;

use super::*;

const LEAST: &str = "bootstrap = \"localhost:9092\"\ntopic = \"orders\"\ngroup = \"billing\"\n\
                     dead_letter_topic = \"orders.dead\"\n";

fn layers(text: &str) -> (Layers, Vec<Problem>) {
    let (mut layers, mut problems) = (Layers::default(), Vec::new());
    layers.give_text(Path::new("guard.toml"), text, &mut problems);
    (layers, problems)
}

fn built(text: &str) -> RunConfig {
    let (layers, problems) = layers(text);
    RunConfig::build(&layers, problems).expect("the settings are sound")
}

/// What is wrong with the least configuration and `more`, which begins on line 5.
fn refused(more: &str) -> String {
    let (layers, problems) = layers(&format!("{LEAST}{more}"));
    RunConfig::build(&layers, problems).expect_err(more).to_string()
}

fn flag(layers: &mut Layers, name: &str, value: &str) {
    layers.give(name, Given::new(value, Origin::Flag(format!("--{name}"))));
}

#[test]
fn the_least_configuration_gets_every_default() {
    let config = built(LEAST);
    assert_eq!(config.topics, ["orders"]);
    assert_eq!(config.protocol, ProtocolName::Cooperative);
    assert_eq!(config.engine, EngineName::Native);
    assert_eq!(config.sink, SinkName::Stdout);
    assert_eq!(config.order, OrderName::Partition);
    assert_eq!(config.workers, 8);
    assert_eq!(config.key.to_string(), "{topic}/{partition}/{offset}");
    assert_eq!(config.guard, GuardSettings::default());
}

#[test]
fn a_flag_wins_over_the_environment_which_wins_over_the_file() {
    let (mut layers, mut problems) = layers(&format!("{LEAST}workers = 2\norder = \"key\"\n"));
    layers.give("workers", Given::new("3", Origin::Env("RG_WORKERS".into())));
    layers.give("order", Given::new("none", Origin::Env("RG_ORDER".into())));
    flag(&mut layers, "workers", "4");
    layers.give_pair("guard.", "--guard", "window=9", &mut problems);
    layers.give_environment(
        [("RG_GUARD_WINDOW".to_owned(), "10".to_owned())].into_iter(),
        &mut problems,
    );
    let config = RunConfig::build(&layers, problems).expect("sound");
    assert_eq!((config.workers, config.order), (4, OrderName::None));
    assert_eq!(config.guard.config.window, 9);
}

#[test]
fn what_is_missing_is_said_with_the_three_places_to_give_it() {
    let (layers, problems) = layers("");
    let Problems(problems) = RunConfig::build(&layers, problems).expect_err("nothing is given");
    let places: Vec<_> = problems.iter().map(|problem| problem.at.to_string()).collect();
    assert_eq!(places, ["--bootstrap", "--topic", "--group"]);
    assert!(problems[0].remedy.contains("RG_BOOTSTRAP"), "{}", problems[0].remedy);
}

#[test]
fn an_unknown_setting_is_refused_with_its_line_and_the_nearest_name() {
    for (text, line, near) in [
        ("wrokers = 3", 5, "workers"),
        ("[guard]\nwindw = 3", 6, "window"),
        ("[client]\n\"session.timout.ms\" = 3", 6, "session.timeout.ms"),
        ("[client]\nsession.timout.ms = 3", 6, "session.timeout.ms"),
    ] {
        let refused = refused(text);
        assert!(refused.contains(&format!("guard.toml:{line}: unknown")), "{refused}");
        assert!(refused.contains(&format!("did you mean `{near}`?")), "{refused}");
    }
    assert!(refused("window = 3").contains("move it below [guard]"));
}

#[test]
fn auto_commit_is_refused_under_each_of_its_names() {
    for name in ["enable.auto.commit", "auto.commit.enable", "enable.auto.offset.store"] {
        assert!(refused(&format!("[client]\n\"{name}\" = \"TRUE\"")).contains("guard.toml:6"));
        let refused = refused(&format!("[client]\n\"{name}\" = true"));
        assert!(refused.contains("guard.toml:6"), "{refused}");
        assert!(refused.contains("the guard commits what is finished"), "{refused}");
        built(&format!("{LEAST}[client]\n\"{name}\" = false"));
    }
}

#[test]
fn client_settings_that_the_gateway_owns_are_refused_with_the_flag_to_use() {
    for (name, value, remedy) in [
        ("group.id", "x", "--group"),
        ("group.instance.id", "x", "--instance-id"),
        ("group.protocol", "classic", "--protocol"),
        ("partition.assignment.strategy", "range", "--protocol"),
        ("bootstrap.servers", "x", "--bootstrap"),
        ("auto.offset.reset", "latest", "--start-at"),
        ("auto.commit.interval.ms", "100", "commit_interval"),
        ("test.mock.num.brokers", "1", "demo"),
        ("transactional.id", "x", "sent without transactions"),
    ] {
        let refused = refused(&format!("[client]\n\"{name}\" = \"{value}\""));
        assert!(refused.contains("guard.toml:6") && refused.contains(remedy), "{refused}");
    }
}

#[test]
fn settings_that_contradict_each_other_name_the_later_line_and_the_remedy() {
    for (text, line, words) in [
        ("[guard]\nlease = \"30s\"\ndrain = \"16s\"", 7, "set drain to at most 15s"),
        ("[guard]\nlease = \"300s\"", 6, "set lease to at most 270s"),
        (
            "[client]\nmax.poll.interval.ms = 46000\n[guard]\ncommit_timeout = \"30s\"",
            8,
            "together reach",
        ),
        (
            "[guard]\nlease = \"30s\"\ndrain = \"15s\"\ncommit_timeout = \"15s\"",
            8,
            "together reach the lease (30s)",
        ),
        ("[guard]\nstorm_calm = 3", 6, "such as 1, 3, 5"),
        ("[guard]\nstorm_at = 33", 6, "at most 32"),
        ("[guard]\njitter = 101", 6, "at most 100"),
        ("[guard]\nbackoff = \"20s\"", 6, "lower backoff"),
        ("[guard]\npartitions = 0", 6, "at least 1"),
        ("[guard]\nattempts_max = 0", 6, "at least 1"),
        ("workers = 0", 5, "from 1 to 1024"),
        ("plugin = \"x.wasm\"\nengine = \"plugin\"", 5, "--plugin-sha256"),
        ("plugin_sha256 = \"00\"\nengine = \"plugin\"", 5, "--plugin FILE"),
        ("plugin = \"x.wasm\"", 5, "set engine to plugin"),
        ("plugin = \"x\"\nplugin_sha256 = \"00\"\nengine = \"plugin\"", 6, "64 hexadecimal"),
        ("protocol = \"consumer\"\n[client]\nsession.timeout.ms = 6000", 7, "the broker decides"),
        ("protocol = \"consumer\"\n[client]\nheartbeat.interval.ms = 600", 7, "the broker decides"),
        ("[client]\nheartbeat.interval.ms = 45000", 6, "at most 15000"),
        ("[client]\nsession.timeout.ms = 400000", 6, "raise max.poll.interval.ms"),
        ("sink = \"https://ledger/\"", 5, "http://"),
        ("sink = \"kafka:x\"", 5, "file:PATH"),
        ("sink = \"file:\"", 5, "file:PATH"),
        ("key = \"{jsn:/order}\"", 5, "column 1"),
        ("key = \"order\"", 5, "`key`, column"),
        ("order = \"fifo\"", 5, "partition, key, none"),
        ("protocol = \"sticky\"", 5, "cooperative, eager, consumer"),
    ] {
        let refused = refused(text);
        assert!(refused.contains(&format!("guard.toml:{line}: ")), "{text}: {refused}");
        assert!(refused.contains(words), "{text}: {refused}");
    }
}

#[test]
fn a_hand_over_that_ends_before_the_lease_is_accepted() {
    let times = "[guard]\nlease = \"30s\"\ndrain = \"15s\"\ncommit_timeout = \"14999ms\"";
    assert_eq!(built(&format!("{LEAST}{times}")).guard.config.commit_timeout, 14_999);
}

#[test]
fn a_required_key_without_a_dead_letter_topic_is_refused() {
    let text = LEAST.replace("dead_letter_topic", "#");
    let (layers, problems) = layers(&text);
    let refused = RunConfig::build(&layers, problems).expect_err("refused").to_string();
    assert!(refused.contains("--dead-letter-topic"), "{refused}");
    built(&format!("{text}[guard]\nkey_policy = \"optional\""));
}

#[test]
fn dead_letters_do_not_go_back_to_their_own_topic() {
    let (layers, problems) = layers(&LEAST.replace("orders.dead", "orders"));
    let refused = RunConfig::build(&layers, problems).expect_err("refused").to_string();
    assert!(refused.contains("guard.toml:4: dead letters would go to `orders`"), "{refused}");
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range() {
    for (text, words) in [
        ("[guard]\nwindow = -1", "from 0 to 4294967295"),
        ("[guard]\nattempts_max = 65536", "from 0 to 65535"),
        ("[guard]\nwindow = 99999999999999999999999", "from 0 to 4294967295"),
        ("[guard]\nlease = -5", "such as 500ms, 20s or 5m"),
        ("[guard]\nlease = 1.5", "such as 500ms, 20s or 5m"),
        ("workers = -3", "from 1 to 1024"),
        ("sink_timeout = 0", "at least 1ms"),
    ] {
        let refused = refused(text);
        assert!(refused.contains("guard.toml:") && refused.contains(words), "{text}: {refused}");
    }
}

#[test]
fn bad_toml_is_refused_with_its_line() {
    let refused = refused("key = {json:/order}\n");
    assert!(refused.contains("guard.toml:5: not valid TOML"), "{refused}");
}

#[test]
fn a_file_that_cannot_be_read_is_said_with_its_name() {
    let (mut layers, mut problems) = (Layers::default(), Vec::new());
    layers.give_file(Path::new("/nowhere/guard.toml"), &mut problems);
    let refused = RunConfig::build(&layers, problems).expect_err("refused").to_string();
    assert!(refused.contains("/nowhere/guard.toml: the configuration cannot be read"), "{refused}");
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let refused = refused("workers = 0\norder = \"fifo\"\nwrokers = 1\n[guard]\njitter = 300");
    for line in 5..=7 {
        assert!(refused.contains(&format!("guard.toml:{line}")), "{refused}");
    }
    assert!(refused.contains("guard.toml:9"), "{refused}");
}

#[test]
fn secrets_are_masked_in_what_is_printed_and_in_refusals() {
    let text = format!(
        "{LEAST}sink = \"http://me:hush@localhost:1/\"\n[client]\nsasl.username = \"hush\"\n\
         sasl.password = \"hush\"\nssl.key.password = \"hush\"\nclient.id = \"shown\"\n"
    );
    let (layers, problems) = layers(&text);
    match RunConfig::build(&layers, problems) {
        Ok(config) => {
            let effective = config.effective();
            assert!(!effective.contains("hush"), "{effective}");
            assert!(effective.contains("\"client.id\" = \"shown\""), "{effective}");
        }
        // A client without TLS refuses these settings: even then the values stay unsaid.
        Err(refused) => assert!(!refused.to_string().contains("hush"), "{refused}"),
    }
}

#[test]
fn what_is_printed_can_be_read_back_and_names_its_origins() {
    let config =
        built(&format!("{LEAST}topic = [\"a\", \"b\"]\n").replace("topic = \"orders\"\n", ""));
    let effective = config.effective();
    assert!(effective.contains("group = \"billing\" # guard.toml:2"), "{effective}");
    assert!(effective.contains("topic = [\"a\", \"b\"]"), "{effective}");
    assert_eq!(built(&effective).effective().lines().count(), effective.lines().count());
    assert_eq!(built(&effective).guard, config.guard);
}

#[test]
fn the_environment_names_client_settings_with_underscores() {
    let (mut layers, mut problems) = layers(LEAST);
    let variables = [("RG_CLIENT_CLIENT_ID", "me"), ("RG_GUARD_WINDW", "1"), ("RG_GUARD_KEYS", "")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    layers.give_environment(variables.into_iter(), &mut problems);
    assert_eq!(problems.len(), 1);
    assert_eq!(
        problems[0].to_string(),
        "RG_GUARD_WINDW: unknown setting `windw`\n    did you mean `window`?"
    );
    let config = RunConfig::build(&layers, Vec::new()).expect("sound");
    assert_eq!(config.client_settings().collect::<Vec<_>>(), [("client.id", "me")]);
}

/// What the fuzz target `configuration` kept; `docs/fuzzing.md` says how to run it.
#[test]
fn every_text_of_the_fuzzers_corpus_is_a_configuration_or_says_what_is_wrong() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/configuration");
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).expect("the corpus is in the repository") {
        let path = entry.expect("readable").path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let (layers, problems) = layers(&text);
        match RunConfig::build(&layers, problems) {
            Ok(config) => {
                let (_, problems) = self::layers(&config.effective());
                assert!(problems.is_empty(), "{}", path.display());
            }
            Err(problems) => assert_ne!(problems.to_string(), "", "{}", path.display()),
        }
        count += 1;
    }
    assert!(count >= 50, "{count} texts");
}
