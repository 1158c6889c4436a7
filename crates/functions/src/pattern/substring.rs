//! `substring` by a pattern, and the operators `~`, `~*`, `!~`, `!~*`.

use patterns::{Options, escape_of, to_regular_expression};
use types::Result;

use super::compile;
use crate::{
    Context,
    function::{BOOL, BPCHAR, Function, NAME, TEXT, entry},
};

const IGNORE_CASE: Options = Options {
    ignore_case: true,
    dot_stops_at_newline: false,
    anchors_at_newline: false,
    expanded: false,
    literal: false,
    global: false,
};

fn matches(context: &Context<'_>, text: &str, pattern: &str) -> Result<bool> {
    compile(context, pattern, Options::default())?.is_match(text)
}

fn matches_any_case(context: &Context<'_>, text: &str, pattern: &str) -> Result<bool> {
    compile(context, pattern, IGNORE_CASE)?.is_match(text)
}

fn differs(context: &Context<'_>, text: &str, pattern: &str) -> Result<bool> {
    matches(context, text, pattern).map(|is| !is)
}

fn differs_any_case(context: &Context<'_>, text: &str, pattern: &str) -> Result<bool> {
    matches_any_case(context, text, pattern).map(|is| !is)
}

/// Returns the first group of the first match, or the match if there are no
/// groups.
fn substring<'a>(
    context: &Context<'a>,
    text: &'a str,
    pattern: &'a str,
) -> Result<Option<&'a str>> {
    let regex = compile(context, pattern, Options::default())?;
    let mut matcher = regex.matcher(text);
    let found = match regex.groups() {
        0 => matcher.find(0)?,
        _ => matcher.captures(0)?.and_then(|captures| captures[1]),
    };
    Ok(found.map(|(begin, end)| &text[begin..end]))
}

/// Returns the part between the separators of a `SIMILAR` pattern, SQL's form.
fn substring_similar<'a>(
    context: &Context<'a>,
    text: &'a str,
    pattern: &'a str,
    escape: &'a str,
) -> Result<Option<&'a str>> {
    let expression = to_regular_expression(pattern, escape_of(escape)?)?;
    substring(context, text, context.text(&expression))
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("substring"(TEXT, TEXT) -> TEXT, in context substring),
    entry!("substring"(TEXT, TEXT, TEXT) -> TEXT, in context substring_similar),
];

pub(crate) static OPERATORS: &[Function] = &[
    entry!("~"(TEXT, TEXT) -> BOOL, in context matches),
    entry!("~"(NAME, TEXT) -> BOOL, in context matches),
    entry!("~"(BPCHAR, TEXT) -> BOOL, in context matches),
    entry!("~*"(TEXT, TEXT) -> BOOL, in context matches_any_case),
    entry!("~*"(NAME, TEXT) -> BOOL, in context matches_any_case),
    entry!("~*"(BPCHAR, TEXT) -> BOOL, in context matches_any_case),
    entry!("!~"(TEXT, TEXT) -> BOOL, in context differs),
    entry!("!~"(NAME, TEXT) -> BOOL, in context differs),
    entry!("!~"(BPCHAR, TEXT) -> BOOL, in context differs),
    entry!("!~*"(TEXT, TEXT) -> BOOL, in context differs_any_case),
    entry!("!~*"(NAME, TEXT) -> BOOL, in context differs_any_case),
    entry!("!~*"(BPCHAR, TEXT) -> BOOL, in context differs_any_case),
];
