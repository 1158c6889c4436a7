//! Sorting that gives way to other tasks, and to a request to give up the statement: pieces of less
//! than a turn's length are sorted by themselves and then merged. Equal items stay in their order.

use std::{cmp::Ordering, ops::Deref, rc::Rc};

use interleave::{Gradual, Turn};
use types::{Charge, Memory, Result, SqlError, SqlState, Value};

use crate::Rows;

/// Number of items that are sorted at once: some tens of microseconds if they are compared quickly.
const PIECE: usize = 512;

/// Bytes of keys that are sorted at once, if each key were as large as the largest: large keys may
/// be slow to compare.
const PIECE_BYTES: usize = 512 << 10;
const PIECE_MIN: usize = 4;

/// Number of rows whose keys are looked at at once.
const LOOKED_AT_ONCE: usize = 2048;

/// Number of items that are copied at once.
const COPIED_AT_ONCE: usize = 32 * 1024;

/// Numbers of rows in an order.
pub struct Order {
    numbers: Gradual<Vec<u32>>,
    _charge: Charge,
}

impl Order {
    /// Returns the numbers of `rows` rows in the order in which `compare` puts two of them, charged to `memory`, as
    /// work of `turn`; equal rows stay in their order. `charge` is a part of the memory for it that is charged already,
    /// [`Order::bytes`] of so many rows at best; `key_bytes` returns the bytes of a row's keys.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much; 54000 for more rows than have numbers.
    pub async fn of(
        rows: usize,
        (memory, turn): (&Rc<Memory>, &Turn),
        mut charge: Charge,
        key_bytes: impl Fn(usize) -> usize,
        mut compare: impl FnMut(usize, usize) -> Ordering,
    ) -> Result<Order> {
        if u32::try_from(rows).is_err() {
            return Err(SqlError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "too many rows to be sorted",
            ));
        }
        charge.set(memory, Self::bytes(rows))?;
        let mut numbers = Gradual::from(Vec::with_capacity(rows));
        let mut largest = 0;
        while numbers.len() < rows {
            let from = numbers.len();
            let until = rows.min(from + LOOKED_AT_ONCE);
            numbers.extend(from as u32..until as u32);
            largest = (from..until).map(&key_bytes).fold(largest, usize::max);
            turn.pause((until - from) / 8).await;
        }
        let piece = (PIECE_BYTES / largest.max(1)).clamp(PIECE_MIN, PIECE);
        let mut merged = Gradual::from(Vec::new());
        let compare = |left: &u32, right: &u32| compare(*left as usize, *right as usize);
        sort_within(&mut numbers, &mut merged, piece, turn, compare).await;
        drop(merged);
        charge.lower(rows * size_of::<u32>());
        Ok(Order {
            numbers,
            _charge: charge,
        })
    }

    /// Returns the bytes of memory that are needed to put `rows` rows in order: two lists of numbers.
    pub fn bytes(rows: usize) -> usize {
        2 * rows * size_of::<u32>()
    }

    /// Forgets all but the first `rows` of them. The memory that they take is kept.
    pub fn truncate(&mut self, rows: usize) {
        self.numbers.truncate(rows);
    }
}

impl Deref for Order {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.numbers
    }
}

/// Rows in memory, in an order.
#[derive(Clone, Copy)]
pub struct InOrder<'r> {
    /// The rows, in any order.
    pub rows: &'r Rows,
    /// Positions of the rows, if they do not lie in the order.
    pub order: Option<&'r [u32]>,
}

impl<'r> InOrder<'r> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.order.map_or(self.rows.len(), <[u32]>::len)
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the row at a place of the order.
    pub fn row(&self, at: usize) -> &'r [Value<'r>] {
        self.rows
            .row(self.order.map_or(at, |order| order[at] as usize))
    }
}

/// Returns the bytes of keys.
pub fn bytes_of(keys: &[Value<'_>]) -> usize {
    keys.iter().map(Value::borrowed_bytes).sum()
}

/// Sorts items.
pub async fn sort_by<T: Copy>(
    items: &mut Vec<T>,
    turn: &Turn,
    compare: impl FnMut(&T, &T) -> Ordering,
) {
    sort_within(items, &mut Vec::new(), PIECE, turn, compare).await;
}

/// Sorts items, a limited number at once, with the help of a second list, which is empty.
async fn sort_within<T: Copy>(
    items: &mut Vec<T>,
    merged: &mut Vec<T>,
    piece: usize,
    turn: &Turn,
    mut compare: impl FnMut(&T, &T) -> Ordering,
) {
    let mut sorted = piece;
    for piece in items.chunks_mut(piece) {
        piece.sort_by(&mut compare);
        turn.pause(piece.len()).await;
    }
    if items.len() <= sorted {
        return;
    }
    merged.reserve_exact(items.len());
    while sorted < items.len() {
        for pair in items.chunks(sorted.saturating_mul(2)) {
            let (left, right) = pair.split_at(sorted.min(pair.len()));
            merge(left, right, merged, turn, &mut compare).await;
        }
        std::mem::swap(items, merged);
        merged.clear();
        sorted = sorted.saturating_mul(2);
    }
}

/// Adds the items of two sorted lists to `merged`.
async fn merge<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    merged: &mut Vec<T>,
    turn: &Turn,
    compare: &mut impl FnMut(&T, &T) -> Ordering,
) {
    let is_sorted = match (left.last(), right.first()) {
        (Some(last), Some(first)) => compare(first, last).is_ge(),
        _ => true,
    };
    if !is_sorted {
        while let ([of_left, left_rest @ ..], [of_right, right_rest @ ..]) = (left, right) {
            if compare(of_right, of_left).is_lt() {
                merged.push(*of_right);
                right = right_rest;
            } else {
                merged.push(*of_left);
                left = left_rest;
            }
            turn.pause(1).await;
        }
    }
    for rest in [left, right] {
        for piece in rest.chunks(COPIED_AT_ONCE) {
            merged.extend_from_slice(piece);
            turn.pause(piece.len() / 64).await;
        }
    }
}
