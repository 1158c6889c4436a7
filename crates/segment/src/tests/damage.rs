//! Words of damaged blocks.

use super::*;
use crate::fuzz::seal;

fn small_columns() -> Vec<Vec<Cell>> {
    let text = |value: &str| Cell::Bytes(value.into());
    vec![
        vec![
            Cell::Integer(3),
            Cell::Integer(9),
            Cell::Absent,
            Cell::Integer(4),
        ],
        vec![
            Cell::Decimal(1, 2),
            Cell::Decimal(i64::MAX, 2),
            Cell::Decimal(1, 3),
            Cell::Absent,
        ],
        vec![text("a"), text("bcd"), text(""), text("ef")],
        vec![Cell::Absent, Cell::Absent, Cell::Absent, Cell::Absent],
        vec![Cell::Absent, text("x"), text("x"), text("x")],
    ]
}

#[test]
fn each_bit_that_changes_is_noticed() {
    let block = block_of(&small_columns());
    for bit in 0..block.words().len() * 64 {
        let mut words = block.words().to_vec();
        words[bit / 64] ^= 1 << (bit % 64);
        let verified = Block::open(words).and_then(|block| block.verify());
        assert!(verified.is_err(), "bit {bit}");
    }
}

#[test]
fn each_bit_that_changes_is_noticed_by_the_directory_or_a_segment() {
    let block = block_of(&small_columns());
    let directory_words = block.directory().unwrap().place(0).start / 8;
    for bit in 0..directory_words * 64 {
        let mut words = block.words()[..directory_words].to_vec();
        words[bit / 64] ^= 1 << (bit % 64);
        assert!(Directory::open(words).is_err(), "bit {bit}");
    }
    let directory = block.directory().unwrap();
    for column in 0..directory.columns() {
        let place = directory.place(column);
        for bit in 0..place.len() * 8 {
            let mut bytes = block.bytes()[place.clone()].to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let refused = directory.segment(column, &bytes).unwrap_err();
            assert_eq!(refused, SegmentError::Checksum(column), "bit {bit}");
        }
    }
}

#[test]
fn a_directory_is_refused_without_its_last_word_or_with_another() {
    let block = block_of(&small_columns());
    let words = block.directory().unwrap().place(0).start / 8;
    for words in [words - 1, words + 1] {
        let cut = Directory::open(block.words()[..words].to_vec());
        assert!(matches!(cut, Err(SegmentError::Length { .. })), "{words}");
    }
}

#[test]
fn blocks_that_are_cut_or_longer_are_refused() {
    let block = block_of(&small_columns());
    for words in 0..block.words().len() {
        Block::open(block.words()[..words].to_vec()).unwrap_err();
    }
    let mut longer = block.words().to_vec();
    longer.push(0);
    let expected = block.words().len();
    let error = SegmentError::Length {
        words: expected + 1,
        expected,
    };
    assert_eq!(Block::open(longer).unwrap_err(), error);
}

#[test]
fn damage_has_a_name() {
    let block = block_of(&small_columns());
    let changed = |word: usize, bits: u64| {
        let mut words = block.words().to_vec();
        words[word] ^= bits;
        Block::open(words)
    };
    assert_eq!(changed(0, 1).unwrap_err(), SegmentError::NotABlock);
    assert_eq!(changed(1, 2).unwrap_err(), SegmentError::Version(3));
    assert_eq!(changed(4, 1).unwrap_err(), SegmentError::Directory);
    let end = block.words().len();
    assert_eq!(changed(end - 1, 1).unwrap_err(), SegmentError::Directory);
    let last = changed(end - 9, 1).unwrap();
    last.verify_column(0).unwrap();
    assert_eq!(last.verify_column(4), Err(SegmentError::Checksum(4)));
    assert_eq!(last.verify(), Err(SegmentError::Checksum(4)));
}

/// Opens the words of a block after changes, with the right checksum of the directory.
fn reopened(block: &Block, change: impl FnOnce(&mut [u64])) -> Result<Block, SegmentError> {
    let mut words = block.words().to_vec();
    change(&mut words);
    seal(&mut words);
    Block::open(words)
}

/// Returns the place of a column's entry.
fn entry(column: usize) -> usize {
    4 + column * 8
}

#[test]
fn codes_without_a_value_are_read() {
    let numbers = (0..16).map(|row| Cell::Integer((row % 3 + 1) << 40));
    let texts = (0..16).map(|row| Cell::Bytes(vec![b'a' + row % 3; 8]));
    let block = block_of(&[numbers.collect(), texts.collect()]);
    let block = reopened(&block, |words| {
        for column in [0, 1] {
            let first = words[entry(column) + 1] as u32 as usize;
            words[first..][..2].fill(u64::MAX);
        }
    });
    let block = block.unwrap();
    let Values::Integers(numbers) = block.column(0).values() else {
        panic!("a column of integers");
    };
    let Values::Bytes(texts) = block.column(1).values() else {
        panic!("a column of bytes");
    };
    let of_numbers = numbers.dictionary().unwrap();
    let of_texts = texts.dictionary().unwrap();
    assert_eq!((of_numbers.entries().len(), of_texts.len()), (3, 3));
    for code in [of_numbers.codes().get(5), of_texts.codes().get(5), u32::MAX] {
        assert!(code >= 3);
        assert_eq!((of_numbers.entry(code), of_texts.entry(code)), (0, &[][..]));
    }
    assert_eq!((numbers.get(5), texts.get(5)), (0, &[][..]));
    assert_eq!(
        (of_numbers.entry(2), of_texts.entry(2)),
        (3 << 40, &[b'c'; 8][..])
    );
}

#[test]
fn lengths_of_all_texts_are_possible() {
    let dictionary = (0..16).map(|row| Cell::Bytes(vec![b'a' + row % 3; 8]));
    let constant = (0..16).map(|_| Cell::Bytes(vec![b'x'; 5]));
    let plain = (0..16).map(|row| Cell::Bytes(vec![row; row as usize]));
    let block = block_of(&[dictionary.collect(), constant.collect(), plain.collect()]);
    // Words of the entries: 3 has the bytes kept, 4 those of all rows.
    for (column, (kept, all)) in [(24, 16 * 24), (5, 16 * 5), (120, 120)]
        .into_iter()
        .enumerate()
    {
        assert_eq!(block.words()[entry(column) + 3], kept);
        reopened(&block, |words| words[entry(column) + 4] = all).unwrap();
        for wrong in [all + 1, u64::MAX] {
            let opened = reopened(&block, |words| words[entry(column) + 4] = wrong);
            assert_eq!(opened.unwrap_err(), SegmentError::Column(column));
        }
    }
    let opened = reopened(&block, |words| words[entry(2) + 4] = 119);
    assert_eq!(opened.unwrap_err(), SegmentError::Column(2));
}

#[test]
fn bounds_of_texts_are_in_order() {
    let block = block_of(&small_columns());
    let bounds = block.words()[entry(2) + 5] as usize;
    let opened = |least: &[u8], greatest: &[u8]| {
        reopened(&block, |words| {
            for (place, bound) in [(bounds, least), (bounds + 4, greatest)] {
                let mut bytes = [0; 8];
                bytes[..bound.len()].copy_from_slice(bound);
                words[place] = u64::from_ne_bytes(bytes);
            }
            words[entry(2) + 6] = least.len() as u64 | (greatest.len() as u64) << 32;
        })
    };
    for (least, greatest) in [("", ""), ("", "a"), ("a", "a"), ("a", "aa"), ("ab", "b")] {
        opened(least.as_bytes(), greatest.as_bytes()).unwrap();
        if least != greatest {
            let error = opened(greatest.as_bytes(), least.as_bytes()).unwrap_err();
            assert_eq!(error, SegmentError::Column(2), "{greatest} {least}");
        }
    }
}

#[test]
fn bounds_of_scales_are_those_of_scales() {
    let block = block_of(&small_columns());
    let opened = |least: i64, greatest: i64| {
        reopened(&block, |words| {
            words[entry(1) + 5] = least.cast_unsigned();
            words[entry(1) + 6] = greatest.cast_unsigned();
        })
    };
    opened(0, 1).unwrap();
    opened(254, 255).unwrap();
    for (least, greatest) in [(-1, 0), (255, 256)] {
        let error = opened(least, greatest).unwrap_err();
        assert_eq!(error, SegmentError::Column(1));
    }
}
