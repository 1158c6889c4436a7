//! `SIMILAR TO`: SQL's own regular expressions, translated to PostgreSQL's.

use types::{Result, SqlError, SqlState};

/// Writes the regular expression equivalent to a pattern of `SIMILAR TO`, over the whole text.
///
/// # Errors
///
/// 22019 for a third separator.
pub fn to_regular_expression(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut out = String::from("^(?:");
    let mut characters = pattern.chars();
    let mut in_brackets = false;
    let mut quoted_separators = 0;
    while let Some(character) = characters.next() {
        if Some(character) == escape {
            match characters.next() {
                // Two separators mark the part that SUBSTRING returns.
                Some('"') if !in_brackets => {
                    quoted_separators += 1;
                    match quoted_separators {
                        1 => out.push_str("){1,1}?("),
                        2 => out.push_str("){1,1}(?:"),
                        _ => {
                            return Err(SqlError::new(
                                SqlState::INVALID_ESCAPE_CHARACTER,
                                "SQL regular expression may not contain more than two \
                                 escape-double-quote separators",
                            ));
                        }
                    }
                }
                Some(escaped) => {
                    out.push('\\');
                    out.push(escaped);
                }
                // An escape at the end escapes nothing.
                None => {}
            }
            continue;
        }
        if in_brackets {
            if character == '\\' {
                out.push('\\');
            }
            out.push(character);
            in_brackets = character != ']';
            continue;
        }
        match character {
            '[' => {
                in_brackets = true;
                out.push('[');
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '\\' | '.' | '^' | '$' => {
                out.push('\\');
                out.push(character);
            }
            plain => out.push(plain),
        }
    }
    out.push_str(")$");
    Ok(out)
}

/// Reads an escape: one character, or none.
///
/// # Errors
/// 22025 for more than one.
pub fn escape_of(text: &str) -> Result<Option<char>> {
    let mut characters = text.chars();
    let escape = characters.next();
    if characters.next().is_some() {
        return Err(
            SqlError::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
                .hint("Escape string must be empty or one character."),
        );
    }
    Ok(escape)
}
