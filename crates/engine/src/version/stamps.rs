//! Timestamps about a version, in less than eight bytes each.
//!
//! The serial safety net wants two more timestamps per version than a snapshot does. Both may be
//! rounded to one side: an error can only abort a transaction too many. The header of a version
//! therefore stays as small as it is without them.

use crate::timestamp::Timestamp;

/// Distance from a version back to the successor of its maker: a floating-point number of 15 bits
/// and 5 bits of exponent, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Distance(u32);

impl Distance {
    pub(super) const BITS: u32 = 20;
    const FRACTION_BITS: u32 = 15;
    /// Greatest distance, for all that cannot be expressed.
    const FAR: Distance = Distance((1 << Self::BITS) - 1);

    pub(super) fn from_bits(bits: u32) -> Distance {
        Distance(bits)
    }

    pub(super) fn bits(self) -> u32 {
        self.0
    }

    pub(super) fn between(earlier: Timestamp, later: Timestamp) -> Distance {
        let distance = later.0.saturating_sub(earlier.0);
        let bits = u64::BITS - distance.leading_zeros();
        let mut exponent = bits.saturating_sub(Self::FRACTION_BITS);
        let mut fraction = distance.div_ceil(1 << exponent);
        if fraction >> Self::FRACTION_BITS > 0 {
            fraction = fraction.div_ceil(2);
            exponent += 1;
        }
        if exponent >= 1 << (Self::BITS - Self::FRACTION_BITS) {
            return Self::FAR;
        }
        Distance(exponent << Self::FRACTION_BITS | fraction as u32)
    }

    /// Returns the point at this distance, or farther, before `later`.
    pub(super) fn before(self, later: Timestamp) -> Timestamp {
        if self == Self::FAR {
            return Timestamp(0);
        }
        let fraction = u64::from(self.0 & ((1 << Self::FRACTION_BITS) - 1));
        let distance = fraction << (self.0 >> Self::FRACTION_BITS);
        Timestamp(later.0.saturating_sub(distance))
    }
}

/// Newest commit among the readers of a version: the lower half of its timestamp.
///
/// The mark counts as the newest point with this lower half that can have been reached. A mark that
/// is 2^32 commits old therefore counts as a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadMark(u32);

impl ReadMark {
    pub(super) const NONE: ReadMark = ReadMark(0);
    /// Maximum commits between a look at the clock and one at a mark: fewer take place even while a
    /// thread is suspended for seconds.
    const AHEAD_MAX: u64 = 1 << 28;

    pub(super) fn from_bits(bits: u32) -> ReadMark {
        ReadMark(bits)
    }

    pub(super) fn bits(self) -> u32 {
        self.0
    }

    /// Returns the mark of a commit at `at`, or one later.
    pub(super) fn of(at: Timestamp) -> ReadMark {
        ReadMark((at.0 as u32).max(1))
    }

    /// Returns the point of the mark, or a later one, if the clock showed `now` a moment ago or
    /// will in a moment.
    pub(super) fn latest(self, now: Timestamp) -> Timestamp {
        if self == Self::NONE {
            return Timestamp(0);
        }
        let top = now.0 + Self::AHEAD_MAX;
        let below = (top as u32).wrapping_sub(self.0);
        Timestamp(top.saturating_sub(below.into()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn distances_are_exact_when_small_and_rounded_up_when_large() {
        for exact in [0, 1, 2, 1000, (1 << 15) - 1] {
            let later = Timestamp(1 << 40);
            let earlier = Timestamp(later.0 - exact);
            assert_eq!(Distance::between(earlier, later).before(later), earlier);
        }
        for shift in 15..60 {
            for distance in [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 12_345] {
                let later = Timestamp(1 << 61);
                let earlier = Timestamp(later.0 - distance);
                let point = Distance::between(earlier, later).before(later);
                assert!(point <= earlier, "{distance}");
                let beyond = earlier.0 - point.0;
                assert!(point.0 == 0 || beyond <= distance >> 13, "{distance}");
            }
        }
    }

    #[test]
    fn marks_never_stand_for_less_than_they_were_made_of() {
        let half = 1u64 << 32;
        for at in [1, 77, half - 1, half, half + 1, 5 * half, 5 * half + 9] {
            for later in [0, 1, 1000, half - 1, half, 3 * half + 1] {
                for ahead in [0, 1, 1000] {
                    let now = Timestamp((at + later).saturating_sub(ahead));
                    let point = ReadMark::of(Timestamp(at)).latest(now);
                    assert!(point.0 >= at, "{at} {later} {ahead}");
                    if later < half / 2 {
                        assert!(point.0 <= at + 1, "{at} {later} {ahead}");
                    }
                }
            }
        }
        assert_eq!(ReadMark::NONE.latest(Timestamp(half)), Timestamp(0));
    }
}
