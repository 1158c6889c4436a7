//! Conversions between text and bytes of an encoding. There is one encoding,
//! UTF-8.

use types::{Result, SqlError, SqlState};

use crate::{
    Context,
    function::{BYTEA, Function, INT4, NAME, TEXT, entry},
};

fn check_encoding(name: &str) -> Result<()> {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase();
    match plain.as_str() {
        "utf8" | "unicode" => Ok(()),
        _ => Err(SqlError::unsupported(format!("encoding \"{name}\""))),
    }
}

fn from_bytes<'a>(bytes: &'a [u8], encoding: &str) -> Result<&'a str> {
    check_encoding(encoding)?;
    let invalid = |bytes: &[u8]| {
        let shown: Vec<_> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
        SqlError::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            format!(
                "invalid byte sequence for encoding \"UTF8\": {}",
                shown.join(" ")
            ),
        )
    };
    if bytes.contains(&0) {
        return Err(invalid(&[0]));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let from = error.valid_up_to();
        let length = error.error_len().unwrap_or(bytes.len() - from);
        invalid(&bytes[from..from + length])
    })
}

fn to_bytes<'a>(text: &'a str, encoding: &str) -> Result<&'a [u8]> {
    check_encoding(encoding)?;
    Ok(text.as_bytes())
}

fn length_in(bytes: &[u8], encoding: &str) -> Result<i32> {
    from_bytes(bytes, encoding).map(|text| super::characters(text) as i32)
}

fn to_ascii<'a>(_: &Context<'a>, text: &'a str) -> Result<&'a str> {
    if text.is_ascii() {
        return Ok(text);
    }
    Err(SqlError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "encoding conversion from UTF8 to ASCII not supported",
    ))
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("convert_from"(BYTEA, NAME) -> TEXT, from_bytes),
    entry!("convert_to"(TEXT, NAME) -> BYTEA, to_bytes),
    entry!("length"(BYTEA, NAME) -> INT4, length_in),
    entry!("to_ascii"(TEXT) -> TEXT, in context to_ascii),
];
