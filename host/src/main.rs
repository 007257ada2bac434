//! The `rebalance-guard` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    rebalance_guard_host::cli::main()
}
