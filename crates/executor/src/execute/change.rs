//! UPDATE, DELETE, FOR UPDATE: rows that were found are changed or locked, each in its present
//! state (`change_row.rs`).

use std::rc::Rc;

use engine::IfLocked as EngineIfLocked;
use interleave::Interleaved;
use types::{Memory, Result, Scratch, SqlError, SqlState, Value};

use super::{
    ExecutionContext, Input, Operator, Step,
    change_row::{Changing, RecheckInput, RowAction, is_same, kept, refreshed},
    errors::of_engine,
};
use batch::Rows;
use logical::relation::IfLocked;
use planner::{
    plan::{Delete, RowLock, Update},
    program::Program,
};

/// Returns the key of the record in a row, which is at `at`.
fn key_in<'v>(row: &[Value<'v>], at: usize) -> Result<&'v [u8]> {
    match row[at] {
        Value::Bytea(key) => Ok(key),
        _ => Err(SqlError::new(
            SqlState::INTERNAL_ERROR,
            "a record without its key",
        )),
    }
}

/// Returns the list that the next changed row is made in: the output for its first row, which is not copied again
/// then, and `beside` for others.
fn list_of<'r>(out: &'r mut Rows, beside: &'r mut Rows) -> &'r mut Rows {
    match out.is_empty() {
        true => out,
        false => beside,
    }
}

/// Copies a changed row that was made beside the output to it, and charges the row that there is twice meanwhile.
///
/// # Errors
/// 53200 if the statement may not hold as much.
fn hand_on(out: &mut Rows, beside: &mut Rows, memory: &Rc<Memory>) -> Result<()> {
    if beside.is_empty() {
        return Ok(());
    }
    beside.settle(memory)?;
    for row in beside.iter() {
        out.push(row.iter().copied());
    }
    out.settle(memory)?;
    beside.clear();
    Ok(())
}

pub(super) struct UpdateOperator<'p> {
    plan: &'p Update,
    input: Input<'p>,
    recheck_query: Option<RecheckInput<'p>>,
    is_read: bool,
    scratch: Scratch,
    /// Changed row that is not the output's first; empty in between.
    beside: Rows,
}

impl<'p> UpdateOperator<'p> {
    pub(super) fn new(
        plan: &'p Update,
        input: Input<'p>,
        recheck_query: Option<RecheckInput<'p>>,
    ) -> Self {
        Self {
            plan,
            input,
            recheck_query,
            is_read: false,
            scratch: Scratch::new(),
            beside: Rows::default(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.plan.target.read_first && !self.is_read {
            self.input.read_all(context).await?;
            self.is_read = true;
        }
        while out.is_empty() && self.input.more(context).await? {
            while self.input.taken < self.input.batch.len() && !out.is_full() {
                context.pause(1).await;
                self.scratch.reset();
                let row = self.input.batch.row(self.input.taken);
                let plan = self.plan;
                let action = RowAction::Update(&plan.new, &plan.assignments);
                let changing = Changing {
                    target: &plan.target,
                    context,
                    scratch: &self.scratch,
                    row,
                    key: key_in(row, plan.target.key)?,
                    decide: &|_| Ok(action),
                };
                // A row that a join has found twice is changed once.
                let list = list_of(out, &mut self.beside);
                changing
                    .change(action, self.recheck_query.as_mut(), list)
                    .await?;
                hand_on(out, &mut self.beside, context.memory())?;
                self.input.taken += 1;
            }
        }
        Ok(!out.is_empty())
    }
}

impl Operator for UpdateOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn is_over(&self) -> bool {
        self.input.is_over()
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.is_read = false;
    }
}

pub(super) struct DeleteOperator<'p> {
    plan: &'p Delete,
    input: Input<'p>,
    recheck_query: Option<RecheckInput<'p>>,
    is_read: bool,
    scratch: Scratch,
    /// Changed row that is not the output's first; empty in between.
    beside: Rows,
}

impl<'p> DeleteOperator<'p> {
    pub(super) fn new(
        plan: &'p Delete,
        input: Input<'p>,
        recheck_query: Option<RecheckInput<'p>>,
    ) -> Self {
        Self {
            plan,
            input,
            recheck_query,
            is_read: false,
            scratch: Scratch::new(),
            beside: Rows::default(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        let target = &self.plan.target;
        if target.read_first && !self.is_read {
            self.input.read_all(context).await?;
            self.is_read = true;
        }
        while out.is_empty() && self.input.more(context).await? {
            while self.input.taken < self.input.batch.len() && !out.is_full() {
                context.pause(1).await;
                self.scratch.reset();
                let row = self.input.batch.row(self.input.taken);
                let changing = Changing {
                    target,
                    context,
                    scratch: &self.scratch,
                    row,
                    key: key_in(row, target.key)?,
                    decide: &|_| Ok(RowAction::Delete),
                };
                let list = list_of(out, &mut self.beside);
                changing
                    .change(RowAction::Delete, self.recheck_query.as_mut(), list)
                    .await?;
                hand_on(out, &mut self.beside, context.memory())?;
                self.input.taken += 1;
            }
        }
        Ok(!out.is_empty())
    }
}

impl Operator for DeleteOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn is_over(&self) -> bool {
        self.input.is_over()
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.is_read = false;
    }
}

/// The operator of FOR UPDATE and its relatives.
pub(super) struct LockRowsOperator<'p> {
    input: Input<'p>,
    locks: &'p [RowLock],
    recheck_query: Option<RecheckInput<'p>>,
    /// Whether all rows that are left are in the input's batch.
    is_settled: bool,
    scratch: Scratch,
}

impl<'p> LockRowsOperator<'p> {
    pub(super) fn new(
        input: Input<'p>,
        locks: &'p [RowLock],
        recheck_query: Option<RecheckInput<'p>>,
    ) -> Self {
        Self {
            input,
            locks,
            recheck_query,
            is_settled: false,
            scratch: Scratch::new(),
        }
    }

    /// Returns whether there are rows that were not looked at.
    async fn more(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        match self.is_settled {
            true => Ok(self.input.taken < self.input.batch.len()),
            false => self.input.more(context).await,
        }
    }

    /// Hands on one row at a time: the rows that a caller does not take are not locked.
    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        while out.is_empty() && self.more(context).await? {
            while out.is_empty() && self.input.taken < self.input.batch.len() {
                context.pause(1).await;
                self.scratch.reset();
                let found = self.input.batch.row(self.input.taken);
                let mut row = kept(found);
                let mut keeps = true;
                for lock in self.locks {
                    match locked(lock, context, &self.scratch, &row).await? {
                        Some(fresh) => row = fresh,
                        None => {
                            keeps = false;
                            break;
                        }
                    }
                }
                if let Some(recheck_query) = self.recheck_query.as_mut().filter(|_| keeps)
                    && has_changed(self.locks, found, row.row(0), &self.scratch)?
                {
                    match recheck_query.find(context, row.row(0)).await? {
                        Some(now) => row = now,
                        None => keeps = false,
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

/// Returns whether a record in `row` is a different one than in `found`, the row as it was found.
fn has_changed(
    locks: &[RowLock],
    found: &[Value<'_>],
    row: &[Value<'_>],
    scratch: &Scratch,
) -> Result<bool> {
    for lock in locks {
        if !is_same(&lock.table, &lock.rows, &lock.columns, found, row, scratch)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the row with the values that are computed from the record, as that is now.
fn recomputed<'a>(
    row: Option<&'a mut [Value<'a>]>,
    computed: &'a [(usize, Program)],
    context: &'a ExecutionContext<'_>,
    scratch: &'a Scratch,
) -> Result<Option<&'a [Value<'a>]>> {
    let Some(row) = row else {
        return Ok(None);
    };
    for (at, program) in computed {
        row[*at] = program.run(&mut context.evaluator(scratch), row)?;
    }
    Ok(Some(row))
}

/// Locks one record of a row; returns the row as it is now, or `None` if the row is passed over.
async fn locked(
    lock: &RowLock,
    context: &ExecutionContext<'_>,
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
    let if_locked = match lock.if_locked {
        IfLocked::Wait => EngineIfLocked::Wait,
        IfLocked::Fail => EngineIfLocked::Fail,
        IfLocked::Skip => EngineIfLocked::Skip,
    };
    let held = context.transaction.lock_row::<Interleaved, _>(
        lock.table.storage(),
        key,
        Some(context.reads),
        lock.strength,
        if_locked,
        |record| {
            let row = refreshed(
                &lock.table,
                &lock.rows,
                &lock.columns,
                lock.recheck_condition.as_ref(),
                context,
                scratch,
                values,
                record,
            )?;
            let row = recomputed(row, &lock.computed, context, scratch)?;
            Ok(row.map(kept))
        },
    );
    let held = held.await.map_err(|error| of_engine(error, &lock.table))?;
    held.read.unwrap_or(Ok(None))
}

impl Operator for LockRowsOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn settle<'f>(&'f mut self, context: &'f ExecutionContext<'_>) -> Step<'f> {
        Box::pin(async {
            if !self.is_settled {
                self.input.read_all(context).await?;
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
