//! `@>`, `<@`, `?`, `?|`, `?&`: contents of a `jsonb`.

mod members;

use types::{Array, Jsonb, JsonbArray, JsonbView, Result, Value};

use self::members::Members;
use crate::{
    Context,
    function::{BOOL, Function, JSONB, TEXT, TEXTS, entry},
};

/// Maximum elements of an array that are looked up one by one in another array.
const SEARCHED_MAX: usize = 16;

/// Levels of nested arrays whose containers are looked up by their prints: each level has the prints of all that is
/// within it.
const PRINTED_LEVELS: u32 = 4;

/// Returns whether a document contains another; at the top an array contains a scalar too.
fn contains(context: &Context<'_>, document: Jsonb<'_>, part: Jsonb<'_>) -> Result<bool> {
    if let (JsonbView::Array(array), false) = (document.view()?, part.is_container()) {
        return has_element(context, array, part, PRINTED_LEVELS, &mut 0, &mut 0);
    }
    contains_within(context, document, part, PRINTED_LEVELS, &mut 0)
}

/// Returns whether a document contains `part`. At `levels` further levels of nested arrays, containers are looked up by
/// prints ([`Members::candidates`]); elements examined, at any depth, are added to `looked_at`.
fn contains_within(
    context: &Context<'_>,
    document: Jsonb<'_>,
    part: Jsonb<'_>,
    levels: u32,
    looked_at: &mut usize,
) -> Result<bool> {
    match (document.view()?, part.view()?) {
        (JsonbView::Object(document), JsonbView::Object(part)) => {
            for entry in part.iter() {
                let (key, wanted) = entry?;
                match document.get(key)? {
                    Some(value) if contains_within(context, value, wanted, levels, looked_at)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (JsonbView::Array(array), JsonbView::Array(part)) => {
            let is_long = array.len().min(part.len()) > SEARCHED_MAX;
            let bytes = document.as_stored().len();
            let before = *looked_at;
            let (mut members, mut own) = (None, 0);
            for wanted in part.iter() {
                let wanted = wanted?;
                // Many arrays are compared with one, and most differ soon, or are found at its beginning: sorting it
                // each time would take far longer. It is sorted when its own elements have been examined many times, or
                // as many elements at any depth as it has bytes.
                let is_much = own > SEARCHED_MAX * array.len() || *looked_at - before > bytes;
                if is_long && members.is_none() && is_much {
                    // A node has five bytes at least, and takes sixteen in a list.
                    context.scratch.ask(bytes.saturating_mul(4))?;
                    members = Some(Members::new(array)?);
                }
                let is_there = match &members {
                    Some(members) => has_member(context, members, wanted, levels, looked_at)?,
                    None => has_element(context, array, wanted, levels, looked_at, &mut own)?,
                };
                if !is_there {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (JsonbView::Array(_) | JsonbView::Object(_), _) => Ok(false),
        (_, JsonbView::Array(_) | JsonbView::Object(_)) => Ok(false),
        _ => Ok(document.compare(part).is_eq()),
    }
}

/// Returns whether an array contains a value. Examined elements are added to `looked_at`, at any depth, and those of
/// the array itself to `own`.
fn has_element(
    context: &Context<'_>,
    array: JsonbArray<'_>,
    wanted: Jsonb<'_>,
    levels: u32,
    looked_at: &mut usize,
    own: &mut usize,
) -> Result<bool> {
    for element in array.iter() {
        (*looked_at, *own) = (*looked_at + 1, *own + 1);
        if contains_within(
            context,
            element?,
            wanted,
            levels.saturating_sub(1),
            looked_at,
        )? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether a value is contained in a member.
fn has_member(
    context: &Context<'_>,
    members: &Members<'_>,
    wanted: Jsonb<'_>,
    levels: u32,
    looked_at: &mut usize,
) -> Result<bool> {
    *looked_at += 1;
    if !wanted.is_container() {
        return Ok(members.has_scalar(wanted));
    }
    let within = levels.saturating_sub(1);
    let contains = |candidate| contains_within(context, candidate, wanted, within, looked_at);
    match levels {
        0 => any(members.containers(), contains),
        _ => any(members.candidates(wanted)?, contains),
    }
}

fn any<T>(
    mut items: impl Iterator<Item = T>,
    mut is: impl FnMut(T) -> Result<bool>,
) -> Result<bool> {
    let found = items.find_map(|item| match is(item) {
        Ok(false) => None,
        found => Some(found),
    });
    found.unwrap_or(Ok(false))
}

/// Returns whether a text is a key, an element, or the document itself.
fn exists(document: Jsonb<'_>, wanted: &str) -> Result<bool> {
    match document.view()? {
        JsonbView::Object(object) => Ok(object.get(wanted)?.is_some()),
        JsonbView::Array(array) => {
            for element in array.iter() {
                if matches!(element?.view()?, JsonbView::String(text) if text == wanted) {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        JsonbView::String(text) => Ok(text == wanted),
        _ => Ok(false),
    }
}

/// Returns whether all texts exist in a document, or one of them; NULLs do not count.
fn exist(document: Jsonb<'_>, wanted: Array<'_>, all: bool) -> Result<bool> {
    let strings = match document.view()? {
        JsonbView::Array(array) if wanted.len() > SEARCHED_MAX => Some(sorted_strings(array)?),
        _ => None,
    };
    for text in wanted.iter() {
        let Value::Text(text) = text? else {
            continue;
        };
        let is_there = match &strings {
            Some(strings) => strings.binary_search(&text).is_ok(),
            None => exists(document, text)?,
        };
        if is_there != all {
            return Ok(!all);
        }
    }
    Ok(all)
}

/// Returns the strings among the elements of an array, in the order of their bytes.
fn sorted_strings(array: JsonbArray<'_>) -> Result<Vec<&str>> {
    let mut strings = Vec::new();
    for element in array.iter() {
        if let JsonbView::String(text) = element?.view()? {
            strings.push(text);
        }
    }
    strings.sort_unstable();
    Ok(strings)
}

pub(super) static OPERATORS: &[Function] = &[
    entry!("@>"(JSONB, JSONB) -> BOOL, in context contains),
    entry!("<@"(JSONB, JSONB) -> BOOL, in context |context, part, document| {
        contains(context, document, part)
    }),
    entry!("?"(JSONB, TEXT) -> BOOL, exists),
    entry!("?|"(JSONB, TEXTS) -> BOOL, |document, wanted| exist(document, wanted, false)),
    entry!("?&"(JSONB, TEXTS) -> BOOL, |document, wanted| exist(document, wanted, true)),
];
