//! `regexp_replace`, `regexp_match` and their like.

use std::rc::Rc;

use regex::{Captures, Regex};
use types::{Array, Result, Scalar, SqlError, SqlState, Value};

use super::{compile, translate::Options};
use crate::{
    Context, Rows,
    argument::take,
    function::{BOOL, Body, Function, INT4, Parameter, TEXT, TEXTS},
    string::{byte_of, characters},
};

fn parameter_error(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// An optional argument.
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

/// An optional number that must be greater than 0, or not be less.
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

/// The options at a position, without the `g` that only some functions have.
fn options(arguments: &[Value<'_>], position: usize, function: &str) -> Result<Options> {
    let options = Options::parse(optional(arguments, position, "")?)?;
    if options.global {
        return Err(parameter_error(format!(
            "{function} does not support the \"global\" option"
        )));
    }
    Ok(options)
}

/// The matches from a character on, from 1.
fn matches_from<'t>(
    regex: &'t Regex,
    text: &'t str,
    start: usize,
) -> impl Iterator<Item = Captures<'t>> {
    let mut from = Some(byte_of(text, start - 1)).filter(|_| start - 1 <= characters(text));
    std::iter::from_fn(move || {
        let captures = regex.captures_at(text, from?)?;
        let whole = captures.get(0)?;
        from = next_start(text, whole.start(), whole.end());
        Some(captures)
    })
}

/// Where to go on after a match: after an empty one, a character further.
fn next_start(text: &str, start: usize, end: usize) -> Option<usize> {
    if end > start {
        return Some(end);
    }
    text[end..]
        .chars()
        .next()
        .map(|character| end + character.len_utf8())
}

fn replace<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text: &str = take(arguments, 0)?;
    let pattern: &str = take(arguments, 1)?;
    let replacement: &str = take(arguments, 2)?;
    // With four arguments the last are options, otherwise the start.
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
    for (position, captures) in matches_from(&regex, text, start).enumerate() {
        if number > position + 1 {
            continue;
        }
        let Some(whole) = captures.get(0) else { break };
        out.push_str(&text[copied..whole.start()]);
        expand(replacement, &captures, &mut out);
        copied = whole.end();
        if number > 0 {
            break;
        }
    }
    out.push_str(&text[copied..]);
    Ok(Value::Text(out.into_bump_str()))
}

/// The replacement with `\1` to `\9` and `\&` filled in.
fn expand(replacement: &str, captures: &Captures<'_>, out: &mut bumpalo::collections::String<'_>) {
    let mut rest = replacement;
    while let Some(backslash) = rest.find('\\') {
        out.push_str(&rest[..backslash]);
        let mut after = rest[backslash + 1..].chars();
        match after.next() {
            Some(digit @ '1'..='9') => {
                let group = captures.get(digit as usize - '0' as usize);
                out.push_str(group.map_or("", |group| group.as_str()));
            }
            Some('&') => out.push_str(captures.get(0).map_or("", |whole| whole.as_str())),
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
}

/// The groups of a match, or the whole if there are none.
fn groups<'a>(context: &Context<'a>, captures: &Captures<'a>) -> Result<Value<'a>> {
    let first = usize::from(captures.len() > 1);
    let values = (first..captures.len()).map(|group| {
        captures
            .get(group)
            .map_or(Value::Null, |found| Value::Text(found.as_str()))
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
    match regex.captures(text) {
        Some(captures) => groups(context, &captures),
        None => Ok(Value::Null),
    }
}

fn is_match<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text: &str = take(arguments, 0)?;
    let options = options(arguments, 2, "regexp_like()")?;
    let regex = compile(context, take(arguments, 1)?, options)?;
    Ok(Value::Bool(regex.is_match(text)))
}

fn count_matches<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text: &str = take(arguments, 0)?;
    let start = count(arguments, 2, 1, 1, "start")?;
    let options = options(arguments, 3, "regexp_count()")?;
    let regex = compile(context, take(arguments, 1)?, options)?;
    let matches = matches_from(&regex, text, start).count();
    Ok(Value::Int4(i32::try_from(matches).unwrap_or(i32::MAX)))
}

/// The byte range of the n-th match, or of a group of it.
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
    let found = matches_from(&regex, text, start).nth(number - 1);
    Ok(found.and_then(|captures| {
        let group = captures.get(group)?;
        Some((group.start(), group.end()))
    }))
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
    let context = *context;
    let mut from = Some(0);
    Ok(Box::new(std::iter::from_fn(move || {
        let captures = regex.captures_at(text, from?)?;
        let whole = captures.get(0)?;
        from = next_start(text, whole.start(), whole.end()).filter(|_| options.global);
        Some(groups(&context, &captures))
    })))
}

/// The pieces between matches. Empty matches at the ends, or right after another, split nothing.
fn pieces(regex: Rc<Regex>, text: &str) -> impl Iterator<Item = &str> {
    let mut state = Some((0, 0));
    std::iter::from_fn(move || {
        let (begun, mut from) = state?;
        loop {
            let Some(found) = (from <= text.len())
                .then(|| regex.find_at(text, from))
                .flatten()
            else {
                state = None;
                return Some(&text[begun..]);
            };
            let splits = !found.is_empty() || (found.start() > begun && found.end() < text.len());
            let next = next_start(text, found.start(), found.end()).unwrap_or(text.len() + 1);
            if splits {
                // An empty match right behind this one splits nothing, which `begun` tells.
                state = Some((found.end(), next));
                return Some(&text[begun..found.start()]);
            }
            from = next;
        }
    })
}

fn split<'a>(
    context: &Context<'a>,
    arguments: &[Value<'a>],
    function: &str,
) -> Result<impl Iterator<Item = &'a str> + use<'a>> {
    let text: &'a str = take(arguments, 0)?;
    let options = options(arguments, 2, function)?;
    Ok(pieces(
        compile(context, take(arguments, 1)?, options)?,
        text,
    ))
}

fn split_to_array<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let mut all = bumpalo::collections::Vec::new_in(context.scratch);
    all.extend(split(context, arguments, "regexp_split_to_array()")?.map(Value::Text));
    Array::of(Scalar::Text, &all, context.scratch).map(Value::Array)
}

fn split_to_rows<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let pieces = split(context, arguments, "regexp_split_to_table()")?;
    Ok(Box::new(pieces.map(|piece| Ok(Value::Text(piece)))))
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
