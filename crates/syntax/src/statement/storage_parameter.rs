//! Storage parameters of tables, columns and indexes, as `fillfactor`.
//!
//! They say how PostgreSQL lays out and clears up its files, and nothing here: their names are checked, and their
//! values are passed over.

use sqlparser::{ast, parser::Parser, tokenizer::Token};
use types::{Result, SqlError, SqlState};

use super::definition::{Parsed, unexpected};
use crate::name::Name;

/// The kind of thing that parameters are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Table,
    Column,
    Index,
}

impl Owner {
    /// Returns the names of the parameters that there are.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Table => &[
                "autovacuum_analyze_scale_factor",
                "autovacuum_analyze_threshold",
                "autovacuum_enabled",
                "autovacuum_freeze_max_age",
                "autovacuum_freeze_min_age",
                "autovacuum_freeze_table_age",
                "autovacuum_multixact_freeze_max_age",
                "autovacuum_multixact_freeze_min_age",
                "autovacuum_multixact_freeze_table_age",
                "autovacuum_vacuum_cost_delay",
                "autovacuum_vacuum_cost_limit",
                "autovacuum_vacuum_insert_scale_factor",
                "autovacuum_vacuum_insert_threshold",
                "autovacuum_vacuum_scale_factor",
                "autovacuum_vacuum_threshold",
                "fillfactor",
                "log_autovacuum_min_duration",
                "parallel_workers",
                "toast_tuple_target",
                "user_catalog_table",
                "vacuum_index_cleanup",
                "vacuum_truncate",
            ],
            Self::Column => &["n_distinct", "n_distinct_inherited"],
            Self::Index => &["deduplicate_items", "fillfactor"],
        }
    }

    /// Accepts a parameter of a name.
    ///
    /// # Errors
    /// 22023 for a name that no parameter has.
    pub(super) fn accept(self, name: &str) -> Result<()> {
        if self.names().contains(&name) {
            return Ok(());
        }
        let message = format!("unrecognized parameter \"{name}\"");
        Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
    }

    /// Accepts the parameters that the parser has read behind WITH.
    ///
    /// # Errors
    /// 22023 for a name that no parameter has.
    pub(super) fn accept_all(self, options: &[ast::SqlOption]) -> Result<()> {
        options.iter().try_for_each(|option| match option {
            ast::SqlOption::KeyValue { key, value } => {
                let name = Name::of(key);
                match self {
                    Self::Table if name.as_str() == "oids" => refuse_oids(&value.to_string()),
                    _ => self.accept(name.as_str()),
                }
            }
            other => Err(SqlError::unsupported(format_args!("parameter {other}"))),
        })
    }
}

/// Refuses rows with numbers of their own.
fn refuse_oids(value: &str) -> Result<()> {
    match ["false", "off"].contains(&value.to_lowercase().as_str()) {
        true => Ok(()),
        false => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "tables declared WITH OIDS are not supported",
        )),
    }
}

/// Reads parameters in parentheses with their values; returns the error for the first that there is not.
pub(super) fn parse_set(parser: &mut Parser<'_>, owner: Owner) -> Parsed<Result<()>> {
    let mut accepted = Ok(());
    parse_each(parser, |parameter| {
        if accepted.is_ok() {
            accepted = match &parameter.namespace {
                Some(namespace) if owner != Owner::Table || namespace.as_str() != "toast" => {
                    let message = format!(
                        "unrecognized parameter namespace \"{}\"",
                        namespace.as_str()
                    );
                    Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
                }
                _ => owner.accept(parameter.name.as_str()),
            };
        }
    })?;
    Ok(accepted)
}

/// Reads parameters in parentheses, whose values are reset; returns the error for one with a value.
pub(super) fn parse_reset(parser: &mut Parser<'_>) -> Parsed<Result<()>> {
    let mut accepted = Ok(());
    parse_each(parser, |parameter| {
        if parameter.has_value {
            let message = "RESET must not include values for parameters";
            accepted = Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
    })?;
    Ok(accepted)
}

/// A parameter as it is written.
struct Parameter {
    namespace: Option<Name>,
    name: Name,
    has_value: bool,
}

/// Reads parameters in parentheses, and calls `found` with each.
fn parse_each(parser: &mut Parser<'_>, mut found: impl FnMut(Parameter)) -> Parsed<()> {
    parser.expect_token(&Token::LParen)?;
    loop {
        let mut name = Name::parse(parser)?;
        let mut namespace = None;
        if parser.consume_token(&Token::Period) {
            namespace = Some(std::mem::replace(&mut name, Name::parse(parser)?));
        }
        let has_value = parser.consume_token(&Token::Eq);
        if has_value {
            pass_over_value(parser)?;
        }
        found(Parameter {
            namespace,
            name,
            has_value,
        });
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    Ok(())
}

/// Passes over a number with its sign, a string, or a word.
fn pass_over_value(parser: &mut Parser<'_>) -> Parsed<()> {
    if parser.consume_token(&Token::Minus) || parser.consume_token(&Token::Plus) {
        return number(parser);
    }
    match parser.peek_token_ref().token {
        Token::Number(..) | Token::SingleQuotedString(_) | Token::Word(_) => {
            parser.advance_token();
            Ok(())
        }
        _ => unexpected(parser, "a value"),
    }
}

/// Passes over a number.
pub(super) fn number(parser: &mut Parser<'_>) -> Parsed<()> {
    match parser.peek_token_ref().token {
        Token::Number(..) => {
            parser.advance_token();
            Ok(())
        }
        _ => unexpected(parser, "a number"),
    }
}
