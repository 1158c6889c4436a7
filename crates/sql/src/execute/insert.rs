//! INSERT: rows are put in one by one; each is checked, then its conflicts are seen to.

use std::ops::ControlFlow;

use interleave::Interleaved;
use types::{Result, Scratch, SqlError, Value, row::Row};

use super::{
    BATCH_ROWS, Input, Operator, Run, Step,
    errors::{Conflict, conflict, of_engine, of_write},
    scan::{column, index_of},
};
use crate::{
    catalog::{RowKey, Table},
    plan::{ConflictUpdate, Insert, NewRow, OnConflict},
    rows::Rows,
};

pub(super) struct Inserting<'p> {
    plan: &'p Insert,
    input: Input<'p>,
    is_read: bool,
    scratch: Scratch,
}

impl<'p> Inserting<'p> {
    pub(super) fn new(plan: &'p Insert, input: Input<'p>) -> Self {
        Self {
            plan,
            input,
            is_read: false,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        if self.plan.reads_target && !self.is_read {
            self.input.read_all(run).await?;
            self.is_read = true;
        }
        while out.is_empty() && self.input.more(run).await? {
            while self.input.taken < self.input.batch.len() && out.len() < BATCH_ROWS {
                self.scratch.reset();
                let row = self.input.batch.row(self.input.taken);
                insert(self.plan, run, &self.scratch, row, out).await?;
                self.input.taken += 1;
            }
        }
        Ok(!out.is_empty())
    }
}

async fn insert(
    plan: &Insert,
    run: &Run<'_>,
    scratch: &Scratch,
    row: &[Value<'_>],
    out: &mut Rows,
) -> Result<()> {
    let table = &plan.new.table;
    let mut new: Vec<Value<'_>> = Vec::with_capacity(plan.values.len());
    {
        let mut machine = run.machine(scratch);
        for value in &plan.values {
            new.push(value.run(&mut machine, row)?);
        }
    }
    plan.new.complete(run, scratch, &mut new)?;
    let Some(on_conflict) = &plan.on_conflict else {
        put(&plan.new, run, &new)
            .await?
            .map_err(|error| of_write(error, table, run, &new))?;
        out.push(row.iter().copied().chain(new.iter().copied()));
        return Ok(());
    };
    loop {
        let error = match put(&plan.new, run, &new).await? {
            Ok(()) => {
                out.push(row.iter().copied().chain(new.iter().copied()));
                return Ok(());
            }
            Err(error) => error,
        };
        let met = conflict(&error, table).filter(|met| is_arbiter(on_conflict, *met));
        let Some(met) = met else {
            return Err(of_write(error, table, run, &new));
        };
        let Some(update) = &on_conflict.update else {
            return Ok(());
        };
        match change(plan, update, run, scratch, met, &new).await? {
            Changed::Row(changed) => {
                let new = &changed.row(0)[table.columns.len()..];
                out.push(row.iter().copied().chain(new.iter().copied()));
                return Ok(());
            }
            Changed::Nothing => return Ok(()),
            // It has gone since: the row goes in after all, or meets another.
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
    run: &Run<'_>,
    row: &[Value<'_>],
) -> Result<std::result::Result<(), engine::Error>> {
    let mut record = Vec::new();
    new.record(row, &mut record)?;
    let storage = new.table.storage();
    let mut key = Vec::new();
    if !new.key(row, &mut key)? {
        loop {
            let number = run.row_numbers.next().to_be_bytes();
            let put = run
                .transaction
                .insert::<Interleaved>(storage, &number, &record);
            match put.await {
                // The clock was turned back to where there are rows already.
                Err(engine::Error::DuplicateKey) => {}
                other => return noted(other, new, run, row),
            }
        }
    }
    let put = run
        .transaction
        .insert::<Interleaved>(storage, &key, &record);
    noted(put.await, new, run, row)
}

/// Tells of a row that was put in.
fn noted(
    put: std::result::Result<(), engine::Error>,
    new: &NewRow,
    run: &Run<'_>,
    row: &[Value<'_>],
) -> Result<std::result::Result<(), engine::Error>> {
    if put.is_ok() {
        run.key_changes.inserted(&new.table, row)?;
    }
    Ok(put)
}

enum Changed {
    /// As it was, and as it is.
    Row(Rows),
    /// `WHERE` did not hold.
    Nothing,
    Gone,
}

/// `DO UPDATE`: changes the row that has the key.
async fn change(
    plan: &Insert,
    update: &ConflictUpdate,
    run: &Run<'_>,
    scratch: &Scratch,
    met: Conflict,
    excluded: &[Value<'_>],
) -> Result<Changed> {
    let table = &plan.new.table;
    let mut key = Vec::new();
    match met.0 {
        None => {
            plan.new.key(excluded, &mut key)?;
        }
        Some(at) => {
            let index = &table.indexes[at];
            let columns = index.key_columns().ok_or_else(|| {
                SqlError::unsupported("ON CONFLICT with an index over expressions")
            })?;
            let values: Vec<Value<'_>> = columns
                .iter()
                .map(|at| excluded[usize::from(*at)])
                .collect();
            let mut entry = Vec::new();
            types::key::write_all(&crate::plan::index_columns(index), &values, &mut entry)?;
            let handle = index_of(table, at)?;
            let found = run
                .transaction
                .get_by::<Interleaved, _>(handle, &entry, |primary, _| key.extend(primary));
            if found
                .await
                .map_err(|error| of_engine(error, table))?
                .is_none()
            {
                return Ok(Changed::Gone);
            }
        }
    }
    let mut outcome = Ok(Changed::Nothing);
    let changed = run
        .transaction
        .modify::<Interleaved>(table.storage(), &key, |old, record| {
            outcome = changed_row(plan, update, run, scratch, old, excluded, record);
            match &outcome {
                Ok(Changed::Row(_)) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
    let there = changed
        .await
        .map_err(|error| of_write(error, table, run, excluded))?;
    match outcome? {
        Changed::Row(_) if !there => Ok(Changed::Gone),
        Changed::Row(changed) => {
            let (old, new) = changed.row(0).split_at(table.columns.len());
            run.key_changes.updated(table, || old.to_vec(), new)?;
            Ok(Changed::Row(changed))
        }
        other => Ok(other),
    }
}

fn changed_row(
    plan: &Insert,
    update: &ConflictUpdate,
    run: &Run<'_>,
    scratch: &Scratch,
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
    both.extend_from_slice(excluded);
    let mut machine = run.machine(scratch);
    if let Some(predicate) = &update.predicate
        && !predicate.holds(&mut machine, &both)?
    {
        return Ok(Changed::Nothing);
    }
    let mut new = both[..table.columns.len()].to_vec();
    for (at, value) in &update.assignments {
        new[*at] = value.run(&mut machine, &both)?;
    }
    plan.new.complete(run, scratch, &mut new)?;
    if changes_key(table, &both, &new) {
        return Err(SqlError::unsupported(
            "ON CONFLICT DO UPDATE of the primary key",
        ));
    }
    plan.new.record(&new, record)?;
    let mut kept = Rows::new(2 * new.len());
    let old = both[..new.len()].iter().copied();
    kept.push(old.chain(new));
    Ok(Changed::Row(kept))
}

/// Whether a row would lie under another key.
pub(super) fn changes_key(table: &Table, old: &[Value<'_>], new: &[Value<'_>]) -> bool {
    match &table.row_key {
        RowKey::Hidden => false,
        RowKey::Columns(columns) => columns.iter().any(|at| {
            let at = usize::from(*at);
            types::compare::compare_as(table.columns[at].ty, old[at], new[at]).is_ne()
        }),
    }
}

impl Operator for Inserting<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(run, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.is_read = false;
    }
}
