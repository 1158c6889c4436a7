//! Parser of JSON text, for `json`, which keeps the text, and `jsonb`, which does not.
//!
//! The parser is our own because numbers must keep all their digits, escapes must fail as
//! PostgreSQL's do, and no tree is wanted in between: it sends events to a listener.

mod events;

use bumpalo::collections::String as ArenaString;

use crate::{Result, Scratch, SqlError, SqlState, jsonb::DEPTH_MAX};
use events::{Events, Nobody};

/// Checks that a text is JSON.
///
/// # Errors
/// `22P02` if it is not, `54001` if it is too deep.
pub(crate) fn check(text: &str) -> Result<()> {
    Parser {
        text,
        at: 0,
        scratch: &Scratch::new(),
    }
    .whole(&mut Nobody)
}

/// Parses a text.
///
/// # Errors
/// `22P02` if it is not JSON, `22P05` for `\u0000`, `54001` if it is too deep; and the errors
/// of the listener.
pub(crate) fn parse(text: &str, scratch: &Scratch, events: &mut impl Events) -> Result<()> {
    Parser {
        text,
        at: 0,
        scratch,
    }
    .whole(events)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    scratch: &'t Scratch,
}

impl<'t> Parser<'t> {
    fn whole(mut self, events: &mut impl Events) -> Result<()> {
        self.value(events, 0)?;
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("end of input")),
        }
    }

    /// Returns the next byte that is not blank.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn value(&mut self, events: &mut impl Events, depth: usize) -> Result<()> {
        match self.peek() {
            Some(b'{') => self.object(events, depth),
            Some(b'[') => self.array(events, depth),
            Some(b'"') => {
                let string = self.string(events)?;
                events.string(string);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => {
                let number = self.number()?;
                events.number(number, self.scratch)
            }
            Some(_) => match self.word() {
                "null" => {
                    events.null();
                    self.at += 4;
                    Ok(())
                }
                "true" => {
                    events.boolean(true);
                    self.at += 4;
                    Ok(())
                }
                "false" => {
                    events.boolean(false);
                    self.at += 5;
                    Ok(())
                }
                _ => Err(self.unexpected("JSON value")),
            },
            None => Err(self.unexpected("JSON value")),
        }
    }

    fn array(&mut self, events: &mut impl Events, depth: usize) -> Result<()> {
        self.enter(depth)?;
        events.begin_array()?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return events.end();
        }
        loop {
            self.value(events, depth + 1)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return events.end();
                }
                _ => return Err(self.unexpected("\",\" or \"]\"")),
            }
        }
    }

    fn object(&mut self, events: &mut impl Events, depth: usize) -> Result<()> {
        self.enter(depth)?;
        events.begin_object()?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return events.end();
        }
        let mut expected = "string or \"}\"";
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected(expected));
            }
            expected = "string";
            let key = self.string(events)?;
            events.key(key);
            if self.peek() != Some(b':') {
                return Err(self.unexpected("\":\""));
            }
            self.at += 1;
            self.value(events, depth + 1)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return events.end();
                }
                _ => return Err(self.unexpected("\",\" or \"}\"")),
            }
        }
    }

    fn enter(&mut self, depth: usize) -> Result<()> {
        if depth >= DEPTH_MAX {
            return Err(too_deep());
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Result<&'t str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start + usize::from(bytes[start] == b'-');
        let digits = |at: &mut usize| {
            let first = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            *at > first
        };
        let mut valid = if bytes.get(at) == Some(&b'0') {
            at += 1;
            true
        } else {
            digits(&mut at)
        };
        if valid && bytes.get(at) == Some(&b'.') {
            at += 1;
            valid = digits(&mut at);
        }
        if valid && matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            if matches!(bytes.get(at), Some(b'+' | b'-')) {
                at += 1;
            }
            valid = digits(&mut at);
        }
        // Letters that follow are part of a word that is no number.
        valid = valid && !bytes.get(at).is_some_and(|byte| is_word(*byte));
        if !valid {
            let rest = &self.text[at..];
            let end = at
                + rest
                    .bytes()
                    .position(|byte| !is_word(byte))
                    .unwrap_or(rest.len());
            let token = &self.text[start..end];
            return Err(invalid(format!("Token \"{token}\" is invalid.")));
        }
        self.at = at;
        Ok(&self.text[start..at])
    }

    /// Reads the string at whose opening quote the parser stands.
    fn string<E: Events>(&mut self, _: &E) -> Result<&'t str> {
        self.at += 1;
        let start = self.at;
        let bytes = self.text.as_bytes();
        // Most strings have no escapes and are borrowed.
        loop {
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(&self.text[start..self.at - 1]);
                }
                Some(b'\\') => break,
                Some(..0x20) | None => return Err(self.broken_string(start)),
                Some(_) => self.at += 1,
            }
        }
        let mut out = ArenaString::new_in(self.scratch);
        let mut plain = start;
        loop {
            match bytes.get(self.at) {
                Some(b'"') => {
                    out.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    return Ok(out.into_bump_str());
                }
                Some(b'\\') => {
                    out.push_str(&self.text[plain..self.at]);
                    self.escape(E::WANTS_VALUES, start, &mut out)?;
                    plain = self.at;
                }
                Some(..0x20) | None => return Err(self.broken_string(start)),
                Some(_) => self.at += 1,
            }
        }
    }

    /// Reads the escape at whose backslash the parser stands.
    fn escape(&mut self, wanted: bool, start: usize, out: &mut ArenaString<'_>) -> Result<()> {
        let byte = self.text.as_bytes().get(self.at + 1).copied();
        let plain = match byte {
            Some(quote @ (b'"' | b'\\' | b'/')) => char::from(quote),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let unit = self.unicode_unit()?;
                return if wanted {
                    self.unicode(unit, out)
                } else {
                    Ok(())
                };
            }
            Some(_) => {
                let escaped = self.text[self.at + 1..].chars().next().unwrap_or_default();
                return Err(invalid(format!(
                    "Escape sequence \"\\{escaped}\" is invalid."
                )));
            }
            None => return Err(self.broken_string(start)),
        };
        self.at += 2;
        out.push(plain);
        Ok(())
    }

    /// Reads the four digits after `\u`, at which the parser stands.
    fn unicode_unit(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at + 2..self.at + 6);
        let unit = digits
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let Some(unit) = unit else {
            return Err(invalid(
                "\"\\u\" must be followed by four hexadecimal digits.".to_owned(),
            ));
        };
        self.at += 6;
        Ok(unit)
    }

    fn unicode(&mut self, unit: u32, out: &mut ArenaString<'_>) -> Result<()> {
        let code = match unit {
            0 => {
                return Err(SqlError::new(
                    SqlState::UNTRANSLATABLE_CHARACTER,
                    "unsupported Unicode escape sequence",
                )
                .detail("\\u0000 cannot be converted to text."));
            }
            0xd800..0xdc00 => {
                if !self.text[self.at..].starts_with("\\u") {
                    return Err(no_low_surrogate());
                }
                match self.unicode_unit()? {
                    0xd800..0xdc00 => {
                        return Err(invalid(
                            "Unicode high surrogate must not follow a high surrogate.".to_owned(),
                        ));
                    }
                    low @ 0xdc00..0xe000 => 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00),
                    _ => return Err(no_low_surrogate()),
                }
            }
            0xdc00..0xe000 => return Err(no_low_surrogate()),
            unit => unit,
        };
        // Surrogates are excluded here, so the code is a character.
        out.push(char::from_u32(code).ok_or_else(no_low_surrogate)?);
        Ok(())
    }

    fn broken_string(&self, start: usize) -> SqlError {
        match self.text.as_bytes().get(self.at) {
            Some(byte) => invalid(format!(
                "Character with value 0x{byte:02x} must be escaped."
            )),
            None => invalid(format!("Token \"\"{}\" is invalid.", &self.text[start..])),
        }
    }

    /// Returns the letters and digits from here, or the one character that is something else.
    fn word(&self) -> &'t str {
        let rest = &self.text[self.at..];
        let length = rest
            .bytes()
            .position(|byte| !is_word(byte))
            .unwrap_or(rest.len());
        match length {
            0 => &rest[..rest.chars().next().map_or(0, char::len_utf8)],
            _ => &rest[..length],
        }
    }

    #[cold]
    fn unexpected(&mut self, expected: &str) -> SqlError {
        match self.peek() {
            None => invalid("The input string ended unexpectedly.".to_owned()),
            Some(b'{' | b'}' | b'[' | b']' | b',' | b':') => invalid(format!(
                "Expected {expected}, but found \"{}\".",
                self.word()
            )),
            Some(b'"') => {
                let start = self.at;
                match self.string(&Nobody) {
                    Ok(_) => {
                        let token = &self.text[start..self.at];
                        invalid(format!("Expected {expected}, but found \"{token}\"."))
                    }
                    Err(error) => error,
                }
            }
            Some(b'-' | b'0'..=b'9') => match self.number() {
                Ok(number) => invalid(format!("Expected {expected}, but found \"{number}\".")),
                Err(error) => error,
            },
            Some(_) => match self.word() {
                word @ ("null" | "true" | "false") => {
                    invalid(format!("Expected {expected}, but found \"{word}\"."))
                }
                word => invalid(format!("Token \"{word}\" is invalid.")),
            },
        }
    }
}

/// Returns whether PostgreSQL takes the byte for part of a word.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cold]
fn invalid(detail: String) -> SqlError {
    SqlError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        "invalid input syntax for type json",
    )
    .detail(detail)
}

#[cold]
fn no_low_surrogate() -> SqlError {
    invalid("Unicode low surrogate must follow a high surrogate.".to_owned())
}

#[cold]
pub(crate) fn too_deep() -> SqlError {
    SqlError::new(
        SqlState::STATEMENT_TOO_COMPLEX,
        format!("JSON is nested more than {DEPTH_MAX} deep"),
    )
}
