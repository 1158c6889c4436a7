//! Storage parameters of tables, columns and indexes, as `fillfactor`.
//!
//! They say how PostgreSQL lays out and clears up its files, and nothing here: their names and values are checked, and
//! passed over.

mod kind;

use sqlparser::{ast, parser::Parser, tokenizer::Token};
use types::{Result, SqlError, SqlState};

use self::kind::Kind;
use super::definition::{Parsed, unexpected};
use crate::{
    kept_text::folded,
    name::{Name, fold},
    string,
};

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
    /// Returns the parameters that there are.
    fn parameters(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::NewTable | Self::Table => kind::OF_TABLES,
            Self::Column => kind::OF_COLUMNS,
            Self::Index => kind::OF_INDEXES,
        }
    }

    /// Accepts a parameter, which is true without a value.
    ///
    /// # Errors
    /// 22023 for a name that no parameter has, and for a value that it cannot have.
    fn accept(self, parameter: &Parameter) -> Result<()> {
        let name = parameter.name.as_str();
        let mut known = self.parameters().iter();
        let Some((_, kind)) = known.find(|(known, _)| *known == name) else {
            let message = format!("unrecognized parameter \"{name}\"");
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        };
        kind.accept(name, parameter.value.as_ref().map_or("true", Value::text))
    }

    /// Accepts the parameters of an index, which the parser reads as expressions.
    ///
    /// # Errors
    /// Errors of [`Self::accept_each`]; 0A000 for an expression that is no parameter.
    pub(super) fn accept_expressions(self, parameters: &[ast::Expr]) -> Result<()> {
        let parameters = parameters.iter().map(|parameter| {
            let (name, value) = match parameter {
                ast::Expr::BinaryOp { left, right, .. } => (&**left, Some(Value::of(right))),
                name => (name, None),
            };
            match name {
                ast::Expr::Identifier(name) => Ok(Parameter {
                    namespace: None,
                    name: Name::of(name),
                    value,
                }),
                _ => Err(SqlError::unsupported("this parameter of an index")),
            }
        });
        self.accept_each(&parameters.collect::<Result<Vec<_>>>()?)
    }

    /// Accepts the parameters that the parser has read behind WITH.
    ///
    /// # Errors
    /// Errors of [`Self::accept_each`].
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
    /// 22023 for a namespace or a name that no parameter has, and for a value that the parameter cannot have; 0A000 for
    /// rows with numbers of their own; 42601 for a value that is no Boolean of whether they have.
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
        names.try_for_each(|parameter| self.accept(parameter))
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
            ast::Expr::Identifier(ident) => Self::Text(fold(ident.clone())),
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
            Token::Word(word) if sign.is_empty() => Self::Text(folded(word)),
            token => match string(token).filter(|_| sign.is_empty()) {
                Some(text) => Self::Text(text.to_owned()),
                None => return unexpected(parser, "a value"),
            },
        };
        parser.advance_token();
        Ok(value)
    }

    /// Returns the value as it is written, a name folded.
    fn text(&self) -> &str {
        match self {
            Self::Number(text) | Self::Text(text) => text,
        }
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
