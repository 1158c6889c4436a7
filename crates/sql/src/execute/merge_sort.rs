//! Sorting that gives way to other tasks, and to whoever wants the statement to be given up: pieces
//! of less than a turn's length are sorted by themselves and then merged. What is equal stays in its order.

use std::cmp::Ordering;

use interleave::Turn;

/// Items that are sorted at once: some tens of microseconds if they are compared quickly.
const PIECE: usize = 512;

/// Items that are copied at once.
const COPIED_AT_ONCE: usize = 32 * 1024;

/// Numbers from 0 on, each as `item` has it: what is to be sorted.
pub(super) async fn numbered<T>(count: usize, turn: &Turn, item: impl Fn(usize) -> T) -> Vec<T> {
    let mut items = Vec::with_capacity(count);
    while items.len() < count {
        let from = items.len();
        let until = count.min(from + COPIED_AT_ONCE);
        items.extend((from..until).map(&item));
        turn.pause((until - from) / 64).await;
    }
    items
}

/// Sorts items.
pub(crate) async fn sort_by<T: Copy>(
    items: &mut Vec<T>,
    turn: &Turn,
    mut compare: impl FnMut(&T, &T) -> Ordering,
) {
    for piece in items.chunks_mut(PIECE) {
        piece.sort_by(&mut compare);
        turn.pause(piece.len()).await;
    }
    let mut sorted = PIECE;
    if items.len() <= sorted {
        return;
    }
    let mut merged = Vec::with_capacity(items.len());
    while sorted < items.len() {
        for pair in items.chunks(sorted.saturating_mul(2)) {
            let (left, right) = pair.split_at(sorted.min(pair.len()));
            merge(left, right, &mut merged, turn, &mut compare).await;
        }
        std::mem::swap(items, &mut merged);
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
