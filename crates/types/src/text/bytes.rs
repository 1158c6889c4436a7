//! `bytea`, `uuid` and `"char"`.

use bumpalo::collections::Vec as ArenaVec;

use super::invalid;
use crate::{Result, Scratch, Sink, SqlError, SqlState};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Reads `\x` and hexadecimal digits, or the older form with escapes `\\` and
/// `\123`.
pub(super) fn read_bytea<'a>(text: &str, scratch: &'a Scratch) -> Result<&'a [u8]> {
    match text.strip_prefix("\\x") {
        Some(digits) => read_hex(digits, scratch),
        None => read_escaped(text, scratch),
    }
}

fn read_hex<'a>(text: &str, scratch: &'a Scratch) -> Result<&'a [u8]> {
    let mut out = ArenaVec::with_capacity_in(text.len() / 2, scratch);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if matches!(character, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(character)?;
        let Some(next) = characters.next() else {
            return Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "invalid hexadecimal data: odd number of digits",
            ));
        };
        out.push(high << 4 | digit(next)?);
    }
    Ok(out.into_bump_slice())
}

fn digit(character: char) -> Result<u8> {
    character
        .to_digit(16)
        .map(|digit| digit as u8)
        .ok_or_else(|| {
            SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid hexadecimal digit: \"{character}\""),
            )
        })
}

fn read_escaped<'a>(text: &str, scratch: &'a Scratch) -> Result<&'a [u8]> {
    let mut out = ArenaVec::with_capacity_in(text.len(), scratch);
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = match (byte, after) {
            (b'\\', [b'\\', after @ ..]) => {
                out.push(b'\\');
                after
            }
            (
                b'\\',
                [
                    high @ b'0'..=b'3',
                    middle @ b'0'..=b'7',
                    low @ b'0'..=b'7',
                    after @ ..,
                ],
            ) => {
                out.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                after
            }
            (b'\\', _) => {
                return Err(SqlError::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    "invalid input syntax for type bytea",
                ));
            }
            (byte, after) => {
                out.push(*byte);
                after
            }
        };
    }
    Ok(out.into_bump_slice())
}

pub(super) fn write_bytea(bytes: &[u8], out: &mut impl Sink) {
    out.put(b"\\x");
    write_hex(bytes, out);
}

fn write_hex(bytes: &[u8], out: &mut impl Sink) {
    for byte in bytes {
        out.put(&[
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        ]);
    }
}

/// Reads 32 digits, with a hyphen after any group of four, in braces or not.
pub(super) fn read_uuid(text: &str) -> Result<[u8; 16]> {
    let fail = || invalid("uuid", text);
    let mut rest = text.as_bytes();
    let braces = rest.first() == Some(&b'{');
    if braces {
        rest = &rest[1..];
    }
    let mut uuid = [0; 16];
    for (index, byte) in uuid.iter_mut().enumerate() {
        let [high, low, after @ ..] = rest else {
            return Err(fail());
        };
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        *byte = digit(*high).ok_or_else(fail)? << 4 | digit(*low).ok_or_else(fail)?;
        rest = after;
        if index % 2 == 1 && index < 15 && rest.first() == Some(&b'-') {
            rest = &rest[1..];
        }
    }
    let end: &[u8] = if braces { b"}" } else { b"" };
    if rest == end { Ok(uuid) } else { Err(fail()) }
}

pub(super) fn write_uuid(uuid: &[u8; 16], out: &mut impl Sink) {
    for (index, group) in [
        &uuid[..4],
        &uuid[4..6],
        &uuid[6..8],
        &uuid[8..10],
        &uuid[10..],
    ]
    .into_iter()
    .enumerate()
    {
        if index > 0 {
            out.put_byte(b'-');
        }
        write_hex(group, out);
    }
}

/// Reads the first byte of the text, 0 if it is empty; `\123` for bytes that
/// are no ASCII.
pub(super) fn read_char(text: &str) -> u8 {
    match text.as_bytes() {
        [
            b'\\',
            high @ b'0'..=b'3',
            middle @ b'0'..=b'7',
            low @ b'0'..=b'7',
        ] => (high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'),
        [first, ..] => *first,
        [] => 0,
    }
}

pub(super) fn write_char(byte: u8, out: &mut impl Sink) {
    match byte {
        0 => {}
        0x80.. => {
            out.put(&[
                b'\\',
                b'0' + (byte >> 6),
                b'0' + (byte >> 3 & 7),
                b'0' + (byte & 7),
            ]);
        }
        _ => out.put_byte(byte),
    }
}
