//! Concatenation of texts, and of values of other types as text.

use types::{Result, Sink, SqlError, SqlState, Value};

use crate::{
    Context,
    argument::take,
    function::{Chain, Function, Parameter, TEXT, entry},
};

fn concatenate<'a>(context: &Context<'a>, left: &'a str, right: &'a str) -> Result<&'a str> {
    if left.is_empty() || right.is_empty() {
        return Ok(if left.is_empty() { right } else { left });
    }
    context.make_room(left.len() + right.len())?;
    let mut joined =
        bumpalo::collections::String::with_capacity_in(left.len() + right.len(), context.scratch);
    joined.push_str(left);
    joined.push_str(right);
    Ok(joined.into_bump_str())
}

/// Concatenates any number of values: `||`. Values that are not text are written as
/// text.
pub(crate) fn concatenate_texts<'a>(
    context: &Context<'a>,
    arguments: &[Value<'a>],
) -> Result<Value<'a>> {
    let lengths = arguments.iter().map(|value| match value {
        Value::Text(text) => text.len(),
        _ => 0,
    });
    let length = lengths.sum();
    context.make_room(length)?;
    let mut out = bumpalo::collections::Vec::with_capacity_in(length, context.scratch);
    for (position, value) in arguments.iter().enumerate() {
        match value {
            Value::Text(text) => out.extend_from_slice_copy(text.as_bytes()),
            value => {
                context.write(*value, context.argument_type(position), &mut out)?;
                context.make_room(out.len())?;
            }
        }
    }
    context.finish_text(out).map(Value::Text)
}

/// Concatenates the texts of all values that are not NULL.
fn concat<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    for (position, value) in arguments.iter().enumerate() {
        if !value.is_null() {
            context.write(*value, context.argument_type(position), &mut out)?;
            context.make_room(out.len())?;
        }
    }
    context.finish_text(out).map(Value::Text)
}

fn concat_with_separator<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(separator) = take::<Option<&str>>(arguments, 0)? else {
        return Ok(Value::Null);
    };
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    let mut first = true;
    for (position, value) in arguments.iter().enumerate().skip(1) {
        if value.is_null() {
            continue;
        }
        if !std::mem::replace(&mut first, false) {
            out.put(separator.as_bytes());
        }
        context.write(*value, context.argument_type(position), &mut out)?;
        context.make_room(out.len())?;
    }
    context.finish_text(out).map(Value::Text)
}

/// Counts the arguments that are NULL, or are not.
fn count_nulls(arguments: &[Value<'_>], null: bool) -> Result<i32> {
    let count = arguments
        .iter()
        .filter(|value| value.is_null() == null)
        .count();
    i32::try_from(count)
        .map_err(|_| SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many arguments"))
}

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::scalar("concat", &[Parameter::Any], TEXT, concat)
        .variadic()
        .lenient()
        .stable()
        .typed(),
    Function::scalar(
        "concat_ws",
        &[TEXT, Parameter::Any],
        TEXT,
        concat_with_separator,
    )
    .variadic()
    .lenient()
    .stable()
    .typed(),
    Function::scalar(
        "num_nulls",
        &[Parameter::Any],
        crate::function::INT4,
        |_, arguments| count_nulls(arguments, true).map(Value::Int4),
    )
    .variadic()
    .lenient(),
    Function::scalar(
        "num_nonnulls",
        &[Parameter::Any],
        crate::function::INT4,
        |_, arguments| count_nulls(arguments, false).map(Value::Int4),
    )
    .variadic()
    .lenient(),
    entry!("textcat"(TEXT, TEXT) -> TEXT, in context concatenate).chain(Chain::Texts),
];

pub(crate) static OPERATORS: &[Function] = &[
    entry!("||"(TEXT, TEXT) -> TEXT, in context concatenate).chain(Chain::Texts),
    Function::scalar(
        "||",
        &[TEXT, Parameter::AnyNonArray],
        TEXT,
        concatenate_texts,
    )
    .stable()
    .typed()
    .chain(Chain::Texts),
    Function::scalar(
        "||",
        &[Parameter::AnyNonArray, TEXT],
        TEXT,
        concatenate_texts,
    )
    .stable()
    .typed()
    .chain(Chain::Texts),
    entry!("^@"(TEXT, TEXT) -> crate::function::BOOL, |text: &str, prefix| {
        text.starts_with::<&str>(prefix)
    }),
];
