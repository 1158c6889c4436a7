//! Dates and times in ISO's form, as PostgreSQL writes them: `2024-01-31 10:30:00.5+01`.

use crate::{
    Context, Sink,
    datetime::{
        Civil, DATE_INFINITY, DATE_NEGATIVE_INFINITY, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR,
        MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND, TIMESTAMP_INFINITY,
        TIMESTAMP_NEGATIVE_INFINITY,
    },
    text::{write_offset, write_two},
};

pub(in crate::text) fn write_date(days: i32, out: &mut impl Sink) {
    match days {
        DATE_INFINITY => out.put(b"infinity"),
        DATE_NEGATIVE_INFINITY => out.put(b"-infinity"),
        _ => {
            let date = Civil::from_days(days.into());
            write_civil(date, out);
            write_era(date, out);
        }
    }
}

/// Writes microseconds since midnight; a value beyond a day is written as it comes.
pub(in crate::text) fn write_time(time: i64, out: &mut impl Sink) {
    write_clock(time.unsigned_abs(), out);
}

pub(in crate::text) fn write_timestamp(timestamp: i64, out: &mut impl Sink) {
    if write_infinity(timestamp, out) {
        return;
    }
    let date = write_date_and_time(timestamp, out);
    write_era(date, out);
}

pub(in crate::text) fn write_timestamp_tz(
    timestamp: i64,
    context: &Context<'_>,
    out: &mut impl Sink,
) {
    if write_infinity(timestamp, out) {
        return;
    }
    let offset = context.settings.time_zone.offset_at(timestamp);
    let east = i64::from(offset) * MICROSECONDS_PER_SECOND;
    let date = write_date_and_time(timestamp.saturating_add(east), out);
    write_offset(offset, out);
    write_era(date, out);
}

fn write_infinity(timestamp: i64, out: &mut impl Sink) -> bool {
    match timestamp {
        TIMESTAMP_INFINITY => out.put(b"infinity"),
        TIMESTAMP_NEGATIVE_INFINITY => out.put(b"-infinity"),
        _ => return false,
    }
    true
}

fn write_date_and_time(timestamp: i64, out: &mut impl Sink) -> Civil {
    let date = Civil::from_days(timestamp.div_euclid(MICROSECONDS_PER_DAY));
    write_civil(date, out);
    out.put_byte(b' ');
    write_clock(timestamp.rem_euclid(MICROSECONDS_PER_DAY) as u64, out);
    date
}

fn write_civil(date: Civil, out: &mut impl Sink) {
    let year = if date.year > 0 {
        date.year
    } else {
        1 - date.year
    };
    for limit in [1000, 100, 10] {
        if year < limit {
            out.put_byte(b'0');
        }
    }
    out.put(itoa::Buffer::new().format(year).as_bytes());
    out.put_byte(b'-');
    write_two(date.month, out);
    out.put_byte(b'-');
    write_two(date.day, out);
}

fn write_era(date: Civil, out: &mut impl Sink) {
    if date.year <= 0 {
        out.put(b" BC");
    }
}

/// Writes `10:30:00.25`: hours of at least two digits, no zeros at the end of a
/// fraction.
pub(in crate::text) fn write_clock(microseconds: u64, out: &mut impl Sink) {
    let part = |unit: i64| microseconds / unit as u64;
    let hours = part(MICROSECONDS_PER_HOUR);
    if hours < 10 {
        out.put_byte(b'0');
    }
    out.put(itoa::Buffer::new().format(hours).as_bytes());
    out.put_byte(b':');
    write_two((part(MICROSECONDS_PER_MINUTE) % 60) as u32, out);
    out.put_byte(b':');
    write_two((part(MICROSECONDS_PER_SECOND) % 60) as u32, out);
    let fraction = (microseconds % MICROSECONDS_PER_SECOND as u64) as u32;
    if fraction > 0 {
        let mut digits = [b'0'; 7];
        digits[0] = b'.';
        let mut rest = fraction;
        for digit in digits[1..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let end = digits.iter().rposition(|digit| *digit != b'0').unwrap_or(0);
        out.put(&digits[..=end]);
    }
}
