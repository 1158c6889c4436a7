//! The smallest form of lists of bytes.

use std::{collections::TryReserveError, hash::BuildHasher as _};

use foldhash::fast::FixedState;

use super::{Scratch, with_room};
use crate::{
    cells::Cells,
    codes::{append, bits_for},
    distinct::Number,
    entry::{BOUND_BYTES, BOUNDS_WORDS, Encoding, Texts},
    words::bytes_of_mut,
};

/// Returns the maximum number of distinct values that are looked for: one for each four rows, as a dictionary of more
/// saves little, and at least one, as a column of one value is a constant.
fn distinct_max(rows: usize) -> usize {
    (rows / 4).max(1)
}

/// Appends the words of a column of bytes, some of whose rows have values, and writes its bounds to place `bounds`.
pub(crate) fn texts(
    cells: &Cells,
    bounds: usize,
    scratch: &mut Scratch,
    to: &mut Vec<u64>,
) -> Result<Texts, TryReserveError> {
    let rows = cells.rows();
    let mut texts = Texts {
        encoding: Encoding::Plain,
        width: 0,
        ends_width: ends_width(cells.ends()),
        entries: 0,
        heap_bytes: cells.heap().len(),
        byte_len: cells.heap().len() as u64,
        bounds,
        bound_bytes: [0; 2],
    };
    if number_all(cells, scratch)? {
        let Scratch {
            distinct,
            codes,
            first_rows,
            ends,
            ..
        } = scratch;
        let value = |number: u32| cells.row_bytes(first_rows[number as usize] as usize);
        let order = distinct.sort(codes, |one, other| value(one).cmp(value(other)))?;
        let values = || order.iter().map(|&number| value(number));
        with_room(ends, order.len())?;
        // The sum is at most that of all rows, which is below 2^32.
        ends.extend(values().scan(0, |end, value| {
            *end += value.len() as u32;
            Some(*end)
        }));
        let coded = Texts {
            encoding: match order {
                [_] => Encoding::Constant,
                _ => Encoding::Dictionary,
            },
            width: match order {
                [_] => 0,
                _ => bits_for(order.len() as u64),
            },
            ends_width: ends_width(ends),
            entries: match order {
                [_] => 0,
                _ => order.len(),
            },
            heap_bytes: ends.last().map_or(0, |&end| end as usize),
            ..texts
        };
        if order.len() == 1 || coded.words(rows) < texts.words(rows) {
            if coded.width > 0 {
                append(codes, coded.width, to)?;
            }
            append_list(values(), ends, &coded, to)?;
            let ends = [values().next(), values().next_back()];
            let bound_bytes = write_bounds(ends.map(Option::unwrap_or_default), bounds, to);
            return Ok(Texts {
                bound_bytes,
                ..coded
            });
        }
    }
    append_list([cells.heap()].into_iter(), cells.ends(), &texts, to)?;
    texts.bound_bytes = write_bounds(extremes(cells), bounds, to);
    Ok(texts)
}

/// Returns the bits of packed ends; 0 if all values are equally long.
fn ends_width(ends: &[u32]) -> u32 {
    let Some((&first, &last)) = ends.first().zip(ends.last()) else {
        return 0;
    };
    if ends.windows(2).all(|pair| pair[1] - pair[0] == first) {
        0
    } else {
        bits_for(u64::from(last) + 1)
    }
}

/// Appends the ends and bytes of values.
fn append_list<'v>(
    values: impl Iterator<Item = &'v [u8]>,
    ends: &[u32],
    texts: &Texts,
    to: &mut Vec<u64>,
) -> Result<(), TryReserveError> {
    if texts.ends_width > 0 {
        append(ends, texts.ends_width, to)?;
    }
    let from = to.len();
    let words = texts.heap_bytes.div_ceil(8);
    to.try_reserve(words)?;
    to.resize(from + words, 0);
    let mut left = bytes_of_mut(&mut to[from..]);
    for value in values {
        let (place, behind) = left.split_at_mut(value.len());
        place.copy_from_slice(value);
        left = behind;
    }
    Ok(())
}

/// Writes the first bytes of the least and the greatest value, and returns how many.
fn write_bounds(values: [&[u8]; 2], bounds: usize, to: &mut [u64]) -> [usize; 2] {
    let places = bytes_of_mut(&mut to[bounds..][..BOUNDS_WORDS]);
    let mut places = places.chunks_exact_mut(BOUND_BYTES);
    values.map(|value| {
        let bytes = value.len().min(BOUND_BYTES);
        if let Some(place) = places.next() {
            place[..bytes].copy_from_slice(&value[..bytes]);
        }
        bytes
    })
}

/// Returns the least and the greatest value of the rows that have one.
fn extremes(cells: &Cells) -> [&[u8]; 2] {
    let present = (0..cells.rows()).filter(|&row| !cells.is_absent(row));
    let mut values = present.map(|row| cells.row_bytes(row));
    let first = values.next().unwrap_or_default();
    values.fold([first; 2], |[least, greatest], value| {
        [least.min(value), greatest.max(value)]
    })
}

/// Numbers the distinct values, and notes the number of each row's. Returns whether there are few enough of them.
fn number_all(cells: &Cells, scratch: &mut Scratch) -> Result<bool, TryReserveError> {
    let Scratch {
        distinct,
        codes,
        first_rows,
        ..
    } = scratch;
    let rows = cells.rows();
    let count_max = distinct_max(rows);
    distinct.begin(count_max, rows)?;
    with_room(codes, rows)?;
    with_room(first_rows, count_max)?;
    let hasher = FixedState::default();
    for row in 0..rows {
        if cells.is_absent(row) {
            // The first value is number 0.
            codes.push(0);
            continue;
        }
        let value = cells.row_bytes(row);
        let is_value = |number: u32| cells.row_bytes(first_rows[number as usize] as usize) == value;
        let code = match distinct.number(hasher.hash_one(value), is_value) {
            None => return Ok(false),
            Some(Number::Known(number)) => number,
            Some(Number::New(number)) => {
                first_rows.push(row as u32);
                number
            }
        };
        codes.push(code);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equally_long_values_need_no_ends() {
        assert_eq!(ends_width(&[]), 0);
        assert_eq!(ends_width(&[0, 0, 0]), 0);
        assert_eq!(ends_width(&[5, 10, 15]), 0);
        assert_eq!(ends_width(&[5, 10, 16]), 5);
    }
}
