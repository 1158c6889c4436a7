//! Aggregates that can be divided: all that their parts compute is the same on every worker, and what the parts have
//! can be combined.

use functions::Body;

use planner::{
    plan::{AccessPath, Aggregate, AggregateCall, Plan, Scan},
    program::Program,
};

/// Returns the scan at the bottom of a plan whose rows come through filters and projections alone.
pub(super) fn scan_below(plan: &Plan) -> Option<&Scan> {
    match plan {
        Plan::Scan(scan) => Some(scan),
        Plan::Explained(explained) => scan_below(&explained.input),
        Plan::Filter { input, .. } | Plan::Project { input, .. } => scan_below(input),
        _ => None,
    }
}

/// Returns whether parts of an aggregate, over such a plan, can be computed apart.
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

fn is_shareable(plan: &Plan) -> bool {
    match plan {
        Plan::Scan(scan) => {
            let mut programs = scan
                .tests
                .iter()
                .map(|test| &test.value)
                .chain(&scan.filter);
            matches!(scan.access, AccessPath::Full) && programs.all(Program::is_shareable)
        }
        Plan::Explained(explained) => is_shareable(&explained.input),
        Plan::Filter { input, predicate } => predicate.is_shareable() && is_shareable(input),
        Plan::Project { input, values } => {
            values.iter().all(Program::is_shareable) && is_shareable(input)
        }
        _ => false,
    }
}
