//! Functions of sequences within expressions: each call becomes a column of the rows around it, as
//! a subquery does, because it has to wait.
//!
//! `currval` and `lastval` are plain functions, except where the same row advances a sequence: they
//! have to see that.

use types::{Result, Scalar, SqlError, SqlState, Type};

use super::{Binder, clause::Clause, scope::Scope};
use crate::{
    expression::{ColumnId, Expression, Kind},
    relation::{Applied, SequenceFunction, WaitingCall, WaitingFunction},
};
use batch::OwnedValue;
use catalog::{ObjectId, StoredExpression};

const INT8: Type = Type::Scalar(Scalar::Int8);

/// Returns the function with a name, if calls of it become columns.
pub(super) fn sequence_function(name: &str, clause: &Clause<'_>) -> Option<SequenceFunction> {
    let is_call = |applied: &Applied| {
        matches!(applied, Applied::Call(call)
            if matches!(call.function, WaitingFunction::Sequence(_)))
    };
    let follows = || clause.subqueries.iter().any(is_call);
    match name {
        "nextval" => Some(SequenceFunction::Next),
        "setval" => Some(SequenceFunction::Set),
        "currval" if follows() => Some(SequenceFunction::Current),
        "lastval" if follows() => Some(SequenceFunction::Last),
        _ => None,
    }
}

impl Binder<'_> {
    /// Binds a call of a sequence's function.
    pub(super) fn sequence_call(
        &mut self,
        function: SequenceFunction,
        name: &str,
        arguments: Vec<Expression>,
        position: Option<u32>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let (_, arguments, _) = self.resolved(name, arguments, position)?;
        Ok(self.advanced(function, arguments, clause))
    }

    /// Returns the next value of a sequence, as a column's default.
    pub(super) fn next_value_of(
        &mut self,
        sequence: ObjectId,
        clause: &mut Clause<'_>,
    ) -> Expression {
        let sequence = Expression::constant(
            OwnedValue::new(types::Value::Oid(sequence.0)),
            Type::Scalar(Scalar::Regclass),
        );
        self.advanced(SequenceFunction::Next, vec![sequence], clause)
    }

    fn advanced(
        &mut self,
        function: SequenceFunction,
        arguments: Vec<Expression>,
        clause: &mut Clause<'_>,
    ) -> Expression {
        let function = WaitingFunction::Sequence(function);
        self.waiting(function, arguments, INT8, clause)
    }

    /// Returns the column of a call, which is added to the rows around it.
    pub(super) fn waiting(
        &mut self,
        function: WaitingFunction,
        arguments: Vec<Expression>,
        result: Type,
        clause: &mut Clause<'_>,
    ) -> Expression {
        let column = self.new_column();
        clause.subqueries.push(Applied::Call(WaitingCall {
            column,
            function,
            arguments,
        }));
        Expression::new(Kind::Column(column), result)
    }

    /// Binds a column's default from its text, which may advance sequences.
    pub(super) fn stored_default(
        &mut self,
        stored: &StoredExpression,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let parsed = syntax::parse_expression(&stored.text)?;
        let mut own = Clause::plain("DEFAULT expressions");
        let bound = self.stored_text(&stored.search_path, |binder| {
            binder.scalar(parsed.tree(), &Scope::default(), &mut own)
        });
        let is_query = |applied: &Applied| matches!(applied, Applied::Query(_));
        if own.subqueries.iter().any(is_query) {
            let message = "cannot use subquery in DEFAULT expression";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        clause.subqueries.append(&mut own.subqueries);
        bound
    }
}

/// Restricts calls to rows in which `column` is NULL, or is not: a call with a NULL among its
/// arguments is not made, and in other rows the first argument is NULL.
pub(super) fn only_where(all: &mut [Applied], column: ColumnId, is_null: bool) {
    for applied in all {
        let Applied::Call(call) = applied else {
            continue;
        };
        if call.arguments.is_empty() {
            // Functions without parameters ignore the additional argument.
            call.arguments.push(Expression::bool(true));
        }
        let Some(argument) = call.arguments.first_mut() else {
            continue;
        };
        let ty = argument.ty;
        let condition = Kind::IsNull {
            operand: Box::new(Expression::new(Kind::Column(column), Type::Unknown)),
            negated: !is_null,
        };
        let given = std::mem::replace(argument, Expression::null(ty));
        argument.kind = Kind::Case {
            branches: vec![(Expression::new(condition, super::scalar::BOOL), given)],
            otherwise: Box::new(Expression::null(ty)),
        };
    }
}
