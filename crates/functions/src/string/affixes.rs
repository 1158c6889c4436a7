//! Additions to the ends of texts, and removals from them: `lpad`, `btrim` and similar
//! functions.

use types::Result;

use super::{byte_of, characters, push_repeated};
use crate::{
    Context,
    function::{BPCHAR, Function, INT4, TEXT, entry},
};

/// Fills a text up to `length` characters before or behind it, or cuts it to them.
fn padded<'a>(
    context: &Context<'a>,
    text: &str,
    length: i32,
    fill: &str,
    before: bool,
) -> Result<&'a str> {
    let length = usize::try_from(length).unwrap_or(0);
    let present = characters(text);
    if present >= length || fill.is_empty() {
        return Ok(context.text(&text[..byte_of(text, length)]));
    }
    let (missing, step) = (length - present, characters(fill));
    let whole = missing / step;
    let rest = &fill[..byte_of(fill, missing % step)];
    let bytes = fill.len().saturating_mul(whole).saturating_add(rest.len());
    let bytes = bytes.saturating_add(text.len());
    context.make_room(bytes)?;
    let mut padded = bumpalo::collections::String::with_capacity_in(bytes, context.scratch);
    if !before {
        padded.push_str(text);
    }
    push_repeated(&mut padded, fill, whole);
    padded.push_str(rest);
    if before {
        padded.push_str(text);
    }
    Ok(padded.into_bump_str())
}

fn pad_left<'a>(context: &Context<'a>, text: &str, length: i32, fill: &str) -> Result<&'a str> {
    padded(context, text, length, fill, true)
}

fn pad_right<'a>(context: &Context<'a>, text: &str, length: i32, fill: &str) -> Result<&'a str> {
    padded(context, text, length, fill, false)
}

fn pad_left_blank<'a>(context: &Context<'a>, text: &str, length: i32) -> Result<&'a str> {
    pad_left(context, text, length, " ")
}

fn pad_right_blank<'a>(context: &Context<'a>, text: &str, length: i32) -> Result<&'a str> {
    pad_right(context, text, length, " ")
}

/// Maximum bytes of a set of characters that is searched as it is.
const SEARCHED_BYTES_MAX: usize = 32;

/// The characters that a trim removes.
///
/// A long set is looked up in constant time for ASCII and in logarithmic time for the rest, so
/// that a trim stays near linear in its two arguments.
enum Removed<'s> {
    Short(&'s str),
    Long {
        ascii: [bool; 128],
        /// In ascending order.
        others: Vec<char>,
    },
}

impl<'s> Removed<'s> {
    fn new(set: &'s str) -> Self {
        if set.len() <= SEARCHED_BYTES_MAX {
            return Self::Short(set);
        }
        let (mut ascii, mut others) = ([false; 128], Vec::new());
        for character in set.chars() {
            match ascii.get_mut(character as usize) {
                Some(is_member) => *is_member = true,
                None => others.push(character),
            }
        }
        others.sort_unstable();
        Self::Long { ascii, others }
    }

    fn contains(&self, character: char) -> bool {
        match self {
            Self::Short(set) => set.contains(character),
            Self::Long { ascii, others } => match ascii.get(character as usize) {
                Some(is_member) => *is_member,
                None => others.binary_search(&character).is_ok(),
            },
        }
    }
}

fn trim_left<'a>(text: &'a str, set: &str) -> &'a str {
    let removed = Removed::new(set);
    text.trim_start_matches(|character| removed.contains(character))
}

fn trim_right<'a>(text: &'a str, set: &str) -> &'a str {
    let removed = Removed::new(set);
    text.trim_end_matches(|character| removed.contains(character))
}

fn trim<'a>(text: &'a str, set: &str) -> &'a str {
    let removed = Removed::new(set);
    text.trim_matches(|character| removed.contains(character))
}

fn repeat<'a>(context: &Context<'a>, text: &str, times: i32) -> Result<&'a str> {
    let times = usize::try_from(times).unwrap_or(0);
    let bytes = text.len().saturating_mul(times);
    context.make_room(bytes)?;
    let mut repeated = bumpalo::collections::String::with_capacity_in(bytes, context.scratch);
    if !text.is_empty() {
        push_repeated(&mut repeated, text, times);
    }
    Ok(repeated.into_bump_str())
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("lpad"(TEXT, INT4, TEXT) -> TEXT, in context pad_left),
    entry!("lpad"(TEXT, INT4) -> TEXT, in context pad_left_blank),
    entry!("rpad"(TEXT, INT4, TEXT) -> TEXT, in context pad_right),
    entry!("rpad"(TEXT, INT4) -> TEXT, in context pad_right_blank),
    entry!("btrim"(TEXT, TEXT) -> TEXT, trim),
    entry!("btrim"(TEXT) -> TEXT, |text| trim(text, " ")),
    entry!("ltrim"(TEXT, TEXT) -> TEXT, trim_left),
    entry!("ltrim"(TEXT) -> TEXT, |text| trim_left(text, " ")),
    entry!("rtrim"(TEXT, TEXT) -> TEXT, trim_right),
    entry!("rtrim"(TEXT) -> TEXT, |text| trim_right(text, " ")),
    entry!("repeat"(TEXT, INT4) -> TEXT, in context repeat),
    // Lengths of char(n) leave out the blanks at its end, which the cast to text drops.
    entry!("length"(BPCHAR) -> INT4, |text: &str| characters(text.trim_end_matches(' ')) as i32),
    entry!("character_length"(BPCHAR) -> INT4, |text: &str| {
        characters(text.trim_end_matches(' ')) as i32
    }),
    entry!("char_length"(BPCHAR) -> INT4, |text: &str| {
        characters(text.trim_end_matches(' ')) as i32
    }),
    entry!("octet_length"(BPCHAR) -> INT4, |text: &str| text.len() as i32),
];
