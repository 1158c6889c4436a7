//! The smallest form of integers.

use std::{collections::TryReserveError, hash::BuildHasher as _};

use foldhash::fast::FixedState;

use super::{Scratch, with_room};
use crate::{
    codes::{append, bits_for},
    distinct::Number,
    entry::{Encoding, Stream},
};

/// Minimum bits of differences for which a dictionary is tried: codes have at least some bits, too.
const DICTIONARY_WIDTH_MIN: u32 = 16;

/// Returns the maximum number of distinct values of a dictionary: fewer if values can be packed, which a dictionary of
/// many values seldom betters.
fn distinct_max(rows: usize, is_packable: bool) -> usize {
    if is_packable { rows / 16 } else { rows / 4 }
}

/// Appends the words of `values`, of which there is one at least.
pub(crate) fn integers(
    values: &[i64],
    scratch: &mut Scratch,
    to: &mut Vec<u64>,
) -> Result<Stream, TryReserveError> {
    let rows = values.len();
    let first = values[0];
    let (least, greatest) = values
        .iter()
        .fold((first, first), |(least, greatest), &value| {
            (least.min(value), greatest.max(value))
        });
    let stream = |encoding, width, entries| Stream {
        encoding,
        width,
        entries,
        least,
        greatest,
    };
    if least == greatest {
        return Ok(stream(Encoding::Constant, 0, 0));
    }
    let range = greatest.abs_diff(least);
    let packed_width = (range <= u32::MAX.into()).then(|| bits_for(range + 1));
    let without_dictionary = match packed_width {
        Some(width) => stream(Encoding::Packed, width, 0),
        None => stream(Encoding::Plain, 0, 0),
    };
    if packed_width.is_none_or(|width| width >= DICTIONARY_WIDTH_MIN)
        && number_all(values, distinct_max(rows, packed_width.is_some()), scratch)?
    {
        let entries = scratch.integers.len();
        let coded = stream(Encoding::Dictionary, bits_for(entries as u64), entries);
        if coded.words(rows) < without_dictionary.words(rows) {
            let numbers = &scratch.integers;
            let compare =
                |one: u32, other: u32| numbers[one as usize].cmp(&numbers[other as usize]);
            let order = scratch.distinct.sort(&mut scratch.codes, compare)?;
            append(&scratch.codes, coded.width, to)?;
            to.try_reserve(entries)?;
            to.extend(
                order
                    .iter()
                    .map(|&number| numbers[number as usize].cast_unsigned()),
            );
            return Ok(coded);
        }
    }
    let Some(width) = packed_width else {
        to.try_reserve(rows)?;
        to.extend(values.iter().map(|value| value.cast_unsigned()));
        return Ok(without_dictionary);
    };
    with_room(&mut scratch.codes, rows)?;
    let codes = values.iter().map(|value| value.wrapping_sub(least) as u32);
    scratch.codes.extend(codes);
    append(&scratch.codes, width, to)?;
    Ok(without_dictionary)
}

/// Numbers the distinct values, and notes the number of each row's. Returns whether there are at most `count_max`.
fn number_all(
    values: &[i64],
    count_max: usize,
    scratch: &mut Scratch,
) -> Result<bool, TryReserveError> {
    let Scratch {
        distinct,
        codes,
        integers,
        ..
    } = scratch;
    distinct.begin(count_max, values.len())?;
    with_room(codes, values.len())?;
    with_room(integers, count_max)?;
    let hasher = FixedState::default();
    let mut before = None;
    for &value in values {
        // Values often come in runs.
        let code = match before {
            Some((last, code)) if last == value => code,
            _ => {
                let is_value = |number: u32| integers[number as usize] == value;
                match distinct.number(hasher.hash_one(value), is_value) {
                    None => return Ok(false),
                    Some(Number::Known(number)) => number,
                    Some(Number::New(number)) => {
                        integers.push(value);
                        number
                    }
                }
            }
        };
        codes.push(code);
        before = Some((value, code));
    }
    Ok(true)
}
