//! Places in a text: the parser's lines and columns, bytes, and the characters from 1 that
//! clients expect.

use sqlparser::tokenizer::{Location, Span};

/// A text by its lines.
pub(crate) struct Lines<'t> {
    text: &'t str,
    /// The byte where each begins.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let after = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts = std::iter::once(0)
            .chain(after.map(|(at, _)| at + 1))
            .collect();
        Self { text, starts }
    }

    /// The byte at a location; the text's end for what is beyond it.
    pub(crate) fn byte(&self, location: Location) -> usize {
        let Some(&start) = usize::try_from(location.line)
            .ok()
            .and_then(|line| self.starts.get(line.checked_sub(1)?))
        else {
            return self.text.len();
        };
        let column = usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut characters = self.text[start..].char_indices();
        characters
            .nth(column)
            .map_or(self.text.len(), |(at, _)| start + at)
    }

    /// The character at a location, from 1.
    pub(crate) fn position(&self, location: Location) -> u32 {
        let before = self.text[..self.byte(location)].chars().count();
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }

    /// What stands at a location, up to the end of a word or of a symbol.
    pub(crate) fn token_at(&self, location: Location) -> &'t str {
        let rest = &self.text[self.byte(location)..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = match rest.chars().next() {
            None => 0,
            Some(quote @ ('\'' | '"')) => rest[1..].find(quote).map_or(rest.len(), |at| at + 2),
            Some(first) if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            Some(first) => first.len_utf8(),
        };
        &rest[..end]
    }
}

/// The character where a piece of syntax begins, from 1; `None` for what was not in the text.
pub(crate) fn of(text: &str, span: Span) -> Option<u32> {
    (span.start.line > 0).then(|| Lines::new(text).position(span.start))
}

/// The character where a symbol stands between two pieces of syntax.
pub(crate) fn between(text: &str, left: Span, right: Span) -> Option<u32> {
    if left.end.line == 0 || right.start.line == 0 {
        return None;
    }
    let lines = Lines::new(text);
    let (from, to) = (lines.byte(left.end), lines.byte(right.start));
    let gap = text.get(from..to)?;
    let symbol = gap.find(|c: char| !c.is_whitespace() && !matches!(c, '(' | ')'))?;
    u32::try_from(text[..from + symbol].chars().count() + 1).ok()
}

/// What the parser expected, and where, from one of its sentences.
pub(super) fn in_sentence(message: &str) -> Option<(Option<&str>, Location)> {
    let (rest, column) = message.rsplit_once(", Column: ")?;
    let (rest, line) = rest.rsplit_once(" at Line: ")?;
    let location = Location {
        line: line.trim().parse().ok()?,
        column: column.trim_end_matches(['.', ' ']).parse().ok()?,
    };
    let expected = rest.strip_prefix("Expected: ");
    Some((
        expected
            .and_then(|rest| rest.rsplit_once(", found: "))
            .map(|(what, _)| what),
        location,
    ))
}
