//! Times of day, and the errors of times and dates.

use crate::{
    SqlError, SqlState,
    datetime::{
        MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE,
        MICROSECONDS_PER_SECOND,
    },
};

/// Reasons why text is no date or time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::text) enum Failure {
    /// The text is something else.
    Syntax,
    /// A field is out of range.
    Field,
    /// A month or day is out of range, perhaps because they are in another order.
    MonthOrDay,
    /// A field of an interval is out of range.
    Interval,
    /// An interval is too long.
    Length,
    /// A zone is too far from Greenwich.
    Displacement,
    /// No zone has the name.
    Zone(String),
}

impl Failure {
    /// Returns PostgreSQL's error for the failure.
    #[cold]
    pub(in crate::text) fn error(self, name: &str, text: &str) -> SqlError {
        match self {
            Self::Syntax => SqlError::new(
                SqlState::INVALID_DATETIME_FORMAT,
                format!("invalid input syntax for type {name}: \"{text}\""),
            ),
            Self::Field => field_overflow(text),
            Self::MonthOrDay => {
                field_overflow(text).hint("Perhaps you need a different \"datestyle\" setting.")
            }
            Self::Interval => SqlError::new(
                SqlState::INTERVAL_FIELD_OVERFLOW,
                format!("interval field value out of range: \"{text}\""),
            ),
            Self::Length => {
                SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range")
            }
            Self::Displacement => SqlError::new(
                SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                format!("time zone displacement out of range: \"{text}\""),
            ),
            Self::Zone(zone) => SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("time zone \"{zone}\" not recognized"),
            ),
        }
    }
}

fn field_overflow(text: &str) -> SqlError {
    SqlError::new(
        SqlState::DATETIME_FIELD_OVERFLOW,
        format!("date/time field value out of range: \"{text}\""),
    )
}

/// Hours of a day; a time of day may be its end.
pub(super) const HOURS_PER_DAY: i64 = 24;

/// Reads `10:30`, `10:30:00.25`, or `30:00.5`, minutes and seconds, in
/// microseconds.
///
/// `hours_max` is [`HOURS_PER_DAY`] for times of day, the last of which is
/// 24:00:00.
pub(in crate::text) fn read_clock(text: &str, hours_max: i64) -> Result<u64, Failure> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, read_fraction(fraction)?),
        None => (text, 0),
    };
    let mut parts = [0; 3];
    let mut count = 0;
    for part in whole.split(':') {
        // `10:30:` has an empty part, as if nothing followed.
        if count == 3 || (part.is_empty() && count == 0) {
            return Err(Failure::Syntax);
        }
        parts[count] = match part {
            "" => 0,
            _ => part.parse::<i64>().map_err(|_| Failure::Field)?,
        };
        count += 1;
    }
    let [hours, minutes, seconds] = match (count, text.contains('.')) {
        (2, true) => [0, parts[0], parts[1]],
        (2 | 3, _) => parts,
        _ => return Err(Failure::Syntax),
    };
    if minutes > 59 || seconds > 60 || hours > hours_max {
        return Err(Failure::Field);
    }
    let total = i128::from(hours) * i128::from(MICROSECONDS_PER_HOUR)
        + i128::from(minutes * MICROSECONDS_PER_MINUTE)
        + i128::from(seconds * MICROSECONDS_PER_SECOND + fraction);
    if hours_max == HOURS_PER_DAY && total > MICROSECONDS_PER_DAY.into() {
        return Err(Failure::Field);
    }
    u64::try_from(total).map_err(|_| Failure::Field)
}

/// Reads the digits after a point in microseconds, rounded.
pub(in crate::text) fn read_fraction(digits: &str) -> Result<i64, Failure> {
    if digits.is_empty() {
        return Ok(0);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Failure::Syntax);
    }
    if digits.len() <= 6 {
        let fraction = digits
            .bytes()
            .chain(b"000000".iter().copied())
            .take(6)
            .fold(0, |fraction, digit| fraction * 10 + i64::from(digit - b'0'));
        return Ok(fraction);
    }
    let fraction: f64 = format!("0.{digits}").parse().map_err(|_| Failure::Syntax)?;
    Ok((fraction * MICROSECONDS_PER_SECOND as f64).round_ties_even() as i64)
}
