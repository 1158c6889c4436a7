//! Places in a text: the parser's lines and columns, bytes, and the characters from 1 that
//! clients expect.

use sqlparser::tokenizer::{self, Location};

/// The place of a piece of syntax: lines and columns from 1. Lines of 0 stand for what is in no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    start: Point,
    /// Behind the last character.
    end: Point,
}

/// A place between two characters. Numbers that are greater than 32 bits hold are cut: texts are shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Point {
    line: u32,
    column: u32,
}

impl Span {
    /// Returns whether a piece ends where another begins, or before it.
    pub(crate) fn is_before(self, other: Self) -> bool {
        self.end <= other.start
    }

    /// Returns the place from where the first of two pieces begins to where the last ends.
    pub(crate) fn union(self, other: Self) -> Self {
        match (self.start.line, other.start.line) {
            (0, _) => other,
            (_, 0) => self,
            _ => Self {
                start: self.start.min(other.start),
                end: self.end.max(other.end),
            },
        }
    }
}

impl From<tokenizer::Span> for Span {
    fn from(span: tokenizer::Span) -> Self {
        Self {
            start: span.start.into(),
            end: span.end.into(),
        }
    }
}

impl From<Location> for Point {
    fn from(location: Location) -> Self {
        let number = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            line: number(location.line),
            column: number(location.column),
        }
    }
}

impl From<Point> for Location {
    fn from(point: Point) -> Self {
        Location::new(point.line.into(), point.column.into())
    }
}

/// A text by its lines: made once for a text, since all of it is looked at for that, and asked
/// about each of its literals.
pub struct Lines<'t> {
    text: &'t str,
    starts: Vec<Start>,
    /// Characters of the text.
    characters: usize,
    /// The byte at which every [`MARK_CHARACTERS`]th character begins, in a text that is not ASCII.
    marks: Vec<usize>,
}

/// A place of a text is at most so many characters from a mark: without marks, finding it took time by the length
/// of its line.
const MARK_CHARACTERS: usize = 64;

/// Where a line begins.
struct Start {
    byte: usize,
    /// Characters before it.
    characters: usize,
}

impl<'t> Lines<'t> {
    /// Returns the lines of no text, for pieces of syntax whose places are no places of the client's text.
    pub fn none() -> &'static Lines<'static> {
        static NONE: Lines<'static> = Lines {
            text: "",
            starts: Vec::new(),
            characters: 0,
            marks: Vec::new(),
        };
        &NONE
    }

    /// Indexes the lines of `text`, in time proportional to its length.
    pub fn new(text: &'t str) -> Self {
        let mut starts = vec![Start {
            byte: 0,
            characters: 0,
        }];
        let mut characters = 0;
        for (at, byte) in text.bytes().enumerate() {
            // Every byte that does not continue a character begins one.
            characters += usize::from(byte & 0xc0 != 0x80);
            if byte == b'\n' {
                starts.push(Start {
                    byte: at + 1,
                    characters,
                });
            }
        }
        let mut marks = Vec::new();
        if characters < text.len() {
            let places = text.char_indices().step_by(MARK_CHARACTERS);
            marks.extend(places.map(|(at, _)| at));
        }
        Self {
            text,
            starts,
            characters,
            marks,
        }
    }

    /// A part of the text.
    pub fn text(&self, bytes: std::ops::Range<usize>) -> &'t str {
        self.text.get(bytes).unwrap_or_default()
    }

    fn start(&self, location: Location) -> Option<&Start> {
        let line = usize::try_from(location.line).ok()?.checked_sub(1)?;
        self.starts.get(line)
    }

    /// The byte at a location; the text's end for what is beyond it.
    pub(crate) fn byte(&self, location: Location) -> usize {
        let Some(start) = self.start(location) else {
            return self.text.len();
        };
        let column = column(location);
        if self.characters == self.text.len() {
            // Characters are bytes.
            return start.byte.saturating_add(column).min(self.text.len());
        }
        let character = start.characters.saturating_add(column);
        let Some(&mark) = self.marks.get(character / MARK_CHARACTERS) else {
            return self.text.len();
        };
        let mut characters = self.text[mark..].char_indices();
        characters
            .nth(character % MARK_CHARACTERS)
            .map_or(self.text.len(), |(at, _)| mark + at)
    }

    /// The character at a location, from 1.
    pub(crate) fn position(&self, location: Location) -> u32 {
        let before = self.start(location).map_or(self.characters, |start| {
            let before = start.characters.saturating_add(column(location));
            before.min(self.characters)
        });
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }

    /// Returns the character after the last that is no space, from 1.
    pub(crate) fn end(&self) -> u32 {
        let spaces = self.text.len() - self.text.trim_end().len();
        let spaces = self.text[self.text.len() - spaces..].chars().count();
        u32::try_from(self.characters - spaces + 1).unwrap_or(u32::MAX)
    }

    /// The character where a piece of syntax begins, from 1; `None` for what was not in the text.
    pub fn of(&self, span: impl Into<Span>) -> Option<u32> {
        let Span { start, .. } = span.into();
        (start.line > 0 && !self.starts.is_empty()).then(|| self.position(start.into()))
    }

    /// Returns the character where the operator stands between its operands, of whose places closing brackets,
    /// arguments in parentheses and types of casts are no parts.
    pub fn between(&self, left: Span, right: Span, operator: OperatorForm) -> Option<u32> {
        if left.end.line == 0 || right.start.line == 0 {
            return None;
        }
        let (begin, end) = (left.end.into(), right.start.into());
        let gap = self.text.get(self.byte(begin)..self.byte(end))?;
        let before = &gap[..operator.find(gap)?];
        Some(self.position(begin) + u32::try_from(before.chars().count()).ok()?)
    }

    /// Returns the character where the outermost of the operators before an operand stands. `operators` begins with the
    /// innermost. `None` if a comment is between them.
    pub fn prefix<'o>(
        &self,
        operand: Span,
        operators: impl Iterator<Item = &'o str>,
    ) -> Option<u32> {
        let at = self.of(operand)?;
        let begin = self.byte(operand.start.into());
        let mut before = &self.text[..begin];
        for operator in operators {
            let opened = before.trim_end_matches(|c: char| c.is_whitespace() || c == '(');
            before = opened.strip_suffix(operator)?;
        }
        let between = self.text[before.len()..begin].chars().count();
        at.checked_sub(u32::try_from(between).ok()?)
    }

    /// Returns the text at a location, up to the end of a word or of a symbol.
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

/// The form in which an operator is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorForm {
    /// Signs, or `OPERATOR (schema.name)`.
    Signs,
    /// Words, as `NOT IN`.
    Words,
}

impl OperatorForm {
    /// Returns the byte where the operator begins in the text between its operands. Brackets that close only there
    /// are the left operand's, with all before them; those that open before the operator are skipped with what is in
    /// them, and so are comments and names in quotes.
    fn find(self, gap: &str) -> Option<usize> {
        let mut found = None;
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(c) = gap[at..].chars().next() {
            let rest = &gap[at..];
            at += match c {
                '(' | '[' => {
                    depth += 1;
                    1
                }
                ')' | ']' if depth == 0 => {
                    found = None;
                    1
                }
                ')' | ']' => {
                    depth -= 1;
                    1
                }
                '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                _ if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
                _ if rest.starts_with("/*") => comment_bytes(rest),
                c if is_sign(c) => {
                    let end = rest.find(|c| !is_sign(c)).unwrap_or(rest.len());
                    if depth == 0 && self == Self::Signs {
                        found = found.or(Some(at));
                    }
                    end
                }
                c if c.is_alphanumeric() || c == '_' => {
                    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
                    let end = end.unwrap_or(rest.len());
                    if depth == 0 && self.is_word(&rest[..end]) {
                        found = found.or(Some(at));
                    }
                    end
                }
                other => other.len_utf8(),
            };
        }
        found
    }

    /// Returns whether an operator of the form may begin with a word.
    fn is_word(self, word: &str) -> bool {
        let words: &[&str] = match self {
            Self::Signs => &["operator"],
            Self::Words => &["not", "in", "is", "between", "like", "ilike", "similar"],
        };
        words.iter().any(|known| word.eq_ignore_ascii_case(known))
    }
}

/// Returns whether operators are made of a character.
fn is_sign(c: char) -> bool {
    "+-*/<>=~!@#%^&|`?".contains(c)
}

/// Returns the length of the comment that a text begins with, and of those within it.
fn comment_bytes(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(mark) = text[at..].find(['/', '*']) {
        at += mark;
        let (change, length) = match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        at += length;
        depth = depth.saturating_add_signed(change);
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Characters of its line before a location.
fn column(location: Location) -> usize {
    usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX)
}

/// Returns the form that the parser expected, and its place, from one of its sentences.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn location(line: u64, column: u64) -> Location {
        Location { line, column }
    }

    #[test]
    fn characters_are_counted_over_lines() {
        for (text, line_2, byte_2) in [("ab\ncd", 4, 3), ("\u{e4}b\nc\u{f6}d", 4, 4)] {
            let lines = Lines::new(text);
            assert_eq!(lines.position(location(1, 2)), 2);
            assert_eq!(lines.position(location(2, 1)), line_2);
            assert_eq!(lines.byte(location(2, 1)), byte_2);
            assert_eq!(
                lines.position(location(2, 99)) as usize,
                text.chars().count() + 1
            );
            assert_eq!(lines.byte(location(2, 99)), text.len());
            assert_eq!(lines.byte(location(9, 1)), text.len());
        }
    }

    #[test]
    fn a_symbol_is_found_between_two_sides() {
        let text = "select (\u{e4}) + (1)";
        let span = |from, to| Span {
            start: location(1, from).into(),
            end: location(1, to).into(),
        };
        assert_eq!(
            Lines::new(text).between(span(9, 10), span(15, 16), OperatorForm::Signs),
            Some(12)
        );
        assert_eq!(Lines::new(text).of(span(9, 10)), Some(9));
        assert_eq!(Lines::new(text).of(Span::default()), None);
    }

    /// A place in a long line was found by a walk from the line's begin, for each statement and each operator in it.
    #[test]
    fn places_near_marks_are_found() {
        let line = "\u{e4}b\u{20ac}".repeat(200);
        let text = format!("{line}\n\n{line}x\n{line}");
        let lines = Lines::new(&text);
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        for (number, start) in (1..).zip(starts) {
            let rest = text[start..].char_indices();
            for (column, (at, _)) in (1..).zip(rest) {
                assert_eq!(lines.byte(location(number, column)), start + at);
            }
        }
        assert_eq!(lines.byte(location(4, 601)), text.len());
        assert_eq!(lines.byte(location(1, 1_000_000)), text.len());
    }

    #[test]
    fn no_text_has_no_places() {
        let span = Span {
            start: location(1, 1).into(),
            end: location(1, 2).into(),
        };
        assert_eq!(Lines::none().of(span), None);
        assert_eq!(Lines::new("").of(span), Some(1));
    }

    /// Each statement of a batch once indexed the whole text again, so that 20,000 EXPLAINs took minutes.
    #[test]
    fn statements_of_one_text_share_its_lines() {
        let sources = crate::split("select 1; prepare a as select 2").unwrap();
        let within = sources[1].part(3).unwrap();
        assert_eq!(within.text(), "select 2");
        for source in [&sources[1], &within] {
            assert!(std::ptr::eq(source.lines(), sources[0].lines()));
        }
    }

    #[test]
    fn the_end_is_before_spaces() {
        for (text, end) in [("", 1), (" \n", 1), ("\u{e4}b \u{3000}\n", 3)] {
            assert_eq!(Lines::new(text).end(), end, "{text:?}");
        }
    }
}
