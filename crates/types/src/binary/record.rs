//! Rows, written only: the number of columns, then each one's type, length and binary form.

use super::write_with_length;
use crate::{Context, Record, Result, Scalar, Sink, Type, Value};

pub(super) fn write(record: &Record<'_>, context: &Context<'_>, out: &mut impl Sink) -> Result<()> {
    out.put(&(record.values.len() as u32).to_be_bytes());
    for (position, value) in record.values.iter().enumerate() {
        let ty = match record.ty(position) {
            Type::Unknown => type_of(*value),
            ty => ty,
        };
        out.put(&ty.oid().to_be_bytes());
        write_with_length(*value, ty, context, out)?;
    }
    Ok(())
}

/// Returns a type that has this kind of value; the most general among several.
fn type_of(value: Value<'_>) -> Type {
    Type::Scalar(match value {
        Value::Null => return Type::Unknown,
        Value::Bool(_) => Scalar::Bool,
        Value::Int2(_) => Scalar::Int2,
        Value::Int4(_) => Scalar::Int4,
        Value::Int8(_) => Scalar::Int8,
        Value::Float4(_) => Scalar::Float4,
        Value::Float8(_) => Scalar::Float8,
        Value::Numeric(_) => Scalar::Numeric,
        Value::Text(_) => Scalar::Text,
        Value::Char(_) => Scalar::Char,
        Value::Bytea(_) => Scalar::Bytea,
        Value::Uuid(_) => Scalar::Uuid,
        Value::Json(_) => Scalar::Json,
        Value::Jsonb(_) => Scalar::Jsonb,
        Value::Date(_) => Scalar::Date,
        Value::Time(_) => Scalar::Time,
        Value::TimeTz(..) => Scalar::TimeTz,
        Value::Timestamp(_) => Scalar::Timestamp,
        Value::TimestampTz(_) => Scalar::TimestampTz,
        Value::Interval(_) => Scalar::Interval,
        Value::Oid(_) => Scalar::Oid,
        Value::Enum(id, _) => Scalar::Enum(id),
        Value::Array(array) => return Type::Array(array.element()),
        Value::Record(_) => return Type::Record,
    })
}
