//! Keys that a file may show.

use std::hash::{BuildHasher, RandomState};

use rebalance_guard::Record;

/// Stands in for keys: the same for equal keys, and it says nothing outside of this process. A
/// guard that is told the stand-ins decides as with the keys.
#[derive(Clone, Debug, Default)]
pub struct KeyHashing([RandomState; 2]);

impl KeyHashing {
    /// Of a usable key 32 hexadecimal digits; a blank or oversized one stays unusable.
    pub fn of(&self, key: &[u8]) -> Vec<u8> {
        let Self([one, other]) = self;
        let usable = key.len() <= Record::KEY_BYTES_MAX && !key.trim_ascii().is_empty();
        if !usable {
            return Vec::new();
        }
        format!("{:016x}{:016x}", one.hash_one(key), other.hash_one(key)).into_bytes()
    }
}
