//! Escapes outside brackets: classes, assertions, characters.

use types::Result;

use super::{Parser, back_reference};
use crate::{
    compiled::invalid,
    syntax::{Assertion, Node},
};

impl Parser<'_> {
    pub(super) fn escape(&mut self) -> Result<Node> {
        let Some(character) = self.take() else {
            return Err(invalid("invalid escape \\ sequence"));
        };
        Ok(match character {
            'm' => Node::Assertion(Assertion::WordStart),
            'M' => Node::Assertion(Assertion::WordEnd),
            'y' => Node::Assertion(Assertion::WordBoundary),
            'Y' => Node::Assertion(Assertion::NotWordBoundary),
            'A' => Node::Assertion(Assertion::TextStart),
            'Z' => Node::Assertion(Assertion::TextEnd),
            // As in brackets, these do not match a newline where nothing else does.
            'D' | 'W' if self.options.dot_stops_at_newline => {
                self.class(format!("[^\\{}\\n]", character.to_ascii_lowercase()))?
            }
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => self.class(format!("\\{character}"))?,
            '1'..='9' => return Err(back_reference()),
            other => {
                let plain = self.plain_escape(other)?;
                self.character(plain)?
            }
        })
    }

    /// Reads an escape that stands for one character.
    pub(super) fn plain_escape(&mut self, letter: char) -> Result<char> {
        let hexadecimal = |this: &mut Self, digits: usize| {
            let is_digit = |byte: u8| byte.is_ascii_hexdigit();
            let text = this.rest.get(..digits);
            let text = text.filter(|text| text.bytes().all(is_digit));
            let code = text.and_then(|text| u32::from_str_radix(text, 16).ok());
            let character = code.and_then(char::from_u32);
            if character.is_some() {
                this.rest = &this.rest[digits..];
            }
            character.ok_or_else(|| invalid("invalid escape \\ sequence"))
        };
        Ok(match letter {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'c' => {
                let letter = self
                    .take()
                    .ok_or_else(|| invalid("invalid escape \\ sequence"))?;
                char::from(letter as u8 & 0x1f)
            }
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0' => {
                let octal = |byte: &u8| (b'0'..=b'7').contains(byte);
                let digits = self.rest.bytes().take(2).take_while(octal).count();
                let code = u32::from_str_radix(&self.rest[..digits], 8).unwrap_or(0);
                self.rest = &self.rest[digits..];
                char::from_u32(code).unwrap_or('\0')
            }
            'u' => hexadecimal(self, 4)?,
            'U' => hexadecimal(self, 8)?,
            'x' => {
                let digits = self.rest.bytes().take_while(u8::is_ascii_hexdigit).count();
                hexadecimal(self, digits.max(1))?
            }
            letter if letter.is_ascii_alphanumeric() => {
                return Err(invalid("invalid escape \\ sequence"));
            }
            plain => plain,
        })
    }
}
