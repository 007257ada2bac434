//! Many seeds of the group simulation over all processors: `soak SEEDS [FIRST]`. Stops at the
//! first seed that breaks a promise and prints it shrunk; counts what occurred, and fails when
//! something that should never did. `cargo xtask soak` runs it.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rebalance_guard_sim::group::{ENOUGH, Options, Sum, run, shrink};

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|text| {
        text.parse::<u64>().unwrap_or_else(|_| panic!("{text:?} is no number: soak SEEDS [FIRST]"))
    });
    let count = numbers.next().unwrap_or(20_000);
    let first = numbers.next().unwrap_or(0);
    match soak(first, count) {
        Ok(sum) => judge(first, count, &sum),
        Err(seed) => {
            let shrunk = shrink(&Options::random(seed));
            println!("seed {seed} breaks a promise:");
            match shrunk {
                Some(shrunk) => println!("{shrunk}"),
                None => println!("and does not any more: the simulation is not deterministic"),
            }
            ExitCode::FAILURE
        }
    }
}

/// What occurred; a failure if something never did in seeds enough to meet it.
fn judge(first: u64, count: u64, sum: &Sum) -> ExitCode {
    print!("occurred {sum}");
    println!("{count} seeds from {first}: no promise broken");
    let unmet = sum.unmet();
    if unmet.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("never occurred: {}", unmet.join("; "));
    if count < ENOUGH {
        println!("that is no failure below {ENOUGH} seeds");
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

/// What occurred in all of them, or the lowest seed found that fails.
fn soak(first: u64, count: u64) -> Result<Sum, u64> {
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    let (failed, total) = (Mutex::new(None), Mutex::new(Sum::default()));
    let step = (count / 200).clamp(1, 5_000);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut sum = Sum::default();
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let outcome = run(&Options::random(first + number));
                    if outcome.broken.is_some() {
                        stop.store(true, Ordering::Relaxed);
                        let mut failed = failed.lock().expect("no thread panics with it");
                        *failed = Some(failed.unwrap_or(u64::MAX).min(first + number));
                        return;
                    }
                    sum.add(&outcome);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if done % step == 0 {
                        println!("{done} of {count} seeds");
                    }
                }
                total.lock().expect("no thread panics with it").merge(&sum);
            });
        }
    });
    match failed.into_inner().expect("no thread panics with it") {
        Some(seed) => Err(seed),
        None => Ok(total.into_inner().expect("no thread panics with it")),
    }
}
