//! Bracket expressions, in which only `]`, `-`, `^`, classes and escapes are special.

use types::{Result, SqlError};

use super::Parser;
use crate::{
    compiled::invalid,
    syntax::{Assertion, Node},
};

/// A member of a bracket expression.
enum Member {
    Character(char),
    /// Several characters, in the syntax of `regex`.
    Set(String),
}

impl Parser<'_> {
    pub(super) fn brackets(&mut self) -> Result<Node> {
        for (border, assertion) in [
            ("[:<:]]", Assertion::WordStart),
            ("[:>:]]", Assertion::WordEnd),
        ] {
            if self.eat(border) {
                return Ok(Node::Assertion(assertion));
            }
        }
        let mut out = String::from("[");
        if self.eat("^") {
            out.push('^');
            if self.options.dot_stops_at_newline {
                out.push_str("\\n");
            }
        }
        let mut first = true;
        loop {
            if !first && self.eat("]") {
                break;
            }
            let member = self.member(first)?;
            first = false;
            let low = match member {
                Member::Set(set) => {
                    out.push_str(&set);
                    continue;
                }
                Member::Character(low) => low,
            };
            push(low, &mut out);
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.take();
                let Member::Character(high) = self.member(true)? else {
                    return Err(invalid("invalid character range"));
                };
                if high < low {
                    return Err(invalid("invalid character range"));
                }
                out.push('-');
                push(high, &mut out);
            }
        }
        out.push(']');
        self.class(out)
    }

    /// Reads the next member; `]` is a member only if it is `plain`.
    fn member(&mut self, plain: bool) -> Result<Member> {
        let unbalanced = || invalid("brackets [] not balanced");
        let character = self.take().ok_or_else(unbalanced)?;
        Ok(match character {
            '[' if self.rest.starts_with(':') => {
                let end = self.rest.find(":]").ok_or_else(unbalanced)?;
                let set = class(&self.rest[1..end])?;
                self.rest = &self.rest[end + 2..];
                Member::Set(set.to_owned())
            }
            '[' if self.rest.starts_with(['.', '=']) => {
                // One character, since the collation C knows no longer elements.
                let mark = if self.rest.starts_with('.') {
                    ".]"
                } else {
                    "=]"
                };
                let end = self.rest[1..].find(mark).ok_or_else(unbalanced)? + 1;
                let mut inside = self.rest[1..end].chars();
                let (Some(one), None) = (inside.next(), inside.next()) else {
                    return Err(SqlError::unsupported(
                        "a named collating element in a regular expression",
                    ));
                };
                self.rest = &self.rest[end + 2..];
                Member::Character(one)
            }
            '\\' => match self.take().ok_or_else(unbalanced)? {
                letter @ ('d' | 's' | 'w') => Member::Set(format!("\\{letter}")),
                'D' | 'S' | 'W' => return Err(invalid("invalid escape \\ sequence")),
                letter => Member::Character(self.plain_escape(letter)?),
            },
            '-' if !plain && !self.rest.starts_with(']') => {
                return Err(invalid("invalid character range"));
            }
            character => Member::Character(character),
        })
    }
}

fn push(character: char, out: &mut String) {
    out.push_str(&format!("\\x{{{:x}}}", u32::from(character)));
}

/// Returns a class by name. Classes have characters beyond ASCII too, as in
/// PostgreSQL.
fn class(name: &str) -> Result<&'static str> {
    Ok(match name {
        "alpha" => "\\p{Alphabetic}",
        "digit" => "\\d",
        "alnum" => "\\p{Alphabetic}\\d",
        "space" => "\\s",
        "upper" => "\\p{Uppercase}",
        "lower" => "\\p{Lowercase}",
        "word" => "\\w",
        "blank" => "[:blank:]",
        "punct" => "[:punct:]",
        "cntrl" => "[:cntrl:]",
        "graph" => "[:graph:]",
        "print" => "[:print:]",
        "xdigit" => "[:xdigit:]",
        "ascii" => "[:ascii:]",
        _ => return Err(invalid("invalid character class")),
    })
}
