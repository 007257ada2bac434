//! `rebalance-guard simulate` as a user runs it.

mod cli_support;

use cli_support::{Finished, run, scratch};
use serde_json::Value;

/// Timeouts so small that every fault shows in a minute.
const QUICK: [&str; 7] =
    ["simulate", "--session-ms", "6000", "--max-poll-ms", "30000", "--seconds", "60"];

fn quick(arguments: &[&str]) -> Finished {
    run(&[QUICK.as_slice(), arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    let said = quick(&[arguments, &["--json"]].concat());
    assert_eq!(said.code, 0, "{}", said.stderr);
    serde_json::from_str(&said.stdout).expect("one JSON object")
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_does_not() {
    let [one, two, other] = ["1", "1", "2"].map(|seed| quick(&["--seed", seed]));
    assert_eq!((one.code, &one.stdout), (0, &two.stdout), "{}", one.stderr);
    assert_ne!(one.stdout, other.stdout);
}

#[test]
fn the_same_seed_gives_the_same_chart() {
    let folder = scratch("charts");
    let charts = ["a.svg", "b.svg"].map(|name| {
        let path = folder.path(name);
        let said = quick(&["--chart", &path]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        std::fs::read_to_string(path).expect("it is written")
    });
    assert_eq!(charts[0], charts[1]);
    assert!(charts[0].starts_with("<svg xmlns="), "{}", &charts[0][..200]);
}

#[test]
fn a_fixed_seed_gives_these_figures() {
    let report = json(&["--seed", "1"]);
    let figures = |arm: &str, names: &[&str]| -> Vec<u64> {
        names.iter().map(|name| report[arm][name].as_u64().expect("a number")).collect()
    };
    let names = ["produced", "took_effect", "dropped", "repeated", "dead_lettered"];
    assert_eq!(figures("unguarded", &names), [6_000, 5_999, 1, 12, 0]);
    assert_eq!(figures("guarded", &names), [6_000, 6_000, 0, 0, 0]);
    assert_eq!(report["hurts_most"]["setting"], "session-ms");
    assert_eq!(
        (&report["hurts_most"]["from"], &report["hurts_most"]["to"]),
        (&"6000".into(), &"3000".into())
    );
}

#[test]
fn the_readme_shows_what_its_command_prints() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(readme).expect("it is there");
    assert!(readme.contains("rebalance-guard simulate --session-ms 6000 --max-poll-ms 30000"));
    let said = quick(&[]);
    assert!(readme.contains(&format!("```text\n{}```", said.stdout)), "{}", said.stdout);
}

#[test]
fn with_the_guard_nothing_is_dropped_or_repeated_whatever_goes_wrong() {
    let faults = "restart=2,kill=2,freeze,stall,network,slow-commit,failing-commit,hang,\
                  late-answer,clock,duplicate=5,compaction,truncation";
    for protocol in ["eager", "cooperative", "consumer"] {
        for seed in ["3", "4"] {
            let report = json(&[
                "--protocol",
                protocol,
                "--seed",
                seed,
                "--faults",
                faults,
                "--guard",
                "on",
            ]);
            let guarded = &report["guarded"];
            assert_eq!(guarded["produced"], 6_000, "{protocol} {seed}");
            assert_eq!((&guarded["dropped"], &guarded["repeated"]), (&0.into(), &0.into()));
            assert!(report.get("unguarded").is_none(), "only what was asked for");
        }
    }
}

#[test]
fn without_the_guard_the_same_faults_drop_and_repeat_records() {
    for protocol in ["eager", "cooperative", "consumer"] {
        let report =
            json(&["--protocol", protocol, "--faults", "kill=4,freeze=2", "--guard", "off"]);
        let unguarded = &report["unguarded"];
        assert!(unguarded["dropped"].as_u64() > Some(0), "{protocol}: {unguarded}");
        assert!(unguarded["repeated"].as_u64() > Some(0), "{protocol}: {unguarded}");
        assert_eq!(report["compared"], "unguarded");
    }
}

#[test]
fn without_faults_nothing_hurts_but_the_start() {
    let report = json(&["--faults", "none"]);
    for arm in ["unguarded", "guarded"] {
        assert_eq!(report[arm]["dropped"], 0, "{arm}");
        assert_eq!(report[arm]["repeated"], 0, "{arm}");
        assert_eq!(report[arm]["took_effect"], 6_000, "{arm}");
    }
    let starts = report["events"].as_array().expect("a list");
    assert_eq!(starts.len(), 3, "{starts:?}");
}

#[test]
fn static_ids_let_a_restart_move_nothing() {
    let rebalances = |more: &[&str]| {
        let arguments = [
            ["simulate", "--session-ms", "20000", "--seconds", "60"].as_slice(),
            &["--faults", "restart=3", "--guard", "on", "--json"],
            more,
        ];
        let said = run(&arguments.concat());
        let report: Value = serde_json::from_str(&said.stdout).expect("one JSON object");
        report["guarded"]["rebalances"].as_u64().expect("a number")
    };
    // Three for the start of the group, and three for each restart.
    assert_eq!((rebalances(&[]), rebalances(&["--static"])), (12, 3));
}

#[test]
fn the_page_is_self_contained_and_has_the_figures() {
    let folder = scratch("page");
    let path = folder.path("group.html");
    let said = quick(&["--chart", &path]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let page = std::fs::read_to_string(&path).expect("it is written");
    for words in ["<svg", "former owners refused by the sink", "hurts most", "class=\"lost\""] {
        assert!(page.contains(words), "{words}");
    }
    for outside in ["src=", "href=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn what_cannot_be_simulated_is_refused_with_what_to_do() {
    for (arguments, words) in [
        (["--faults", "kil"].as_slice(), "did you mean `kill`?"),
        (&["--faults", "kill=many"], "such as `kill=2`"),
        (&["--max-poll-ms", "5000"], "raise the one or lower the other"),
        (&["--work-ms", "1000"], "lower --rate or --work-ms, or raise --members or --workers"),
        (&["--rate", "20000", "--work-ms", "0", "--seconds", "3600"], "lower --seconds or --rate"),
        (&["--chart", "group.png"], "must end with .svg or .html"),
        (&["--members", "0"], "1..=64"),
        (&["--protocol", "sticky"], "possible values: eager, cooperative, consumer"),
    ] {
        let said = run(&[["simulate", "--session-ms", "6000"].as_slice(), arguments].concat());
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
        assert_eq!(said.stdout, "", "{arguments:?}");
    }
}

#[test]
fn a_chart_that_cannot_be_written_is_named() {
    let said = quick(&["--faults", "none", "--chart", "/nowhere/group.svg"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("--chart /nowhere/group.svg: "), "{}", said.stderr);
}

#[test]
fn the_help_teaches_with_examples_and_names_every_fault() {
    let said = run(&["simulate", "--help"]);
    assert_eq!(said.code, 0);
    for words in ["Examples:", "--faults restart=3 --static", "truncation", "How to read it"] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
}
