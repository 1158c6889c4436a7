//! `replace` and `translate`.

use types::Result;

use crate::{
    Context,
    function::{Function, TEXT, entry},
};

fn replace<'a>(context: &Context<'a>, text: &'a str, from: &str, to: &str) -> Result<&'a str> {
    if from.is_empty() {
        return Ok(text);
    }
    let found = text.matches(from).count();
    if found == 0 {
        return Ok(text);
    }
    let bytes = (text.len() - found * from.len()).saturating_add(found.saturating_mul(to.len()));
    context.make_room(bytes)?;
    let mut replaced = bumpalo::collections::String::with_capacity_in(bytes, context.scratch);
    for (number, part) in text.split(from).enumerate() {
        if number > 0 {
            replaced.push_str(to);
        }
        replaced.push_str(part);
    }
    Ok(replaced.into_bump_str())
}

/// Replaces each character of `from` by the one at its place in `to`, or removes it if there is
/// none; the first place of a repeated character counts.
fn translate<'a>(context: &Context<'a>, text: &str, from: &str, to: &str) -> &'a str {
    let to = to.chars().map(Some).chain(std::iter::repeat(None));
    let mut table: Vec<(char, Option<char>)> = from.chars().zip(to).collect();
    table.sort_by_key(|(from, _)| *from);
    table.dedup_by_key(|(from, _)| *from);
    let mut translated =
        bumpalo::collections::String::with_capacity_in(text.len(), context.scratch);
    for character in text.chars() {
        match table.binary_search_by_key(&character, |(from, _)| *from) {
            Err(_) => translated.push(character),
            Ok(at) => translated.extend(table[at].1),
        }
    }
    translated.into_bump_str()
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("replace"(TEXT, TEXT, TEXT) -> TEXT, in context replace),
    entry!("translate"(TEXT, TEXT, TEXT) -> TEXT, in context translate),
];
