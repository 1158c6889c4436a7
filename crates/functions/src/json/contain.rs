//! `@>`, `<@`, `?`, `?|`, `?&`: what a `jsonb` contains.

use types::{Array, Jsonb, JsonbView, Result, Value};

use crate::function::{BOOL, Function, JSONB, TEXT, TEXTS, entry};

/// Whether a document contains another; at the top an array contains a scalar too.
fn contains(document: Jsonb<'_>, part: Jsonb<'_>) -> Result<bool> {
    if let (JsonbView::Array(_), false) = (document.view()?, part.is_container()) {
        return has_element(document, part);
    }
    contains_within(document, part)
}

fn contains_within(document: Jsonb<'_>, part: Jsonb<'_>) -> Result<bool> {
    match (document.view()?, part.view()?) {
        (JsonbView::Object(document), JsonbView::Object(part)) => {
            for entry in part.iter() {
                let (key, wanted) = entry?;
                match document.get(key)? {
                    Some(value) if contains_within(value, wanted)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (JsonbView::Array(_), JsonbView::Array(part)) => {
            for wanted in part.iter() {
                if !has_element(document, wanted?)? {
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

fn has_element(array: Jsonb<'_>, wanted: Jsonb<'_>) -> Result<bool> {
    let JsonbView::Array(array) = array.view()? else {
        return Ok(false);
    };
    for element in array.iter() {
        if contains_within(element?, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a text is a key, an element, or the document itself.
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

/// Whether this is so of all texts, or of one; NULLs do not count.
fn exist(document: Jsonb<'_>, wanted: Array<'_>, all: bool) -> Result<bool> {
    for text in wanted.iter() {
        if let Value::Text(text) = text?
            && exists(document, text)? != all
        {
            return Ok(!all);
        }
    }
    Ok(all)
}

pub(super) static OPERATORS: &[Function] = &[
    entry!("@>"(JSONB, JSONB) -> BOOL, contains),
    entry!("<@"(JSONB, JSONB) -> BOOL, |part, document| contains(document, part)),
    entry!("?"(JSONB, TEXT) -> BOOL, exists),
    entry!("?|"(JSONB, TEXTS) -> BOOL, |document, wanted| exist(document, wanted, false)),
    entry!("?&"(JSONB, TEXTS) -> BOOL, |document, wanted| exist(document, wanted, true)),
];
