//! Idempotency keys as the window stores them.

use core::hash::Hasher;

use siphasher::{sip, sip128};

use crate::{Config, Record};

/// Bytes of a key that are stored and compared; longer keys are a 128-bit keyed hash.
pub(crate) const STORED_MAX: usize = 40;

/// A key: stored whole up to 40 bytes, else its SipHash-1-3-128 under the host's hash key.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Key {
    pub(crate) hash: u64,
    pub(crate) namespace: u32,
    pub(crate) hashed: bool,
    pub(crate) len: u8,
    bytes: [u8; STORED_MAX],
}

impl Key {
    pub(crate) const EMPTY: Self =
        Self { hash: 0, namespace: 0, hashed: false, len: 0, bytes: [0; STORED_MAX] };

    /// The record's key, or `None` when it has no usable one: none, blank, or too long.
    pub(crate) fn of(record: &Record<'_>, config: &Config) -> Option<Self> {
        let key = record.key?;
        if key.len() > Record::KEY_BYTES_MAX || key.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let [k0, k1] = config.hash_key.0;
        let mut made = Self { namespace: record.namespace, ..Self::EMPTY };
        if let Some(stored) = made.bytes.get_mut(..key.len()) {
            stored.copy_from_slice(key);
            made.len = u8::try_from(key.len()).unwrap_or(0);
        } else {
            let mut long = sip128::SipHasher13::new_with_keys(k0, k1);
            long.write(key);
            let digest = sip128::Hasher128::finish128(&long).as_bytes();
            for (to, from) in made.bytes.iter_mut().zip(digest) {
                *to = from;
            }
            made.len = 16;
            made.hashed = true;
        }
        Some(made.rehashed(config))
    }

    /// The key that a snapshot tells, or `None` when no record could have it.
    pub(crate) fn restored(
        bytes: &[u8],
        namespace: u32,
        hashed: bool,
        config: &Config,
    ) -> Option<Self> {
        let mut made = Self { namespace, hashed, ..Self::EMPTY };
        made.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        made.len = u8::try_from(bytes.len()).ok()?;
        let usable = if hashed { bytes.len() == 16 } else { !bytes.trim_ascii().is_empty() };
        usable.then(|| made.rehashed(config))
    }

    fn rehashed(mut self, config: &Config) -> Self {
        let [k0, k1] = config.hash_key.0;
        let mut hasher = sip::SipHasher13::new_with_keys(k0, k1);
        hasher.write(self.stored());
        hasher.write(&self.namespace.to_le_bytes());
        self.hash = hasher.finish();
        self
    }

    /// The bytes that are stored: the key, or its digest.
    pub(crate) fn stored(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Whether both name the same operation; by bytes, never by hash alone.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self == other
    }
}

#[cfg(test)]
mod tests {
    use super::Key;
    use crate::{Config, Offset, Partition, Record};

    fn key(bytes: &[u8]) -> Option<Key> {
        let record = Record::new(Partition::new(0, 0), Offset::ZERO, Some(bytes));
        Key::of(&record, &Config::default())
    }

    #[test]
    fn a_short_key_that_equals_a_long_keys_digest_is_another_key() {
        let long = key(&[7; 41]).expect("usable");
        let short = key(&long.bytes[..16]).expect("usable");
        assert_eq!(short.bytes, long.bytes);
        assert!(!short.same(&long));
    }

    #[test]
    fn long_keys_that_share_their_first_forty_bytes_differ() {
        let (one, other) = (key(&[7; 41]).expect("usable"), key(&[7; 42]).expect("usable"));
        assert!(!one.same(&other));
    }

    #[test]
    fn blank_and_oversized_keys_are_not_usable() {
        assert_eq!(key(b""), None);
        assert_eq!(key(b" \t\n"), None);
        assert!(key(&[1; Record::KEY_BYTES_MAX]).is_some());
        assert_eq!(key(&[1; Record::KEY_BYTES_MAX + 1]), None);
    }
}
