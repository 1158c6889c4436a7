//! Parts of texts by position: `substring`, `left`, `right`, `split_part`, `overlay`.

use types::{Result, SqlError, SqlState};

use super::{byte_of, characters};
use crate::{
    Context,
    function::{Function, INT4, TEXT, entry},
    integer::out_of_range,
};

/// Returns the characters from `start`, 1 for the first, which may lie before the
/// text.
fn substring(text: &str, start: i32) -> &str {
    let skipped = usize::try_from(i64::from(start) - 1).unwrap_or(0);
    &text[byte_of(text, skipped)..]
}

/// Returns at most `length` characters from `start`; those before the text are none.
fn substring_of_length(text: &str, start: i32, length: i32) -> Result<&str> {
    if length < 0 {
        return Err(SqlError::new(
            SqlState::SUBSTRING_ERROR,
            "negative substring length not allowed",
        ));
    }
    let first = i64::from(start) - 1;
    let end = first + i64::from(length);
    let first = usize::try_from(first).unwrap_or(0);
    let end = usize::try_from(end).unwrap_or(0);
    if end <= first {
        return Ok("");
    }
    let rest = &text[byte_of(text, first)..];
    Ok(&rest[..byte_of(rest, end - first)])
}

/// Returns the first `count` characters; if `count` is negative, all but the last
/// ones.
fn left(text: &str, count: i32) -> &str {
    let count = match usize::try_from(count) {
        Ok(count) => count,
        Err(_) => characters(text).saturating_sub(count.unsigned_abs() as usize),
    };
    &text[..byte_of(text, count)]
}

/// Returns the last `count` characters; if `count` is negative, all but the first
/// ones.
fn right(text: &str, count: i32) -> &str {
    let skipped = match usize::try_from(count) {
        Ok(count) => characters(text).saturating_sub(count),
        // The least number has no opposite, and PostgreSQL then skips nothing.
        Err(_) => usize::try_from(count.wrapping_neg()).unwrap_or(0),
    };
    &text[byte_of(text, skipped)..]
}

fn split_part<'a>(text: &'a str, delimiter: &str, field: i32) -> Result<&'a str> {
    if field == 0 {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "field position must not be zero",
        ));
    }
    if text.is_empty() {
        return Ok("");
    }
    let position = field.unsigned_abs() as usize - 1;
    if delimiter.is_empty() {
        return Ok(if position == 0 { text } else { "" });
    }
    let part = if field > 0 {
        text.split(delimiter).nth(position)
    } else {
        // Not `rsplit`: it would find others if delimiters overlap.
        let fields = text.split(delimiter).count();
        fields
            .checked_sub(position + 1)
            .and_then(|position| text.split(delimiter).nth(position))
    };
    Ok(part.unwrap_or(""))
}

/// Replaces `length` characters from `start`.
fn overlay<'a>(
    context: &Context<'a>,
    text: &'a str,
    new: &str,
    start: i32,
    length: i32,
) -> Result<&'a str> {
    if start <= 0 {
        return Err(SqlError::new(
            SqlState::SUBSTRING_ERROR,
            "negative substring length not allowed",
        ));
    }
    let after = start
        .checked_add(length)
        .ok_or_else(|| out_of_range("integer"))?;
    let before = substring_of_length(text, 1, start - 1)?;
    let after = substring(text, after);
    context.make_room(before.len() + new.len() + after.len())?;
    Ok(context.scratch.alloc_str(&[before, new, after].concat()))
}

fn overlay_same_length<'a>(
    context: &Context<'a>,
    text: &'a str,
    new: &str,
    start: i32,
) -> Result<&'a str> {
    overlay(context, text, new, start, characters(new) as i32)
}

fn reverse<'a>(context: &Context<'a>, text: &str) -> &'a str {
    let mut reversed = bumpalo::collections::String::with_capacity_in(text.len(), context.scratch);
    reversed.extend(text.chars().rev());
    reversed.into_bump_str()
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("substring"(TEXT, INT4) -> TEXT, substring),
    entry!("substring"(TEXT, INT4, INT4) -> TEXT, substring_of_length),
    entry!("substr"(TEXT, INT4) -> TEXT, substring),
    entry!("substr"(TEXT, INT4, INT4) -> TEXT, substring_of_length),
    entry!("left"(TEXT, INT4) -> TEXT, left),
    entry!("right"(TEXT, INT4) -> TEXT, right),
    entry!("split_part"(TEXT, TEXT, INT4) -> TEXT, split_part),
    entry!("overlay"(TEXT, TEXT, INT4, INT4) -> TEXT, in context overlay),
    entry!("overlay"(TEXT, TEXT, INT4) -> TEXT, in context overlay_same_length),
    entry!("reverse"(TEXT) -> TEXT, in context reverse),
];
