//! What the planner thinks of the operators of a plan that is made to be explained: rows and costs.
//!
//! In such a plan each operator lies in a [`Plan::Explained`], which has its number, too. Who looks
//! at the operators of a plan looks through it ([`Plan::beneath`]): what is explained is the plan
//! that would be carried out. Other plans have none.
//!
//! Rows and total costs are those of the relation that an operator was made from, by which the plan
//! was chosen. An operator without a relation of its own, such as one that puts columns in order,
//! costs what handing rows on does. Before which part of the cost there can be no first row, nobody
//! asks while planning: it is derived from what operators do, when the plan is there.

use std::collections::HashMap;

use types::Type;

use super::{
    Plan,
    cost::{BUILT, HANDED},
    estimate::Estimator,
    lower::{Lowering, Node},
};
use crate::program::Layout;
use logical::{
    expression::ColumnId,
    relation::{ChangeKind, FunctionCall, Relation},
};

/// Bytes of a value of which not even the type is known.
const WIDTH_UNKNOWN: f64 = 8.0;
/// Bytes of a value of any length, of a column that was not looked at: PostgreSQL's number.
const WIDTH_VARYING: f64 = 32.0;

/// An operator and what EXPLAIN has to say of it.
#[derive(Debug)]
pub struct Explained {
    /// Among the plan's operators, from 1 on.
    pub number: usize,
    /// Estimated rows and costs of the operator.
    pub estimate: Estimate,
    /// Operator that is explained.
    pub input: Plan,
}

/// What is expected of an operator with all below it. Costs are in the unit of `cost.rs`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate {
    /// Before there is a first row.
    pub startup: f64,
    /// Cost of all rows.
    pub total: f64,
    /// Number of rows.
    pub rows: f64,
    /// Bytes of a row.
    pub width: f64,
}

/// The types of a statement's columns that are no table's.
pub(super) struct ColumnTypes(HashMap<ColumnId, Type>);

impl ColumnTypes {
    pub(super) fn of(relation: &Relation) -> Self {
        let mut types = HashMap::new();
        relation.clone().walk(&mut |relation| match relation {
            Relation::Rows { columns, rows } => {
                let first = rows.first().into_iter().flatten();
                types.extend(columns.iter().copied().zip(first.map(|value| value.ty)));
            }
            Relation::Compute { columns, .. } => {
                types.extend(columns.iter().map(|(id, value)| (*id, value.ty)));
            }
            Relation::Aggregate(aggregate) => {
                types.extend(aggregate.keys.iter().map(|(id, key)| (*id, key.ty)));
                types.extend(aggregate.calls.iter().filter_map(|call| {
                    let ty = call.function.0.result.fixed()?;
                    Some((call.column, ty))
                }));
            }
            Relation::Window { calls, .. } => types.extend(calls.iter().filter_map(|call| {
                let ty = call.function.0.result.fixed()?;
                Some((call.column, ty))
            })),
            Relation::Functions { calls, .. } | Relation::Expand { calls, .. } => {
                types.extend(calls.iter().filter_map(only_column));
            }
            Relation::Set(set) => {
                let ids = set.columns.iter().map(|(id, _, _)| *id);
                types.extend(ids.zip(set.types.iter().copied()));
            }
            Relation::Insert(insert) => {
                let columns = insert.table.columns.iter();
                types.extend(insert.new.iter().copied().zip(columns.map(|own| own.ty)));
            }
            Relation::Change(change) => {
                if let ChangeKind::Update { new, .. } = &change.kind {
                    let columns = change.table.columns.iter();
                    types.extend(new.iter().copied().zip(columns.map(|own| own.ty)));
                }
            }
            _ => {}
        });
        Self(types)
    }

    fn row_width(&self, layout: &Layout, estimator: &Estimator) -> f64 {
        let mut widths: Vec<Option<f64>> = vec![None; layout.width()];
        for (id, at) in layout.columns() {
            let own = estimator.average_width(id).or_else(|| {
                let ty = self.0.get(&id)?;
                fixed_width(*ty).or(Some(WIDTH_VARYING))
            });
            if let Some(width) = widths.get_mut(at) {
                *width = width.or(own);
            }
        }
        let known = widths.iter().map(|width| width.unwrap_or(WIDTH_UNKNOWN));
        // Not `sum`, of which nothing is less than nothing: -0.
        known.fold(0.0, |sum, width| sum + width)
    }
}

/// The column of a function that gives a single value, if its type is known.
fn only_column(call: &FunctionCall) -> Option<(ColumnId, Type)> {
    match call.columns.as_slice() {
        [column] => Some((*column, call.function.0.result.fixed()?)),
        _ => None,
    }
}

/// Bytes of each value of a type, if they are as many.
fn fixed_width(ty: Type) -> Option<f64> {
    let length = ty.length();
    (length > 0).then(|| f64::from(length))
}

impl Estimator {
    /// Bytes of a value of a table's column, on average.
    fn average_width(&self, id: ColumnId) -> Option<f64> {
        let (ty, seen) = self.type_and_width(id)?;
        Some(fixed_width(ty).or(seen).unwrap_or(WIDTH_VARYING))
    }
}

impl Lowering {
    /// What is expected of a relation, if the plan is one to be explained.
    pub(super) fn estimate(&self, relation: &Relation) -> Option<Estimate> {
        self.column_types.as_ref()?;
        // First: it notes the rows of relations that are shared.
        let rows = self.estimator.rows(relation);
        Some(Estimate {
            rows,
            total: self.estimator.cost(relation),
            ..Estimate::default()
        })
    }

    /// Notes what is expected of an operator. One that has an operator's place below it, since the
    /// relation needed none of its own, keeps what was noted of that.
    pub(super) fn explained(&self, node: Node, estimate: Option<Estimate>) -> Node {
        let (Some(types), Some(estimate)) = (&self.column_types, estimate) else {
            return node;
        };
        if matches!(node.plan, Plan::Explained(_)) {
            return node;
        }
        let estimate = Estimate {
            width: types.row_width(&node.layout, &self.estimator),
            ..estimate
        };
        let plan = Plan::Explained(Box::new(Explained {
            number: 0,
            estimate,
            input: node.plan,
        }));
        Node { plan, ..node }
    }
}

impl Plan {
    /// The operator itself.
    pub(crate) fn beneath(&self) -> &Plan {
        match self {
            Plan::Explained(explained) => explained.input.beneath(),
            plan => plan,
        }
    }

    /// The same, to be changed.
    pub(super) fn beneath_mut(&mut self) -> &mut Plan {
        match self {
            Plan::Explained(explained) => explained.input.beneath_mut(),
            plan => plan,
        }
    }

    /// Numbers the operators from `next` on, and completes what is expected of them.
    pub(super) fn explain(&mut self, next: &mut usize) -> Estimate {
        let number = *next;
        *next += 1;
        let (mut input, known) = match std::mem::replace(self, Plan::Rows(Vec::new())) {
            Plan::Explained(explained) => (explained.input, Some(explained.estimate)),
            plan => (plan, None),
        };
        let mut below = Vec::new();
        input.for_each_input_mut(&mut |plan| below.push(plan.explain(next)));
        let mut estimate = known.unwrap_or_else(|| handed_on(&below));
        estimate.startup = startup(&input, estimate, &below).min(estimate.total);
        *self = Plan::Explained(Box::new(Explained {
            number,
            estimate,
            input,
        }));
        estimate
    }
}

/// Rows as they come from below.
fn handed_on(below: &[Estimate]) -> Estimate {
    let rows: f64 = below.iter().map(|input| input.rows).sum();
    Estimate {
        startup: 0.0,
        total: total(below) + rows * HANDED,
        rows: rows.max(1.0),
        width: below.iter().map(|input| input.width).fold(0.0, f64::max),
    }
}

fn total(inputs: &[Estimate]) -> f64 {
    inputs.iter().map(|input| input.total).sum()
}

/// What an operator costs before it gives a row, from what those below it cost, in the order in
/// which they are visited.
fn startup(plan: &Plan, own: Estimate, below: &[Estimate]) -> f64 {
    let first = below.first().copied().unwrap_or_default();
    let second = below.get(1).copied().unwrap_or_default();
    let once_all_is_read = (own.total - own.rows * HANDED).max(total(below));
    match plan {
        Plan::Rows(_)
        | Plan::Received { .. }
        | Plan::Scan(_)
        | Plan::System { .. }
        | Plan::Functions { .. }
        | Plan::Shared { .. } => 0.0,
        Plan::Explained(_)
        | Plan::Filter { .. }
        | Plan::Project { .. }
        | Plan::Expand { .. }
        | Plan::Distinct { .. }
        | Plan::Limit { .. }
        | Plan::Lock { .. }
        | Plan::Calls(_)
        | Plan::Union { .. }
        | Plan::Insert(_) => first.startup,
        Plan::IndexJoin(_) => first.startup,
        Plan::HashJoin(_) => first.startup + second.total + second.rows * BUILT,
        Plan::LoopJoin(_) | Plan::Apply(_) => first.startup + second.startup,
        Plan::Aggregate(_) | Plan::Window { .. } | Plan::Sort { .. } => once_all_is_read,
        Plan::Set { .. } => total(below),
        // The definitions, then the body.
        Plan::With { .. } => match below.split_last() {
            Some((body, definitions)) => total(definitions) + body.startup,
            None => 0.0,
        },
        Plan::Update(update) => changed(update.target.read_first, first),
        Plan::Delete(delete) => changed(delete.target.read_first, first),
        Plan::Merge(merge) => changed(merge.target.read_first, first),
    }
}

/// All rows may have to be read before the first is changed.
fn changed(read_first: bool, input: Estimate) -> f64 {
    match read_first {
        true => input.total,
        false => input.startup,
    }
}
