//! JSON: one array, one object per mode or limit.

use serde::Serialize;

use commands::{Error, Result};

/// Returns the objects as an indented array, with a newline at the end.
///
/// # Errors
/// [`Error::Run`] when an object cannot be written as JSON.
pub fn array<T: Serialize>(objects: &[T]) -> Result<String> {
    let mut text = serde_json::to_string_pretty(objects)
        .map_err(|error| Error::run(format!("cannot write the results as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}
