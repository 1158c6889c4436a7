//! Literals, and the words that stand for values.

use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier, Value};

use super::{
    Binder,
    clause::Clause,
    scalar::{INT4, place},
    scope::Scope,
};
use crate::{data_type, expression::Expression};
use batch::OwnedValue;
use syntax::{
    expression::{Expr, Literal, Refused},
    statement::TypeName,
};

impl Binder<'_> {
    /// Words that the standard has for functions without parentheses.
    pub(super) fn special_value(&mut self, word: &str) -> Result<Option<Expression>> {
        let name = match word {
            "current_date" | "current_timestamp" | "current_time" | "localtime"
            | "localtimestamp" | "current_user" | "session_user" | "current_role" | "user"
            | "current_catalog" | "current_schema" => word,
            _ => return Ok(None),
        };
        self.call(name, Vec::new(), None).map(Some)
    }

    pub(super) fn literal(
        &mut self,
        literal: &Literal,
        position: Option<u32>,
    ) -> Result<Expression> {
        match literal {
            Literal::Number(digits) => number(digits).map_err(|error| place(error, position)),
            Literal::String(text) => self.unknown(text, position),
            Literal::Boolean(value) => Ok(Expression::bool(*value)),
            Literal::Null => Ok(Expression::null(Type::Unknown)),
            Literal::Parameter(name) => self.parameter(name, position),
            Literal::Refused(Refused(error)) => Err(place(error.clone(), position)),
        }
    }

    /// A string whose type is found where it is used.
    pub(super) fn unknown(&self, text: &str, position: Option<u32>) -> Result<Expression> {
        if text.contains('\0') {
            let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
            return Err(place(
                SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message),
                position,
            ));
        }
        Ok(Expression::constant(OwnedValue::text(text), Type::Unknown))
    }

    pub(super) fn typed_literal(
        &mut self,
        data_type: &TypeName,
        literal: &Literal,
        position: Option<u32>,
    ) -> Result<Expression> {
        let (ty, modifier) = self.data_type(data_type)?;
        let literal = self.literal(literal, position)?;
        self.needs_literal(&literal)?;
        self.cast(literal, ty, modifier, position)
    }

    /// `interval '1:30' hour to minute`: the fields say what units bare numbers have.
    pub(super) fn interval(
        &mut self,
        value: &Expr,
        fields: Option<&str>,
        precision: Option<u64>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let operand = self.scalar(value, scope, clause)?;
        self.needs_literal(&operand)?;
        let position = self.position(value);
        let (ty, modifier) = match fields {
            None => (Type::Scalar(Scalar::Interval), TypeModifier::NONE),
            Some(fields) => {
                data_type::interval(fields, precision).map_err(|error| place(error, position))?
            }
        };
        self.cast(operand, ty, modifier, position)
    }
}

/// A number without quotes: the smallest of integer, bigint and numeric that holds it.
pub(super) fn number(digits: &str) -> Result<Expression> {
    if let Ok(value) = digits.parse::<i32>() {
        return Ok(Expression::constant(
            OwnedValue::new(Value::Int4(value)),
            INT4,
        ));
    }
    if let Ok(value) = digits.parse::<i64>() {
        return Ok(Expression::constant(
            OwnedValue::new(Value::Int8(value)),
            Type::Scalar(Scalar::Int8),
        ));
    }
    let ty = Type::Scalar(Scalar::Numeric);
    let value = OwnedValue::parse(digits, ty)?;
    Ok(Expression::constant(value, ty))
}
