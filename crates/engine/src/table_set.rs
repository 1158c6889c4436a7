//! Sets of tables, in one word.

/// Superset of the tables that were entered: tables whose numbers are equal modulo 64 count as the
/// same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableSet(u64);

impl TableSet {
    /// Number of tables that a set can tell apart.
    pub(crate) const PLACES: usize = u64::BITS as usize;

    /// Returns the set of one table.
    #[inline(always)]
    pub(crate) fn of(table: u32) -> TableSet {
        TableSet(1 << (table as usize % Self::PLACES))
    }

    #[inline(always)]
    pub(crate) fn with(self, table: u32) -> TableSet {
        TableSet(self.0 | Self::of(table).0)
    }

    /// Whether a table may have been entered.
    #[inline(always)]
    pub(crate) fn has(self, table: u32) -> bool {
        self.0 & Self::of(table).0 != 0
    }

    /// Returns the places of the set's tables among `PLACES`.
    pub(crate) fn places(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let place = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (place < Self::PLACES).then_some(place)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tables_that_were_entered_are_there() {
        let set = [3, 64, 130, 3]
            .into_iter()
            .fold(TableSet::default(), TableSet::with);
        assert!([3, 64, 130].into_iter().all(|table| set.has(table)));
        assert!(!set.has(1));
        assert!(set.places().eq([0, 2, 3]));
        assert_eq!(TableSet::of(63).places().next(), Some(63));
        assert_eq!(TableSet::default().places().next(), None);
    }
}
