//! The demo: a group that loses members, with and without the guard, and a ledger that tells.

mod args;

pub use args::{DemoArgs, DemoEngine, MemberArgs};

/// Runs the demo and gives its exit code.
pub fn run(args: &DemoArgs) -> u8 {
    let _ = args;
    1
}

/// Runs one member of the demo's group and gives its exit code.
pub fn member(args: &MemberArgs) -> u8 {
    let _ = args;
    1
}
