//! `replace` and `translate`.

use types::Result;

use crate::{
    Context,
    function::{Function, TEXT, entry},
};

fn replace<'a>(context: &Context<'a>, text: &'a str, from: &str, to: &str) -> Result<&'a str> {
    if from.is_empty() || !text.contains(from) {
        return Ok(text);
    }
    let mut replaced = bumpalo::collections::String::new_in(context.scratch);
    for (number, part) in text.split(from).enumerate() {
        if number > 0 {
            replaced.push_str(to);
        }
        context.make_room(replaced.len() + part.len())?;
        replaced.push_str(part);
    }
    Ok(replaced.into_bump_str())
}

/// Each character of `from` becomes the one at its place in `to`, or goes if there is none.
fn translate<'a>(context: &Context<'a>, text: &str, from: &str, to: &str) -> &'a str {
    let mut translated =
        bumpalo::collections::String::with_capacity_in(text.len(), context.scratch);
    for character in text.chars() {
        match from.chars().position(|other| other == character) {
            None => translated.push(character),
            Some(position) => translated.extend(to.chars().nth(position)),
        }
    }
    translated.into_bump_str()
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("replace"(TEXT, TEXT, TEXT) -> TEXT, in context replace),
    entry!("translate"(TEXT, TEXT, TEXT) -> TEXT, in context translate),
];
