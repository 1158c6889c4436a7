//! Parts of a JSON text, without a tree.
//!
//! The text was checked when the value was made; for a text that is not JSON, any answer is
//! allowed, but no panic.

use types::{Jsonb, JsonbView, Result, Scratch};

/// Kind of a text, by its first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

impl Kind {
    pub(super) fn of(text: &str) -> Self {
        match text.trim_start().as_bytes().first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }
}

/// The members of an object, or the elements of an array, in order.
pub(super) struct Parts<'t> {
    rest: &'t str,
    object: bool,
}

impl<'t> Parts<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let text = text.trim();
        Self {
            rest: text.get(1..text.len().max(2) - 1).unwrap_or(""),
            object: text.starts_with('{'),
        }
    }
}

/// Returns the bytes of the value that a text begins with.
fn value_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' | b':' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Returns the position of the string's closing quote.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

impl<'t> Iterator for Parts<'t> {
    /// The key as it is written, empty in arrays, and the value.
    type Item = (&'t str, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.trim_start().is_empty() {
            return None;
        }
        let mut key = "";
        if self.object {
            let length = value_length(self.rest);
            key = self.rest.get(..length)?.trim();
            self.rest = self.rest.get(length + 1..)?;
        }
        let length = value_length(self.rest);
        let value = self.rest.get(..length)?.trim();
        self.rest = self.rest.get(length + 1..).unwrap_or("");
        Some((key, value))
    }
}

/// Returns the content of a string of JSON.
pub(super) fn unescaped<'a>(string: &'a str, scratch: &'a Scratch) -> Result<&'a str> {
    let inside = string.get(1..string.len().max(2) - 1).unwrap_or("");
    if !inside.contains('\\') {
        return Ok(inside);
    }
    match Jsonb::parse(string, scratch)?.view()? {
        JsonbView::String(text) => Ok(text),
        _ => Ok(inside),
    }
}

/// Checks the meaning of `\u` in all strings and keys, which the check of a `json` value leaves
/// out.
///
/// # Errors
/// 22P02 for half a surrogate pair, 22P05 for `\u0000`.
pub(super) fn check_escapes(text: &str, scratch: &Scratch) -> Result<()> {
    if !text.contains("\\u") {
        return Ok(());
    }
    let mut rest = text;
    while let Some(start) = rest.find('"') {
        let end = string_end(rest.as_bytes(), start);
        let Some(string) = rest.get(start..=end) else {
            break;
        };
        if string.contains("\\u") {
            Jsonb::parse(string, scratch)?;
        }
        rest = &rest[end + 1..];
    }
    Ok(())
}
