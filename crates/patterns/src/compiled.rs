//! Compiled patterns, and their matches.
//!
//! The crate `regex` tells whether and where a text begins to match, since it is the fastest at that; an
//! automaton ([`automaton`](super::automaton)) tells how long the match is, and which part the parentheses
//! have, because `regex` takes the first alternative where PostgreSQL takes the longest. The automaton
//! alone runs patterns with lookaround constraints, which `regex` does not have.
//!
//! Most statements match many rows against one pattern, so a session keeps the last few.

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

use regex::{Regex, RegexBuilder};
use types::{Result, SqlError, SqlState};

use super::{
    dissect::{Piece, dissect},
    options::Options,
    parse::{Parsed, parse},
    scan::{Machine, Positions, Scan},
    syntax::{Node, Preference},
};

/// Number of patterns kept.
const KEPT: usize = 32;
/// Maximum bytes of a compiled pattern.
const BYTES_MAX: usize = 16 << 20;
/// Bytes that `regex` may look at to find matches in one text, some tenths of a second's work: each search
/// may look at the whole rest of the text, though it finds a match at once. Beyond it the automaton tells
/// where matches begin, all at once.
const SEARCHED_MAX: usize = 200 << 20;

/// A compiled pattern.
pub struct Pattern {
    /// The expression for `regex`; none if there are lookaround constraints.
    regex: Option<Regex>,
    node: Node,
    groups: usize,
    /// Whether `regex` finds every match at a position that the pattern prefers.
    simple: bool,
    /// Whether all matches have the same number of characters, so that `regex` looks no further than the
    /// end of the match it finds.
    fixed: bool,
    /// The automaton, made when it is first needed.
    machine: OnceCell<Rc<Machine>>,
}

impl Pattern {
    fn new(pattern: &str, options: Options) -> Result<Self> {
        let Parsed {
            node,
            groups,
            options,
        } = parse(pattern, options)?;
        let mut text = String::with_capacity(pattern.len() + 8);
        let regex = if node.write(&mut text) {
            Some(build(&text, options.ignore_case)?)
        } else {
            None
        };
        let choices = choices(&node);
        Ok(Self {
            regex,
            simple: choices.is_some_and(|choices| choices < 2),
            fixed: choices == Some(0),
            node,
            groups,
            machine: OnceCell::new(),
        })
    }

    fn machine(&self) -> Result<&Rc<Machine>> {
        if let Some(machine) = self.machine.get() {
            return Ok(machine);
        }
        let machine = Rc::new(Machine::new(&self.node)?);
        Ok(self.machine.get_or_init(|| machine))
    }

    /// Returns the number of capturing parentheses.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Returns whether a part of a text matches.
    ///
    /// # Errors
    /// 54000 if that takes too many steps, 2201B if the pattern is too large for it.
    pub fn is_match(self: &Rc<Self>, text: &str) -> Result<bool> {
        match &self.regex {
            Some(regex) => Ok(regex.is_match(text)),
            None => Ok(self.matcher(text).start(0)?.is_some()),
        }
    }

    /// Returns a matcher, which finds matches in a text.
    pub fn matcher<'t>(self: &Rc<Self>, text: &'t str) -> Matcher<'t> {
        Matcher {
            pattern: Rc::clone(self),
            text,
            scan: None,
            starts: None,
            searched: 0,
        }
    }
}

/// Returns the number of independent choices of a length in a pattern; `None` if it has other choices too.
/// With one choice at most, `regex` finds the match that PostgreSQL finds.
fn choices(node: &Node) -> Option<usize> {
    match node {
        Node::Empty | Node::Class(_) | Node::Assertion(_) => Some(0),
        Node::Look { .. } | Node::Alternate(_) => None,
        Node::Group(_, node) => choices(node),
        Node::Concat(nodes) => nodes.iter().map(choices).sum(),
        Node::Repeat {
            node,
            least,
            most,
            preference,
        } => match choices(node)? {
            0 if *most == Some(*least) => Some(0),
            0 if *preference == Some(Preference::Longest) => Some(1),
            _ => None,
        },
    }
}

/// Finds the matches of a pattern in one text.
pub struct Matcher<'t> {
    pattern: Rc<Pattern>,
    text: &'t str,
    scan: Option<Scan<'t>>,
    /// Positions where matches begin, if the automaton tells.
    starts: Option<Positions>,
    /// Bytes that searches may have looked at.
    searched: usize,
}

impl<'t> Matcher<'t> {
    fn scan(&mut self) -> Result<&mut Scan<'t>> {
        match &mut self.scan {
            Some(scan) => Ok(scan),
            none => Ok(none.insert(Scan::new(self.pattern.machine()?, self.text)?)),
        }
    }

    /// Returns where the first match from a position on begins, by the automaton.
    fn start(&mut self, from: usize) -> Result<Option<usize>> {
        if self.starts.is_none() {
            let end = self.text.len();
            let scan = self.scan()?;
            let span = scan.machine().part.span;
            let mut starts = Positions::default();
            let mark = |_, at| starts.insert(at);
            scan.backward(span, &[span.first], end, 0, |_| true, mark)?;
            self.starts = Some(starts);
        }
        Ok(self.starts.as_ref().and_then(|starts| starts.next(from)))
    }

    /// Finds the first match that begins at a position or behind it.
    ///
    /// # Errors
    /// 54000 if that takes too many steps, 2201B if the pattern is too large for it.
    pub fn find(&mut self, from: usize) -> Result<Option<Piece>> {
        let is_short = self.searched < SEARCHED_MAX;
        let begin = match &self.pattern.regex {
            Some(regex) if is_short => {
                let found = regex.find_at(self.text, from);
                let searched = match found {
                    Some(found) if self.pattern.fixed => found.end() - from,
                    _ => self.text.len() - from,
                };
                self.searched += searched;
                match found {
                    Some(found) if self.pattern.simple => {
                        return Ok(Some((found.start(), found.end())));
                    }
                    Some(found) => found.start(),
                    None => return Ok(None),
                }
            }
            _ => match self.start(from)? {
                Some(begin) => begin,
                None => return Ok(None),
            },
        };
        let limit = self.text.len();
        let scan = self.scan()?;
        let machine = scan.machine();
        let shortest = machine.part.preference == Some(Preference::Shortest);
        let mut end = None;
        scan.forward(machine.part.span, begin, limit, false, |at| {
            end = Some(at);
            !shortest
        })?;
        let end = end.ok_or_else(|| {
            SqlError::new(SqlState::INTERNAL_ERROR, "a match of a pattern has no end")
        })?;
        Ok(Some((begin, end)))
    }

    /// Finds a match like [`find`](Self::find), with the pieces of its parentheses; the first is the whole.
    ///
    /// # Errors
    /// 54000 if that takes too many steps, 2201B if the pattern is too large for it.
    pub fn captures(&mut self, from: usize) -> Result<Option<Vec<Option<Piece>>>> {
        let Some(whole) = self.find(from)? else {
            return Ok(None);
        };
        let mut groups = vec![None; self.pattern.groups + 1];
        if self.pattern.groups > 0 {
            let scan = self.scan()?;
            let machine = scan.machine();
            dissect(scan, &machine.part, whole, &mut groups)?;
        }
        groups[0] = Some(whole);
        Ok(Some(groups))
    }
}

struct Kept {
    pattern: Box<str>,
    options: Options,
    compiled: Rc<Pattern>,
}

/// The patterns that a session has compiled, the last used first. Bounded in number and size.
#[derive(Default)]
pub struct Patterns(RefCell<Vec<Kept>>);

impl Patterns {
    /// Makes a list without patterns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a PostgreSQL pattern, compiled.
    ///
    /// # Errors
    /// 2201B if it is no regular expression or too large, 0A000 for back references.
    pub fn get(&self, pattern: &str, options: Options) -> Result<Rc<Pattern>> {
        let mut kept = self.0.borrow_mut();
        let known = kept
            .iter()
            .position(|kept| kept.options == options && *kept.pattern == *pattern);
        if let Some(position) = known {
            // The constant pattern of one expression is nearly always the first.
            kept[..=position].rotate_right(1);
            return Ok(Rc::clone(&kept[0].compiled));
        }
        let compiled = Rc::new(Pattern::new(pattern, options)?);
        kept.truncate(KEPT - 1);
        kept.insert(
            0,
            Kept {
                pattern: pattern.into(),
                options,
                compiled: Rc::clone(&compiled),
            },
        );
        Ok(compiled)
    }
}

impl std::fmt::Debug for Patterns {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Patterns").finish_non_exhaustive()
    }
}

fn build(text: &str, ignore_case: bool) -> Result<Regex> {
    let regex = RegexBuilder::new(text)
        .size_limit(BYTES_MAX)
        .case_insensitive(ignore_case)
        .dot_matches_new_line(true)
        .build();
    regex.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => invalid("regular expression is too complex"),
        error => {
            let text = error.to_string();
            let reason = text.rsplit("error: ").next().unwrap_or(&text);
            invalid(reason.trim())
        }
    })
}

/// Returns 2201B, with the reason.
#[cold]
pub(super) fn invalid(reason: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_REGULAR_EXPRESSION,
        format!("invalid regular expression: {reason}"),
    )
}
