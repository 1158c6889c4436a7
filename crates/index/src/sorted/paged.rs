//! A B+-tree whose nodes are pages, over a sorted array.
//!
//! A bisection of a large array touches a page of its own at nearly each step, and with ordinary
//! pages each needs a translation that no prefetch hides (paper 003 section 5.4.3). Here levels of
//! separators lie above: of each page of a level its first element. A search bisects one page of
//! each level, so it needs one translation a level (paper 003 section 6). The array itself is the
//! lowest level, and unchanged.

use std::collections::TryReserveError;

use interleave::{Lookup, Policy};

use super::{SortedArray, search::lower_bound};

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// A sorted array with pages of separators above it. What is found is as of the array.
#[derive(Clone, Debug)]
pub struct PagedArray<T> {
    array: SortedArray<T>,
    /// From the lowest to the highest, which is one page.
    levels: Vec<Vec<T>>,
}

impl<T: Copy + Ord> PagedArray<T> {
    /// Elements of a page.
    const FAN_OUT: usize = {
        let bytes = if size_of::<T>() == 0 {
            1
        } else {
            size_of::<T>()
        };
        let elements = PAGE_BYTES / bytes;
        if elements < 2 { 2 } else { elements }
    };

    /// Above this array.
    ///
    /// # Errors
    /// When there is no memory for the separators.
    pub fn over(array: SortedArray<T>) -> Result<Self, TryReserveError> {
        let mut levels: Vec<Vec<T>> = Vec::new();
        loop {
            let below = levels.last().map_or(array.as_slice(), Vec::as_slice);
            if below.len() <= Self::FAN_OUT {
                break;
            }
            let pages = below.len().div_ceil(Self::FAN_OUT);
            let mut level = memory::on_huge_pages(pages)?;
            level.extend(below.iter().step_by(Self::FAN_OUT).copied());
            levels.push(level);
        }
        Ok(Self { array, levels })
    }

    /// The array below.
    pub fn array(&self) -> &SortedArray<T> {
        &self.array
    }

    /// Levels of separators.
    pub fn height(&self) -> usize {
        self.levels.len()
    }

    /// Bytes of elements and separators.
    pub fn bytes(&self) -> usize {
        let separators = self
            .levels
            .iter()
            .map(|level| size_of_val(level.as_slice()));
        self.array.bytes() + separators.sum::<usize>()
    }

    /// A page of a level; the array is below all levels.
    #[inline(always)]
    fn page(&self, level: usize, number: usize) -> &[T] {
        let all = match level.checked_sub(1) {
            Some(above) => self.levels[above].as_slice(),
            None => self.array.as_slice(),
        };
        let begin = number * Self::FAN_OUT;
        &all[begin..all.len().min(begin + Self::FAN_OUT)]
    }
}

impl<T: Copy + Ord> Lookup<T> for PagedArray<T> {
    type Found = Result<usize, usize>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, key: T) -> Result<usize, usize> {
        let (mut level, mut number) = (self.levels.len(), 0);
        loop {
            let page = self.page(level, number);
            let found = lower_bound::<P, T>(page, key).await;
            let less = found.unwrap_or_else(|place| place);
            if level == 0 {
                let place = number * Self::FAN_OUT + less;
                return match self.array.as_slice().get(place) {
                    Some(element) if *element == key => Ok(place),
                    _ => Err(place),
                };
            }
            // The first element that is not less lies in the last page whose first one is less,
            // or begins the next: both are the same place.
            number = number * Self::FAN_OUT + less.saturating_sub(1);
            level -= 1;
        }
    }
}
