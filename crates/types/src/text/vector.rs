//! `int2vector` and `oidvector`: `1 2 3`.

use super::is_blank;
use crate::{Array, Context, Result, Scalar, Scratch, Sink, Type, Value, array::Dimension};

pub(super) fn read<'a>(
    text: &'a str,
    element: Scalar,
    context: &Context<'_>,
    scratch: &'a Scratch,
) -> Result<Array<'a>> {
    let words = text.split(is_blank).filter(|word| !word.is_empty());
    let values = words.map(|word| super::read_scalar(word, element, context, scratch));
    let values: Vec<Value<'_>> = values.collect::<Result<_>>()?;
    let length = u32::try_from(values.len()).unwrap_or(u32::MAX);
    let dimension = Dimension { length, lower: 0 };
    Array::build(element, &[dimension], &values, scratch)
}

pub(super) fn write(array: Array<'_>, context: &Context<'_>, out: &mut impl Sink) -> Result<()> {
    let element = Type::Scalar(array.element());
    for (at, value) in array.iter().enumerate() {
        if at > 0 {
            out.put_byte(b' ');
        }
        super::write(value?, element, context, out)?;
    }
    Ok(())
}
