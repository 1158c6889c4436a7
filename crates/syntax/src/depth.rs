//! How deep a tree the parser would make of a text, told from its tokens before it does.
//!
//! The parser counts the levels that it recurses over, but makes chains (`a + b + c`, `a UNION b`)
//! in loops, each link around those before it. The tree that comes of them is dropped, copied and
//! printed by recursion. So its depth is bounded here: by the tokens that can put a node above
//! others, added up over the brackets that are open, commas apart.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};
use types::{Result, SqlError, SqlState};

use crate::phase::{self, CHAIN_MAX, DEPTH_MAX};

/// A part between two brackets, or between CASE and END, as far as it was looked at.
#[derive(Default)]
struct Level {
    is_case: bool,
    /// Links since the last comma.
    links: usize,
    /// The deepest brackets since the last comma.
    inner: usize,
    /// The deepest before it.
    before: usize,
}

impl Level {
    fn depth(&self) -> usize {
        self.before.max(self.links + self.inner)
    }
}

/// Whether a text may be parsed.
///
/// # Errors
/// 54001 if its brackets are nested too deeply or a chain has too many links.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut levels = vec![Level::default()];
    let mut types_within_types = 0;
    let mut prefixes = 0;
    for (at, token) in tokens.iter().enumerate() {
        phase::pause();
        // A prefix is one level of the parser's, however many stand in a row.
        prefixes = match is_prefix(&token.token) {
            true => prefixes + 1,
            false => 0,
        };
        if levels.len() > DEPTH_MAX || prefixes > DEPTH_MAX {
            return Err(too_deep());
        }
        let Some(level) = levels.last_mut() else {
            return Ok(());
        };
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                level.links += 1;
                levels.push(Level::default());
            }
            Token::Word(word) if word.keyword == Keyword::CASE => {
                level.links += 1;
                levels.push(Level {
                    is_case: true,
                    ..Level::default()
                });
            }
            Token::Word(word) if word.keyword == Keyword::END => {
                if level.is_case {
                    close(&mut levels);
                }
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                while levels.last().is_some_and(|level| level.is_case) {
                    close(&mut levels);
                }
                close(&mut levels);
            }
            Token::Comma => {
                level.before = level.depth();
                (level.links, level.inner) = (0, 0);
            }
            // `array<array<...`
            Token::Lt if at > 0 && names_a_type(&tokens[at - 1].token) => {
                types_within_types += 1;
                if types_within_types > DEPTH_MAX {
                    return Err(too_deep());
                }
            }
            other => level.links += usize::from(is_link(other)),
        }
    }
    let links: usize = levels.iter().map(|level| level.links).sum();
    let deepest = levels.iter().map(Level::depth).max().unwrap_or_default();
    if links.max(deepest) > CHAIN_MAX {
        return Err(too_long());
    }
    Ok(())
}

/// Ends the innermost level. One too many is the parser's to refuse.
fn close(levels: &mut Vec<Level>) {
    if let Some(depth) = levels.pop().map(|level| level.depth())
        && let Some(outer) = levels.last_mut()
    {
        outer.inner = outer.inner.max(depth);
    }
}

/// Whether a token may stand before an operand as an operator.
fn is_prefix(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.keyword == Keyword::NOT,
        Token::Minus | Token::Plus | Token::Tilde | Token::AtSign => true,
        _ => false,
    }
}

/// Whether the parser may put a node above what stands before a token.
fn is_link(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::AT
                | Keyword::BETWEEN
                | Keyword::COLLATE
                | Keyword::EXCEPT
                | Keyword::ILIKE
                | Keyword::IN
                | Keyword::INTERSECT
                | Keyword::IS
                | Keyword::LIKE
                | Keyword::MATCH
                | Keyword::MATCH_RECOGNIZE
                | Keyword::MEMBER
                | Keyword::MINUS
                | Keyword::NOT
                | Keyword::NOTNULL
                | Keyword::OPERATOR
                | Keyword::OR
                | Keyword::OVERLAPS
                | Keyword::PIVOT
                | Keyword::REGEXP
                | Keyword::RLIKE
                | Keyword::SIMILAR
                | Keyword::UNION
                | Keyword::UNPIVOT
                | Keyword::XOR
        ),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::DollarQuotedString(_)
        | Token::Placeholder(_)
        | Token::Period
        | Token::SemiColon
        | Token::Whitespace(_)
        | Token::EOF => false,
        _ => true,
    }
}

fn names_a_type(token: &Token) -> bool {
    matches!(token, Token::Word(word) if matches!(
        word.keyword,
        Keyword::ARRAY | Keyword::STRUCT | Keyword::MAP | Keyword::TABLE
    ))
}

/// The error for what is nested too deeply.
pub fn too_deep() -> SqlError {
    SqlError::new(
        SqlState::STATEMENT_TOO_COMPLEX,
        "the statement is nested too deeply",
    )
    .hint(format!(
        "Use at most {DEPTH_MAX} levels of parentheses, subqueries and views."
    ))
}

fn too_long() -> SqlError {
    SqlError::new(
        SqlState::STATEMENT_TOO_COMPLEX,
        "the statement has too many operators in a row",
    )
    .hint(format!(
        "Use at most {CHAIN_MAX} operators in an expression, or an array with = ANY."
    ))
}
