//! From PostgreSQL's advanced regular expressions to the syntax of the crate `regex`.
//!
//! Most is the same. What differs: `\m`, `\M`, `\y`, `\Y`, `\A`, `\Z`, a brace that begins no
//! bound, brackets (where only `]`, `-`, `^` and classes are special, and a newline may have to be
//! left out), options in front (`(?i)`, `***=`).

use types::{Result, SqlError, SqlState};

use super::compiled::invalid;

/// What changes how a pattern is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) ignore_case: bool,
    /// `.` and `[^...]` do not match a newline.
    pub(crate) dot_stops_at_newline: bool,
    /// `^` and `$` match at newlines too.
    pub(crate) anchors_at_newline: bool,
    /// Blanks and comments are no part of it.
    pub(crate) expanded: bool,
    /// All characters are plain.
    pub(crate) literal: bool,
    /// `g`, for functions that have it.
    pub(crate) global: bool,
}

impl Options {
    /// The options that functions take as letters.
    ///
    /// # Errors
    ///
    /// 22023 for a letter that is none.
    pub(crate) fn parse(letters: &str) -> Result<Self> {
        let mut options = Self::default();
        for letter in letters.chars() {
            match letter {
                'g' => options.global = true,
                letter => options.set(letter).ok_or_else(|| {
                    SqlError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("invalid regular expression option: \"{letter}\""),
                    )
                })?,
            }
        }
        Ok(options)
    }

    fn set(&mut self, letter: char) -> Option<()> {
        match letter {
            'i' => self.ignore_case = true,
            'c' => self.ignore_case = false,
            'n' | 'm' => (self.dot_stops_at_newline, self.anchors_at_newline) = (true, true),
            'p' => (self.dot_stops_at_newline, self.anchors_at_newline) = (true, false),
            'w' => (self.dot_stops_at_newline, self.anchors_at_newline) = (false, true),
            's' => (self.dot_stops_at_newline, self.anchors_at_newline) = (false, false),
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'q' => self.literal = true,
            'e' | 'b' => {}
            _ => return None,
        }
        Some(())
    }
}

/// What `regex` is given.
pub(super) struct Translated {
    pub(super) text: String,
    pub(super) options: Options,
}

struct Translator<'p> {
    rest: &'p str,
    out: String,
    options: Options,
    /// What came before says how often, so that nothing can say it again.
    after_quantifier: bool,
}

/// Translates a pattern.
///
/// # Errors
///
/// 2201B if it is no regular expression, 0A000 for what `regex` does not have.
pub(super) fn translate(pattern: &str, options: Options) -> Result<Translated> {
    let mut translator = Translator {
        rest: pattern,
        out: String::with_capacity(pattern.len() + 8),
        options,
        after_quantifier: false,
    };
    if options.literal {
        translator.out.push_str(&regex::escape(pattern));
    } else {
        translator.directors()?;
        while translator.element()? {}
    }
    Ok(Translated {
        text: translator.out,
        options: translator.options,
    })
}

impl Translator<'_> {
    /// What may stand in front of all.
    fn directors(&mut self) -> Result<()> {
        if let Some(literal) = self.rest.strip_prefix("***=") {
            self.out.push_str(&regex::escape(literal));
            self.rest = "";
            return Ok(());
        }
        self.rest = self.rest.strip_prefix("***:").unwrap_or(self.rest);
        let letters = self.rest.strip_prefix("(?").and_then(|rest| {
            let end = rest.find(|character: char| !character.is_ascii_alphabetic())?;
            (end > 0 && rest[end..].starts_with(')')).then_some(&rest[..end])
        });
        if let Some(letters) = letters {
            for letter in letters.chars() {
                self.options
                    .set(letter)
                    .ok_or_else(|| invalid("invalid embedded option"))?;
            }
            self.rest = &self.rest[letters.len() + 3..];
        }
        Ok(())
    }

    fn take(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let first = characters.next();
        self.rest = characters.as_str();
        first
    }

    /// Translates what comes next; false at the end.
    fn element(&mut self) -> Result<bool> {
        let Some(character) = self.take() else {
            return Ok(false);
        };
        match character {
            '\\' => self.escape()?,
            '[' => self.brackets()?,
            '(' => self.group()?,
            '{' if !self.rest.starts_with(|next: char| next.is_ascii_digit()) => {
                self.out.push_str("\\{");
            }
            '{' => self.bound()?,
            '}' => self.out.push_str("\\}"),
            ']' => self.out.push_str("\\]"),
            '#' if self.options.expanded => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
            }
            blank if self.options.expanded && blank.is_whitespace() => {}
            '*' | '+' if self.after_quantifier => {
                return Err(invalid("quantifier operand invalid"));
            }
            '*' | '+' | '?' if self.begins_branch() => {
                return Err(invalid("quantifier operand invalid"));
            }
            // The end of the text, and not what is before a newline there.
            plain => self.out.push(plain),
        }
        self.after_quantifier =
            matches!(character, '*' | '+' | '?') || (character == '{' && self.out.ends_with('}'));
        Ok(true)
    }

    fn begins_branch(&self) -> bool {
        self.out.is_empty()
            || self.out.ends_with("(?:")
            || (self.out.ends_with(['(', '|', '^'])
                && !self.out.ends_with("\\(")
                && !self.out.ends_with("\\|")
                && !self.out.ends_with("\\^"))
    }

    fn group(&mut self) -> Result<()> {
        let Some(rest) = self.rest.strip_prefix('?') else {
            self.out.push('(');
            return Ok(());
        };
        if let Some(rest) = rest.strip_prefix(':') {
            self.rest = rest;
            self.out.push_str("(?:");
            return Ok(());
        }
        if let Some(comment) = rest.strip_prefix('#') {
            let end = comment
                .find(')')
                .ok_or_else(|| invalid("parentheses () not balanced"))?;
            self.rest = &comment[end + 1..];
            return Ok(());
        }
        if rest.starts_with(['=', '!', '<']) {
            return Err(SqlError::unsupported(
                "a lookaround constraint in a regular expression",
            ));
        }
        Err(invalid("quantifier operand invalid"))
    }

    fn bound(&mut self) -> Result<()> {
        let end = self
            .rest
            .find('}')
            .ok_or_else(|| invalid("braces {} not balanced"))?;
        let bound = &self.rest[..end];
        let (least, most) = bound.split_once(',').unwrap_or((bound, ""));
        let count = |text: &str| match text.parse::<u32>() {
            Ok(count @ 0..=255) => Ok(count),
            _ => Err(invalid("invalid repetition count(s)")),
        };
        let least = count(least)?;
        if !most.is_empty() && count(most)? < least {
            return Err(invalid("invalid repetition count(s)"));
        }
        self.out.push('{');
        self.out.push_str(bound);
        self.out.push('}');
        self.rest = &self.rest[end + 1..];
        Ok(())
    }

    fn escape(&mut self) -> Result<()> {
        let Some(character) = self.take() else {
            return Err(invalid("invalid escape \\ sequence"));
        };
        match character {
            'm' => self.out.push_str("\\b{start}"),
            'M' => self.out.push_str("\\b{end}"),
            'y' => self.out.push_str("\\b"),
            'Y' => self.out.push_str("\\B"),
            'A' => self.out.push_str("\\A"),
            'Z' => self.out.push_str("\\z"),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                self.out.push('\\');
                self.out.push(character);
            }
            '1'..='9' => {
                return Err(SqlError::unsupported(
                    "a back reference in a regular expression",
                ));
            }
            other => {
                let plain = self.plain_escape(other)?;
                self.plain(plain);
            }
        }
        Ok(())
    }

    /// An escape that stands for one character.
    fn plain_escape(&mut self, letter: char) -> Result<char> {
        let hexadecimal = |this: &mut Self, digits: usize| {
            let text = this.rest.get(..digits);
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
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0' => '\0',
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

    /// A character that means itself.
    fn plain(&mut self, character: char) {
        self.out
            .push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
    }

    fn brackets(&mut self) -> Result<()> {
        for (border, translated) in [("[:<:]]", "\\b{start}"), ("[:>:]]", "\\b{end}")] {
            if let Some(rest) = self.rest.strip_prefix(border) {
                self.rest = rest;
                self.out.push_str(translated);
                return Ok(());
            }
        }
        let unbalanced = || invalid("brackets [] not balanced");
        self.out.push('[');
        if let Some(rest) = self.rest.strip_prefix('^') {
            self.rest = rest;
            self.out.push('^');
            if self.options.dot_stops_at_newline {
                self.out.push_str("\\n");
            }
        }
        let mut first = true;
        loop {
            let character = self.take().ok_or_else(unbalanced)?;
            match character {
                ']' if !first => break,
                '[' if self.rest.starts_with(':') => {
                    let end = self.rest.find(":]").ok_or_else(unbalanced)?;
                    let class = &self.rest[1..end];
                    self.class(class)?;
                    self.rest = &self.rest[end + 2..];
                }
                '[' if self.rest.starts_with(['.', '=']) => {
                    return Err(SqlError::unsupported(
                        "a collating element in a regular expression",
                    ));
                }
                '\\' => {
                    let letter = self.take().ok_or_else(unbalanced)?;
                    match letter {
                        'd' | 's' | 'w' => {
                            self.out.push('\\');
                            self.out.push(letter);
                        }
                        'D' | 'S' | 'W' => return Err(invalid("invalid escape \\ sequence")),
                        letter => {
                            let plain = self.plain_escape(letter)?;
                            self.member(plain);
                        }
                    }
                }
                // Between two characters it is a range; `regex` sees that as PostgreSQL does.
                '-' if !first && !self.rest.starts_with(']') => self.out.push('-'),
                plain => self.member(plain),
            }
            first = false;
        }
        self.out.push(']');
        Ok(())
    }

    fn class(&mut self, class: &str) -> Result<()> {
        // Beyond ASCII too, as in PostgreSQL.
        let translated = match class {
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
        };
        self.out.push_str(translated);
        Ok(())
    }

    /// A character of a bracket expression.
    fn member(&mut self, character: char) {
        if matches!(character, '[' | ']' | '\\' | '^' | '-' | '&' | '~' | '|') {
            self.out.push('\\');
        }
        self.out.push(character);
    }
}
