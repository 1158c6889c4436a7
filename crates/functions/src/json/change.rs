//! Documents made of others: `||`, `-`, `#-`, `jsonb_set`, `jsonb_insert`, `jsonb_strip_nulls`.

use types::{Array, Jsonb, JsonbBuilder, JsonbView, Result, SqlError, SqlState, Value};

use super::{
    extract::index,
    scan::{Kind, Parts, check_escapes},
};
use crate::{
    Context,
    argument::{Json, take},
    function::{BOOL, Function, INT4, JSON, JSONB, TEXT, TEXTS, entry},
};

fn invalid(message: &'static str) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn concatenate<'a>(context: &Context<'a>, left: Jsonb<'a>, right: Jsonb<'a>) -> Result<Jsonb<'a>> {
    let mut builder = JsonbBuilder::new(context.scratch);
    if let (JsonbView::Object(left), JsonbView::Object(right)) = (left.view()?, right.view()?) {
        builder.begin_object()?;
        for entry in left.iter().chain(right.iter()) {
            let (key, value) = entry?;
            builder.key(key);
            builder.value(value);
        }
        builder.end()?;
        return builder.finish();
    }
    builder.begin_array()?;
    for side in [left, right] {
        match side.view()? {
            JsonbView::Array(array) => {
                for element in array.iter() {
                    builder.value(element?);
                }
            }
            _ => builder.value(side),
        }
    }
    builder.end()?;
    builder.finish()
}

/// Removes keys of an object, or strings of an array.
fn without<'a>(
    context: &Context<'a>,
    document: Jsonb<'a>,
    unwanted: impl Fn(&str) -> bool,
) -> Result<Jsonb<'a>> {
    let mut builder = JsonbBuilder::new(context.scratch);
    match document.view()? {
        JsonbView::Object(object) => {
            builder.begin_object()?;
            for entry in object.iter() {
                let (key, value) = entry?;
                if !unwanted(key) {
                    builder.key(key);
                    builder.value(value);
                }
            }
        }
        JsonbView::Array(array) => {
            builder.begin_array()?;
            for element in array.iter() {
                let element = element?;
                if !matches!(element.view()?, JsonbView::String(text) if unwanted(text)) {
                    builder.value(element);
                }
            }
        }
        _ => return Err(invalid("cannot delete from scalar")),
    }
    builder.end()?;
    builder.finish()
}

fn without_key<'a>(context: &Context<'a>, document: Jsonb<'a>, key: &str) -> Result<Jsonb<'a>> {
    without(context, document, |name| name == key)
}

fn without_keys<'a>(
    context: &Context<'a>,
    document: Jsonb<'a>,
    keys: Array<'a>,
) -> Result<Jsonb<'a>> {
    let mut names = Vec::new();
    for key in keys.iter() {
        if let Value::Text(name) = key? {
            names.push(name);
        }
    }
    names.sort_unstable();
    without(context, document, |name| names.binary_search(&name).is_ok())
}

fn without_element<'a>(
    context: &Context<'a>,
    document: Jsonb<'a>,
    position: i32,
) -> Result<Jsonb<'a>> {
    let array = match document.view()? {
        JsonbView::Array(array) => array,
        JsonbView::Object(_) => {
            return Err(invalid("cannot delete from object using integer index"));
        }
        _ => return Err(invalid("cannot delete from scalar")),
    };
    let unwanted = index(position, array.len());
    let mut builder = JsonbBuilder::new(context.scratch);
    builder.begin_array()?;
    for (position, element) in array.iter().enumerate() {
        if Some(position) != unwanted {
            builder.value(element?);
        }
    }
    builder.end()?;
    builder.finish()
}

/// Change at the end of a path.
#[derive(Clone, Copy)]
enum Change<'a> {
    Delete,
    /// Replaces a value, and creates it if it is missing and that is wanted.
    Set(Jsonb<'a>, bool),
    /// Inserts into an array before or after a position, into an object only a missing key.
    Insert(Jsonb<'a>, bool),
}

/// Adds a document with a change at a path.
fn changed<'a>(
    builder: &mut JsonbBuilder<'a>,
    document: Jsonb<'a>,
    path: &[Option<&str>],
    level: usize,
    change: Change<'a>,
) -> Result<()> {
    let Some((name, rest)) = path.split_first() else {
        builder.value(document);
        return Ok(());
    };
    let name = name.ok_or_else(|| {
        SqlError::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            format!("path element at position {} is null", level + 1),
        )
    })?;
    match document.view()? {
        JsonbView::Object(object) => {
            builder.begin_object()?;
            let mut found = false;
            for entry in object.iter() {
                let (key, value) = entry?;
                if key != name {
                    builder.key(key);
                    builder.value(value);
                    continue;
                }
                found = true;
                if !rest.is_empty() {
                    builder.key(key);
                    changed(builder, value, rest, level + 1, change)?;
                    continue;
                }
                match change {
                    Change::Delete => {}
                    Change::Set(new, _) => {
                        builder.key(key);
                        builder.value(new);
                    }
                    Change::Insert(..) => {
                        return Err(invalid("cannot replace existing key")
                            .hint("Try using the function jsonb_set to replace key value."));
                    }
                }
            }
            if !found && rest.is_empty() {
                match change {
                    Change::Set(new, true) | Change::Insert(new, _) => {
                        builder.key(name);
                        builder.value(new);
                    }
                    _ => {}
                }
            }
            builder.end()
        }
        JsonbView::Array(array) => {
            let position: i32 = name.trim_start().parse().map_err(|_| {
                SqlError::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    format!(
                        "path element at position {} is not an integer: \"{name}\"",
                        level + 1
                    ),
                )
            })?;
            changed_array(builder, array, position, rest, level, change)
        }
        _ => {
            builder.value(document);
            Ok(())
        }
    }
}

fn changed_array<'a>(
    builder: &mut JsonbBuilder<'a>,
    array: types::JsonbArray<'a>,
    position: i32,
    rest: &[Option<&str>],
    level: usize,
    change: Change<'a>,
) -> Result<()> {
    builder.begin_array()?;
    let found = index(position, array.len());
    let new = match change {
        Change::Set(new, true) | Change::Insert(new, _) => Some(new),
        _ => None,
    };
    // A position outside of the array is at the nearer end.
    let outside = found.is_none() && rest.is_empty();
    if let (true, true, Some(new)) = (outside, position < 0, new) {
        builder.value(new);
    }
    for (at, element) in array.iter().enumerate() {
        let element = element?;
        if Some(at) != found {
            builder.value(element);
            continue;
        }
        if !rest.is_empty() {
            changed(builder, element, rest, level + 1, change)?;
            continue;
        }
        match change {
            Change::Delete => {}
            Change::Set(new, _) => builder.value(new),
            Change::Insert(new, after) => {
                if after {
                    builder.value(element);
                }
                builder.value(new);
                if !after {
                    builder.value(element);
                }
            }
        }
    }
    if let (true, true, Some(new)) = (outside, position >= 0, new) {
        builder.value(new);
    }
    builder.end()
}

fn at_path<'a>(
    context: &Context<'a>,
    document: Jsonb<'a>,
    path: Array<'a>,
    change: Change<'a>,
) -> Result<Jsonb<'a>> {
    if !document.is_container() {
        return Err(invalid(match change {
            Change::Delete => "cannot delete path in scalar",
            _ => "cannot set path in scalar",
        }));
    }
    let mut names = Vec::new();
    for name in path.iter() {
        names.push(match name? {
            Value::Text(name) => Some(name),
            _ => None,
        });
    }
    let empty = match document.view()? {
        JsonbView::Object(object) => object.is_empty(),
        JsonbView::Array(array) => array.is_empty(),
        _ => false,
    };
    let creates = !matches!(change, Change::Delete | Change::Set(_, false));
    if names.is_empty() || (empty && !creates) {
        return Ok(document);
    }
    let mut builder = JsonbBuilder::new(context.scratch);
    changed(&mut builder, document, &names, 0, change)?;
    builder.finish()
}

fn without_path<'a>(
    context: &Context<'a>,
    document: Jsonb<'a>,
    path: Array<'a>,
) -> Result<Jsonb<'a>> {
    at_path(context, document, path, Change::Delete)
}

fn set<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let creates = arguments.len() < 4 || take(arguments, 3)?;
    let change = Change::Set(take(arguments, 2)?, creates);
    at_path(context, take(arguments, 0)?, take(arguments, 1)?, change).map(Value::Jsonb)
}

fn insert<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let after = arguments.len() == 4 && take(arguments, 3)?;
    let change = Change::Insert(take(arguments, 2)?, after);
    at_path(context, take(arguments, 0)?, take(arguments, 1)?, change).map(Value::Jsonb)
}

fn strip_nulls<'a>(context: &Context<'a>, document: Jsonb<'a>) -> Result<Jsonb<'a>> {
    fn strip<'a>(builder: &mut JsonbBuilder<'a>, document: Jsonb<'a>) -> Result<()> {
        match document.view()? {
            JsonbView::Object(object) => {
                builder.begin_object()?;
                for entry in object.iter() {
                    let (key, value) = entry?;
                    if !matches!(value.view()?, JsonbView::Null) {
                        builder.key(key);
                        strip(builder, value)?;
                    }
                }
                builder.end()
            }
            JsonbView::Array(array) => {
                builder.begin_array()?;
                for element in array.iter() {
                    strip(builder, element?)?;
                }
                builder.end()
            }
            _ => {
                builder.value(document);
                Ok(())
            }
        }
    }
    let mut builder = JsonbBuilder::new(context.scratch);
    strip(&mut builder, document)?;
    builder.finish()
}

/// Strips a text: keys and their order stay, blanks go.
fn strip_json_nulls<'a>(context: &Context<'a>, document: Json<'a>) -> Result<Json<'a>> {
    fn strip(text: &str, out: &mut String) {
        let kind = Kind::of(text);
        let brackets = match kind {
            Kind::Object => ('{', '}'),
            Kind::Array => ('[', ']'),
            _ => return out.push_str(text.trim()),
        };
        out.push(brackets.0);
        let kept =
            Parts::of(text).filter(|part| kind == Kind::Array || Kind::of(part.1) != Kind::Null);
        for (position, (key, value)) in kept.enumerate() {
            if position > 0 {
                out.push(',');
            }
            if kind == Kind::Object {
                out.push_str(key);
                out.push(':');
            }
            strip(value, out);
        }
        out.push(brackets.1);
    }
    check_escapes(document.0, context.scratch)?;
    let mut out = String::with_capacity(document.0.len());
    strip(document.0, &mut out);
    Ok(Json(context.text(&out)))
}

pub(super) static FUNCTIONS: &[Function] = &[
    Function::scalar("jsonb_set", &[JSONB, TEXTS, JSONB, BOOL], JSONB, set).optional(1),
    Function::scalar("jsonb_insert", &[JSONB, TEXTS, JSONB, BOOL], JSONB, insert).optional(1),
    entry!("json_strip_nulls"(JSON) -> JSON, in context strip_json_nulls),
    entry!("jsonb_strip_nulls"(JSONB) -> JSONB, in context strip_nulls),
];

pub(super) static OPERATORS: &[Function] = &[
    entry!("||"(JSONB, JSONB) -> JSONB, in context concatenate),
    entry!("-"(JSONB, TEXT) -> JSONB, in context without_key),
    entry!("-"(JSONB, INT4) -> JSONB, in context without_element),
    entry!("-"(JSONB, TEXTS) -> JSONB, in context without_keys),
    entry!("#-"(JSONB, TEXTS) -> JSONB, in context without_path),
];
