//! A row on its way into [`Rows`](super::Rows): it is added as a whole, or not at all.
//!
//! # Invariants
//! Between two calls the last part holds the values of the rows that were counted, and no others: a row that is given
//! up, by an error or by a panic of the code that writes it, takes its values back when it is dropped. A row never
//! takes more room than was reserved for it: the part would move, and the rows keep the address of its beginning.

use types::{Scratch, Value, row::Taking};

use super::kept;

/// A row that is being written.
pub struct NewRow<'r> {
    values: &'r mut Vec<Value<'static>>,
    arena: &'r Scratch,
    /// Number of values that stay when the row is dropped.
    stay: usize,
}

impl<'r> NewRow<'r> {
    /// Begins a row behind `values`, which have room for it, with copies in `arena`.
    #[inline(always)]
    pub(super) fn new(values: &'r mut Vec<Value<'static>>, arena: &'r Scratch) -> Self {
        let stay = values.len();
        Self {
            values,
            arena,
            stay,
        }
    }

    /// Adds a value that borrows nothing, or from an arena of the rows alone.
    ///
    /// # Panics
    /// If there is no room for it.
    #[inline(always)]
    pub(super) fn put(&mut self, value: Value<'static>) {
        let has_room = self.values.len() < self.values.capacity();
        assert!(has_room, "a row of another width");
        self.values.push(value);
    }

    /// Ends the row.
    ///
    /// # Panics
    /// If it does not have `width` values.
    #[inline(always)]
    pub(super) fn finish(mut self, width: usize) {
        let values = self.values.len();
        assert_eq!(values - self.stay, width, "a row of another width");
        self.stay = values;
    }
}

impl Drop for NewRow<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.values.truncate(self.stay);
    }
}

impl<'v> Taking<'v> for NewRow<'_> {
    #[inline(always)]
    fn take(&mut self, value: Value<'v>) {
        let kept = kept(&value, self.arena);
        self.put(kept);
    }
}
