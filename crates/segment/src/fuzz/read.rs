//! Reads of blocks whose words may be damaged, compared with each other.

use super::model::places;
use crate::{Block, Bytes, CodeSet, Codes, Column, Integers, PackedSlice, Values};

/// Reads all that can be read of a block, by all ways, which agree whatever the words are.
///
/// # Panics
/// Panics if two ways to read a row differ, or a value is longer than its column.
pub(super) fn read_all(block: &Block) {
    for number in 0..block.columns() {
        // Most changes of a segment's words do not leave it its checksum.
        let _ = block.verify_column(number);
        let column = block.column(number);
        let rows = 0..column.rows();
        let absent = rows.clone().filter(|&row| column.is_absent(row)).count();
        assert!(column.absent().is_some() || absent == 0);
        match column.values() {
            Values::Absent => assert_eq!(rows.len(), absent),
            Values::Integers(values) => read_integers(&column, &values),
            Values::Decimals { numbers, scales } => {
                read_integers(&column, &numbers);
                read_integers(&column, &scales);
                assert!(scales.least() >= 0 && scales.greatest() <= 255);
            }
            Values::Bytes(values) => read_bytes(&column, &values),
        }
    }
}

/// Returns the rows that have a value.
fn present<'c>(column: &'c Column<'_>) -> impl Iterator<Item = usize> + 'c {
    (0..column.rows()).filter(|&row| !column.is_absent(row))
}

fn read_integers(column: &Column<'_>, integers: &Integers<'_>) {
    let (ranges, positions) = places(column.rows());
    for range in ranges {
        let mut read = Vec::new();
        integers.read(range.clone(), &mut read);
        assert!(range.map(|row| integers.get(row)).eq(read));
    }
    let mut gathered = Vec::new();
    integers.gather(&positions, &mut gathered);
    let values = positions.iter().map(|&row| integers.get(row as usize));
    assert!(values.eq(gathered));
    assert!(integers.least() <= integers.greatest());
    if let Some(value) = integers.constant() {
        assert!(present(column).all(|row| integers.get(row) == value));
    }
    if let Some((base, codes)) = integers.packed() {
        read_codes(codes, column.rows());
        let value = |row| base.wrapping_add(codes.get(row).into());
        assert!(present(column).all(|row| integers.get(row) == value(row)));
    }
    if let Some(dictionary) = integers.dictionary() {
        read_codes(dictionary.codes(), column.rows());
        let value = |row| dictionary.entry(dictionary.codes().get(row));
        assert!(present(column).all(|row| integers.get(row) == value(row)));
        let entries = dictionary.entries();
        assert!(
            (0..)
                .zip(entries)
                .all(|(code, &value)| dictionary.entry(code) == value)
        );
        for code in [entries.len() as u32, u32::MAX] {
            assert_eq!(dictionary.entry(code), 0);
        }
    }
}

fn read_bytes(column: &Column<'_>, bytes: &Bytes<'_>) {
    let longest = (0..column.rows()).map(|row| bytes.get(row).len()).max();
    assert!(longest.unwrap_or(0) <= column.bytes());
    assert!(bytes.byte_len() <= (column.rows() * column.bytes()) as u64);
    assert!(bytes.least().len() <= 32 && bytes.greatest().len() <= 32);
    assert!(bytes.least() <= bytes.greatest());
    if let Some(value) = bytes.constant() {
        assert!(present(column).all(|row| bytes.get(row) == value));
    }
    if let Some(dictionary) = bytes.dictionary() {
        read_codes(dictionary.codes(), column.rows());
        let value = |row| dictionary.entry(dictionary.codes().get(row));
        assert!(present(column).all(|row| bytes.get(row) == value(row)));
        let count = dictionary.len() as u32;
        let mut entries = (0..count).map(|code| dictionary.entry(code));
        assert!(entries.all(|value| value.len() <= column.bytes()));
        for code in [count, u32::MAX] {
            assert!(dictionary.entry(code).is_empty());
        }
    }
}

fn read_codes(codes: PackedSlice<'_>, rows: usize) {
    assert_eq!(codes.len(), rows);
    let plain: Vec<u32> = (0..rows).map(|row| codes.get(row)).collect();
    let (ranges, _) = places(rows);
    for range in &ranges {
        let mut unpacked = Vec::new();
        codes.unpack(range.clone(), &mut unpacked);
        assert_eq!(unpacked, plain[range.clone()]);
    }
    for (number, expected) in plain.chunks(64).enumerate() {
        let (block, count) = codes.block(number);
        assert_eq!(&block[..count], expected);
    }
    for (set, members) in sets(&plain) {
        for range in &ranges {
            let expected = range
                .clone()
                .filter(|&row| members.binary_search(&plain[row]).is_ok());
            let expected: Vec<u64> = expected.map(|row| row as u64).collect();
            for codes in [Codes::Packed(codes), Codes::Plain(&plain)] {
                let mut found = Vec::new();
                codes.rows(range.clone(), &set, 0, &mut found).unwrap();
                assert_eq!(found, expected, "{}", set.form_name());
            }
        }
    }
}

/// Returns sets in which some of `codes` are, and their members: few codes, a bitmap and a filter.
fn sets(codes: &[u32]) -> impl Iterator<Item = (CodeSet, Vec<u32>)> {
    let some = |step| codes.iter().copied().step_by(step);
    let few = some(60).chain([7, u32::MAX]);
    let low = (0..10).map(|number| number * 100);
    let small = some(2).filter(|&code| code < 1 << 10).chain(low);
    let many = some(3).chain((0..10).map(|number| number * 0x1234_5677));
    let lists: [(Vec<u32>, u64); 3] = [
        (few.collect(), 1 << 32),
        (small.collect(), 1 << 10),
        (many.collect(), 1 << 32),
    ];
    lists.into_iter().map(|(mut members, domain)| {
        let set = CodeSet::new(&mut members, domain).unwrap();
        (set, members)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn sets_have_all_forms_of_many_codes() {
        let codes: Vec<u32> = (0..200).map(|row| row % 11 * 5).collect();
        let forms: Vec<_> = super::sets(&codes)
            .map(|(set, _)| set.form_name())
            .collect();
        assert_eq!(forms, ["few", "bitmap", "filter"]);
    }
}
