//! Estimates for the operators of a plan that is to be explained: rows and costs.
//!
//! In this plan each operator lies in a [`Plan::Explained`], which has its number, too. Code that
//! looks at the operators of a plan looks through it ([`Plan::beneath`]): the plan that is
//! explained is the one that would be carried out. Other plans have none.
//!
//! Rows and total costs are those of the relation that an operator was made from, by which the plan
//! was chosen. An operator without a relation of its own, such as one that puts columns in order,
//! costs as much as handing rows on. The cost before the first row is not needed for planning: it
//! is derived from the kinds of the operators, once the plan is made. The cost of a limit, which
//! leaves a part of the rows below it unread, is derived from it then; plans are chosen as if all
//! rows were read.

use std::collections::HashMap;

use types::Type;

use super::{
    Plan,
    cost::{BUILT, HANDED},
    estimate::{Estimator, constant},
    lower::{Lowering, Node},
};
use crate::program::{Layout, Program};
use logical::{
    expression::ColumnId,
    relation::{ChangeKind, FunctionCall, Relation},
};

/// Bytes of a value of which not even the type is known.
const WIDTH_UNKNOWN: f64 = 8.0;
/// Bytes of a value of varying length, of a column without statistics: PostgreSQL's number.
const WIDTH_VARYING: f64 = 32.0;

/// An operator, with its number and estimate for EXPLAIN.
#[derive(Debug)]
pub struct Explained {
    /// Number among the plan's operators, from 1 on.
    pub number: usize,
    /// Estimated rows and costs of the operator.
    pub estimate: Estimate,
    /// Operator that is explained.
    pub input: Plan,
}

/// The estimate for an operator with all below it. Costs are in the unit of `cost.rs`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate {
    /// Cost before the first row.
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

    /// Notes the type of a column that the planner has made.
    pub(super) fn note(&mut self, id: ColumnId, ty: Type) {
        self.0.insert(id, ty);
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
        // Not `sum`, whose result for no items is -0.
        known.fold(0.0, |sum, width| sum + width)
    }
}

/// Returns the column of a function that gives a single value, if its type is known.
fn only_column(call: &FunctionCall) -> Option<(ColumnId, Type)> {
    match call.columns.as_slice() {
        [column] => Some((*column, call.function.0.result.fixed()?)),
        _ => None,
    }
}

/// Returns the bytes of each value of a type, if all values have as many.
fn fixed_width(ty: Type) -> Option<f64> {
    let length = ty.length();
    (length > 0).then(|| f64::from(length))
}

impl Estimator {
    /// Returns the average bytes of a value of a table's column.
    fn average_width(&self, id: ColumnId) -> Option<f64> {
        let (ty, seen) = self.type_and_width(id)?;
        Some(fixed_width(ty).or(seen).unwrap_or(WIDTH_VARYING))
    }
}

impl Lowering {
    /// Returns the estimate for a relation, if the plan is to be explained.
    pub(super) fn estimate(&self, relation: &Relation) -> Option<Estimate> {
        self.column_types.as_ref()?;
        // The rows are estimated first: this notes the rows of relations that are shared.
        let rows = self.estimator.rows(relation);
        Some(Estimate {
            rows,
            total: self.estimator.cost(relation),
            ..Estimate::default()
        })
    }

    /// Notes the estimate for an operator. If the relation needed no operator of its own, the node
    /// is that of a relation below it, and keeps that one's estimate.
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
    /// Returns the operator itself, without its estimate.
    pub(crate) fn beneath(&self) -> &Plan {
        match self {
            Plan::Explained(explained) => explained.input.beneath(),
            plan => plan,
        }
    }

    /// Returns the operator itself, for changing it.
    pub(super) fn beneath_mut(&mut self) -> &mut Plan {
        match self {
            Plan::Explained(explained) => explained.input.beneath_mut(),
            plan => plan,
        }
    }

    /// Numbers the operators from `next` on, and completes their estimates.
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
        if let (Plan::Limit { offset, .. }, Some(first)) = (&input, below.first()) {
            let rows = skipped(offset.as_ref()) + estimate.rows;
            estimate.total = limited(rows, *first);
        }
        estimate.startup = startup(&input, estimate, &below).min(estimate.total);
        *self = Plan::Explained(Box::new(Explained {
            number,
            estimate,
            input,
        }));
        estimate
    }
}

/// Returns the estimate for handing on the rows from below.
fn handed_on(below: &[Estimate]) -> Estimate {
    let rows: f64 = below.iter().map(|input| input.rows).sum();
    Estimate {
        startup: 0.0,
        total: total(below) + rows * HANDED,
        rows: rows.max(1.0),
        width: below.iter().map(|input| input.width).fold(0.0, f64::max),
    }
}

/// Returns the cost of the first `rows` rows of an operator, each of which costs as much as the others.
fn limited(rows: f64, input: Estimate) -> f64 {
    let part = (rows / input.rows.max(1.0)).min(1.0);
    input.startup + (input.total - input.startup) * part
}

/// Returns the number of rows that OFFSET skips; 0 if it is not known before the execution.
fn skipped(offset: Option<&Program>) -> f64 {
    let offset = offset.and_then(Program::source).and_then(constant);
    offset.unwrap_or(0.0).max(0.0)
}

fn total(inputs: &[Estimate]) -> f64 {
    inputs.iter().map(|input| input.total).sum()
}

/// Returns the cost of an operator before its first row, from the estimates for those below it, in
/// the order in which they are visited.
fn startup(plan: &Plan, own: Estimate, below: &[Estimate]) -> f64 {
    let first = below.first().copied().unwrap_or_default();
    let second = below.get(1).copied().unwrap_or_default();
    let once_all_is_read = (own.total - own.rows * HANDED).max(total(below));
    match plan {
        Plan::Rows(_)
        | Plan::CopySource { .. }
        | Plan::Scan(_)
        | Plan::System { .. }
        | Plan::Functions { .. }
        | Plan::CteScan { .. } => 0.0,
        Plan::Explained(_)
        | Plan::Filter { .. }
        | Plan::Project { .. }
        | Plan::ProjectSet { .. }
        | Plan::Distinct { .. }
        | Plan::LockRows { .. }
        | Plan::Calls(_)
        | Plan::Union { .. }
        | Plan::Insert(_) => first.startup,
        Plan::IndexJoin(_) => first.startup,
        Plan::Limit { offset, .. } => limited(skipped(offset.as_ref()), first),
        Plan::HashJoin(join) if join.gives_marked_alone() => once_all_is_read,
        Plan::HashJoin(_) => first.startup + second.total + second.rows * BUILT,
        Plan::NestedLoopJoin(_) | Plan::Apply(_) => first.startup + second.startup,
        Plan::Aggregate(_) | Plan::Window { .. } | Plan::Sort { .. } => once_all_is_read,
        // One group is sorted before the first row.
        Plan::IncrementalSort(sort) => {
            let groups = sort.groups.min(own.rows).max(1.0);
            first.startup + (once_all_is_read - first.startup) / groups
        }
        Plan::Set { .. } => total(below),
        // The last one is the body's; those before it are the definitions'.
        Plan::With { .. } => match below.split_last() {
            Some((body, definitions)) => total(definitions) + body.startup,
            None => 0.0,
        },
        Plan::Update(update) => changed(update.target.read_first, first),
        Plan::Delete(delete) => changed(delete.target.read_first, first),
        Plan::Merge(merge) => changed(merge.target.read_first, first),
    }
}

/// Returns the startup cost of an operator that changes rows, which may have to read all rows
/// before it changes the first.
fn changed(read_first: bool, input: Estimate) -> f64 {
    match read_first {
        true => input.total,
        false => input.startup,
    }
}
