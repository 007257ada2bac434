//! Reading a template.

use super::pointer::Pointer;
use super::{KeyTemplate, Part, Piece};

/// What is wrong with a key template. Columns count characters from 1.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("key template, column {column}: {what}; {remedy}")]
pub struct KeyTemplateError {
    /// Where.
    pub column: usize,
    /// What.
    pub what: String,
    /// What to write instead.
    pub remedy: String,
}

const PARTS: &str =
    "the parts are {key}, {header:NAME}, {json:/pointer}, {topic}, {partition} and {offset}";

pub(super) fn template(source: &str) -> Result<KeyTemplate, KeyTemplateError> {
    let pieces = pieces(source)?;
    names_an_operation(&pieces)?;
    let escaped = separators(&pieces)?;
    let pieces = pieces.into_iter().map(|(_, piece)| piece).collect();
    Ok(KeyTemplate { source: source.to_owned(), pieces, escaped })
}

/// The pieces, each with the column where it begins.
fn pieces(source: &str) -> Result<Vec<(usize, Piece)>, KeyTemplateError> {
    let mut reader = Reader { rest: source, column: 1 };
    let mut pieces = Vec::new();
    while !reader.rest.is_empty() {
        let column = reader.column;
        let piece = match reader.part()? {
            Some(part) => Piece::Part(part),
            None => Piece::Text(reader.text()?),
        };
        pieces.push((column, piece));
    }
    Ok(pieces)
}

struct Reader<'a> {
    rest: &'a str,
    column: usize,
}

impl Reader<'_> {
    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.column += skipped.chars().count();
        self.rest = rest;
    }

    /// A part, when one begins here.
    fn part(&mut self) -> Result<Option<Part>, KeyTemplateError> {
        if !self.rest.starts_with('{') || self.rest.starts_with("{{") {
            return Ok(None);
        }
        let column = self.column;
        let inside = &self.rest[1..];
        let end = match inside.find(['{', '}']) {
            Some(end) if inside[end..].starts_with('}') => end,
            _ => {
                let remedy = "close it by `}`, or write `{{` for a brace as text".to_owned();
                return Err(error(column, "this `{` is never closed".to_owned(), remedy));
            }
        };
        let part = part(&inside[..end], column)?;
        self.skip(end + 2);
        Ok(Some(part))
    }

    /// Text up to the next part.
    fn text(&mut self) -> Result<String, KeyTemplateError> {
        let mut text = String::new();
        while let Some(char) = self.rest.chars().next() {
            match char {
                '{' if !self.rest.starts_with("{{") => break,
                '}' if !self.rest.starts_with("}}") => {
                    let remedy = "write `}}` for a brace as text".to_owned();
                    return Err(error(self.column, "this `}` closes nothing".to_owned(), remedy));
                }
                '{' | '}' => self.skip(2),
                _ => self.skip(char.len_utf8()),
            }
            text.push(char);
        }
        Ok(text)
    }
}

fn part(inside: &str, column: usize) -> Result<Part, KeyTemplateError> {
    let (name, argument) = match inside.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (inside, None),
    };
    match (name, argument) {
        ("key", None) => Ok(Part::RecordKey),
        ("topic", None) => Ok(Part::Topic),
        ("partition", None) => Ok(Part::Partition),
        ("offset", None) => Ok(Part::Offset),
        ("header", Some(header)) if !header.is_empty() => Ok(Part::Header(header.to_owned())),
        ("json", Some(pointer)) => Pointer::parse(pointer).map(Part::Json).map_err(|why| {
            // The pointer begins behind `{json:`.
            let what = format!("`{pointer}` is no JSON pointer: {}", why.what);
            error(column + 6 + why.at, what, why.remedy.to_owned())
        }),
        _ => Err(error(column, format!("there is no part `{{{inside}}}`"), PARTS.to_owned())),
    }
}

/// Refuses what gives many records one key: all but the first would be skipped as done.
fn names_an_operation(pieces: &[(usize, Piece)]) -> Result<(), KeyTemplateError> {
    let has = |wanted: fn(&Part) -> bool| {
        pieces.iter().any(|(_, piece)| matches!(piece, Piece::Part(part) if wanted(part)))
    };
    if has(|part| matches!(part, Part::RecordKey | Part::Header(_) | Part::Json(_))) {
        return Ok(());
    }
    if !has(|part| matches!(part, Part::Offset)) {
        let what = "every record would get the same key, and all but the first would be skipped";
        let remedy = format!("name the operation; {PARTS}");
        return Err(error(1, what.to_owned(), remedy));
    }
    if has(|part| matches!(part, Part::Topic)) && has(|part| matches!(part, Part::Partition)) {
        return Ok(());
    }
    let what = "an offset repeats in every partition of every topic";
    let remedy = format!("write {}", KeyTemplate::DEFAULT);
    Err(error(1, what.to_owned(), remedy))
}

/// The characters that end a value, for parts that are joined.
fn separators(pieces: &[(usize, Piece)]) -> Result<String, KeyTemplateError> {
    let mut separators = String::new();
    for (index, (column, piece)) in pieces.iter().enumerate() {
        let joins = index > 0 && index + 1 < pieces.len();
        match piece {
            Piece::Part(_) if index > 0 && matches!(pieces[index - 1].1, Piece::Part(_)) => {
                let what = "nothing tells the end of one part from the start of the next";
                let remedy = "write a separator between them, for example `:`".to_owned();
                return Err(error(*column, what.to_owned(), remedy));
            }
            Piece::Text(text) if joins => {
                let ends = |char: char| !char.is_alphanumeric() && char != '%';
                if !text.contains(ends) {
                    let what = format!("`{text}` may occur in a value, so it cannot end one");
                    let remedy = "put a character there that is neither letter nor digit nor `%`, \
                                  for example `:`";
                    return Err(error(*column, what, remedy.to_owned()));
                }
                separators.extend(text.chars().filter(|char| ends(*char)));
            }
            _ => {}
        }
    }
    if !separators.is_empty() {
        separators.push('%');
    }
    Ok(separators)
}

fn error(column: usize, what: String, remedy: String) -> KeyTemplateError {
    KeyTemplateError { column, what, remedy }
}
