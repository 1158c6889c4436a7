//! MERGE: each row of the source changes the row of the table that it was joined with, or is put
//! in.
//!
//! The row as it was found decides which WHEN applies. If another transaction has changed it
//! meanwhile, the row as it is now decides again (`change_row.rs`); if that is no match of the
//! source's row any more, the source's row has none, and WHEN NOT MATCHED applies.

use engine::Abort;
use types::{Result, Scratch, SqlError, SqlState, Value};

use super::{
    ExecutionContext, Input, Operator, Step,
    change_row::{ChangeOutcome, Changing, RowAction},
    errors::of_write,
    insert::put,
    new_row,
};
use batch::Rows;
use catalog::from_engine;
use planner::plan::{Merge, MergeAction, MergeKind};

pub(super) struct MergeOperator<'p> {
    plan: &'p Merge,
    input: Input<'p>,
    is_read: bool,
    scratch: Scratch,
    /// The row that was changed last.
    changed: Rows,
}

impl<'p> MergeOperator<'p> {
    pub(super) fn new(plan: &'p Merge, input: Input<'p>) -> Self {
        Self {
            plan,
            input,
            is_read: false,
            scratch: Scratch::new(),
            changed: Rows::default(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if !self.is_read {
            self.input.read_all(context).await?;
            self.is_read = true;
        }
        while out.is_empty() && self.input.more(context).await? {
            context.pause(1).await;
            self.scratch.reset();
            let row = self.input.batch.row(self.input.taken);
            if merge(self.plan, context, &self.scratch, row, &mut self.changed).await? {
                // Rows are counted, not shown.
                out.push([]);
            }
            self.changed.settle(context.memory())?;
            self.input.taken += 1;
        }
        Ok(!out.is_empty())
    }
}

/// Returns the first action that applies to a row.
fn chosen<'p>(
    plan: &'p Merge,
    context: &ExecutionContext<'_>,
    scratch: &Scratch,
    row: &[Value<'_>],
    matched: bool,
) -> Result<Option<&'p MergeAction>> {
    let mut evaluator = context.evaluator(scratch);
    for action in &plan.actions {
        if action.matched != matched {
            continue;
        }
        let holds = match &action.predicate {
            Some(predicate) => predicate.holds(&mut evaluator, row)?,
            None => true,
        };
        if holds {
            return Ok(Some(action));
        }
    }
    Ok(None)
}

/// Decides what becomes of the target row that `row` has matched.
fn row_action<'p>(
    plan: &'p Merge,
    context: &ExecutionContext<'_>,
    scratch: &Scratch,
    row: &[Value<'_>],
) -> Result<RowAction<'p>> {
    let action = chosen(plan, context, scratch, row, true)?;
    Ok(match action.map(|action| &action.kind) {
        Some(MergeKind::Update(assignments)) => RowAction::Update(&plan.new, assignments),
        Some(MergeKind::Delete) => RowAction::Delete,
        Some(MergeKind::Insert(_)) | None => RowAction::Leave,
    })
}

/// Carries out the action for one row of the source; returns whether the table was changed.
async fn merge(
    plan: &Merge,
    context: &ExecutionContext<'_>,
    scratch: &Scratch,
    row: &[Value<'_>],
    changed: &mut Rows,
) -> Result<bool> {
    let Value::Bytea(key) = row[plan.target.key] else {
        return insert(plan, context, scratch, row).await;
    };
    let decide = |row: &[Value<'_>]| row_action(plan, context, scratch, row);
    let changing = Changing {
        target: &plan.target,
        context,
        scratch,
        row,
        key,
        decide: &decide,
    };
    match changing.change(decide(row)?, None, changed).await? {
        ChangeOutcome::Updated | ChangeOutcome::Deleted => Ok(true),
        ChangeOutcome::Left => Ok(false),
        ChangeOutcome::Already => {
            let message = "MERGE command cannot affect row a second time";
            Err(SqlError::new(SqlState::CARDINALITY_VIOLATION, message)
                .hint("Ensure that not more than one source row matches any one target row."))
        }
        ChangeOutcome::Unmatched if plan.inserts_called => {
            // Functions that wait were not called for this row, and their answers are missing.
            Err(from_engine(context.transaction.abort(Abort::WriteConflict)))
        }
        ChangeOutcome::Unmatched => {
            // The new row is computed from the source's columns alone.
            insert(plan, context, scratch, row).await
        }
    }
}

/// Puts in the new row for a row of the source without a match.
async fn insert(
    plan: &Merge,
    context: &ExecutionContext<'_>,
    scratch: &Scratch,
    row: &[Value<'_>],
) -> Result<bool> {
    let action = chosen(plan, context, scratch, row, false)?;
    let Some(MergeKind::Insert(values)) = action.map(|action| &action.kind) else {
        return Ok(false);
    };
    let mut new = Vec::with_capacity(values.len());
    {
        let mut evaluator = context.evaluator(scratch);
        for value in values {
            new.push(value.run(&mut evaluator, row)?);
        }
    }
    new_row::complete(&plan.new, context, scratch, &mut new)?;
    put(&plan.new, context, &new)
        .await?
        .map_err(|error| of_write(error, &plan.new.table, context, &new))?;
    Ok(true)
}

impl Operator for MergeOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.is_read = false;
    }
}
