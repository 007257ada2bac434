//! A hash of 64 bits for states: the same on every machine, and quick.

use core::hash::{BuildHasherDefault, Hasher};
use std::collections::{HashMap, HashSet};

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
const OTHER: u64 = 0xd6e8_feb8_6659_fd93;

/// Folds a product of 128 bits with each word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix(u64);

impl Mix {
    pub(super) const fn new() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }

    fn word(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ ODD) * u128::from(word.rotate_left(29) ^ OTHER);
        let [low, high] = [product as u64, (product >> 64) as u64];
        self.0 = (low ^ high).wrapping_add(self.0.rotate_left(17)).wrapping_mul(ODD);
    }
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        let folded = (self.0 ^ (self.0 >> 32)).wrapping_mul(OTHER);
        folded ^ (folded >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word) ^ ((chunk.len() as u64) << 60));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.word(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.word(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.word(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }
}

/// States known by their hash.
pub(super) type Known = HashSet<u64, BuildHasherDefault<AsIs>>;
/// What is known of states, by their hash.
pub(super) type KnownOf<T> = HashMap<u64, T, BuildHasherDefault<AsIs>>;

/// What is a hash already needs none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}
