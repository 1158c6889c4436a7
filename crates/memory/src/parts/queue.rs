//! Queues in parts: [`PartsQueue`].

use std::collections::VecDeque;

use super::part_len;

/// A queue in parts: like [`Parts`](super::Parts), but elements leave it at the front. A part is freed when its last
/// element has left, unless it is the only one.
#[derive(Debug)]
pub struct PartsQueue<T> {
    /// Parts of the queue: if there are several, none is empty, and all before the last were full once.
    parts: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> Default for PartsQueue<T> {
    fn default() -> PartsQueue<T> {
        PartsQueue {
            parts: VecDeque::new(),
            len: 0,
        }
    }
}

impl<T> PartsQueue<T> {
    const PART_LEN: usize = part_len::<T>();

    /// Returns the number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes of memory that the queue takes.
    pub fn capacity_bytes(&self) -> usize {
        let outer = match self.parts.len() {
            0 | 1 => 0,
            // The first part has been full, and so have all up to the last.
            parts => (parts - 1) * Self::PART_LEN,
        };
        let last = self.parts.back().map_or(0, VecDeque::capacity);
        (outer + last) * size_of::<T>() + self.parts.capacity() * size_of::<VecDeque<T>>()
    }

    /// Adds `element` at the end.
    #[inline]
    pub fn push_back(&mut self, element: T) {
        self.len += 1;
        match self.parts.back_mut() {
            Some(last) if last.len() < last.capacity() => last.push_back(element),
            _ => self.push_grown(element),
        }
    }

    #[cold]
    fn push_grown(&mut self, element: T) {
        match self.parts.back_mut() {
            Some(last) if last.len() < Self::PART_LEN => {
                let wish = (last.len() * 2).clamp(4, Self::PART_LEN);
                last.reserve_exact(wish - last.len());
                last.push_back(element);
            }
            last => {
                let is_first = last.is_none();
                let mut next = VecDeque::with_capacity(if is_first { 4 } else { Self::PART_LEN });
                next.push_back(element);
                self.parts.push_back(next);
            }
        }
    }

    /// Returns the first element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.parts.front()?.front()
    }

    /// Takes the first element out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = self.parts.front_mut()?;
        let element = first.pop_front()?;
        self.len -= 1;
        if first.is_empty() && self.parts.len() > 1 {
            self.parts.pop_front();
        }
        Some(element)
    }

    /// Adds all elements of another queue at the end: takes its parts, as they are, if this queue is empty.
    pub fn append(&mut self, mut other: PartsQueue<T>) {
        if self.is_empty() {
            *self = other;
            return;
        }
        while let Some(element) = other.pop_front() {
            self.push_back(element);
        }
    }
}

impl<T> Extend<T> for PartsQueue<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        elements
            .into_iter()
            .for_each(|element| self.push_back(element));
    }
}
