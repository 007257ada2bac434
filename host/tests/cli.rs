//! The binary as people start it: what it says, where it says it, and how it ends.

mod cli_support;

use std::time::Duration;

use cli_support::{Finished, run, scratch};

const LEAST: [&str; 7] =
    ["run", "--bootstrap", "127.0.0.1:1", "--topic", "orders", "--group", "billing"];

#[test]
fn version_tells_the_plugin_that_the_binary_carries() {
    let said = run(&["--version"]);
    assert_eq!(said.code, 0);
    assert!(said.stdout.starts_with("rebalance-guard 0."), "{}", said.stdout);
    let carried = rebalance_guard_host::plugin::embedded();
    let digest = carried.map_or_else(|| "none".to_owned(), |(_, digest)| digest.to_string());
    assert!(said.stdout.contains(&format!("plugin sha256: {digest}")), "{}", said.stdout);
}

#[test]
fn completions_are_there_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = run(&["completions", shell]);
        assert_eq!(said.code, 0, "{shell}: {}", said.stderr);
        assert!(said.stdout.contains("dead-letter-topic"), "{shell}");
        assert!(!said.stdout.contains("demo-member --"), "{shell}");
    }
}

#[test]
fn check_prints_the_effective_configuration_and_stops() {
    let mut arguments = LEAST.to_vec();
    arguments.extend(["--check", "--dead-letter-topic", "dead", "--workers", "3"]);
    let said = run(&arguments);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("workers = 3 # --workers"), "{}", said.stdout);
    assert!(said.stdout.contains("commit_interval = \"1s\""), "{}", said.stdout);
}

#[test]
fn the_environment_gives_settings_and_flags_win_over_it() {
    let arguments = ["run", "--check", "--topic", "orders", "--workers", "3"];
    let variables = [
        ("RG_BOOTSTRAP", "b:1"),
        ("RG_GROUP", "g"),
        ("RG_WORKERS", "9"),
        ("RG_GUARD_KEY_POLICY", "optional"),
        ("RG_SINK", ""),
    ];
    let said = Finished::of(cli_support::command(&arguments).envs(variables));
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("bootstrap = \"b:1\" # RG_BOOTSTRAP"), "{}", said.stdout);
    assert!(said.stdout.contains("workers = 3 # --workers"), "{}", said.stdout);
    assert!(said.stdout.contains("key_policy = \"optional\" # RG_GUARD_KEY_POLICY"));
    assert!(said.stdout.contains("sink = \"stdout\"\n"), "{}", said.stdout);
}

#[test]
fn an_unreadable_configuration_is_refused_with_its_name() {
    let said = run(&["run", "--config", "/nowhere/guard.toml"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("/nowhere/guard.toml: the configuration cannot be read"));
    assert_eq!(said.stdout, "");
}

#[test]
fn a_broken_configuration_is_refused_with_its_lines() {
    let folder = scratch("broken");
    let file = folder.path("guard.toml");
    std::fs::write(
        &file,
        "topic = \"orders\"\nwrokers = 4\n[guard]\njitter = 101\n[client]\n\
        enable.auto.commit = true\n",
    )
    .expect("a file");
    let said = run(&["run", "--config", &file]);
    assert_eq!(said.code, 2);
    for words in [
        ":2: unknown setting `wrokers`",
        "did you mean `workers`?",
        ":6: the client setting `enable.auto.commit` is refused",
        "--bootstrap: missing",
    ] {
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
    }
}

#[test]
fn an_unreachable_broker_is_said_within_bounded_time() {
    let begun = rebalance_guard_host::clock::now();
    let mut arguments = LEAST.to_vec();
    arguments.extend(["--guard", "key_policy=optional"]);
    let said = run(&arguments);
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert!(said.stderr.contains("no broker answered at 127.0.0.1:1"), "{}", said.stderr);
    assert!(said.stderr.contains("check the address"), "{}", said.stderr);
    assert!(begun.elapsed() < Duration::from_secs(45), "{:?}", begun.elapsed());
}

#[test]
fn a_wrong_plugin_file_is_refused_before_anything_starts() {
    let folder = scratch("plugin");
    let file = folder.path("guard.wasm");
    std::fs::write(&file, b"no module").expect("a file");
    let right = rebalance_guard_host::plugin::Digest::of(b"no module").to_string();
    let wrong = "0".repeat(64);
    let missing = folder.path("missing.wasm");
    for (file, sha256, words) in [
        (&file, &right, "no WebAssembly core module"),
        (&file, &wrong, "take the right file"),
        (&missing, &wrong, "cannot be read"),
    ] {
        let mut arguments = LEAST.to_vec();
        arguments.extend(["--guard", "key_policy=optional", "--engine", "plugin"]);
        arguments.extend(["--plugin", file, "--plugin-sha256", sha256]);
        let said = run(&arguments);
        assert_eq!(said.code, 3, "{}", said.stderr);
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
    }
}

#[test]
fn secrets_of_the_environment_are_in_no_output() {
    let arguments = [LEAST.as_slice(), &["--check", "--guard", "key_policy=optional"]].concat();
    let variables = [("RG_CLIENT_SASL_PASSWORD", "hush"), ("RG_CLIENT_CLIENT_ID", "shown")];
    let said = Finished::of(cli_support::command(&arguments).envs(variables));
    let all = format!("{}{}", said.stdout, said.stderr);
    assert!(!all.contains("hush"), "{all}");
    // A client without TLS has no SASL and refuses it; with it, the value is masked.
    assert!(all.contains("sasl.password"), "{all}");
}

#[test]
fn a_log_filter_that_cannot_be_read_is_refused() {
    let arguments =
        [LEAST.as_slice(), &["--guard", "key_policy=optional", "--log-filter", "=,="]].concat();
    let said = run(&arguments);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("the log filter"), "{}", said.stderr);
}

#[test]
fn the_demo_refuses_what_its_cluster_cannot_hold() {
    for (arguments, words) in [
        (["--members", "4", "--partitions", "3"], "--partitions 4 or more"),
        (["--partitions", "6", "--records", "90000"], "at most 84000"),
        (["--partitions", "64", "--records", "1000"], "at least 6400"),
    ] {
        let said = run(&[["demo", "--engine", "native"].as_slice(), &arguments].concat());
        assert_eq!(said.code, 2, "{}", said.stderr);
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
    }
    assert_eq!(run(&["demo", "--members", "1"]).code, 2);
}
