//! `LIKE` and `ILIKE`.
//!
//! `%` is any text, `_` one character, a backslash makes the next character plain. Another escape
//! than the backslash is brought to it by `like_escape` before.

use types::{Result, SqlError, SqlState};

use crate::{
    Context,
    function::{BOOL, BPCHAR, BYTEA, Function, NAME, TEXT, entry},
};

/// The bytes of the character that begins here.
fn width_of_text(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        _ => 1,
    }
}

#[cold]
fn ends_with_escape() -> SqlError {
    SqlError::new(
        SqlState::INVALID_ESCAPE_SEQUENCE,
        "LIKE pattern must not end with escape character",
    )
}

/// Matches with at most one place to come back to: after the last `%`, since what an earlier one
/// has taken need not change.
fn matches(text: &[u8], pattern: &[u8], width: impl Fn(&[u8]) -> usize) -> Result<bool> {
    let (mut at, mut of_pattern) = (0, 0);
    let mut resume: Option<(usize, usize)> = None;
    loop {
        let matched = match pattern.get(of_pattern) {
            Some(b'%') => {
                of_pattern += 1;
                if of_pattern == pattern.len() {
                    return Ok(true);
                }
                resume = Some((at, of_pattern));
                true
            }
            Some(b'_') if at < text.len() => {
                at = (at + width(&text[at..])).min(text.len());
                of_pattern += 1;
                true
            }
            Some(b'\\') if at < text.len() => {
                let escaped = pattern.get(of_pattern + 1).ok_or_else(ends_with_escape)?;
                let same = text.get(at) == Some(escaped);
                if same {
                    at += 1;
                    of_pattern += 2;
                }
                same
            }
            Some(byte) => {
                let same = !matches!(byte, b'_' | b'\\') && text.get(at) == Some(byte);
                if same {
                    at += 1;
                    of_pattern += 1;
                }
                same
            }
            None if at == text.len() => return Ok(true),
            None => false,
        };
        if matched {
            continue;
        }
        match &mut resume {
            Some((from, after)) if *from < text.len() => {
                *from += width(&text[*from..]);
                at = (*from).min(text.len());
                of_pattern = *after;
            }
            _ => return Ok(false),
        }
    }
}

/// Whether a text is like a pattern.
pub(crate) fn like(text: &str, pattern: &str) -> Result<bool> {
    matches(text.as_bytes(), pattern.as_bytes(), width_of_text)
}

pub(crate) fn like_bytes(bytes: &[u8], pattern: &[u8]) -> Result<bool> {
    matches(bytes, pattern, |_| 1)
}

fn ilike<'a>(context: &Context<'a>, text: &'a str, pattern: &'a str) -> Result<bool> {
    let lower = |text| crate::string::lower(context, text);
    like(lower(text), lower(pattern))
}

/// The pattern with a backslash for its own escape.
fn with_escape<'a>(context: &Context<'a>, pattern: &'a str, escape: &str) -> Result<&'a str> {
    let mut characters = escape.chars();
    let escape = characters.next();
    if characters.next().is_some() {
        return Err(
            SqlError::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
                .hint("Escape string must be empty or one character."),
        );
    }
    if escape == Some('\\') {
        return Ok(pattern);
    }
    let mut out = bumpalo::collections::String::with_capacity_in(pattern.len(), context.scratch);
    let mut escaped = false;
    for character in pattern.chars() {
        if Some(character) == escape && !escaped {
            out.push('\\');
            escaped = true;
            continue;
        }
        if character == '\\' && !escaped {
            out.push('\\');
        }
        out.push(character);
        escaped = false;
    }
    Ok(out.into_bump_str())
}

fn not(result: Result<bool>) -> Result<bool> {
    result.map(|is| !is)
}

fn not_like(text: &str, pattern: &str) -> Result<bool> {
    not(like(text, pattern))
}

fn not_ilike<'a>(context: &Context<'a>, text: &'a str, pattern: &'a str) -> Result<bool> {
    not(ilike(context, text, pattern))
}

pub(crate) static OPERATORS: &[Function] = &[
    entry!("~~"(TEXT, TEXT) -> BOOL, like),
    entry!("~~"(NAME, TEXT) -> BOOL, like),
    entry!("~~"(BPCHAR, TEXT) -> BOOL, like),
    entry!("!~~"(TEXT, TEXT) -> BOOL, not_like),
    entry!("!~~"(NAME, TEXT) -> BOOL, not_like),
    entry!("!~~"(BPCHAR, TEXT) -> BOOL, not_like),
    entry!("~~*"(TEXT, TEXT) -> BOOL, in context ilike),
    entry!("~~*"(NAME, TEXT) -> BOOL, in context ilike),
    entry!("~~*"(BPCHAR, TEXT) -> BOOL, in context ilike),
    entry!("!~~*"(TEXT, TEXT) -> BOOL, in context not_ilike),
    entry!("!~~*"(NAME, TEXT) -> BOOL, in context not_ilike),
    entry!("!~~*"(BPCHAR, TEXT) -> BOOL, in context not_ilike),
];

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("like"(TEXT, TEXT) -> BOOL, like),
    entry!("notlike"(TEXT, TEXT) -> BOOL, not_like),
    entry!("like"(BYTEA, BYTEA) -> BOOL, like_bytes),
    entry!("notlike"(BYTEA, BYTEA) -> BOOL, |bytes, pattern| not(like_bytes(bytes, pattern))),
    entry!("like_escape"(TEXT, TEXT) -> TEXT, in context with_escape),
];
