//! Distances between values for the bounds of `RANGE` frames, for each type that has distances.
//!
//! The rules are PostgreSQL's `in_range` support functions: NaN is greater than all and near only
//! itself; an infinite distance from an infinity that lies the other way reaches everything.

use types::{Interval, Numeric, Result, SqlError, SqlState, Value, compare::compare};

use crate::{
    Context,
    datetime::{self, add_local, add_zoned, negated},
};

/// Returns whether `value` is not greater (`below`), or not less, than `base` with `distance` added
/// or subtracted. None of them is NULL. The distance is an interval if values are dates or times, and
/// of their type, any integer or `double precision` otherwise.
///
/// # Errors
/// 22013 for a negative distance, 22008 for times out of range, 0A000 for other types.
pub fn is_in_range<'a>(
    context: &Context<'a>,
    value: Value<'a>,
    base: Value<'a>,
    distance: Value<'a>,
    subtracts: bool,
    below: bool,
) -> Result<bool> {
    let within = |order: std::cmp::Ordering| match below {
        true => order.is_le(),
        false => order.is_ge(),
    };
    if let (Some(value), Some(base), Some(distance)) =
        (integer(value), integer(base), integer(distance))
    {
        refuse_negative(distance < 0)?;
        let limit = match subtracts {
            true => base - distance,
            false => base + distance,
        };
        return Ok(within(value.cmp(&limit)));
    }
    if let (Some(value), Some(base), Some(distance)) = (float(value), float(base), float(distance))
    {
        refuse_negative(distance.is_nan() || distance < 0.0)?;
        let sizes = [value, base, distance].map(Size::of_float);
        if let Some(is_in_range) = beyond_limits(sizes, subtracts, below) {
            return Ok(is_in_range);
        }
        let limit = match subtracts {
            true => base - distance,
            false => base + distance,
        };
        return Ok(match below {
            true => value <= limit,
            false => value >= limit,
        });
    }
    if let (Value::Numeric(value), Value::Numeric(base), Value::Numeric(distance)) =
        (value, base, distance)
    {
        refuse_negative(distance.is_nan() || distance.signum() < 0)?;
        let sizes = [value, base, distance].map(Size::of_numeric);
        if let Some(is_in_range) = beyond_limits(sizes, subtracts, below) {
            return Ok(is_in_range);
        }
        let limit = match subtracts {
            true => base.subtract(distance, context.scratch)?,
            false => base.add(distance, context.scratch)?,
        };
        return Ok(within(compare(
            Value::Numeric(value),
            Value::Numeric(limit),
        )));
    }
    let Value::Interval(distance) = distance else {
        return Err(unknown());
    };
    let nothing = Interval {
        microseconds: 0,
        days: 0,
        months: 0,
    };
    refuse_negative(compare(Value::Interval(distance), Value::Interval(nothing)).is_lt())?;
    let step = match subtracts {
        true => negated(distance)?,
        false => distance,
    };
    let limit = match base {
        Value::Date(days) => {
            let Value::Date(value) = value else {
                return Err(unknown());
            };
            let limit = add_local(datetime::midnight(days)?, step)?;
            return Ok(within(datetime::midnight(value)?.cmp(&limit)));
        }
        Value::Timestamp(time) => Value::Timestamp(add_local(time, step)?),
        Value::TimestampTz(time) => {
            Value::TimestampTz(add_zoned(&context.settings.time_zone, time, step)?)
        }
        Value::Interval(base) => Value::Interval(datetime::add_intervals(base, step)?),
        // Times do not begin again at midnight here.
        Value::Time(time) => Value::Time(time.saturating_add(step.microseconds)),
        Value::TimeTz(time, zone) => Value::TimeTz(time.saturating_add(step.microseconds), zone),
        _ => return Err(unknown()),
    };
    Ok(within(compare(value, limit)))
}

/// Size of a number, as far as it matters if there is no limit to compare with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Finite,
    Infinite,
    NegativeInfinite,
    NotANumber,
}

impl Size {
    fn of_float(number: f64) -> Self {
        Self::of(number.is_nan(), number.is_infinite(), number > 0.0)
    }

    fn of_numeric(number: Numeric<'_>) -> Self {
        Self::of(number.is_nan(), number.is_infinite(), number.signum() > 0)
    }

    fn of(is_nan: bool, is_infinite: bool, is_positive: bool) -> Self {
        match (is_nan, is_infinite, is_positive) {
            (true, ..) => Self::NotANumber,
            (_, false, _) => Self::Finite,
            (_, true, true) => Self::Infinite,
            (_, true, false) => Self::NegativeInfinite,
        }
    }
}

/// Returns the answer for NaN, and for an infinite distance from an infinity that lies the other way;
/// `None` if there is a limit.
fn beyond_limits([value, base, distance]: [Size; 3], subtracts: bool, below: bool) -> Option<bool> {
    let other_way = match subtracts {
        true => Size::Infinite,
        false => Size::NegativeInfinite,
    };
    match (value, base) {
        (Size::NotANumber, Size::NotANumber) => Some(true),
        (Size::NotANumber, _) => Some(!below),
        (_, Size::NotANumber) => Some(below),
        _ => (distance == Size::Infinite && base == other_way).then_some(true),
    }
}

fn integer(value: Value<'_>) -> Option<i128> {
    match value {
        Value::Int2(value) => Some(value.into()),
        Value::Int4(value) => Some(value.into()),
        Value::Int8(value) => Some(value.into()),
        _ => None,
    }
}

fn float(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Float4(value) => Some(value.into()),
        Value::Float8(value) => Some(value),
        _ => None,
    }
}

fn refuse_negative(is_negative: bool) -> Result<()> {
    if !is_negative {
        return Ok(());
    }
    Err(SqlError::new(
        SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
        "invalid preceding or following size in window function",
    ))
}

fn unknown() -> SqlError {
    SqlError::unsupported("RANGE with a distance over this type")
}
