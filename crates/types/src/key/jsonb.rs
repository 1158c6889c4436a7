//! Keys of `jsonb`: the decisions of its order, in the order in which they are made.
//!
//! ```text
//! key    kind of the whole value, with the quirk of scalars │ node
//! node   kind │ nothing, a truth, a string and a zero, a number's key,
//!             │ or the count of a container and its nodes, of objects after their keys
//! ```

use super::{numeric, write_text};
use crate::{
    JSON_DEPTH_MAX, Jsonb, JsonbView, Result, Sink,
    jsonb::order::{rank, top_rank},
};

pub(super) fn write(value: Jsonb<'_>, out: &mut impl Sink) -> Result<()> {
    out.put_byte(top_rank(&value.view()?));
    write_node(value, out, 0)
}

fn write_node(value: Jsonb<'_>, out: &mut impl Sink, depth: usize) -> Result<()> {
    if depth > JSON_DEPTH_MAX {
        return Err(crate::json::too_deep());
    }
    let view = value.view()?;
    out.put_byte(rank(&view));
    match view {
        JsonbView::Null => {}
        JsonbView::Bool(value) => out.put_byte(value.into()),
        JsonbView::Number(number) => numeric::write(number, out),
        JsonbView::String(string) => write_text(string, out)?,
        JsonbView::Array(array) => {
            out.put(&(array.len() as u32).to_be_bytes());
            for element in array.iter() {
                write_node(element?, out, depth + 1)?;
            }
        }
        JsonbView::Object(object) => {
            out.put(&(object.len() as u32).to_be_bytes());
            for entry in object.iter() {
                let (key, value) = entry?;
                write_text(key, out)?;
                write_node(value, out, depth + 1)?;
            }
        }
    }
    Ok(())
}
