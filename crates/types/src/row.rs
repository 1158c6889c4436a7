//! The stored form of a table's row.
//!
//! ```text
//! ┌──────────────────────┬──────────┬────────────────────┬──────────────────┬───────────────┐
//! │ 0-14: columns        │ bitmap   │ columns of fixed   │ ends of the      │ their bytes   │
//! │ 15: ends are 32 bits │ of nulls │ width, in order    │ others, 16 or 32 │               │
//! │ u16                  │          │ (zeros for NULL)   │ bits each        │               │
//! └──────────────────────┴──────────┴────────────────────┴──────────────────┴───────────────┘
//! ```
//!
//! The position of a column of fixed width, and the end of another column, follow from the
//! column's number and the number of columns, so that reading one decodes no other. Everything is
//! little-endian and nothing is aligned.
//!
//! The number of columns is that of the table when the row was written. A later column is
//! *missing*: its reader takes the default that the table had when the column was added. Adding a
//! column therefore rewrites nothing. Columns are never removed from a [`RowLayout`], since rows
//! may have them.
//!
//! A damaged row is an error when it is read, and never a panic.

mod fields;
mod writer;

use crate::{
    Numeric, Result, Scalar, SqlError, SqlState, Type, Value,
    stored::{self, corrupted},
};
pub use fields::{Field, value_of_bytes};
pub use writer::RowWriter;

/// Maximum columns of a table.
pub const COLUMNS_MAX: usize = 1600;

const WIDE: u16 = 1 << 15;
const HEADER: usize = 2;

/// Positions of the columns of a table's rows.
#[derive(Debug, Clone, Default)]
pub struct RowLayout {
    columns: Vec<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    ty: Type,
    /// Bytes of a value, if all values have as many.
    width: Option<u8>,
    /// Bytes of the fixed columns before it, and the number of the others.
    fixed_before: u32,
    variable_before: u32,
    /// Bytes of a value, if it is an integer; otherwise 0.
    integer: u8,
    form: Form,
}

/// A receiver of read values. Implementations are best inlined always.
pub trait Taking<'a> {
    /// Takes the next value.
    fn take(&mut self, value: Value<'a>);
}

impl<'a> Taking<'a> for Option<Value<'a>> {
    #[inline(always)]
    fn take(&mut self, value: Value<'a>) {
        *self = Some(value);
    }
}

impl<'a> Taking<'a> for Vec<Value<'a>> {
    #[inline(always)]
    fn take(&mut self, value: Value<'a>) {
        self.push(value);
    }
}

/// The stored form of a value, for the types that most columns have.
#[derive(Debug, Clone, Copy)]
enum Form {
    Int2,
    Int4,
    Int8,
    Float8,
    Date,
    Timestamp,
    TimestampTz,
    Numeric,
    Text,
    /// Any other form, read by [`stored::read`].
    Other,
}

impl Form {
    fn of(ty: Type) -> Form {
        let Type::Scalar(scalar) = ty else {
            return Form::Other;
        };
        match scalar {
            Scalar::Int2 => Form::Int2,
            Scalar::Int4 => Form::Int4,
            Scalar::Int8 => Form::Int8,
            Scalar::Float8 => Form::Float8,
            Scalar::Date => Form::Date,
            Scalar::Timestamp => Form::Timestamp,
            Scalar::TimestampTz => Form::TimestampTz,
            Scalar::Numeric => Form::Numeric,
            Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name => Form::Text,
            _ => Form::Other,
        }
    }
}

/// Returns the integer that stands for a value which is stored as one and ordered like it: a
/// `smallint`, `integer`, `bigint`, `date`, `time` or `timestamp`.
pub fn integer_of(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int2(value) => Some(value.into()),
        Value::Int4(value) | Value::Date(value) => Some(value.into()),
        Value::Int8(value)
        | Value::Time(value)
        | Value::Timestamp(value)
        | Value::TimestampTz(value) => Some(value),
        _ => None,
    }
}

/// Returns whether values of a type are integers in the sense of [`integer_of`].
pub fn is_integer(ty: Type) -> bool {
    matches!(
        ty,
        Type::Scalar(
            Scalar::Int2
                | Scalar::Int4
                | Scalar::Int8
                | Scalar::Date
                | Scalar::Time
                | Scalar::Timestamp
                | Scalar::TimestampTz
        )
    )
}

impl RowLayout {
    /// Returns the layout of rows with columns of these types.
    ///
    /// # Errors
    /// `54011` if there are more than [`COLUMNS_MAX`], `0A000` if a type cannot be stored.
    pub fn new(columns: &[Type]) -> Result<Self> {
        let mut layout = Self::default();
        for ty in columns {
            layout.push(*ty)?;
        }
        Ok(layout)
    }

    /// Adds a column behind the others; rows that were written before are without it.
    ///
    /// # Errors
    /// `54011` if there are [`COLUMNS_MAX`] already, `0A000` if the type cannot be stored.
    pub fn push(&mut self, ty: Type) -> Result<()> {
        if self.columns.len() >= COLUMNS_MAX {
            return Err(SqlError::new(
                SqlState::TOO_MANY_COLUMNS,
                format!("tables can have at most {COLUMNS_MAX} columns"),
            ));
        }
        if !matches!(ty, Type::Scalar(_) | Type::Array(_)) {
            return Err(SqlError::unsupported(format!("a column of type {ty:?}")));
        }
        let (fixed_before, variable_before) = self.before(self.columns.len());
        self.columns.push(Place {
            ty,
            width: stored::width(ty).map(|width| width as u8),
            fixed_before,
            variable_before,
            integer: match stored::width(ty) {
                Some(width) if is_integer(ty) => width as u8,
                _ => 0,
            },
            form: Form::of(ty),
        });
        Ok(())
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Returns the type of a column.
    pub fn column_type(&self, column: usize) -> Option<Type> {
        self.columns.get(column).map(|place| place.ty)
    }

    /// Returns the bytes of the fixed ones among the first `columns`, and the number of the
    /// others.
    fn before(&self, columns: usize) -> (u32, u32) {
        match columns.checked_sub(1) {
            None => (0, 0),
            Some(last) => {
                let place = &self.columns[last];
                match place.width {
                    Some(width) => (place.fixed_before + u32::from(width), place.variable_before),
                    None => (place.fixed_before, place.variable_before + 1),
                }
            }
        }
    }
}

/// A row that was read.
#[derive(Debug, Clone, Copy)]
pub struct Row<'l, 'a> {
    layout: &'l RowLayout,
    bytes: &'a [u8],
    /// Number of columns that were written.
    columns: usize,
    wide: bool,
    /// Positions of the fixed columns, of the ends of the others, and of their bytes.
    fixed: usize,
    ends: usize,
    data: usize,
}

impl<'l, 'a> Row<'l, 'a> {
    /// Reads a row that is all of `bytes`; its columns are read when asked for.
    ///
    /// # Errors
    /// `XX001` if `bytes` is no row, or one with more columns than the layout has.
    #[inline]
    pub fn new(layout: &'l RowLayout, bytes: &'a [u8]) -> Result<Self> {
        let Some(first) = bytes.first_chunk::<HEADER>() else {
            return Err(corrupted());
        };
        let header = u16::from_le_bytes(*first);
        let columns = usize::from(header & !WIDE);
        if columns > layout.columns.len() {
            return Err(corrupted());
        }
        let wide = header & WIDE != 0;
        let (fixed_bytes, variable) = layout.before(columns);
        let fixed = HEADER + columns.div_ceil(8);
        let ends = fixed + fixed_bytes as usize;
        let data = ends + variable as usize * end_width(wide);
        if data > bytes.len() {
            return Err(corrupted());
        }
        Ok(Self {
            layout,
            bytes,
            columns,
            wide,
            fixed,
            ends,
            data,
        })
    }

    /// Returns the number of columns that the row has; later ones are missing.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the value of a column, from 0; `None` if it was added after the row was written.
    ///
    /// Takes the same time for each column.
    ///
    /// # Errors
    /// `XX001` if the row is damaged.
    #[inline]
    pub fn value(&self, column: usize) -> Result<Option<Value<'a>>> {
        let mut value = None;
        self.give(column, &mut value)?;
        Ok(value)
    }

    /// Passes the value of a column to `to`; returns whether the row has the column.
    ///
    /// The value is made in its final place. (A value that is put together piece by piece and then
    /// copied as a whole keeps a processor waiting for the pieces, each time.)
    ///
    /// # Errors
    /// `XX001` if the row is damaged.
    #[inline(always)]
    pub fn give(&self, column: usize, to: &mut impl Taking<'a>) -> Result<bool> {
        if column >= self.columns {
            return Ok(false);
        }
        // `new` has checked that the bitmap is there.
        if self.bytes[HEADER + column / 8] >> (column % 8) & 1 == 1 {
            to.take(Value::Null);
            return Ok(true);
        }
        let place = &self.layout.columns[column];
        let start = self.fixed + place.fixed_before as usize;
        match place.form {
            Form::Int2 => to.take(Value::Int2(i16::from_le_bytes(self.fixed_at(start)?))),
            Form::Int4 => to.take(Value::Int4(i32::from_le_bytes(self.fixed_at(start)?))),
            Form::Int8 => to.take(Value::Int8(i64::from_le_bytes(self.fixed_at(start)?))),
            Form::Float8 => to.take(Value::Float8(f64::from_le_bytes(self.fixed_at(start)?))),
            Form::Date => to.take(Value::Date(i32::from_le_bytes(self.fixed_at(start)?))),
            Form::Timestamp => {
                to.take(Value::Timestamp(i64::from_le_bytes(self.fixed_at(start)?)));
            }
            Form::TimestampTz => {
                to.take(Value::TimestampTz(i64::from_le_bytes(
                    self.fixed_at(start)?,
                )));
            }
            Form::Numeric => to.take(Value::Numeric(Numeric::from_stored(self.variable(place)?)?)),
            Form::Text => to.take(Value::Text(stored::text(self.variable(place)?)?)),
            Form::Other => {
                let bytes = match place.width {
                    Some(width) => &self.bytes[start..start + usize::from(width)],
                    None => self.variable(place)?,
                };
                to.take(stored::read(bytes, place.ty)?);
            }
        }
        Ok(true)
    }

    /// Returns the bytes at a position.
    #[inline(always)]
    fn fixed_at<const N: usize>(&self, start: usize) -> Result<[u8; N]> {
        let bytes = self.bytes.get(start..).and_then(|rest| rest.first_chunk());
        bytes.copied().ok_or_else(corrupted)
    }

    /// Returns the bytes of a column of variable width.
    #[inline]
    fn variable(&self, place: &Place) -> Result<&'a [u8]> {
        let index = place.variable_before as usize;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => self.end(before),
        };
        let bytes = self.bytes[self.data..].get(start..self.end(index));
        bytes.ok_or_else(corrupted)
    }

    /// Returns the integer of a column with an integer, a date or a time, in the sense of
    /// [`integer_of`]: `None` if the column was added after the row was written, or has another
    /// type; `Some(None)` for NULL.
    #[inline]
    pub fn integer(&self, column: usize) -> Option<Option<i64>> {
        if column >= self.columns {
            return None;
        }
        let place = &self.layout.columns[column];
        let width = match place.integer {
            0 => return None,
            width => usize::from(width),
        };
        // `new` has checked that both are there.
        if self.bytes[HEADER + column / 8] >> (column % 8) & 1 == 1 {
            return Some(None);
        }
        let start = self.fixed + place.fixed_before as usize;
        let bytes = &self.bytes[start..start + width];
        Some(Some(match *bytes {
            [a, b] => i16::from_le_bytes([a, b]).into(),
            [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
            [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => return None,
        }))
    }

    /// Reads all columns; `missing` returns the values of missing ones.
    ///
    /// # Errors
    /// `XX001` if the row is damaged.
    pub fn values(
        &self,
        missing: impl Fn(usize) -> Value<'a>,
    ) -> impl Iterator<Item = Result<Value<'a>>> {
        (0..self.layout.columns.len())
            .map(move |column| Ok(self.value(column)?.unwrap_or_else(|| missing(column))))
    }

    /// Returns the end of a column of variable width, from the first one's beginning.
    #[inline]
    fn end(&self, index: usize) -> usize {
        let at = self.ends + index * end_width(self.wide);
        // `new` has checked that the ends are there.
        let bytes = &self.bytes[at..];
        if self.wide {
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
        } else {
            usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
        }
    }
}

fn end_width(wide: bool) -> usize {
    if wide { 4 } else { 2 }
}

#[cfg(test)]
mod tests;
