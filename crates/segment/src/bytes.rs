//! Lists of bytes of a column.

use crate::{
    codes::PackedSlice,
    entry::{Encoding, Texts},
    words::{bytes_of, is_set},
};

/// The values of a column of lists of bytes.
///
/// The value of an absent row is empty; the code of an absent row is that of any value.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'b> {
    form: Form<'b>,
    rows: usize,
    absent: Option<&'b [u64]>,
    bounds: [&'b [u8]; 2],
    byte_len: u64,
}

#[derive(Clone, Copy, Debug)]
enum Form<'b> {
    Constant(&'b [u8]),
    Dictionary(Dictionary<'b>),
    Plain(List<'b>),
}

/// Lists of bytes, one after the other.
#[derive(Clone, Copy, Debug)]
struct List<'b> {
    heap: &'b [u8],
    ends: Ends<'b>,
}

#[derive(Clone, Copy, Debug)]
enum Ends<'b> {
    /// End of each value among the bytes.
    Packed(PackedSlice<'b>),
    /// Number of values, and bytes of each.
    Equal(usize, usize),
}

impl<'b> List<'b> {
    fn len(&self) -> usize {
        match self.ends {
            Ends::Packed(ends) => ends.len(),
            Ends::Equal(count, _) => count,
        }
    }

    /// Returns a value; an empty one if there is none, or a damaged block says that it is not among the bytes.
    #[inline]
    fn get(&self, at: usize) -> &'b [u8] {
        if at >= self.len() {
            return &[];
        }
        let range = match &self.ends {
            Ends::Packed(ends) => {
                let start = at.checked_sub(1).map_or(0, |before| ends.get(before));
                start as usize..ends.get(at) as usize
            }
            &Ends::Equal(_, bytes) => at * bytes..(at + 1) * bytes,
        };
        self.heap.get(range).unwrap_or_default()
    }
}

/// Distinct values in ascending order, and the code of each row: the place of its value. Codes compare as values do.
#[derive(Clone, Copy, Debug)]
pub struct Dictionary<'b> {
    list: List<'b>,
    codes: PackedSlice<'b>,
}

impl<'b> Dictionary<'b> {
    /// Returns the number of values: at least 2, or 1 in a damaged block.
    #[expect(clippy::len_without_is_empty, reason = "a dictionary is never empty")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the value of a code; an empty list for a code that no value has, as rows of a damaged segment may have.
    #[inline]
    pub fn entry(&self, code: u32) -> &'b [u8] {
        self.list.get(code as usize)
    }

    /// Returns the code of each row.
    pub fn codes(&self) -> PackedSlice<'b> {
        self.codes
    }
}

impl<'b> Bytes<'b> {
    /// Makes the values whose words are the first of `words`, and whose bounds are the first of `bounds`.
    pub(crate) fn new(
        texts: &Texts,
        words: &'b [u64],
        bounds: &'b [u64],
        rows: usize,
        absent: Option<&'b [u64]>,
    ) -> Self {
        const CHECKED: &str = "the words were checked by `open`";
        let behind = &words[texts.code_words(rows)..];
        let heap = &bytes_of(&behind[texts.end_words(rows)..])[..texts.heap_bytes];
        let kept = texts.kept(rows);
        let list = || List {
            heap,
            ends: match texts.ends_width {
                0 => Ends::Equal(kept, texts.heap_bytes / kept),
                width => Ends::Packed(PackedSlice::new(behind, kept, width).expect(CHECKED)),
            },
        };
        let form = match texts.encoding {
            Encoding::Constant => Form::Constant(heap),
            Encoding::Dictionary => Form::Dictionary(Dictionary {
                list: list(),
                codes: PackedSlice::new(words, rows, texts.width).expect(CHECKED),
            }),
            Encoding::Packed | Encoding::Plain => Form::Plain(list()),
        };
        Self {
            form,
            rows,
            absent,
            bounds: texts.bounds(bounds),
            byte_len: texts.byte_len,
        }
    }

    /// Returns the value of a row; an empty one if the row is absent.
    ///
    /// # Panics
    /// Panics if there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> &'b [u8] {
        assert!(row < self.rows, "there are {} rows", self.rows);
        if self.absent.is_some_and(|absent| is_set(absent, row)) {
            return &[];
        }
        match &self.form {
            Form::Constant(value) => value,
            Form::Dictionary(dictionary) => dictionary.entry(dictionary.codes.get(row)),
            Form::Plain(list) => list.get(row),
        }
    }

    /// Returns the first 32 bytes of the least value, or all of it if it is shorter. No value is less.
    pub fn least(&self) -> &'b [u8] {
        self.bounds[0]
    }

    /// Returns the first 32 bytes of the greatest value, or all of it if it is shorter. The first 32 bytes of no value
    /// are greater; a value may be, if the answer has 32 bytes.
    pub fn greatest(&self) -> &'b [u8] {
        self.bounds[1]
    }

    /// Returns the value of all rows that have one, if it is the same.
    pub fn constant(&self) -> Option<&'b [u8]> {
        match self.form {
            Form::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the distinct values and the code of each row, if they are kept in this form.
    pub fn dictionary(&self) -> Option<Dictionary<'b>> {
        match self.form {
            Form::Dictionary(dictionary) => Some(dictionary),
            _ => None,
        }
    }

    /// Returns the bytes of the values of all rows, each as often as rows have it.
    pub fn byte_len(&self) -> u64 {
        self.byte_len
    }
}
