//! Arrays: of any scalar, with up to six dimensions, each with a lower bound.
//!
//! An [`Array`] borrows its stored form, which finds each element without reading the others:
//!
//! ```text
//! ┌────────────────┬────────────┬───────────┬──────────────────────────────┐
//! │ element's oid  │ dimensions │ has nulls │ per dimension:               │
//! │ u32            │ u8         │ u8        │   length u32, lower bound i32│
//! ├────────────────┴──┬─────────┴───────────┴──────────────────────────────┤
//! │ bitmap of nulls   │ elements of fixed width: one after the other       │
//! │ (if it has any)   │ others: their ends, u32 each, then their bytes     │
//! └───────────────────┴────────────────────────────────────────────────────┘
//! ```
//!
//! A null has zeros, or no bytes. An array without elements has no dimensions.

mod build;
mod slice;

use crate::{
    EnumId, Result, Scalar, Scratch, SqlError, SqlState, Type, Value,
    stored::{self, corrupted, u32_at},
};

/// Maximum dimensions of an array.
pub const DIMENSIONS_MAX: usize = 6;
/// Maximum elements of an array.
pub const ELEMENTS_MAX: u32 = 0x7ff_ffff;

const FIXED_HEADER: usize = 6;
const PER_DIMENSION: usize = 8;

/// One dimension of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    /// Number of elements along the dimension.
    pub length: u32,
    /// Subscript of the first element.
    pub lower: i32,
}

/// An array; see the module.
#[derive(Debug, Clone, Copy)]
pub struct Array<'a>(&'a [u8]);

/// Positions of an array's parts.
struct Parts<'a> {
    count: usize,
    nulls: Option<&'a [u8]>,
    elements: &'a [u8],
}

impl<'a> Array<'a> {
    /// Reads the stored form, which is all of `bytes`. Elements are read when asked for.
    ///
    /// # Errors
    /// `XX001` if `bytes` is no array.
    pub fn from_stored(bytes: &'a [u8]) -> Result<Self> {
        let array = Self(bytes);
        let dimensions = usize::from(*bytes.get(4).ok_or_else(corrupted)?);
        if dimensions > DIMENSIONS_MAX
            || bytes.len() < FIXED_HEADER + dimensions * PER_DIMENSION
            || bytes[5] > 1
        {
            return Err(corrupted());
        }
        let oid = u32_at(bytes, 0)?;
        if oid < EnumId::FIRST && Scalar::from_oid(oid).is_none() {
            return Err(corrupted());
        }
        let parts = array.parts()?;
        let width = stored::width(array.element().into());
        let expected = match width {
            Some(width) => parts.count.checked_mul(width),
            None if parts.count == 0 => Some(0),
            None => {
                let last = u32_at(parts.elements, (parts.count - 1) * 4)? as usize;
                (parts.count * 4).checked_add(last)
            }
        };
        if expected != Some(parts.elements.len()) {
            return Err(corrupted());
        }
        Ok(array)
    }

    /// Copies the array into `scratch`.
    pub(crate) fn copied<'s>(self, scratch: &'s Scratch) -> Array<'s> {
        Array(scratch.alloc_slice_copy(self.0))
    }

    /// Returns the stored form.
    pub fn as_stored(self) -> &'a [u8] {
        self.0
    }

    /// Returns the type of the elements.
    pub fn element(self) -> Scalar {
        let oid = u32_at(self.0, 0).unwrap_or(0);
        Scalar::from_oid(oid).unwrap_or(Scalar::Enum(EnumId(oid)))
    }

    /// Returns the dimensions, the outermost first; none if the array is empty.
    pub fn dimensions(self) -> impl ExactSizeIterator<Item = Dimension> + 'a {
        self.0
            .get(FIXED_HEADER..)
            .unwrap_or_default()
            .chunks_exact(PER_DIMENSION)
            .take(usize::from(self.0.get(4).copied().unwrap_or(0)))
            .map(|bytes| Dimension {
                length: u32_at(bytes, 0).unwrap_or(0),
                lower: u32_at(bytes, 4).unwrap_or(0) as i32,
            })
    }

    /// Returns the number of elements in all dimensions.
    pub fn len(self) -> usize {
        element_count(self.dimensions()).unwrap_or(0) as usize
    }

    /// Returns whether the array has no elements.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns whether an element is NULL.
    pub fn has_nulls(self) -> bool {
        self.0.get(5) == Some(&1)
    }

    /// Returns the element at a position from 0, in the order of storage, the last subscript
    /// fastest.
    ///
    /// # Errors
    /// `XX001` if the array is damaged, or there is no such element.
    pub fn get(self, index: usize) -> Result<Value<'a>> {
        let parts = self.parts()?;
        let element = self.element();
        read(&parts, element.into(), stored::width(element.into()), index)
    }

    /// Returns the element with these subscripts, one per dimension; `None` if it is outside.
    ///
    /// # Errors
    /// `XX001` if the array is damaged.
    pub fn at(self, subscripts: &[i32]) -> Result<Option<Value<'a>>> {
        if subscripts.len() != self.dimensions().len() || subscripts.is_empty() {
            return Ok(None);
        }
        let mut index = 0usize;
        for (dimension, subscript) in self.dimensions().zip(subscripts) {
            let offset = i64::from(*subscript) - i64::from(dimension.lower);
            if offset < 0 || offset >= i64::from(dimension.length) {
                return Ok(None);
            }
            index = index * dimension.length as usize + offset as usize;
        }
        self.get(index).map(Some)
    }

    /// Returns all elements in the order of storage.
    pub fn iter(self) -> impl Iterator<Item = Result<Value<'a>>> {
        let parts = self.parts();
        let element = Type::Scalar(self.element());
        let width = stored::width(element);
        let count = parts.as_ref().map_or(0, |parts| parts.count);
        (0..count).map(move |index| match &parts {
            Ok(parts) => read(parts, element, width, index),
            Err(error) => Err(error.clone()),
        })
    }

    fn parts(self) -> Result<Parts<'a>> {
        let count = element_count(self.dimensions()).ok_or_else(corrupted)? as usize;
        let start = FIXED_HEADER + self.dimensions().len() * PER_DIMENSION;
        let rest = self.0.get(start..).ok_or_else(corrupted)?;
        if !self.has_nulls() {
            return Ok(Parts {
                count,
                nulls: None,
                elements: rest,
            });
        }
        let (nulls, elements) = rest
            .split_at_checked(count.div_ceil(8))
            .ok_or_else(corrupted)?;
        Ok(Parts {
            count,
            nulls: Some(nulls),
            elements,
        })
    }
}

fn read<'a>(
    parts: &Parts<'a>,
    element: Type,
    width: Option<usize>,
    index: usize,
) -> Result<Value<'a>> {
    if index >= parts.count {
        return Err(corrupted());
    }
    if let Some(nulls) = parts.nulls
        && nulls
            .get(index / 8)
            .is_none_or(|byte| byte >> (index % 8) & 1 == 1)
    {
        return Ok(Value::Null);
    }
    let bytes = match width {
        Some(width) => parts.elements.get(index * width..(index + 1) * width),
        None => {
            let (ends, data) = parts
                .elements
                .split_at_checked(parts.count * 4)
                .ok_or_else(corrupted)?;
            Some(stored::piece(ends, data, index)?)
        }
    };
    stored::read(bytes.ok_or_else(corrupted)?, element)
}

/// Returns the product of the lengths; 0 without dimensions, `None` if it is too large.
fn element_count(dimensions: impl ExactSizeIterator<Item = Dimension>) -> Option<u32> {
    if dimensions.len() == 0 {
        return Some(0);
    }
    let mut count = 1u32;
    for dimension in dimensions {
        count = count.checked_mul(dimension.length)?;
    }
    (count <= ELEMENTS_MAX).then_some(count)
}

#[cold]
pub(crate) fn too_large() -> SqlError {
    SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})"),
    )
}

/// Returns the error (54000) for an array, or for subscripts, of `count` dimensions, which
/// are more than an [`Array`] can have.
#[cold]
pub fn too_many_dimensions(count: usize) -> SqlError {
    SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!(
            "number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
        ),
    )
}

#[cfg(test)]
mod tests;
