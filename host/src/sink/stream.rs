//! Whole lines to something that only takes bytes: a pipe, a terminal, a device.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use super::words_of;

/// Writes lines one at a time. A line that got out by half cannot be taken back, so the next one
/// begins on a fresh line.
#[derive(Debug)]
pub(super) struct Stream {
    name: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    to: File,
    torn: bool,
}

impl Stream {
    pub(super) fn new(to: File, name: &str) -> Self {
        Self { name: name.to_owned(), state: Mutex::new(State { to, torn: false }) }
    }

    /// Standard output itself: the standard library's buffer would keep the rest of a line that
    /// failed and send it after all, later.
    pub(super) fn stdout() -> io::Result<Self> {
        let stdout = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self::new(File::from(stdout), "standard output"))
    }

    /// Writes `line`, which ends in a newline, or says why not.
    pub(super) fn write(&self, line: &[u8]) -> Result<(), String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let wrote = state.write(line);
        wrote.map_err(|error| words_of(&self.name, &error))
    }
}

impl State {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.to.write_all(b"\n")?;
            self.torn = false;
        }
        let mut rest = line;
        while !rest.is_empty() {
            match self.to.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    rest = &rest[written..];
                    self.torn = !rest.is_empty();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
