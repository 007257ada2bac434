//! JSON pointers (RFC 6901), followed through a payload in one pass without building it.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A checked JSON pointer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Pointer {
    /// Names and indices on the way, unescaped.
    tokens: Vec<String>,
}

/// Why a text is no pointer: where (characters from 0), what, and what to write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct NoPointer {
    pub(super) at: usize,
    pub(super) what: &'static str,
    pub(super) remedy: &'static str,
}

impl Pointer {
    pub(super) fn parse(text: &str) -> Result<Self, NoPointer> {
        if text.is_empty() {
            return Ok(Self { tokens: Vec::new() });
        }
        let Some(path) = text.strip_prefix('/') else {
            let what = "it does not begin with `/`";
            return Err(NoPointer { at: 0, what, remedy: "write for example {json:/order/id}" });
        };
        for (at, char) in text.chars().enumerate() {
            let next = text.chars().nth(at + 1);
            if char == '~' && !matches!(next, Some('0' | '1')) {
                let what = "`~` stands alone";
                return Err(NoPointer { at, what, remedy: "write `~0` for `~` and `~1` for `/`" });
            }
        }
        let unescape = |token: &str| token.replace("~1", "/").replace("~0", "~");
        Ok(Self { tokens: path.split('/').map(unescape).collect() })
    }

    /// The JSON text at the pointer's place; `None` when there is no such place. A name that occurs
    /// twice on the way is an error: readers differ in which of the two they take.
    pub(super) fn find<'de>(&self, json: &'de str) -> serde_json::Result<Option<&'de RawValue>> {
        let mut reader = serde_json::Deserializer::from_str(json);
        let found = Step { tokens: &self.tokens }.deserialize(&mut reader)?;
        reader.end()?;
        Ok(found)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in &self.tokens {
            write!(f, "/{}", token.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

/// What is left of the way.
#[derive(Clone, Copy)]
struct Step<'p> {
    tokens: &'p [String],
}

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        if self.tokens.is_empty() {
            serde::Deserialize::deserialize(from).map(Some)
        } else {
            from.deserialize_any(self)
        }
    }
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Some((name, rest)) = self.tokens.split_first() else {
            return Ok(None);
        };
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != *name {
                map.next_value::<IgnoredAny>()?;
            } else if found.is_some() {
                return Err(A::Error::custom(format_args!("`{name}` occurs twice")));
            } else {
                found = Some(map.next_value_seed(Step { tokens: rest })?);
            }
        }
        Ok(found.flatten())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let Some((token, rest)) = self.tokens.split_first() else {
            return Ok(None);
        };
        let wanted = index(token);
        let mut found = None;
        let mut at = 0;
        loop {
            if Some(at) == wanted {
                match seq.next_element_seed(Step { tokens: rest })? {
                    Some(inside) => found = inside,
                    None => return Ok(None),
                }
            } else if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            at += 1;
        }
    }

    // Scalars have no inside.
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// An array index as RFC 6901 has it: digits without leading zeros.
fn index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    let plain = token == "0" || !token.starts_with('0');
    if digits && plain { token.parse().ok() } else { None }
}
