//! `generate_series`: numbers and times at equal distances, made as they are asked for.

use std::cmp::Ordering;

use types::{Interval, Numeric, Result, SqlError, SqlState, Value, compare::compare};

use crate::{
    Context, Rows,
    argument::take,
    datetime,
    function::{
        Body, Function, INT4, INT8, INTERVAL, NUMERIC, Parameter, TEXT, TIMESTAMP, TIMESTAMPTZ,
    },
    integer::Wide,
    set::SetFunction,
};

fn zero_step() -> SqlError {
    SqlError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        "step size cannot equal zero",
    )
}

fn integers<'a>(arguments: &[Value<'a>], value: fn(i64) -> Value<'a>) -> Result<Rows<'a>> {
    let Wide(start) = take(arguments, 0)?;
    let Wide(stop) = take(arguments, 1)?;
    let step = match arguments.len() {
        3 => take::<Wide>(arguments, 2)?.0,
        _ => 1,
    };
    if step == 0 {
        return Err(zero_step());
    }
    let mut next = Some(start);
    Ok(Box::new(std::iter::from_fn(move || {
        let number = next.filter(|next| {
            if step > 0 {
                *next <= stop
            } else {
                *next >= stop
            }
        })?;
        next = number.checked_add(step);
        Some(Ok(value(number)))
    })))
}

fn finite(number: Numeric<'_>, what: &str) -> Result<()> {
    let kind = if number.is_nan() {
        "NaN"
    } else if number.is_infinite() {
        "infinity"
    } else {
        return Ok(());
    };
    Err(SqlError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("{what} cannot be {kind}"),
    ))
}

fn numerics<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let start: Numeric<'a> = take(arguments, 0)?;
    let stop: Numeric<'a> = take(arguments, 1)?;
    let step: Numeric<'a> = match arguments.len() {
        3 => take(arguments, 2)?,
        _ => Numeric::small(1, 0),
    };
    finite(start, "start value")?;
    finite(stop, "stop value")?;
    finite(step, "step size")?;
    let beyond = match step.signum() {
        0 => return Err(zero_step()),
        1 => Ordering::Greater,
        _ => Ordering::Less,
    };
    let scratch = context.scratch;
    let mut next = Some(Ok(start));
    Ok(Box::new(std::iter::from_fn(move || {
        let number = match next.take()? {
            Ok(number) => number,
            Err(error) => return Some(Err(error)),
        };
        if number.compare(stop) == beyond {
            return None;
        }
        next = Some(number.add(step, scratch));
        Some(Ok(Value::Numeric(number)))
    })))
}

fn times<'a>(
    arguments: &[Value<'a>],
    times: (i64, i64),
    value: fn(i64) -> Value<'a>,
    add: impl Fn(i64, Interval) -> Result<i64> + 'a,
) -> Result<Rows<'a>> {
    let (start, stop) = times;
    let step: Interval = take(arguments, 2)?;
    let zero = Interval {
        microseconds: 0,
        days: 0,
        months: 0,
    };
    let direction = compare(Value::Interval(step), Value::Interval(zero));
    if direction.is_eq() {
        return Err(zero_step());
    }
    let mut next = Some(Ok(start));
    Ok(Box::new(std::iter::from_fn(move || {
        let time = match next.take()? {
            Ok(time) => time,
            Err(error) => return Some(Err(error)),
        };
        if time.cmp(&stop) == direction {
            return None;
        }
        next = Some(add(time, step));
        Some(Ok(value(time)))
    })))
}

fn timestamps<'a>(_: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let bounds = (
        take::<crate::argument::Timestamp>(arguments, 0)?.0,
        take::<crate::argument::Timestamp>(arguments, 1)?.0,
    );
    times(arguments, bounds, Value::Timestamp, datetime::add_local)
}

fn moments<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let bounds = (
        take::<crate::argument::TimestampTz>(arguments, 0)?.0,
        take::<crate::argument::TimestampTz>(arguments, 1)?.0,
    );
    let zone = match arguments.len() {
        4 => datetime::zone_named(take(arguments, 3)?)?,
        _ => context.settings.time_zone.clone(),
    };
    times(arguments, bounds, Value::TimestampTz, move |time, step| {
        datetime::add_zoned(&zone, time, step)
    })
}

const fn series(
    parameters: &'static [Parameter],
    result: Parameter,
    body: SetFunction,
) -> Function {
    Function::new("generate_series", parameters, result, Body::Set(body))
}

pub(crate) static FUNCTIONS: &[Function] = &[
    series(&[INT4, INT4, INT4], INT4, |_, arguments| {
        integers(arguments, |number| Value::Int4(number as i32))
    })
    .optional(1),
    series(&[INT8, INT8, INT8], INT8, |_, arguments| {
        integers(arguments, Value::Int8)
    })
    .optional(1),
    series(&[NUMERIC, NUMERIC, NUMERIC], NUMERIC, numerics).optional(1),
    series(&[TIMESTAMP, TIMESTAMP, INTERVAL], TIMESTAMP, timestamps),
    series(
        &[TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL, TEXT],
        TIMESTAMPTZ,
        moments,
    )
    .optional(1)
    .stable(),
];
