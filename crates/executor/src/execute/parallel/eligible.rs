//! Aggregates that can be divided: all that their parts compute is the same on every worker, and what the parts have
//! can be combined.
//!
//! Below the aggregate is a chain of filters, projections and joins down to a scan, whose chunks are what is divided. A
//! join belongs to the chain by its left side, which it goes through row by row. Its other side is there for all parts:
//!
//! | join | other side |
//! | --- | --- |
//! | by hash | a table that the owner has built; whatever it was built from |
//! | by lookup | the records of a table |
//! | by nesting, of an inner side that refers to no outer row | read and kept by each part: a small table by itself |
//!
//! A full join gives rows of its right side that no row of the left matches, and a join by hash that is turned gives
//! rows by their marks: no part knows these by itself.

use functions::Body;

use logical::relation::JoinKind;
use planner::{
    plan::{AccessPath, Aggregate, AggregateCall, KeyRange, Plan, Scan},
    program::Program,
};

/// Returns the scan at the bottom of a chain.
pub(super) fn scan_below(plan: &Plan) -> Option<&Scan> {
    match plan {
        Plan::Scan(scan) => Some(scan),
        _ => scan_below(next(plan)?),
    }
}

/// Returns whether there is a join in a chain.
pub(super) fn has_joins(plan: &Plan) -> bool {
    let is_join = matches!(
        plan,
        Plan::HashJoin(_) | Plan::IndexJoin(_) | Plan::NestedLoopJoin(_)
    );
    is_join || next(plan).is_some_and(has_joins)
}

/// Returns the plan below another one in a chain.
fn next(plan: &Plan) -> Option<&Plan> {
    let is_by_row = |kind| !matches!(kind, JoinKind::Right | JoinKind::Full);
    match plan {
        Plan::Explained(explained) => Some(&explained.input),
        Plan::Filter { input, .. } | Plan::Project { input, .. } => Some(input),
        Plan::HashJoin(join) if is_by_row(join.kind) && !join.is_turned => Some(&join.probe),
        Plan::IndexJoin(join) if is_by_row(join.kind) => Some(&join.outer),
        Plan::NestedLoopJoin(join) if is_by_row(join.kind) && join.correlated.is_empty() => {
            Some(&join.outer)
        }
        _ => None,
    }
}

/// Returns whether parts of an aggregate, over a chain, can be computed apart.
pub(super) fn can_be_divided(plan: &Aggregate) -> bool {
    plan.keys.iter().all(Program::is_shareable)
        && plan.calls.iter().all(can_be_combined)
        && is_shareable(&plan.input)
}

fn can_be_combined(call: &AggregateCall) -> bool {
    let Body::Aggregate(definition) = call.function.0.body else {
        return false;
    };
    let mut programs = call.arguments.iter().chain(&call.filter);
    definition.combine.is_some()
        && !call.distinct
        && call.order.is_empty()
        && programs.all(Program::is_shareable)
}

/// Returns whether the programs of a chain are the same on every worker.
fn is_shareable(plan: &Plan) -> bool {
    let are_shareable = match plan {
        Plan::Scan(scan) => return reads_alike(scan),
        Plan::Explained(_) => true,
        Plan::Filter { predicate, .. } => predicate.is_shareable(),
        Plan::Project { values, .. } => values.iter().all(Program::is_shareable),
        Plan::HashJoin(join) => {
            let mut programs = join.probe_keys.iter().chain(&join.residual);
            programs.all(Program::is_shareable)
        }
        Plan::IndexJoin(join) => {
            reads_alike(&join.scan) && join.residual.iter().all(Program::is_shareable)
        }
        Plan::NestedLoopJoin(join) => {
            is_small_table(&join.inner) && join.on.iter().all(Program::is_shareable)
        }
        _ => false,
    };
    are_shareable && next(plan).is_some_and(is_shareable)
}

/// Most records of a table that each part keeps for a nested loop.
const KEPT_BY_PARTS_MAX: u64 = 4096;

/// Returns whether a plan gives rows of a small table, the same on every worker.
fn is_small_table(plan: &Plan) -> bool {
    match plan {
        Plan::Explained(explained) => is_small_table(&explained.input),
        Plan::Scan(scan) => {
            scan.table.storage().records_estimate() <= KEPT_BY_PARTS_MAX && reads_alike(scan)
        }
        _ => false,
    }
}

/// Returns whether a scan reads the same on every worker.
fn reads_alike(scan: &Scan) -> bool {
    let tests = scan.tests.iter().map(|test| &test.value);
    let mut programs = tests.chain(&scan.filter);
    let has_shareable_keys = match &scan.access {
        AccessPath::Full => true,
        AccessPath::Key(range) | AccessPath::Index { range, .. } => is_shareable_range(range),
    };
    has_shareable_keys && programs.all(Program::is_shareable)
}

fn is_shareable_range(range: &KeyRange) -> bool {
    let bounds = range.lower.iter().chain(&range.upper);
    let bounds = bounds.flat_map(|bound| &bound.values);
    range.equal.iter().chain(bounds).all(Program::is_shareable)
}
