//! Small numbers out of the fuzzer's bytes. An input that ends is followed by zeros, so every
//! input means something and a shorter one means something simpler.

/// Bytes, read from the front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a>(&'a [u8]);

impl<'a> Source<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u8) -> u8 {
        self.u8() % bound
    }

    pub(super) fn array<const N: usize>(&mut self) -> [u8; N] {
        [0; N].map(|_: u8| self.u8())
    }

    /// Up to `most` bytes, as many as the next byte says and there are.
    pub(super) fn bytes(&mut self, most: u8) -> &'a [u8] {
        let count = usize::from(self.u8().min(most)).min(self.0.len());
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        bytes
    }

    /// A number that is mostly small, sometimes near an end of 64 bits or any at all.
    pub(super) fn number(&mut self) -> u64 {
        match self.u8() {
            small @ ..=239 => u64::from(small),
            near @ 240..=246 => (1 << 62) - u64::from(near - 240),
            near @ 247..=252 => u64::MAX - u64::from(near - 247),
            _ => u64::from_le_bytes(self.array()),
        }
    }

    /// All that is left.
    pub(super) const fn rest(self) -> &'a [u8] {
        self.0
    }
}
