//! The engine's errors, with what is known about the table.

use engine::Error;
use types::{SqlError, SqlState, Value};

use super::{ExecutionContext, new_row::shown};
use catalog::{RowKey, Table};

/// Converts an error of reading a table.
pub(super) fn of_engine(error: Error, table: &Table) -> SqlError {
    match error {
        Error::Locked => {
            let message = format!(
                "could not obtain lock on row in relation \"{}\"",
                table.name
            );
            SqlError::new(SqlState::LOCK_NOT_AVAILABLE, message)
        }
        other => catalog::from_engine(other),
    }
}

/// Converts an error of writing a row.
pub(super) fn of_write(
    error: Error,
    table: &Table,
    context: &ExecutionContext<'_>,
    row: &[Value<'_>],
) -> SqlError {
    match error {
        Error::IndexKeyTooLong { index } => {
            let name = index_of(table, index).map_or("?", |at| &table.indexes[at].name);
            too_long(name, engine::KEY_BYTES_MAX)
        }
        Error::KeyTooLong { .. } => too_long(&table.name, engine::KEY_BYTES_MAX),
        error => match conflict(&error, table) {
            Some(met) => met.explained(catalog::write_failed(table, error), table, context, row),
            None => of_engine(error, table),
        },
    }
}

fn too_long(name: &str, bytes: usize) -> SqlError {
    let message = format!("index row size exceeds maximum {bytes} for index \"{name}\"");
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        .hint("Values of this size cannot be indexed. Consider an index over a hash of the value.")
}

/// The unique key that another row has already: that of the rows themselves, or an index by
/// position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict(pub(super) Option<usize>);

/// Returns the conflict that an error is about, if it is about one.
pub(super) fn conflict(error: &Error, table: &Table) -> Option<Conflict> {
    match error {
        Error::DuplicateKey => Some(Conflict(None)),
        Error::DuplicateIndexKey { index } => Some(Conflict(Some(index_of(table, *index)?))),
        _ => None,
    }
}

/// Returns the position of the index that has a number in the engine.
fn index_of(table: &Table, number: usize) -> Option<usize> {
    table.indexes.iter().position(|index| {
        let handle = index.handle.as_ref();
        handle.is_some_and(|handle| handle.number() as usize == number)
    })
}

impl Conflict {
    /// Converts the error, with the values that are there already.
    fn explained(
        self,
        error: SqlError,
        table: &Table,
        context: &ExecutionContext<'_>,
        row: &[Value<'_>],
    ) -> SqlError {
        let columns: Vec<usize> = match (self.0, &table.row_key) {
            (None, RowKey::Columns(columns)) => columns.iter().map(|at| usize::from(*at)).collect(),
            (None, RowKey::Hidden) => Vec::new(),
            (Some(at), _) => {
                let columns = table.indexes[at].key_columns().unwrap_or_default();
                columns.into_iter().map(usize::from).collect()
            }
        };
        if columns.is_empty() {
            return error;
        }
        let names: Vec<&str> = columns.iter().map(|at| &*table.columns[*at].name).collect();
        let values: Vec<String> = columns
            .iter()
            .map(|at| shown(context, row[*at], table.columns[*at].ty))
            .collect();
        error.detail(format!(
            "Key ({})=({}) already exists.",
            names.join(", "),
            values.join(", ")
        ))
    }
}
