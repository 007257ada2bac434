//! Making a record's key.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::value::RawValue;

use super::{KeyTemplate, NoKey, Part, Piece, Pointer};
use crate::record::OwnedRecord;

pub(super) fn key(template: &KeyTemplate, record: &OwnedRecord) -> Result<String, NoKey> {
    let mut key = String::new();
    for piece in &template.pieces {
        match piece {
            Piece::Text(text) => key.push_str(text),
            Piece::Part(part) => {
                let value = value(part, record)
                    .and_then(refuse_blank)
                    .map_err(|why| NoKey { why: format!("{part} {why}") })?;
                push_escaped(&mut key, &value, &template.escaped);
            }
        }
    }
    Ok(key)
}

/// A part's value, or what is wrong with it.
fn value<'a>(part: &'a Part, record: &'a OwnedRecord) -> Result<Cow<'a, str>, String> {
    match part {
        Part::RecordKey => record_key(record),
        Part::Header(name) => header(name, record),
        Part::Json(pointer) => json(pointer, record),
        Part::Topic => Ok(Cow::Borrowed(&record.topic)),
        Part::Partition => Ok(Cow::Owned(record.partition.index.to_string())),
        Part::Offset => Ok(Cow::Owned(record.offset.to_string())),
    }
}

/// Blank values are how "no value" is often written, and would make many operations one.
fn refuse_blank(value: Cow<'_, str>) -> Result<Cow<'_, str>, String> {
    if value.trim().is_empty() { Err("is blank".to_owned()) } else { Ok(value) }
}

fn record_key(record: &OwnedRecord) -> Result<Cow<'_, str>, String> {
    let Some(key) = &record.key else {
        return Err("is null in this record".to_owned());
    };
    let mut out = String::with_capacity(key.len());
    for chunk in key.utf8_chunks() {
        push_escaped(&mut out, chunk.valid(), "%");
        for byte in chunk.invalid() {
            push_byte(&mut out, *byte);
        }
    }
    Ok(Cow::Owned(out))
}

fn header<'a>(name: &str, record: &'a OwnedRecord) -> Result<Cow<'a, str>, String> {
    let last = record.headers.iter().rev().find(|(header, _)| header == name);
    match last {
        None => Err("is missing in this record".to_owned()),
        Some((_, None)) => Err("is null in this record".to_owned()),
        Some((_, Some(value))) => std::str::from_utf8(value)
            .map(Cow::Borrowed)
            .map_err(|_| "is not UTF-8 in this record".to_owned()),
    }
}

fn json<'a>(pointer: &Pointer, record: &'a OwnedRecord) -> Result<Cow<'a, str>, String> {
    let Some(payload) = &record.payload else {
        return Err("has no payload to look in".to_owned());
    };
    let text = std::str::from_utf8(payload).map_err(|error| format!("cannot be read: {error}"))?;
    let found = pointer.find(text).map_err(|error| format!("cannot be read: {error}"))?;
    let Some(found) = found else {
        return Err("is missing in this payload".to_owned());
    };
    scalar(found)
}

fn scalar(found: &RawValue) -> Result<Cow<'_, str>, String> {
    let text = found.get();
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text)
            .map(Cow::Owned)
            .map_err(|error| format!("cannot be read: {error}")),
        Some(b'n') => Err("is null in this payload".to_owned()),
        Some(b'{') => Err("is an object, which names nothing".to_owned()),
        Some(b'[') => Err("is an array, which names nothing".to_owned()),
        // A number's exact text (2^53 + 1 stays itself), true, or false.
        _ => Ok(Cow::Borrowed(text)),
    }
}

fn push_escaped(out: &mut String, value: &str, escaped: &str) {
    for char in value.chars() {
        if escaped.contains(char) {
            let mut bytes = [0; 4];
            char.encode_utf8(&mut bytes).bytes().for_each(|byte| push_byte(out, byte));
        } else {
            out.push(char);
        }
    }
}

fn push_byte(out: &mut String, byte: u8) {
    // Writing to a string cannot fail.
    let _ = write!(out, "%{byte:02X}");
}
