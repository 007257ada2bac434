//! The members as processes: started, told to stop, killed, frozen, and never left behind.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rustix::process::{Pid, Signal, kill_process};

use super::DemoEngine;
use super::ledger::Ledger;
use super::member::LOGS;
use super::wire::Told;
use crate::clock;

/// What all members told, by member.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    /// Partitions that the member owns by its own word.
    pub(super) owned: HashMap<String, BTreeSet<i32>>,
    /// Generations in which anything moved.
    pub(super) generations: BTreeSet<i32>,
    pub(super) latencies: BTreeMap<String, Vec<(u64, u64)>>,
    pub(super) absorbed: u64,
    pub(super) fenced: u64,
    pub(super) dead_lettered: u64,
    pub(super) failure: Option<String>,
}

impl Heard {
    fn hear(&mut self, member: &str, told: Told) {
        match told {
            Told::Rebalance { assigned, partitions, generation } => {
                let owned = self.owned.entry(member.into()).or_default();
                for partition in partitions {
                    if assigned {
                        owned.insert(partition)
                    } else {
                        owned.remove(&partition)
                    };
                }
                if generation > 0 {
                    self.generations.insert(generation);
                }
            }
            Told::Latency { values } => {
                self.latencies.insert(member.into(), values);
            }
            Told::Summary { absorbed, fenced, dead_lettered, left: _ } => {
                self.absorbed += absorbed;
                self.fenced += fenced;
                self.dead_lettered += dead_lettered;
            }
            Told::Failed { why } => self.failure = Some(format!("member {member}: {why}")),
        }
    }
}

/// A running member. Killed when dropped.
#[derive(Debug)]
struct Member {
    name: String,
    child: Child,
    /// Whether it was asked to end.
    asked: bool,
}

impl Member {
    fn signal(&self, signal: Signal) -> io::Result<()> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("no such process"))?;
        Ok(kill_process(id, signal)?)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // Both fail only when it has ended already. SIGKILL ends a stopped process, too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The group's members.
#[derive(Debug)]
pub(super) struct Group {
    bootstrap: String,
    engine: Option<DemoEngine>,
    members: Vec<Member>,
    started: u32,
    heard: Arc<Mutex<Heard>>,
    news: (Sender<()>, Receiver<()>),
}

impl Group {
    pub(super) fn new(bootstrap: &str, engine: Option<DemoEngine>) -> Self {
        Self {
            bootstrap: bootstrap.into(),
            engine,
            members: Vec::new(),
            started: 0,
            heard: Arc::default(),
            news: unbounded(),
        }
    }

    /// Starts a member; gives its name.
    pub(super) fn start(&mut self, ledger: &Ledger) -> io::Result<String> {
        self.started += 1;
        let name = format!("m{}", self.started);
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("demo-member").arg("--bootstrap").arg(&self.bootstrap);
        command.arg("--sink").arg(ledger.url(&name));
        if let Some(engine) = self.engine {
            command.arg("--engine").arg(engine.word());
        }
        // A group of its own: Ctrl-C is the demo's, which then ends its members.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(if std::env::var_os(LOGS).is_some() {
            Stdio::inherit()
        } else {
            Stdio::null()
        });
        let mut child = command.spawn()?;
        let stdout = child.stdout.take();
        self.members.push(Member { name: name.clone(), child, asked: false });
        if let Some(stdout) = stdout {
            self.listen(name.clone(), stdout)?;
        }
        Ok(name)
    }

    fn listen(&self, name: String, stdout: ChildStdout) -> io::Result<()> {
        let (heard, news) = (Arc::clone(&self.heard), self.news.0.clone());
        std::thread::Builder::new().name(format!("hear-{name}")).spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Ok(told) = serde_json::from_str(&line) {
                    lock(&heard).hear(&name, told);
                    // Nobody listens any more at the end.
                    let _ = news.send(());
                }
            }
            let _ = news.send(());
        })?;
        Ok(())
    }

    /// What the members told so far.
    pub(super) fn heard(&self) -> MutexGuard<'_, Heard> {
        lock(&self.heard)
    }

    /// Waits for news, at most `longest`.
    pub(super) fn wait(&self, longest: Duration) {
        // A timeout is no news, which the caller looks for itself.
        let _ = self.news.1.recv_timeout(longest);
        while self.news.1.try_recv().is_ok() {}
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.members.iter().map(|member| member.name.clone()).collect()
    }

    pub(super) fn terminate(&mut self, name: &str) -> io::Result<()> {
        for member in self.members.iter_mut().filter(|member| member.name == name) {
            member.asked = true;
        }
        self.member(name)?.signal(Signal::TERM)
    }

    pub(super) fn freeze(&self, name: &str) -> io::Result<()> {
        self.member(name)?.signal(Signal::STOP)
    }

    pub(super) fn thaw(&self, name: &str) -> io::Result<()> {
        self.member(name)?.signal(Signal::CONT)
    }

    /// Kills a member at once.
    pub(super) fn kill(&mut self, name: &str) -> io::Result<()> {
        self.member(name)?.signal(Signal::KILL)?;
        self.forget(name);
        Ok(())
    }

    /// Whether a member has ended, and with what exit code.
    pub(super) fn ended(&mut self, name: &str) -> io::Result<Option<i32>> {
        let Some(member) = self.members.iter_mut().find(|member| member.name == name) else {
            return Ok(Some(-1));
        };
        Ok(member.child.try_wait()?.map(|status| status.code().unwrap_or(-1)))
    }

    /// Takes a member that has ended off the list.
    pub(super) fn forget(&mut self, name: &str) {
        self.members.retain(|member| member.name != name);
        lock(&self.heard).owned.remove(name);
    }

    /// A member that ended though nobody asked it to.
    pub(super) fn gone_unasked(&mut self) -> Option<String> {
        let member = self.members.iter_mut().filter(|member| !member.asked).find_map(|member| {
            let status = member.child.try_wait().ok().flatten()?;
            Some(format!("member {} ended by itself: {status}", member.name))
        })?;
        Some(self.heard().failure.clone().unwrap_or(member))
    }

    /// Asks everybody to stop and waits; who is late is killed and named.
    pub(super) fn stop(&mut self, within: Duration) -> io::Result<Vec<String>> {
        for member in &self.members {
            member.signal(Signal::TERM)?;
        }
        let deadline = clock::now() + within;
        let mut late = self.names();
        while !late.is_empty() && clock::now() < deadline {
            let mut still = Vec::new();
            for name in late {
                if self.ended(&name)?.is_none() {
                    still.push(name);
                }
            }
            late = still;
            if !late.is_empty() {
                self.wait(Duration::from_millis(50));
            }
        }
        self.members.clear();
        Ok(late)
    }

    fn member(&self, name: &str) -> io::Result<&Member> {
        let found = self.members.iter().find(|member| member.name == name);
        found.ok_or_else(|| io::Error::other(format!("no member {name}")))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
