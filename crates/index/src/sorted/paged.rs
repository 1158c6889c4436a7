//! A sorted array under separators in pages: a B+-tree whose leaves are the array.
//!
//! Binary search in a large array goes to another page with nearly every step, and each is a miss of
//! the translation buffer as well, which on ordinary pages costs as much as the cache's (paper 003
//! sections 5.4.3 and 6). Here a search stays within one page of [`PAGE_BYTES`] per level:
//!
//! ```text
//! level 2                [ s s … ]                  pages of separators: each the greatest
//! level 1   [ s s … ][ s s … ][ s s … ]             element of the page below it
//! array     [ e e … ][ e e … ][ e e … ][ e e … ]    as it lies in memory, by page
//! ```
//!
//! Pages of the array are where addresses say, wherever it begins; an element belongs to
//! the page that it begins in. How separators lie in a page: `paged/page.rs`.
//!
//! Invariant: of a key that is not greater than all elements, the lower bound lies below the first
//! separator that is not less than the key.

mod page;

use std::collections::TryReserveError;

use interleave::{Lookup, Point, Policy};
use memory::LINE_BYTES;

use self::page::{Layout, PAGE_BYTES, Page};
use super::{
    SortedArray,
    search::{finish, half, narrow, per_line},
};

/// An index of more lines is not asked for as a whole.
const INDEX_LINES_MAX: usize = 8;

const INDEX: Point = Point::new("paged array's index");
const DATA: Point = Point::new("paged array's data");
const ARRAY: Point = Point::new("paged array");

/// A sorted array under levels of separators, which have some thousandths of its size: a search stays
/// within one page of 4 KiB per level. Takes the place of huge pages where there are none, and is
/// faster than a [`SortedArray`] on them, too.
///
/// ```
/// use index::sorted::{PagedArray, SortedArray};
/// use interleave::{Execution, look_up_all};
///
/// let squares: Vec<u32> = (0..10_000).map(|n| n * n).collect();
/// let squares = PagedArray::new(SortedArray::from_sorted(squares).unwrap()).unwrap();
/// let mut found = [Ok(0); 2];
/// look_up_all(&squares, &[49, 50], Execution::in_flight(2), |at, one| found[at] = one);
/// assert_eq!(found, [Ok(7), Err(8)]);
/// ```
pub struct PagedArray<T> {
    array: SortedArray<T>,
    /// From the lowest, next to the array, to the highest, which has one page.
    levels: Vec<Vec<Page>>,
}

impl<T: Copy + Ord> PagedArray<T> {
    /// The array, under separators that are made here. Elements of 1 to 1024 bytes; others do not compile.
    ///
    /// # Errors
    /// When there is no memory for the separators.
    pub fn new(array: SortedArray<T>) -> Result<PagedArray<T>, TryReserveError> {
        let mut paged = PagedArray {
            array,
            levels: Vec::new(),
        };
        let mut below = paged.pages();
        while below > 1 {
            let count = below.div_ceil(Layout::<T>::PER_PAGE);
            let mut pages = memory::on_huge_pages(count)?;
            for page in 0..count {
                let from = page * Layout::<T>::PER_PAGE;
                let to = below.min(from + Layout::<T>::PER_PAGE);
                pages.push(Page::of((from..to).map(|number| paged.greatest(number))));
            }
            paged.levels.push(pages);
            below = count;
        }
        Ok(paged)
    }

    /// The array.
    pub fn array(&self) -> &SortedArray<T> {
        &self.array
    }

    /// The array, without the separators.
    pub fn into_array(self) -> SortedArray<T> {
        self.array
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.array.is_empty()
    }

    /// Levels of separators above the array.
    pub fn height(&self) -> usize {
        self.levels.len()
    }

    /// Bytes of the separators, whole pages.
    pub fn separator_bytes(&self) -> usize {
        PAGE_BYTES * self.levels.iter().map(Vec::len).sum::<usize>()
    }

    /// How far into its first page the array begins, in bytes.
    #[inline(always)]
    fn skipped(&self) -> usize {
        self.array.as_slice().as_ptr().addr() % PAGE_BYTES
    }

    /// Pieces of the array in which elements begin.
    fn pages(&self) -> usize {
        match self.array.len().checked_sub(1) {
            None => 0,
            Some(last) => (self.skipped() + last * size_of::<T>()) / PAGE_BYTES + 1,
        }
    }

    /// The first element that begins in a page or after it, though it be none.
    #[inline(always)]
    fn page_from(&self, page: usize) -> usize {
        (page * PAGE_BYTES)
            .saturating_sub(self.skipped())
            .div_ceil(size_of::<T>())
    }

    /// The page of that number.
    #[inline(always)]
    fn page(&self, level: usize, number: usize) -> *const Page {
        self.levels[level].as_ptr().wrapping_add(number)
    }

    /// The line of data that has the separator of that number.
    #[inline(always)]
    fn line(&self, level: usize, separator: usize) -> *const T {
        let page = self.page(level, separator / Layout::<T>::PER_PAGE);
        let line = separator % Layout::<T>::PER_PAGE / Layout::<T>::PER_LINE;
        page.wrapping_byte_add(Layout::<T>::data_of(line)).cast()
    }

    /// The greatest element under a page of the highest level that there is so far, or in a page.
    fn greatest(&self, number: usize) -> T {
        match self.levels.last() {
            None => {
                let elements = self.array.as_slice();
                elements[self.page_from(number + 1).min(elements.len()) - 1]
            }
            // SAFETY: the index is full, and of so many elements; its last is the greatest.
            Some(pages) => unsafe { *pages[number].index::<T>().add(Layout::<T>::LINES - 1) },
        }
    }
}

impl<T: Copy + Ord> Lookup<T> for PagedArray<T> {
    /// The place in the array of the first element that equals the key, or where one would be inserted.
    type Found = Result<usize, usize>;

    /// # Suspension
    /// At each level before the index of a page and before a line of it, and in the array before each line of a page
    /// that it has not been to, under policy `P`.
    #[inline(always)]
    fn look_up<P: Policy>(&self, key: T) -> impl Future<Output = Result<usize, usize>> {
        async move {
            let all = self.array.as_slice();
            // From here on some element is not less than the key.
            if all.last().is_none_or(|last| *last < key) {
                return Err(all.len());
            }
            let mut level = self.levels.len();
            // Of the page or, below, of the page that has the lower bound.
            let mut number = 0;
            while level > 0 {
                level -= 1;
                let (mut low, mut size) = (0, Layout::<T>::LINES);
                let is_small = Layout::<T>::INDEX_BYTES <= INDEX_LINES_MAX * LINE_BYTES;
                if is_small {
                    let index = self.page(level, number).cast::<T>();
                    P::touch(INDEX.at(level as u8), index, Layout::<T>::INDEX_BYTES).await;
                } else {
                    while size > per_line::<T>() {
                        let index = self.page(level, number).cast::<T>();
                        let address = index.wrapping_add(low + half(size));
                        P::touch(INDEX.at(level as u8), address, size_of::<T>()).await;
                        let half = half(size);
                        // SAFETY: the probe lies within the index.
                        low = unsafe {
                            narrow(self.page(level, number).cast(), low, low + half, key)
                        };
                        size -= half;
                    }
                }
                // SAFETY: there is such a page, and the range lies within its index.
                let line = unsafe { finish(self.page(level, number).cast(), low, size, key) };
                number = number * Layout::<T>::PER_PAGE + line * Layout::<T>::PER_LINE;
                if Layout::<T>::HAS_DATA {
                    P::touch(DATA.at(level as u8), self.line(level, number), LINE_BYTES).await;
                    let line = self.line(level, number);
                    // All of a line: that takes no longer than to search it, and nothing waits for
                    // anything before.
                    number += (0..Layout::<T>::PER_LINE)
                        // SAFETY: a line has so many.
                        .map(|place| usize::from(unsafe { *line.add(place) } < key))
                        .sum::<usize>();
                }
            }
            let from = self.page_from(number);
            let mut low = from;
            let mut size = self.page_from(number + 1).min(self.len()) - from;
            while size > per_line::<T>() {
                let elements = self.array.as_slice().as_ptr();
                let address = elements.wrapping_add(low + half(size));
                P::touch(ARRAY, address, size_of::<T>()).await;
                let elements = self.array.as_slice().as_ptr();
                let half = half(size);
                // SAFETY: the probe lies within the page, which is not empty.
                low = unsafe { narrow(elements, low, low + half, key) };
                size -= half;
            }
            let elements = self.array.as_slice().as_ptr();
            // SAFETY: likewise; halving leaves at least one element.
            let place = unsafe { finish(elements, low, size, key) };
            // SAFETY: by the invariant, the lower bound lies within the page.
            let is_key = unsafe { *elements.add(place) } == key;
            if is_key { Ok(place) } else { Err(place) }
        }
    }
}
