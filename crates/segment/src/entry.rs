//! The directory of a block: its header, and what it says of each column (`lib.rs` has the layout).

use crate::{
    SegmentError,
    codes::{PADDING, PackedSlice, mask},
    words::{bytes_of, checksum},
};

/// First word of each block.
const MAGIC: u64 = 0x5745_4654_424c_4b00;
const VERSION: u16 = 1;
/// Words before the first entry.
pub(crate) const HEADER_WORDS: usize = 4;
/// Words of an entry.
pub(crate) const ENTRY_WORDS: usize = 8;
/// Words of the bounds of a column of bytes: half of them for the least, half for the greatest value.
pub(crate) const BOUNDS_WORDS: usize = 8;
/// Maximum bytes of a bound.
pub(crate) const BOUND_BYTES: usize = BOUNDS_WORDS / 2 * 8;

/// Words before the entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Words of header, entries and bounds.
    pub(crate) directory_words: usize,
}

/// Header that was read, and the words of its block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) header: Header,
    pub(crate) block_words: usize,
}

impl Header {
    /// Returns the first words of a block of `block_words` words: those of the header before its checksum.
    pub(crate) fn encode(
        &self,
        block_words: usize,
    ) -> Result<[u64; HEADER_WORDS - 1], SegmentError> {
        let all = u32::try_from(block_words).map_err(|_| SegmentError::TooLarge)?;
        Ok([
            MAGIC,
            u64::from(VERSION) | (self.columns as u64) << 16 | (self.rows as u64) << 32,
            self.directory_words as u64 | u64::from(all) << 32,
        ])
    }

    /// Writes the checksum of a block's directory, whose other words are there.
    pub(crate) fn seal(&self, words: &mut [u64]) {
        words[HEADER_WORDS - 1] = directory_checksum(words, self.directory_words).into();
    }

    /// Returns the header at the beginning of a block's words, whose directory is not looked at.
    pub(crate) fn read(words: &[u64]) -> Result<Opened, SegmentError> {
        let Some(&[magic, shape, lengths, _]) = words.first_chunk::<HEADER_WORDS>() else {
            return Err(SegmentError::NotABlock);
        };
        if magic != MAGIC {
            return Err(SegmentError::NotABlock);
        }
        if shape as u16 != VERSION {
            return Err(SegmentError::Version(shape as u16));
        }
        let header = Header {
            rows: (shape >> 32) as usize,
            columns: usize::from((shape >> 16) as u16),
            directory_words: lengths as u32 as usize,
        };
        Ok(Opened {
            header,
            block_words: (lengths >> 32) as usize,
        })
    }
}

/// Returns the checksum of a directory of `directory_words` words: all of them but the checksum's own.
pub(crate) fn directory_checksum(words: &[u64], directory_words: usize) -> u32 {
    checksum(&[
        &words[..HEADER_WORDS - 1],
        &words[HEADER_WORDS..directory_words],
    ])
}

/// The form in which values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// All values are one.
    Constant,
    /// Packed differences from the least value.
    Packed,
    /// Packed codes of sorted distinct values.
    Dictionary,
    /// The values by themselves.
    Plain,
}

/// Integers of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) encoding: Encoding,
    /// Bits of a code.
    pub(crate) width: u32,
    /// Values of the dictionary.
    pub(crate) entries: usize,
    pub(crate) least: i64,
    pub(crate) greatest: i64,
}

impl Stream {
    /// Returns the words of the codes.
    pub(crate) fn code_words(&self, rows: usize) -> usize {
        PackedSlice::words_of(rows, self.width)
    }

    /// Returns the words of a block's integers.
    pub(crate) fn words(&self, rows: usize) -> usize {
        match self.encoding {
            Encoding::Constant => 0,
            Encoding::Plain => rows,
            Encoding::Packed | Encoding::Dictionary => self.code_words(rows) + self.entries,
        }
    }

    fn is_sound(&self, rows: usize) -> bool {
        let range = self.greatest.abs_diff(self.least);
        let is_coded = (1..=32).contains(&self.width);
        self.least <= self.greatest
            && match self.encoding {
                Encoding::Constant => self.width == 0 && self.entries == 0 && range == 0,
                Encoding::Packed => {
                    is_coded && self.entries == 0 && range <= u64::from(mask(self.width))
                }
                Encoding::Dictionary => is_coded && (1..=rows).contains(&self.entries),
                Encoding::Plain => self.width == 0 && self.entries == 0,
            }
    }

    /// Returns whether the bounds are those of scales: 0 to 255.
    fn is_of_scales(&self) -> bool {
        self.least >= 0 && self.greatest <= u8::MAX.into()
    }
}

/// Values that are bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texts {
    /// Constant, dictionary or plain.
    pub(crate) encoding: Encoding,
    /// Bits of a code.
    pub(crate) width: u32,
    /// Bits of the end of a value among the bytes; 0 if all values are equally long.
    pub(crate) ends_width: u32,
    /// Values of the dictionary.
    pub(crate) entries: usize,
    /// Bytes of the values that are kept.
    pub(crate) heap_bytes: usize,
    /// Bytes of the values of all rows.
    pub(crate) byte_len: u64,
    /// Place of the bounds among the block's words.
    pub(crate) bounds: usize,
    /// Lengths of both bounds.
    pub(crate) bound_bytes: [usize; 2],
}

impl Texts {
    /// Returns the number of values that are kept.
    pub(crate) fn kept(&self, rows: usize) -> usize {
        match self.encoding {
            Encoding::Constant => 1,
            Encoding::Dictionary => self.entries,
            Encoding::Packed | Encoding::Plain => rows,
        }
    }

    /// Returns the words of the codes.
    pub(crate) fn code_words(&self, rows: usize) -> usize {
        PackedSlice::words_of(rows, self.width)
    }

    /// Returns the words of the ends.
    pub(crate) fn end_words(&self, rows: usize) -> usize {
        PackedSlice::words_of(self.kept(rows), self.ends_width)
    }

    /// Returns the words of a block's values.
    pub(crate) fn words(&self, rows: usize) -> usize {
        self.code_words(rows) + self.end_words(rows) + self.heap_bytes.div_ceil(8)
    }

    fn is_sound(&self, rows: usize) -> bool {
        let is_coded = self.width != 0;
        let kept = self.kept(rows);
        let is_shape_sound = match self.encoding {
            Encoding::Constant => !is_coded && self.entries == 0 && self.ends_width == 0,
            Encoding::Plain => !is_coded && self.entries == 0,
            Encoding::Dictionary => is_coded && (1..=rows).contains(&self.entries),
            Encoding::Packed => false,
        };
        // A value that is kept may be that of all rows; a plain one is that of one row.
        let is_len_sound = match self.encoding {
            Encoding::Plain => self.byte_len == self.heap_bytes as u64,
            _ => self.byte_len <= rows as u64 * self.heap_bytes as u64,
        };
        is_shape_sound
            && is_len_sound
            && rows > 0
            && self.width <= 32
            && self.ends_width <= 32
            && (self.ends_width > 0 || self.heap_bytes.is_multiple_of(kept))
            && self.bound_bytes.iter().all(|&bytes| bytes <= BOUND_BYTES)
    }

    /// Returns the bounds, which are the first of `words`: those of the least and of the greatest value.
    pub(crate) fn bounds<'w>(&self, words: &'w [u64]) -> [&'w [u8]; 2] {
        let (least, greatest) = bytes_of(words).split_at(BOUND_BYTES);
        [
            &least[..self.bound_bytes[0]],
            &greatest[..self.bound_bytes[1]],
        ]
    }
}

/// Values of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    Absent,
    Integers(Stream),
    Decimals(Stream, Stream),
    Bytes(Texts),
}

/// The directory's entry of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) content: Content,
    /// Whether some rows have no value, and others have one.
    pub(crate) has_absent: bool,
    /// First word of the segment.
    pub(crate) first: usize,
    pub(crate) checksum: u32,
}

impl Entry {
    /// Returns the words of the marks of absent values.
    pub(crate) fn absent_words(&self, rows: usize) -> usize {
        if self.has_absent {
            rows.div_ceil(64)
        } else {
            0
        }
    }

    /// Returns the entry of a column in a directory that was checked.
    pub(crate) fn of_column(directory: &[u64], column: usize, rows: usize) -> Entry {
        let at = HEADER_WORDS + column * ENTRY_WORDS;
        Entry::decode(&directory[at..], rows).expect("the entry was checked by `Opened::check`")
    }

    /// Checks the checksum of the column's segment.
    pub(crate) fn verify(&self, segment: &[u64], column: usize) -> Result<(), SegmentError> {
        let is_sound = checksum(&[segment]) == self.checksum;
        is_sound.then_some(()).ok_or(SegmentError::Checksum(column))
    }

    /// Returns the words of the segment.
    pub(crate) fn words(&self, rows: usize) -> usize {
        let content = match &self.content {
            Content::Absent => 0,
            Content::Integers(stream) => stream.words(rows),
            Content::Decimals(numbers, scales) => numbers.words(rows) + scales.words(rows),
            Content::Bytes(texts) => texts.words(rows),
        };
        self.absent_words(rows) + content
    }

    /// Returns the words of the entry, or `None` if the segment begins behind 2^32 words.
    pub(crate) fn encode(&self) -> Option<[u64; ENTRY_WORDS]> {
        let mut words = [0; ENTRY_WORDS];
        let mut small = [0_u8; 8];
        small[6] = self.has_absent.into();
        words[1] = u64::from(u32::try_from(self.first).ok()?) | u64::from(self.checksum) << 32;
        let streams: &[&Stream] = match &self.content {
            Content::Absent => &[],
            Content::Integers(stream) => {
                small[0] = 1;
                &[stream]
            }
            Content::Decimals(numbers, scales) => {
                small[0] = 2;
                &[numbers, scales]
            }
            Content::Bytes(texts) => {
                small[..4].copy_from_slice(&[
                    3,
                    texts.encoding as u8,
                    texts.width as u8,
                    texts.ends_width as u8,
                ]);
                words[2] = texts.entries as u64;
                words[3] = texts.heap_bytes as u64;
                words[4] = texts.byte_len;
                words[5] = texts.bounds as u64;
                words[6] = texts.bound_bytes[0] as u64 | (texts.bound_bytes[1] as u64) << 32;
                &[]
            }
        };
        for (at, stream) in streams.iter().enumerate() {
            small[1 + 2 * at] = stream.encoding as u8;
            small[2 + 2 * at] = stream.width as u8;
            words[2] |= (stream.entries as u64) << (32 * at);
            words[3 + 2 * at] = stream.least.cast_unsigned();
            words[4 + 2 * at] = stream.greatest.cast_unsigned();
        }
        words[0] = u64::from_le_bytes(small);
        Some(words)
    }

    /// Returns what the words of an entry say, or `None` if they contradict themselves. Places are not looked at.
    pub(crate) fn decode(words: &[u64], rows: usize) -> Option<Entry> {
        let words: &[u64; ENTRY_WORDS] = words.first_chunk()?;
        let small = words[0].to_le_bytes();
        let stream = |at: usize| {
            let stream = Stream {
                encoding: encoding(small[1 + 2 * at])?,
                width: small[2 + 2 * at].into(),
                entries: (words[2] >> (32 * at)) as u32 as usize,
                least: words[3 + 2 * at].cast_signed(),
                greatest: words[4 + 2 * at].cast_signed(),
            };
            stream.is_sound(rows).then_some(stream)
        };
        let content = match small[0] {
            0 => Content::Absent,
            1 => Content::Integers(stream(0)?),
            2 => Content::Decimals(stream(0)?, stream(1).filter(Stream::is_of_scales)?),
            3 => {
                let texts = Texts {
                    encoding: encoding(small[1])?,
                    width: small[2].into(),
                    ends_width: small[3].into(),
                    entries: words[2].try_into().ok()?,
                    heap_bytes: u32::try_from(words[3]).ok()? as usize,
                    byte_len: words[4],
                    bounds: words[5].try_into().ok()?,
                    bound_bytes: [words[6] as u32 as usize, (words[6] >> 32) as usize],
                };
                texts.is_sound(rows).then_some(Content::Bytes(texts))?
            }
            _ => return None,
        };
        Some(Entry {
            content,
            has_absent: match small[6] {
                0 => false,
                1 => true,
                _ => return None,
            },
            first: words[1] as u32 as usize,
            checksum: (words[1] >> 32) as u32,
        })
    }
}

fn encoding(number: u8) -> Option<Encoding> {
    let all = [
        Encoding::Constant,
        Encoding::Packed,
        Encoding::Dictionary,
        Encoding::Plain,
    ];
    all.get(usize::from(number)).copied()
}

impl Opened {
    /// Checks the directory, which is at the beginning of `words`: its checksum, each entry, and all places.
    pub(crate) fn check(&self, words: &[u64]) -> Result<(), SegmentError> {
        let header = &self.header;
        let is_sound = header.rows <= crate::ROWS_MAX
            && header.directory_words >= HEADER_WORDS + header.columns * ENTRY_WORDS
            && header.directory_words <= words.len()
            && words[HEADER_WORDS - 1]
                == u64::from(directory_checksum(words, header.directory_words));
        if !is_sound {
            return Err(SegmentError::Directory);
        }
        let mut end = header.directory_words;
        let mut bounds = HEADER_WORDS + header.columns * ENTRY_WORDS;
        for column in 0..header.columns {
            let damaged = SegmentError::Column(column);
            let at = HEADER_WORDS + column * ENTRY_WORDS;
            let Some(entry) = Entry::decode(&words[at..], header.rows) else {
                return Err(damaged);
            };
            if entry.first != end {
                return Err(damaged);
            }
            end += entry.words(header.rows);
            if let Content::Bytes(texts) = entry.content {
                let place = bounds..bounds + BOUNDS_WORDS;
                if texts.bounds != bounds || place.end > header.directory_words {
                    return Err(damaged);
                }
                let [least, greatest] = texts.bounds(&words[place]);
                if least > greatest {
                    return Err(damaged);
                }
                bounds += BOUNDS_WORDS;
            }
            if end > self.block_words {
                return Err(damaged);
            }
        }
        let is_sound = bounds == header.directory_words && end + PADDING == self.block_words;
        is_sound.then_some(()).ok_or(SegmentError::Directory)
    }
}
