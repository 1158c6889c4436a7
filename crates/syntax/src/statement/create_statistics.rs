//! `CREATE STATISTICS`.

use sqlparser::{
    ast::Expr,
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};
use types::{SqlError, SqlState};

use super::definition::{Parsed, unexpected};
use crate::name::{DottedName, Name};

/// A statistics object that is created.
#[derive(Debug, Clone)]
pub struct CreateStatistics {
    /// The name of the object, with or without a schema.
    pub name: DottedName,
    /// Whether `IF NOT EXISTS` is written: an object of this name makes the statement do nothing.
    pub if_not_exists: bool,
    /// The names of the kinds of findings; empty for all kinds.
    pub kinds: Vec<Name>,
    /// The names of the columns.
    pub columns: Vec<Name>,
    /// The name of the table, with or without a schema.
    pub table: DottedName,
    /// 0A000 for expressions, and for several tables.
    pub supported: types::Result<()>,
}

impl CreateStatistics {
    /// Reads on behind CREATE STATISTICS.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Self> {
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        let name = DottedName::parse(parser)?;
        let mut kinds = Vec::new();
        if parser.consume_token(&Token::LParen) {
            kinds = list(parser, Name::parse)?;
            parser.expect_token(&Token::RParen)?;
        }
        parser.expect_keyword_is(Keyword::ON)?;
        let elements = list(parser, |parser| match parser.peek_keyword(Keyword::FROM) {
            true => unexpected(parser, "a column"),
            false => parser.parse_expr(),
        })?;
        let columns: Option<Vec<Name>> = elements.into_iter().map(column).collect();
        parser.expect_keyword_is(Keyword::FROM)?;
        let mut tables = list(parser, DottedName::parse)?;
        let supported = if tables.len() > 1 {
            let message = "only a single relation is allowed in CREATE STATISTICS";
            Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        } else if columns.is_none() {
            Err(SqlError::unsupported("an expression in CREATE STATISTICS"))
        } else {
            Ok(())
        };
        Ok(Self {
            table: tables.swap_remove(0),
            columns: columns.unwrap_or_default(),
            name,
            if_not_exists,
            kinds,
            supported,
        })
    }
}

/// Reads one or more things with commas between them.
fn list<T>(
    parser: &mut Parser<'_>,
    mut read: impl FnMut(&mut Parser<'_>) -> Result<T, ParserError>,
) -> Parsed<Vec<T>> {
    let mut all = vec![read(parser)?];
    while parser.consume_token(&Token::Comma) {
        all.push(read(parser)?);
    }
    Ok(all)
}

/// Returns the column that an expression is, with parentheses around it or without.
fn column(expression: Expr) -> Option<Name> {
    match expression {
        Expr::Identifier(name) => Some(Name::of(&name)),
        Expr::Nested(inner) => column(*inner),
        _ => None,
    }
}
