//! The sha256 that pins a plugin.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// A sha256; displays as 64 hex digits.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct Digest([u8; 32]);

/// A text is no sha256.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a sha256 is 64 hex digits")]
pub struct DigestError;

impl Digest {
    /// The sha256 of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The first 12 digits, for logs.
    pub fn short(&self) -> String {
        self.0.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let text = text.trim();
        if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(DigestError);
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(2 * at..2 * at + 2).ok_or(DigestError)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| DigestError)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_what_it_shows() {
        let digest = Digest::of(b"");
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(text.to_uppercase().parse(), Ok(digest));
        assert_eq!(digest.short(), "e3b0c44298fc");
    }

    #[test]
    fn a_text_that_is_no_sha256_is_refused() {
        for text in ["", "e3b0", &"g".repeat(64), &"é".repeat(32), &"+f".repeat(32)] {
            assert_eq!(text.parse::<Digest>(), Err(DigestError), "{text}");
        }
    }
}
