//! Selectivities: the part of the rows for which a condition is true.
//!
//! Without statistics, the numbers are PostgreSQL's.

use std::{collections::BTreeSet, sync::Arc};

use functions::Comparison;
use types::{Value, compare::compare_as, row::RowLayout};

use super::{
    ELEMENTS,
    histogram::below,
    knowledge::{Column, Estimator},
    known::{as_of_column, known, value_of},
};
use crate::program::comparison;
use batch::OwnedValue;
use catalog::ColumnStatistics;
use logical::expression::{ColumnId, Expression, Kind};

/// Selectivity of an equality without statistics.
const EQUAL: f64 = 0.005;
/// Selectivity of another comparison.
const RANGE: f64 = 1.0 / 3.0;
/// Selectivity of two bounds of one column.
const BETWEEN: f64 = 0.005;
/// Selectivity of `IS NULL`.
const IS_NULL: f64 = 0.005;
/// Selectivity of any other condition.
pub(super) const OTHER: f64 = 1.0 / 3.0;
/// Least selectivity of any condition.
pub(super) const LEAST: f64 = 1e-9;

/// Bounds of one column.
struct Bounds {
    column: ColumnId,
    /// Parts of the rows above the lower bound and below the upper, and whether each is known from
    /// a histogram or guessed.
    lower: Option<(f64, bool)>,
    upper: Option<(f64, bool)>,
    nulls: f64,
}

impl Estimator {
    /// Returns the part of the rows for which all conditions are true. The rows have the columns
    /// `own`; other columns have one value each, which is not known.
    pub(in crate::plan) fn selectivity(
        &self,
        conditions: &[Expression],
        own: &BTreeSet<ColumnId>,
    ) -> f64 {
        let grouped = self.equalities_together(conditions, own);
        let mut part = grouped.part;
        let mut bounds: Vec<Bounds> = Vec::new();
        for (at, condition) in conditions.iter().enumerate() {
            if grouped.counted.contains(&at) {
                continue;
            }
            match self.bound(condition, own) {
                Some(bound) => match bounds.iter_mut().find(|other| other.column == bound.column) {
                    Some(other) => {
                        other.lower = narrower(other.lower, bound.lower);
                        other.upper = narrower(other.upper, bound.upper);
                    }
                    None => bounds.push(bound),
                },
                None => part *= self.among_implied(condition, own),
            }
        }
        for bound in bounds {
            part *= match (bound.lower, bound.upper) {
                (Some((lower, true)), Some((upper, true))) => {
                    // Each bound leaves out the rows on its side, and both leave out the NULLs.
                    (lower + upper + bound.nulls - 1.0).max(LEAST)
                }
                (Some(_), Some(_)) => BETWEEN,
                (Some((one, _)), None) | (None, Some((one, _))) => one,
                (None, None) => 1.0,
            };
        }
        part.clamp(LEAST, 1.0)
    }

    /// Returns the part of the rows for which a condition is true, among those for which all that it implies for the
    /// sides of its join is true: conditions on the sides have left the others out.
    pub(super) fn among_implied(&self, condition: &Expression, own: &BTreeSet<ColumnId>) -> f64 {
        let implied = self.implied(condition).iter();
        let implied: f64 = implied.map(|implied| self.single(implied, own)).product();
        (self.single(condition, own) / implied.max(LEAST)).min(1.0)
    }

    fn single(&self, condition: &Expression, own: &BTreeSet<ColumnId>) -> f64 {
        let part = match &condition.kind {
            Kind::And(parts) => self.selectivity(parts, own),
            Kind::Or(parts) => {
                let none = parts.iter().map(|part| 1.0 - self.single(part, own));
                1.0 - none.product::<f64>()
            }
            Kind::Not(operand) => 1.0 - self.single(operand, own) - self.unknown(operand),
            Kind::Constant(value) => match value.value() {
                Value::Bool(true) => 1.0,
                _ => 0.0,
            },
            Kind::Column(id) => match self.column(*id) {
                Some(column) => self.equal_to(column, Some(Value::Bool(true))),
                None => 0.5,
            },
            Kind::IsNull { operand, negated } => {
                let nulls = match operand.kind {
                    Kind::Column(id) => self.nulls(id).unwrap_or(IS_NULL),
                    _ => IS_NULL,
                };
                if *negated { 1.0 - nulls } else { nulls }
            }
            Kind::Is {
                operand,
                value,
                negated,
            } => {
                let part = self.single(operand, own);
                if value == negated { 1.0 - part } else { part }
            }
            Kind::Distinct {
                left,
                right,
                negated,
                ..
            } => {
                let equal = self.equality(left, right, own);
                if *negated { equal } else { 1.0 - equal }
            }
            Kind::Quantified {
                left,
                operator,
                array,
                all,
            } => self.quantified(left, operator.0.comparison, array, *all, own),
            Kind::Call {
                function,
                arguments,
            } if comparison(condition).is_none() => self.pattern(function.0.name, arguments),
            _ => match comparison(condition) {
                Some((Comparison::Equal, left, right)) => self.equality(left, right, own),
                Some((Comparison::NotEqual, left, right)) => {
                    1.0 - self.equality(left, right, own) - self.unknown(condition)
                }
                Some(_) => match self.bound(condition, own) {
                    Some(bound) => bound.lower.or(bound.upper).map_or(RANGE, |(part, _)| part),
                    None => RANGE,
                },
                None => OTHER,
            },
        };
        part.clamp(LEAST, 1.0)
    }

    /// Returns the part of the rows for which a comparison, or one with the elements of an array, is neither true nor
    /// false.
    fn unknown(&self, condition: &Expression) -> f64 {
        if let Kind::Quantified { left, .. } = &condition.kind {
            return self.nulls_in(left);
        }
        match comparison(condition) {
            Some(_) => {
                let columns = condition.columns();
                let nulls = columns.iter().filter_map(|id| self.nulls(*id));
                nulls.sum()
            }
            None => 0.0,
        }
    }

    /// Returns the part of the pairs in which two values are equal.
    fn equality(&self, left: &Expression, right: &Expression, own: &BTreeSet<ColumnId>) -> f64 {
        if let (Kind::Column(one), Kind::Column(two)) = (&left.kind, &right.kind)
            && own.contains(one)
            && own.contains(two)
            && let Some(part) = self.equal_columns(*one, *two)
        {
            return part;
        }
        let column = |expression: &Expression| match expression.kind {
            Kind::Column(id) if own.contains(&id) => self.column(id),
            _ => None,
        };
        match (column(left), column(right)) {
            (Some(column), None) => self.equal_to(column, value_of(&known(right))),
            (None, Some(column)) => self.equal_to(column, value_of(&known(left))),
            _ => EQUAL,
        }
    }

    /// Returns the part of the rows in which a column has a value, which may not be known.
    pub(super) fn equal_to(&self, column: Column<'_>, value: Option<Value<'_>>) -> f64 {
        let present = 1.0 - nulls_of(column);
        let (Some(statistics), Some(value)) = (column.statistics, value) else {
            return present / column.distinct;
        };
        let value = as_of_column(column.ty, value);
        if value.is_null() {
            return 0.0;
        }
        let mut common = 0.0;
        let equal = for_each_common(statistics, |other, fraction| {
            common += fraction;
            compare_as(column.ty, other, value).is_eq()
        });
        if let Some(fraction) = equal {
            return fraction;
        }
        let others = (column.distinct - statistics.common.len() as f64).max(1.0);
        (present - common).max(0.0) / others
    }

    /// Returns the bounds of a condition that bounds a column by a value from outside the column's
    /// row.
    fn bound(&self, condition: &Expression, own: &BTreeSet<ColumnId>) -> Option<Bounds> {
        let (comparison, left, right) = comparison(condition)?;
        if matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            return None;
        }
        let sides = [
            (left, right, comparison),
            (right, left, comparison.commuted()),
        ];
        sides.into_iter().find_map(|(column, value, comparison)| {
            let Kind::Column(id) = column.kind else {
                return None;
            };
            let is_other = !value.columns().iter().any(|id| own.contains(id));
            if !own.contains(&id) || !is_other {
                return None;
            }
            let part = self.bounded(id, comparison, value_of(&self.known_or_guessed(value)));
            let (lower, upper) = match comparison {
                Comparison::Greater | Comparison::GreaterOrEqual => (Some(part), None),
                _ => (None, Some(part)),
            };
            Some(Bounds {
                column: id,
                lower,
                upper,
                nulls: self.nulls(id).unwrap_or(0.0),
            })
        })
    }

    /// Returns the value of an expression, if it is known; notes that it is not if a parameter is all that it lacks.
    pub(super) fn known_or_guessed(&self, value: &Expression) -> Option<Arc<OwnedValue>> {
        let found = known(value);
        let is_parameter = |part: &Expression| matches!(part.kind, Kind::Parameter(_));
        if found.is_none() && value.any(&mut { is_parameter }) {
            self.guesses.set(true);
        }
        found
    }

    /// Returns the part of the rows on one side of a value, and whether that is more than a guess.
    pub(super) fn bounded(
        &self,
        id: ColumnId,
        comparison: Comparison,
        value: Option<Value<'_>>,
    ) -> (f64, bool) {
        let (Some(column), Some(value)) = (self.column(id), value) else {
            return (RANGE, false);
        };
        let Some(statistics) = column.statistics else {
            return (RANGE, false);
        };
        if statistics.common.is_empty() && statistics.histogram.is_empty() {
            return (RANGE, false);
        }
        let value = as_of_column(column.ty, value);
        let mut common = 0.0;
        let mut satisfying = 0.0;
        for_each_common(statistics, |other, fraction| {
            common += fraction;
            let order = compare_as(column.ty, other, value);
            let holds = match comparison {
                Comparison::Less => order.is_lt(),
                Comparison::LessOrEqual => order.is_le(),
                Comparison::Greater => order.is_gt(),
                Comparison::GreaterOrEqual => order.is_ge(),
                Comparison::Equal | Comparison::NotEqual => false,
            };
            satisfying += if holds { fraction } else { 0.0 };
            false
        });
        let others = (1.0 - nulls_of(column) - common).max(0.0);
        let below = below(statistics, value).unwrap_or(0.5);
        let side = match comparison {
            Comparison::Less | Comparison::LessOrEqual => below,
            _ => 1.0 - below,
        };
        ((satisfying + others * side).clamp(LEAST, 1.0), true)
    }

    pub(super) fn nulls(&self, id: ColumnId) -> Option<f64> {
        Some(self.column(id)?.statistics?.null_fraction)
    }

    /// Returns the part of the rows in which an expression is NULL, as far as that is known.
    pub(super) fn nulls_in(&self, expression: &Expression) -> f64 {
        match expression.kind {
            Kind::Column(id) => self.nulls(id).unwrap_or(0.0),
            _ => 0.0,
        }
    }

    fn quantified(
        &self,
        left: &Expression,
        comparison: Option<Comparison>,
        array: &Expression,
        all: bool,
        own: &BTreeSet<ColumnId>,
    ) -> f64 {
        let unknown = Expression::new(Kind::Parameter(u32::MAX), left.ty);
        let equal: Vec<f64> = match &array.kind {
            Kind::Array(items) => items
                .iter()
                .map(|item| self.equality(left, item, own))
                .collect(),
            _ => vec![self.equality(left, &unknown, own); ELEMENTS as usize],
        };
        match (comparison, all) {
            (Some(Comparison::Equal), false) => equal.iter().sum::<f64>().min(1.0),
            (Some(Comparison::NotEqual), true) => {
                1.0 - self.nulls_in(left) - equal.iter().sum::<f64>().min(1.0)
            }
            (Some(Comparison::Equal), true) => equal.iter().product(),
            (Some(Comparison::NotEqual), false) => 1.0,
            _ => OTHER,
        }
    }
}

pub(super) fn nulls_of(column: Column<'_>) -> f64 {
    column.statistics.map_or(0.0, |known| known.null_fraction)
}

/// Calls `is_it` with the common values until it is true of one; returns the fraction of that
/// value.
pub(super) fn for_each_common(
    statistics: &ColumnStatistics,
    mut is_it: impl FnMut(Value<'_>, f64) -> bool,
) -> Option<f64> {
    let layout = RowLayout::new(&[statistics.ty]).ok()?;
    statistics.common.iter().find_map(|common| {
        let value = common.value.value(&layout).ok()?;
        is_it(value, common.fraction).then_some(common.fraction)
    })
}

/// Returns the bound that leaves less; a known one is preferred to a guess.
fn narrower(one: Option<(f64, bool)>, two: Option<(f64, bool)>) -> Option<(f64, bool)> {
    match (one, two) {
        (Some(one), Some(two)) if one.1 == two.1 => Some((one.0.min(two.0), one.1)),
        (Some(one), Some(two)) => Some(if one.1 { one } else { two }),
        (one, two) => one.or(two),
    }
}
