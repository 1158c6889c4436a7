//! `jsonb_pretty`: for people.

use types::{Jsonb, JsonbView, Result, Sink, write_json_string};

use crate::{
    Context,
    function::{Function, JSONB, TEXT, entry},
};

/// With a line for each value, indented by four.
fn pretty<'a>(context: &Context<'a>, document: Jsonb<'a>) -> Result<&'a str> {
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    indented(document, 0, &mut out)?;
    context.finish_text(out)
}

fn new_line(depth: usize, out: &mut bumpalo::collections::Vec<'_, u8>) {
    out.put_byte(b'\n');
    out.extend(std::iter::repeat_n(b' ', 4 * depth));
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
