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

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    ops::ControlFlow,
    rc::Rc,
    task::Poll,
};

use engine::{Abort, Isolation, RowOutcome, Transaction};
use interleave::{Interleaved, together};
use types::{Charge, Memory, Result, Scratch, SqlError, SqlState, Value, row::Row};

use super::{
    BATCH_ROWS, ExecutionContext, Input, Operator, Step,
    change_row::strength_of_update,
    errors::{Conflict, conflict, of_engine, of_write},
    new_row,
    scan::{column, index_of},
};
use batch::Rows;
use catalog::{RowKey, Table};
use planner::plan::{ConflictUpdate, Insert, NewRow, OnConflict};

/// Bytes of records after which a batch ends: one more record than they are in memory at once.
const BYTES_MAX: usize = 1 << 20;

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

/// Keys and records of new rows, one behind the other.
#[derive(Default)]
struct Encoded {
    bytes: Vec<u8>,
    /// Ends of the key and the record of each row. A row without a key gets a number.
    ends: Vec<(usize, usize)>,
    charge: Charge,
}

impl Encoded {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are as many rows, or bytes, as are put in at once.
    fn is_full(&self) -> bool {
        self.len() >= BATCH_ROWS || self.bytes.len() >= BYTES_MAX
    }

    /// Charges the memory to the statement.
    ///
    /// # Errors
    /// 53200 if the statement has no more.
    fn settle(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.charge.set(memory, self.bytes.capacity())
    }

    fn push(&mut self, new: &NewRow, row: &[Value<'_>]) -> Result<()> {
        new_row::key(new, row, &mut self.bytes)?;
        let key_end = self.bytes.len();
        new_row::record(new, row, &mut self.bytes)?;
        self.ends.push((key_end, self.bytes.len()));
        Ok(())
    }

    fn row(&self, at: usize) -> (&[u8], &[u8]) {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let (key_end, end) = self.ends[at];
        (&self.bytes[start..key_end], &self.bytes[key_end..end])
    }

    /// Puts all rows in; returns the first of those that failed, if any did.
    async fn put(
        &self,
        new: &NewRow,
        context: &ExecutionContext<'_>,
    ) -> Option<(usize, engine::Error)> {
        let one = async |at: usize| {
            let (key, record) = self.row(at);
            put_record(new, context, key, record).await
        };
        if self.len() == 1 || !new.table.indexes.is_empty() {
            for at in 0..self.len() {
                if let Err(error) = one(at).await {
                    return Some((at, error));
                }
            }
            return None;
        }
        let progress: RefCell<Progress> = RefCell::default();
        let all = (0..self.len())
            .take_while(|_| progress.borrow().failed.is_empty())
            .inspect(|at| progress.borrow_mut().begin(*at))
            .map(async |at| (at, one(at).await));
        // The future is boxed: a statement that puts one row in should not carry the frames of many
        // along.
        let mut all = Box::pin(together::<Interleaved, _>(all, |(at, done)| {
            progress.borrow_mut().end(at, done);
        }));
        poll_fn(|context| match all.as_mut().poll(context) {
            // Rows behind the one that failed may wait for as long as another transaction likes.
            Poll::Pending if self.is_decided(&progress.borrow()) => Poll::Ready(()),
            polled => polled,
        })
        .await;
        drop(all);
        self.first_failed(&progress.into_inner())
    }

    /// Returns whether no row that is under way can change which failure is reported.
    fn is_decided(&self, progress: &Progress) -> bool {
        self.first_failed(progress)
            .is_some_and(|(first, _)| progress.under_way.iter().all(|at| *at > first))
    }

    fn first_failed(&self, progress: &Progress) -> Option<(usize, engine::Error)> {
        let told = progress
            .failed
            .iter()
            .map(|&(at, error)| (self.in_order(at, error, progress), error));
        told.min_by_key(|(at, _)| *at)
    }

    /// Returns the row that would have failed if the rows had gone in one after the other. If several
    /// rows have one key, a later one may have gone in before one that failed: then the second of
    /// them is reported.
    fn in_order(&self, at: usize, error: engine::Error, progress: &Progress) -> usize {
        if !matches!(error, engine::Error::DuplicateKey) {
            return at;
        }
        let key = self.row(at).0;
        let mut later = (at + 1..progress.begun).filter(|other| self.row(*other).0 == key);
        match later.clone().any(|other| progress.is_in(other)) {
            true => later.next().unwrap_or(at),
            false => at,
        }
    }
}

/// The progress of rows that go in beside each other.
#[derive(Default)]
struct Progress {
    /// Number of rows that were begun; these are the first ones.
    begun: usize,
    /// Rows that have not ended. Both lists are as long at most as the number of rows that
    /// [`together`] has under way.
    under_way: Vec<usize>,
    failed: Vec<(usize, engine::Error)>,
}

impl Progress {
    fn begin(&mut self, at: usize) {
        self.begun = at + 1;
        self.under_way.push(at);
    }

    fn end(&mut self, at: usize, done: std::result::Result<(), engine::Error>) {
        self.under_way.retain(|other| *other != at);
        if let Err(error) = done {
            self.failed.push((at, error));
        }
    }

    /// Returns whether a row that was begun has gone in.
    fn is_in(&self, at: usize) -> bool {
        !self.under_way.contains(&at) && self.failed.iter().all(|(failed, _)| *failed != at)
    }
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
    let (key, record) = encoded.row(0);
    let put = put_record(new, context, key, record).await;
    if put.is_ok() {
        context.key_changes.inserted(&new.table, row)?;
    }
    Ok(put)
}

/// Puts in a record under its key, which a table without a primary key makes.
async fn put_record(
    new: &NewRow,
    context: &ExecutionContext<'_>,
    key: &[u8],
    record: &[u8],
) -> std::result::Result<(), engine::Error> {
    let storage = new.table.storage();
    if let RowKey::Columns(_) = new.table.row_key {
        return context
            .transaction
            .insert::<Interleaved>(storage, key, record)
            .await;
    }
    loop {
        let number = context.row_numbers.next().to_be_bytes();
        let put = context
            .transaction
            .insert::<Interleaved>(storage, &number, record);
        match put.await {
            // The clock was turned back to where there are rows already.
            Err(engine::Error::DuplicateKey) => {}
            other => return other,
        }
    }
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
        both.push(column(table, &row, at)?);
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
