//! Rows, written only: `(1,"a b",)`.

use bumpalo::collections::Vec as ArenaVec;

use crate::{Context, Record, Result, Scratch, Sink};

pub(super) fn write(record: &Record<'_>, context: &Context<'_>, out: &mut impl Sink) -> Result<()> {
    let scratch = Scratch::new();
    out.put_byte(b'(');
    for (index, value) in record.values.iter().enumerate() {
        if index > 0 {
            out.put_byte(b',');
        }
        if value.is_null() {
            continue;
        }
        let mut text = ArenaVec::new_in(&scratch);
        super::write(*value, record.ty(index), context, &mut text)?;
        write_quoted(&text, out);
    }
    out.put_byte(b')');
    Ok(())
}

fn write_quoted(text: &[u8], out: &mut impl Sink) {
    let special = |byte: &u8| {
        matches!(
            byte,
            b'"' | b'\\' | b'(' | b')' | b',' | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c
        )
    };
    if !text.is_empty() && !text.iter().any(special) {
        return out.put(text);
    }
    out.put_byte(b'"');
    for byte in text {
        // Both are doubled.
        if matches!(byte, b'"' | b'\\') {
            out.put_byte(*byte);
        }
        out.put_byte(*byte);
    }
    out.put_byte(b'"');
}
