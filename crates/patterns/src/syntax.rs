//! Regular expressions as trees, and as texts for the crate `regex`.

use std::fmt::Write as _;

use regex_syntax::hir::{Class as HirClass, HirKind};

use super::compiled::invalid;

/// A set of characters.
#[derive(Debug, Clone)]
pub(super) struct Class {
    /// Text in the syntax of `regex`.
    text: Box<str>,
    /// Ranges, ascending.
    ranges: Box<[(char, char)]>,
    /// One bit for each ASCII character.
    ascii: u128,
}

impl Class {
    /// Returns the class that `text` in the syntax of `regex` stands for.
    ///
    /// # Errors
    /// 2201B if `text` is no class.
    pub(super) fn new(text: String, ignore_case: bool) -> types::Result<Self> {
        let parsed = regex_syntax::ParserBuilder::new()
            .case_insensitive(ignore_case)
            .dot_matches_new_line(true)
            .build()
            .parse(&text);
        let parsed = parsed.map_err(|error| {
            let text = error.to_string();
            invalid(text.rsplit("error: ").next().unwrap_or(&text).trim())
        })?;
        let ranges: Vec<(char, char)> = match parsed.kind() {
            HirKind::Class(HirClass::Unicode(class)) => class
                .iter()
                .map(|range| (range.start(), range.end()))
                .collect(),
            HirKind::Class(HirClass::Bytes(class)) => class
                .iter()
                .map(|range| (char::from(range.start()), char::from(range.end())))
                .collect(),
            HirKind::Literal(literal) => std::str::from_utf8(&literal.0)
                .ok()
                .into_iter()
                .flat_map(str::chars)
                .map(|character| (character, character))
                .collect(),
            _ => Vec::new(),
        };
        let ascii = (0..128).filter(|code| within(&ranges, char::from(*code)));
        let ascii = ascii.fold(0, |bits, code| bits | 1 << code);
        Ok(Self {
            text: text.into_boxed_str(),
            ranges: ranges.into_boxed_slice(),
            ascii,
        })
    }

    #[inline]
    pub(super) fn has(&self, character: char) -> bool {
        if character.is_ascii() {
            return self.ascii >> (character as u32) & 1 == 1;
        }
        within(&self.ranges, character)
    }
}

fn within(ranges: &[(char, char)], character: char) -> bool {
    let at = ranges.partition_point(|(_, last)| *last < character);
    ranges.get(at).is_some_and(|(first, _)| *first <= character)
}

/// Condition between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordBoundary,
    NotWordBoundary,
}

impl Assertion {
    pub(super) fn holds(self, text: &str, at: usize) -> bool {
        let before = || text[..at].chars().next_back();
        let after = || text[at..].chars().next();
        // The definition of a word in `regex`, so that both agree on where matches begin.
        let is_word = |character: Option<char>| {
            character.is_some_and(|character| {
                regex_syntax::try_is_word_character(character).unwrap_or(false)
            })
        };
        match self {
            Self::TextStart => at == 0,
            Self::TextEnd => at == text.len(),
            Self::LineStart => before().is_none_or(|character| character == '\n'),
            Self::LineEnd => after().is_none_or(|character| character == '\n'),
            Self::WordStart => !is_word(before()) && is_word(after()),
            Self::WordEnd => is_word(before()) && !is_word(after()),
            Self::WordBoundary => is_word(before()) != is_word(after()),
            Self::NotWordBoundary => is_word(before()) == is_word(after()),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::TextStart => "\\A",
            Self::TextEnd => "\\z",
            Self::LineStart => "(?m:^)",
            Self::LineEnd => "(?m:$)",
            Self::WordStart => "\\b{start}",
            Self::WordEnd => "\\b{end}",
            Self::WordBoundary => "\\b",
            Self::NotWordBoundary => "\\B",
        }
    }
}

/// Choice of an expression among the possible matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Preference {
    Longest,
    Shortest,
}

/// A part of a regular expression.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Empty,
    Class(Class),
    Assertion(Assertion),
    /// `(?=x)`, `(?!x)`, `(?<=x)`, `(?<!x)`.
    Look {
        ahead: bool,
        negated: bool,
        node: Box<Node>,
    },
    Concat(Vec<Node>),
    /// At least two alternatives.
    Alternate(Vec<Node>),
    Repeat {
        node: Box<Node>,
        least: u32,
        most: Option<u32>,
        /// None for `{m}`, which has the preference of its operand.
        preference: Option<Preference>,
    },
    /// Capturing parentheses, by their number from 1.
    Group(usize, Box<Node>),
}

impl Node {
    /// Appends the expression in the syntax of `regex`: the same texts match, whichever part of
    /// them is taken.
    ///
    /// Returns false for expressions that `regex` has no form for.
    pub(super) fn write(&self, out: &mut String) -> bool {
        match self {
            Self::Empty => {}
            Self::Class(class) => out.push_str(&class.text),
            Self::Assertion(assertion) => out.push_str(assertion.text()),
            Self::Look { .. } => return false,
            Self::Concat(nodes) => return nodes.iter().all(|node| node.write(out)),
            Self::Alternate(nodes) => {
                out.push_str("(?:");
                for (position, node) in nodes.iter().enumerate() {
                    if position > 0 {
                        out.push('|');
                    }
                    if !node.write(out) {
                        return false;
                    }
                }
                out.push(')');
            }
            Self::Repeat {
                node, least, most, ..
            } => {
                out.push_str("(?:");
                if !node.write(out) {
                    return false;
                }
                let most = most.map_or(String::new(), |most| most.to_string());
                let _ = match (least, most.as_str()) {
                    (0, "") => write!(out, ")*"),
                    (1, "") => write!(out, ")+"),
                    (0, "1") => write!(out, ")?"),
                    _ => write!(out, "){{{least},{most}}}"),
                };
            }
            Self::Group(_, node) => {
                out.push_str("(?:");
                if !node.write(out) {
                    return false;
                }
                out.push(')');
            }
        }
        true
    }
}
