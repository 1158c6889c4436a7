//! PostgreSQL's advanced regular expressions, read into a tree.
//!
//! Brackets and escapes that stand for sets of characters are translated to the syntax of the
//! crate `regex-syntax`, whose tables of Unicode say which characters these are.

mod brackets;
mod escape;

use types::{Result, SqlError, SqlState};

use super::{
    compiled::invalid,
    options::Options,
    syntax::{Assertion, Class, Node, Preference},
};

/// Maximum nesting of parentheses; each level is some frames of the recursions over the tree.
const DEPTH_MAX: usize = 200;

/// A parsed pattern.
pub(super) struct Parsed {
    pub(super) node: Node,
    /// Number of capturing parentheses.
    pub(super) groups: usize,
    pub(super) options: Options,
}

pub(super) struct Parser<'p> {
    rest: &'p str,
    options: Options,
    groups: usize,
    depth: usize,
    /// Whether the parser is within a lookaround constraint, where nothing captures.
    in_look: bool,
}

/// Reads a pattern.
///
/// # Errors
///
/// 2201B if it is no regular expression, 0A000 for back references.
pub(super) fn parse(pattern: &str, options: Options) -> Result<Parsed> {
    let mut parser = Parser {
        rest: pattern,
        options,
        groups: 0,
        depth: 0,
        in_look: false,
    };
    let literal = if options.literal {
        Some(pattern)
    } else {
        parser.directors()?
    };
    let node = match literal {
        Some(text) => {
            let characters = text.chars().map(|character| parser.character(character));
            Node::Concat(characters.collect::<Result<_>>()?)
        }
        None => {
            let node = parser.alternatives()?;
            if !parser.rest.is_empty() {
                return Err(invalid("parentheses () not balanced"));
            }
            node
        }
    };
    Ok(Parsed {
        node,
        groups: parser.groups,
        options: parser.options,
    })
}

impl<'p> Parser<'p> {
    /// Reads the directors in front of a pattern; returns the rest of the text if it is a
    /// literal.
    fn directors(&mut self) -> Result<Option<&'p str>> {
        if let Some(literal) = self.rest.strip_prefix("***=") {
            return Ok(Some(literal));
        }
        self.rest = self.rest.strip_prefix("***:").unwrap_or(self.rest);
        let letters = self.rest.strip_prefix("(?").and_then(|rest| {
            let end = rest.find(|character: char| !character.is_ascii_alphabetic())?;
            (end > 0 && rest[end..].starts_with(')')).then_some(&rest[..end])
        });
        if let Some(letters) = letters {
            for letter in letters.chars() {
                self.options
                    .set(letter)?
                    .ok_or_else(|| invalid("invalid embedded option"))?;
            }
            self.rest = &self.rest[letters.len() + 3..];
            if self.options.literal {
                return Ok(Some(self.rest));
            }
        }
        Ok(None)
    }

    fn take(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let first = characters.next();
        self.rest = characters.as_str();
        first
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let after = self.rest.strip_prefix(prefix);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Skips comments, and in the expanded syntax blanks.
    fn skip(&mut self) -> Result<()> {
        loop {
            if let Some(comment) = self.rest.strip_prefix("(?#") {
                let end = comment
                    .find(')')
                    .ok_or_else(|| invalid("parentheses () not balanced"))?;
                self.rest = &comment[end + 1..];
            } else if self.options.expanded && self.rest.starts_with('#') {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
            } else if self.options.expanded && self.rest.starts_with(char::is_whitespace) {
                self.take();
            } else {
                return Ok(());
            }
        }
    }

    fn alternatives(&mut self) -> Result<Node> {
        let mut branches = vec![self.branch()?];
        while self.eat("|") {
            branches.push(self.branch()?);
        }
        Ok(match branches.len() {
            1 => branches.remove(0),
            _ => Node::Alternate(branches),
        })
    }

    fn branch(&mut self) -> Result<Node> {
        let mut nodes = Vec::new();
        loop {
            self.skip()?;
            if self.rest.is_empty() || self.rest.starts_with(['|', ')']) {
                break;
            }
            let grouped = self.rest.starts_with("(?:")
                || (self.rest.starts_with('(') && !self.rest.starts_with("(?"));
            let atom = self.atom()?;
            nodes.push(self.quantified(atom, grouped)?);
        }
        Ok(match nodes.len() {
            0 => Node::Empty,
            1 => nodes.remove(0),
            _ => Node::Concat(nodes),
        })
    }

    fn atom(&mut self) -> Result<Node> {
        let Some(character) = self.take() else {
            return Ok(Node::Empty);
        };
        Ok(match character {
            '\\' => return self.escape(),
            '[' => return self.brackets(),
            '(' => return self.group(),
            '*' | '+' | '?' => return Err(invalid("quantifier operand invalid")),
            '{' if self.begins_bound() => return Err(invalid("quantifier operand invalid")),
            '^' => Node::Assertion(if self.options.anchors_at_newline {
                Assertion::LineStart
            } else {
                Assertion::TextStart
            }),
            '$' => Node::Assertion(if self.options.anchors_at_newline {
                Assertion::LineEnd
            } else {
                Assertion::TextEnd
            }),
            '.' if self.options.dot_stops_at_newline => self.class("[^\\n]".to_owned())?,
            '.' => self.class("(?s:.)".to_owned())?,
            plain => self.character(plain)?,
        })
    }

    /// Returns whether a digit follows a brace; otherwise the brace is a character.
    fn begins_bound(&self) -> bool {
        self.rest.starts_with(|next: char| next.is_ascii_digit())
    }

    fn group(&mut self) -> Result<Node> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(invalid("regular expression is too complex"));
        }
        let looks = [("?=", true, false), ("?!", true, true)];
        let looks = looks
            .iter()
            .chain(&[("?<=", false, false), ("?<!", false, true)]);
        let mut node = None;
        for (prefix, ahead, negated) in looks {
            if self.eat(prefix) {
                let outside = std::mem::replace(&mut self.in_look, true);
                let inner = Box::new(self.alternatives()?);
                self.in_look = outside;
                node = Some(Node::Look {
                    ahead: *ahead,
                    negated: *negated,
                    node: inner,
                });
                break;
            }
        }
        let node = match node {
            Some(look) => look,
            None if self.eat("?:") => self.alternatives()?,
            None if self.rest.starts_with('?') => {
                return Err(invalid("quantifier operand invalid"));
            }
            None if self.in_look => self.alternatives()?,
            None => {
                self.groups += 1;
                let number = self.groups;
                Node::Group(number, Box::new(self.alternatives()?))
            }
        };
        if !self.eat(")") {
            return Err(invalid("parentheses () not balanced"));
        }
        self.depth -= 1;
        Ok(node)
    }

    /// Reads the quantifier of an atom, if one follows.
    fn quantified(&mut self, atom: Node, grouped: bool) -> Result<Node> {
        self.skip()?;
        let (least, most, fixed) = if self.eat("*") {
            (0, None, false)
        } else if self.eat("+") {
            (1, None, false)
        } else if self.eat("?") {
            (0, Some(1), false)
        } else if self.rest.starts_with('{')
            && self.rest[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            self.bound()?
        } else {
            return Ok(atom);
        };
        // A constraint cannot be repeated, but parentheses around one can.
        if !grouped && matches!(atom, Node::Assertion(_) | Node::Look { .. }) {
            return Err(invalid("quantifier operand invalid"));
        }
        let lazy = self.eat("?");
        let again = self.rest.starts_with(['*', '+', '?'])
            || self.rest.starts_with('{')
                && self.rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if again {
            return Err(invalid("quantifier operand invalid"));
        }
        let preference = match (fixed, lazy) {
            (true, _) => None,
            (false, false) => Some(Preference::Longest),
            (false, true) => Some(Preference::Shortest),
        };
        Ok(Node::Repeat {
            node: Box::new(atom),
            least,
            most,
            preference,
        })
    }

    /// Reads `{m}`, `{m,}` or `{m,n}`; the last result is whether it is the first form.
    fn bound(&mut self) -> Result<(u32, Option<u32>, bool)> {
        let end = self
            .rest
            .find('}')
            .ok_or_else(|| invalid("braces {} not balanced"))?;
        let bound = &self.rest[1..end];
        self.rest = &self.rest[end + 1..];
        let count = |text: &str| match text.parse::<u32>() {
            Ok(count @ 0..=255) => Ok(count),
            _ => Err(invalid("invalid repetition count(s)")),
        };
        let Some((least, most)) = bound.split_once(',') else {
            let times = count(bound)?;
            return Ok((times, Some(times), true));
        };
        let least = count(least)?;
        if most.is_empty() {
            return Ok((least, None, false));
        }
        let most = count(most)?;
        if most < least {
            return Err(invalid("invalid repetition count(s)"));
        }
        Ok((least, Some(most), false))
    }

    /// Returns a set of characters, given in the syntax of `regex`.
    fn class(&self, text: String) -> Result<Node> {
        Class::new(text, self.options.ignore_case).map(Node::Class)
    }

    /// Returns a character that means itself.
    fn character(&self, character: char) -> Result<Node> {
        self.class(regex_syntax::escape(character.encode_utf8(&mut [0; 4])))
    }
}

#[cold]
fn back_reference() -> SqlError {
    SqlError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "a back reference in a regular expression is not supported",
    )
}
