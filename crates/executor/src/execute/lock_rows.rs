//! Locks on many rows by their keys: a foreign key asks for them once for all rows of a statement.

use engine::{IfLocked, Strength};
use interleave::Interleaved;
use types::{Result, Scratch};

use super::{BATCH_ROWS, ExecutionContext, errors::of_engine, key, key::PointKey};
use batch::Rows;
use planner::{
    plan::{AccessPath, KeyRange, Plan, Scan},
    program::Evaluator,
};

/// Locks rows by keys. `plan` locks the one row whose key its parameters are, and `parameters` has
/// a row for each key. Returns which of the rows exist; `None` if the plan is of another form.
///
/// The records are fetched together, so that their cache misses overlap, and then locked one after
/// the other.
pub async fn lock_rows(
    plan: &Plan,
    context: &ExecutionContext<'_>,
    parameters: &Rows,
) -> Result<Option<Vec<bool>>> {
    let Some((scan, range, strength)) = locked_point(plan) else {
        return Ok(None);
    };
    let table = scan.table.storage();
    let mut keys = Vec::with_capacity(parameters.len());
    {
        let scratch = Scratch::new();
        for values in parameters.iter() {
            context.pause(1).await;
            let mut evaluator =
                Evaluator::new(context.function_context(&scratch), values).in_turn(context.turn());
            keys.push(key::point(range, &mut evaluator, &[])?);
        }
    }
    if keys.len() > 1 {
        for some in keys.chunks(BATCH_ROWS) {
            let there: Vec<&PointKey> = some.iter().flatten().collect();
            context.pause(there.len()).await;
            let fetched =
                context
                    .reads
                    .multi_get::<Interleaved, _>(table, there.into_iter(), |_, _| ());
            fetched
                .await
                .map_err(|error| of_engine(error, &scan.table))?;
        }
    }
    let mut found = Vec::with_capacity(keys.len());
    for key in &keys {
        context.pause(1).await;
        let Some(key) = key else {
            found.push(false);
            continue;
        };
        let locked = context.transaction.lock::<Interleaved, _>(
            table,
            key.as_ref(),
            strength,
            IfLocked::Wait,
            |_| (),
        );
        let locked = locked.await;
        found.push(
            locked
                .map_err(|error| of_engine(error, &scan.table))?
                .is_some(),
        );
    }
    Ok(Some(found))
}

/// Returns the scan, the range and the strength of a plan that locks one row by its key, where a
/// row that has the key satisfies every condition of the scan: the callers lock by keys alone.
fn locked_point(plan: &Plan) -> Option<(&Scan, &KeyRange, Strength)> {
    match plan {
        Plan::Project { input, .. } => locked_point(input),
        Plan::LockRows { input, locks, .. } => match (&**input, locks.as_slice()) {
            (Plan::Scan(scan), [lock]) if is_by_access_alone(scan) => match &scan.access {
                AccessPath::Key(range) if range.is_point => Some((scan, range, lock.strength)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether a scan gives all records that its access path leads to.
fn is_by_access_alone(scan: &Scan) -> bool {
    scan.filter.is_none() && scan.tests.is_empty()
}
