//! Arrays from values.

use bumpalo::collections::Vec as ArenaVec;

use super::{Array, DIMENSIONS_MAX, Dimension, element_count, too_large, too_many_dimensions};
use crate::{Result, Scalar, Scratch, Sink as _, SqlError, SqlState, Value, stored};

impl<'a> Array<'a> {
    /// Builds an array of one dimension with the lower bound 1; of none if there are no values.
    ///
    /// # Errors
    /// `54000` if there are too many values, `XX000` if one is not of the element's type.
    pub fn of(element: Scalar, values: &[Value<'_>], scratch: &'a Scratch) -> Result<Self> {
        let length = u32::try_from(values.len()).map_err(|_| too_large())?;
        let dimension = Dimension { length, lower: 1 };
        let dimensions = if length == 0 { &[][..] } else { &[dimension] };
        Self::build(element, dimensions, values, scratch)
    }

    /// Builds an array with these dimensions from values in the order of storage, the last subscript
    /// fastest.
    ///
    /// # Errors
    /// `54000` if there are too many dimensions or elements, `53200` if the statement may not hold as
    /// much, `XX000` if the number of values is not the product of the lengths, or one is not of the
    /// element's type.
    pub fn build(
        element: Scalar,
        dimensions: &[Dimension],
        values: &[Value<'_>],
        scratch: &'a Scratch,
    ) -> Result<Self> {
        if dimensions.len() > DIMENSIONS_MAX {
            return Err(too_many_dimensions(dimensions.len()));
        }
        let count = element_count(dimensions.iter().copied()).ok_or_else(too_large)?;
        if count as usize != values.len() {
            return Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "number of array elements does not match its dimensions",
            ));
        }
        for dimension in dimensions {
            let upper = i64::from(dimension.lower) + i64::from(dimension.length);
            if i32::try_from(upper).is_err() {
                return Err(SqlError::new(
                    SqlState::PROGRAM_LIMIT_EXCEEDED,
                    format!("array lower bound is too large: {}", dimension.lower),
                ));
            }
        }
        if count == 0 {
            return Ok(Self(header(element, &[], false, scratch).into_bump_slice()));
        }
        let has_nulls = values.iter().any(|value| value.is_null());
        let mut out = header(element, dimensions, has_nulls, scratch);
        if has_nulls {
            for group in values.chunks(8) {
                let bits = group.iter().enumerate().fold(0, |bits, (position, value)| {
                    bits | u8::from(value.is_null()) << position
                });
                out.put_byte(bits);
            }
        }
        match stored::width(element.into()) {
            Some(width) => {
                for value in values {
                    if value.is_null() {
                        out.put(&[0; 16][..width]);
                    } else {
                        stored::write(*value, element.into(), &mut out)?;
                    }
                }
            }
            None => {
                let ends = out.len();
                out.resize(ends + values.len() * 4, 0);
                let data = out.len();
                let mut asked = ASKED_BYTES;
                for (index, value) in values.iter().enumerate() {
                    if !value.is_null() {
                        stored::write(*value, element.into(), &mut out)?;
                    }
                    // One value may be there many times: the result is no larger than the memory
                    // asked for.
                    if out.len() > asked {
                        scratch.ask(out.len())?;
                        asked = 2 * out.len();
                    }
                    let end = u32::try_from(out.len() - data).map_err(|_| too_large())?;
                    out[ends + index * 4..][..4].copy_from_slice(&end.to_le_bytes());
                }
            }
        }
        Ok(Self(out.into_bump_slice()))
    }
}

/// Elements with no more bytes than this are written without asking for their memory.
const ASKED_BYTES: usize = 64 << 10;

fn header<'a>(
    element: Scalar,
    dimensions: &[Dimension],
    has_nulls: bool,
    scratch: &'a Scratch,
) -> ArenaVec<'a, u8> {
    let mut out = ArenaVec::new_in(scratch);
    out.put(&element.oid().to_le_bytes());
    out.put(&[dimensions.len() as u8, has_nulls.into()]);
    for dimension in dimensions {
        out.put(&dimension.length.to_le_bytes());
        out.put(&dimension.lower.to_le_bytes());
    }
    out
}
