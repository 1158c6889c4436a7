//! Text of dates and times, cut into pieces that are told apart by their first characters and
//! their separators.

use super::Failure;

/// A piece of a date's or time's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// Digits, perhaps with a fraction.
    Number(&'t str),
    /// Parts with `-`, `/` or `.` between them: `2024-01-31`, `31/1/2024`, `8-Jan-1999`.
    Date(&'t str),
    /// Parts with colons: `10:30:00.5`.
    Time(&'t str),
    /// A sign and digits: `+02`, `-05:30`.
    Offset(&'t str),
    /// Letters, with all that belongs to the name of a zone.
    Word(&'t str),
}

/// Maximum pieces of a text with a meaning.
const TOKENS_MAX: usize = 25;

/// The pieces of a text, in order.
#[derive(Debug)]
pub(super) struct Tokens<'t> {
    pieces: [Token<'t>; TOKENS_MAX],
    count: usize,
}

impl<'t> Tokens<'t> {
    fn push(&mut self, token: Token<'t>) -> Result<(), Failure> {
        *self.pieces.get_mut(self.count).ok_or(Failure::Syntax)? = token;
        self.count += 1;
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn get(&self, index: usize) -> Option<Token<'t>> {
        self.pieces[..self.count].get(index).copied()
    }
}

/// Cuts a text into pieces.
pub(super) fn tokens(text: &str) -> Result<Tokens<'_>, Failure> {
    let mut tokens = Tokens {
        pieces: [Token::Word(""); TOKENS_MAX],
        count: 0,
    };
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(super::super::is_blank);
        let Some(first) = rest.bytes().next() else {
            return Ok(tokens);
        };
        let (token, after) = match first {
            b'0'..=b'9' => number_or_more(rest),
            b'.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => {
                let end = 1 + digits(&rest[1..]);
                (Token::Number(&rest[..end]), &rest[end..])
            }
            b'+' | b'-' => signed(rest)?,
            first if first.is_ascii_alphabetic() => word(rest),
            // Other punctuation separates, and means nothing.
            first if first.is_ascii_punctuation() => {
                rest = &rest[1..];
                continue;
            }
            _ => return Err(Failure::Syntax),
        };
        tokens.push(token)?;
        rest = after;
    }
}

fn digits(text: &str) -> usize {
    run(text, |byte| byte.is_ascii_digit())
}

fn run(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes()
        .position(|byte| !belongs(byte))
        .unwrap_or(text.len())
}

fn number_or_more(text: &str) -> (Token<'_>, &str) {
    let first = digits(text);
    match text.as_bytes().get(first) {
        Some(b':') => {
            let end = run(text, |byte| {
                byte.is_ascii_digit() || byte == b':' || byte == b'.'
            });
            (Token::Time(&text[..end]), &text[end..])
        }
        Some(separator @ (b'-' | b'/' | b'.')) => {
            let second = first + 1;
            let rest = &text[second..];
            if rest.starts_with(|next: char| next.is_ascii_digit()) {
                let end = second + digits(rest);
                if text.as_bytes().get(end) == Some(separator) {
                    let end = end
                        + run(&text[end..], |byte| {
                            byte.is_ascii_digit() || byte == *separator
                        });
                    return (Token::Date(&text[..end]), &text[end..]);
                }
                if *separator == b'.' {
                    return (Token::Number(&text[..end]), &text[end..]);
                }
                return (Token::Date(&text[..end]), &text[end..]);
            }
            if rest.starts_with(|next: char| next.is_ascii_alphabetic()) && *separator != b'.' {
                let end = second
                    + run(rest, |byte| {
                        byte.is_ascii_alphanumeric() || byte == *separator
                    });
                return (Token::Date(&text[..end]), &text[end..]);
            }
            // `1.` is a number; the text after other separators stands for itself.
            let end = if *separator == b'.' { second } else { first };
            (Token::Number(&text[..first]), &text[end..])
        }
        _ => (Token::Number(&text[..first]), &text[first..]),
    }
}

fn signed(text: &str) -> Result<(Token<'_>, &str), Failure> {
    let rest = &text[1..];
    match rest.bytes().next() {
        Some(b'0'..=b'9') => {
            let end = 1 + run(rest, |byte| byte.is_ascii_digit() || byte == b':');
            Ok((Token::Offset(&text[..end]), &text[end..]))
        }
        Some(first) if first.is_ascii_alphabetic() => {
            let end = 1 + run(rest, |byte| byte.is_ascii_alphabetic());
            Ok((Token::Word(&text[..end]), &text[end..]))
        }
        _ => Err(Failure::Syntax),
    }
}

/// Reads a word; one with a separator is a date that begins with a month, or the name of a
/// zone.
fn word(text: &str) -> (Token<'_>, &str) {
    let letters = run(text, |byte| byte.is_ascii_alphabetic());
    match text.as_bytes().get(letters) {
        Some(separator @ (b'-' | b'/' | b'_')) => {
            let name = run(text, |byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/' | b'_' | b'+')
            });
            let rest = &text[letters + 1..];
            let is_date = *separator != b'_'
                && rest.starts_with(|next: char| next.is_ascii_digit())
                && super::words::month(&text[..letters]).is_some();
            let token = if is_date {
                Token::Date(&text[..name])
            } else {
                Token::Word(&text[..name])
            };
            (token, &text[name..])
        }
        // POSIX's `EST5EDT`, but not `T10` or `Jan8`.
        Some(b'0'..=b'9') if letters >= 3 => {
            let name = run(text, |byte| byte.is_ascii_alphanumeric());
            let end = if text[..name].ends_with(|last: char| last.is_ascii_alphabetic()) {
                name
            } else {
                letters
            };
            (Token::Word(&text[..end]), &text[end..])
        }
        _ => (Token::Word(&text[..letters]), &text[letters..]),
    }
}
