//! Conversions, by the type of the result; each takes every type that can become
//! it.

use types::{Jsonb, JsonbView, Numeric, Result, SqlError, SqlState, Value};

use crate::{
    Context, datetime,
    float::overflow,
    integer::{Integer, out_of_range},
};

#[cold]
fn impossible() -> SqlError {
    SqlError::new(SqlState::INTERNAL_ERROR, "a value has no such cast")
}

/// Returns the scalar of a `jsonb` that is a number or a truth value.
fn scalar_of<'a>(document: Jsonb<'a>, name: &str) -> Result<Value<'a>> {
    let what = match document.view()? {
        JsonbView::Number(number) => return Ok(Value::Numeric(number)),
        JsonbView::Bool(value) => return Ok(Value::Bool(value)),
        JsonbView::Null => "null",
        JsonbView::String(_) => "string",
        JsonbView::Array(_) => "array",
        JsonbView::Object(_) => "object",
    };
    Err(cannot_cast(what, name))
}

fn cannot_cast(what: &str, name: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("cannot cast jsonb {what} to type {name}"),
    )
}

/// Returns the number of a `jsonb`.
fn number_of<'a>(document: Jsonb<'a>, name: &str) -> Result<Numeric<'a>> {
    match scalar_of(document, name)? {
        Value::Numeric(number) => Ok(number),
        _ => Err(cannot_cast("boolean", name)),
    }
}

/// Rounds halves to even; a float outside of the type is an error, NaN too.
fn whole<R: Integer>(float: f64) -> Result<R> {
    let rounded = float.round_ties_even();
    let limit = 2f64.powi(R::BITS as i32 - 1);
    if rounded >= -limit && rounded < limit {
        R::narrow(rounded as i64)
    } else {
        Err(out_of_range(R::NAME))
    }
}

fn integer<R: Integer>(
    value: Value<'_>,
    of_numeric: impl Fn(Numeric<'_>) -> Result<R>,
) -> Result<R> {
    match value {
        Value::Int2(value) => R::narrow(value.into()),
        Value::Int4(value) => R::narrow(value.into()),
        Value::Int8(value) => R::narrow(value),
        Value::Float4(value) => whole(value.into()),
        Value::Float8(value) => whole(value),
        Value::Numeric(value) => of_numeric(value),
        Value::Bool(value) => R::narrow(value.into()),
        Value::Char(value) => R::narrow((value as i8).into()),
        Value::Oid(value) if R::BITS == 32 => R::narrow((value as i32).into()),
        Value::Oid(value) => R::narrow(value.into()),
        Value::Jsonb(document) => of_numeric(number_of(document, R::NAME)?),
        _ => Err(impossible()),
    }
}

pub(super) fn int2<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    integer(value, |number| number.to_i16()).map(Value::Int2)
}

pub(super) fn int4<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    integer(value, |number| number.to_i32()).map(Value::Int4)
}

pub(super) fn int8<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    integer(value, |number| number.to_i64()).map(Value::Int8)
}

pub(super) fn oid<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    Ok(Value::Oid(match value {
        Value::Int2(value) => i32::from(value) as u32,
        Value::Int4(value) => value as u32,
        Value::Int8(value) => u32::try_from(value)
            .map_err(|_| SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range"))?,
        _ => return Err(impossible()),
    }))
}

/// Returns the nearest `real` of a number with more digits.
fn single(wide: f64, finite: bool) -> Result<f32> {
    let narrow = wide as f32;
    if narrow.is_infinite() && finite {
        return Err(overflow());
    }
    if narrow == 0.0 && wide != 0.0 {
        return Err(crate::float::underflow());
    }
    Ok(narrow)
}

pub(super) fn float4<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    let of_numeric = |number: Numeric<'_>| single(number.to_f64(), !number.is_infinite());
    Ok(Value::Float4(match value {
        Value::Int2(value) => value.into(),
        Value::Int4(value) => value as f32,
        Value::Int8(value) => value as f32,
        Value::Float8(value) => single(value, value.is_finite())?,
        Value::Numeric(value) => of_numeric(value)?,
        Value::Jsonb(document) => of_numeric(number_of(document, "real")?)?,
        _ => return Err(impossible()),
    }))
}

pub(super) fn float8<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    Ok(Value::Float8(match value {
        Value::Int2(value) => value.into(),
        Value::Int4(value) => value.into(),
        Value::Int8(value) => value as f64,
        Value::Float4(value) => value.into(),
        Value::Numeric(value) => numeric_float(value)?,
        Value::Jsonb(document) => numeric_float(number_of(document, "double precision")?)?,
        _ => return Err(impossible()),
    }))
}

fn numeric_float(number: Numeric<'_>) -> Result<f64> {
    let float = number.to_f64();
    if float.is_infinite() && !number.is_infinite() {
        return Err(overflow());
    }
    Ok(float)
}

/// Converts a number of any type to `numeric`.
pub(crate) fn to_numeric<'a>(context: &Context<'a>, value: Value<'a>) -> Result<Numeric<'a>> {
    match value {
        Value::Int2(value) => Ok(Numeric::small(value.into(), 0)),
        Value::Int4(value) => Ok(Numeric::small(value.into(), 0)),
        Value::Int8(value) => Ok(Numeric::small(value, 0)),
        Value::Float4(value) => Numeric::from_f32(value, context.scratch),
        Value::Float8(value) => Numeric::from_f64(value, context.scratch),
        Value::Numeric(value) => Ok(value),
        Value::Jsonb(document) => number_of(document, "numeric"),
        _ => Err(impossible()),
    }
}

pub(super) fn numeric<'a>(context: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    to_numeric(context, value).map(Value::Numeric)
}

pub(super) fn boolean<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    Ok(Value::Bool(match value {
        Value::Int4(value) => value != 0,
        Value::Jsonb(document) => match scalar_of(document, "boolean")? {
            Value::Bool(value) => value,
            _ => return Err(cannot_cast("numeric", "boolean")),
        },
        _ => return Err(impossible()),
    }))
}

pub(super) fn boolean_text<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    match value {
        Value::Bool(true) => Ok(Value::Text("true")),
        Value::Bool(false) => Ok(Value::Text("false")),
        _ => Err(impossible()),
    }
}

/// Converts to `"char"`: the first byte of a text, or that of `\377`; or a small
/// number.
pub(super) fn char<'a>(context: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    Ok(Value::Char(match value {
        Value::Text(text) => {
            return types::text::read(
                text,
                types::Scalar::Char.into(),
                &context.types(),
                context.scratch,
            );
        }
        Value::Int4(value) => i8::try_from(value).map_err(|_| out_of_range("\"char\""))? as u8,
        _ => return Err(impossible()),
    }))
}

pub(super) fn char_text<'a>(context: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    match value {
        Value::Char(0) => Ok(Value::Text("")),
        Value::Char(byte) if byte.is_ascii() => {
            let text: &str = context.text(char::from(byte).encode_utf8(&mut [0; 4]));
            Ok(Value::Text(text))
        }
        value => context
            .text_of(value, types::Scalar::Char.into())
            .map(Value::Text),
    }
}

/// Returns `char(n)` without its blanks.
pub(super) fn unpadded<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    match value {
        Value::Text(text) => Ok(Value::Text(types::compare::without_blanks(text))),
        _ => Err(impossible()),
    }
}

fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Converts `char(n)`, without its blanks, to a name.
pub(super) fn name_unpadded<'a>(context: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    name(context, unpadded(context, value)?)
}

/// Converts to a name of at most 63 bytes; whole characters are cut off.
pub(super) fn name<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    const BYTES_MAX: usize = 63;
    match value {
        Value::Text(text) => Ok(Value::Text(cut(text, BYTES_MAX))),
        _ => Err(impossible()),
    }
}

pub(super) fn date<'a>(context: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    Ok(Value::Date(match value {
        Value::Timestamp(time) => datetime::date_of(time),
        Value::TimestampTz(time) => datetime::date_of(datetime::to_local(context, time)?),
        _ => return Err(impossible()),
    }))
}

pub(super) fn time<'a>(context: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    let of_local =
        |local: i64| types::datetime::is_finite_timestamp(local).then(|| datetime::time_of(local));
    let time = match value {
        Value::Timestamp(time) => of_local(time),
        Value::TimestampTz(time) => of_local(datetime::to_local(context, time)?),
        Value::TimeTz(time, _) => Some(time),
        Value::Interval(interval) => Some(datetime::time_of(interval.microseconds)),
        _ => return Err(impossible()),
    };
    Ok(time.map_or(Value::Null, Value::Time))
}

pub(super) fn timetz<'a>(context: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    Ok(match value {
        Value::TimestampTz(time) => {
            let local = datetime::to_local(context, time)?;
            if !types::datetime::is_finite_timestamp(local) {
                return Ok(Value::Null);
            }
            let east = context.settings.time_zone.offset_at(time);
            Value::TimeTz(datetime::time_of(local), -east)
        }
        // The zone's offset today.
        Value::Time(time) => {
            let today = context.environment.transaction_time();
            let east = context.settings.time_zone.offset_at(today);
            Value::TimeTz(time, -east)
        }
        _ => return Err(impossible()),
    })
}

pub(super) fn timestamp<'a>(context: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    Ok(Value::Timestamp(match value {
        Value::Date(days) => datetime::midnight(days)?,
        Value::TimestampTz(time) => datetime::to_local(context, time)?,
        _ => return Err(impossible()),
    }))
}

pub(super) fn timestamptz<'a>(context: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    Ok(Value::TimestampTz(match value {
        Value::Date(days) => datetime::to_utc(context, datetime::midnight(days)?)?,
        Value::Timestamp(time) => datetime::to_utc(context, time)?,
        _ => return Err(impossible()),
    }))
}

pub(super) fn interval<'a>(_: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
    match value {
        Value::Time(microseconds) => Ok(Value::Interval(types::Interval {
            microseconds,
            days: 0,
            months: 0,
        })),
        _ => Err(impossible()),
    }
}
