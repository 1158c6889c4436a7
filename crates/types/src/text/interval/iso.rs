//! ISO 8601's form: `P1Y2M3DT4H5M6.7S`, with separators `P0001-02-03T04:05:06`, and without
//! any `P00010203T040506`.

use super::{Failure, Sums, Unit, read_time};
use crate::Interval;

/// Reads the text that follows the `P`.
pub(super) fn read(text: &str) -> Result<Interval, Failure> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    if date.is_empty() && time.is_none() {
        return Err(Failure::Syntax);
    }
    let mut sums = Sums::default();
    if !date.is_empty() && !date.ends_with(|last: char| last.is_ascii_alphabetic()) {
        read_separated(date, &mut sums)?;
    } else {
        read_designated(date, &mut sums, |designator| {
            Some(match designator {
                'Y' => Unit::Year,
                'M' => Unit::Month,
                'W' => Unit::Week,
                'D' => Unit::Day,
                _ => return None,
            })
        })?;
    }
    match time {
        Some(time) if time.len() == 6 && is_digits(time) => {
            let colons = format!("{}:{}:{}", &time[..2], &time[2..4], &time[4..]);
            sums.add_microseconds(read_time(&colons)?)?;
        }
        Some(time) if time.contains(':') => sums.add_microseconds(read_time(time)?)?,
        Some(time) => read_designated(time, &mut sums, |designator| {
            Some(match designator {
                'H' => Unit::Hour,
                'M' => Unit::Minute,
                'S' => Unit::Second,
                _ => return None,
            })
        })?,
        None => {}
    }
    sums.finish(false)
}

/// Reads numbers, each with a letter behind it.
fn read_designated(
    text: &str,
    sums: &mut Sums,
    unit: impl Fn(char) -> Option<Unit>,
) -> Result<(), Failure> {
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest
            .find(|character: char| character.is_ascii_alphabetic())
            .ok_or(Failure::Syntax)?;
        let designator = char::from(rest.as_bytes()[end]);
        sums.add(&rest[..end], unit(designator).ok_or(Failure::Syntax)?)?;
        rest = &rest[end + 1..];
    }
    Ok(())
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads years, months and days with hyphens, or eight digits.
fn read_separated(text: &str, sums: &mut Sums) -> Result<(), Failure> {
    let mut units = [Unit::Year, Unit::Month, Unit::Day].into_iter();
    if text.len() == 8 && is_digits(text) {
        sums.add(&text[..4], Unit::Year)?;
        sums.add(&text[4..6], Unit::Month)?;
        return sums.add(&text[6..], Unit::Day);
    }
    for field in text.split('-') {
        let unit = units.next().ok_or(Failure::Syntax)?;
        sums.add(field, unit)?;
    }
    Ok(())
}
