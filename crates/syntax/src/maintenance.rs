//! VACUUM and ANALYZE, whose grammar is PostgreSQL's alone: the parser knows that of others.

use sqlparser::{
    ast::{Ident, ObjectName, Statement, VacuumStatement},
    keywords::Keyword,
    parser::{IsOptional, Parser, ParserError},
    tokenizer::Token,
};
use types::{Result, SqlError, SqlState};

use super::{Source, dialect::Postgres, refused, unexpected};

/// VACUUM, or ANALYZE, or both.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Maintenance {
    /// Whether the statement is `VACUUM`.
    pub vacuum: bool,
    /// Whether statistics are collected: by `ANALYZE`, or by `VACUUM` with this option.
    pub analyze: bool,
    /// Tables that others have locked are passed over.
    pub skip_locked: bool,
    /// None: all.
    pub targets: Vec<Target>,
}

/// A table, and the columns that are looked at; none: all.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// The name of the table, with or without a schema.
    pub name: ObjectName,
    /// The names of the columns to analyse; empty for all columns.
    pub columns: Vec<Ident>,
}

/// Whether a statement is one of them.
pub(crate) fn is_maintenance(source: &Source<'_>) -> bool {
    matches!(
        source.tokens().first().map(|token| &token.token),
        Some(Token::Word(word)) if matches!(word.keyword, Keyword::VACUUM | Keyword::ANALYZE)
    )
}

/// What stands for both in syntax trees, which have no form for them: [`maintenance`] says more.
pub(crate) fn stand_in() -> Statement {
    Statement::Vacuum(VacuumStatement {
        full: false,
        sort_only: false,
        delete_only: false,
        reindex: false,
        recluster: false,
        table_name: None,
        threshold: None,
        boost: false,
    })
}

/// What a VACUUM or an ANALYZE asks for.
///
/// # Errors
/// 42601.
pub fn maintenance(source: &Source<'_>) -> Result<Maintenance> {
    let dialect = Postgres::new(source.tokens().len());
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(source.tokens().to_vec());
    let mut found = Maintenance::default();
    let parsed = statement(&mut parser, &mut found);
    match parsed {
        Ok(()) if parser.peek_token_ref().token == Token::EOF => {}
        Ok(()) => return Err(unexpected(source.whole(), parser.peek_token_ref())),
        Err(Refused::Parser(error)) => {
            return Err(refused(source.whole(), &error.to_string(), &parser));
        }
        Err(Refused::Option(error)) => return Err(error),
    }
    if !found.analyze
        && found
            .targets
            .iter()
            .any(|target| !target.columns.is_empty())
    {
        let message = "ANALYZE option must be specified when a column list is provided";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(found)
}

enum Refused {
    Parser(ParserError),
    Option(SqlError),
}

impl From<ParserError> for Refused {
    fn from(error: ParserError) -> Self {
        Self::Parser(error)
    }
}

fn statement(parser: &mut Parser<'_>, found: &mut Maintenance) -> std::result::Result<(), Refused> {
    found.vacuum = parser.parse_keyword(Keyword::VACUUM);
    if !found.vacuum {
        parser.expect_keyword(Keyword::ANALYZE)?;
        found.analyze = true;
    }
    if parser.consume_token(&Token::LParen) {
        loop {
            option(parser, found)?;
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        parser.expect_token(&Token::RParen)?;
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
        return Ok(());
    }
    loop {
        let name = parser.parse_object_name(false)?;
        let columns = parser.parse_parenthesized_column_list(IsOptional::Optional, false)?;
        found.targets.push(Target { name, columns });
        if !parser.consume_token(&Token::Comma) {
            return Ok(());
        }
    }
}

/// An option in parentheses. Those that say how PostgreSQL's files are cleared up are taken and
/// mean nothing here.
fn option(parser: &mut Parser<'_>, found: &mut Maintenance) -> std::result::Result<(), Refused> {
    let name = parser.parse_identifier()?.value.to_ascii_lowercase();
    let value = match &parser.peek_token_ref().token {
        Token::Comma | Token::RParen => None,
        _ => Some(parser.next_token().token.to_string().to_ascii_lowercase()),
    };
    let is_on = match value.as_deref() {
        None | Some("true" | "on" | "1") => Some(true),
        Some("false" | "off" | "0") => Some(false),
        Some(_) => None,
    };
    let statement = if found.vacuum { "VACUUM" } else { "ANALYZE" };
    let is_boolean = match (name.as_str(), found.vacuum) {
        ("analyze", true) => {
            found.analyze = is_on == Some(true);
            true
        }
        ("skip_locked", _) => {
            found.skip_locked = is_on == Some(true);
            true
        }
        ("verbose", _) => true,
        ("full" | "freeze" | "disable_page_skipping" | "process_toast" | "truncate", true) => true,
        ("index_cleanup" | "parallel", true) => false,
        _ => {
            let message = format!("unrecognized {statement} option \"{name}\"");
            return Err(Refused::Option(SqlError::new(
                SqlState::SYNTAX_ERROR,
                message,
            )));
        }
    };
    if is_boolean && is_on.is_none() {
        let message = format!("{name} requires a Boolean value");
        return Err(Refused::Option(SqlError::new(
            SqlState::SYNTAX_ERROR,
            message,
        )));
    }
    Ok(())
}
