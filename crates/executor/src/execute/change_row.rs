//! The change of one row that a statement has found, in its state at the time of the change and
//! wherever it lies by then.
//!
//! Between finding a row and changing it another transaction may have changed it, or its key. Under
//! read committed the row as it is now counts (PostgreSQL's `EvalPlanQual`): if the statement's
//! conditions hold for it, the action on it is chosen again from its present values
//! ([`RowAction`]); otherwise it is left alone. The engine hands the row over at the moment of the
//! change, so that no other transaction comes in between, and follows it to its new key
//! (`engine/transaction/row.rs`). On a snapshot the engine aborts instead (40001).

use std::ops::ControlFlow;

use engine::{IfLocked as EngineIfLocked, RowFound, RowOutcome, Strength};
use interleave::Interleaved;
use types::{
    Result, Scratch, Value,
    row::{Row, RowLayout, RowWriter},
};

use super::{
    ExecutionContext, Input,
    errors::{of_engine, of_write},
    insert::changes_key,
    key_changes::is_same as is_same_in,
    new_row,
};
use batch::Rows;
use catalog::Table;
use planner::{
    plan::{Assignments, NewRow, RecheckQuery, Target},
    program::Program,
};

/// The action that is to be taken on a row.
#[derive(Clone, Copy)]
pub(super) enum RowAction<'p> {
    Update(&'p NewRow, &'p Assignments),
    Delete,
    /// The row stays as it is.
    Leave,
}

/// The outcome for a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeOutcome {
    /// The row was updated: the caller's list has the statement's row with the record as it was, and then the new
    /// record.
    Updated,
    /// The row was deleted: the caller's list has the statement's row with the record as it was.
    Deleted,
    Left,
    /// The row is gone, or the statement's conditions do not hold for it any more.
    Unmatched,
    /// The statement has changed the row before.
    Already,
}

/// Returns the row with the record's columns as they are now, in `scratch`, if the conditions hold for it.
#[expect(
    clippy::too_many_arguments,
    reason = "a row, a record, and how they go together"
)]
pub(super) fn refreshed<'a>(
    table: &'a Table,
    rows: &RowLayout,
    columns: &[(usize, usize)],
    recheck_condition: Option<&'a Program>,
    context: &'a ExecutionContext<'_>,
    scratch: &'a Scratch,
    row: &[Value<'a>],
    record: &'a [u8],
) -> Result<Option<&'a mut [Value<'a>]>> {
    let fresh = scratch.alloc_slice_copy(row);
    let record = Row::new(rows, record)?;
    for &(at, attribute) in columns {
        fresh[at] = table.value(&record, attribute)?;
    }
    match recheck_condition {
        Some(condition) if !condition.holds(&mut context.evaluator(scratch), fresh)? => Ok(None),
        _ => Ok(Some(fresh)),
    }
}

/// Returns how strongly an update locks a row that writes these columns of keys.
pub(super) fn strength_of_update(
    table: &Table,
    keys: &[u16],
    old: &[Value<'_>],
    new: &[Value<'_>],
) -> Strength {
    match is_same_in(table, keys, old, new) {
        true => Strength::NoKeyUpdate,
        false => Strength::Update,
    }
}

/// Copies a row, so that it outlives what it was read from.
pub(super) fn kept(row: &[Value<'_>]) -> Rows {
    let mut kept = Rows::new(row.len());
    kept.push(row.iter().copied());
    kept
}

fn old_record<'v>(target: &Target, row: &[Value<'v>], scratch: &'v Scratch) -> &'v mut [Value<'v>] {
    record_in(&target.table, &target.columns, row, scratch)
}

/// Returns the two parts of a changed row: the statement's row with the record as it was, and the new record.
fn parts<'r, 'v>(table: &Table, both: &'r [Value<'v>]) -> (&'r [Value<'v>], &'r [Value<'v>]) {
    both.split_at(both.len() - table.columns.len())
}

/// Returns the new record that assignments make of a row with the record as it was.
fn assigned<'a>(
    target: &Target,
    new: &'a NewRow,
    assignments: &'a Assignments,
    context: &'a ExecutionContext<'_>,
    scratch: &'a Scratch,
    fresh: &[Value<'a>],
) -> Result<&'a mut [Value<'a>]> {
    let made = old_record(target, fresh, scratch);
    let mut evaluator = context.evaluator(scratch);
    for (at, value) in &assignments.values {
        made[*at] = value.run(&mut evaluator, fresh)?;
    }
    new_row::complete(new, context, scratch, made)?;
    Ok(made)
}

/// The outcome of one attempt, to take one action.
enum Attempt<'p> {
    Done(ChangeOutcome),
    /// The row as it is now calls for this action instead.
    Otherwise(RowAction<'p>),
    /// The statement's row with the record as it is now, which has to be found again.
    Changed(Rows),
}

/// A query that finds rows again that have changed, where conditions alone do not tell
/// (`planner/plan/recheck.rs`).
pub(super) struct RecheckInput<'p> {
    plan: &'p RecheckQuery,
    query: Input<'p>,
}

impl<'p> RecheckInput<'p> {
    pub(super) fn new(plan: &'p RecheckQuery, query: Input<'p>) -> Self {
        Self { plan, query }
    }

    /// Returns the statement's row for `row`, which has a record as it is now, if there still is
    /// one.
    pub(super) async fn find(
        &mut self,
        context: &ExecutionContext<'_>,
        row: &[Value<'_>],
    ) -> Result<Option<Rows>> {
        let parameters = context.extended(row, &self.plan.given);
        let context = context.with(&parameters);
        self.query.rewind();
        if !self.query.more(&context).await? {
            return Ok(None);
        }
        Ok(Some(kept(self.query.batch.row(0))))
    }
}

/// Returns whether a record is the same in two rows.
pub(super) fn is_same(
    table: &Table,
    rows: &RowLayout,
    columns: &[(usize, usize)],
    one: &[Value<'_>],
    other: &[Value<'_>],
    scratch: &Scratch,
) -> Result<bool> {
    let encoded = |row: &[Value<'_>]| {
        let mut bytes = Vec::new();
        let record = record_in(table, columns, row, scratch);
        RowWriter::write(rows, record, &mut bytes).map(|()| bytes)
    };
    Ok(encoded(one)? == encoded(other)?)
}

/// Returns the record in a row, as far as the row has it.
fn record_in<'v>(
    table: &Table,
    columns: &[(usize, usize)],
    row: &[Value<'v>],
    scratch: &'v Scratch,
) -> &'v mut [Value<'v>] {
    let record = scratch.alloc_slice_fill_copy(table.columns.len(), Value::Null);
    for &(at, attribute) in columns {
        record[attribute] = row[at];
    }
    record
}

/// A row to be changed, and what decides about it.
pub(super) struct Changing<'c, 'p> {
    pub(super) target: &'p Target,
    pub(super) context: &'c ExecutionContext<'c>,
    pub(super) scratch: &'c Scratch,
    pub(super) row: &'c [Value<'c>],
    /// Key of the row's record, when it was found.
    pub(super) key: &'c [u8],
    /// Decision about a row for which the statement's conditions hold.
    pub(super) decide: &'c dyn Fn(&[Value<'_>]) -> Result<RowAction<'p>>,
}

impl<'p> Changing<'_, 'p> {
    /// Changes the row; `first` is the action for it as it was found. `recheck_query` finds it again if it has
    /// changed, where the target says so. `changed` is a list of the caller's, which has one row afterwards if the row
    /// was [updated](ChangeOutcome::Updated) or [deleted](ChangeOutcome::Deleted), and is empty otherwise: it is of no
    /// particular width, and its memory serves row after row.
    ///
    /// # Errors
    /// Errors of programs, of constraints, and of the engine.
    pub(super) async fn change(
        &self,
        first: RowAction<'p>,
        mut recheck_query: Option<&mut RecheckInput<'p>>,
        changed: &mut Rows,
    ) -> Result<ChangeOutcome> {
        let mut action = first;
        let mut found: Option<Rows> = None;
        loop {
            let row = found.as_ref().map_or(self.row, |found| found.row(0));
            let attempt = match action {
                RowAction::Leave => return Ok(ChangeOutcome::Left),
                RowAction::Delete => self.delete(row, changed).await?,
                RowAction::Update(new, assignments) if assignments.may_move => {
                    // The future is boxed: an update of other columns should not carry the frame
                    // along.
                    Box::pin(self.update_key(row, new, assignments, changed)).await?
                }
                RowAction::Update(new, assignments) => {
                    self.update(row, new, assignments, changed).await?
                }
            };
            match (attempt, &mut recheck_query) {
                (Attempt::Done(outcome), _) => return Ok(outcome),
                (Attempt::Otherwise(other), _) => action = other,
                (Attempt::Changed(fresh), Some(recheck_query)) => {
                    // The future is boxed, since it is seldom needed.
                    let Some(row) =
                        Box::pin(recheck_query.find(self.context, fresh.row(0))).await?
                    else {
                        return Ok(ChangeOutcome::Unmatched);
                    };
                    action = (self.decide)(row.row(0))?;
                    found = Some(row);
                }
                (Attempt::Changed(_), None) => return Ok(ChangeOutcome::Unmatched),
            }
        }
    }

    /// Returns the statement's row with a record as it is now, if its conditions hold for it, or
    /// the attempt that has to come first.
    fn refreshed<'a>(
        &'a self,
        row: &[Value<'a>],
        record: &'a [u8],
    ) -> Result<ControlFlow<Option<Attempt<'p>>, &'a mut [Value<'a>]>> {
        let target = self.target;
        let (table, rows, columns) = (&target.table, &target.rows, &target.columns);
        let condition = target.recheck_condition.as_ref();
        let (context, scratch) = (self.context, self.scratch);
        let fresh = refreshed(
            table, rows, columns, condition, context, scratch, row, record,
        )?;
        let Some(fresh) = fresh else {
            return Ok(ControlFlow::Break(None));
        };
        if target.recheck_query.is_some() && !is_same(table, rows, columns, row, fresh, scratch)? {
            let changed = Attempt::Changed(kept(fresh));
            return Ok(ControlFlow::Break(Some(changed)));
        }
        Ok(ControlFlow::Continue(fresh))
    }

    /// Returns the outcome for a row that the engine did not write, although it may have been computed.
    fn untouched(found: &RowFound, changed: &mut Rows) -> Attempt<'p> {
        changed.clear();
        Attempt::Done(match found.outcome {
            RowOutcome::Already => ChangeOutcome::Already,
            RowOutcome::Done | RowOutcome::Left | RowOutcome::Absent => ChangeOutcome::Unmatched,
        })
    }

    async fn update(
        &self,
        row: &[Value<'_>],
        new: &'p NewRow,
        assignments: &'p Assignments,
        changed: &mut Rows,
    ) -> Result<Attempt<'p>> {
        let (target, context) = (self.target, self.context);
        let table = &target.table;
        let mut outcome: Result<Option<Attempt<'p>>> = Ok(None);
        let written = context.transaction.modify_row::<Interleaved>(
            table.storage(),
            self.key,
            Some(context.reads),
            |old, record| {
                let made = self.made(row, new, assignments, old, record, changed);
                let flow = match &made {
                    Ok(Some(Attempt::Done(ChangeOutcome::Updated))) => {
                        ControlFlow::Continue(self.strength(assignments, changed.row(0)))
                    }
                    _ => ControlFlow::Break(()),
                };
                outcome = made;
                flow
            },
        );
        let found = match written.await {
            Ok(found) => found,
            Err(error) => {
                return Err(match changed.is_empty() {
                    true => of_engine(error, table),
                    false => of_write(error, table, context, parts(table, changed.row(0)).1),
                });
            }
        };
        let Some(attempt) = decided(&found, outcome)? else {
            return Ok(Self::untouched(&found, changed));
        };
        if let Attempt::Done(ChangeOutcome::Updated) = &attempt {
            self.note_update(changed.row(0))?;
        }
        Ok(attempt)
    }

    /// Makes the new record of one that is there, if it is to be updated; `changed` has both afterwards.
    fn made<'a>(
        &'a self,
        row: &[Value<'a>],
        new: &'p NewRow,
        assignments: &'p Assignments,
        old: &'a [u8],
        record: &mut Vec<u8>,
        changed: &mut Rows,
    ) -> Result<Option<Attempt<'p>>> {
        changed.clear();
        let fresh = match self.refreshed(row, old)? {
            ControlFlow::Continue(fresh) => fresh,
            ControlFlow::Break(attempt) => return Ok(attempt),
        };
        match (self.decide)(fresh)? {
            RowAction::Update(_, other) if std::ptr::eq(other, assignments) => {}
            other => return Ok(Some(Attempt::Otherwise(other))),
        }
        let made = assigned(
            self.target,
            new,
            assignments,
            self.context,
            self.scratch,
            fresh,
        )?;
        new_row::record(new, made, record)?;
        changed.restart(fresh.len() + made.len());
        changed.push(fresh.iter().chain(&*made).copied());
        Ok(Some(Attempt::Done(ChangeOutcome::Updated)))
    }

    /// Returns how strongly an update locks a row; `both` is the record as it was, and the new one.
    fn strength(&self, assignments: &Assignments, both: &[Value<'_>]) -> Strength {
        if assignments.keys.is_empty() {
            return Strength::NoKeyUpdate;
        }
        let table = &self.target.table;
        let (fresh, made) = parts(table, both);
        let old = old_record(self.target, fresh, self.scratch);
        strength_of_update(table, &assignments.keys, old, made)
    }

    /// Notes keys of an updated row; `both` is the record as it was, and the new one.
    fn note_update(&self, both: &[Value<'_>]) -> Result<()> {
        let table = &self.target.table;
        let (fresh, made) = parts(table, both);
        let old = || &*old_record(self.target, fresh, self.scratch);
        self.context.key_changes.updated(table, old, made)
    }

    /// Updates a row whose key may change with it: locks it first, and then writes it in its place,
    /// or deletes it there and inserts it where it belongs.
    async fn update_key(
        &self,
        row: &[Value<'_>],
        new: &'p NewRow,
        assignments: &'p Assignments,
        changed: &mut Rows,
    ) -> Result<Attempt<'p>> {
        let (target, context) = (self.target, self.context);
        let (table, transaction) = (&target.table, context.transaction);
        let storage = table.storage();
        let mut record = Vec::new();
        // The strength is guessed from the row as it was found: most updates that assign a key to
        // itself need not wait for transactions that refer to it.
        let guessed = assigned(target, new, assignments, context, self.scratch, row);
        let strength = match guessed {
            Ok(made) => {
                let old = old_record(target, row, self.scratch);
                strength_of_update(table, &assignments.keys, old, made)
            }
            // An error that the row as it is now raises as well is raised then.
            Err(_) => Strength::Update,
        };
        let locked = transaction.lock_row::<Interleaved, _>(
            storage,
            self.key,
            Some(context.reads),
            strength,
            EngineIfLocked::Wait,
            |old| self.made(row, new, assignments, old, &mut record, changed),
        );
        let locked = locked.await.map_err(|error| of_engine(error, table))?;
        let attempt = locked.read.transpose()?.flatten();
        let Some(attempt) = attempt else {
            return Ok(Self::untouched(&locked.found, changed));
        };
        let Attempt::Done(ChangeOutcome::Updated) = &attempt else {
            return Ok(attempt);
        };
        let key = locked.found.moved_to.as_deref().unwrap_or(self.key);
        let both = changed.row(0);
        let (fresh, made) = parts(table, both);
        if !changes_key(table, old_record(target, fresh, self.scratch), made) {
            let strength = self.strength(assignments, both);
            let written = transaction.modify_row::<Interleaved>(storage, key, None, |_, stored| {
                stored.extend_from_slice(&record);
                ControlFlow::Continue(strength)
            });
            written
                .await
                .map_err(|error| of_write(error, table, context, made))?;
            self.note_update(both)?;
            return Ok(attempt);
        }
        // Under another key the row is another record.
        let gone = transaction.delete::<Interleaved>(storage, key);
        gone.await.map_err(|error| of_engine(error, table))?;
        let mut new_key = Vec::new();
        new_row::key(new, made, &mut new_key)?;
        let put = transaction.insert::<Interleaved>(storage, &new_key, &record);
        put.await
            .map_err(|error| of_write(error, table, context, made))?;
        let noted = transaction.note_move(storage, key, &new_key);
        noted.map_err(|error| of_engine(error, table))?;
        self.note_update(both)?;
        Ok(attempt)
    }

    async fn delete(&self, row: &[Value<'_>], changed: &mut Rows) -> Result<Attempt<'p>> {
        let (target, context) = (self.target, self.context);
        let table = &target.table;
        let mut outcome: Result<Option<Attempt<'p>>> = Ok(None);
        let deleted = context.transaction.delete_row::<Interleaved>(
            table.storage(),
            self.key,
            Some(context.reads),
            |old| {
                let made = self.unmade(row, old, changed);
                let is_made = matches!(made, Ok(Some(Attempt::Done(_))));
                outcome = made;
                match is_made {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            },
        );
        let found = deleted.await.map_err(|error| of_engine(error, table))?;
        let Some(attempt) = decided(&found, outcome)? else {
            return Ok(Self::untouched(&found, changed));
        };
        if let Attempt::Done(ChangeOutcome::Deleted) = &attempt {
            let old = || &*old_record(target, changed.row(0), self.scratch);
            context.key_changes.deleted(table, old)?;
        }
        Ok(attempt)
    }

    /// Returns the outcome for the row as it is now: deleted, if that is still to be done; `changed` has the row then.
    fn unmade<'a>(
        &'a self,
        row: &[Value<'a>],
        old: &'a [u8],
        changed: &mut Rows,
    ) -> Result<Option<Attempt<'p>>> {
        changed.clear();
        let fresh = match self.refreshed(row, old)? {
            ControlFlow::Continue(fresh) => fresh,
            ControlFlow::Break(attempt) => return Ok(attempt),
        };
        Ok(Some(match (self.decide)(fresh)? {
            RowAction::Delete => {
                changed.restart(fresh.len());
                changed.push(fresh.iter().copied());
                Attempt::Done(ChangeOutcome::Deleted)
            }
            other => Attempt::Otherwise(other),
        }))
    }
}

/// Returns the outcome for the row as it is, if it is there: it may have gone after it was looked
/// at.
fn decided<'p>(
    found: &RowFound,
    outcome: Result<Option<Attempt<'p>>>,
) -> Result<Option<Attempt<'p>>> {
    match found.outcome {
        RowOutcome::Done | RowOutcome::Left => outcome,
        RowOutcome::Absent | RowOutcome::Already => Ok(None),
    }
}
