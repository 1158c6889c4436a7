//! SQL's own patterns, as operators and as functions: `LIKE`, `ILIKE`, `SIMILAR TO`.

use patterns::{escape_of, like, like_bytes, to_regular_expression};
use types::{Result, Value};

use crate::{
    Context,
    argument::take,
    function::{BOOL, BPCHAR, BYTEA, Function, NAME, TEXT, entry},
};

fn ilike<'a>(context: &Context<'a>, text: &'a str, pattern: &'a str) -> Result<bool> {
    let lower = |text| crate::string::lower(context, text);
    like(lower(text), lower(pattern))
}

fn with_escape<'a>(context: &Context<'a>, pattern: &'a str, escape: &str) -> Result<&'a str> {
    patterns::with_escape(pattern, escape, context.scratch)
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

fn similar<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let pattern: &str = take(arguments, 0)?;
    let escape = match arguments.len() {
        1 => Some('\\'),
        _ => escape_of(take(arguments, 1)?)?,
    };
    let expression = to_regular_expression(pattern, escape)?;
    Ok(Value::Text(context.text(&expression)))
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
    // `x SIMILAR TO p ESCAPE e` is `x ~ similar_to_escape(p, e)`.
    Function::scalar("similar_to_escape", &[TEXT, TEXT], TEXT, similar).optional(1),
];
