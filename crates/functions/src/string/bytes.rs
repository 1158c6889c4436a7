//! `bytea`: parts, bits, lengths, digests.

use md5::{Digest, Md5};
use sha2::{Sha224, Sha256, Sha384, Sha512};
use types::{Result, SqlError, SqlState, Value};

use crate::{
    Context,
    argument::take,
    function::{BOOL, BYTEA, Chain, Function, INT4, INT8, TEXT, entry},
};

/// Concatenates any number of values: `||`.
pub(crate) fn concatenate_bytes<'a>(
    context: &Context<'a>,
    arguments: &[Value<'a>],
) -> Result<Value<'a>> {
    let lengths = arguments.iter().map(|value| match value {
        Value::Bytea(bytes) => bytes.len(),
        _ => 0,
    });
    let length = lengths.sum();
    context.make_room(length)?;
    let mut joined = bumpalo::collections::Vec::with_capacity_in(length, context.scratch);
    for position in 0..arguments.len() {
        joined.extend_from_slice_copy(take(arguments, position)?);
    }
    Ok(Value::Bytea(joined.into_bump_slice()))
}

fn substring(bytes: &[u8], start: i32) -> &[u8] {
    let skipped = usize::try_from(i64::from(start) - 1).unwrap_or(0);
    bytes.get(skipped..).unwrap_or_default()
}

fn substring_of_length(bytes: &[u8], start: i32, length: i32) -> Result<&[u8]> {
    if length < 0 {
        return Err(SqlError::new(
            SqlState::SUBSTRING_ERROR,
            "negative substring length not allowed",
        ));
    }
    let first = i64::from(start) - 1;
    let end = usize::try_from(first + i64::from(length)).unwrap_or(0);
    let first = usize::try_from(first).unwrap_or(0);
    let end = end.min(bytes.len());
    Ok(bytes.get(first..end.max(first)).unwrap_or_default())
}

/// Replaces `length` bytes from `start`; without a length, as many as are new.
fn overlay<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let (bytes, new): (&[u8], &[u8]) = (take(arguments, 0)?, take(arguments, 1)?);
    let start: i32 = take(arguments, 2)?;
    let length = match arguments.len() {
        4 => take(arguments, 3)?,
        _ => new.len() as i32,
    };
    if start <= 0 {
        return Err(SqlError::new(
            SqlState::SUBSTRING_ERROR,
            "negative substring length not allowed",
        ));
    }
    let after = start
        .checked_add(length)
        .ok_or_else(|| crate::integer::out_of_range("integer"))?;
    let parts = [
        substring_of_length(bytes, 1, start - 1)?,
        new,
        substring(bytes, after),
    ];
    let joined = context.scratch.alloc_slice_copy(&parts.concat());
    Ok(Value::Bytea(joined))
}

/// Returns the first place of `wanted`, from 1; 0 if there is none. Linear in both.
fn position(bytes: &[u8], wanted: &[u8]) -> i32 {
    memchr::memmem::find(bytes, wanted).map_or(0, |position| position as i32 + 1)
}

/// Returns, by value, whether a byte is in a set.
fn members(set: &[u8]) -> [bool; 256] {
    let mut members = [false; 256];
    for byte in set {
        members[usize::from(*byte)] = true;
    }
    members
}

fn trim_left<'a>(bytes: &'a [u8], set: &[u8]) -> &'a [u8] {
    let removed = members(set);
    let kept = bytes.iter().position(|byte| !removed[usize::from(*byte)]);
    &bytes[kept.unwrap_or(bytes.len())..]
}

fn trim_right<'a>(bytes: &'a [u8], set: &[u8]) -> &'a [u8] {
    let removed = members(set);
    let kept = bytes.iter().rposition(|byte| !removed[usize::from(*byte)]);
    &bytes[..kept.map_or(0, |last| last + 1)]
}

fn check_index(index: i64, length: usize) -> Result<usize> {
    usize::try_from(index)
        .ok()
        .filter(|index| *index < length)
        .ok_or_else(|| {
            SqlError::new(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                format!(
                    "index {index} out of valid range, 0..{}",
                    i64::try_from(length).unwrap_or(i64::MAX) - 1
                ),
            )
        })
}

fn byte_at(bytes: &[u8], index: i32) -> Result<i32> {
    check_index(index.into(), bytes.len()).map(|index| bytes[index].into())
}

fn with_byte<'a>(context: &Context<'a>, bytes: &[u8], index: i32, byte: i32) -> Result<&'a [u8]> {
    let index = check_index(index.into(), bytes.len())?;
    let copy = context.scratch.alloc_slice_copy(bytes);
    copy[index] = byte as u8;
    Ok(copy)
}

fn bit_at(bytes: &[u8], bit: i64) -> Result<i32> {
    let index = check_index(bit, bytes.len() * 8)?;
    Ok(i32::from(bytes[index / 8] >> (index % 8) & 1))
}

fn with_bit<'a>(context: &Context<'a>, bytes: &[u8], bit: i64, new: i32) -> Result<&'a [u8]> {
    let index = check_index(bit, bytes.len() * 8)?;
    if !matches!(new, 0 | 1) {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "new bit must be 0 or 1",
        ));
    }
    let copy = context.scratch.alloc_slice_copy(bytes);
    let mask = 1 << (index % 8);
    copy[index / 8] = copy[index / 8] & !mask | if new == 1 { mask } else { 0 };
    Ok(copy)
}

fn count_bits(bytes: &[u8]) -> i64 {
    bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()
}

fn digest<'a, D: Digest>(context: &Context<'a>, bytes: &[u8]) -> &'a [u8] {
    context.scratch.alloc_slice_copy(&D::digest(bytes))
}

fn md5<'a>(context: &Context<'a>, bytes: &[u8]) -> &'a str {
    super::encode::hexadecimal(context, &Md5::digest(bytes))
}

fn md5_of_text<'a>(context: &Context<'a>, text: &str) -> &'a str {
    md5(context, text.as_bytes())
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("length"(BYTEA) -> INT4, |bytes: &[u8]| bytes.len() as i32),
    entry!("octet_length"(BYTEA) -> INT4, |bytes: &[u8]| bytes.len() as i32),
    entry!("bit_length"(BYTEA) -> INT4, |bytes: &[u8]| (bytes.len() as i32).saturating_mul(8)),
    entry!("bit_count"(BYTEA) -> INT8, count_bits),
    entry!("substring"(BYTEA, INT4) -> BYTEA, substring),
    entry!("substring"(BYTEA, INT4, INT4) -> BYTEA, substring_of_length),
    entry!("substr"(BYTEA, INT4) -> BYTEA, substring),
    entry!("substr"(BYTEA, INT4, INT4) -> BYTEA, substring_of_length),
    Function::scalar("overlay", &[BYTEA, BYTEA, INT4, INT4], BYTEA, overlay).optional(1),
    entry!("position"(BYTEA, BYTEA) -> INT4, position),
    entry!("btrim"(BYTEA, BYTEA) -> BYTEA, |bytes, set| trim_left(trim_right(bytes, set), set)),
    entry!("ltrim"(BYTEA, BYTEA) -> BYTEA, trim_left),
    entry!("rtrim"(BYTEA, BYTEA) -> BYTEA, trim_right),
    entry!("get_byte"(BYTEA, INT4) -> INT4, byte_at),
    entry!("set_byte"(BYTEA, INT4, INT4) -> BYTEA, in context with_byte),
    entry!("get_bit"(BYTEA, INT8) -> INT4, bit_at),
    entry!("set_bit"(BYTEA, INT8, INT4) -> BYTEA, in context with_bit),
    entry!("md5"(BYTEA) -> TEXT, in context md5),
    entry!("md5"(TEXT) -> TEXT, in context md5_of_text),
    entry!("sha224"(BYTEA) -> BYTEA, in context digest::<Sha224>),
    entry!("sha256"(BYTEA) -> BYTEA, in context digest::<Sha256>),
    entry!("sha384"(BYTEA) -> BYTEA, in context digest::<Sha384>),
    entry!("sha512"(BYTEA) -> BYTEA, in context digest::<Sha512>),
];

pub(crate) static OPERATORS: &[Function] = &[
    Function::scalar("||", &[BYTEA, BYTEA], BYTEA, concatenate_bytes).chain(Chain::Bytes),
    entry!("~~"(BYTEA, BYTEA) -> BOOL, patterns::like_bytes),
    entry!("!~~"(BYTEA, BYTEA) -> BOOL, |bytes, pattern| {
        patterns::like_bytes(bytes, pattern).map(|is| !is)
    }),
];
