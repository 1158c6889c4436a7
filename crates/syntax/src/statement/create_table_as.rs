//! `CREATE TABLE ... AS`, and what `SELECT ... INTO` says in its place.
//!
//! The parser wants types behind the names of columns, and knows no `WITH NO DATA`.

use sqlparser::{
    ast::{self, SelectInto, SetExpr},
    keywords::Keyword,
    parser::Parser,
    tokenizer::{Token, TokenWithSpan},
};
use types::SqlError;

use super::{
    definition::{Parsed, unexpected},
    inner::{Execute, InnerStatement},
    rows::RowStatement,
    storage_parameter::{self, Owner},
};
use crate::words::{keyword, take_word};
use crate::{
    name::{DottedName, Name},
    refusal::{Misplaced, Refusal},
};

/// A table that has the rows of a query.
#[derive(Debug, Clone)]
pub struct TableAs {
    /// The name of the new table, with or without a schema.
    pub name: DottedName,
    /// Whether `IF NOT EXISTS` is written: a relation of this name makes the statement do nothing.
    pub if_not_exists: bool,
    /// Whether the table is `TEMPORARY`.
    pub temporary: bool,
    /// Names in place of the first columns' own.
    pub columns: Vec<Name>,
    /// The query that gives the columns and rows, without an `INTO` clause, or the EXECUTE of one.
    pub query: InnerStatement,
    /// Whether the rows are put in too.
    pub with_data: bool,
    /// The error for a clause that there is not.
    pub supported: types::Result<()>,
    /// Whether the statement is `SELECT INTO`.
    pub is_into: bool,
}

/// Returns whether a statement is one: in no other that creates a table AS stands outside of
/// parentheses.
pub(super) fn is_table_as(tokens: &[TokenWithSpan]) -> bool {
    let mut words = tokens.iter().take(4).map(keyword);
    if !words.any(|word| word == Keyword::TABLE) {
        return false;
    }
    let mut depth = 0_usize;
    tokens.iter().any(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && keyword(token) == Keyword::AS
    })
}

impl TableAs {
    /// The command tag of a statement that puts no rows in.
    pub const TAG: &'static str = "CREATE TABLE AS";

    /// Reads on behind CREATE; `None`, and nothing read, if it is something else.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Option<Self>, Refusal> {
        let begins = parser.index();
        let _ = parser.parse_keyword(Keyword::GLOBAL) || parser.parse_keyword(Keyword::LOCAL);
        let temporary =
            parser.parse_keyword(Keyword::TEMPORARY) || parser.parse_keyword(Keyword::TEMP);
        let _ = parser.parse_keyword(Keyword::UNLOGGED);
        if !parser.parse_keyword(Keyword::TABLE) {
            while parser.index() > begins {
                parser.prev_token();
            }
            return Ok(None);
        }
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        let name = DottedName::parse(parser)?;
        let mut columns = Vec::new();
        if parser.consume_token(&Token::LParen) {
            columns = parser.parse_comma_separated(Name::parse)?;
            parser.expect_token(&Token::RParen)?;
        }
        let supported = pass_over_storage(parser)?;
        parser.expect_keyword_is(Keyword::AS)?;
        let query = match parser.parse_keyword(Keyword::EXECUTE) {
            true => InnerStatement::Execute(Execute::parse(parser)?),
            false => InnerStatement::Rows(RowStatement::of_query(parser.parse_query()?)?),
        };
        let mut with_data = true;
        if parser.parse_keyword(Keyword::WITH) {
            with_data = !parser.parse_keyword(Keyword::NO);
            parser.expect_keyword_is(Keyword::DATA)?;
        }
        Ok(Some(Self {
            name,
            if_not_exists,
            temporary,
            columns,
            query,
            with_data,
            supported,
            is_into: false,
        }))
    }

    /// Takes the table that a query asks for with INTO out of the query; gives back a query that
    /// asks for none.
    ///
    /// # Errors
    /// Forms that PostgreSQL's grammar does not have.
    pub(super) fn of_query(
        mut query: Box<ast::Query>,
    ) -> Result<Result<Self, Box<ast::Query>>, Misplaced> {
        let Some(SelectInto {
            temporary, name, ..
        }) = take_into(&mut query.body)
        else {
            return Ok(Err(query));
        };
        Ok(Ok(Self {
            name: DottedName::of(&name),
            if_not_exists: false,
            temporary,
            columns: Vec::new(),
            query: InnerStatement::Rows(RowStatement::of_query(query)?),
            with_data: true,
            supported: Ok(()),
            is_into: true,
        }))
    }
}

/// Returns whether a query makes a table of its rows.
pub(super) fn has_into(mut body: &SetExpr) -> bool {
    while let SetExpr::SetOperation { left, .. } = body {
        body = left;
    }
    matches!(body, SetExpr::Select(select) if select.into.is_some())
}

fn take_into(mut body: &mut SetExpr) -> Option<SelectInto> {
    while let SetExpr::SetOperation { left, .. } = body {
        body = left;
    }
    match body {
        SetExpr::Select(select) => select.into.take(),
        _ => None,
    }
}

/// Passes over what says how another engine stores the table; returns the error for a clause that there is not.
fn pass_over_storage(parser: &mut Parser<'_>) -> Parsed<types::Result<()>> {
    let mut supported = Ok(());
    loop {
        let clause = if parser.parse_keyword(Keyword::USING) {
            parser.parse_identifier()?;
            Err(SqlError::unsupported("an access method of a table"))
        } else if parser.parse_keyword(Keyword::TABLESPACE) {
            parser.parse_identifier()?;
            Ok(())
        } else if parser.parse_keyword(Keyword::WITHOUT) {
            if !take_word(parser, "oids") {
                return unexpected(parser, "OIDS");
            }
            Ok(())
        } else if parser.parse_keyword(Keyword::WITH) {
            storage_parameter::parse_set(parser, Owner::NewTable)?
        } else if parser.parse_keywords(&[Keyword::ON, Keyword::COMMIT]) {
            let is_known = parser.parse_keywords(&[Keyword::PRESERVE, Keyword::ROWS])
                || parser.parse_keywords(&[Keyword::DELETE, Keyword::ROWS])
                || parser.parse_keyword(Keyword::DROP);
            if !is_known {
                return unexpected(parser, "PRESERVE ROWS, DELETE ROWS or DROP");
            }
            Err(SqlError::unsupported("ON COMMIT"))
        } else {
            return Ok(supported);
        };
        supported = supported.and(clause);
    }
}
