//! The `rebalance-guard` binary for this package's tests, which can only start their own binaries.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    rebalance_guard_host::cli::main()
}
