//! MERGE: each row of the source changes the row of the table that it was joined with, or is put in.

use std::collections::HashSet;

use types::{Result, Scratch, SqlError, SqlState, Value};

use super::{
    Input, Operator, Run, Step,
    change::{delete, update},
    errors::of_write,
    insert::put,
};
use crate::{
    plan::{Merge, MergeKind},
    rows::Rows,
};

pub(super) struct Merging<'p> {
    plan: &'p Merge,
    input: Input<'p>,
    is_read: bool,
    /// Records that were changed: none may be twice.
    done: HashSet<Box<[u8]>>,
    scratch: Scratch,
}

impl<'p> Merging<'p> {
    pub(super) fn new(plan: &'p Merge, input: Input<'p>) -> Self {
        Self {
            plan,
            input,
            is_read: false,
            done: HashSet::new(),
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        if !self.is_read {
            self.input.read_all(run).await?;
            self.is_read = true;
        }
        while out.is_empty() && self.input.more(run).await? {
            self.scratch.reset();
            let row = self.input.batch.row(self.input.taken);
            if merge(self.plan, run, &self.scratch, row, &mut self.done).await? {
                // Rows are counted, not shown.
                out.push([]);
            }
            self.input.taken += 1;
        }
        Ok(!out.is_empty())
    }
}

/// What is done about one row of the source; whether anything was.
async fn merge(
    plan: &Merge,
    run: &Run<'_>,
    scratch: &Scratch,
    row: &[Value<'_>],
    done: &mut HashSet<Box<[u8]>>,
) -> Result<bool> {
    let key = match row[plan.target.key] {
        Value::Bytea(key) => Some(key),
        _ => None,
    };
    let mut chosen = None;
    {
        let mut machine = run.machine(scratch);
        for action in plan
            .actions
            .iter()
            .filter(|action| action.matched == key.is_some())
        {
            let holds = match &action.predicate {
                Some(predicate) => predicate.holds(&mut machine, row)?,
                None => true,
            };
            if holds {
                chosen = Some(&action.kind);
                break;
            }
        }
    }
    let Some(kind) = chosen else {
        return Ok(false);
    };
    if let Some(key) = key
        && !done.insert(key.into())
    {
        let message = "MERGE command cannot affect row a second time";
        return Err(SqlError::new(SqlState::CARDINALITY_VIOLATION, message)
            .hint("Ensure that not more than one source row matches any one target row."));
    }
    match (kind, key) {
        (MergeKind::Update(assignments), Some(key)) => {
            let mut changed = Rows::new(row.len() + plan.target.table.columns.len());
            update(
                &plan.target,
                &plan.new,
                assignments,
                run,
                scratch,
                row,
                key,
                &mut changed,
            )
            .await?;
            Ok(!changed.is_empty())
        }
        (MergeKind::Delete, Some(key)) => Ok(delete(&plan.target, run, scratch, row, key)
            .await?
            .is_some()),
        (MergeKind::Insert(values), None) => {
            let mut new = Vec::with_capacity(values.len());
            {
                let mut machine = run.machine(scratch);
                for value in values {
                    new.push(value.run(&mut machine, row)?);
                }
            }
            plan.new.complete(run, scratch, &mut new)?;
            put(&plan.new, run, &new)
                .await?
                .map_err(|error| of_write(error, &plan.new.table, run, &new))?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

impl Operator for Merging<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(run, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.is_read = false;
        self.done.clear();
    }
}
