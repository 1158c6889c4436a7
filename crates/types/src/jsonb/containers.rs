//! Arrays and objects of `jsonb`.

use super::{Jsonb, builder::compare_keys};
use crate::{
    Result,
    stored::{corrupted, piece, text, u32_at},
};

/// The elements of a JSON array.
#[derive(Debug, Clone, Copy)]
pub struct JsonbArray<'a> {
    count: usize,
    ends: &'a [u8],
    nodes: &'a [u8],
}

/// The entries of a JSON object.
#[derive(Debug, Clone, Copy)]
pub struct JsonbObject<'a> {
    count: usize,
    key_ends: &'a [u8],
    value_ends: &'a [u8],
    keys: &'a [u8],
    nodes: &'a [u8],
}

/// The count, as many ends in each table, and the bytes after them.
type Tables<'a, const TABLES: usize> = (usize, [&'a [u8]; TABLES], &'a [u8]);

fn split<const TABLES: usize>(bytes: &[u8]) -> Result<Tables<'_, TABLES>> {
    let count = u32_at(bytes, 0)? as usize;
    let table = count.checked_mul(4).ok_or_else(corrupted)?;
    let mut rest = &bytes[4..];
    let mut tables = [&[][..]; TABLES];
    for place in &mut tables {
        (*place, rest) = rest.split_at_checked(table).ok_or_else(corrupted)?;
    }
    Ok((count, tables, rest))
}

impl<'a> JsonbArray<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self> {
        let (count, [ends], nodes) = split(bytes)?;
        Ok(Self { count, ends, nodes })
    }

    /// Returns the number of elements.
    pub fn len(self) -> usize {
        self.count
    }

    /// Returns whether there are no elements.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Returns the element at a position from 0.
    ///
    /// # Errors
    /// `XX001` if the array is damaged.
    pub fn get(self, index: usize) -> Result<Option<Jsonb<'a>>> {
        if index >= self.count {
            return Ok(None);
        }
        Jsonb::from_stored(piece(self.ends, self.nodes, index)?).map(Some)
    }

    /// Returns the elements in order.
    pub fn iter(self) -> impl Iterator<Item = Result<Jsonb<'a>>> {
        (0..self.count).map(move |index| Jsonb::from_stored(piece(self.ends, self.nodes, index)?))
    }
}

impl<'a> JsonbObject<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self> {
        let (count, [key_ends, value_ends], rest) = split(bytes)?;
        let keys_length = match count.checked_sub(1) {
            None => 0,
            Some(last) => u32_at(key_ends, last * 4)? as usize,
        };
        let (keys, nodes) = rest.split_at_checked(keys_length).ok_or_else(corrupted)?;
        Ok(Self {
            count,
            key_ends,
            value_ends,
            keys,
            nodes,
        })
    }

    /// Returns the number of entries.
    pub fn len(self) -> usize {
        self.count
    }

    /// Returns whether there are no entries.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    fn key(self, index: usize) -> Result<&'a str> {
        text(piece(self.key_ends, self.keys, index)?)
    }

    fn value(self, index: usize) -> Result<Jsonb<'a>> {
        Jsonb::from_stored(piece(self.value_ends, self.nodes, index)?)
    }

    /// Returns the value of a key. Takes logarithmic time in the number of
    /// entries.
    ///
    /// # Errors
    /// `XX001` if the object is damaged.
    pub fn get(self, key: &str) -> Result<Option<Jsonb<'a>>> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match compare_keys(self.key(middle)?, key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.value(middle).map(Some),
            }
        }
        Ok(None)
    }

    /// Returns the entries in the order of their keys.
    pub fn iter(self) -> impl Iterator<Item = Result<(&'a str, Jsonb<'a>)>> {
        (0..self.count).map(move |index| Ok((self.key(index)?, self.value(index)?)))
    }
}
