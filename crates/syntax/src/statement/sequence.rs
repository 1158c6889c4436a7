//! `CREATE` and `ALTER SEQUENCE`, and what identity columns say of their sequences, in whatever
//! order.

use sqlparser::{
    ast::{Expr, SequenceOptions, UnaryOperator, Value, ValueWithSpan},
    keywords::Keyword,
    parser::Parser,
    tokenizer::Token,
};
use types::{Result, Scalar, SqlError, SqlState, Type, Value as Known};

use super::{
    definition::{Parsed, unexpected},
    type_name::TypeName,
};
use crate::{
    name::DottedName,
    refusal::{Misplaced, refuse_redundant},
};
use batch::OwnedValue;

/// A number as a clause has it. Its value is asked for when the sequence is made or changed, since a
/// number out of range is no error of syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integer(String);

impl Integer {
    /// Returns the value of the number.
    ///
    /// # Errors
    /// 22003 for a number beyond `bigint`, 22P02 for one with a fraction or an exponent.
    pub fn value(&self) -> Result<i64> {
        match OwnedValue::parse(&self.0, Type::Scalar(Scalar::Int8))?.value() {
            Known::Int8(value) => Ok(value),
            _ => Err(SqlError::new(SqlState::INTERNAL_ERROR, "no bigint")),
        }
    }

    /// Returns the number that the parser has read; `None` for what is no number, as a parameter.
    fn of(expression: &Expr) -> Option<Self> {
        let digits = |expression: &Expr| match expression {
            Expr::Value(ValueWithSpan {
                value: Value::Number(digits, _),
                ..
            }) => Some(digits.clone()),
            _ => None,
        };
        let text = match expression {
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } => format!("-{}", digits(expr)?),
            Expr::UnaryOp {
                op: UnaryOperator::Plus,
                expr,
            } => digits(expr)?,
            unsigned => digits(unsigned)?,
        };
        Some(Self(text))
    }
}

/// A sequence that is created.
#[derive(Debug, Clone)]
pub struct CreateSequence {
    /// The name of the new sequence, with or without a schema.
    pub name: DottedName,
    /// Whether `IF NOT EXISTS` is written: a relation of this name makes the statement do nothing.
    pub if_not_exists: bool,
    /// Whether the sequence is `TEMPORARY`.
    pub temporary: bool,
    /// The clauses behind the name.
    pub clauses: SequenceClauses,
}

/// A sequence that is to count otherwise.
#[derive(Debug, Clone)]
pub struct AlterSequence {
    /// The name of the sequence, with or without a schema.
    pub name: DottedName,
    /// Whether `IF EXISTS` is written: a missing sequence is no error.
    pub if_exists: bool,
    /// The clauses to change.
    pub clauses: SequenceClauses,
}

impl CreateSequence {
    /// Reads on behind CREATE.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Self> {
        let temporary =
            parser.parse_keyword(Keyword::TEMPORARY) || parser.parse_keyword(Keyword::TEMP);
        parser.expect_keyword_is(Keyword::SEQUENCE)?;
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        Ok(Self {
            name: DottedName::parse(parser)?,
            if_not_exists,
            temporary,
            clauses: SequenceClauses::parse(parser)?,
        })
    }
}

/// The clauses of a sequence; `None` where nothing was said.
#[derive(Debug, Clone, Default)]
pub struct SequenceClauses {
    /// `AS type`.
    pub data_type: Option<TypeName>,
    /// `INCREMENT [BY] n`.
    pub increment: Option<Integer>,
    /// `NO MINVALUE` is `Some(None)`.
    pub minimum: Option<Option<Integer>>,
    /// `MAXVALUE n`; `NO MAXVALUE` is `Some(None)`.
    pub maximum: Option<Option<Integer>>,
    /// `START [WITH] n`.
    pub start: Option<Integer>,
    /// `RESTART` alone is `Some(None)`.
    pub restart: Option<Option<Integer>>,
    /// `CACHE n`.
    pub cache: Option<Integer>,
    /// `CYCLE`; `NO CYCLE` is `Some(false)`.
    pub cycle: Option<bool>,
    /// `OWNED BY NONE` is `Some(None)`.
    pub owned_by: Option<Option<DottedName>>,
    /// Whether a clause is written more than once, or for a column the mode of its identity.
    pub is_redundant: bool,
}

impl SequenceClauses {
    /// Passes if no clause is written more than once.
    ///
    /// # Errors
    /// 42601, which is no error of grammar.
    pub fn consistent(&self) -> Result<()> {
        refuse_redundant(self.is_redundant)
    }

    /// Reads as many as there are.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Self> {
        let mut clauses = Self::default();
        while clauses.parse_one(parser)? {}
        Ok(clauses)
    }

    /// Reads one, if there is one.
    pub(super) fn parse_one(&mut self, parser: &mut Parser<'_>) -> Parsed<bool> {
        if parser.parse_keyword(Keyword::AS) {
            let data_type = TypeName::of(&parser.parse_data_type()?);
            return self.put(|clauses| &mut clauses.data_type, data_type);
        }
        if parser.parse_keyword(Keyword::INCREMENT) {
            let _ = parser.parse_keyword(Keyword::BY);
            return self.put(|clauses| &mut clauses.increment, integer(parser)?);
        }
        if parser.parse_keyword(Keyword::MINVALUE) {
            return self.put(|clauses| &mut clauses.minimum, Some(integer(parser)?));
        }
        if parser.parse_keyword(Keyword::MAXVALUE) {
            return self.put(|clauses| &mut clauses.maximum, Some(integer(parser)?));
        }
        if parser.parse_keyword(Keyword::NO) {
            if parser.parse_keyword(Keyword::MINVALUE) {
                return self.put(|clauses| &mut clauses.minimum, None);
            }
            if parser.parse_keyword(Keyword::MAXVALUE) {
                return self.put(|clauses| &mut clauses.maximum, None);
            }
            if parser.parse_keyword(Keyword::CYCLE) {
                return self.put(|clauses| &mut clauses.cycle, false);
            }
            return unexpected(parser, "MINVALUE, MAXVALUE or CYCLE");
        }
        if parser.parse_keyword(Keyword::START) {
            let _ = parser.parse_keyword(Keyword::WITH);
            return self.put(|clauses| &mut clauses.start, integer(parser)?);
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
            return self.put(|clauses| &mut clauses.restart, value);
        }
        if parser.parse_keyword(Keyword::CACHE) {
            return self.put(|clauses| &mut clauses.cache, integer(parser)?);
        }
        if parser.parse_keyword(Keyword::CYCLE) {
            return self.put(|clauses| &mut clauses.cycle, true);
        }
        if parser.parse_keywords(&[Keyword::OWNED, Keyword::BY]) {
            let owner = match parser.parse_keyword(Keyword::NONE) {
                true => None,
                false => Some(DottedName::parse(parser)?),
            };
            return self.put(|clauses| &mut clauses.owned_by, owner);
        }
        Ok(false)
    }

    /// Sets a clause; notes if it was set before.
    fn put<T>(&mut self, clause: fn(&mut Self) -> &mut Option<T>, value: T) -> Parsed<bool> {
        self.is_redundant |= clause(self).replace(value).is_some();
        Ok(true)
    }

    /// Takes the clauses of an identity column from the parser.
    ///
    /// # Errors
    /// Values that are no numbers.
    pub(super) fn of(options: &[SequenceOptions]) -> std::result::Result<Self, Misplaced> {
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

fn integer(parser: &mut Parser<'_>) -> Parsed<Integer> {
    let value = parser.parse_number()?;
    Integer::of(&value).map_or_else(
        || {
            parser.prev_token();
            unexpected(parser, "a number")
        },
        Ok,
    )
}

fn number(expression: &Expr) -> std::result::Result<Integer, Misplaced> {
    Integer::of(expression).ok_or_else(|| {
        let message = format!("syntax error at or near \"{expression}\"");
        Misplaced::Told(SqlError::new(SqlState::SYNTAX_ERROR, message))
    })
}
