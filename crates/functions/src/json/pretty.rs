//! `jsonb_pretty`: documents for display.

use types::{JSON_DEPTH_MAX, Jsonb, JsonbView, Result, Sink, write_json_string};

use crate::{
    Context,
    function::{Function, JSONB, TEXT, entry},
    string::check_length,
};

/// Returns the document with a line for each value, indented by four.
fn pretty<'a>(context: &Context<'a>, document: Jsonb<'a>) -> Result<&'a str> {
    let blanks = indentation(document, 0)?;
    // A text that its blanks alone make too long is not begun.
    check_length(blanks)?;
    let bytes = blanks.saturating_add(document.as_stored().len());
    context.make_room(bytes)?;
    let mut out = bumpalo::collections::Vec::with_capacity_in(bytes, context.scratch);
    indented(document, 0, &mut out)?;
    check_length(out.len())?;
    context.finish_text(out)
}

const BLANKS: &[u8] = &[b' '; 4 * (JSON_DEPTH_MAX + 1)];

fn new_line(depth: usize, out: &mut bumpalo::collections::Vec<'_, u8>) {
    out.put_byte(b'\n');
    out.put(&BLANKS[..BLANKS.len().min(4 * depth)]);
}

/// Returns the bytes of the line ends and blanks of a document, most of the text if it
/// is deep.
fn indentation(document: Jsonb<'_>, depth: usize) -> Result<usize> {
    let line = |depth: usize| 1 + 4 * depth;
    let mut bytes: usize = 0;
    match document.view()? {
        JsonbView::Object(object) => {
            for entry in object.iter() {
                bytes = bytes
                    .saturating_add(line(depth + 1))
                    .saturating_add(indentation(entry?.1, depth + 1)?);
            }
        }
        JsonbView::Array(array) => {
            for element in array.iter() {
                bytes = bytes
                    .saturating_add(line(depth + 1))
                    .saturating_add(indentation(element?, depth + 1)?);
            }
        }
        _ => return Ok(0),
    }
    Ok(bytes.saturating_add(line(depth)))
}

fn indented(
    document: Jsonb<'_>,
    depth: usize,
    out: &mut bumpalo::collections::Vec<'_, u8>,
) -> Result<()> {
    match document.view()? {
        JsonbView::Object(object) => {
            out.put_byte(b'{');
            for (position, entry) in object.iter().enumerate() {
                let (key, value) = entry?;
                if position > 0 {
                    out.put_byte(b',');
                }
                new_line(depth + 1, out);
                write_json_string(key, out);
                out.put(b": ");
                indented(value, depth + 1, out)?;
            }
            new_line(depth, out);
            out.put_byte(b'}');
        }
        JsonbView::Array(array) => {
            out.put_byte(b'[');
            for (position, element) in array.iter().enumerate() {
                if position > 0 {
                    out.put_byte(b',');
                }
                new_line(depth + 1, out);
                indented(element?, depth + 1, out)?;
            }
            new_line(depth, out);
            out.put_byte(b']');
        }
        _ => document.write_text(out)?,
    }
    Ok(())
}

pub(super) static FUNCTIONS: &[Function] =
    &[entry!("jsonb_pretty"(JSONB) -> TEXT, in context pretty)];
