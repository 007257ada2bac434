//! The NDJSON sink: one JSON object a line, to stdout or a file. For trying it out: it checks no
//! token, so it cannot refuse a zombie.
//!
//! A line is answered as done only when it stands whole: on stdout when the system took it, in a
//! file when the disk has it (see [`Durability`]). A line that could not be written whole is taken
//! back, so no half line is followed by another; one that a crash tore is repaired on open.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::appender::{Appender, Durability};
use super::stream::Stream;
use super::{Sink, SinkAnswer, tail};
use crate::record::Effect;

/// Writes each effect as a line: `topic`, `partition`, `offset`, `timestamp` (ms or null), `key`,
/// `payload`, `idempotency_key`, `token` (`"A.B"` or null) and `attempt`.
///
/// Key and payload are null, a string when they are UTF-8, else standard base64 under the names
/// `key_base64` and `payload_base64`.
#[derive(Debug)]
pub struct NdjsonSink {
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stream(Stream),
    File(Appender<File>),
}

/// Why a file cannot be the sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NdjsonError {
    /// It cannot be opened, read or written.
    #[error("cannot use {path} as the sink: {cause}; check that the folder exists and is writable")]
    Unusable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Two writers would tear each other's lines.
    #[error("{path} is being written by another process: give every member a file of its own")]
    Busy {
        /// Which.
        path: PathBuf,
    },
}

impl NdjsonSink {
    /// To standard output, past its buffer.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn stdout() -> io::Result<Self> {
        Ok(Self { target: Target::Stream(Stream::stdout()?) })
    }

    /// To a file, after what it holds already; made when it is not there. Something that is no
    /// regular file (a pipe, a device) is written like standard output.
    ///
    /// # Errors
    /// The file cannot be used, or another process writes to it.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, NdjsonError> {
        let unusable = |cause| NdjsonError::Unusable { path: path.to_owned(), cause };
        let regular = path.metadata().map_or(true, |found| found.is_file());
        if !regular {
            let file = File::options().append(true).open(path).map_err(unusable)?;
            let stream = Stream::new(file, &path.display().to_string());
            return Ok(Self { target: Target::Stream(stream) });
        }
        let mut options = File::options();
        let file = options.append(true).read(true).create(true).open(path).map_err(unusable)?;
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(NdjsonError::Busy { path: path.to_owned() });
            }
            // A file system without locks: the operator's word has to do.
            Err(std::fs::TryLockError::Error(_)) | Ok(()) => {}
        }
        let length = tail::repair(&file, LINE_START).map_err(unusable)?;
        tail::sync_with_folder(&file, path).map_err(unusable)?;
        let name = path.display().to_string();
        Ok(Self { target: Target::File(Appender::new(file, length, &name, durability)) })
    }
}

impl Sink for NdjsonSink {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        let mut line = match serde_json::to_vec(&Line(effect)) {
            Ok(line) => line,
            Err(error) => {
                return SinkAnswer::Permanent { why: error.to_string() };
            }
        };
        line.push(b'\n');
        let written = match &self.target {
            Target::Stream(stream) => stream.write(&line),
            Target::File(file) => file.append(&line),
        };
        match written {
            Ok(()) => SinkAnswer::Done,
            // A full disk or a closed pipe is no fault of the record.
            Err(why) => SinkAnswer::Unreachable { sent: false, why },
        }
    }

    fn flush(&self) -> io::Result<()> {
        match &self.target {
            Target::Stream(_) => Ok(()),
            Target::File(file) => file.flush(),
        }
    }
}

/// How each of our lines begins: a torn last line is ours when it begins so.
const LINE_START: &[u8] = br#"{"topic":""#;

/// One effect as a JSON object.
struct Line<'a>(&'a Effect<'a>);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Effect { record, idempotency_key, token, attempt } = *self.0;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("topic", &*record.topic)?;
        map.serialize_entry("partition", &record.partition.index)?;
        map.serialize_entry("offset", &record.offset)?;
        map.serialize_entry("timestamp", &record.timestamp_ms)?;
        bytes(&mut map, ["key", "key_base64"], record.key.as_deref())?;
        bytes(&mut map, ["payload", "payload_base64"], record.payload.as_deref())?;
        map.serialize_entry("idempotency_key", &idempotency_key)?;
        map.serialize_entry("token", &token.map(|token| token.to_string()))?;
        map.serialize_entry("attempt", &attempt)?;
        map.end()
    }
}

fn bytes<M: SerializeMap>(
    map: &mut M,
    [name, name_base64]: [&str; 2],
    bytes: Option<&[u8]>,
) -> Result<(), M::Error> {
    match bytes.map(|bytes| std::str::from_utf8(bytes).map_err(|_| bytes)) {
        None => map.serialize_entry(name, &None::<()>),
        Some(Ok(text)) => map.serialize_entry(name, text),
        Some(Err(bytes)) => map.serialize_entry(name_base64, &STANDARD.encode(bytes)),
    }
}

#[cfg(test)]
mod tests;
