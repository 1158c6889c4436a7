//! What is said of a sequence, in whatever order: of `CREATE` and `ALTER SEQUENCE`, and of identity
//! columns.

use sqlparser::{
    ast::{DataType, Expr, ObjectName, SequenceOptions, UnaryOperator, Value, ValueWithSpan},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};
use types::{Result, SqlError, SqlState};

use super::{Parsed, unexpected};

/// What was said; `None` where nothing was.
#[derive(Debug, Clone, Default)]
pub struct SequenceClauses {
    /// `AS type`.
    pub data_type: Option<DataType>,
    /// `INCREMENT [BY] n`.
    pub increment: Option<i64>,
    /// `NO MINVALUE` is `Some(None)`.
    pub minimum: Option<Option<i64>>,
    /// `MAXVALUE n`; `NO MAXVALUE` is `Some(None)`.
    pub maximum: Option<Option<i64>>,
    /// `START [WITH] n`.
    pub start: Option<i64>,
    /// `RESTART` alone is `Some(None)`.
    pub restart: Option<Option<i64>>,
    /// `CACHE n`.
    pub cache: Option<i64>,
    /// `CYCLE`; `NO CYCLE` is `Some(false)`.
    pub cycle: Option<bool>,
    /// `OWNED BY NONE` is `Some(None)`.
    pub owned_by: Option<Option<ObjectName>>,
}

impl SequenceClauses {
    /// Reads as many as there are.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Self> {
        let mut clauses = Self::default();
        while clauses.parse_one(parser)? {}
        Ok(clauses)
    }

    /// Reads one, if there is one.
    pub(super) fn parse_one(&mut self, parser: &mut Parser<'_>) -> Parsed<bool> {
        if parser.parse_keyword(Keyword::AS) {
            return once(&mut self.data_type, parser.parse_data_type()?);
        }
        if parser.parse_keyword(Keyword::INCREMENT) {
            let _ = parser.parse_keyword(Keyword::BY);
            return once(&mut self.increment, integer(parser)?);
        }
        if parser.parse_keyword(Keyword::MINVALUE) {
            return once(&mut self.minimum, Some(integer(parser)?));
        }
        if parser.parse_keyword(Keyword::MAXVALUE) {
            return once(&mut self.maximum, Some(integer(parser)?));
        }
        if parser.parse_keyword(Keyword::NO) {
            if parser.parse_keyword(Keyword::MINVALUE) {
                return once(&mut self.minimum, None);
            }
            if parser.parse_keyword(Keyword::MAXVALUE) {
                return once(&mut self.maximum, None);
            }
            if parser.parse_keyword(Keyword::CYCLE) {
                return once(&mut self.cycle, false);
            }
            return unexpected(parser, "MINVALUE, MAXVALUE or CYCLE");
        }
        if parser.parse_keyword(Keyword::START) {
            let _ = parser.parse_keyword(Keyword::WITH);
            return once(&mut self.start, integer(parser)?);
        }
        if parser.parse_keyword(Keyword::RESTART) {
            let with = parser.parse_keyword(Keyword::WITH);
            let is_number = matches!(
                parser.peek_token_ref().token,
                Token::Number(..) | Token::Minus | Token::Plus
            );
            let value = match with || is_number {
                true => Some(integer(parser)?),
                false => None,
            };
            return once(&mut self.restart, value);
        }
        if parser.parse_keyword(Keyword::CACHE) {
            return once(&mut self.cache, integer(parser)?);
        }
        if parser.parse_keyword(Keyword::CYCLE) {
            return once(&mut self.cycle, true);
        }
        if parser.parse_keywords(&[Keyword::OWNED, Keyword::BY]) {
            let owner = match parser.parse_keyword(Keyword::NONE) {
                true => None,
                false => Some(parser.parse_object_name(false)?),
            };
            return once(&mut self.owned_by, owner);
        }
        Ok(false)
    }

    /// What the parser has read of an identity column's.
    ///
    /// # Errors
    /// 42601 for what is no number.
    pub fn of(options: &[SequenceOptions]) -> Result<Self> {
        let mut clauses = Self::default();
        for option in options {
            match option {
                SequenceOptions::IncrementBy(value, _) => clauses.increment = Some(number(value)?),
                SequenceOptions::MinValue(value) => {
                    clauses.minimum = Some(value.as_ref().map(number).transpose()?);
                }
                SequenceOptions::MaxValue(value) => {
                    clauses.maximum = Some(value.as_ref().map(number).transpose()?);
                }
                SequenceOptions::StartWith(value, _) => clauses.start = Some(number(value)?),
                SequenceOptions::Cache(value) => clauses.cache = Some(number(value)?),
                // The parser's flag says that there is a NO.
                SequenceOptions::Cycle(is_refused) => clauses.cycle = Some(!is_refused),
            }
        }
        Ok(clauses)
    }
}

fn once<T>(slot: &mut Option<T>, value: T) -> Parsed<bool> {
    match slot.replace(value) {
        None => Ok(true),
        Some(_) => Err(ParserError::ParserError(
            "conflicting or redundant options".to_owned(),
        )),
    }
}

fn integer(parser: &mut Parser<'_>) -> Parsed<i64> {
    let value = parser.parse_number()?;
    number(&value).map_err(|error| ParserError::ParserError(error.message().to_owned()))
}

fn number(expression: &Expr) -> Result<i64> {
    let text = match expression {
        Expr::Value(ValueWithSpan {
            value: Value::Number(digits, _),
            ..
        }) => digits.clone(),
        Expr::UnaryOp { op, expr } => match (op, &**expr) {
            (
                UnaryOperator::Minus,
                Expr::Value(ValueWithSpan {
                    value: Value::Number(digits, _),
                    ..
                }),
            ) => format!("-{digits}"),
            (UnaryOperator::Plus, inner) => return number(inner),
            _ => String::new(),
        },
        _ => String::new(),
    };
    text.parse().map_err(|_| {
        let message = format!("value \"{expression}\" is out of range for type bigint");
        SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
    })
}
