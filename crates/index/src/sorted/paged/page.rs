//! A node: separators in one page, by lines.
//!
//! ```text
//! index   [ greatest of line 0, of line 1, … ]    lines of their own
//! data    [ s s s s ][ s s s s ][ s s s s ] …     line 0, line 1, …
//! ```
//!
//! A search reads the lines of the index, which are asked for together, and one line of data: it waits twice,
//! where binary search would at each of six lines. Elements that are so large that a line has but
//! one are all index.
//!
//! Invariant: a page is full. After its separators it repeats the last one, so that the sizes of all
//! searches are constants.

use std::mem::MaybeUninit;

use memory::LINE_BYTES;

/// Bytes of a node, as of the smallest pages that are common.
pub(super) const PAGE_BYTES: usize = 4096;

/// The memory of a page.
#[repr(C, align(4096))]
pub(super) struct Page([MaybeUninit<u8>; PAGE_BYTES]);

/// How elements of a type lie in a page.
pub(super) struct Layout<T>(T);

impl<T: Copy> Layout<T> {
    /// Elements in a line of data.
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

    /// Whether there are lines of data, or the index is all.
    pub(super) const HAS_DATA: bool = Self::PER_LINE > 1;

    /// Elements of the index.
    pub(super) const LINES: usize = match Self::HAS_DATA {
        false => PAGE_BYTES / size_of::<T>(),
        true => {
            let mut lines = 1;
            while Self::data_from(lines + 1) + (lines + 1) * LINE_BYTES <= PAGE_BYTES {
                lines += 1;
            }
            lines
        }
    };

    /// Separators of a page.
    pub(super) const PER_PAGE: usize = Self::LINES * Self::PER_LINE;

    /// Bytes of the index.
    pub(super) const INDEX_BYTES: usize = Self::LINES * size_of::<T>();

    /// Where a line of data begins.
    #[inline(always)]
    pub(super) const fn data_of(line: usize) -> usize {
        Self::data_from(Self::LINES) + line * LINE_BYTES
    }

    /// Where data begins, for so many lines of it.
    const fn data_from(lines: usize) -> usize {
        (lines * size_of::<T>()).next_multiple_of(LINE_BYTES)
    }
}

impl Page {
    /// A page of these separators, of which there is at least one, and at most [`Layout::PER_PAGE`].
    pub(super) fn of<T: Copy>(separators: impl Iterator<Item = T>) -> Page {
        let mut page = Page([MaybeUninit::uninit(); PAGE_BYTES]);
        let mut separators = separators.peekable();
        let mut last = *separators.peek().expect("a page has separators");
        for line in 0..Layout::<T>::LINES {
            for place in 0..Layout::<T>::PER_LINE {
                last = separators.next().unwrap_or(last);
                if Layout::<T>::HAS_DATA {
                    let at = Layout::<T>::data_of(line) + place * size_of::<T>();
                    page.write(at, last);
                }
            }
            page.write(line * size_of::<T>(), last);
        }
        page
    }

    fn write<T: Copy>(&mut self, at: usize, element: T) {
        assert!(at + size_of::<T>() <= PAGE_BYTES && at.is_multiple_of(align_of::<T>()));
        // SAFETY: within the page and aligned, as just compared: the page is aligned for every
        // element that a layout allows.
        unsafe { self.0.as_mut_ptr().add(at).cast::<T>().write(element) };
    }

    /// The index: as many elements as the layout says.
    #[inline(always)]
    pub(super) fn index<T: Copy>(&self) -> *const T {
        (&raw const *self).cast()
    }
}
