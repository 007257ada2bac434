//! The idempotency key: a template of the host's over one record.
//!
//! A key names an operation, so two operations must never get one key. Therefore a value that is
//! missing, null or blank gives no key at all, parts must be told apart by a separator, and a
//! separator inside a value is escaped. With one part and no text around it there is nothing to be
//! told apart and the value is the key, as it is.

mod evaluate;
mod parse;
mod pointer;

use std::fmt;

pub use parse::KeyTemplateError;
use pointer::Pointer;

use crate::record::OwnedRecord;

/// A checked key template.
///
/// | part | value |
/// |---|---|
/// | `{key}` | the Kafka record key; `%` and bytes that are not UTF-8 as `%XX` |
/// | `{header:NAME}` | the last header of that name, UTF-8 |
/// | `{json:/pointer}` | a string, number (exact text) or truth value in the payload (RFC 6901) |
/// | `{topic}` `{partition}` `{offset}` | where the record was read |
///
/// Everything else is text; `{{` and `}}` are single braces. When a template joins parts, each
/// value's `%` and every character of the texts between parts that is neither letter nor digit are
/// written as `%XX` inside values: under `{json:/a}:{json:/b}` the pairs ("a", "b:c") and ("a:b",
/// "c") are `a:b%3Ac` and `a%3Ab:c`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyTemplate {
    source: String,
    pieces: Vec<Piece>,
    /// Characters that are escaped inside values; empty when the template has one part.
    escaped: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    Text(String),
    Part(Part),
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Part {
    RecordKey,
    Header(String),
    Json(Pointer),
    Topic,
    Partition,
    Offset,
}

/// Why a record has no key. What happens to it then is the key policy's business.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no idempotency key: {why}")]
pub struct NoKey {
    /// Which part of the template has no value, and why.
    pub why: String,
}

impl KeyTemplate {
    /// The default: absorbs redelivery of the same record and nothing else, since only the host
    /// knows what names an operation.
    pub const DEFAULT: &str = "{topic}/{partition}/{offset}";

    /// Checks a template.
    ///
    /// # Errors
    /// What is wrong, where, and what to write instead.
    pub fn parse(source: &str) -> Result<Self, KeyTemplateError> {
        parse::template(source)
    }

    /// Whether nothing but the record's place in the log tells one key from another.
    pub(crate) fn names_a_place(&self) -> bool {
        !self.pieces.iter().any(|piece| {
            matches!(piece, Piece::Part(Part::RecordKey | Part::Header(_) | Part::Json(_)))
        })
    }

    /// The record's key.
    ///
    /// # Errors
    /// A part has no usable value in this record.
    pub fn evaluate(&self, record: &OwnedRecord) -> Result<String, NoKey> {
        evaluate::key(self, record)
    }
}

impl Default for KeyTemplate {
    fn default() -> Self {
        Self::parse(Self::DEFAULT).expect("the default template is a template")
    }
}

impl fmt::Display for KeyTemplate {
    /// The template as it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RecordKey => f.write_str("{key}"),
            Self::Header(name) => write!(f, "{{header:{name}}}"),
            Self::Json(pointer) => write!(f, "{{json:{pointer}}}"),
            Self::Topic => f.write_str("{topic}"),
            Self::Partition => f.write_str("{partition}"),
            Self::Offset => f.write_str("{offset}"),
        }
    }
}

#[cfg(test)]
mod tests;
