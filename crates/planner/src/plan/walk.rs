//! Walks over the parts of plans.

use std::sync::Arc;

use super::{CommonTableBody, Plan};

impl Plan {
    /// Calls `visit` with each plan whose rows this one reads.
    pub fn for_each_input_mut(&mut self, visit: &mut impl FnMut(&mut Plan)) {
        match self {
            Plan::Rows(_)
            | Plan::CopySource { .. }
            | Plan::Scan(_)
            | Plan::System { .. }
            | Plan::Functions { .. }
            | Plan::CteScan { .. } => {}
            Plan::Explained(explained) => visit(&mut explained.input),
            Plan::Filter { input, .. }
            | Plan::Project { input, .. }
            | Plan::ProjectSet { input, .. }
            | Plan::Window { input, .. }
            | Plan::Distinct { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::LockRows { input, .. } => visit(input),
            Plan::HashJoin(join) => {
                visit(&mut join.probe);
                visit(&mut join.build);
            }
            Plan::IndexJoin(join) => visit(&mut join.outer),
            Plan::NestedLoopJoin(join) => {
                visit(&mut join.outer);
                visit(&mut join.inner);
            }
            Plan::Apply(apply) => {
                visit(&mut apply.input);
                visit(&mut apply.query);
            }
            Plan::Aggregate(aggregate) => {
                let aggregate = Arc::get_mut(aggregate);
                visit(
                    &mut aggregate
                        .expect("a plan that is changed is not carried out")
                        .input,
                );
            }
            Plan::IncrementalSort(sort) => visit(&mut sort.input),
            Plan::Calls(calls) => visit(&mut calls.input),
            Plan::Union { left, right } | Plan::Set { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Plan::With { definitions, body } => {
                for shared in definitions {
                    match &mut shared.body {
                        CommonTableBody::Query(query) => visit(query),
                        CommonTableBody::Recursive { initial, step, .. } => {
                            visit(initial);
                            visit(step);
                        }
                    }
                }
                visit(body);
            }
            Plan::Insert(insert) => visit(&mut insert.input),
            Plan::Update(update) => visit(&mut update.input),
            Plan::Delete(delete) => visit(&mut delete.input),
            Plan::Merge(merge) => visit(&mut merge.input),
        }
    }
}
