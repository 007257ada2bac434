//! The order of rebalance callbacks, recorded from a real Apache Kafka with plain consumers: the
//! broker still says what the files in `tests/recordings` hold. `RG_RECORD=1` writes them anew.

use std::path::Path;
use std::time::Duration;
use std::{env, fs, thread};

use rebalance_guard_tests::kafka::{MemberProcess, eventually, within};

use super::Stage;

/// No callback for so long: a cycle of heartbeats of every member is over, and a rebalance too.
const QUIET: Duration = Duration::from_secs(3);

/// The members of one case, and the processes that each was.
struct Group {
    stage: Stage<'static>,
    protocol: &'static str,
    case: &'static str,
    settings: Vec<String>,
    statics: bool,
    members: Vec<(char, Vec<MemberProcess>)>,
}

impl Group {
    fn new(protocol: &'static str, case: &'static str) -> Option<Self> {
        let stage = Stage::new("recording", 6)?;
        let mut settings = vec!["max.poll.interval.ms=30000".to_owned()];
        if protocol != "consumer" {
            // KIP-848: the broker's settings, 6 s and 1 s.
            settings.push("session.timeout.ms=6000".to_owned());
            settings.push("heartbeat.interval.ms=500".to_owned());
        }
        Some(Self { stage, protocol, case, settings, statics: false, members: Vec::new() })
    }

    fn with(mut self, setting: &str) -> Self {
        self.settings.push(setting.to_owned());
        self
    }

    /// Starts a member's process, its first or the next one, and waits until nothing moves.
    fn start(&mut self, name: char) {
        let Stage { broker, topic, group, .. } = &self.stage;
        // Some assignors go by the member id, which begins with the client's.
        let mut arguments = vec![broker.bootstrap(), topic, group, self.protocol];
        let mut settings = self.settings.clone();
        settings.push(format!("client.id={name}"));
        if self.statics {
            settings.push(format!("group.instance.id={group}-{name}"));
        }
        arguments.extend(settings.iter().map(String::as_str));
        let process = MemberProcess::start(env!("CARGO_BIN_EXE_listener"), &arguments);
        match self.members.iter_mut().find(|(member, _)| *member == name) {
            Some((_, processes)) => processes.push(process),
            None => self.members.push((name, vec![process])),
        }
        let last = self.last(name);
        eventually("the member got something", || !last.events().is_empty());
        self.wait_until_quiet();
    }

    fn last(&self, name: char) -> &MemberProcess {
        let found = self.members.iter().find(|(member, _)| *member == name);
        found.and_then(|(_, processes)| processes.last()).expect("it was started")
    }

    fn lines(&self) -> usize {
        let processes = self.members.iter().flat_map(|(_, processes)| processes);
        processes.map(|process| process.events().len()).sum()
    }

    /// Until no member heard anything for a while.
    fn wait_until_quiet(&self) {
        loop {
            let before = self.lines();
            if !within(QUIET, || self.lines() > before) {
                return;
            }
        }
    }

    /// Waits until the member holds so many partitions, and nothing moves.
    fn wait_until_it_holds(&self, name: char, count: usize) {
        let what = format!("{name} holds {count} ({})", self.case);
        eventually(&what, || holds(&self.last(name).events()) == count);
        self.wait_until_quiet();
    }

    /// Waits until `a` and `b` hold half each.
    fn wait_until_they_share(&self) {
        self.wait_until_it_holds('a', 3);
        self.wait_until_it_holds('b', 3);
    }

    fn order(&mut self, name: char, order: &str) {
        let found = self.members.iter_mut().find(|(member, _)| *member == name);
        let process = found.and_then(|(_, processes)| processes.last_mut());
        process.expect("it was started").tell(order);
    }

    /// The recording: a line a callback, generations counted from the group's first one.
    fn text(&self) -> String {
        let mut first = None;
        let mut text = String::new();
        for (name, processes) in &self.members {
            for process in processes {
                text.push_str(&format!("{name} start\n"));
                for line in process.events() {
                    text.push_str(&format!("{name} {}\n", relative(&line, &mut first)));
                }
            }
        }
        text
    }
}

/// How many partitions a process holds that heard this.
fn holds(lines: &[String]) -> usize {
    lines.iter().fold(0, |held, line| {
        let mut words = line.split(' ');
        let kind = words.next();
        let count: usize = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        match kind {
            Some("assign") => held + count,
            Some("revoke") => held - count,
            Some("fatal") => 0,
            _ => held,
        }
    })
}

/// The line with `+N` for the N-th generation after the first one of the group, `none` for none.
fn relative(line: &str, first: &mut Option<i64>) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let [kind, count, generation, rest @ ..] = &words[..] else { return line.to_owned() };
    let number: i64 = generation.parse().expect("a generation");
    let shown = if number > 0 {
        format!("+{}", number - *first.get_or_insert(number))
    } else {
        "none".to_owned()
    };
    let mut shown = vec![*kind, *count, &shown];
    shown.extend(rest);
    shown.join(" ")
}

/// Two members with three partitions each.
fn pair(protocol: &'static str, case: &'static str) -> Option<Group> {
    joined(Group::new(protocol, case)?)
}

fn joined(mut group: Group) -> Option<Group> {
    group.start('a');
    group.start('b');
    group.wait_until_they_share();
    Some(group)
}

fn alone(protocol: &'static str, case: &'static str) -> Option<Group> {
    let mut group = Group::new(protocol, case)?;
    group.start('a');
    Some(group)
}

fn leave(protocol: &'static str, case: &'static str) -> Option<Group> {
    let mut group = pair(protocol, case)?;
    group.order('b', "stop");
    group.wait_until_it_holds('a', 6);
    Some(group)
}

fn kill(protocol: &'static str, case: &'static str) -> Option<Group> {
    let group = pair(protocol, case)?;
    group.last('b').signal("-KILL");
    group.wait_until_it_holds('a', 6);
    Some(group)
}

/// Frozen for longer than its session: another owns everything before it goes on.
fn freeze(protocol: &'static str, case: &'static str) -> Option<Group> {
    let group = pair(protocol, case)?;
    group.last('a').signal("-STOP");
    group.wait_until_it_holds('b', 6);
    let before = group.last('a').count("revoke");
    group.last('a').signal("-CONT");
    eventually("it comes back", || group.last('a').count("revoke") > before);
    group.wait_until_they_share();
    Some(group)
}

/// Away for less than its session, in good order.
fn restart(protocol: &'static str, case: &'static str) -> Option<Group> {
    let mut group = joined(Group { statics: true, ..Group::new(protocol, case)? })?;
    group.order('a', "stop");
    eventually("it ended", || group.last('a').count("stopped") == 1);
    group.start('a');
    Some(group)
}

/// Away for less than its session, and the broker was not told.
fn crash(protocol: &'static str, case: &'static str) -> Option<Group> {
    let mut group = joined(Group { statics: true, ..Group::new(protocol, case)? })?;
    group.last('a').signal("-KILL");
    group.start('a');
    if protocol == "consumer" {
        // Refused: the broker still waits for the dead process, then gives up on it.
        group.wait_until_it_holds('b', 6);
    }
    Some(group)
}

/// Busy for longer than the poll interval: another owns everything before it polls again.
fn stall(protocol: &'static str, case: &'static str) -> Option<Group> {
    let group = Group::new(protocol, case)?;
    let mut group = joined(group.with("max.poll.interval.ms=7000"))?;
    group.order('a', "stall 12000");
    group.wait_until_it_holds('b', 6);
    eventually("it polls again", || group.last('a').count("poll-exceeded") >= 1);
    group.wait_until_they_share();
    Some(group)
}

type Case = fn(&'static str, &'static str) -> Option<Group>;

const CASES: [(&str, Case); 8] = [
    ("alone", alone),
    ("join", pair),
    ("leave", leave),
    ("kill", kill),
    ("freeze", freeze),
    ("restart", restart),
    ("crash", crash),
    ("stall", stall),
];

/// A follower may not hear of a generation at all: the other member has joined the next one before
/// the follower asked for its part of this one. So what differs is played again, so often.
const TRIES: usize = 3;

/// What the broker says differently from the recording each time, and the recording; written anew
/// if asked.
fn compared(protocol: &'static str, (case, play): (&'static str, Case)) -> Option<String> {
    let name = format!("recordings/{protocol}-{case}.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
    let mut differ = String::new();
    for _ in 0..TRIES {
        let said = play(protocol, case)?.text();
        if env::var_os("RG_RECORD").is_some() {
            fs::write(&path, &said).expect("the recording is written");
        }
        let recorded = fs::read_to_string(&path).expect("the recording is there");
        if said == recorded {
            return None;
        }
        differ =
            format!("{name} holds\n{recorded}\nthe broker says, as the last of {TRIES}\n{said}");
    }
    Some(differ)
}

/// All cases at once: they are groups of their own, and mostly wait.
fn as_recorded(protocol: &'static str) {
    let differ: Vec<String> = thread::scope(|scope| {
        let run = |case| scope.spawn(move || compared(protocol, case));
        let running: Vec<_> = CASES.into_iter().map(run).collect();
        running.into_iter().filter_map(|case| case.join().expect("it is played")).collect()
    });
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn a_real_broker_calls_eager_members_back_as_recorded() {
    as_recorded("eager");
}

#[test]
fn a_real_broker_calls_cooperative_members_back_as_recorded() {
    as_recorded("cooperative");
}

#[test]
fn a_real_broker_calls_kip_848_members_back_as_recorded() {
    as_recorded("consumer");
}
