//! The part of a column that is made to be read (paper 003 section 2.1: *Main*).
//!
//! The dictionary is sorted, and the code of a value is its place in it; codes therefore compare as their values do.
//! NULL has the code behind the last: the number of values. Rows are packed codes.
//!
//! Invariant: no row's code is greater than that of NULL, and a row has the code of NULL only if `has_nulls` is set.

use interleave::{Interleaver, Lookup, Policy};
use segment::{CodeSet, Codes, PackedCodes, codes::bits_for};

use crate::{
    DISTINCT_MAX,
    error::ColumnError,
    store::Store,
    value::{Element, Key, Sought, Value},
};

/// Sorted distinct values, and rows that refer to them. Immutable.
#[derive(Debug)]
pub struct Main<V: Value> {
    dictionary: Sorted<V>,
    codes: PackedCodes,
    has_nulls: bool,
}

pub(crate) type Sorted<V> = <<V as Value>::Store as Store>::Sorted;

/// Values looked up at a time while rows are encoded.
const BATCH: usize = 4096;

impl<V: Value> Main<V> {
    /// Returns a Main without rows.
    ///
    /// # Errors
    /// [`ColumnError::Memory`] if memory is lacking.
    pub fn new() -> Result<Self, ColumnError> {
        Self::build(&[])
    }

    /// Makes a Main with a row for each of `values`, whose dictionary has no other values.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking, or there are too many distinct values.
    pub fn build(values: &[Option<V::Ref<'_>>]) -> Result<Self, ColumnError> {
        let mut keys: Vec<Key<'_, V>> = memory::on_huge_pages(values.len())?;
        keys.extend(values.iter().flatten().map(|&value| value.key()));
        let has_nulls = keys.len() < values.len();
        keys.sort_unstable();
        keys.dedup();
        let dictionary = Self::dictionary_of(keys.iter().copied(), keys.len())?;
        drop(keys);
        let null = V::Store::sorted_len(&dictionary) as u32;
        let width = bits_for(u64::from(null) + u64::from(has_nulls));
        let mut codes = PackedCodes::with_capacity(width, values.len())?;
        let mut interleaver = Interleaver::auto();
        for batch in values.chunks(BATCH) {
            let keys: Vec<_> = batch.iter().flatten().map(|&value| value.key()).collect();
            let mut found = vec![null; keys.len()];
            interleaver.look_up_all(&dictionary, &keys, |at, place| {
                found[at] = place.map_or(null, |place| place as u32);
            });
            let mut found = found.into_iter();
            let encode = |value: &Option<_>| value.and_then(|_| found.next()).unwrap_or(null);
            let encoded: Vec<u32> = batch.iter().map(encode).collect();
            codes.extend(&encoded)?;
        }
        Ok(Self::of_parts(dictionary, codes, has_nulls))
    }

    /// Makes a Main of distinct `values` in ascending order, and a row for each code in `rows`, where the code of a
    /// value is its place and `None` is NULL. Values without a row are allowed: partitions share dictionaries.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking, the values are not ascending and distinct, or a code is not that of a
    /// value.
    pub fn from_dictionary<'v>(
        values: impl ExactSizeIterator<Item = V::Ref<'v>>,
        rows: impl ExactSizeIterator<Item = Option<u32>> + Clone,
    ) -> Result<Self, ColumnError> {
        let count = values.len();
        let dictionary = Self::dictionary_of(values.map(Element::key), count)?;
        let null = V::Store::sorted_len(&dictionary) as u32;
        let has_nulls = rows.clone().any(|code| code.is_none());
        if let Some(code) = rows.clone().flatten().find(|&code| code >= null) {
            return Err(ColumnError::NoSuchCode(code));
        }
        let width = bits_for(u64::from(null) + u64::from(has_nulls));
        let codes = PackedCodes::from_codes(width, rows.map(|code| code.unwrap_or(null)))?;
        Ok(Self::of_parts(dictionary, codes, has_nulls))
    }

    /// Makes a Main of its parts, which must be as the invariant says.
    pub(crate) fn of_parts(dictionary: Sorted<V>, codes: PackedCodes, has_nulls: bool) -> Self {
        Self {
            dictionary,
            codes,
            has_nulls,
        }
    }

    fn dictionary_of<'k>(
        keys: impl Iterator<Item = Key<'k, V>>,
        count: usize,
    ) -> Result<Sorted<V>, ColumnError> {
        if count > DISTINCT_MAX {
            return Err(ColumnError::TooMany);
        }
        let mut dictionary = V::Store::sorted_with_room(count, 0)?;
        let mut last = None;
        for (place, key) in keys.enumerate() {
            if last.is_some_and(|last| last >= key) {
                return Err(ColumnError::OutOfOrder(place));
            }
            V::Store::sorted_push(&mut dictionary, key)?;
            last = Some(key);
        }
        Ok(dictionary)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.codes.len()
    }

    /// Returns the number of values of the dictionary.
    pub fn distinct(&self) -> usize {
        V::Store::sorted_len(&self.dictionary)
    }

    /// Returns whether a row is NULL.
    pub fn has_nulls(&self) -> bool {
        self.has_nulls
    }

    /// Returns the code of NULL.
    pub fn null_code(&self) -> u32 {
        self.distinct() as u32
    }

    /// Returns the value of `code`; `None` for the code of NULL.
    ///
    /// # Panics
    /// Panics if the code is greater.
    #[inline]
    pub fn extract(&self, code: u32) -> Option<V::Ref<'_>> {
        if code == self.null_code() {
            return None;
        }
        let key = V::Store::sorted_get(&self.dictionary, code as usize);
        Some(Element::of_key(key))
    }

    /// Returns the value of `row`; `None` is NULL.
    ///
    /// # Panics
    /// Panics if there is no such row.
    pub fn value(&self, row: usize) -> Option<V::Ref<'_>> {
        self.extract(self.codes.get(row))
    }

    /// Returns the codes of all rows.
    pub fn codes(&self) -> Codes<'_> {
        Codes::Packed(self.codes.as_slice())
    }

    pub(crate) fn packed(&self) -> &PackedCodes {
        &self.codes
    }

    /// Returns the set of a list of codes: see [`CodeSet::new`].
    pub(crate) fn set_of(&self, codes: &mut Vec<u32>) -> Result<CodeSet, ColumnError> {
        Ok(CodeSet::new(codes, self.distinct() as u64 + 1)?)
    }

    /// Returns the sorted values, in which keys are looked up.
    pub(crate) fn dictionary(&self) -> &Sorted<V> {
        &self.dictionary
    }

    /// Returns the bytes of the dictionary and of the rows' codes.
    pub fn bytes(&self) -> usize {
        V::Store::sorted_bytes(&self.dictionary).all + self.codes.bytes()
    }
}

/// Locates a value: finds its code.
impl<'v, V: Value> Lookup<Sought<'v, V>> for Main<V> {
    type Found = Option<u32>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, Sought(value): Sought<'v, V>) -> Option<u32> {
        let place = self.dictionary.look_up::<P>(value.key()).await;
        place.ok().map(|place| place as u32)
    }
}
