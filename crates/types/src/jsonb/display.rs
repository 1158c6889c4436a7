//! Text of `jsonb`, as PostgreSQL writes it: a blank after each comma and colon.

use super::{DEPTH_MAX, Jsonb, JsonbView};
use crate::{Result, Sink};

impl Jsonb<'_> {
    /// Appends the text.
    ///
    /// # Errors
    /// `XX001` if the value is damaged, `54001` if it is too deep.
    pub fn write_text(self, out: &mut impl Sink) -> Result<()> {
        self.write_text_below(out, 0)
    }

    fn write_text_below(self, out: &mut impl Sink, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(crate::json::too_deep());
        }
        match self.view()? {
            JsonbView::Null => out.put(b"null"),
            JsonbView::Bool(true) => out.put(b"true"),
            JsonbView::Bool(false) => out.put(b"false"),
            JsonbView::Number(number) => number.write_text(out),
            JsonbView::String(string) => write_string(string, out),
            JsonbView::Array(array) => {
                out.put_byte(b'[');
                for (index, element) in array.iter().enumerate() {
                    if index > 0 {
                        out.put(b", ");
                    }
                    element?.write_text_below(out, depth + 1)?;
                }
                out.put_byte(b']');
            }
            JsonbView::Object(object) => {
                out.put_byte(b'{');
                for (index, entry) in object.iter().enumerate() {
                    let (key, value) = entry?;
                    if index > 0 {
                        out.put(b", ");
                    }
                    write_string(key, out);
                    out.put(b": ");
                    value.write_text_below(out, depth + 1)?;
                }
                out.put_byte(b'}');
            }
        }
        Ok(())
    }
}

/// Appends a JSON string with its quotes and escapes; also used by `to_json` of text.
pub fn write_string(string: &str, out: &mut impl Sink) {
    out.put_byte(b'"');
    let bytes = string.as_bytes();
    let mut start = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x08 => b"\\b",
            0x0c => b"\\f",
            0..0x20 => b"",
            _ => continue,
        };
        out.put(&bytes[start..index]);
        start = index + 1;
        if escape.is_empty() {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            out.put(b"\\u00");
            out.put_byte(DIGITS[usize::from(byte >> 4)]);
            out.put_byte(DIGITS[usize::from(byte & 15)]);
        } else {
            out.put(escape);
        }
    }
    out.put(&bytes[start..]);
    out.put_byte(b'"');
}
