//! Columns as lists of values, with which blocks are compared.

use std::ops::Range;

use crate::{
    Block, Builder, Bytes, Cells, CodeSet, Codes, Column, Directory, Integers, Segment,
    SegmentError, Values,
};

/// A value of the model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cell {
    Absent,
    Integer(i64),
    Decimal(i64, u8),
    Bytes(Vec<u8>),
}

impl Cell {
    fn add(&self, cells: &mut Cells) {
        let added = match self {
            Cell::Absent => cells.absent(),
            Cell::Integer(value) => cells.integer(*value),
            Cell::Decimal(number, scale) => cells.decimal(*number, *scale),
            Cell::Bytes(value) => cells.bytes(value),
        };
        added.unwrap();
    }
}

/// Makes the block of some columns.
pub(crate) fn block_of(columns: &[Vec<Cell>]) -> Block {
    let mut builder = Builder::new(columns.len()).unwrap();
    fill(&mut builder, columns);
    builder.finish().unwrap()
}

/// Adds the values of some columns to a builder.
pub(crate) fn fill(builder: &mut Builder, columns: &[Vec<Cell>]) {
    for (number, column) in columns.iter().enumerate() {
        for cell in column {
            cell.add(builder.cells(number));
        }
    }
}

/// Compares all that can be read of a block with the model.
pub(crate) fn check_block(block: &Block, model: &[Vec<Cell>]) {
    block.verify().unwrap();
    let directory = block.directory().unwrap();
    assert_eq!([block.columns(), directory.columns()], [model.len(); 2]);
    assert_eq!(directory.rows(), block.rows());
    assert_eq!(directory.block_bytes(), block.bytes().len());
    for (number, column) in model.iter().enumerate() {
        assert_eq!(block.rows(), column.len());
        check_column(&block.column(number), column);
        let segment = segment_of(block, &directory, number).unwrap();
        check_column(&directory.column(number, &segment), column);
    }
}

/// Returns a column's segment, made of the block's words at its place.
pub(crate) fn segment_of(
    block: &Block,
    directory: &Directory,
    column: usize,
) -> Result<Segment, SegmentError> {
    directory.segment(column, &block.bytes()[directory.place(column)])
}

/// Ranges and positions at which a column is read.
pub(super) fn places(rows: usize) -> (Vec<Range<usize>>, Vec<u32>) {
    let ranges = [
        0..rows,
        rows / 3..rows - rows / 4,
        rows / 2..rows / 2,
        rows.min(63)..rows.min(130),
    ];
    let positions = (0..rows as u32)
        .rev()
        .filter(|row| row % 3 != 1)
        .chain(0..rows.min(2) as u32);
    (ranges.to_vec(), positions.collect())
}

fn check_column(column: &Column<'_>, model: &[Cell]) {
    let rows = model.len();
    assert_eq!(column.rows(), rows);
    let mut absent = 0;
    for (row, cell) in model.iter().enumerate() {
        let is_absent = *cell == Cell::Absent;
        assert_eq!(column.is_absent(row), is_absent, "row {row}");
        let marks = column.absent();
        let mark = marks.is_some_and(|marks| marks[row / 64] >> (row % 64) & 1 == 1);
        assert_eq!(mark, is_absent, "row {row}");
        absent += usize::from(is_absent);
    }
    assert_eq!(column.absent().is_none(), absent == 0 && rows > 0);
    let present = || model.iter().filter(|cell| **cell != Cell::Absent);
    match column.values() {
        Values::Absent => assert_eq!(absent, rows),
        Values::Integers(integers) => {
            let of = |cell: &Cell| match cell {
                Cell::Integer(value) => Some(*value),
                _ => None,
            };
            check_integers(&integers, &model.iter().map(of).collect::<Vec<_>>());
        }
        Values::Decimals { numbers, scales } => {
            let of = |cell: &Cell| match cell {
                Cell::Decimal(number, scale) => Some((*number, i64::from(*scale))),
                _ => None,
            };
            let both = || model.iter().map(of);
            let of_numbers: Vec<_> = both().map(|cell| cell.map(|(number, _)| number)).collect();
            let of_scales: Vec<_> = both().map(|cell| cell.map(|(_, scale)| scale)).collect();
            check_integers(&numbers, &of_numbers);
            check_integers(&scales, &of_scales);
        }
        Values::Bytes(bytes) => {
            let of = |cell: &Cell| match cell {
                Cell::Bytes(value) => Some(value.clone()),
                _ => None,
            };
            check_bytes(&bytes, &model.iter().map(of).collect::<Vec<_>>());
        }
    }
    assert_eq!(present().count(), rows - absent);
}

fn check_integers(integers: &Integers<'_>, model: &[Option<i64>]) {
    let present = || model.iter().flatten().copied();
    assert_eq!(Some(integers.least()), present().min());
    assert_eq!(Some(integers.greatest()), present().max());
    let is_constant = integers.least() == integers.greatest();
    assert_eq!(integers.constant(), is_constant.then_some(integers.least()));
    let value = |row: usize| model[row].unwrap_or(0);
    for row in 0..model.len() {
        assert_eq!(integers.get(row), value(row), "row {row}");
    }
    let (ranges, positions) = places(model.len());
    for range in ranges {
        let mut read = vec![7];
        integers.read(range.clone(), &mut read);
        assert!(read[1..].iter().copied().eq(range.map(value)));
    }
    let mut gathered = vec![7];
    integers.gather(&positions, &mut gathered);
    let expected = positions.iter().map(|&position| value(position as usize));
    assert!(gathered[1..].iter().copied().eq(expected));
    if let Some((base, codes)) = integers.packed() {
        for (row, value) in model
            .iter()
            .enumerate()
            .filter_map(|(row, value)| Some((row, (*value)?)))
        {
            assert_eq!(base + i64::from(codes.get(row)), value);
        }
    }
    if let Some(dictionary) = integers.dictionary() {
        assert!(dictionary.entries().is_sorted_by(|one, other| one < other));
        for (row, value) in model
            .iter()
            .enumerate()
            .filter_map(|(row, value)| Some((row, (*value)?)))
        {
            assert_eq!(
                dictionary.entries()[dictionary.codes().get(row) as usize],
                value
            );
        }
    }
}

fn check_bytes(bytes: &Bytes<'_>, model: &[Option<Vec<u8>>]) {
    let present = || model.iter().flatten();
    let first = |value: &Vec<u8>| value[..value.len().min(32)].to_vec();
    assert_eq!(Some(bytes.least().to_vec()), present().min().map(first));
    assert_eq!(Some(bytes.greatest().to_vec()), present().max().map(first));
    let is_constant = present().min() == present().max();
    let constant = is_constant.then(|| present().next().unwrap().as_slice());
    assert_eq!(bytes.constant(), constant);
    let len: usize = present().map(Vec::len).sum();
    assert_eq!(bytes.byte_len(), len as u64);
    for (row, value) in model.iter().enumerate() {
        assert_eq!(
            bytes.get(row),
            value.as_deref().unwrap_or_default(),
            "row {row}"
        );
    }
    if let Some(dictionary) = bytes.dictionary() {
        let entries: Vec<_> = (0..dictionary.len() as u32)
            .map(|code| dictionary.entry(code))
            .collect();
        assert!(entries.is_sorted_by(|one, other| one < other));
        for (row, value) in model
            .iter()
            .enumerate()
            .filter_map(|(row, value)| Some((row, value.as_ref()?)))
        {
            assert_eq!(entries[dictionary.codes().get(row) as usize], value);
        }
        // Comparisons of codes are those of values.
        let middle = dictionary.len() as u32 / 2;
        let mut found = Vec::new();
        let set = CodeSet::range(0..=middle - 1);
        Codes::Packed(dictionary.codes())
            .rows(0..model.len(), &set, 0, &mut found)
            .unwrap();
        found.retain(|&row| model[row as usize].is_some());
        let is_less = |value: &Option<Vec<u8>>| {
            value
                .as_deref()
                .is_some_and(|value| value < entries[middle as usize])
        };
        let expected = (0..)
            .zip(model)
            .filter(|(_, value)| is_less(value))
            .map(|(row, _)| row);
        assert!(found.iter().copied().eq(expected));
    }
}
