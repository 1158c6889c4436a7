//! The part of a column that is made to be added to (paper 003 section 2.1: *Delta*).
//!
//! The dictionary has values in order of arrival, and the code of a value is its place; a CSB+-tree over them finds the
//! code of a value. NULL has the code [`Delta::NULL`], which never changes. Each row is a number.
//!
//! Invariant: each row's code is in the tree, or is that of NULL. A value may be in the array and not in the tree if
//! memory ran out in between: no row has it.

use index::csb::{CsbTree, Cursor};
use interleave::{Interleaver, Lookup, Policy, Sequential, run_inline};
use segment::{CodeSet, Codes};

use crate::{
    DISTINCT_MAX,
    error::ColumnError,
    store::{Bytes, Store},
    value::{Element, Key, Sought, Value},
};

type Arrived<V> = <<V as Value>::Store as Store>::Arrived;
type Separators<V> = <<V as Value>::Store as Store>::Separator;

/// Distinct values in order of arrival, and rows that refer to them.
#[derive(Debug)]
pub struct Delta<V: Value> {
    values: Arrived<V>,
    tree: CsbTree<Separators<V>>,
    codes: Vec<u32>,
    nulls: usize,
}

/// Rows appended at a time: their values are looked up beside each other.
const BATCH: usize = 1024;
/// Fill of nodes that are built in bulk: later values find room.
const FILL_PERCENT: u32 = 75;

impl<V: Value> Default for Delta<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Value> Delta<V> {
    /// The code of NULL.
    pub const NULL: u32 = u32::MAX;

    /// Returns a Delta without rows. Allocates nothing.
    pub fn new() -> Self {
        Self {
            values: Arrived::<V>::default(),
            tree: CsbTree::new(),
            codes: Vec::new(),
            nulls: 0,
        }
    }

    /// Makes a Delta of distinct `values` in order of arrival, and a row for each code in `rows`, where the code of a
    /// value is its place and `None` is NULL.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking, values are equal, or a code is not that of a value.
    pub fn from_dictionary<'v>(
        values: impl ExactSizeIterator<Item = V::Ref<'v>>,
        rows: impl ExactSizeIterator<Item = Option<u32>>,
    ) -> Result<Self, ColumnError> {
        if values.len() > DISTINCT_MAX {
            return Err(ColumnError::TooMany);
        }
        let mut arrived = V::Store::arrived_with_room(values.len())?;
        for value in values {
            V::Store::arrived_push(&mut arrived, value.key())?;
        }
        let order = V::Store::arrived_order(&arrived)?;
        let key = |code| V::Store::arrived_get(&arrived, code);
        if order.windows(2).any(|pair| key(pair[0]) == key(pair[1])) {
            return Err(ColumnError::NotDistinct);
        }
        let tree = CsbTree::bulk_load(&arrived, order.iter().copied(), FILL_PERCENT)?;
        let mut codes = memory::on_huge_pages(rows.len())?;
        let mut nulls = 0;
        for code in rows {
            match code {
                Some(code) if code as usize >= order.len() => {
                    return Err(ColumnError::NoSuchCode(code));
                }
                Some(_) => {}
                None => nulls += 1,
            }
            codes.push(code.unwrap_or(Self::NULL));
        }
        Ok(Self {
            values: arrived,
            tree,
            codes,
            nulls,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking, the value is too long, or there are too many distinct values; no row was
    /// added.
    pub fn append(&mut self, value: Option<V::Ref<'_>>) -> Result<(), ColumnError> {
        self.codes.try_reserve(1)?;
        let code = match value {
            Some(value) => self.code_for(value.key())?,
            None => Self::NULL,
        };
        self.nulls += usize::from(code == Self::NULL);
        self.codes.push(code);
        Ok(())
    }

    /// Adds a row for each value. Their lookups are interleaved.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking, a value is too long, or there are too many distinct values; no row was
    /// added.
    pub fn append_all(
        &mut self,
        values: &[Option<V::Ref<'_>>],
        interleaver: &mut Interleaver,
    ) -> Result<(), ColumnError> {
        let (rows, nulls) = (self.codes.len(), self.nulls);
        self.codes.try_reserve(values.len())?;
        for batch in values.chunks(BATCH) {
            if let Err(error) = self.append_batch(batch, interleaver) {
                self.codes.truncate(rows);
                self.nulls = nulls;
                return Err(error);
            }
        }
        Ok(())
    }

    fn append_batch(
        &mut self,
        values: &[Option<V::Ref<'_>>],
        interleaver: &mut Interleaver,
    ) -> Result<(), ColumnError> {
        let keys: Vec<_> = values.iter().flatten().map(|&value| value.key()).collect();
        // No value has the code of NULL: here it says that no code was found.
        let mut found = vec![Self::NULL; keys.len()];
        self.locate_all(&keys, interleaver, |at, code| {
            found[at] = code.unwrap_or(Self::NULL);
        });
        let mut located = keys.into_iter().zip(found);
        for value in values {
            let code = match value.and_then(|_| located.next()) {
                // The value may have come with an earlier row of this batch.
                Some((key, Self::NULL)) => self.code_for(key)?,
                Some((_, code)) => code,
                None => {
                    self.nulls += 1;
                    Self::NULL
                }
            };
            self.codes.push(code);
        }
        Ok(())
    }

    /// Returns the code of a value; a new one if it has none.
    fn code_for(&mut self, key: Key<'_, V>) -> Result<u32, ColumnError> {
        let over = self.tree.over(&self.values);
        if let Some(code) = run_inline(over.look_up::<Sequential>(key)) {
            return Ok(code);
        }
        let code = V::Store::arrived_len(&self.values);
        if code >= DISTINCT_MAX {
            return Err(ColumnError::TooMany);
        }
        V::Store::arrived_push(&mut self.values, key)?;
        self.tree.insert_absent(&self.values, key, code as u32)?;
        Ok(code as u32)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.codes.len()
    }

    /// Returns the number of values that have codes.
    pub fn distinct(&self) -> usize {
        self.tree.len()
    }

    /// Returns the number of codes given so far: all codes are less.
    pub(crate) fn code_limit(&self) -> usize {
        V::Store::arrived_len(&self.values)
    }

    /// Returns whether a row is NULL.
    pub fn has_nulls(&self) -> bool {
        self.nulls > 0
    }

    /// Returns the value of `code`; `None` for the code of NULL.
    ///
    /// # Panics
    /// Panics if no value has the code.
    #[inline]
    pub fn extract(&self, code: u32) -> Option<V::Ref<'_>> {
        (code != Self::NULL).then(|| Element::of_key(self.key(code)))
    }

    #[inline(always)]
    pub(crate) fn key(&self, code: u32) -> Key<'_, V> {
        V::Store::arrived_get(&self.values, code)
    }

    /// Returns the value of `row`; `None` is NULL.
    ///
    /// # Panics
    /// Panics if there is no such row.
    pub fn value(&self, row: usize) -> Option<V::Ref<'_>> {
        self.extract(self.codes[row])
    }

    /// Returns the codes of all rows.
    pub fn codes(&self) -> Codes<'_> {
        Codes::Plain(&self.codes)
    }

    pub(crate) fn numbers(&self) -> &[u32] {
        &self.codes
    }

    /// Returns the set of a list of codes: see [`CodeSet::new`].
    pub(crate) fn set_of(&self, codes: &mut Vec<u32>) -> Result<CodeSet, ColumnError> {
        Ok(CodeSet::new(codes, self.code_limit() as u64)?)
    }

    /// Finds the codes of keys.
    pub(crate) fn locate_all(
        &self,
        keys: &[Key<'_, V>],
        interleaver: &mut Interleaver,
        found: impl FnMut(usize, Option<u32>),
    ) {
        interleaver.look_up_all(&self.tree.over(&self.values), keys, found);
    }

    /// Returns the next code in the order of values.
    pub(crate) fn next_code(&self, cursor: &mut Cursor) -> Option<u32> {
        cursor.next(&self.tree)
    }

    pub(crate) fn value_bytes(&self) -> Bytes {
        V::Store::arrived_bytes(&self.values)
    }

    /// Returns the bytes of the values, the tree and the rows' codes.
    pub fn bytes(&self) -> usize {
        self.value_bytes().all + self.tree.bytes() + size_of_val(self.codes.as_slice())
    }
}

/// Locates a value: finds its code.
impl<'v, V: Value> Lookup<Sought<'v, V>> for Delta<V> {
    type Found = Option<u32>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, Sought(value): Sought<'v, V>) -> Option<u32> {
        let over = self.tree.over(&self.values);
        over.look_up::<P>(value.key()).await
    }
}
