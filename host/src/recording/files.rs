//! The files of a recording: the newest in hand, older ones beside it, all of bounded size.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Files that are kept, the one in hand included.
const KEPT: u32 = 8;

#[derive(Debug)]
pub(super) struct Files {
    path: PathBuf,
    file: BufWriter<File>,
    written: u64,
    /// Bytes after which the next one is begun.
    limit: u64,
    each_max: u64,
}

impl Files {
    pub(super) fn create(path: &Path, bytes_max: u64) -> io::Result<Self> {
        shift(path)?;
        let each_max = bytes_max / u64::from(KEPT);
        let file = BufWriter::new(open(path)?);
        Ok(Self { path: path.to_owned(), file, written: 0, limit: each_max, each_max })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the next file, unless nothing was written to this one.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if self.written > 0 {
            self.file.flush()?;
            shift(&self.path)?;
            self.file = BufWriter::new(open(&self.path)?);
            self.written = 0;
        }
        Ok(())
    }

    /// A head that is large by itself (a snapshot) must not bring the next file at once.
    pub(super) fn head_is_written(&mut self) {
        self.limit = self.each_max.max(self.written.saturating_mul(2));
    }

    pub(super) fn is_full(&self) -> bool {
        self.written >= self.limit
    }

    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(line.as_bytes())?;
        self.file.write_all(b"\n")?;
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        self.written = self.written.saturating_add(length).saturating_add(1);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that only its owner reads: topic names, offsets and maybe keys are in it.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// `path` becomes `path.1`, which becomes `path.2`, and so on; the last one goes.
fn shift(path: &Path) -> io::Result<()> {
    for number in (0..KEPT - 1).rev() {
        match fs::rename(numbered(path, number), numbered(path, number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}
