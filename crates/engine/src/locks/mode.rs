//! The modes of table locks, and the modes that each excludes.

/// Mode of a lock on a table: PostgreSQL's modes.
///
/// | mode | excludes |
/// | --- | --- |
/// | `AccessShare` | `AccessExclusive` |
/// | `RowShare` | `Exclusive`, `AccessExclusive` |
/// | `RowExclusive` | `Share`, `ShareRowExclusive`, `Exclusive`, `AccessExclusive` |
/// | `ShareUpdateExclusive` | itself and all below |
/// | `Share` | `RowExclusive`, `ShareUpdateExclusive`, `ShareRowExclusive`, `Exclusive`, `AccessExclusive` |
/// | `ShareRowExclusive` | `RowExclusive` and all below |
/// | `Exclusive` | `RowShare` and all below |
/// | `AccessExclusive` | all |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableLockMode {
    /// For readers.
    AccessShare,
    /// For transactions that lock records.
    RowShare,
    /// For writers.
    RowExclusive,
    /// For the builder of an index beside writers.
    ShareUpdateExclusive,
    /// For transactions that need the table to stay as it is.
    Share,
    /// For a transaction that needs the table to stay as it is, one at a time.
    ShareRowExclusive,
    /// For a transaction that admits no other but readers.
    Exclusive,
    /// For a transaction that admits no other.
    AccessExclusive,
}

impl TableLockMode {
    /// All modes, from the weakest to the strongest.
    pub const ALL: [TableLockMode; 8] = [
        TableLockMode::AccessShare,
        TableLockMode::RowShare,
        TableLockMode::RowExclusive,
        TableLockMode::ShareUpdateExclusive,
        TableLockMode::Share,
        TableLockMode::ShareRowExclusive,
        TableLockMode::Exclusive,
        TableLockMode::AccessExclusive,
    ];

    /// Whether the mode is weak: statements take it in passing, and no weak mode excludes another.
    #[inline(always)]
    pub(crate) fn is_weak(self) -> bool {
        self <= TableLockMode::RowExclusive
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Returns the modes that this one excludes.
    pub(crate) const fn excluded(self) -> TableLockModes {
        use TableLockMode::*;
        TableLockModes(match self {
            AccessShare => AccessExclusive.bit(),
            RowShare => Exclusive.bit() | AccessExclusive.bit(),
            RowExclusive => u8::MAX << Share as u8,
            ShareUpdateExclusive => u8::MAX << ShareUpdateExclusive as u8,
            Share => (u8::MAX << RowExclusive as u8) & !Share.bit(),
            ShareRowExclusive => u8::MAX << RowExclusive as u8,
            Exclusive => u8::MAX << RowShare as u8,
            AccessExclusive => u8::MAX,
        })
    }
}

/// Set of modes: those of one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableLockModes(u8);

impl TableLockModes {
    pub(crate) const NONE: TableLockModes = TableLockModes(0);

    pub(crate) fn from_bits(bits: u8) -> TableLockModes {
        TableLockModes(bits)
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    #[inline(always)]
    pub(crate) fn with(self, mode: TableLockMode) -> TableLockModes {
        TableLockModes(self.0 | mode.bit())
    }

    #[inline(always)]
    pub(crate) fn has(self, mode: TableLockMode) -> bool {
        self.0 & mode.bit() != 0
    }

    pub(crate) fn and(self, other: TableLockModes) -> TableLockModes {
        TableLockModes(self.0 | other.0)
    }

    /// Whether one of these modes excludes `mode`.
    pub(crate) fn exclude(self, mode: TableLockMode) -> bool {
        self.0 & mode.excluded().0 != 0
    }

    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{TableLockMode as Mode, *};

    /// PostgreSQL 15, table 13.2, row by row: an `x` where the two exclude each other.
    const MATRIX: [&str; 8] = [
        ".......x", "......xx", "....xxxx", "...xxxxx", "..xx.xxx", "..xxxxxx", ".xxxxxxx",
        "xxxxxxxx",
    ];

    #[test]
    fn modes_exclude_each_other_as_in_postgresql() {
        for (held, row) in Mode::ALL.into_iter().zip(MATRIX) {
            for (wanted, mark) in Mode::ALL.into_iter().zip(row.chars()) {
                let excludes = TableLockModes::NONE.with(held).exclude(wanted);
                assert_eq!(excludes, mark == 'x', "{held:?} and {wanted:?}");
                let converse = TableLockModes::NONE.with(wanted).exclude(held);
                assert_eq!(excludes, converse, "{held:?} and {wanted:?}");
            }
        }
    }

    #[test]
    fn weak_modes_exclude_no_weak_ones() {
        let weak: Vec<_> = Mode::ALL
            .into_iter()
            .filter(|mode| mode.is_weak())
            .collect();
        assert_eq!(
            weak,
            [Mode::AccessShare, Mode::RowShare, Mode::RowExclusive]
        );
        for one in &weak {
            for other in &weak {
                assert!(!TableLockModes::NONE.with(*one).exclude(*other));
            }
        }
    }
}
