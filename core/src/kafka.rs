//! Kafka's own numbers as types that cannot be mixed up.

use core::fmt;
use core::num::NonZeroU64;

/// Why a number is no offset.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum OffsetError {
    /// Negative numbers are a client's logical values (-1 end, -2 beginning, -1001 invalid).
    Negative(i64),
    /// Above 2^63 - 1: Kafka's offsets are signed 64-bit numbers.
    TooLarge(u64),
}

impl fmt::Display for OffsetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Negative(value) => {
                write!(f, "{value} is no offset: negative numbers are logical values")
            }
            Self::TooLarge(value) => write!(f, "{value} is no offset: above 2^63 - 1"),
        }
    }
}

impl core::error::Error for OffsetError {}

/// A place in a partition's log, 0 ..= 2^63 - 1.
///
/// A *record's* offset is at most [`Offset::RECORD_MAX`] (the largest number has no next, so a
/// record there is refused); as a *position* or a *committed offset* (the next record to read: last
/// finished + 1) the whole range is used.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Offset(u64);

impl Offset {
    /// The largest position: 2^63 - 1.
    pub const MAX: Self = Self(i64::MAX as u64);
    /// The largest offset that a record may have: 2^63 - 2.
    pub const RECORD_MAX: Self = Self(i64::MAX as u64 - 1);
    /// The beginning of a log. A real offset, not "none".
    pub const ZERO: Self = Self(0);

    /// The offset `value`.
    ///
    /// # Errors
    /// [`OffsetError::TooLarge`] above 2^63 - 1.
    pub const fn new(value: u64) -> Result<Self, OffsetError> {
        if value > Self::MAX.0 { Err(OffsetError::TooLarge(value)) } else { Ok(Self(value)) }
    }

    /// The number.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The number as Kafka writes it. Lossless: an offset is at most 2^63 - 1.
    #[allow(clippy::cast_possible_wrap, reason = "at most i64::MAX by construction")]
    pub const fn as_i64(self) -> i64 {
        self.0 as i64
    }

    /// The next offset, saturating at [`Offset::MAX`].
    #[must_use]
    pub const fn next(self) -> Self {
        if self.0 >= Self::MAX.0 { Self::MAX } else { Self(self.0.saturating_add(1)) }
    }
}

impl TryFrom<i64> for Offset {
    type Error = OffsetError;

    fn try_from(value: i64) -> Result<Self, OffsetError> {
        u64::try_from(value).map(Self).map_err(|_| OffsetError::Negative(value))
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A topic partition. Topics are numbers of the host's, who keeps the table of names: two names
/// never share a number, and a name and a partition are never glued into one text.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Partition {
    /// The host's number for the topic.
    pub topic: u32,
    /// Kafka's partition number, 0 or more; an assign that names a negative one is refused whole.
    pub index: i32,
}

impl Partition {
    /// Partition `index` of the topic that the host calls `topic`.
    pub const fn new(topic: u32, index: i32) -> Self {
        Self { topic, index }
    }
}

/// One ownership of one partition by this process. Never repeats in the process's life.
///
/// The host gives the first number ([`Config::first_assignment`](crate::Config)): start time in ms
/// shifted left by 20, plus 20 random bits, so that it rises from process to process.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Assignment(NonZeroU64);

impl Assignment {
    pub(crate) const FIRST: Self = Self(NonZeroU64::MIN);

    /// Assignment number `value`, or `None` for 0.
    pub const fn new(value: u64) -> Option<Self> {
        match NonZeroU64::new(value) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }

    /// The number.
    pub const fn value(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The fencing token that every side effect carries to its sink; displays as `A.B`.
///
/// A sink refuses a token lower than the highest it has seen for the same topic partition. Compare
/// tokens with `Ord`: first the group part, then the assignment.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Token {
    /// epoch * 2^32 + generation (classic generation id or KIP-848 member epoch), both as they were
    /// when the partition was assigned.
    pub group: u64,
    /// The assignment, which orders owners inside one generation.
    pub assignment: Assignment,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.group, self.assignment)
    }
}
