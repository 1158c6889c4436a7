//! From plans to running operators.

use types::Result;

use super::{
    Input, Operator,
    aggregate::Aggregating,
    apply::Applying,
    change::{Deleting, Locking, Updating},
    distinct::Distinct,
    functions::{Expanding, Listing as FunctionListing},
    hash_join::HashJoining,
    index_join::IndexJoining,
    insert::Inserting,
    limit::Limiting,
    loop_join::LoopJoining,
    measure::Measured,
    merge::Merging,
    received::Receiving,
    scan::Scanning,
    set::{Comparing, Concatenation},
    shared::{Reading, With, body},
    simple::{Filtering, Listing, Projecting},
    sort::Sorting,
    system::SystemScanning,
    waiting_calls::Calling,
    window::Windowing,
};
use crate::plan::Plan;

/// The running side of a plan.
///
/// # Errors
/// XX000 for a plan that no operator can run.
pub(super) fn open(plan: &Plan) -> Result<Box<dyn Operator + '_>> {
    Ok(match plan {
        Plan::Rows(rows) => Box::new(Listing::new(rows)),
        Plan::Explained(explained) => {
            Box::new(Measured::new(explained.number, open(&explained.input)?))
        }
        Plan::Received { .. } => Box::new(Receiving),
        Plan::Scan(scan) => Box::new(Scanning::new(scan)),
        Plan::System { relation, columns } => Box::new(SystemScanning::new(*relation, columns)),
        Plan::Functions { calls, ordinality } => Box::new(FunctionListing::new(calls, *ordinality)),
        Plan::Shared { number, columns } => Box::new(Reading::new(*number, columns)),
        Plan::Filter { input, predicate } => {
            Box::new(Filtering::new(self::input(input)?, predicate))
        }
        Plan::Project { input, values } => Box::new(Projecting::new(self::input(input)?, values)),
        Plan::Expand { input, calls } => Box::new(Expanding::new(self::input(input)?, calls)),
        Plan::HashJoin(join) => Box::new(HashJoining::new(
            join,
            input(&join.probe)?,
            input(&join.build)?,
        )),
        Plan::IndexJoin(join) => Box::new(IndexJoining::new(join, input(&join.outer)?)),
        Plan::LoopJoin(join) => Box::new(LoopJoining::new(
            join,
            input(&join.outer)?,
            input(&join.inner)?,
        )),
        Plan::Apply(apply) => Box::new(Applying::new(
            apply,
            input(&apply.input)?,
            input(&apply.query)?,
        )),
        Plan::Calls(calls) => Box::new(Calling::new(calls, input(&calls.input)?)),
        Plan::Aggregate(aggregate) => {
            Box::new(Aggregating::new(aggregate, input(&aggregate.input)?)?)
        }
        Plan::Distinct { input, on, types } => {
            Box::new(Distinct::new(self::input(input)?, on, types))
        }
        Plan::Sort { input, keys, limit } => {
            Box::new(Sorting::new(self::input(input)?, keys, limit.as_ref()))
        }
        Plan::Limit {
            input,
            limit,
            offset,
            with_ties,
        } => {
            let input = self::input(input)?;
            Box::new(Limiting::new(
                input,
                limit.as_ref(),
                offset.as_ref(),
                with_ties.as_deref(),
            ))
        }
        Plan::Union { left, right } => Box::new(Concatenation::new(open(left)?, open(right)?)),
        Plan::Set {
            kind,
            all,
            left,
            right,
            types,
        } => Box::new(Comparing::new(
            *kind,
            *all,
            input(left)?,
            input(right)?,
            types,
        )),
        Plan::With {
            definitions,
            body: inner,
        } => {
            let mut opened = Vec::with_capacity(definitions.len());
            for shared in definitions {
                let mut failure = None;
                let running = body(&shared.body, |plan| match input(plan) {
                    Ok(input) => input,
                    Err(error) => {
                        failure = Some(error);
                        Input::new(Box::new(Listing::new(&[])), 0)
                    }
                });
                match failure {
                    Some(error) => return Err(error),
                    None => opened.push((shared.number, shared.width, running)),
                }
            }
            Box::new(With::new(opened, open(inner)?))
        }
        Plan::Window { input, windows } => Box::new(Windowing::new(self::input(input)?, windows)),
        Plan::Lock { input, locks } => Box::new(Locking::new(self::input(input)?, locks)),
        Plan::Insert(insert) => Box::new(Inserting::new(insert, input(&insert.input)?)),
        Plan::Update(update) => Box::new(Updating::new(update, input(&update.input)?)),
        Plan::Delete(delete) => Box::new(Deleting::new(delete, input(&delete.input)?)),
        Plan::Merge(merge) => Box::new(Merging::new(merge, input(&merge.input)?)),
    })
}

fn input(plan: &Plan) -> Result<Input<'_>> {
    Ok(Input::new(open(plan)?, width(plan)))
}

/// Values in each row of a plan.
pub(super) fn width(plan: &Plan) -> usize {
    let columns =
        |calls: &[crate::plan::Call]| calls.iter().map(|call| call.columns).sum::<usize>();
    let filters = |kind| {
        matches!(
            kind,
            crate::relation::JoinKind::Semi | crate::relation::JoinKind::Anti
        )
    };
    match plan {
        Plan::Rows(rows) => rows.first().map_or(0, Vec::len),
        Plan::Received { width } => *width,
        Plan::Scan(scan) => scan.columns.len() + usize::from(scan.with_key),
        Plan::System { columns, .. } => columns.len(),
        Plan::Functions { calls, ordinality } => columns(calls) + usize::from(*ordinality),
        Plan::Shared { columns, .. } => columns.len(),
        Plan::Explained(explained) => width(&explained.input),
        Plan::Filter { input, .. }
        | Plan::Distinct { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Lock { input, .. } => width(input),
        Plan::Project { values, .. } => values.len(),
        Plan::Expand { input, calls } => width(input) + columns(calls),
        Plan::Window { input, windows } => width(input) + windows.len(),
        Plan::HashJoin(join) => join.handed_on.width(),
        Plan::IndexJoin(join) => join.handed_on.width(),
        Plan::LoopJoin(join) if filters(join.kind) => join.outer_width,
        Plan::LoopJoin(join) => join.outer_width + join.inner_width,
        Plan::Apply(apply) => width(&apply.input) + 1,
        Plan::Calls(calls) => width(&calls.input) + calls.calls.len(),
        Plan::Aggregate(aggregate) => {
            aggregate.keys.len() + usize::from(aggregate.with_set_number) + aggregate.calls.len()
        }
        Plan::Union { left, .. } | Plan::Set { left, .. } => width(left),
        Plan::With { body, .. } => width(body),
        Plan::Insert(insert) => width(&insert.input) + insert.values.len(),
        Plan::Update(update) => width(&update.input) + update.target.table.columns.len(),
        Plan::Delete(delete) => width(&delete.input),
        Plan::Merge(_) => 0,
    }
}
