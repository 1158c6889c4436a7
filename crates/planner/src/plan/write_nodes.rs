//! Nodes of plans that write: INSERT, UPDATE, DELETE and MERGE.

use std::sync::Arc;

use catalog::Table;
use types::row::RowLayout;

use super::{Plan, RecheckQuery};
use crate::program::Program;

/// A `CHECK` constraint.
#[derive(Debug)]
pub struct Check {
    /// Name of the constraint, for the message.
    pub name: Arc<str>,
    /// Condition over the new row. The row violates it (23514) if it is false, not if it is NULL.
    pub predicate: Program,
}

/// The completion and the checks of a table's new rows: programs over the new row alone.
#[derive(Debug)]
pub struct NewRow {
    /// Table that the rows belong to.
    pub table: Arc<Table>,
    /// Stored layout of the table's records.
    pub rows: Arc<RowLayout>,
    /// Generated columns: position in the table, and value.
    pub generated: Vec<(usize, Program)>,
    /// `CHECK` constraints of the table, over the complete row.
    pub checks: Vec<Check>,
}

/// Rows that are put into a table. The operator gives the new rows after the input's columns.
#[derive(Debug)]
pub struct Insert {
    /// Operator whose rows the new rows are computed from.
    pub input: Plan,
    /// Whether the input reads the table, and is read to its end first.
    pub reads_target: bool,
    /// Values of the new row, one for each column of the table.
    pub values: Vec<Program>,
    /// Generated columns and constraints of the new rows.
    pub new: NewRow,
    /// `ON CONFLICT`; `None` makes a duplicate key an error (23505).
    pub on_conflict: Option<OnConflict>,
}

/// The action of `ON CONFLICT`.
#[derive(Debug)]
pub struct OnConflict {
    /// Unique indexes that the clause names, by position, `None` for the key; empty if any conflict
    /// counts.
    pub arbiters: Vec<Option<usize>>,
    /// Update of the row that is there; `None` leaves it as it is.
    pub update: Option<ConflictUpdate>,
}

/// `DO UPDATE`.
#[derive(Debug)]
pub struct ConflictUpdate {
    /// Position in the table and its new value, over the existing row followed by `excluded`.
    pub assignments: Vec<(usize, Program)>,
    /// Columns of keys that are written: see [`Assignments::keys`].
    pub keys: Vec<u16>,
    /// `WHERE`, over the existing row followed by `excluded`: the row is updated if it is true;
    /// `None` updates it always.
    pub predicate: Option<Program>,
}

/// Rows of a table that are changed. The operator gives the input's rows with the newest values of
/// the record, then the new row.
#[derive(Debug)]
pub struct Update {
    /// Operator that finds the rows, with the key of each record.
    pub input: Plan,
    /// Table that is updated, and its record in a row of the input.
    pub target: Target,
    /// `SET`: new values of columns, over a row of the input.
    pub assignments: Assignments,
    /// Generated columns and constraints of the new rows.
    pub new: NewRow,
}

/// The values that an UPDATE gives the columns of a row.
#[derive(Debug)]
pub struct Assignments {
    /// Position in the table, and the column's new value.
    pub values: Vec<(usize, Program)>,
    /// Whether the row may lie under another key afterwards.
    pub may_move: bool,
    /// Written columns of keys to which foreign keys may refer: an update that leaves them as they
    /// are does not conflict with transactions that refer to the row.
    pub keys: Vec<u16>,
}

/// Rows of a table that are deleted. The operator gives the input's rows.
#[derive(Debug)]
pub struct Delete {
    /// Operator that finds the rows, with the key of each record.
    pub input: Plan,
    /// Table that rows are deleted from, and its record in a row of the input.
    pub target: Target,
}

/// The place of the changed record in the input's rows.
#[derive(Debug)]
pub struct Target {
    /// Table whose record is changed.
    pub table: Arc<Table>,
    /// Stored layout of the table's records.
    pub rows: Arc<RowLayout>,
    /// Position of the record's key, a `bytea`, in a row. It is NULL in a row of MERGE that has no
    /// match.
    pub key: usize,
    /// The record's columns: position in the row, position in the table.
    pub columns: Vec<(usize, usize)>,
    /// Condition that has to hold for the row as it is when it is changed.
    pub recheck_condition: Option<Program>,
    /// Query that finds a row again after its record has changed; if there is one, it replaces
    /// `recheck_condition`.
    pub recheck_query: Option<Box<RecheckQuery>>,
    /// Whether all rows are read before the first is changed.
    pub read_first: bool,
}

/// `MERGE`.
#[derive(Debug)]
pub struct Merge {
    /// Source left-joined with the target table.
    pub input: Plan,
    /// Target table, and its record in a row of the input.
    pub target: Target,
    /// Generated columns and constraints of the new rows.
    pub new: NewRow,
    /// `WHEN` clauses; the first that applies to a row decides.
    pub actions: Vec<MergeAction>,
    /// Whether an inserted row depends on functions that wait: they were called only for the rows
    /// of the source that had no match when they were found.
    pub inserts_called: bool,
}

/// A `WHEN` clause of `MERGE`.
#[derive(Debug)]
pub struct MergeAction {
    /// `WHEN MATCHED`; false is `WHEN NOT MATCHED`.
    pub matched: bool,
    /// `AND` condition over a row of the input; `None` applies to all rows.
    pub predicate: Option<Program>,
    /// Action on a row to which the clause applies.
    pub kind: MergeKind,
}

/// The actions of a `WHEN` clause.
#[derive(Debug)]
pub enum MergeKind {
    /// `INSERT`: a value for each column of the table, over a row of the input.
    Insert(Vec<Program>),
    /// `UPDATE SET`: new values of columns, over a row of the input.
    Update(Assignments),
    /// `DELETE`.
    Delete,
}
