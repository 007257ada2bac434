//! The simulated coordinator beside recordings of a real broker, line by line: what each member
//! saw, in its own order.

use std::path::Path;

use rebalance_guard_sim::group::{
    Act, Callback, Happened, Options, Outcome, Planned, Protocol, run,
};

/// A case: its name, whether ids are static, and what happens besides `a` and `b` starting.
type Case = (&'static str, bool, &'static [(u64, Act)]);

const CASES: [Case; 8] = [
    ("alone", false, &[]),
    ("join", false, &[]),
    ("leave", false, &[(20_000, Act::Stop(1))]),
    ("kill", false, &[(20_000, Act::Kill(1))]),
    ("freeze", false, &[(20_000, Act::Pause(0, 9_000))]),
    ("stall", false, &[(20_000, Act::Stall(0, 9_000))]),
    ("restart", true, &[(20_000, Act::Stop(0)), (22_000, Act::Start(0))]),
    ("crash", true, &[(20_000, Act::Kill(0)), (22_000, Act::Start(0))]),
];

fn options(protocol: Protocol, (case, static_ids, acts): Case) -> Options {
    let mut plan = vec![Planned { at: 0, act: Act::Start(0) }];
    if case != "alone" {
        plan.push(Planned { at: 8_000, act: Act::Start(1) });
    }
    plan.extend(acts.iter().map(|(at, act)| Planned { at: *at, act: *act }));
    let crash = case == "crash";
    Options {
        protocol,
        static_ids,
        members: if case == "alone" { 1 } else { 2 },
        partitions: 6,
        rate: 0,
        // A crashed member that is refused ends there, and is not started again.
        produce_ms: if crash { 28_000 } else { 40_000 },
        settle_ms: 0,
        session_ms: 6_000,
        heartbeat_ms: 1_000,
        max_poll_ms: if case == "stall" { 7_000 } else { 30_000 },
        guarded: false,
        plan: Some(plan),
        ..Options::default()
    }
}

/// The lines of the recording of what `outcome` held.
fn lines(outcome: &Outcome, acts: &[(u64, Act)]) -> Vec<String> {
    let first = outcome.callback_log[0].iter().find_map(|(_, callback)| match callback {
        Callback::Assign { generation, .. } => Some(*generation),
        _ => None,
    });
    let shown = |generation: i32| match generation {
        ..=0 => String::from("none"),
        _ => format!("+{}", generation - first.unwrap_or(0)),
    };
    let mut lines = Vec::new();
    for (member, name) in (0..outcome.callback_log.len()).zip(["a", "b"]) {
        // A start comes before its callbacks, an end after them.
        let mut own: Vec<(u64, u8, String)> = Vec::new();
        for moment in outcome.timeline.iter().filter(|moment| moment.member == member) {
            match moment.what {
                Happened::Running(true) => own.push((moment.at, 0, String::from("start"))),
                Happened::Running(false) if acts.iter().any(|(_, a)| *a == Act::Stop(member)) => {
                    own.push((moment.at, 2, String::from("stopped")));
                }
                _ => {}
            }
        }
        for (at, callback) in &outcome.callback_log[member] {
            own.push((
                *at,
                1,
                match callback {
                    Callback::Assign { partitions, generation } => {
                        format!("assign {} {}", partitions.len(), shown(*generation))
                    }
                    Callback::Revoke { partitions, lost, generation } => {
                        let lost = if *lost { " lost" } else { "" };
                        format!("revoke {} {}{lost}", partitions.len(), shown(*generation))
                    }
                    Callback::PollExceeded => String::from("poll-exceeded"),
                    Callback::Fatal => String::from("fatal"),
                },
            ));
        }
        own.sort();
        // The run's own end is no line.
        let end = outcome.ended_ms;
        let seen = own.into_iter().filter(|(at, order, _)| *order != 2 || *at + 1 < end);
        lines.extend(seen.map(|(.., what)| format!("{name} {what}")));
    }
    lines
}

fn recorded(protocol: Protocol, case: &str) -> Vec<String> {
    let name = match protocol {
        Protocol::Eager => "eager",
        Protocol::Cooperative => "cooperative",
        Protocol::Consumer => "consumer",
    };
    let name = format!("tests/recordings/{name}-{case}.txt");
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut found = above.map(|folder| folder.join(&name)).filter(|path| path.is_file());
    let path = found.next().unwrap_or_else(|| panic!("no {name} above this package"));
    let text = std::fs::read_to_string(&path).expect("a recording is text");
    text.lines().map(String::from).collect()
}

fn agrees(protocol: Protocol) {
    for case in CASES {
        let outcome = run(&options(protocol, case));
        assert_eq!(lines(&outcome, case.2), recorded(protocol, case.0), "{protocol:?} {}", case.0);
    }
}

#[test]
fn eager_callbacks_come_as_recorded_from_a_real_broker() {
    agrees(Protocol::Eager);
}

#[test]
fn cooperative_callbacks_come_as_recorded_from_a_real_broker() {
    agrees(Protocol::Cooperative);
}

#[test]
fn kip_848_callbacks_come_as_recorded_from_a_real_broker() {
    agrees(Protocol::Consumer);
}
