//! Positions in a text, lengths and prefixes.

use types::{Result, SqlError, SqlState};

use super::characters;
use crate::{
    Context,
    function::{BOOL, Function, INT4, NAME, TEXT, entry},
};

/// Returns the position of the first character of the first place, from 1; 0 if there
/// is none.
fn position(text: &str, wanted: &str) -> i32 {
    text.find(wanted)
        .map_or(0, |byte| characters(&text[..byte]) as i32 + 1)
}

fn ascii(text: &str) -> i32 {
    text.chars()
        .next()
        .map_or(0, |character| u32::from(character) as i32)
}

fn character<'a>(context: &Context<'a>, code: i32) -> Result<&'a str> {
    if code == 0 {
        return Err(SqlError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            "null character not permitted",
        ));
    }
    let character = u32::try_from(code).map_err(|_| {
        SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "character number must be positive",
        )
    })?;
    let character = char::from_u32(character).ok_or_else(|| {
        let state = SqlState::PROGRAM_LIMIT_EXCEEDED;
        if character > 0x10_ffff {
            SqlError::new(
                state,
                format!("requested character too large for encoding: {code}"),
            )
        } else {
            SqlError::new(
                state,
                format!("requested character not valid for encoding: {code}"),
            )
        }
    })?;
    Ok(context.text(character.encode_utf8(&mut [0; 4])))
}

fn length(text: &str) -> i32 {
    characters(text) as i32
}

fn octets(text: &str) -> i32 {
    text.len() as i32
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("length"(TEXT) -> INT4, length),
    entry!("length"(NAME) -> INT4, length),
    entry!("char_length"(TEXT) -> INT4, length),
    entry!("character_length"(TEXT) -> INT4, length),
    entry!("octet_length"(TEXT) -> INT4, octets),
    entry!("bit_length"(TEXT) -> INT4, |text: &str| octets(text).saturating_mul(8)),
    entry!("strpos"(TEXT, TEXT) -> INT4, position),
    entry!("position"(TEXT, TEXT) -> INT4, position),
    entry!("starts_with"(TEXT, TEXT) -> BOOL, |text: &str, prefix| text.starts_with::<&str>(prefix)),
    entry!("ascii"(TEXT) -> INT4, ascii),
    entry!("chr"(INT4) -> TEXT, in context character),
];
