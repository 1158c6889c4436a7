//! The options of regular expressions: letters in an argument, or in front of the pattern.

use types::{Result, SqlError, SqlState};

/// Settings that change how a pattern is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether letters match in both cases.
    pub ignore_case: bool,
    /// Whether `.` and `[^...]` do not match a newline.
    pub dot_stops_at_newline: bool,
    /// Whether `^` and `$` match at newlines too.
    pub anchors_at_newline: bool,
    /// Whether blanks and comments are no part of the pattern.
    pub expanded: bool,
    /// Whether all characters are plain.
    pub literal: bool,
    /// The letter `g`, for functions that have it.
    pub global: bool,
}

impl Options {
    /// Reads the options that functions take as letters.
    ///
    /// # Errors
    ///
    /// 22023 for an unknown letter; 0A000 for the older kinds of expressions.
    pub fn parse(letters: &str) -> Result<Self> {
        let mut options = Self::default();
        for letter in letters.chars() {
            match letter {
                'g' => options.global = true,
                letter => options.set(letter)?.ok_or_else(|| {
                    SqlError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("invalid regular expression option: \"{letter}\""),
                    )
                })?,
            }
        }
        Ok(options)
    }

    /// Sets the option of a letter. Returns `None` for an unknown letter.
    ///
    /// # Errors
    /// 0A000 for `b` and `e`, in which backslashes and parentheses mean other things.
    pub(super) fn set(&mut self, letter: char) -> Result<Option<()>> {
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
            'b' => {
                return Err(SqlError::unsupported("a basic regular expression"));
            }
            'e' => {
                return Err(SqlError::unsupported("an extended regular expression"));
            }
            _ => return Ok(None),
        }
        Ok(Some(()))
    }
}
