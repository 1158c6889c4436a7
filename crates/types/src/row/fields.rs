//! Columns of a row as stores by columns keep them: an integer where a value is one, its stored bytes otherwise.
//!
//! | values | field |
//! | --- | --- |
//! | those of [`integer_of`](super::integer_of) | the integer |
//! | `boolean` | 0 or 1 |
//! | `double precision` | the bits |
//! | `numeric` whose mantissa fits into 64 bits and whose scale into 8 | mantissa and scale |
//! | all others | the bytes in which rows have them, which [`value_of_bytes`] reads |

use super::{Form, HEADER, Row};
use crate::{
    Numeric, Result, Type, Value,
    stored::{self, corrupted},
};

/// A column of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// NULL.
    Null,
    /// An integer that stands for the value.
    Integer(i64),
    /// A `numeric`: its mantissa, and the digits behind its point.
    Decimal(i64, u8),
    /// The stored value.
    Bytes(&'a [u8]),
}

impl<'a> Row<'_, 'a> {
    /// Returns a column as a field; `None` if it was added after the row was written.
    ///
    /// # Errors
    /// `XX001` if the row is damaged.
    #[inline]
    pub fn field(&self, column: usize) -> Result<Option<Field<'a>>> {
        let Some(bytes) = self.stored(column)? else {
            return Ok(None);
        };
        let Some(bytes) = bytes else {
            return Ok(Some(Field::Null));
        };
        let place = &self.layout.columns[column];
        if place.integer != 0 {
            return Ok(self.integer(column).flatten().map(Field::Integer));
        }
        let value = match place.form {
            Form::Numeric => stored::read(bytes, place.ty)?,
            Form::Float8 => stored::read(bytes, place.ty)?,
            Form::Other if place.width == Some(1) => stored::read(bytes, place.ty)?,
            _ => return Ok(Some(Field::Bytes(bytes))),
        };
        Ok(Some(match value {
            Value::Bool(value) => Field::Integer(value.into()),
            Value::Float8(value) => Field::Integer(value.to_bits().cast_signed()),
            Value::Numeric(number) => decimal(number).unwrap_or(Field::Bytes(bytes)),
            _ => Field::Bytes(bytes),
        }))
    }

    /// Returns the bytes of a column's value, `Some(None)` for NULL; `None` if the column was added after the row was
    /// written.
    ///
    /// # Errors
    /// `XX001` if the row is damaged.
    #[inline]
    pub fn stored(&self, column: usize) -> Result<Option<Option<&'a [u8]>>> {
        if column >= self.columns {
            return Ok(None);
        }
        // `new` has checked that the bitmap is there.
        if self.bytes[HEADER + column / 8] >> (column % 8) & 1 == 1 {
            return Ok(Some(None));
        }
        let place = &self.layout.columns[column];
        let bytes = match place.width {
            Some(width) => {
                let start = self.fixed + place.fixed_before as usize;
                let bytes = self.bytes.get(start..start + usize::from(width));
                bytes.ok_or_else(corrupted)?
            }
            None => self.variable(place)?,
        };
        Ok(Some(Some(bytes)))
    }
}

fn decimal(number: Numeric<'_>) -> Option<Field<'static>> {
    let (mantissa, scale) = number.as_small()?;
    Some(Field::Decimal(mantissa, u8::try_from(scale).ok()?))
}

/// Returns the value of a type with the bytes of a field.
///
/// # Errors
/// `XX001` if the bytes are not of the type.
pub fn value_of_bytes(bytes: &[u8], ty: Type) -> Result<Value<'_>> {
    stored::read(bytes, ty)
}
