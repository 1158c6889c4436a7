//! `lower`, `upper`, `initcap`: one character for one, as PostgreSQL does with the C library.

use crate::{
    Context,
    function::{Function, TEXT, entry},
};

fn lower_character(character: char) -> char {
    single(character, character.to_lowercase())
}

fn upper_character(character: char) -> char {
    single(character, character.to_uppercase())
}

/// Returns the mapped character, unless it would become several.
fn single(character: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(mapped), None) => mapped,
        _ => character,
    }
}

fn map<'a>(context: &Context<'a>, text: &str, map: impl FnMut(char) -> char) -> &'a str {
    let mut mapped = bumpalo::collections::String::with_capacity_in(text.len(), context.scratch);
    mapped.extend(text.chars().map(map));
    mapped.into_bump_str()
}

pub(crate) fn lower<'a>(context: &Context<'a>, text: &'a str) -> &'a str {
    map(context, text, lower_character)
}

fn upper<'a>(context: &Context<'a>, text: &'a str) -> &'a str {
    map(context, text, upper_character)
}

fn capitals<'a>(context: &Context<'a>, text: &'a str) -> &'a str {
    let mut within = false;
    map(context, text, |character| {
        let mapped = if within {
            lower_character(character)
        } else {
            upper_character(character)
        };
        within = character.is_alphanumeric();
        mapped
    })
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("lower"(TEXT) -> TEXT, in context lower),
    entry!("upper"(TEXT) -> TEXT, in context upper),
    entry!("initcap"(TEXT) -> TEXT, in context capitals),
];
