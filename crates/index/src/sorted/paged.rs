//! A sorted array under separators in pages: a B+-tree whose leaves are the array.
//!
//! Binary search in a large array goes to another page with nearly every step, and each step misses the translation
//! buffer as well, which on ordinary pages costs as much as the miss of the cache (paper 003 sections 5.4.3 and 6).
//! Here a search stays within one page of [`PAGE_BYTES`] per level:
//!
//! ```text
//! level 2                [ s s … ]                  pages of separators: each the greatest element
//! level 1   [ s s … ][ s s … ][ s s … ]             of what is below it
//! array     [e][e][e][e][e][e][e][e][e] …           as it lies in memory, by pieces
//! ```
//!
//! A *piece* is one line or several: eight elements at least. A search in 2 GiB of integers of four bytes therefore
//! reads four lines that are not in the cache, three in the lowest level and one in the array, where binary search
//! reads a dozen; separators take some 7 % of the array's memory, with larger elements up to 14 %.
//!
//! Pieces of the array are aligned by address, wherever the array begins; an element belongs to the piece that it
//! begins in. The file `paged/page.rs` tells how separators lie in a page. Small levels are in the cache, and searches
//! do not suspend there.
//!
//! Invariant: the lower bound of a key that is not greater than all elements lies below the first separator that is not
//! less than the key.

mod page;

use std::{collections::TryReserveError, slice};

use interleave::{Lookup, Point, Policy};
use memory::LINE_BYTES;

use self::page::{Layout, PAGE_BYTES, Page};
use super::{
    SortedArray,
    search::{finish, lower_bound},
};

/// Maximum pages of a level that is in the cache after few lookups.
const NEAR_PAGES: usize = 8;
/// Maximum bytes of a piece that is prefetched as a whole.
const TOGETHER_BYTES: usize = 2 * LINE_BYTES;
/// Minimum elements of a piece, unless they take more than a page.
const PER_PIECE: usize = 8;

const SEPARATORS: Point = Point::new("paged array's separators");
const ARRAY: Point = Point::new("paged array");

/// A sorted array under levels of separators, which have 7 to 14 % of its size: a search stays within one page of 4 KiB
/// per level, and reads few lines of that page. A paged array takes the place of huge pages where there are none, and
/// is faster than a [`SortedArray`] on huge pages, too.
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
    /// Levels from the lowest, next to the array, to the highest, which has one page.
    levels: Vec<Vec<Page>>,
    /// Depth of the highest page at which a search begins: all depths above have one line in use.
    depth_from: usize,
}

impl<T: Copy + Ord> PagedArray<T> {
    /// Puts `array` under separators that are made here. Elements take 1 to 1024 bytes; others do not compile.
    ///
    /// # Errors
    /// [`TryReserveError`] if there is no memory for the separators.
    pub fn new(array: SortedArray<T>) -> Result<PagedArray<T>, TryReserveError> {
        let mut paged = PagedArray {
            array,
            levels: Vec::new(),
            depth_from: 0,
        };
        let mut below = paged.pieces();
        while below > 1 {
            paged.depth_from = Layout::<T>::depth_from(below);
            let count = below.div_ceil(Layout::<T>::PER_PAGE);
            let mut pages = memory::on_huge_pages(count)?;
            for page in 0..count {
                let from = page * Layout::<T>::PER_PAGE;
                let to = below.min(from + Layout::<T>::PER_PAGE);
                pages.push(Page::of(
                    page,
                    (from..to).map(|number| paged.greatest(number)),
                ));
            }
            paged.levels.push(pages);
            below = count;
        }
        Ok(paged)
    }

    /// Returns the array.
    pub fn array(&self) -> &SortedArray<T> {
        &self.array
    }

    /// Returns the array, without the separators.
    pub fn into_array(self) -> SortedArray<T> {
        self.array
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.array.is_empty()
    }

    /// Returns the number of levels of separators above the array.
    pub fn height(&self) -> usize {
        self.levels.len()
    }

    /// Returns the bytes of the separators, whole pages.
    pub fn separator_bytes(&self) -> usize {
        PAGE_BYTES * self.levels.iter().map(Vec::len).sum::<usize>()
    }

    /// Bytes of a piece.
    const PIECE_BYTES: usize = {
        let bytes = (PER_PIECE * size_of::<T>()).next_power_of_two();
        if bytes < LINE_BYTES {
            LINE_BYTES
        } else if bytes > PAGE_BYTES {
            PAGE_BYTES
        } else {
            bytes
        }
    };

    /// Returns how far into its first piece the array begins, in bytes.
    #[inline(always)]
    fn skipped(&self) -> usize {
        self.array.as_slice().as_ptr().addr() % Self::PIECE_BYTES
    }

    /// Returns the number of pieces of the array in which elements begin.
    fn pieces(&self) -> usize {
        match self.array.len().checked_sub(1) {
            None => 0,
            Some(last) => (self.skipped() + last * size_of::<T>()) / Self::PIECE_BYTES + 1,
        }
    }

    /// Returns the first element that begins in a piece or after it, even if there is no such element.
    #[inline(always)]
    fn piece_from(&self, piece: usize) -> usize {
        (piece * Self::PIECE_BYTES)
            .saturating_sub(self.skipped())
            .div_ceil(size_of::<T>())
    }

    /// Returns the elements that begin in a piece: the first, and how many.
    #[inline(always)]
    fn piece(&self, piece: usize) -> (usize, usize) {
        let from = self.piece_from(piece);
        (from, self.piece_from(piece + 1).min(self.len()) - from)
    }

    /// Returns the page with number `number` of a level.
    #[inline(always)]
    fn page(&self, level: usize, number: usize) -> *const Page {
        self.levels[level].as_ptr().wrapping_add(number)
    }

    /// Returns a line of a page.
    #[inline(always)]
    fn line(&self, level: usize, page: usize, depth: usize, line: usize) -> *const T {
        let at = Layout::<T>::line_at(page, depth, line);
        self.page(level, page).wrapping_byte_add(at).cast()
    }

    /// Returns the greatest element under a page of the highest level that there is so far, or in a piece.
    fn greatest(&self, number: usize) -> T {
        match self.levels.last() {
            None => {
                let elements = self.array.as_slice();
                elements[self.piece_from(number + 1).min(elements.len()) - 1]
            }
            // SAFETY: the pages hold elements of this type, and are numbered as they come.
            Some(pages) => unsafe { pages[number].greatest(number) },
        }
    }
}

impl<T: Copy + Ord> Lookup<T> for PagedArray<T> {
    /// Place in the array of the first element that equals the key, or where such an element would be inserted.
    type Found = Result<usize, usize>;

    /// # Suspension
    /// Suspends before each line of a page of separators, unless their level is small, and before the piece of the
    /// array (for large elements, before each line of it that was not read yet).
    #[inline(always)]
    fn look_up<P: Policy>(&self, key: T) -> impl Future<Output = Result<usize, usize>> {
        async move {
            let all = self.array.as_slice();
            // From here on at least one element is not less than the key.
            if all.last().is_none_or(|last| *last < key) {
                return Err(all.len());
            }
            let mut level = self.levels.len();
            // Number of the page or, below, of the piece that has the lower bound.
            let mut number = 0;
            while level > 0 {
                level -= 1;
                let point = SEPARATORS.at(level as u8);
                if Layout::<T>::HAS_LINES {
                    // Place of the line, among those of its depth; behind the last depth, of the separator.
                    let is_top = level + 1 == self.levels.len();
                    let (mut place, mut depth) = (0, if is_top { self.depth_from } else { 0 });
                    while depth < Layout::<T>::DEPTH {
                        if self.levels[level].len() > NEAR_PAGES {
                            let line = self.line(level, number, depth, place);
                            P::touch(point, line, LINE_BYTES).await;
                        }
                        let line = self.line(level, number, depth, place);
                        // Compare all of a line: that takes no longer than to search it, and no comparison waits for
                        // another.
                        let less = (0..Layout::<T>::PER_LINE)
                            // SAFETY: a line has so many elements.
                            .map(|at| u32::from(unsafe { *line.add(at) } < key))
                            .sum::<u32>();
                        place = place * Layout::<T>::PER_LINE + less as usize;
                        depth += 1;
                    }
                    number = number * Layout::<T>::PER_PAGE + place;
                } else {
                    let page = self.page(level, number).cast::<T>();
                    // SAFETY: there is such a page, and it is full.
                    let page = unsafe { slice::from_raw_parts(page, Layout::<T>::PER_PAGE) };
                    let place = lower_bound::<P, T>(page, key).await;
                    let place = place.unwrap_or_else(|place| place);
                    number = number * Layout::<T>::PER_PAGE + place;
                }
            }
            let (low, size) = self.piece(number);
            if Self::PIECE_BYTES > TOGETHER_BYTES {
                let piece = &self.array.as_slice()[low..low + size];
                let found = lower_bound::<P, T>(piece, key).await;
                return found.map(|at| low + at).map_err(|at| low + at);
            }
            let address = self.array.as_slice().as_ptr().wrapping_add(low);
            P::touch(ARRAY, address, size * size_of::<T>()).await;
            let (low, size) = self.piece(number);
            let elements = self.array.as_slice().as_ptr();
            // SAFETY: the piece lies within the array, and is not empty.
            let place = unsafe { finish(elements, low, size, key) };
            // SAFETY: by the invariant, the lower bound lies within the piece.
            let is_key = unsafe { *elements.add(place) } == key;
            if is_key { Ok(place) } else { Err(place) }
        }
    }
}
