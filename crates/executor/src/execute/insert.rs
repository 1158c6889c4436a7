//! INSERT: several rows are put in at a time, beside each other.
//!
//! The rows of a batch are computed and checked one after the other; then their records go into the
//! table together, so that the cache misses of one overlap with those of the others
//! (`interleave::together`), unless the worker has found that suspending gains nothing. On a table
//! with indexes the engine makes the writes of a transaction take turns, and rows go in one by one,
//! as they do with ON CONFLICT, where each may meet the one before.
//!
//! *Errors are those of the first row that has one*, whether it could not be computed or not be put
//! in: rows before a row that cannot be computed are put in all the same. Rows that were not begun
//! when one has failed are left out: all rows before it were begun. Rows behind it that are under
//! way are given up once all before it have ended, since they may wait for another transaction.

mod encoded;

use std::ops::ControlFlow;

use engine::{Abort, Isolation, RowOutcome, Transaction};
use interleave::Interleaved;
use types::{Result, Scratch, SqlError, SqlState, Value, row::Row};

use self::encoded::{Encoded, put_record};
use super::{
    ExecutionContext, Input, Operator, Step,
    change_row::strength_of_update,
    errors::{Conflict, conflict, of_engine, of_write},
    new_row,
    scan::index_of,
};
use batch::Rows;
use catalog::{RowKey, Table};
use planner::plan::{ConflictUpdate, Insert, NewRow, OnConflict};

pub(super) struct InsertOperator<'p> {
    plan: &'p Insert,
    input: Input<'p>,
    is_read: bool,
    scratch: Scratch,
    encoded: Encoded,
}

impl<'p> InsertOperator<'p> {
    pub(super) fn new(plan: &'p Insert, input: Input<'p>) -> Self {
        Self {
            plan,
            input,
            is_read: false,
            scratch: Scratch::new(),
            encoded: Encoded::default(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.plan.reads_target && !self.is_read {
            self.input.read_all(context).await?;
            self.is_read = true;
        }
        while out.is_empty() && self.input.more(context).await? {
            match &self.plan.on_conflict {
                None => self.insert_batch(context, out).await?,
                Some(on_conflict) => {
                    while self.input.taken < self.input.batch.len() && !out.is_full() {
                        context.pause(1).await;
                        self.scratch.reset();
                        let row = self.input.batch.row(self.input.taken);
                        insert_or(self.plan, on_conflict, context, &self.scratch, row, out).await?;
                        self.input.taken += 1;
                    }
                }
            }
        }
        Ok(!out.is_empty())
    }

    /// Puts the next rows of the input's batch in.
    async fn insert_batch(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<()> {
        self.scratch.reset();
        self.encoded.clear();
        let Self {
            plan,
            input,
            scratch,
            encoded,
            ..
        } = self;
        let new = &plan.new;
        let first = input.taken;
        // A row takes, with its indexes, more than a unit of the turn: few rows are put in at once.
        let mut until = first + context.turn().piece(input.batch.len() - first);
        let width = plan.values.len();
        let mut values: Vec<Value<'_>> = Vec::with_capacity(width * (until - first));
        let mut failed = None;
        for at in first..until {
            if let Err(error) = compute(plan, context, scratch, input.batch.row(at), &mut values)
                .and_then(|row| encoded.push(new, row))
            {
                failed = Some(error);
                break;
            }
            if context.turn().is_due() || encoded.is_full() {
                until = at + 1;
                break;
            }
        }
        encoded.settle(context.memory())?;
        let row = |at: usize| &values[at * width..(at + 1) * width];
        if let Some((at, error)) = encoded.put(new, context).await {
            context.shared.copy_source.note_failed(first + at);
            return Err(of_write(error, &new.table, context, row(at)));
        }
        if let Some(error) = failed {
            context
                .shared
                .copy_source
                .note_failed(first + encoded.len());
            return Err(error);
        }
        for at in first..until {
            context.key_changes.inserted(&new.table, row(at - first))?;
            let old = input.batch.row(at).iter().copied();
            out.push(old.chain(row(at - first).iter().copied()));
        }
        input.taken = until;
        context.pause(until - first).await;
        Ok(())
    }
}

/// Appends the values of the new row that a row of the input makes, complete and checked, and
/// returns them. On an error, some of them may stay in `values`.
fn compute<'a, 'v>(
    plan: &'a Insert,
    context: &'a ExecutionContext<'_>,
    scratch: &'a Scratch,
    row: &'a [Value<'a>],
    values: &'v mut Vec<Value<'a>>,
) -> Result<&'v [Value<'a>]> {
    let start = values.len();
    {
        let mut evaluator = context.evaluator(scratch);
        for value in &plan.values {
            values.push(value.run(&mut evaluator, row)?);
        }
    }
    let new = &mut values[start..];
    new_row::complete(&plan.new, context, scratch, new)?;
    Ok(new)
}

/// Puts a row in, or takes the action of ON CONFLICT where it meets another row.
async fn insert_or(
    plan: &Insert,
    on_conflict: &OnConflict,
    context: &ExecutionContext<'_>,
    scratch: &Scratch,
    row: &[Value<'_>],
    out: &mut Rows,
) -> Result<()> {
    let table = &plan.new.table;
    let mut new = Vec::with_capacity(plan.values.len());
    compute(plan, context, scratch, row, &mut new)?;
    loop {
        let error = match put(&plan.new, context, &new).await? {
            Ok(()) => {
                out.push(row.iter().copied().chain(new.iter().copied()));
                return Ok(());
            }
            Err(error) => error,
        };
        let met = match conflict(&error, table) {
            Some(met) if is_arbiter(on_conflict, met) => Some(met),
            // Another unique key was met first.
            Some(_) => arbiter_met(plan, on_conflict, context, &new).await?,
            None => None,
        };
        let Some(met) = met else {
            return Err(of_write(error, table, context, &new));
        };
        let Some(update) = &on_conflict.update else {
            return Ok(());
        };
        match change(plan, update, context, scratch, met, &new).await? {
            Changed::Row(changed) => {
                let new = &changed.row(0)[table.columns.len()..];
                out.push(row.iter().copied().chain(new.iter().copied()));
                return Ok(());
            }
            Changed::Nothing => return Ok(()),
            // The other row has gone since: the new row goes in after all, or meets another one.
            Changed::Gone => {}
        }
    }
}

fn is_arbiter(on_conflict: &OnConflict, met: Conflict) -> bool {
    on_conflict.arbiters.is_empty() || on_conflict.arbiters.contains(&met.0)
}

/// Puts a row into its table.
pub(super) async fn put(
    new: &NewRow,
    context: &ExecutionContext<'_>,
    row: &[Value<'_>],
) -> Result<std::result::Result<(), engine::Error>> {
    let mut encoded = Encoded::default();
    encoded.push(new, row)?;
    encoded.settle(context.memory())?;
    let (key, record) = encoded.row(0);
    let put = put_record(new, context, key, record).await;
    if put.is_ok() {
        context.key_changes.inserted(&new.table, row)?;
    }
    Ok(put)
}

enum Changed {
    /// The row as it was, and as it is.
    Row(Rows),
    /// The condition of `WHERE` did not hold.
    Nothing,
    Gone,
}

/// Returns the first of the arbiters that a new row meets, if there is one.
///
/// # Errors
/// 40001 on a snapshot that does not see the row that the new row meets.
async fn arbiter_met(
    plan: &Insert,
    on_conflict: &OnConflict,
    context: &ExecutionContext<'_>,
    new: &[Value<'_>],
) -> Result<Option<Conflict>> {
    let table = &plan.new.table;
    for arbiter in &on_conflict.arbiters {
        let met = Conflict(*arbiter);
        if met_key(plan, context, met, new).await?.is_none() {
            continue;
        }
        // An update of a row that the snapshot does not see aborts by itself.
        if on_conflict.update.is_none()
            && context.transaction.isolation() != Isolation::ReadCommitted
            && key_of(plan, context.transaction, met, new).await?.is_none()
        {
            let error = context.transaction.abort(Abort::SnapshotTooOld);
            return Err(of_engine(error, table));
        }
        return Ok(Some(met));
    }
    Ok(None)
}

/// Returns the key of the row that has a unique key of a new row now, whatever the statement sees.
async fn met_key(
    plan: &Insert,
    context: &ExecutionContext<'_>,
    met: Conflict,
    new: &[Value<'_>],
) -> Result<Option<Vec<u8>>> {
    let present = context.transaction.read_present();
    let present = present.map_err(|error| of_engine(error, &plan.new.table))?;
    key_of(plan, &present, met, new).await
}

/// Returns the key of the row that has a unique key of a new row, as the transaction `reads` sees
/// it.
async fn key_of(
    plan: &Insert,
    reads: &Transaction,
    met: Conflict,
    new: &[Value<'_>],
) -> Result<Option<Vec<u8>>> {
    let table = &plan.new.table;
    let mut key = Vec::new();
    let found = match met.0 {
        None => {
            new_row::key(&plan.new, new, &mut key)?;
            let found = reads.get::<Interleaved, _>(table.storage(), &key, |_| ());
            found.await
        }
        Some(at) => {
            let Some(entry) = entry(table, at, new)? else {
                return Ok(None);
            };
            let handle = index_of(table, at)?;
            let take = |primary: &[u8], _: &[u8]| key.extend(primary);
            let found = reads.get_by::<Interleaved, _>(handle, &entry, take);
            found.await
        }
    };
    let found = found.map_err(|error| of_engine(error, table))?;
    Ok(found.map(|()| key))
}

/// Returns the key of a row in a unique index; `None` if a part of it is NULL, and NULLs are distinct
/// there: the row conflicts with no other one.
fn entry(table: &Table, at: usize, row: &[Value<'_>]) -> Result<Option<Vec<u8>>> {
    let index = &table.indexes[at];
    let columns = index
        .key_columns()
        .ok_or_else(|| SqlError::unsupported("ON CONFLICT with an index over expressions"))?;
    let columns = columns.iter();
    let values: Vec<Value<'_>> = columns.map(|at| row[usize::from(*at)]).collect();
    if !index.nulls_not_distinct && values.iter().any(Value::is_null) {
        return Ok(None);
    }
    let mut entry = Vec::new();
    types::key::write_all(&planner::plan::index_columns(index), &values, &mut entry)?;
    Ok(Some(entry))
}

/// Carries out `DO UPDATE`: changes the row that has the key.
async fn change(
    plan: &Insert,
    update: &ConflictUpdate,
    context: &ExecutionContext<'_>,
    scratch: &Scratch,
    met: Conflict,
    excluded: &[Value<'_>],
) -> Result<Changed> {
    let table = &plan.new.table;
    let key = match met.0 {
        None => {
            let mut key = Vec::new();
            new_row::key(&plan.new, excluded, &mut key)?;
            key
        }
        Some(_) => match met_key(plan, context, met, excluded).await? {
            Some(key) => key,
            None => return Ok(Changed::Gone),
        },
    };
    let mut outcome = Ok(Changed::Nothing);
    let changed = context.transaction.modify_row::<Interleaved>(
        table.storage(),
        &key,
        None,
        |old, record| {
            outcome = changed_row(plan, update, context, scratch, met, old, excluded, record);
            match &outcome {
                Ok(Changed::Row(both)) => {
                    let (old, new) = both.row(0).split_at(table.columns.len());
                    let strength = strength_of_update(table, &update.keys, old, new);
                    ControlFlow::Continue(strength)
                }
                _ => ControlFlow::Break(()),
            }
        },
    );
    let found = changed
        .await
        .map_err(|error| of_write(error, table, context, excluded))?;
    match found.outcome {
        RowOutcome::Absent => return Ok(Changed::Gone),
        RowOutcome::Already => {
            let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
            let hint = "Ensure that no rows proposed for insertion within the same command have \
                        duplicate constrained values.";
            return Err(SqlError::new(SqlState::CARDINALITY_VIOLATION, message).hint(hint));
        }
        RowOutcome::Done | RowOutcome::Left => {}
    }
    let outcome = outcome?;
    if let Changed::Row(changed) = &outcome {
        let (old, new) = changed.row(0).split_at(table.columns.len());
        context.key_changes.updated(table, || old, new)?;
    }
    Ok(outcome)
}

#[expect(
    clippy::too_many_arguments,
    reason = "the row that is there, the one that was to be put in, and how they met"
)]
fn changed_row(
    plan: &Insert,
    update: &ConflictUpdate,
    context: &ExecutionContext<'_>,
    scratch: &Scratch,
    met: Conflict,
    old: &[u8],
    excluded: &[Value<'_>],
    record: &mut Vec<u8>,
) -> Result<Changed> {
    let table: &Table = &plan.new.table;
    let row = Row::new(&plan.new.rows, old)?;
    let mut both = Vec::with_capacity(2 * table.columns.len());
    for at in 0..table.columns.len() {
        both.push(table.value(&row, at)?);
    }
    if let Some(at) = met.0
        && entry(table, at, &both)? != entry(table, at, excluded)?
    {
        // Another transaction has given the row another key since it was met.
        return Ok(Changed::Gone);
    }
    both.extend_from_slice(excluded);
    let mut evaluator = context.evaluator(scratch);
    if let Some(predicate) = &update.predicate
        && !predicate.holds(&mut evaluator, &both)?
    {
        return Ok(Changed::Nothing);
    }
    let mut new = both[..table.columns.len()].to_vec();
    for (at, value) in &update.assignments {
        new[*at] = value.run(&mut evaluator, &both)?;
    }
    new_row::complete(&plan.new, context, scratch, &mut new)?;
    if changes_key(table, &both, &new) {
        return Err(SqlError::unsupported(
            "ON CONFLICT DO UPDATE of the primary key",
        ));
    }
    new_row::record(&plan.new, &new, record)?;
    let mut kept = Rows::new(2 * new.len());
    let old = both[..new.len()].iter().copied();
    kept.push(old.chain(new));
    kept.settle(context.memory())?;
    Ok(Changed::Row(kept))
}

/// Returns whether the new values of a row put it under another key.
pub(super) fn changes_key(table: &Table, old: &[Value<'_>], new: &[Value<'_>]) -> bool {
    match &table.row_key {
        RowKey::Hidden => false,
        RowKey::Columns(columns) => columns.iter().any(|at| {
            let at = usize::from(*at);
            types::compare::compare_as(table.columns[at].ty, old[at], new[at]).is_ne()
        }),
    }
}

impl Operator for InsertOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.is_read = false;
    }
}
