//! Conditions: what is true, false or unknown.

use types::{Result, SqlError, SqlState, Type};

use super::{
    Binder,
    clause::Clause,
    convert::common_modifier,
    scalar::{BOOL, connect, place},
    scope::Scope,
};
use crate::expression::{Expression, Kind};
use syntax::{
    expression::{Connective, Expr},
    position::OperatorForm,
};

impl Binder<'_> {
    pub(super) fn is_null(
        &mut self,
        operand: &Expr,
        negated: bool,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let operand = Box::new(self.typed(operand, scope, clause)?);
        Ok(Expression::new(Kind::IsNull { operand, negated }, BOOL))
    }

    pub(super) fn is(
        &mut self,
        operand: &Expr,
        value: Option<bool>,
        negated: bool,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let name = match (value, negated) {
            (Some(true), false) => "IS TRUE",
            (Some(true), true) => "IS NOT TRUE",
            (Some(false), false) => "IS FALSE",
            (Some(false), true) => "IS NOT FALSE",
            (None, false) => "IS UNKNOWN",
            (None, true) => "IS NOT UNKNOWN",
        };
        let outer = std::mem::replace(&mut clause.name, name);
        let operand = self.condition(operand, scope, clause);
        clause.name = outer;
        let operand = Box::new(operand?);
        let kind = match value {
            Some(value) => Kind::Is {
                operand,
                value,
                negated,
            },
            None => Kind::IsNull { operand, negated },
        };
        Ok(Expression::new(kind, BOOL))
    }

    pub(super) fn distinct(
        &mut self,
        left: &Expr,
        right: &Expr,
        negated: bool,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let position = self.operator_position(left, right, OperatorForm::Words);
        let left = self.scalar(left, scope, clause)?;
        let right = self.scalar(right, scope, clause)?;
        if left.is_null() || right.is_null() {
            let operand = self.known(if left.is_null() { right } else { left })?;
            return Ok(Expression::new(
                Kind::IsNull {
                    operand: Box::new(operand),
                    negated: !negated,
                },
                BOOL,
            ));
        }
        let equals = self.operator("=", Some(left), right, position)?;
        let Kind::Call {
            function,
            mut arguments,
        } = equals.kind
        else {
            return Err(place(
                SqlError::unsupported("IS DISTINCT FROM over rows"),
                position,
            ));
        };
        let (right, left) = (arguments.pop(), arguments.pop());
        let (Some(left), Some(right)) = (left, right) else {
            return Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "an equality without two sides",
            ));
        };
        let kind = Kind::Distinct {
            equals: function,
            left: left.into(),
            right: right.into(),
            negated,
        };
        Ok(Expression::new(kind, BOOL))
    }

    pub(super) fn between(
        &mut self,
        operand: &Expr,
        low: &Expr,
        high: &Expr,
        negated: bool,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let (first, second) = if negated { ("<", ">") } else { (">=", "<=") };
        let position = self.operator_position(operand, low, OperatorForm::Words);
        let operand = self.scalar(operand, scope, clause)?;
        let low = self.scalar(low, scope, clause)?;
        let high = self.scalar(high, scope, clause)?;
        self.shared(operand, |binder, operand| {
            let low = binder.operator(first, Some(operand.clone()), low, position)?;
            let high = binder.operator(second, Some(operand), high, position)?;
            let connective = match negated {
                true => Connective::Or,
                false => Connective::And,
            };
            Ok(connect(connective, [low, high]))
        })
    }

    /// Binds LIKE and its relatives: `translation` makes the operator's pattern of the written one.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one piece of syntax"
    )]
    pub(super) fn pattern_match(
        &mut self,
        left: &Expr,
        operator: &str,
        pattern: &Expr,
        translation: Option<&str>,
        escape: Option<&Expr>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let position = self.operator_position(left, pattern, OperatorForm::Words);
        let left = self.scalar(left, scope, clause)?;
        let mut pattern = self.scalar(pattern, scope, clause)?;
        if let Some(translation) = translation {
            let mut arguments = vec![pattern];
            if let Some(escape) = escape {
                arguments.push(self.scalar(escape, scope, clause)?);
            }
            pattern = self.call(translation, arguments, position)?;
        }
        self.operator(operator, Some(left), pattern, position)
    }

    pub(super) fn case(
        &mut self,
        operand: Option<&Expr>,
        written: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let operand = operand
            .map(|operand| self.typed(operand, scope, clause))
            .transpose()?;
        let Some(operand) = operand else {
            return self.branches(None, written, otherwise, scope, clause);
        };
        self.shared(operand, |binder, operand| {
            binder.branches(Some(operand), written, otherwise, scope, clause)
        })
    }

    fn branches(
        &mut self,
        operand: Option<Expression>,
        written: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let mut tests = Vec::with_capacity(written.len());
        let mut results = Vec::with_capacity(written.len() + 1);
        for (condition, result) in written {
            tests.push(match &operand {
                Some(operand) => {
                    let value = self.scalar(condition, scope, clause)?;
                    self.operator("=", Some(operand.clone()), value, self.position(condition))?
                }
                None => {
                    let name = std::mem::replace(&mut clause.name, "CASE/WHEN");
                    let condition = self.condition(condition, scope, clause);
                    clause.name = name;
                    condition?
                }
            });
            results.push(self.scalar(result, scope, clause)?);
        }
        results.push(match otherwise {
            Some(otherwise) => self.scalar(otherwise, scope, clause)?,
            None => Expression::null(Type::Unknown),
        });
        let ty = self.unify(&mut results, "CASE", None)?;
        let modifier = common_modifier(results.iter());
        let otherwise = Box::new(results.pop().unwrap_or_else(|| Expression::null(ty)));
        let branches = tests.into_iter().zip(results).collect();
        let kind = Kind::Case {
            branches,
            otherwise,
        };
        Ok(Expression { kind, ty, modifier })
    }
}
