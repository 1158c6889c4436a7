//! Plans and estimates in a form for tests.

use std::fmt::Write as _;

use super::{AccessPath, Plan, Scan, estimate::Estimator};
use logical::relation::Relation;

/// Returns the estimated rows of a bound relation.
pub fn estimated_rows(relation: Relation) -> f64 {
    let relation = super::predicate_pushdown::pushed(relation, &[]);
    Estimator::new(&relation).rows(&relation)
}

/// Returns the joins of a plan and the access paths of its tables, in a line: `hash(a, lookup(b, c
/// by key))`.
pub fn shown(plan: &Plan) -> String {
    let mut text = String::new();
    show(plan, &mut text);
    text
}

fn show(plan: &Plan, text: &mut String) {
    let mut pair = |name: &str, left: &Plan, right: &Plan| {
        write!(text, "{name}(").unwrap();
        show(left, text);
        text.push_str(", ");
        show(right, text);
        text.push(')');
    };
    match plan {
        Plan::Scan(scan) => show_scan(scan, text),
        Plan::HashJoin(join) => pair("hash", &join.probe, &join.build),
        Plan::NestedLoopJoin(join) => pair("loop", &join.outer, &join.inner),
        Plan::IndexJoin(join) => {
            text.push_str("lookup(");
            show(&join.outer, text);
            text.push_str(", ");
            show_scan(&join.scan, text);
            text.push(')');
        }
        Plan::Filter { input, .. }
        | Plan::Project { input, .. }
        | Plan::ProjectSet { input, .. }
        | Plan::Window { input, .. }
        | Plan::Distinct { input, .. }
        | Plan::Limit { input, .. }
        | Plan::LockRows { input, .. } => show(input, text),
        Plan::Sort { input, .. } => {
            text.push_str("sort ");
            show(input, text);
        }
        Plan::IncrementalSort(sort) => {
            text.push_str("incremental sort ");
            show(&sort.input, text);
        }
        Plan::Aggregate(aggregate) => show(&aggregate.input, text),
        Plan::Apply(apply) => pair("apply", &apply.input, &apply.query),
        Plan::Union { left, right } | Plan::Set { left, right, .. } => pair("set", left, right),
        Plan::With { body, .. } => show(body, text),
        Plan::Insert(insert) => show(&insert.input, text),
        Plan::Update(update) => show(&update.input, text),
        Plan::Delete(delete) => show(&delete.input, text),
        Plan::Merge(merge) => show(&merge.input, text),
        Plan::Explained(explained) => show(&explained.input, text),
        Plan::Calls(calls) => show(&calls.input, text),
        Plan::System { .. } => text.push_str("system"),
        Plan::Rows(_) => text.push_str("rows"),
        Plan::Functions { .. } => text.push_str("functions"),
        Plan::CteScan { .. } => text.push_str("shared"),
        Plan::CopySource { .. } => text.push_str("copy source"),
    }
}

fn show_scan(scan: &Scan, text: &mut String) {
    text.push_str(&scan.table.name);
    match &scan.access {
        AccessPath::Full => {}
        AccessPath::Key(_) => text.push_str(" by key"),
        AccessPath::Index { index, .. } => {
            write!(text, " by {}", scan.table.indexes[*index].name).unwrap();
        }
    }
}
