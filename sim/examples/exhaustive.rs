//! Walks through every history of small worlds: `exhaustive [--wide] [WORLD...]`. Prints a line a
//! world, as `tests/simulation/exhaustive.txt` has it, and stops at the first that breaks a
//! promise. `cargo xtask exhaustive` runs it.

use std::process::ExitCode;

use rebalance_guard_sim::exhaustive::{Scope, search};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wide = arguments.iter().any(|argument| argument == "--wide");
    let names: Vec<_> = arguments.into_iter().filter(|argument| argument != "--wide").collect();
    let worlds = if wide { Scope::wide() } else { Scope::small() };
    if let Some(unknown) = names.iter().find(|name| worlds.iter().all(|w| w.name != **name)) {
        let known: Vec<_> = worlds.iter().map(|world| world.name).collect();
        eprintln!("no world is called {unknown:?}; there are {}", known.join(", "));
        return ExitCode::FAILURE;
    }
    for world in
        worlds.iter().filter(|world| names.is_empty() || names.iter().any(|n| n == world.name))
    {
        if !is_sound(world) {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn is_sound(world: &Scope) -> bool {
    let told = search(world, None, |report| eprintln!("{} {report}", world.name));
    match &told {
        Ok(report) => println!("{} {report}", world.name),
        Err(found) => println!("{} {found}", world.name),
    }
    told.is_ok()
}
