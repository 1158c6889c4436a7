//! All matches of a text, one after the other, and the texts between them.

use std::rc::Rc;

use types::Result;

use super::{
    compiled::{Matcher, Pattern},
    dissect::Piece,
};

/// Returns the matches from `from` on, none if it is `None`: each is the one that `find` finds from there on. `whole`
/// returns the piece of the text that a match is; a match without a piece ends the walk.
pub fn matches_from<'t, M, F, W>(
    pattern: &Rc<Pattern>,
    text: &'t str,
    mut from: Option<usize>,
    find: F,
    whole: W,
) -> impl Iterator<Item = Result<M>> + use<'t, M, F, W>
where
    F: Fn(&mut Matcher<'t>, usize) -> Result<Option<M>>,
    W: Fn(&M) -> Option<Piece>,
{
    let mut matcher = pattern.matcher(text);
    std::iter::from_fn(move || {
        let found = find(&mut matcher, from.take()?).transpose()?;
        if let Ok(found) = &found {
            let (begin, end) = whole(found)?;
            from = next_start(text, begin, end);
        }
        Some(found)
    })
}

/// The pieces of text that a match and its parentheses have.
pub type Captures = Vec<Option<Piece>>;

/// Returns the matches from `from` on, with the pieces of their parentheses.
pub fn captures_from<'t>(
    pattern: &Rc<Pattern>,
    text: &'t str,
    from: Option<usize>,
) -> impl Iterator<Item = Result<Captures>> + use<'t> {
    matches_from(pattern, text, from, Matcher::captures, |found| found[0])
}

/// Returns where to go on after a match: after an empty match, a character further.
fn next_start(text: &str, start: usize, end: usize) -> Option<usize> {
    if end > start {
        return Some(end);
    }
    text[end..]
        .chars()
        .next()
        .map(|character| end + character.len_utf8())
}

/// Cuts a text at matches. Empty matches at the ends, or right after another, split nothing.
pub fn pieces<'t>(
    pattern: &Rc<Pattern>,
    text: &'t str,
) -> impl Iterator<Item = Result<&'t str>> + use<'t> {
    let mut matcher = pattern.matcher(text);
    let (mut begun, mut from, mut is_over) = (0, Some(0), false);
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        while let Some(at) = from {
            let (begin, end) = match matcher.find(at) {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(error) => {
                    is_over = true;
                    return Some(Err(error));
                }
            };
            from = next_start(text, begin, end);
            // An empty match right behind another splits nothing, which `begun` tells.
            if end > begin || (begin > begun && end < text.len()) {
                let piece = &text[begun..begin];
                begun = end;
                return Some(Ok(piece));
            }
        }
        is_over = true;
        Some(Ok(&text[begun..]))
    })
}
