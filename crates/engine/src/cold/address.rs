//! The place of a cold record, in as many bits as a slot has room for.
//!
//! ```text
//!  55                         44 43                                            0
//! +-----------------------------+-----------------------------------------------+
//! | length, 64-byte units       | position, 16-byte units                        |
//! +-----------------------------+-----------------------------------------------+
//! ```
//! The length is rounded up, so that one transfer of whole sectors brings the record. A record
//! whose length does not fit takes two reads: one of the head, which has the length, and one of the
//! rest.

use io::BLOCK_BYTES;

/// Records begin at multiples of this many bytes.
pub(crate) const POSITION_UNIT: u64 = 16;
const POSITION_BITS: u32 = 44;
const LENGTH_UNIT: u64 = 64;
const LENGTH_BITS: u32 = 12;
/// Minimum size of a record.
const LENGTH_UNKNOWN: u64 = (1 << LENGTH_BITS) - 1;

/// A place on the device, among all cold files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ColdAddress(u64);

/// Range of bytes of a file that has a record, or its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Start of the range, from the start of all files; a multiple of [`BLOCK_BYTES`].
    pub(crate) from: u64,
    /// Length of the range; a multiple of [`BLOCK_BYTES`].
    pub(crate) bytes: usize,
    /// Offset of the record in the range.
    pub(crate) at: usize,
}

impl ColdAddress {
    pub(crate) const BITS: u32 = POSITION_BITS + LENGTH_BITS;

    /// Returns the address of a record of `bytes` bytes at `position`, counted from the start of
    /// all files. `None` beyond 256 TiB.
    pub(crate) fn new(position: u64, bytes: usize) -> Option<ColdAddress> {
        debug_assert!(position.is_multiple_of(POSITION_UNIT));
        let units = position / POSITION_UNIT;
        let length = (bytes as u64).div_ceil(LENGTH_UNIT).min(LENGTH_UNKNOWN);
        (units >> POSITION_BITS == 0).then_some(ColdAddress(length << POSITION_BITS | units))
    }

    pub(crate) fn from_bits(bits: u64) -> ColdAddress {
        ColdAddress(bits & ((1 << Self::BITS) - 1))
    }

    /// Returns the address with these [`ColdAddress::bits`], which come from outside. `None` if
    /// they are out of range.
    pub(crate) fn checked(bits: u64) -> Option<ColdAddress> {
        (bits >> Self::BITS == 0).then_some(ColdAddress(bits))
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Returns the position of the record in bytes, from the start of all files.
    pub(crate) fn position(self) -> u64 {
        (self.0 & ((1 << POSITION_BITS) - 1)) * POSITION_UNIT
    }

    /// Returns the approximate size of the record in bytes: rounded up, and limited to the longest
    /// length that an address can hold.
    pub(crate) fn bytes_about(self) -> u64 {
        (self.0 >> POSITION_BITS) * LENGTH_UNIT
    }

    /// Returns the range to read first.
    pub(crate) fn extent(self) -> Extent {
        let length = self.0 >> POSITION_BITS;
        self.extent_of((length * LENGTH_UNIT) as usize)
    }

    /// Returns the range to read for `bytes` bytes of the record.
    pub(crate) fn extent_of(self, bytes: usize) -> Extent {
        let sector = BLOCK_BYTES as u64;
        let position = self.position();
        let from = position / sector * sector;
        let to = (position + bytes as u64).next_multiple_of(sector);
        Extent {
            from,
            bytes: (to - from) as usize,
            at: (position - from) as usize,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_transfer_of_whole_sectors_has_the_record() {
        for position in [0, 16, 4080, 4096, 70_000 * 16, (1 << 48) - 16] {
            for bytes in [1, 64, 100, 4096, 5000, 262_000] {
                let address = ColdAddress::new(position, bytes).unwrap();
                assert_eq!(ColdAddress::from_bits(address.bits()), address);
                assert_eq!(address.position(), position);
                let extent = address.extent();
                assert_eq!(extent.from + extent.at as u64, position);
                assert!(extent.at + bytes <= extent.bytes, "{position} {bytes}");
                assert!(extent.bytes < bytes + 2 * BLOCK_BYTES + 64);
                assert!(extent.from.is_multiple_of(BLOCK_BYTES as u64));
                assert!(extent.bytes.is_multiple_of(BLOCK_BYTES));
            }
        }
    }

    #[test]
    fn a_record_of_unknown_length_has_its_head_in_the_first_transfer() {
        let address = ColdAddress::new(4080, 16 << 20).unwrap();
        let extent = address.extent();
        assert!(extent.bytes < 300 << 10 && extent.at + 4096 < extent.bytes);
        let whole = address.extent_of(16 << 20);
        assert!(whole.at + (16 << 20) <= whole.bytes);
    }

    #[test]
    fn there_is_an_end() {
        assert_eq!(ColdAddress::new(1 << 48, 64), None);
    }
}
