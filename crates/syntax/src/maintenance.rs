//! VACUUM and ANALYZE, whose grammar is PostgreSQL's alone: the parser knows that of others.

use sqlparser::{
    keywords::Keyword,
    parser::{IsOptional, Parser, ParserError},
    tokenizer::{Span, Token},
};
use types::{Result, SqlError, SqlState};

use super::{
    Source,
    name::{self, DottedName, Name},
    parse_whole,
};

/// Number of processes that PARALLEL may ask for.
const WORKERS_MAX: i32 = 1024;

/// VACUUM, or ANALYZE, or both.
#[derive(Debug, Clone)]
pub struct Maintenance {
    /// Whether the statement is `VACUUM`.
    pub vacuum: bool,
    /// Whether statistics are collected: by `ANALYZE`, or by `VACUUM` with this option.
    pub analyze: bool,
    /// Whether tables that others have locked are passed over.
    pub skip_locked: bool,
    /// The tables; none for all.
    pub targets: Vec<Target>,
    /// The error for the first option that there is not, or for what does not go together.
    pub supported: Result<()>,
}

/// A table, and the columns that are looked at; none: all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The name of the table, with or without a schema.
    pub name: DottedName,
    /// The names of the columns to analyse; empty for all columns.
    pub columns: Vec<Name>,
}

/// Returns whether a statement is one of them.
pub(crate) fn is_maintenance(source: &Source<'_>) -> bool {
    matches!(
        source.tokens().first().map(|token| &token.token),
        Some(Token::Word(word)) if matches!(word.keyword, Keyword::VACUUM | Keyword::ANALYZE)
    )
}

/// Reads what a VACUUM or an ANALYZE asks for.
///
/// # Errors
/// 42601.
pub(crate) fn maintenance(source: &Source<'_>) -> Result<Maintenance> {
    let mut found = Maintenance {
        vacuum: false,
        analyze: false,
        skip_locked: false,
        targets: Vec::new(),
        supported: Ok(()),
    };
    let (lines, tokens) = (source.lines(), source.tokens().to_vec());
    let refused = parse_whole(lines, tokens, |parser| statement(parser, &mut found))?;
    let mut targets = found.targets.iter();
    if let Some(Refused(error, span)) = refused {
        found.supported = Err(match lines.of(span) {
            Some(position) => error.at(position),
            None => error,
        });
    } else if !found.analyze && targets.any(|target| !target.columns.is_empty()) {
        let message = "ANALYZE option must be specified when a column list is provided";
        found.supported = Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(found)
}

/// The error for an option, with the place of its name; the place is empty if the error has no position.
struct Refused(SqlError, Span);

impl Refused {
    fn new(message: String, span: Span) -> Self {
        Self(SqlError::new(SqlState::SYNTAX_ERROR, message), span)
    }
}

/// Reads the statement to its end; returns the error for the first option that is refused.
fn statement(
    parser: &mut Parser<'_>,
    found: &mut Maintenance,
) -> std::result::Result<Option<Refused>, ParserError> {
    let mut refused = None;
    found.vacuum = parser.parse_keyword(Keyword::VACUUM);
    if !found.vacuum {
        parser.expect_keyword(Keyword::ANALYZE)?;
        found.analyze = true;
    }
    if parser.consume_token(&Token::LParen) {
        let mut layout = Layout::default();
        loop {
            let (name, argument, span) = option(parser)?;
            let accepted = accept(&name, &argument, span, found, &mut layout);
            refused = refused.or(accepted.err());
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        parser.expect_token(&Token::RParen)?;
        refused = refused.or_else(|| layout.conflict());
    } else if found.vacuum {
        // In this order, and no other. Nothing is told, so VERBOSE tells no more.
        for keyword in [Keyword::FULL, Keyword::FREEZE, Keyword::VERBOSE] {
            let _ = parser.parse_keyword(keyword);
        }
        found.analyze = parser.parse_keyword(Keyword::ANALYZE);
    } else {
        let _ = parser.parse_keyword(Keyword::VERBOSE);
    }
    if parser.peek_token_ref().token == Token::EOF {
        return Ok(refused);
    }
    loop {
        let name = DottedName::parse(parser)?;
        let columns = parser.parse_parenthesized_column_list(IsOptional::Optional, false)?;
        let columns = columns.iter().map(Name::of).collect();
        found.targets.push(Target { name, columns });
        if !parser.consume_token(&Token::Comma) {
            return Ok(refused);
        }
    }
}

/// Options about PostgreSQL's files that exclude each other.
#[derive(Default)]
struct Layout {
    is_full: bool,
    is_parallel: bool,
    skips_no_pages: bool,
}

impl Layout {
    /// Returns the error for options of which one excludes the other.
    fn conflict(&self) -> Option<Refused> {
        let message = match self {
            Self { is_full: false, .. } => return None,
            Self {
                is_parallel: true, ..
            } => "VACUUM FULL cannot be performed in parallel",
            Self {
                skips_no_pages: true,
                ..
            } => "VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL",
            _ => return None,
        };
        let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
        Some(Refused(error, Span::empty()))
    }
}

/// The value of an option.
pub(super) enum Argument {
    Missing,
    /// A word or a string, in lower case.
    Text(String),
    /// A number with its sign.
    Number(String),
}

impl Argument {
    fn read(parser: &mut Parser<'_>) -> std::result::Result<Self, ParserError> {
        if let Token::Comma | Token::RParen = parser.peek_token_ref().token {
            return Ok(Self::Missing);
        }
        let is_negative = parser.consume_token(&Token::Minus);
        let is_signed = is_negative || parser.consume_token(&Token::Plus);
        let token = parser.next_token();
        match token.token {
            Token::Number(digits, _) if is_negative => Ok(Self::Number(format!("-{digits}"))),
            Token::Number(digits, _) => Ok(Self::Number(digits)),
            Token::Word(word) if !is_signed => Ok(Self::Text(word.value.to_ascii_lowercase())),
            Token::SingleQuotedString(text) if !is_signed => {
                Ok(Self::Text(text.to_ascii_lowercase()))
            }
            _ => parser.expected("the value of an option", token),
        }
    }

    fn integer(&self) -> Option<i32> {
        match self {
            Self::Number(digits) => digits.parse().ok(),
            Self::Missing | Self::Text(_) => None,
        }
    }

    fn boolean(&self) -> Option<bool> {
        match self {
            Self::Missing => Some(true),
            Self::Text(text) => match text.as_str() {
                "true" | "on" => Some(true),
                "false" | "off" => Some(false),
                _ => None,
            },
            Self::Number(_) => match self.integer() {
                Some(1) => Some(true),
                Some(0) => Some(false),
                _ => None,
            },
        }
    }
}

/// Reads an option in parentheses: its name, its value, and the place of its name.
pub(super) fn option(
    parser: &mut Parser<'_>,
) -> std::result::Result<(String, Argument, Span), ParserError> {
    let span = parser.peek_token_ref().span;
    let name = name::fold(parser.parse_identifier()?);
    Ok((name, Argument::read(parser)?, span))
}

/// Accepts an option. Those that say how PostgreSQL's files are cleared up mean nothing here.
fn accept(
    name: &str,
    argument: &Argument,
    span: Span,
    found: &mut Maintenance,
    layout: &mut Layout,
) -> std::result::Result<(), Refused> {
    let is_on = || match argument.boolean() {
        Some(is_on) => Ok(is_on),
        None => {
            let message = format!("{name} requires a Boolean value");
            Err(Refused::new(message, Span::empty()))
        }
    };
    match (name, found.vacuum) {
        ("analyze", true) => found.analyze = is_on()?,
        ("skip_locked", _) => found.skip_locked = is_on()?,
        ("full", true) => layout.is_full = is_on()?,
        ("disable_page_skipping", true) => layout.skips_no_pages = is_on()?,
        ("parallel", true) => layout.is_parallel = workers(argument, span)? > 0,
        ("index_cleanup", true) if matches!(argument, Argument::Text(text) if text == "auto") => {}
        ("verbose", _)
        | ("freeze" | "process_toast" | "truncate", true)
        | ("index_cleanup", true) => drop(is_on()?),
        (_, is_vacuum) => {
            let statement = if is_vacuum { "VACUUM" } else { "ANALYZE" };
            let message = format!("unrecognized {statement} option \"{name}\"");
            return Err(Refused::new(message, span));
        }
    }
    Ok(())
}

/// Returns the number of processes that PARALLEL asks for.
fn workers(argument: &Argument, span: Span) -> std::result::Result<i32, Refused> {
    let (message, span) = match argument.integer() {
        Some(workers) if (0..=WORKERS_MAX).contains(&workers) => return Ok(workers),
        Some(_) => {
            let message =
                format!("parallel workers for vacuum must be between 0 and {WORKERS_MAX}");
            (message, span)
        }
        None if matches!(argument, Argument::Missing) => {
            let message = format!("parallel option requires a value between 0 and {WORKERS_MAX}");
            (message, span)
        }
        None => (
            "parallel requires an integer value".to_owned(),
            Span::empty(),
        ),
    };
    Err(Refused::new(message, span))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split;

    /// An option that is refused has a position, unless its value is of the wrong kind.
    #[test]
    fn refused_options_have_the_positions_of_their_names() {
        let position = |text| {
            let sources = split(text).unwrap();
            let order = maintenance(&sources[0]).unwrap();
            order.supported.unwrap_err().position()
        };
        assert_eq!(position("vacuum (verbose, parallel)"), Some(18));
        assert_eq!(position("vacuum (parallel -1)"), Some(9));
        assert_eq!(position("analyze (parallel 1)"), Some(10));
        assert_eq!(position("vacuum (parallel on)"), None);
        assert_eq!(position("vacuum (full 2)"), None);
    }
}
