//! A node: separators in one page, as a tree of lines.
//!
//! ```text
//! root      [ greatest of index line 0, of index line 1, … ]      one line
//! index     [ greatest of data line 0, of data line 1, … ] …      as many lines as it takes
//! data      [ s s s s ][ s s s s ][ s s s s ] …
//! ```
//!
//! A search reads one line of each depth: three for integers of four bytes, where binary search would read six. If
//! elements are so large that a line has only one, the page is their sorted sequence without further lines, and is
//! searched by halves.
//!
//! The lines of page `n` are turned by `n`: the roots of all pages would otherwise fall into the same few sets of each
//! cache, and lookups at the same depth would evict each other's lines.
//!
//! Invariant: a page is full. After its separators it repeats the last one, and so does each depth above,
//! so that the sizes of all searches are constants.

use std::mem::MaybeUninit;

use memory::LINE_BYTES;

/// Bytes of a node: the size of the smallest common pages.
pub(super) const PAGE_BYTES: usize = 4096;

/// Maximum depths of a page: lines have two elements at least.
const DEPTH_MAX: usize = 8;

/// The memory of a page.
#[repr(C, align(4096))]
pub(super) struct Page([MaybeUninit<u8>; PAGE_BYTES]);

/// Arrangement of elements of a type in a page.
pub(super) struct Layout<T>(T);

impl<T: Copy> Layout<T> {
    /// Elements in a line.
    pub(super) const PER_LINE: usize = {
        assert!(size_of::<T>() > 0, "elements without a size need no index");
        assert!(size_of::<T>() <= PAGE_BYTES / 4, "few elements in a page");
        assert!(
            align_of::<T>() <= LINE_BYTES,
            "elements of a line lie in it"
        );
        match LINE_BYTES / size_of::<T>() {
            0 => 1,
            elements => elements,
        }
    };

    /// Whether lines are a tree; else elements are searched by halves.
    pub(super) const HAS_LINES: bool = Self::PER_LINE > 1;

    /// Lines of data.
    const DATA_LINES: usize = {
        let mut lines = 1;
        while Self::HAS_LINES && Self::lines_above(lines + 1) + lines < PAGE_BYTES / LINE_BYTES {
            lines += 1;
        }
        lines
    };

    /// Separators of a page.
    pub(super) const PER_PAGE: usize = match Self::HAS_LINES {
        true => Self::DATA_LINES * Self::PER_LINE,
        false => PAGE_BYTES / size_of::<T>(),
    };

    /// Lines that a search reads, from the root to the data.
    pub(super) const DEPTH: usize = {
        let (mut depth, mut lines) = (1, Self::DATA_LINES);
        while lines > 1 {
            lines = lines.div_ceil(Self::PER_LINE);
            depth += 1;
        }
        depth
    };

    /// Lines of each depth.
    const LINES: [usize; DEPTH_MAX] = {
        let mut all = [0; DEPTH_MAX];
        let (mut depth, mut lines) = (Self::DEPTH, Self::DATA_LINES);
        while depth > 0 {
            depth -= 1;
            all[depth] = lines;
            lines = lines.div_ceil(Self::PER_LINE);
        }
        all
    };

    /// Lines before those of each depth.
    const LINES_FROM: [usize; DEPTH_MAX] = {
        let mut all = [0; DEPTH_MAX];
        let mut depth = 1;
        while depth < Self::DEPTH {
            all[depth] = all[depth - 1] + Self::LINES[depth - 1];
            depth += 1;
        }
        all
    };

    /// Returns the greatest depth whose first line leads to each of `separators` separators of a page, or 0.
    pub(super) fn depth_from(separators: usize) -> usize {
        let mut depth = Self::DEPTH - 1;
        let mut reached = Self::PER_LINE;
        while reached < separators && depth > 0 {
            reached = reached.saturating_mul(Self::PER_LINE);
            depth -= 1;
        }
        depth
    }

    /// Returns the number of lines above `lines` lines of data.
    const fn lines_above(mut lines: usize) -> usize {
        let mut above = 0;
        while lines > 1 {
            lines = lines.div_ceil(Self::PER_LINE);
            above += lines;
        }
        above
    }

    /// Returns where a line of a depth begins, in bytes, in page number `page`.
    #[inline(always)]
    pub(super) fn line_at(page: usize, depth: usize, line: usize) -> usize {
        let line = Self::LINES_FROM[depth] + line + page;
        line % (PAGE_BYTES / LINE_BYTES) * LINE_BYTES
    }

    /// Returns where an element of a depth is, in bytes.
    fn element_at(page: usize, depth: usize, place: usize) -> usize {
        match Self::HAS_LINES {
            true => {
                let (line, place) = (place / Self::PER_LINE, place % Self::PER_LINE);
                Self::line_at(page, depth, line) + place * size_of::<T>()
            }
            false => place * size_of::<T>(),
        }
    }
}

impl Page {
    /// Makes page number `number` of `separators`, of which there is at least one, and at most [`Layout::PER_PAGE`].
    pub(super) fn of<T: Copy>(number: usize, separators: impl Iterator<Item = T>) -> Page {
        let mut page = Page([MaybeUninit::uninit(); PAGE_BYTES]);
        let mut separators = separators.peekable();
        let mut last = *separators.peek().expect("a page has separators");
        let data = Layout::<T>::DEPTH - 1;
        for place in 0..Layout::<T>::PER_PAGE {
            last = separators.next().unwrap_or(last);
            page.write(Layout::<T>::element_at(number, data, place), last);
        }
        for depth in (0..data).rev() {
            let below = Layout::<T>::LINES[depth + 1] * Layout::<T>::PER_LINE;
            for place in 0..Layout::<T>::LINES[depth] * Layout::<T>::PER_LINE {
                let last = ((place + 1) * Layout::<T>::PER_LINE).min(below) - 1;
                // SAFETY: the depth below has been written as a whole.
                let greatest = unsafe { page.element::<T>(number, depth + 1, last) };
                page.write(Layout::<T>::element_at(number, depth, place), greatest);
            }
        }
        page
    }

    fn write<T: Copy>(&mut self, at: usize, element: T) {
        assert!(at + size_of::<T>() <= PAGE_BYTES && at.is_multiple_of(align_of::<T>()));
        // SAFETY: the element lies within the page and is aligned, as just compared: the page is aligned for every
        // element that a layout allows.
        unsafe { self.0.as_mut_ptr().add(at).cast::<T>().write(element) };
    }

    /// # Safety
    /// The element has been written, with this type and in the page of this number.
    unsafe fn element<T: Copy>(&self, number: usize, depth: usize, place: usize) -> T {
        let at = Layout::<T>::element_at(number, depth, place);
        // SAFETY: the element is there, as the caller promises, and aligned, as `write` has compared.
        unsafe { self.0.as_ptr().add(at).cast::<T>().read() }
    }

    /// Returns the greatest separator.
    ///
    /// # Safety
    /// The page holds elements of this type and has this number.
    pub(super) unsafe fn greatest<T: Copy>(&self, number: usize) -> T {
        // SAFETY: pages are full.
        unsafe { self.element(number, Layout::<T>::DEPTH - 1, Layout::<T>::PER_PAGE - 1) }
    }
}
