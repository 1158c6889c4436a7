//! UPDATE, DELETE, FOR UPDATE: rows that were found are changed or locked, each as it is then.
//!
//! Between finding a row and changing it another transaction may have changed it. Under read
//! committed the newest row counts: if the statement's conditions still hold for it, it is the one
//! that is changed; otherwise it is left alone. On a snapshot the engine aborts (40001).

use std::{collections::HashSet, ops::ControlFlow};

use engine::{IfLocked as EngineIfLocked, Strength};
use interleave::Interleaved;
use types::{Result, Scratch, SqlError, SqlState, Value, row::Row};

use super::{
    BATCH_ROWS, Input, Operator, Run, Step,
    errors::{of_engine, of_write},
    insert::{changes_key, put},
    scan::column,
};
use crate::{
    catalog::Table,
    plan::{Delete, NewRow, RowLock, Target, Update},
    program::Program,
    relation::IfLocked,
    rows::Rows,
};

/// The key of the record in a row.
fn key_in<'v>(row: &[Value<'v>], at: usize) -> Result<&'v [u8]> {
    match row[at] {
        Value::Bytea(key) => Ok(key),
        _ => Err(SqlError::new(
            SqlState::INTERNAL_ERROR,
            "a record without its key",
        )),
    }
}

/// A row with the record's columns as they are now, if the conditions hold for it.
#[expect(
    clippy::too_many_arguments,
    reason = "a row, a record, and how they go together"
)]
fn refreshed<'a>(
    table: &'a Table,
    rows: &types::row::RowLayout,
    columns: &[(usize, usize)],
    recheck: Option<&'a Program>,
    run: &'a Run<'_>,
    scratch: &'a Scratch,
    row: &[Value<'a>],
    record: &'a [u8],
) -> Result<Option<Vec<Value<'a>>>> {
    let mut fresh = row.to_vec();
    let record = Row::new(rows, record)?;
    for &(at, attribute) in columns {
        fresh[at] = column(table, &record, attribute)?;
    }
    match recheck {
        Some(recheck) if !recheck.holds(&mut run.machine(scratch), &fresh)? => Ok(None),
        _ => Ok(Some(fresh)),
    }
}

pub(super) struct Updating<'p> {
    plan: &'p Update,
    input: Input<'p>,
    is_read: bool,
    /// Keys of records that were changed: a join may find one twice.
    done: HashSet<Box<[u8]>>,
    scratch: Scratch,
}

impl<'p> Updating<'p> {
    pub(super) fn new(plan: &'p Update, input: Input<'p>) -> Self {
        Self {
            plan,
            input,
            is_read: false,
            done: HashSet::new(),
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        if self.plan.target.read_first && !self.is_read {
            self.input.read_all(run).await?;
            self.is_read = true;
        }
        while out.is_empty() && self.input.more(run).await? {
            while self.input.taken < self.input.batch.len() && out.len() < BATCH_ROWS {
                self.scratch.reset();
                let row = self.input.batch.row(self.input.taken);
                let key = key_in(row, self.plan.target.key)?;
                if !self.plan.target.read_first || self.done.insert(key.into()) {
                    let plan = self.plan;
                    update(
                        &plan.target,
                        &plan.new,
                        &plan.assignments,
                        run,
                        &self.scratch,
                        row,
                        key,
                        out,
                    )
                    .await?;
                }
                self.input.taken += 1;
            }
        }
        Ok(!out.is_empty())
    }
}

impl Target {
    /// The record in a row, as far as the row has it.
    fn record<'v>(&self, row: &[Value<'v>]) -> Vec<Value<'v>> {
        let mut record = vec![Value::Null; self.table.columns.len()];
        for &(at, attribute) in &self.columns {
            record[attribute] = row[at];
        }
        record
    }
}

/// The new row that assignments make of one with the target's columns.
fn assigned<'a>(
    target: &Target,
    new: &'a NewRow,
    assignments: &'a [(usize, Program)],
    run: &'a Run<'_>,
    scratch: &'a Scratch,
    fresh: &[Value<'a>],
) -> Result<(Vec<Value<'a>>, Vec<Value<'a>>)> {
    let old = target.record(fresh);
    let mut made = old.clone();
    let mut machine = run.machine(scratch);
    for (at, value) in assignments {
        made[*at] = value.run(&mut machine, fresh)?;
    }
    new.complete(run, scratch, &mut made)?;
    Ok((old, made))
}

/// Changes one record, if the statement's conditions still hold; adds the row as it was and as it
/// is to `out`.
#[expect(
    clippy::too_many_arguments,
    reason = "what is changed, how, and where it is found"
)]
pub(super) async fn update(
    target: &Target,
    new: &NewRow,
    assignments: &[(usize, Program)],
    run: &Run<'_>,
    scratch: &Scratch,
    row: &[Value<'_>],
    key: &[u8],
    out: &mut Rows,
) -> Result<()> {
    let table = &target.table;
    let mut outcome: Result<Option<Moved>> = Ok(None);
    let mut failed_row = Rows::new(table.columns.len());
    let changed = run
        .transaction
        .modify::<Interleaved>(table.storage(), key, |old, record| {
            failed_row.clear();
            outcome = (|| {
                let fresh = refreshed(
                    table,
                    &target.rows,
                    &target.columns,
                    target.recheck.as_ref(),
                    run,
                    scratch,
                    row,
                    old,
                )?;
                let Some(fresh) = fresh else {
                    return Ok(None);
                };
                let (before, made) = assigned(target, new, assignments, run, scratch, &fresh)?;
                let moves = changes_key(table, &before, &made);
                if !moves {
                    new.record(&made, record)?;
                }
                failed_row.push(made.iter().copied());
                let mut both = Rows::new(fresh.len() + made.len());
                both.push(fresh.into_iter().chain(made));
                Ok(Some(Moved { both, moves }))
            })();
            match &outcome {
                Ok(Some(Moved { moves: false, .. })) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
    let result = changed.await;
    if let Err(error) = result {
        return Err(match failed_row.is_empty() {
            true => of_engine(error, table),
            false => of_write(error, table, run, failed_row.row(0)),
        });
    }
    let Some(moved) = outcome? else {
        return Ok(());
    };
    if moved.moves {
        // Under another key it is another record.
        let gone = run
            .transaction
            .delete::<Interleaved>(table.storage(), key)
            .await;
        gone.map_err(|error| of_engine(error, table))?;
        let width = moved.both.width() - table.columns.len();
        let made = &moved.both.row(0)[width..];
        put(new, run, made)
            .await?
            .map_err(|error| of_write(error, table, run, made))?;
    }
    let both = moved.both.row(0);
    let (fresh, made) = both.split_at(both.len() - table.columns.len());
    run.key_changes
        .updated(table, || target.record(fresh), made)?;
    out.push(both.iter().copied());
    Ok(())
}

/// The row as it was and as it is, and whether it lies under another key now.
struct Moved {
    both: Rows,
    moves: bool,
}

impl Operator for Updating<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(run, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.is_read = false;
        self.done.clear();
    }
}

/// Deletes one record, if the statement's conditions still hold; the row as it was.
pub(super) async fn delete(
    target: &Target,
    run: &Run<'_>,
    scratch: &Scratch,
    row: &[Value<'_>],
    key: &[u8],
) -> Result<Option<Rows>> {
    let mut fresh = Ok(None);
    let storage = target.table.storage();
    let locked = run.transaction.lock::<Interleaved, _>(
        storage,
        key,
        Strength::Exclusive,
        EngineIfLocked::Wait,
        |record| {
            fresh = kept(refreshed(
                &target.table,
                &target.rows,
                &target.columns,
                target.recheck.as_ref(),
                run,
                scratch,
                row,
                record,
            ));
        },
    );
    locked
        .await
        .map_err(|error| of_engine(error, &target.table))?;
    let Some(fresh) = fresh? else {
        return Ok(None);
    };
    let gone = run.transaction.delete::<Interleaved>(storage, key).await;
    if !gone.map_err(|error| of_engine(error, &target.table))? {
        return Ok(None);
    }
    run.key_changes
        .deleted(&target.table, || target.record(fresh.row(0)))?;
    Ok(Some(fresh))
}

/// A row that outlives what it was read from.
fn kept(row: Result<Option<Vec<Value<'_>>>>) -> Result<Option<Rows>> {
    Ok(row?.map(|row| {
        let mut kept = Rows::new(row.len());
        kept.push(row);
        kept
    }))
}

pub(super) struct Deleting<'p> {
    plan: &'p Delete,
    input: Input<'p>,
    is_read: bool,
    scratch: Scratch,
}

impl<'p> Deleting<'p> {
    pub(super) fn new(plan: &'p Delete, input: Input<'p>) -> Self {
        Self {
            plan,
            input,
            is_read: false,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        let target = &self.plan.target;
        if target.read_first && !self.is_read {
            self.input.read_all(run).await?;
            self.is_read = true;
        }
        while out.is_empty() && self.input.more(run).await? {
            while self.input.taken < self.input.batch.len() && out.len() < BATCH_ROWS {
                self.scratch.reset();
                let row = self.input.batch.row(self.input.taken);
                let key = key_in(row, target.key)?;
                if let Some(fresh) = delete(target, run, &self.scratch, row, key).await? {
                    out.push(fresh.row(0).iter().copied());
                }
                self.input.taken += 1;
            }
        }
        Ok(!out.is_empty())
    }
}

impl Operator for Deleting<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(run, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.is_read = false;
    }
}

/// FOR UPDATE and FOR SHARE.
pub(super) struct Locking<'p> {
    input: Input<'p>,
    locks: &'p [RowLock],
    /// All rows that are left are in the input's batch.
    is_settled: bool,
    scratch: Scratch,
}

impl<'p> Locking<'p> {
    pub(super) fn new(input: Input<'p>, locks: &'p [RowLock]) -> Self {
        Self {
            input,
            locks,
            is_settled: false,
            scratch: Scratch::new(),
        }
    }

    /// Whether there are rows that were not looked at.
    async fn more(&mut self, run: &Run<'_>) -> Result<bool> {
        match self.is_settled {
            true => Ok(self.input.taken < self.input.batch.len()),
            false => self.input.more(run).await,
        }
    }

    /// One row: who takes no more has no more locked.
    async fn advance(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        while out.is_empty() && self.more(run).await? {
            while out.is_empty() && self.input.taken < self.input.batch.len() {
                self.scratch.reset();
                let mut row = Rows::new(self.input.batch.width());
                row.push(self.input.batch.row(self.input.taken).iter().copied());
                let mut keeps = true;
                for lock in self.locks {
                    match locked(lock, run, &self.scratch, &row).await? {
                        Some(fresh) => row = fresh,
                        None => {
                            keeps = false;
                            break;
                        }
                    }
                }
                if keeps {
                    out.push(row.row(0).iter().copied());
                }
                self.input.taken += 1;
            }
        }
        Ok(!out.is_empty())
    }
}

/// The row with what is computed from the record, as that is now.
fn recomputed<'a>(
    row: Option<Vec<Value<'a>>>,
    computed: &'a [(usize, Program)],
    run: &'a Run<'_>,
    scratch: &'a Scratch,
) -> Result<Option<Vec<Value<'a>>>> {
    let Some(mut row) = row else {
        return Ok(None);
    };
    for (at, program) in computed {
        row[*at] = program.run(&mut run.machine(scratch), &row)?;
    }
    Ok(Some(row))
}

/// Locks one record of a row; the row as it is now. `None`: it is passed over.
async fn locked(
    lock: &RowLock,
    run: &Run<'_>,
    scratch: &Scratch,
    row: &Rows,
) -> Result<Option<Rows>> {
    let values = row.row(0);
    // The nullable side of an outer join has no record here.
    let Value::Bytea(key) = values[lock.key] else {
        let mut same = Rows::new(row.width());
        same.push(values.iter().copied());
        return Ok(Some(same));
    };
    let strength = if lock.exclusive {
        Strength::Exclusive
    } else {
        Strength::Shared
    };
    let if_locked = match lock.if_locked {
        IfLocked::Wait => EngineIfLocked::Wait,
        IfLocked::Fail => EngineIfLocked::Fail,
        IfLocked::Skip => EngineIfLocked::Skip,
    };
    let mut fresh = Ok(None);
    let held = run.transaction.lock::<Interleaved, _>(
        lock.table.storage(),
        key,
        strength,
        if_locked,
        |record| {
            let row = refreshed(
                &lock.table,
                &lock.rows,
                &lock.columns,
                lock.recheck.as_ref(),
                run,
                scratch,
                values,
                record,
            );
            fresh = kept(row.and_then(|row| recomputed(row, &lock.computed, run, scratch)));
        },
    );
    held.await.map_err(|error| of_engine(error, &lock.table))?;
    fresh
}

impl Operator for Locking<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(run, out))
    }

    fn settle<'f>(&'f mut self, run: &'f Run<'_>) -> Step<'f> {
        Box::pin(async {
            if !self.is_settled {
                self.input.read_all(run).await?;
                self.is_settled = true;
            }
            Ok(true)
        })
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.is_settled = false;
    }
}
