//! Values in PostgreSQL's binary form, as drivers send and receive them.
//!
//! Everything is big-endian. Bytes come from outside: bytes that are not of a type are an error
//! with SQLSTATE `22P03`, or the one that the type's text would have.

mod array;
mod numeric;
mod reader;
mod record;

use crate::{
    Context, Interval, Jsonb, Result, Scalar, Scratch, Sink, SqlError, SqlState, Type, Value,
    datetime::{
        DATE_MAX, DATE_MIN, MICROSECONDS_PER_DAY, TIMESTAMP_MAX, TIMESTAMP_MIN, is_finite_date,
        is_finite_timestamp,
    },
    text::OFFSET_MAX,
};
use reader::Reader;

/// The version of `jsonb`'s binary form, which is text.
const JSONB_VERSION: u8 = 1;

/// Reads a value that is not NULL from PostgreSQL's binary form, which is all of `bytes`.
///
/// Ignores modifiers; see [`TypeModifier::apply`](crate::TypeModifier::apply). Reads `Unknown` as
/// text.
///
/// # Errors
/// `22P03` if the bytes are not of the type, `22021` if text is not UTF-8, and the errors of
/// values that the type does not allow. `0A000` for rows.
pub fn read<'a>(
    bytes: &'a [u8],
    ty: Type,
    context: &Context<'_>,
    scratch: &'a Scratch,
) -> Result<Value<'a>> {
    let mut reader = Reader::new(bytes);
    let value = match ty {
        Type::Scalar(scalar) => read_scalar(&mut reader, scalar, context, scratch)?,
        Type::Array(element) | Type::Vector(element) => {
            Value::Array(array::read(&mut reader, element, context, scratch)?)
        }
        Type::Unknown => Value::Text(reader.text()?),
        Type::Record | Type::Void => {
            return Err(SqlError::unsupported(format!(
                "binary input of type {}",
                ty.name(context.names)
            )));
        }
    };
    reader.finish()?;
    Ok(value)
}

fn read_scalar<'a>(
    reader: &mut Reader<'a>,
    scalar: Scalar,
    context: &Context<'_>,
    scratch: &'a Scratch,
) -> Result<Value<'a>> {
    Ok(match scalar {
        Scalar::Bool => Value::Bool(reader.array::<1>()? != [0]),
        Scalar::Char => Value::Char(reader.array::<1>()?[0]),
        Scalar::Int2 => Value::Int2(i16::from_be_bytes(reader.array()?)),
        Scalar::Int4 => Value::Int4(reader.int()?),
        Scalar::Int8 => Value::Int8(reader.long()?),
        Scalar::Float4 => Value::Float4(f32::from_be_bytes(reader.array()?)),
        Scalar::Float8 => Value::Float8(f64::from_be_bytes(reader.array()?)),
        Scalar::Numeric => Value::Numeric(numeric::read(reader, scratch)?),
        Scalar::Text | Scalar::Varchar | Scalar::Bpchar => Value::Text(reader.text()?),
        Scalar::Name => {
            let name = reader.text()?;
            if name.len() > 63 {
                return Err(
                    SqlError::new(SqlState::NAME_TOO_LONG, "identifier too long")
                        .detail("Identifier must be less than 64 characters."),
                );
            }
            Value::Text(name)
        }
        Scalar::Json => {
            let text = reader.text()?;
            crate::json::check(text)?;
            Value::Json(text)
        }
        Scalar::Jsonb => {
            let [version] = reader.array()?;
            if version != JSONB_VERSION {
                return Err(SqlError::new(
                    SqlState::INTERNAL_ERROR,
                    format!("unsupported jsonb version number {version}"),
                ));
            }
            Value::Jsonb(Jsonb::parse(reader.text()?, scratch)?)
        }
        Scalar::Bytea => Value::Bytea(reader.rest()),
        Scalar::Uuid => Value::Uuid(reader.borrowed_array()?),
        Scalar::Date => {
            let days = reader.int()?;
            if is_finite_date(days) && !(DATE_MIN..=DATE_MAX).contains(&days) {
                return Err(out_of_range("date"));
            }
            Value::Date(days)
        }
        Scalar::Time => Value::Time(time(reader)?),
        Scalar::TimeTz => {
            let time = time(reader)?;
            let zone = reader.int()?;
            if zone <= -OFFSET_MAX || zone >= OFFSET_MAX {
                return Err(SqlError::new(
                    SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                    "time zone displacement out of range",
                ));
            }
            Value::TimeTz(time, zone)
        }
        Scalar::Timestamp => Value::Timestamp(timestamp(reader)?),
        Scalar::TimestampTz => Value::TimestampTz(timestamp(reader)?),
        Scalar::Interval => Value::Interval(Interval {
            microseconds: reader.long()?,
            days: reader.int()?,
            months: reader.int()?,
        }),
        Scalar::Oid
        | Scalar::Regclass
        | Scalar::Regtype
        | Scalar::Regproc
        | Scalar::Regnamespace
        | Scalar::Regrole => Value::Oid(reader.int()? as u32),
        Scalar::Enum(id) => {
            let label = reader.text()?;
            Value::Enum(id, crate::text::read_enum(label, id, context)?)
        }
    })
}

fn time(reader: &mut Reader<'_>) -> Result<i64> {
    let time = reader.long()?;
    if (0..=MICROSECONDS_PER_DAY).contains(&time) {
        Ok(time)
    } else {
        Err(out_of_range("time"))
    }
}

fn timestamp(reader: &mut Reader<'_>) -> Result<i64> {
    let timestamp = reader.long()?;
    if is_finite_timestamp(timestamp) && !(TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(&timestamp) {
        return Err(out_of_range("timestamp"));
    }
    Ok(timestamp)
}

#[cold]
fn out_of_range(name: &str) -> SqlError {
    SqlError::new(
        SqlState::DATETIME_FIELD_OVERFLOW,
        format!("{name} out of range"),
    )
}

/// Appends the binary form of a value that is not NULL, without its length.
///
/// # Errors
/// `XX000` if the value is NULL; `XX001` if it was stored and is damaged; `22P03` if the catalog
/// does not know an enum's label.
pub fn write(value: Value<'_>, ty: Type, context: &Context<'_>, out: &mut impl Sink) -> Result<()> {
    match value {
        Value::Null => {
            return Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "NULL has no binary form",
            ));
        }
        Value::Bool(value) => out.put_byte(value.into()),
        Value::Char(value) => out.put_byte(value),
        Value::Int2(value) => out.put(&value.to_be_bytes()),
        Value::Int4(value) | Value::Date(value) => out.put(&value.to_be_bytes()),
        Value::Int8(value)
        | Value::Time(value)
        | Value::Timestamp(value)
        | Value::TimestampTz(value) => out.put(&value.to_be_bytes()),
        Value::Float4(value) => out.put(&value.to_be_bytes()),
        Value::Float8(value) => out.put(&value.to_be_bytes()),
        Value::Numeric(value) => numeric::write(value, out),
        Value::Text(value) | Value::Json(value) => out.put(value.as_bytes()),
        Value::Bytea(value) => out.put(value),
        Value::Uuid(value) => out.put(value),
        Value::Jsonb(value) => {
            out.put_byte(JSONB_VERSION);
            value.write_text(out)?;
        }
        Value::TimeTz(time, zone) => {
            out.put(&time.to_be_bytes());
            out.put(&zone.to_be_bytes());
        }
        Value::Interval(value) => {
            out.put(&value.microseconds.to_be_bytes());
            out.put(&value.days.to_be_bytes());
            out.put(&value.months.to_be_bytes());
        }
        Value::Oid(value) => out.put(&value.to_be_bytes()),
        Value::Enum(..) => crate::text::write(value, ty, context, out)?,
        Value::Array(value) => array::write(value, context, out)?,
        Value::Record(record) => record::write(record, context, out)?,
    }
    Ok(())
}

/// Appends the length of a value and its binary form, or -1 for NULL, as in messages, arrays and
/// rows.
///
/// # Errors
/// Fails as [`write()`] does.
pub fn write_with_length(
    value: Value<'_>,
    ty: Type,
    context: &Context<'_>,
    out: &mut impl Sink,
) -> Result<()> {
    if value.is_null() {
        out.put(&(-1i32).to_be_bytes());
        return Ok(());
    }
    let start = out.written().len();
    out.put(&[0; 4]);
    write(value, ty, context, out)?;
    let length = out.written().len() - start - 4;
    let length = i32::try_from(length)
        .map_err(|_| SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "value is too long"))?;
    out.written()[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

#[cold]
pub(crate) fn invalid(message: &'static str) -> SqlError {
    SqlError::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
}
