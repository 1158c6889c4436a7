//! Lists of keys: `id = ANY (array)` and `id IN (1, 2, 3)` as a join.
//!
//! The different values of the list are joined with the table by lookup, which looks all of them up
//! together (`executor/execute/index_join.rs`), whereas a scan would compare each record with the
//! list.

use std::collections::BTreeSet;

use functions::Comparison;
use types::{Result, Type};

use super::{
    cost::HANDED,
    estimate::{ELEMENTS, Estimator},
    lower::{Lowering, Node},
};
use logical::{
    expression::{ColumnId, Expression, Function, Kind},
    relation::{FunctionCall, Join, JoinKind, Relation, Scan},
};

/// A list that contains the value of a column of a table's key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Points {
    /// Position of the list's condition among the conditions.
    condition: usize,
    /// Cost of looking all values up.
    pub(super) cost: f64,
}

impl Estimator {
    /// Returns the list whose values are better looked up, if there is one.
    pub(super) fn points(&self, scan: &Scan, conditions: &[Expression]) -> Option<Points> {
        let choice = self.choice(scan, conditions);
        let all = conditions.iter().enumerate();
        let lists = all.filter_map(|(condition, expression)| {
            let list = List::of(scan, expression)?;
            // Any column will do: only its place in the statement matters.
            let joined = self.joined(&list, conditions, condition, UNNAMED);
            let lookup = self.choice(scan, &joined);
            let is_used = lookup.covered().any(|at| at == joined.len() - 1);
            let cost = list.values() * (lookup.cost + HANDED);
            is_used.then_some(Points { condition, cost })
        });
        let best = lists.min_by(|one, two| one.cost.total_cmp(&two.cost))?;
        (!choice.is_point && best.cost < choice.cost).then_some(best)
    }

    /// Returns the conditions with an equality in place of the list, at the end.
    fn joined(
        &self,
        list: &List<'_>,
        conditions: &[Expression],
        without: usize,
        column: ColumnId,
    ) -> Vec<Expression> {
        let others = conditions.iter().enumerate();
        let others = others.filter(|(at, _)| *at != without);
        let others = others.map(|(_, condition)| condition.clone());
        others.chain([list.equality(column)]).collect()
    }
}

/// Column that no statement has.
const UNNAMED: ColumnId = ColumnId(u32::MAX);
/// Size of the range below it for the columns of lists that were made relations; no statement has
/// as many.
const LISTS_MAX: u32 = 1 << 24;

/// Returns whether a column has the values of a list.
pub fn is_of_list(id: ColumnId) -> bool {
    id.0 >= UNNAMED.0 - LISTS_MAX
}

/// A column, and the values one of which it has.
struct List<'e> {
    column: &'e Expression,
    equals: Function,
    array: &'e Expression,
    element: Type,
}

impl<'e> List<'e> {
    /// Returns the list of a condition; `None` if the condition is of another form.
    fn of(scan: &Scan, condition: &'e Expression) -> Option<Self> {
        let Kind::Quantified {
            left,
            operator,
            array,
            all: false,
        } = &condition.kind
        else {
            return None;
        };
        let Kind::Column(id) = left.kind else {
            return None;
        };
        let own: BTreeSet<ColumnId> = scan.columns.iter().map(|(id, _)| *id).collect();
        let is_free = !array.columns().iter().any(|id| own.contains(id)) && array.is_stable();
        let is_list =
            own.contains(&id) && operator.0.comparison == Some(Comparison::Equal) && is_free;
        is_list.then_some(List {
            column: left,
            equals: *operator,
            array,
            element: Type::Scalar(array.ty.element()?),
        })
    }

    /// Returns the number of the values, as far as it is known.
    fn values(&self) -> f64 {
        match &self.array.kind {
            Kind::Array(items) => items.len() as f64,
            _ => ELEMENTS,
        }
    }

    fn equality(&self, column: ColumnId) -> Expression {
        let value = Expression::column(column, self.element, types::TypeModifier::NONE);
        let call = Kind::Call {
            function: self.equals,
            arguments: vec![self.column.clone(), value],
        };
        Expression::new(call, Type::Scalar(types::Scalar::Bool))
    }

    /// Returns the list's values, each once, as the rows of a column; `None` if they cannot be made
    /// rows.
    fn relation(&self, column: ColumnId) -> Option<Relation> {
        let input = match &self.array.kind {
            Kind::Array(items) => Relation::Rows {
                columns: vec![column],
                rows: items.iter().map(|item| vec![item.clone()]).collect(),
            },
            _ => Relation::Functions {
                calls: vec![FunctionCall {
                    function: Function(functions::functions("unnest").first()?),
                    arguments: vec![self.array.clone()],
                    columns: vec![column],
                }],
                ordinality: None,
            },
        };
        let value = Expression::column(column, self.element, types::TypeModifier::NONE);
        Some(Relation::Distinct {
            input: Box::new(input),
            on: vec![value],
        })
    }
}

impl Lowering {
    /// Returns the number of a new column, which has the values of an expression over the statement's columns. The
    /// numbers lie below those of lists; a statement has as many of them as expressions at most.
    pub(super) fn new_column(&mut self, value: Expression) -> ColumnId {
        self.new_columns += 1;
        let id = ColumnId(UNNAMED.0 - LISTS_MAX - self.new_columns);
        self.estimator.note(id, &value);
        if let Some(types) = &mut self.column_types {
            types.note(id, value.ty);
        }
        self.name(id, value);
        id
    }

    /// Notes what a column is that has no name in the statement.
    pub(super) fn name(&mut self, id: ColumnId, value: Expression) {
        if self.outer.keeps_sources {
            self.names.push((id, value));
        }
    }

    /// Lowers a scan as a join with the values of a list, if that is better.
    pub(super) fn looked_up(
        &mut self,
        scan: &Scan,
        conditions: &[Expression],
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Option<Node>> {
        let Some(points) = self.estimator.points(scan, conditions) else {
            return Ok(None);
        };
        let column = ColumnId(UNNAMED.0 - 1 - self.lists);
        let list = List::of(scan, &conditions[points.condition]);
        let Some((list, values)) = list.and_then(|list| {
            let values = list.relation(column)?;
            Some((list, values))
        }) else {
            return Ok(None);
        };
        self.lists += 1;
        let mut others = self
            .estimator
            .joined(&list, conditions, points.condition, column);
        let on = others.pop().into_iter().collect();
        let right = super::predicate_pushdown::filtered(Relation::Scan(scan.clone()), others);
        let join = Join {
            kind: JoinKind::Inner,
            left: Box::new(values),
            right: Box::new(right),
            on,
            lateral: false,
        };
        self.join_by_lookup(join, needed)
    }
}
