//! Bytes as text of the formats `hex`, `base64` and `escape`, and back.

use base64::{Engine, alphabet, engine::GeneralPurpose, engine::general_purpose};
use types::{Result, SqlError, SqlState};

use crate::{
    Context,
    function::{BYTEA, Function, TEXT, entry},
};

/// Characters of a line, as in MIME.
const LINE: usize = 76;

static BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, general_purpose::PAD);

pub(super) fn hexadecimal<'a>(context: &Context<'a>, bytes: &[u8]) -> &'a str {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = bumpalo::collections::String::with_capacity_in(bytes.len() * 2, context.scratch);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text.into_bump_str()
}

fn escaped<'a>(context: &Context<'a>, bytes: &[u8]) -> &'a str {
    let mut text = bumpalo::collections::String::new_in(context.scratch);
    for byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            0 | 0x80.. => {
                text.push('\\');
                for shift in [6, 3, 0] {
                    text.push(char::from(b'0' + (byte >> shift & 7)));
                }
            }
            _ => text.push(char::from(*byte)),
        }
    }
    text.into_bump_str()
}

fn base64<'a>(context: &Context<'a>, bytes: &[u8]) -> &'a str {
    let encoded = BASE64.encode(bytes);
    let mut text = bumpalo::collections::String::with_capacity_in(
        encoded.len() + encoded.len() / LINE,
        context.scratch,
    );
    let mut rest = encoded.as_str();
    while rest.len() > LINE {
        let (line, after) = rest.split_at(LINE);
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str(rest);
    text.into_bump_str()
}

fn unknown(format: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("unrecognized encoding: \"{format}\""),
    )
}

fn encode<'a>(context: &Context<'a>, bytes: &[u8], format: &str) -> Result<&'a str> {
    context.make_room(bytes.len().saturating_mul(4))?;
    match format.to_ascii_lowercase().as_str() {
        "hex" => Ok(hexadecimal(context, bytes)),
        "base64" => Ok(base64(context, bytes)),
        "escape" => Ok(escaped(context, bytes)),
        _ => Err(unknown(format)),
    }
}

fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn decode_hexadecimal(text: &str) -> Result<Vec<u8>> {
    let digit = |character: char| {
        character
            .to_digit(16)
            .map(|digit| digit as u8)
            .ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{character}\"")))
    };
    let mut characters = text
        .chars()
        .filter(|character| !u8::try_from(*character).is_ok_and(is_blank));
    let mut bytes = Vec::with_capacity(text.len() / 2);
    while let Some(first) = characters.next() {
        let high = digit(first)?;
        let second = characters
            .next()
            .ok_or_else(|| invalid("invalid hexadecimal data: odd number of digits".to_owned()))?;
        bytes.push(high << 4 | digit(second)?);
    }
    Ok(bytes)
}

fn decode_base64(text: &str) -> Result<Vec<u8>> {
    let wanted: Vec<u8> = text.bytes().filter(|byte| !is_blank(*byte)).collect();
    BASE64.decode(&wanted).map_err(|error| match error {
        base64::DecodeError::InvalidByte(_, byte) if byte != b'=' => {
            let symbol = text
                .chars()
                .find(|character| {
                    !character.is_ascii_alphanumeric()
                        && !matches!(character, '+' | '/' | '=' | ' ' | '\t' | '\n' | '\r')
                })
                .unwrap_or(char::from(byte));
            invalid(format!(
                "invalid symbol \"{symbol}\" found while decoding base64 sequence"
            ))
        }
        base64::DecodeError::InvalidByte(..) => {
            invalid("unexpected \"=\" while decoding base64 sequence".to_owned())
        }
        _ => invalid("invalid base64 end sequence".to_owned())
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted."),
    })
}

fn decode_escape(text: &str) -> Result<Vec<u8>> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (*byte, &bytes[at + 1..]) {
            (
                b'\\',
                [
                    high @ b'0'..=b'3',
                    middle @ b'0'..=b'7',
                    low @ b'0'..=b'7',
                    ..,
                ],
            ) => {
                decoded.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                at += 4;
            }
            (b'\\', [b'\\', ..]) => {
                decoded.push(b'\\');
                at += 2;
            }
            (b'\\', _) => {
                return Err(SqlError::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    "invalid input syntax for type bytea",
                ));
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    Ok(decoded)
}

fn decode<'a>(context: &Context<'a>, text: &str, format: &str) -> Result<&'a [u8]> {
    let bytes = match format.to_ascii_lowercase().as_str() {
        "hex" => decode_hexadecimal(text)?,
        "base64" => decode_base64(text)?,
        "escape" => decode_escape(text)?,
        _ => return Err(unknown(format)),
    };
    Ok(context.scratch.alloc_slice_copy(&bytes))
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("encode"(BYTEA, TEXT) -> TEXT, in context encode),
    entry!("decode"(TEXT, TEXT) -> BYTEA, in context decode),
];
