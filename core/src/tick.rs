//! Time as the host tells it. The core reads no clock.

/// Monotonic time in the host's unit (milliseconds in the gateway and in traces), at most 2^62.
///
/// A clock behind it must never go backwards; when it does, the guard clamps the late tick to the
/// last one and counts it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Tick(u64);

impl Tick {
    /// The latest tick that a call may carry. Deadlines beyond it saturate to it.
    pub const MAX: Self = Self(1 << 62);
    /// The beginning of time.
    pub const ZERO: Self = Self(0);

    /// A tick of `value` units, or `None` above [`Tick::MAX`].
    pub const fn new(value: u64) -> Option<Self> {
        if value > Self::MAX.0 { None } else { Some(Self(value)) }
    }

    /// The count of units since the host's origin.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The tick `span` units later; [`Tick::MAX`] when that would lie beyond it.
    #[must_use]
    pub const fn after(self, span: u64) -> Self {
        let sum = self.0.saturating_add(span);
        if sum > Self::MAX.0 { Self::MAX } else { Self(sum) }
    }

    /// Units since `earlier`; 0 when `earlier` is not earlier.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
