//! `regexp_replace`, `regexp_match` and similar functions.

use patterns::{Captures, Matcher, Options, Piece, captures_from, matches_from, pieces};
use types::{Array, Result, Scalar, SqlError, SqlState, Value};

use super::compile;
use crate::{
    Context, Rows,
    argument::take,
    function::{BOOL, Body, Function, INT4, Parameter, TEXT, TEXTS},
    string::{byte_of, characters, check_length},
};

fn parameter_error(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// Returns an optional argument.
fn optional<'a, T: crate::argument::Argument<'a>>(
    arguments: &[Value<'a>],
    position: usize,
    default: T,
) -> Result<T> {
    if position < arguments.len() {
        take(arguments, position)
    } else {
        Ok(default)
    }
}

/// Returns an optional number, which must not be less than `least`.
fn count<'a>(
    arguments: &[Value<'a>],
    position: usize,
    default: i32,
    least: i32,
    name: &str,
) -> Result<usize> {
    let number = optional(arguments, position, default)?;
    if number < least {
        return Err(parameter_error(format!(
            "invalid value for parameter \"{name}\": {number}"
        )));
    }
    Ok(number as usize)
}

/// Returns the options at a position, without the `g` that only some functions have.
fn options(arguments: &[Value<'_>], position: usize, function: &str) -> Result<Options> {
    let options = Options::parse(optional(arguments, position, "")?)?;
    if options.global {
        return Err(parameter_error(format!(
            "{function} does not support the \"global\" option"
        )));
    }
    Ok(options)
}

/// Returns the beginning of the character with this number, from 1; `None` beyond the
/// text.
fn begin_of(text: &str, start: usize) -> Option<usize> {
    Some(byte_of(text, start - 1)).filter(|_| start - 1 <= characters(text))
}

fn replace<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text: &str = take(arguments, 0)?;
    let pattern: &str = take(arguments, 1)?;
    let replacement: &str = take(arguments, 2)?;
    // The last of four arguments is options if it is text, otherwise the start.
    let (start, number, options) = match arguments.get(3) {
        Some(Value::Text(letters)) => {
            if letters.starts_with(|first: char| first.is_ascii_digit()) {
                return Err(parameter_error(format!(
                    "invalid regular expression option: \"{}\"",
                    letters.chars().next().unwrap_or_default()
                ))
                .hint(
                    "If you meant to use regexp_replace() with a start parameter, \
                     cast the fourth argument to integer explicitly.",
                ));
            }
            let options = Options::parse(letters)?;
            (1, usize::from(!options.global), options)
        }
        _ => {
            let start = count(arguments, 3, 1, 1, "start")?;
            let mut number = count(arguments, 4, 1, 0, "n")?;
            let options = Options::parse(optional(arguments, 5, "")?)?;
            if options.global && arguments.len() <= 4 {
                number = 0;
            }
            (start, number, options)
        }
    };
    let regex = compile(
        context,
        pattern,
        Options {
            global: false,
            ..options
        },
    )?;
    let mut out = bumpalo::collections::String::new_in(context.scratch);
    let mut copied = 0;
    // The positions of the parentheses matter only to a replacement that refers to
    // them.
    let refers = replacement
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && pair[1].is_ascii_digit());
    let escapes = replacement.contains('\\');
    let find = |matcher: &mut Matcher<'_>, from| {
        if !refers {
            let whole = matcher.find(from)?;
            return Ok(whole.map(|whole| (whole, Captures::new())));
        }
        let captures = matcher.captures(from)?;
        Ok(captures.and_then(|captures| Some((captures[0]?, captures))))
    };
    let found = matches_from(&regex, text, begin_of(text, start), find, |found| {
        Some(found.0)
    });
    for (position, found) in found.enumerate() {
        let (whole, captures) = found?;
        if number > position + 1 {
            continue;
        }
        let (begin, end) = whole;
        let length = out.len() + (begin - copied) + replacement.len();
        if length > out.capacity() {
            context.make_room(length)?;
        }
        check_length(length)?;
        out.push_str(&text[copied..begin]);
        if escapes {
            expand(context, text, replacement, whole, &captures, &mut out)?;
        } else {
            out.push_str(replacement);
        }
        copied = end;
        if number > 0 {
            break;
        }
    }
    out.push_str(&text[copied..]);
    Ok(Value::Text(out.into_bump_str()))
}

/// Appends the replacement with `\1` to `\9` and `\&` filled in.
///
/// # Errors
/// 53200 if the statement may not hold the result.
fn expand(
    context: &Context<'_>,
    text: &str,
    replacement: &str,
    (begin, end): Piece,
    captures: &Captures,
    out: &mut bumpalo::collections::String<'_>,
) -> Result<()> {
    let group = |number: usize| match captures.get(number) {
        Some(Some((begin, end))) => &text[*begin..*end],
        _ => "",
    };
    let mut rest = replacement;
    while let Some(backslash) = rest.find('\\') {
        out.push_str(&rest[..backslash]);
        let mut after = rest[backslash + 1..].chars();
        match after.next() {
            Some(digit @ ('1'..='9' | '&')) => {
                let found = match digit.to_digit(10) {
                    Some(number) => group(number as usize),
                    // `&` is the whole match.
                    None => &text[begin..end],
                };
                context.make_room(out.len() + found.len())?;
                out.push_str(found);
            }
            Some('\\') => out.push('\\'),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
        rest = after.as_str();
    }
    out.push_str(rest);
    Ok(())
}

/// Returns the groups of a match, or the whole if there are none.
fn groups<'a>(context: &Context<'a>, text: &'a str, captures: &Captures) -> Result<Value<'a>> {
    let first = usize::from(captures.len() > 1);
    let values = captures[first..].iter().map(|piece| match piece {
        Some((begin, end)) => Value::Text(&text[*begin..*end]),
        None => Value::Null,
    });
    let mut all = bumpalo::collections::Vec::new_in(context.scratch);
    all.extend(values);
    Array::of(Scalar::Text, &all, context.scratch).map(Value::Array)
}

fn first_match<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text: &'a str = take(arguments, 0)?;
    let options = Options::parse(optional(arguments, 2, "")?)?;
    if options.global {
        return Err(parameter_error(
            "regexp_match() does not support the \"global\" option".to_owned(),
        )
        .hint("Use the regexp_matches function instead."));
    }
    let regex = compile(context, take(arguments, 1)?, options)?;
    match regex.matcher(text).captures(0)? {
        Some(captures) => groups(context, text, &captures),
        None => Ok(Value::Null),
    }
}

fn is_match<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text: &str = take(arguments, 0)?;
    let options = options(arguments, 2, "regexp_like()")?;
    let regex = compile(context, take(arguments, 1)?, options)?;
    regex.is_match(text).map(Value::Bool)
}

fn count_matches<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text: &str = take(arguments, 0)?;
    let start = count(arguments, 2, 1, 1, "start")?;
    let options = options(arguments, 3, "regexp_count()")?;
    let regex = compile(context, take(arguments, 1)?, options)?;
    let mut count = 0i32;
    for found in matches_from(
        &regex,
        text,
        begin_of(text, start),
        Matcher::find,
        |found| Some(*found),
    ) {
        found?;
        count = count.saturating_add(1);
    }
    Ok(Value::Int4(count))
}

/// Returns the byte range of the n-th match, or of a group of it.
fn find(
    context: &Context<'_>,
    arguments: &[Value<'_>],
    options: Options,
    group: usize,
) -> Result<Option<(usize, usize)>> {
    let text: &str = take(arguments, 0)?;
    let start = count(arguments, 2, 1, 1, "start")?;
    let number = count(arguments, 3, 1, 1, "n")?;
    let regex = compile(context, take(arguments, 1)?, options)?;
    let mut found = captures_from(&regex, text, begin_of(text, start));
    let found = found.nth(number - 1).transpose()?;
    Ok(found.and_then(|captures| captures.get(group).copied().flatten()))
}

fn position_of_match<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text: &str = take(arguments, 0)?;
    let end_option = count(arguments, 4, 0, 0, "endoption")?;
    if end_option > 1 {
        return Err(parameter_error(format!(
            "invalid value for parameter \"endoption\": {end_option}"
        )));
    }
    let options = options(arguments, 5, "regexp_instr()")?;
    let group = count(arguments, 6, 0, 0, "subexpr")?;
    let found = find(context, arguments, options, group)?;
    let position = found.map_or(0, |(start, end)| {
        let byte = if end_option == 1 { end } else { start };
        characters(&text[..byte]) as i32 + 1
    });
    Ok(Value::Int4(position))
}

fn substring_of_match<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text: &'a str = take(arguments, 0)?;
    let options = options(arguments, 4, "regexp_substr()")?;
    let group = count(arguments, 5, 0, 0, "subexpr")?;
    let found = find(context, arguments, options, group)?;
    Ok(found.map_or(Value::Null, |(start, end)| Value::Text(&text[start..end])))
}

fn all_matches<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let text: &'a str = take(arguments, 0)?;
    let options = Options::parse(optional(arguments, 2, "")?)?;
    let regex = compile(
        context,
        take(arguments, 1)?,
        Options {
            global: false,
            ..options
        },
    )?;
    let wanted = if options.global { usize::MAX } else { 1 };
    let context = *context;
    let found = captures_from(&regex, text, Some(0)).take(wanted);
    Ok(Box::new(
        found.map(move |captures| groups(&context, text, &captures?)),
    ))
}

fn split<'a>(
    context: &Context<'a>,
    arguments: &[Value<'a>],
    function: &str,
) -> Result<impl Iterator<Item = Result<Value<'a>>> + use<'a>> {
    let text: &'a str = take(arguments, 0)?;
    let options = options(arguments, 2, function)?;
    let pattern = compile(context, take(arguments, 1)?, options)?;
    Ok(pieces(&pattern, text).map(|piece| piece.map(Value::Text)))
}

/// Maximum pieces that are listed before their memory is asked for.
const PIECES_ASKED: usize = 1024;

fn split_to_array<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let mut all = Vec::new();
    for piece in split(context, arguments, "regexp_split_to_array()")? {
        // The list doubles, and the array is as long.
        if all.len() == all.capacity() && all.len() >= PIECES_ASKED {
            context.scratch.ask(4 * size_of_val(all.as_slice()))?;
        }
        all.push(piece?);
    }
    Array::of(Scalar::Text, &all, context.scratch).map(Value::Array)
}

fn split_to_rows<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let pieces = split(context, arguments, "regexp_split_to_table()")?;
    Ok(Box::new(pieces))
}

const T: Parameter = TEXT;
const I: Parameter = INT4;

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::scalar("regexp_replace", &[T, T, T, T], TEXT, replace).optional(1),
    Function::scalar("regexp_replace", &[T, T, T, I, I, T], TEXT, replace).optional(2),
    Function::scalar("regexp_match", &[T, T, T], TEXTS, first_match).optional(1),
    Function::scalar("regexp_like", &[T, T, T], BOOL, is_match).optional(1),
    Function::scalar("regexp_count", &[T, T, I, T], INT4, count_matches).optional(2),
    Function::scalar(
        "regexp_instr",
        &[T, T, I, I, I, T, I],
        INT4,
        position_of_match,
    )
    .optional(5),
    Function::scalar(
        "regexp_substr",
        &[T, T, I, I, T, I],
        TEXT,
        substring_of_match,
    )
    .optional(4),
    Function::scalar("regexp_split_to_array", &[T, T, T], TEXTS, split_to_array).optional(1),
];

pub(crate) static SETS: &[Function] = &[
    Function::new("regexp_matches", &[T, T, T], TEXTS, Body::Set(all_matches)).optional(1),
    Function::new(
        "regexp_split_to_table",
        &[T, T, T],
        TEXT,
        Body::Set(split_to_rows),
    )
    .optional(1),
];
