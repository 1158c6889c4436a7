//! Storage parameters of tables, columns and indexes, as `fillfactor`.
//!
//! They say how PostgreSQL lays out and clears up its files, and nothing here: their names are checked, and their
//! values are passed over, but for that of `oids`.

use sqlparser::{ast, parser::Parser, tokenizer::Token};
use types::{Result, SqlError, SqlState};

use super::definition::{Parsed, unexpected};
use crate::{name::Name, string};

/// The kind of thing that parameters are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A table that is created: PostgreSQL accepts that its rows have no numbers of their own.
    NewTable,
    /// A table that is there.
    Table,
    Column,
    Index,
}

impl Owner {
    /// Returns the names of the parameters that there are.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::NewTable | Self::Table => &[
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
    /// As of [`Self::accept_each`].
    pub(super) fn accept_written(self, options: &[ast::SqlOption]) -> Result<()> {
        let parameters = options.iter().map(|option| match option {
            ast::SqlOption::KeyValue { key, value } => Ok(Parameter {
                namespace: None,
                name: Name::of(key),
                value: Some(Value::of(value)),
            }),
            other => Err(SqlError::unsupported(format_args!("parameter {other}"))),
        });
        self.accept_each(&parameters.collect::<Result<Vec<_>>>()?)
    }

    /// Accepts parameters: all namespaces, and what is said of rows' numbers, come before the first name.
    ///
    /// # Errors
    /// 22023 for a namespace or a name that no parameter has; 0A000 for rows with numbers of their own; 42601 for a
    /// value that is no Boolean of whether they have.
    fn accept_each(self, parameters: &[Parameter]) -> Result<()> {
        let is_oids = |parameter: &Parameter| {
            let is_own = self == Self::NewTable && parameter.namespace.is_none();
            is_own && parameter.name.as_str() == "oids"
        };
        for parameter in parameters {
            self.accept_namespace(parameter.namespace.as_ref())?;
            if is_oids(parameter) {
                refuse_oids(parameter.value.as_ref())?;
            }
        }
        let mut names = parameters.iter().filter(|parameter| !is_oids(parameter));
        names.try_for_each(|parameter| self.accept(parameter.name.as_str()))
    }

    fn accept_namespace(self, namespace: Option<&Name>) -> Result<()> {
        let has_toast = matches!(self, Self::NewTable | Self::Table);
        match namespace.map(Name::as_str) {
            None => Ok(()),
            Some("toast") if has_toast => Ok(()),
            Some(namespace) => {
                let message = format!("unrecognized parameter namespace \"{namespace}\"");
                Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
            }
        }
    }
}

/// Refuses rows with numbers of their own.
fn refuse_oids(value: Option<&Value>) -> Result<()> {
    match value.map_or(Some(true), Value::boolean) {
        Some(false) => Ok(()),
        Some(true) => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "tables declared WITH OIDS are not supported",
        )),
        None => Err(SqlError::new(
            SqlState::SYNTAX_ERROR,
            "oids requires a Boolean value",
        )),
    }
}

/// Reads parameters in parentheses with their values; returns the error for the first that there is not.
pub(super) fn parse_set(parser: &mut Parser<'_>, owner: Owner) -> Parsed<Result<()>> {
    Ok(owner.accept_each(&parse_all(parser)?))
}

/// Reads parameters in parentheses, whose values are reset; returns the error for one with a value.
pub(super) fn parse_reset(parser: &mut Parser<'_>) -> Parsed<Result<()>> {
    let has_value = |parameter: &Parameter| parameter.value.is_some();
    Ok(match parse_all(parser)?.iter().any(has_value) {
        false => Ok(()),
        true => Err(SqlError::new(
            SqlState::SYNTAX_ERROR,
            "RESET must not include values for parameters",
        )),
    })
}

/// A parameter as it is written.
struct Parameter {
    namespace: Option<Name>,
    name: Name,
    value: Option<Value>,
}

/// The value of a parameter as it is written.
enum Value {
    /// A number with its sign.
    Number(String),
    /// A word, or the text between quotes.
    Text(String),
}

impl Value {
    /// Takes a value from the parser, which reads any expression.
    fn of(value: &ast::Expr) -> Self {
        match value {
            ast::Expr::Identifier(ident) => Self::Text(ident.value.clone()),
            ast::Expr::Value(value) => match value.value.clone().into_string() {
                Some(text) => Self::Text(text),
                None if matches!(value.value, ast::Value::Boolean(_)) => {
                    Self::Text(value.to_string())
                }
                None => Self::Number(value.to_string()),
            },
            other => Self::Number(other.to_string()),
        }
    }

    /// Reads a number with its sign, a string, or a word.
    fn parse(parser: &mut Parser<'_>) -> Parsed<Self> {
        let sign = if parser.consume_token(&Token::Minus) {
            "-"
        } else if parser.consume_token(&Token::Plus) {
            "+"
        } else {
            ""
        };
        let value = match &parser.peek_token_ref().token {
            Token::Number(digits, _) => Self::Number(format!("{sign}{digits}")),
            Token::Word(word) if sign.is_empty() => Self::Text(word.value.clone()),
            token => match string(token).filter(|_| sign.is_empty()) {
                Some(text) => Self::Text(text.to_owned()),
                None => return unexpected(parser, "a value"),
            },
        };
        parser.advance_token();
        Ok(value)
    }

    /// Returns the value as a Boolean, if it is one: 0, 1, or one of four words.
    fn boolean(&self) -> Option<bool> {
        match self {
            Self::Number(number) => match number.parse::<i32>() {
                Ok(0) => Some(false),
                Ok(1) => Some(true),
                _ => None,
            },
            Self::Text(text) => match text.to_ascii_lowercase().as_str() {
                "false" | "off" => Some(false),
                "true" | "on" => Some(true),
                _ => None,
            },
        }
    }
}

/// Reads parameters in parentheses: at most as many as the statement has tokens.
fn parse_all(parser: &mut Parser<'_>) -> Parsed<Vec<Parameter>> {
    parser.expect_token(&Token::LParen)?;
    let mut parameters = Vec::new();
    loop {
        let mut name = Name::parse(parser)?;
        let mut namespace = None;
        if parser.consume_token(&Token::Period) {
            namespace = Some(std::mem::replace(&mut name, Name::parse(parser)?));
        }
        let value = match parser.consume_token(&Token::Eq) {
            true => Some(Value::parse(parser)?),
            false => None,
        };
        parameters.push(Parameter {
            namespace,
            name,
            value,
        });
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    Ok(parameters)
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
