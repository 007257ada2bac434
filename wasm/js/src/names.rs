//! Topics by name outside, by number inside. A name and a partition are never glued together.

use std::collections::HashMap;

/// The number of every name that no assign named: the guard never owns it.
pub(crate) const UNKNOWN: u32 = u32::MAX;
/// Kafka's limit for the name of a topic, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 249;

/// The table of names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    /// The number of `name`, if an assign named it.
    pub(crate) fn number(&self, name: &str) -> u32 {
        self.numbers.get(name).copied().unwrap_or(UNKNOWN)
    }

    /// The number of `name`, a new one when it has none.
    pub(crate) fn add(&mut self, name: &str) -> u32 {
        let known = self.number(name);
        let Ok(next) = u32::try_from(self.names.len()) else { return UNKNOWN };
        if known != UNKNOWN || next == UNKNOWN {
            return known;
        }
        self.numbers.insert(name.to_owned(), next);
        self.names.push(name.to_owned());
        next
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Forgets all but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        for name in self.names.drain(len.min(self.names.len())..) {
            self.numbers.remove(&name);
        }
    }

    /// The name behind a number.
    pub(crate) fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(String::as_str)
    }
}

/// Begins a snapshot of the package: the table of names, then the core's snapshot.
const MAGIC: &[u8; 4] = b"rgj1";

impl Names {
    /// The table as bytes, with a sum over them.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((self.names.len() as u64).to_le_bytes());
        for name in &self.names {
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        let sum = sum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// The table at the beginning of `bytes`, and what stands behind it.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut names = Self::default();
        for number in 0..take_u64(&mut rest)? {
            let len = usize::try_from(take_u64(&mut rest)?).ok()?;
            let (name, behind) = rest.split_at_checked(len)?;
            rest = behind;
            if u64::from(names.add(core::str::from_utf8(name).ok()?)) != number {
                return None;
            }
        }
        let read = bytes.get(..bytes.len().checked_sub(rest.len())?)?;
        (take_u64(&mut rest)? == sum(read)).then_some((names, rest))
    }
}

fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    let (number, behind) = rest.split_first_chunk::<8>()?;
    *rest = behind;
    Some(u64::from_le_bytes(*number))
}

/// FNV-1a, against damage alone.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_comes_back_from_its_bytes_and_no_damaged_byte_passes() {
        let mut names = Names::default();
        assert_eq!([names.add("a"), names.add("a-1"), names.add("a")], [0, 1, 0]);
        let mut bytes = names.to_bytes();
        bytes.extend(b"core");
        let (read, rest) = Names::from_bytes(&bytes).expect("it is whole");
        assert_eq!((read.names, rest), (vec!["a".to_owned(), "a-1".to_owned()], &b"core"[..]));
        for at in 0..bytes.len() - 4 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Names::from_bytes(&damaged).is_none(), "byte {at}");
            assert!(Names::from_bytes(&bytes[..at]).is_none(), "{at} bytes");
        }
    }

    #[test]
    fn a_name_that_is_forgotten_is_unknown() {
        let mut names = Names::default();
        names.add("a");
        names.add("b");
        names.truncate(1);
        assert_eq!([names.number("a"), names.number("b")], [0, UNKNOWN]);
        assert_eq!(names.add("c"), 1);
        assert_eq!(names.name(1), Some("c"));
    }
}
