//! Bounds of the digits of `numeric` columns, on each side of the decimal point: sums of numbers that are surely not
//! too long raise no error.
//!
//! A column of a table has the digits of its type, as in `numeric(7, 2)`. Those of computed columns, aggregates and
//! columns of WITH queries and set operations follow from what they are computed from ([`KnownDigits`]).

use std::collections::HashMap;

use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{AggregateCall, Relation},
};
use syntax::phase;
use types::{Scalar, Type};

use super::errors::raises_nothing;

/// Digits of the longest integer, and of the greatest number of rows.
const INTEGER_DIGITS: u64 = 19;
/// Most digits behind the decimal point that a quotient has beside those of its operands: PostgreSQL's
/// `NUMERIC_MAX_DISPLAY_SCALE`.
const QUOTIENT_DIGITS: u64 = 1_000;
/// Times that a statement is looked through: columns of relations that come later in it are known the next time.
/// Columns of longer chains stay unknown.
const PASSES_MAX: usize = 4;

/// Digits of the columns of a statement that are no table's.
#[derive(Default)]
pub(super) struct KnownDigits(HashMap<ColumnId, u64>);

impl KnownDigits {
    /// Returns the digits of a statement's columns. Only aggregates of subqueries are asked about: for a statement
    /// without subqueries nothing is known.
    pub(super) fn of(relation: &mut Relation) -> Self {
        let mut known = Self::default();
        let mut has_subqueries = false;
        relation.walk(&mut |part| has_subqueries |= matches!(part, Relation::Apply { .. }));
        for _ in 0..PASSES_MAX * usize::from(has_subqueries) {
            let before = known.0.len();
            relation.walk(&mut |part| known.note_all(part));
            if known.0.len() == before {
                break;
            }
        }
        known
    }

    fn note_all(&mut self, relation: &Relation) {
        match relation {
            Relation::Compute { columns, .. } => {
                for (id, value) in columns {
                    self.note(*id, digits(value, self));
                }
            }
            Relation::Aggregate(aggregate) => {
                for (id, key) in &aggregate.keys {
                    self.note(*id, digits(key, self));
                }
                for call in &aggregate.calls {
                    self.note(call.column, self.of_call(call));
                }
            }
            Relation::Shared { columns, .. } => {
                for (id, source) in columns {
                    self.note(*id, self.0.get(source).copied());
                }
            }
            Relation::Set(set) => {
                for (id, left, right) in &set.columns {
                    let sides = self.0.get(left).zip(self.0.get(right));
                    self.note(*id, sides.map(|(left, right)| *left.max(right)));
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, id: ColumnId, digits: Option<u64>) {
        if let Some(digits) = digits {
            self.0.insert(id, digits);
        }
    }

    fn of_call(&self, call: &AggregateCall) -> Option<u64> {
        let [argument] = call.arguments.as_slice() else {
            return None;
        };
        let of_argument = match is_integer(argument.ty) {
            true => Some(INTEGER_DIGITS),
            false => digits(argument, self),
        }?;
        match call.function.0.name {
            "min" | "max" => Some(of_argument),
            "sum" => Some(of_argument.saturating_add(INTEGER_DIGITS)),
            "avg" => Some(of_argument.saturating_add(QUOTIENT_DIGITS)),
            _ => None,
        }
    }
}

/// Returns a bound of the digits on each side of the decimal point of a `numeric` that is made of columns and integers
/// by sums, differences and products; `None` if no bound is known.
pub(super) fn digits(expression: &Expression, known: &KnownDigits) -> Option<u64> {
    phase::pause();
    match &expression.kind {
        // A column that is handed on as it is may come without its type.
        Kind::Column(id) => {
            let of_type = || {
                let (precision, scale) = expression.modifier.precision_and_scale()?;
                let is_numeric = expression.ty == Type::Scalar(Scalar::Numeric);
                let digits = u64::from(precision.unsigned_abs()) + u64::from(scale.unsigned_abs());
                is_numeric.then_some(digits)
            };
            known.0.get(id).copied().or_else(of_type)
        }
        _ if expression.ty != Type::Scalar(Scalar::Numeric) => None,
        Kind::Convert { operand, .. } => {
            (is_integer(operand.ty) && raises_nothing(operand)).then_some(INTEGER_DIGITS)
        }
        Kind::Call {
            function,
            arguments,
        } => {
            let parts = arguments.iter().map(|part| digits(part, known));
            let parts = parts.collect::<Option<Vec<u64>>>()?;
            match function.0.name {
                "+" | "-" => Some(parts.into_iter().max()?.saturating_add(1)),
                "*" => Some(parts.into_iter().fold(0, u64::saturating_add)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_integer(ty: Type) -> bool {
    matches!(ty, Type::Scalar(Scalar::Int2 | Scalar::Int4 | Scalar::Int8))
}
