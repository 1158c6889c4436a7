//! Errors of grammar, told as PostgreSQL tells them.
//!
//! Errors of grammar alone end the reading of a statement that has a type of its own. A clause that PostgreSQL's
//! grammar has and Weft has not is kept in the statement, by the error that refuses it: the error is raised where
//! the statement is carried out, behind the checks of the transaction and of IF [NOT] EXISTS, as PostgreSQL raises
//! its errors of analysis.

use sqlparser::{
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, TokenWithSpan, TokenizerError},
};
use types::{SqlError, SqlState};

use crate::{
    Source, depth,
    position::{self, Lines, Span},
    words::is_keyword,
};

/// An error of grammar in a tree that the parser has made: its grammar has clauses of other systems.
#[derive(Debug)]
pub(crate) enum Misplaced {
    /// PostgreSQL's grammar does not have the keyword, the first of its kind in the statement, where it stands.
    Keyword(Keyword),
    /// PostgreSQL's grammar does not have the token at this place.
    At(Span),
    /// PostgreSQL's grammar wants something else behind this place.
    Behind(Span),
    /// `BY NAME` behind a set operation.
    ByName,
    /// An error that says all.
    Told(SqlError),
}

impl Misplaced {
    /// Returns the error, with the position of the token in the statement that should not be where it is.
    pub(crate) fn told(self, source: &Source<'_>) -> SqlError {
        self.told_among(source.tokens(), source.lines())
    }

    /// Returns the error of a text that these tokens are.
    pub(crate) fn told_among(self, tokens: &[TokenWithSpan], lines: &Lines<'_>) -> SqlError {
        let found = match self {
            Self::Told(error) => return error,
            Self::Keyword(keyword) => tokens.iter().find(|token| is_keyword(token, &[keyword])),
            Self::At(span) => tokens.iter().find(|token| Span::from(token.span) == span),
            Self::Behind(span) => behind(tokens, span),
            Self::ByName => tokens.windows(3).find_map(|tokens| match tokens {
                [before, by, name]
                    if is_keyword(before, SET_OPERATIONS)
                        && is_keyword(by, &[Keyword::BY])
                        && is_keyword(name, &[Keyword::NAME]) =>
                {
                    Some(by)
                }
                _ => None,
            }),
        };
        let end = TokenWithSpan::wrap(Token::EOF);
        unexpected(lines, found.unwrap_or(&end))
    }
}

/// The words that may stand before `BY NAME` in a set operation.
const SET_OPERATIONS: &[Keyword] = &[
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
    Keyword::ALL,
    Keyword::DISTINCT,
];

/// Returns the first token behind a piece of syntax, of whose place brackets around it are no part: those that open
/// between the JOIN before it and its first word are its own.
fn behind(tokens: &[TokenWithSpan], span: Span) -> Option<&TokenWithSpan> {
    let is_before = |token: &TokenWithSpan| Span::from(token.span).is_before(span);
    let first = tokens.iter().position(|token| !is_before(token))?;
    let is_join = |token: &TokenWithSpan| is_keyword(token, &[Keyword::JOIN]);
    let join = tokens[..first].iter().rposition(is_join);
    let mut depth = 0_usize;
    tokens[join.unwrap_or(first)..].iter().find(|token| {
        let is_behind = depth == 0 && span.is_before(Span::from(token.span));
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_behind
    })
}

/// Refuses the first keyword whose clause is there.
///
/// # Errors
/// The keyword.
pub(crate) fn refuse_keywords(clauses: &[(bool, Keyword)]) -> Result<(), Misplaced> {
    match clauses.iter().find(|(is_there, _)| *is_there) {
        Some((_, keyword)) => Err(Misplaced::Keyword(*keyword)),
        None => Ok(()),
    }
}

/// Refuses options of which one is given more than once.
///
/// # Errors
/// 42601, which is no error of grammar.
pub(crate) fn refuse_redundant(is_redundant: bool) -> Result<(), SqlError> {
    match is_redundant {
        false => Ok(()),
        true => Err(SqlError::new(
            SqlState::SYNTAX_ERROR,
            "conflicting or redundant options",
        )),
    }
}

/// An error of grammar on the way through a definition.
pub(crate) enum Refusal {
    /// The parser's.
    Parser(ParserError),
    /// An error in what the parser has read.
    Misplaced(Misplaced),
}

impl From<ParserError> for Refusal {
    fn from(error: ParserError) -> Self {
        Self::Parser(error)
    }
}

impl From<Misplaced> for Refusal {
    fn from(misplaced: Misplaced) -> Self {
        Self::Misplaced(misplaced)
    }
}

impl Refusal {
    /// Returns the error; the parser has come to its place.
    pub(crate) fn told(self, source: &Source<'_>, parser: &Parser<'_>) -> SqlError {
        match self {
            Self::Parser(error) => not_parsed(source.lines(), error, parser),
            Self::Misplaced(misplaced) => misplaced.told(source),
        }
    }
}

/// Returns the parser's error as PostgreSQL would tell it.
pub(crate) fn not_parsed(lines: &Lines<'_>, error: ParserError, parser: &Parser<'_>) -> SqlError {
    match error {
        ParserError::RecursionLimitExceeded => depth::too_deep(),
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => {
            refused(lines, &message, parser)
        }
    }
}

/// Returns the error for a token that should not be where it is.
pub(crate) fn unexpected(lines: &Lines<'_>, token: &TokenWithSpan) -> SqlError {
    if token.token == Token::EOF {
        let error = SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at end of input");
        return error.at(lines.end());
    }
    let bytes = lines.byte(token.span.start)..lines.byte(token.span.end);
    let shown = lines.text(bytes);
    SqlError::new(
        SqlState::SYNTAX_ERROR,
        format!("syntax error at or near \"{shown}\""),
    )
    .at(lines.position(token.span.start))
}

/// Returns the error for a sentence of the parser's, which names the place; without one, the place is the one
/// that the parser had come to.
fn refused(lines: &Lines<'_>, message: &str, parser: &Parser<'_>) -> SqlError {
    let Some((expected, location)) = position::in_sentence(message) else {
        let token = parser.peek_token_ref();
        return unexpected(lines, token).detail(format!("{message}."));
    };
    let shown = lines.token_at(location);
    let error = if shown.is_empty() {
        unexpected(lines, &TokenWithSpan::wrap(Token::EOF))
    } else {
        SqlError::new(
            SqlState::SYNTAX_ERROR,
            format!("syntax error at or near \"{shown}\""),
        )
        .at(lines.position(location))
    };
    match expected {
        Some(expected) => error.detail(format!("Expected here: {expected}.")),
        None => error,
    }
}

/// Returns the error for a text that ends within a token.
pub(crate) fn unfinished(error: &TokenizerError, lines: &Lines<'_>) -> SqlError {
    let message = error.message.as_str();
    let what = if message.contains("Unterminated string") {
        "unterminated quoted string".to_owned()
    } else if message.contains("multi-line comment") {
        "unterminated /* comment".to_owned()
    } else if message.contains("close delimiter") {
        "unterminated quoted identifier".to_owned()
    } else if message.contains("Unterminated dollar-quoted") {
        "unterminated dollar-quoted string".to_owned()
    } else {
        message.to_lowercase()
    };
    SqlError::new(SqlState::SYNTAX_ERROR, what).at(lines.position(error.location))
}
