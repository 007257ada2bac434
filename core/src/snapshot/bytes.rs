//! Little-endian numbers, written and read in order.

use core::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::Tick;

/// Writes, or only counts where there is no room.
#[derive(Debug)]
pub(super) struct Out<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl<'a> Out<'a> {
    pub(super) const fn new(room: &'a mut [u8]) -> Self {
        Self { room, len: 0 }
    }

    /// Bytes written, or that would have been.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        if let Some(room) = self.room.get_mut(self.len..end) {
            room.copy_from_slice(bytes);
        }
        self.len = end;
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    pub(super) fn flag(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn tick(&mut self, value: Tick) {
        self.u64(value.value());
    }

    /// A tick, or none as all ones.
    pub(super) fn maybe_tick(&mut self, value: Option<Tick>) {
        self.u64(value.map_or(u64::MAX, Tick::value));
    }

    /// What was written, where there was room for it.
    pub(super) fn written(&self) -> &[u8] {
        self.room.get(..self.len).unwrap_or_default()
    }
}

/// Reads; `None` when the bytes end early or are no such value.
#[derive(Debug)]
pub(super) struct In<'a> {
    rest: &'a [u8],
}

impl<'a> In<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*bytes)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn tick(&mut self) -> Option<Tick> {
        Tick::new(self.u64()?)
    }

    pub(super) fn maybe_tick(&mut self) -> Option<Option<Tick>> {
        match self.u64()? {
            u64::MAX => Some(None),
            value => Tick::new(value).map(Some),
        }
    }
}

/// The checksum: SipHash-1-3 under a fixed key. It finds damage, not forgery.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(0x7265_6261_6C61_6E63, 0x652D_6775_6172_6421);
    hasher.write(bytes);
    hasher.finish()
}
