//! Blocks against a plain model.

mod damage;
mod shapes;

use crate::{
    Block, Builder, Cells, Column, Directory, ROWS_MAX, SegmentError, Values,
    fuzz::model::{Cell, block_of, check_block, fill},
};

/// Returns pseudo-random numbers (splitmix64).
pub(crate) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[test]
fn columns_have_as_many_rows_as_each_other() {
    let mut builder = Builder::new(2).unwrap();
    builder.cells(0).integer(1).unwrap();
    builder.cells(1).bytes(b"a").unwrap();
    builder.cells(1).absent().unwrap();
    let expected = SegmentError::Rows {
        column: 1,
        rows: 2,
        expected: 1,
    };
    assert_eq!(builder.encode_next(), Err(expected.clone()));
    assert_eq!(builder.finish().unwrap_err(), expected);
    builder.cells(0).absent().unwrap();
    assert_eq!(builder.encode_next(), Ok(true));
    assert_eq!(builder.encode_next(), Ok(true));
    assert_eq!(builder.encode_next(), Ok(false));
    let model = [
        vec![Cell::Integer(1), Cell::Absent],
        vec![Cell::Bytes(b"a".to_vec()), Cell::Absent],
    ];
    check_block(&builder.finish().unwrap(), &model);
}

#[test]
fn a_block_has_few_columns() {
    let error = Builder::new(1 << 16).unwrap_err();
    assert_eq!(error, SegmentError::TooManyColumns(1 << 16));
}

#[test]
#[should_panic(expected = "takes no values")]
fn a_block_that_is_being_encoded_takes_no_values() {
    let mut builder = Builder::new(1).unwrap();
    builder.cells(0).integer(1).unwrap();
    builder.encode_next().unwrap();
    builder.cells(0);
}

#[test]
#[should_panic(expected = "takes no values")]
fn a_block_that_is_being_encoded_takes_no_absent_rows() {
    let mut builder = Builder::new(2).unwrap();
    builder.cells(0).integer(1).unwrap();
    builder.cells(1).integer(1).unwrap();
    builder.encode_next().unwrap();
    let _ = builder.fill_to(100);
}

#[test]
fn columns_are_filled_with_absent_rows() {
    let mut builder = Builder::new(3).unwrap();
    builder.cells(0).integer(1).unwrap();
    builder.cells(1).bytes(b"a").unwrap();
    builder.cells(1).bytes(b"b").unwrap();
    for rows in [0, 3, 2] {
        builder.fill_to(rows).unwrap();
    }
    let text = |value: &str| Cell::Bytes(value.into());
    let model = [
        vec![Cell::Integer(1), Cell::Absent, Cell::Absent],
        vec![text("a"), text("b"), Cell::Absent],
        vec![Cell::Absent, Cell::Absent, Cell::Absent],
    ];
    check_block(&builder.finish().unwrap(), &model);
    builder.clear();
    let full = Err(crate::CellError::Full);
    assert_eq!(builder.fill_to(ROWS_MAX + 1), full);
    assert_eq!(builder.cells(0).rows(), ROWS_MAX);
}

#[test]
fn a_builder_restarts_with_another_number_of_columns() {
    let model = |columns: i64| -> Vec<Vec<Cell>> {
        (0..columns)
            .map(|column| vec![Cell::Integer(column), Cell::Absent, Cell::Integer(7)])
            .collect()
    };
    let mut builder = Builder::new(2).unwrap();
    for columns in [3, 1, 0, 4] {
        builder.restart(columns as usize).unwrap();
        fill(&mut builder, &model(columns));
        builder.encode_next().unwrap();
        let error = builder.restart(1 << 16).unwrap_err();
        assert_eq!(error, SegmentError::TooManyColumns(1 << 16));
        check_block(&builder.finish().unwrap(), &model(columns));
    }
}

#[test]
fn a_block_has_less_than_2_to_the_32_words() {
    let header = crate::entry::Header {
        rows: 0,
        columns: 0,
        directory_words: 4,
    };
    let words = u32::MAX as usize;
    let first = header.encode(words).unwrap();
    assert_eq!(first[2], 4 | u64::from(u32::MAX) << 32);
    assert_eq!(header.encode(words + 1), Err(SegmentError::TooLarge));
}

#[test]
fn rows_are_bounded() {
    let mut builder = Builder::new(1).unwrap();
    for _ in 0..ROWS_MAX {
        builder.cells(0).absent().unwrap();
    }
    let cells = builder.cells(0);
    let full = Err(crate::CellError::Full);
    assert_eq!(
        (cells.absent(), cells.integer(1), cells.bytes(b"")),
        (full, full, full)
    );
    assert_eq!(cells.rows(), ROWS_MAX);
}
