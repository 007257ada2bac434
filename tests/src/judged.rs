//! What a gateway's guard was told, judged: the gateway's own recording, told again to a guard
//! under the oracle and to the reference model.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

use rebalance_guard::{Config, Guard};
use rebalance_guard_host::engine::Engine;
use rebalance_guard_host::gateway::EngineFactory;
use rebalance_guard_host::recording::Recording;
use rebalance_guard_sim::jsonl::{self, File};
use rebalance_guard_sim::oracle::{Broken, Witness, check_trace, p11_one_behaviour};
use rebalance_guard_sim::{Heap, Model, Trace};

/// The oracle's books are plain, not quick; the beginning of a history is one.
const STEPS_MAX: usize = 5_000;

/// The place of one gateway's recording.
#[derive(Debug)]
pub struct Judged(PathBuf);

impl Judged {
    /// An empty folder of its own.
    ///
    /// # Panics
    /// There is no room for temporary files.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("judged-{}-{number}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// The file that a recording begins.
    pub fn path(&self) -> PathBuf {
        self.0.join("history.jsonl")
    }

    /// Judges what was recorded, once the gateway has ended. How many histories there were; one
    /// that begins with a restored guard is only told again, for what came before is not in it.
    ///
    /// # Panics
    /// A promise is broken, or a guard that is told the same answers otherwise. The recording is
    /// kept then.
    pub fn judge(self) -> usize {
        let judged = files(&self.0).iter().filter(|path| judge(path)).count();
        // A test's scratch: what cannot be removed is no failure.
        let _ = fs::remove_dir_all(&self.0);
        judged
    }
}

impl Default for Judged {
    fn default() -> Self {
        Self::new()
    }
}

/// The same engines, recorded at `path`. `topics` are those that the gateway reads.
///
/// # Panics
/// The file cannot be made.
pub fn recorded(path: &Path, topics: Vec<String>, mut factory: EngineFactory) -> EngineFactory {
    let recording = Recording::create(path, u64::MAX, false, topics).expect("a file");
    EngineFactory::new(move |config: &Config| {
        let engine = factory.make(config)?;
        Ok(Box::new(recording.of(engine, config)) as Box<dyn Engine>)
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries.map(|entry| entry.expect("a file").path()).collect()
}

/// Whether it could be judged, and was.
fn judge(path: &Path) -> bool {
    let text = fs::read_to_string(path).expect("the recording is there");
    history(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Judges one file of a recording. False: it is empty, or begins with a restored guard.
///
/// # Errors
/// What is wrong with it.
pub fn history(text: &str) -> Result<bool, String> {
    // A gateway that was killed wrote its last line in part.
    let Some((text, _)) = text.rsplit_once('\n') else { return Ok(false) };
    let file = File::read(text)?;
    let config = *file.config();
    let mut witness = Witness::new(config, core(config));
    let played = jsonl::play(&file, &mut witness)?;
    if let Some(last) = played.last()
        && let Some(difference) = &last.difference
    {
        return Err(format!("line {}: {difference}", last.line));
    }
    let Some(trace) = witness.trace() else { return Ok(false) };
    let mut trace = trace.clone();
    trace.steps.truncate(STEPS_MAX);
    hold(&trace).map_err(|broken| format!("{trace}{broken}"))?;
    Ok(true)
}

fn hold(trace: &Trace) -> Result<(), Broken> {
    check_trace(trace.config, trace, || core(trace.config))?;
    p11_one_behaviour(trace, &mut core(trace.config), &mut Model::new(trace.config))
}

fn core(config: Config) -> Guard<Heap> {
    Guard::new(Heap::new(&config), config).expect("the settings of a gateway that ran")
}
