//! The new row of a table: its generated columns, its constraints, and its bytes.

use types::{Result, Scratch, SqlError, SqlState, Value, key::write_all, row::RowWriter};

use super::ExecutionContext;
use catalog::{RowKey, Table};
use planner::plan::NewRow;

/// Completes a row with its generated columns, and checks it.
///
/// # Errors
/// 23502 if a column must not be NULL; 23514 if a check fails.
pub(super) fn complete<'a>(
    new: &'a NewRow,
    context: &'a ExecutionContext<'_>,
    scratch: &'a Scratch,
    row: &mut [Value<'a>],
) -> Result<()> {
    if !new.generated.is_empty() {
        let mut evaluator = context.evaluator(scratch);
        for (at, program) in &new.generated {
            row[*at] = program.run(&mut evaluator, row)?;
        }
    }
    for (at, column) in new.table.live_columns() {
        if column.not_null && row[at].is_null() {
            let message = format!(
                "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                column.name, new.table.name
            );
            return Err(SqlError::new(SqlState::NOT_NULL_VIOLATION, message)
                .detail(failing_row(&new.table, context, row))
                .table(&new.table.name)
                .column(&column.name));
        }
    }
    let mut evaluator = context.evaluator(scratch);
    for check in &new.checks {
        if matches!(
            check.predicate.run(&mut evaluator, row)?,
            Value::Bool(false)
        ) {
            let message = format!(
                "new row for relation \"{}\" violates check constraint \"{}\"",
                new.table.name, check.name
            );
            return Err(SqlError::new(SqlState::CHECK_VIOLATION, message)
                .detail(failing_row(&new.table, context, row))
                .table(&new.table.name)
                .constraint(&check.name));
        }
    }
    Ok(())
}

/// Appends the record of a row.
///
/// # Errors
/// 54000 if it is too large.
pub(super) fn record(new: &NewRow, row: &[Value<'_>], record: &mut Vec<u8>) -> Result<()> {
    RowWriter::write(&new.rows, row, record)
}

/// Appends the key that a row lies under; returns false if the table numbers its rows instead.
///
/// # Errors
/// Errors of encoding keys.
pub(super) fn key(new: &NewRow, row: &[Value<'_>], key: &mut Vec<u8>) -> Result<bool> {
    match &new.table.row_key {
        RowKey::Hidden => Ok(false),
        RowKey::Columns(columns) => {
            let values: Vec<Value<'_>> = columns.iter().map(|at| row[usize::from(*at)]).collect();
            write_all(&planner::plan::row_key_columns(&new.table), &values, key)?;
            Ok(true)
        }
    }
}

fn failing_row(table: &Table, context: &ExecutionContext<'_>, row: &[Value<'_>]) -> String {
    let values = table
        .live_columns()
        .map(|(at, column)| shown(context, row[at], column.ty));
    format!(
        "Failing row contains ({}).",
        values.collect::<Vec<_>>().join(", ")
    )
}

/// Returns a value as messages show it.
pub(super) fn shown(context: &ExecutionContext<'_>, value: Value<'_>, ty: types::Type) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let mut text = Vec::new();
    let scratch = Scratch::new();
    match types::text::write(
        value,
        ty,
        &context.function_context(&scratch).types(),
        &mut text,
    ) {
        Ok(()) => {
            let text = String::from_utf8_lossy(&text);
            // Long values are cut, as in PostgreSQL.
            match text.char_indices().nth(64) {
                Some((end, _)) => format!("{}...", &text[..end]),
                None => text.into_owned(),
            }
        }
        Err(_) => "?".to_owned(),
    }
}
