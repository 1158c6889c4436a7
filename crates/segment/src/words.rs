//! Words, looked at as bytes and as integers, and their checksum.

/// Returns the bytes of words, in the order of the machine.
pub(crate) fn bytes_of(words: &[u64]) -> &[u8] {
    // SAFETY: the words are initialised bytes, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// Returns the bytes of words, in the order of the machine, to be written.
pub(crate) fn bytes_of_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: the words are initialised bytes, which need no alignment; any bytes are words.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// Returns words as integers of the same bits.
pub(crate) fn integers_of(words: &[u64]) -> &[i64] {
    // SAFETY: both types have the same size and alignment, and all bits are integers.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// Returns the checksum of the words of several lists, one after the other.
pub(crate) fn checksum(lists: &[&[u64]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for words in lists {
        hasher.update(bytes_of(words));
    }
    hasher.finalize()
}

/// Returns whether the bit of a row is set.
#[inline]
pub(crate) fn is_set(marks: &[u64], row: usize) -> bool {
    marks[row / 64] >> (row % 64) & 1 == 1
}
