//! `LIKE` and `ILIKE`.
//!
//! `%` is any text, `_` one character, a backslash makes the next character plain. An escape
//! other than the backslash is translated to it by `like_escape` before.

use types::{Result, Scratch, SqlError, SqlState};

use super::similar::escape_of;

/// Returns the bytes of the character that begins here.
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

/// Matches with at most one place to come back to, after the last `%`, since the text that an
/// earlier `%` has taken need not change.
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
                *from = (*from + width(&text[*from..])).min(text.len());
                if let Some(plain) = pattern.get(*after).filter(|byte| !b"%_\\".contains(byte)) {
                    match memchr::memchr(*plain, &text[*from..]) {
                        Some(skipped) => *from += skipped,
                        None => return Ok(false),
                    }
                }
                at = *from;
                of_pattern = *after;
            }
            _ => return Ok(false),
        }
    }
}

/// Returns whether a text is like a pattern.
///
/// # Errors
/// 22025 if the pattern ends with a backslash.
pub fn like(text: &str, pattern: &str) -> Result<bool> {
    matches(text.as_bytes(), pattern.as_bytes(), width_of_text)
}

/// Returns whether bytes are like a pattern, in which `_` is one byte.
///
/// # Errors
/// 22025 if the pattern ends with a backslash.
pub fn like_bytes(bytes: &[u8], pattern: &[u8]) -> Result<bool> {
    matches(bytes, pattern, |_| 1)
}

/// Translates the pattern's own escape to a backslash.
///
/// # Errors
/// 22025 if `escape` has more than one character.
pub fn with_escape<'a>(pattern: &'a str, escape: &str, scratch: &'a Scratch) -> Result<&'a str> {
    let escape = escape_of(escape)?;
    if escape == Some('\\') {
        return Ok(pattern);
    }
    let mut out = bumpalo::collections::String::with_capacity_in(pattern.len(), scratch);
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
