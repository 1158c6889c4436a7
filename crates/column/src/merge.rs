//! Merging a frozen Delta into a Main, some at a time.
//!
//! Both dictionaries are sorted, one by the order of its tree, so the new dictionary is made by going through both
//! once. On the way the merge notes the new code of each old one; then it translates the rows' codes (Krueger et al.,
//! "Fast updates on read-optimized databases using multi-core CPUs", VLDB 2011, section 5: linear in the values and
//! rows). No row is deleted in this form of a column: the new dictionary has all values of both.
//!
//! The merge changes nothing that other threads see until the last step, which swaps the parts (`column.rs`). A step
//! that fails has done nothing that it would do again.

use index::csb::Cursor;
use segment::{
    PackedCodes,
    codes::{BLOCK, bits_for},
};

use crate::{
    DISTINCT_MAX,
    column::{Live, Shared},
    delta::Delta,
    error::ColumnError,
    main_part::{Main, Sorted},
    store::Store,
    sync::{Arc, read},
    value::Value,
};

/// A merge under way. Its holder decides when it goes on: nothing happens between steps. If a merge is dropped, the
/// column stays as it is.
#[must_use = "a merge goes on only in steps"]
pub struct Merge<V: Value> {
    shared: Arc<Shared<V>>,
    main: Arc<Main<V>>,
    frozen: Arc<Live<V>>,
    stage: Stage<V>,
    /// New codes of the Main by old ones, with NULL behind the last.
    of_main: Vec<u32>,
    /// New codes of the Delta by old ones.
    of_delta: Vec<u32>,
}

enum Stage<V: Value> {
    /// Nothing is done yet.
    Begun,
    /// Values are being merged.
    Values {
        merged: Sorted<V>,
        cursor: Cursor,
        /// Next code of the Delta, if it has been read.
        code: Option<u32>,
    },
    /// Rows are being translated.
    Rows {
        merged: Sorted<V>,
        codes: PackedCodes,
    },
    /// The parts have been swapped, or are about to be.
    Over,
}

/// Progress of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more to do.
    Unfinished,
    /// The column has the new Main.
    Finished,
}

impl<V: Value> std::fmt::Debug for Merge<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stage = match &self.stage {
            Stage::Begun => "begun",
            Stage::Values { .. } => "values",
            Stage::Rows { .. } => "rows",
            Stage::Over => "over",
        };
        f.debug_struct("Merge")
            .field("stage", &stage)
            .finish_non_exhaustive()
    }
}

impl<V: Value> Merge<V> {
    pub(crate) fn new(shared: Arc<Shared<V>>, main: Arc<Main<V>>, frozen: Arc<Live<V>>) -> Self {
        Self {
            shared,
            main,
            frozen,
            stage: Stage::Begun,
            of_main: Vec::new(),
            of_delta: Vec::new(),
        }
    }

    /// Goes on for about `budget` values or rows, each some nanoseconds; a block of 64 rows at least. After the end of
    /// the merge the call does nothing.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking, or the values together are too many. The column is as it was. The caller
    /// may go on with the merge, or drop it.
    pub fn step(&mut self, budget: usize) -> Result<Progress, ColumnError> {
        let frozen = self.frozen.clone();
        let state = read(&frozen.state);
        let delta = &state.delta;
        let mut budget = budget.max(1);
        loop {
            let is_done = match &mut self.stage {
                Stage::Begun => self.begin(delta, &mut budget)?,
                Stage::Values { .. } => self.merge_values(delta, &mut budget)?,
                Stage::Rows { .. } => self.translate(delta, &mut budget)?,
                Stage::Over => return Ok(Progress::Finished),
            };
            if !is_done {
                return Ok(Progress::Unfinished);
            }
            if let Stage::Rows { codes, .. } = &self.stage
                && codes.len() == self.main.rows() + delta.rows()
                && let Stage::Rows { merged, codes } =
                    std::mem::replace(&mut self.stage, Stage::Over)
            {
                let has_nulls = self.main.has_nulls() || delta.has_nulls();
                drop(state);
                self.shared.swap(Main::of_parts(merged, codes, has_nulls));
                return Ok(Progress::Finished);
            }
        }
    }

    /// Provides for memory. Returns whether all of it is there.
    fn begin(&mut self, delta: &Delta<V>, budget: &mut usize) -> Result<bool, ColumnError> {
        if self.of_delta.capacity() == 0 {
            self.of_delta = memory::on_huge_pages(delta.code_limit().max(1))?;
        }
        let some = (delta.code_limit() - self.of_delta.len()).min(*budget);
        // A code that no value has is a code that no row has.
        self.of_delta.resize(self.of_delta.len() + some, 0);
        *budget -= some;
        if self.of_delta.len() < delta.code_limit() {
            return Ok(false);
        }
        let values = self.main.distinct() + delta.distinct();
        self.of_main = memory::on_huge_pages(self.main.distinct() + 1)?;
        let strings = V::Store::sorted_bytes(self.main.dictionary()).strings;
        let strings = strings + delta.value_bytes().strings;
        self.stage = Stage::Values {
            merged: V::Store::sorted_with_room(values, strings)?,
            cursor: Cursor::new(),
            code: None,
        };
        Ok(true)
    }

    /// Merges values. Returns whether all are merged.
    fn merge_values(&mut self, delta: &Delta<V>, budget: &mut usize) -> Result<bool, ColumnError> {
        let Stage::Values {
            merged,
            cursor,
            code,
        } = &mut self.stage
        else {
            return Ok(true);
        };
        let dictionary = self.main.dictionary();
        let in_main = self.main.distinct();
        loop {
            if *budget == 0 {
                return Ok(false);
            }
            *budget -= 1;
            *code = code.or_else(|| delta.next_code(cursor));
            let of_main = (self.of_main.len() < in_main)
                .then(|| V::Store::sorted_get(dictionary, self.of_main.len()));
            let of_delta = code.map(|code| delta.key(code));
            let (key, is_of_main, is_of_delta) = match (of_main, of_delta) {
                (None, None) => break,
                (Some(one), Some(other)) => (one.min(other), one <= other, other <= one),
                (Some(one), None) => (one, true, false),
                (None, Some(other)) => (other, false, true),
            };
            let place = V::Store::sorted_len(merged);
            if place == DISTINCT_MAX {
                return Err(ColumnError::TooMany);
            }
            V::Store::sorted_push(merged, key)?;
            if is_of_main {
                self.of_main.push(place as u32);
            }
            if is_of_delta && let Some(code) = code.take() {
                self.of_delta[code as usize] = place as u32;
            }
        }
        let null = V::Store::sorted_len(merged);
        let has_nulls = self.main.has_nulls() || delta.has_nulls();
        let rows = self.main.rows() + delta.rows();
        let width = bits_for(null as u64 + u64::from(has_nulls));
        let codes = PackedCodes::with_capacity(width, rows)?;
        if self.of_main.len() == in_main {
            self.of_main.push(null as u32);
        }
        if let Stage::Values { merged, .. } = std::mem::replace(&mut self.stage, Stage::Over) {
            self.stage = Stage::Rows { merged, codes };
        }
        Ok(true)
    }

    /// Translates rows. Returns whether all are translated.
    fn translate(&mut self, delta: &Delta<V>, budget: &mut usize) -> Result<bool, ColumnError> {
        let Stage::Rows { merged, codes } = &mut self.stage else {
            return Ok(true);
        };
        let null = V::Store::sorted_len(merged) as u32;
        let in_main = self.main.rows();
        let numbers = delta.numbers();
        while codes.len() < in_main + numbers.len() {
            if *budget == 0 {
                return Ok(false);
            }
            let row = codes.len();
            // A Main's rows come in whole blocks, as the new rows do until the Main's are all translated.
            let (mut block, count) = if row < in_main {
                self.main.packed().as_slice().block(row / BLOCK)
            } else {
                let some = &numbers[row - in_main..];
                let some = &some[..some.len().min(BLOCK)];
                let mut block = [0; BLOCK];
                block[..some.len()].copy_from_slice(some);
                (block, some.len())
            };
            for code in &mut block[..count] {
                *code = match (row < in_main, *code) {
                    (true, code) => self.of_main[code as usize],
                    (false, Delta::<V>::NULL) => null,
                    (false, code) => self.of_delta[code as usize],
                };
            }
            codes.extend(&block[..count])?;
            *budget = budget.saturating_sub(count);
        }
        Ok(true)
    }
}

impl<V: Value> Drop for Merge<V> {
    fn drop(&mut self) {
        if !matches!(self.stage, Stage::Over) {
            self.shared.give_up();
        }
    }
}
