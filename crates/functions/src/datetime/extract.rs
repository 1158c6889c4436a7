//! `extract` and `date_part`: the first returns `numeric`, the second `double
//! precision`.

use types::{
    Interval, Numeric, Result, Scalar, Type, Value,
    datetime::{
        Civil, JULIAN_OF_EPOCH, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR,
        MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND, century, day_of_week, day_of_year,
        decade, is_finite_date, is_finite_timestamp, iso_day_of_week, iso_week, millennium,
        shown_year,
    },
};

use super::{
    midnight, time_of, to_local,
    unit::{Unit, unsupported},
};
use crate::{
    Context,
    argument::take,
    function::{
        DATE, FLOAT8, Function, INTERVAL, NUMERIC, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, TIMETZ,
    },
};

/// An exact part.
enum Part {
    /// This number, divided by 10 to the power of the scale.
    Exact(i128, u16),
    /// A Julian day, and the microseconds since its midnight.
    Julian(i64, i64),
    Infinite(bool),
    Null,
}

use Part::Exact;

/// Seconds from 1970-01-01 to 2000-01-01.
const UNIX_EPOCH_SECONDS: i128 = 946_684_800;

fn whole(number: i64) -> Part {
    Exact(number.into(), 0)
}

/// Returns parts of a time of the day, of any length.
fn of_time(microseconds: i64, unit: Unit) -> Option<Part> {
    let of_minute = microseconds % MICROSECONDS_PER_MINUTE;
    Some(match unit {
        Unit::Microsecond => whole(of_minute),
        Unit::Millisecond => Exact(of_minute.into(), 3),
        Unit::Second => Exact(of_minute.into(), 6),
        Unit::Minute => whole(microseconds % MICROSECONDS_PER_HOUR / MICROSECONDS_PER_MINUTE),
        Unit::Hour => whole(microseconds / MICROSECONDS_PER_HOUR),
        _ => return None,
    })
}

fn of_day(days: i64, unit: Unit) -> Option<Part> {
    let date = Civil::from_days(days);
    Some(whole(match unit {
        Unit::Day => date.day.into(),
        Unit::Month => date.month.into(),
        Unit::Quarter => i64::from(date.month - 1) / 3 + 1,
        Unit::Week => iso_week(days).1,
        Unit::Year => shown_year(date.year),
        Unit::Decade => decade(date.year),
        Unit::Century => century(date.year),
        Unit::Millennium => millennium(date.year),
        Unit::IsoYear => shown_year(iso_week(days).0),
        Unit::DayOfWeek => day_of_week(days),
        Unit::IsoDayOfWeek => iso_day_of_week(days),
        Unit::DayOfYear => day_of_year(days),
        _ => return None,
    }))
}

/// Returns parts of an infinity: infinite if they grow with time, NULL otherwise.
fn of_infinity(unit: Unit, negative: bool) -> Part {
    match unit {
        Unit::Year
        | Unit::Decade
        | Unit::Century
        | Unit::Millennium
        | Unit::Julian
        | Unit::IsoYear
        | Unit::Epoch => Part::Infinite(negative),
        _ => Part::Null,
    }
}

fn of_local(local: i64, unit: Unit) -> Option<Part> {
    let days = local.div_euclid(MICROSECONDS_PER_DAY);
    let time = time_of(local);
    if unit == Unit::Julian {
        return Some(Part::Julian(days + JULIAN_OF_EPOCH, time));
    }
    of_time(time, unit).or_else(|| of_day(days, unit))
}

fn since_1970(microseconds: i64) -> Part {
    let offset = UNIX_EPOCH_SECONDS * i128::from(MICROSECONDS_PER_SECOND);
    Exact(i128::from(microseconds) + offset, 6)
}

/// Returns the seconds east of Greenwich, or their hours or minutes.
fn of_zone(east: i64, unit: Unit) -> Option<Part> {
    Some(whole(match unit {
        Unit::Zone => east,
        Unit::ZoneHour => east / 3600,
        Unit::ZoneMinute => east % 3600 / 60,
        _ => return None,
    }))
}

fn of_interval(interval: Interval, unit: Unit) -> Option<Part> {
    let (years, months) = (
        i64::from(interval.months / 12),
        i64::from(interval.months % 12),
    );
    Some(match unit {
        Unit::Day => whole(interval.days.into()),
        Unit::Month => whole(months),
        Unit::Quarter => whole(months / 3 + 1),
        Unit::Year => whole(years),
        Unit::Decade => whole(years / 10),
        Unit::Century => whole(years / 100),
        Unit::Millennium => whole(years / 1000),
        // A year has a quarter of a day more.
        Unit::Epoch => {
            let quarter_days = i128::from(years) * 1461
                + (i128::from(months) * 30 + i128::from(interval.days)) * 4;
            let seconds = quarter_days * 21_600;
            let whole = seconds * i128::from(MICROSECONDS_PER_SECOND);
            Exact(whole + i128::from(interval.microseconds), 6)
        }
        _ => return of_time(interval.microseconds, unit),
    })
}

fn part(context: &Context<'_>, name: &str, value: Value<'_>) -> Result<Part> {
    let ty = Type::Scalar(match value {
        Value::Date(_) => Scalar::Date,
        Value::Time(_) => Scalar::Time,
        Value::TimeTz(..) => Scalar::TimeTz,
        Value::TimestampTz(_) => Scalar::TimestampTz,
        Value::Interval(_) => Scalar::Interval,
        _ => Scalar::Timestamp,
    });
    let unit = Unit::parse(name, ty)?;
    let zoned = |zone: i32| of_zone(-i64::from(zone), unit);
    let found = match value {
        Value::Date(days) => match unit {
            Unit::Microsecond
            | Unit::Millisecond
            | Unit::Second
            | Unit::Minute
            | Unit::Hour
            | Unit::Zone
            | Unit::ZoneHour
            | Unit::ZoneMinute => None,
            _ if !is_finite_date(days) => Some(of_infinity(unit, days < 0)),
            Unit::Julian => Some(whole(i64::from(days) + JULIAN_OF_EPOCH)),
            Unit::Epoch => Some(Exact(i128::from(days) * 86_400 + UNIX_EPOCH_SECONDS, 0)),
            unit => of_day(days.into(), unit),
        },
        Value::Time(time) => match unit {
            Unit::Epoch => Some(Exact(time.into(), 6)),
            unit => of_time(time, unit),
        },
        Value::TimeTz(time, zone) => match unit {
            Unit::Epoch => {
                let zone = i128::from(zone) * i128::from(MICROSECONDS_PER_SECOND);
                Some(Exact(i128::from(time) + zone, 6))
            }
            unit => of_time(time, unit).or_else(|| zoned(zone)),
        },
        Value::Timestamp(time) => match unit {
            _ if !is_finite_timestamp(time) => Some(of_infinity(unit, time < 0)),
            Unit::Zone | Unit::ZoneHour | Unit::ZoneMinute => None,
            Unit::Epoch => Some(since_1970(time)),
            unit => of_local(time, unit),
        },
        Value::TimestampTz(time) if !is_finite_timestamp(time) => Some(of_infinity(unit, time < 0)),
        Value::TimestampTz(time) => match unit {
            Unit::Epoch => Some(since_1970(time)),
            unit => match zoned(-context.settings.time_zone.offset_at(time)) {
                Some(part) => Some(part),
                None => of_local(to_local(context, time)?, unit),
            },
        },
        Value::Interval(interval) => of_interval(interval, unit),
        _ => None,
    };
    found.ok_or_else(|| unsupported(name, ty))
}

fn extract<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let scratch = context.scratch;
    Ok(
        match part(context, take(arguments, 0)?, take(arguments, 1)?)? {
            Exact(number, scale) => Value::Numeric(Numeric::from_i128(number, scale, scratch)?),
            Part::Julian(days, time) => {
                let fraction = Numeric::small(time, 0)
                    .divide(Numeric::small(MICROSECONDS_PER_DAY, 0), scratch)?;
                Value::Numeric(Numeric::small(days, 0).add(fraction, scratch)?)
            }
            Part::Infinite(false) => Value::Numeric(Numeric::INFINITY),
            Part::Infinite(true) => Value::Numeric(Numeric::NEGATIVE_INFINITY),
            Part::Null => Value::Null,
        },
    )
}

fn date_part<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    // A date counts as its midnight, and so has parts of times.
    let value = match take(arguments, 1)? {
        Value::Date(days) => Value::Timestamp(midnight(days)?),
        value => value,
    };
    Ok(match part(context, take(arguments, 0)?, value)? {
        Exact(number, scale) => Value::Float8(number as f64 / 10f64.powi(scale.into())),
        Part::Julian(days, time) => {
            Value::Float8(days as f64 + time as f64 / MICROSECONDS_PER_DAY as f64)
        }
        Part::Infinite(false) => Value::Float8(f64::INFINITY),
        Part::Infinite(true) => Value::Float8(f64::NEG_INFINITY),
        Part::Null => Value::Null,
    })
}

macro_rules! both {
    ($($ty:expr),*) => {
        &[$(
            Function::scalar("extract", &[TEXT, $ty], NUMERIC, extract),
            Function::scalar("date_part", &[TEXT, $ty], FLOAT8, date_part),
        )*
            Function::scalar("extract", &[TEXT, TIMESTAMPTZ], NUMERIC, extract).stable(),
            Function::scalar("date_part", &[TEXT, TIMESTAMPTZ], FLOAT8, date_part).stable(),
        ]
    };
}

pub(super) static FUNCTIONS: &[Function] = both!(DATE, TIME, TIMETZ, TIMESTAMP, INTERVAL);
