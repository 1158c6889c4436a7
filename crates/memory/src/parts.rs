//! Long lists in parts, so that no step on one takes longer than a part does.
//!
//! A vector of some hundred megabytes grows by being moved, and is given back in one go: the system takes a millisecond
//! for some fifteen megabytes. A list that one task fills and empties while others wait for its worker is a [`Parts`],
//! a queue a [`PartsQueue`]. Both begin as any other vector does; beyond [`PART_BYTES`] their elements do not move any
//! more, and memory comes and goes by parts.
//!
//! # Invariants
//! - *Full*: all parts of a list but the last have as many elements as a part may have, so that the place of an element
//!   tells its part.
//! - *Bounded*: adding or removing an element at the end allocates, copies or frees one part at most.

mod queue;

use std::ops::{Bound, Index, IndexMut, RangeBounds};

pub use self::queue::PartsQueue;

/// Maximum bytes of a part. The system gives or takes a part in some 70 microseconds.
pub const PART_BYTES: usize = 1 << 20;

/// Returns the elements of a part: a power of two, since places are divided by it.
const fn part_len<T>() -> usize {
    assert!(size_of::<T>() > 0 && size_of::<T>() <= PART_BYTES);
    1 << (PART_BYTES / size_of::<T>()).ilog2()
}

/// A list in parts; see the module text.
#[derive(Debug)]
pub struct Parts<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

impl<T> Default for Parts<T> {
    fn default() -> Parts<T> {
        Parts {
            full: Vec::new(),
            last: Vec::new(),
        }
    }
}

impl<T> Parts<T> {
    /// Elements of a part.
    pub const PART_LEN: usize = part_len::<T>();

    /// Returns the number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.full.len() * Self::PART_LEN + self.last.len()
    }

    /// Returns whether there are no elements.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.last.is_empty() && self.full.is_empty()
    }

    /// Returns the bytes of memory that the list takes.
    pub fn capacity_bytes(&self) -> usize {
        (self.full.len() * Self::PART_LEN + self.last.capacity()) * size_of::<T>()
            + self.full.capacity() * size_of::<Vec<T>>()
    }

    /// Returns whether the next element makes the list take more memory.
    #[inline(always)]
    pub fn will_grow(&self) -> bool {
        self.last.len() == self.last.capacity() || self.last.len() == Self::PART_LEN
    }

    /// Adds `element` at the end.
    #[inline]
    pub fn push(&mut self, element: T) {
        if self.will_grow() {
            self.grow();
        }
        self.last.push(element);
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.last.len();
        if len == Self::PART_LEN {
            let next = Vec::with_capacity(Self::PART_LEN);
            self.full.push(std::mem::replace(&mut self.last, next));
        } else {
            // Reserve no more than a part, however a vector would grow.
            let wish = (len * 2).clamp(4, Self::PART_LEN);
            self.last.reserve_exact(wish - len);
        }
    }

    /// Takes the last element out. A part that this empties is freed with the next element taken out.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.last.is_empty() {
            self.last = self.full.pop()?;
        }
        self.last.pop()
    }

    /// Returns the last element.
    #[inline]
    pub fn last(&self) -> Option<&T> {
        self.last.last().or_else(|| self.full.last()?.last())
    }

    /// Drops all elements from place `len` on.
    pub fn truncate(&mut self, len: usize) {
        while self.len() > len {
            let start = self.full.len() * Self::PART_LEN;
            self.last.truncate(len.saturating_sub(start));
            if start <= len {
                return;
            }
            self.last = self.full.pop().unwrap_or_default();
        }
    }

    /// Drops all elements, and gives back all memory but that of one part.
    pub fn clear(&mut self) {
        self.full = Vec::new();
        self.last.clear();
    }

    /// Drops the elements of the last part, and its memory unless it is the only part. Returns whether there are more
    /// parts.
    pub fn drop_part(&mut self) -> bool {
        match self.full.pop() {
            Some(before) => self.last = before,
            None => self.last.clear(),
        }
        !self.is_empty()
    }

    /// Takes the element at `at` out; the elements behind it move: for places near the end.
    ///
    /// # Panics
    /// Panics if there is no element at this place.
    pub fn remove(&mut self, at: usize) -> T {
        let mut behind = Vec::new();
        while self.len() > at + 1 {
            behind.extend(self.pop());
        }
        let removed = self.pop().expect("the place is in the list");
        while let Some(element) = behind.pop() {
            self.push(element);
        }
        removed
    }

    /// Returns the element at `at`, if there is one.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        let (part, within) = (at / Self::PART_LEN, at % Self::PART_LEN);
        match self.full.get(part) {
            Some(part) => part.get(within),
            None if part == self.full.len() => self.last.get(within),
            None => None,
        }
    }

    /// Returns all elements in order.
    pub fn iter(&self) -> Iter<'_, T> {
        self.range(..)
    }

    /// Returns the elements of a range of places, in order.
    ///
    /// # Panics
    /// Panics if the range ends behind the list, or before it begins.
    pub fn range(&self, range: impl RangeBounds<usize>) -> Iter<'_, T> {
        let from = match range.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(before) => before + 1,
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(last) => last + 1,
            Bound::Excluded(to) => *to,
            Bound::Unbounded => self.len(),
        };
        assert!(from <= to && to <= self.len(), "{from}..{to}");
        Iter {
            list: self,
            from,
            to,
        }
    }
}

impl<T> Index<usize> for Parts<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        match self.full.get(at / Self::PART_LEN) {
            Some(part) => &part[at % Self::PART_LEN],
            None => &self.last[at - self.full.len() * Self::PART_LEN],
        }
    }
}

impl<T> IndexMut<usize> for Parts<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        let in_full = self.full.len() * Self::PART_LEN;
        match self.full.get_mut(at / Self::PART_LEN) {
            Some(part) => &mut part[at % Self::PART_LEN],
            None => &mut self.last[at - in_full],
        }
    }
}

impl<T> Extend<T> for Parts<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        elements.into_iter().for_each(|element| self.push(element));
    }
}

/// Elements of a list, one after the other.
#[derive(Debug)]
pub struct Iter<'l, T> {
    list: &'l Parts<T>,
    from: usize,
    to: usize,
}

impl<'l, T> Iterator for Iter<'l, T> {
    type Item = &'l T;

    #[inline]
    fn next(&mut self) -> Option<&'l T> {
        (self.from < self.to).then(|| {
            self.from += 1;
            &self.list[self.from - 1]
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.to - self.from, Some(self.to - self.from))
    }
}

impl<T> DoubleEndedIterator for Iter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        (self.from < self.to).then(|| {
            self.to -= 1;
            &self.list[self.to]
        })
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

#[cfg(all(test, not(loom)))]
mod tests;
