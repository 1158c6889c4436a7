//! Rows, written only: the number of columns, then each one's type, length and binary form.

use super::write_with_length;
use crate::{Context, Record, Result, Sink, Type};

pub(super) fn write(record: &Record<'_>, context: &Context<'_>, out: &mut impl Sink) -> Result<()> {
    out.put(&(record.values.len() as u32).to_be_bytes());
    for (position, value) in record.values.iter().enumerate() {
        let ty = match record.ty(position) {
            Type::Unknown => value.general_type(),
            ty => ty,
        };
        out.put(&ty.oid().to_be_bytes());
        write_with_length(*value, ty, context, out)?;
    }
    Ok(())
}
