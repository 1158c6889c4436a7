//! Arrays.
//!
//! ```text
//! dimensions i32 │ has nulls i32 │ oid of the element u32
//! per dimension: length i32 │ lower bound i32
//! per element: length i32, -1 for NULL │ its binary form
//! ```

use bumpalo::collections::Vec as ArenaVec;

use super::{Reader, invalid, read_scalar, write_with_length};
use crate::{
    Array, Context, Result, Scalar, Scratch, Sink, SqlError, SqlState, Type, Value,
    array::{DIMENSIONS_MAX, Dimension, ELEMENTS_MAX, too_large, too_many_dimensions},
};

pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
    element: Scalar,
    context: &Context<'_>,
    scratch: &'a Scratch,
) -> Result<Array<'a>> {
    let dimensions = reader.int()?;
    let count = usize::try_from(dimensions).map_err(|_| invalid("invalid number of dimensions"))?;
    if count > DIMENSIONS_MAX {
        return Err(too_many_dimensions(count));
    }
    let flags = reader.int()?;
    if !(0..=1).contains(&flags) {
        return Err(invalid("invalid array flags"));
    }
    let oid = reader.int()? as u32;
    if oid != element.oid() {
        return Err(SqlError::new(
            SqlState::DATATYPE_MISMATCH,
            format!(
                "binary data has array element type {oid} ({}) instead of expected {} ({})",
                Type::from_oid(oid).map_or("???".into(), |ty| ty.name(context.names)),
                element.oid(),
                element.name(context.names),
            ),
        ));
    }
    let mut shape = [Dimension {
        length: 0,
        lower: 1,
    }; DIMENSIONS_MAX];
    let mut elements = u64::from(count > 0);
    for dimension in &mut shape[..count] {
        let length = u32::try_from(reader.int()?).map_err(|_| too_large())?;
        *dimension = Dimension {
            length,
            lower: reader.int()?,
        };
        elements = elements.saturating_mul(length.into());
    }
    if elements > ELEMENTS_MAX.into() {
        return Err(too_large());
    }
    if elements == 0 {
        return Array::of(element, &[], scratch);
    }
    // Each has at least its length, so an announced number costs no more memory than was sent.
    if elements.saturating_mul(4) > reader.remaining() as u64 {
        return Err(invalid("insufficient data left in message"));
    }
    let mut values = ArenaVec::with_capacity_in(elements as usize, scratch);
    for _ in 0..elements {
        values.push(read_element(reader, element, context, scratch)?);
    }
    Array::build(element, &shape[..count], &values, scratch)
}

fn read_element<'a>(
    reader: &mut Reader<'a>,
    element: Scalar,
    context: &Context<'_>,
    scratch: &'a Scratch,
) -> Result<Value<'a>> {
    match reader.int()? {
        -1 => Ok(Value::Null),
        length => {
            let length = usize::try_from(length)
                .map_err(|_| invalid("insufficient data left in message"))?;
            let mut reader = Reader::new(reader.take(length)?);
            let value = read_scalar(&mut reader, element, context, scratch)?;
            reader.finish()?;
            Ok(value)
        }
    }
}

pub(super) fn write(array: Array<'_>, context: &Context<'_>, out: &mut impl Sink) -> Result<()> {
    let element = array.element();
    out.put(&(array.dimensions().len() as u32).to_be_bytes());
    out.put(&u32::from(array.has_nulls()).to_be_bytes());
    out.put(&element.oid().to_be_bytes());
    for dimension in array.dimensions() {
        out.put(&dimension.length.to_be_bytes());
        out.put(&dimension.lower.to_be_bytes());
    }
    for value in array.iter() {
        write_with_length(value?, element.into(), context, out)?;
    }
    Ok(())
}
