//! Words of damaged blocks.

use super::*;

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
