//! Statements that change rows: INSERT, UPDATE, DELETE, MERGE.

use std::sync::Arc;

use super::{Check, Relation, ScanId};
use crate::expression::{ColumnId, Expression};
use catalog::Table;

/// Rows that are put into a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// Table that gets the rows.
    pub table: Arc<Table>,
    /// Relation from whose rows the new rows are computed.
    pub input: Relation,
    /// Values of the new row, one for each column of the table by position, over the input.
    pub values: Vec<Expression>,
    /// `ON CONFLICT`; without it, a row that is there already is an error (23505).
    pub on_conflict: Option<OnConflict>,
    /// Columns of the new row, by position, for checks and RETURNING.
    pub new: Vec<ColumnId>,
    /// Constraints of the table, over the new row.
    pub checks: Vec<Check>,
    /// Generated columns: position, and expression over the new row.
    pub generated: Vec<(usize, Expression)>,
}

/// The action for a row that is there already.
#[derive(Debug, Clone, PartialEq)]
pub struct OnConflict {
    /// Unique indexes by position among the table's; the primary key is `None`. Empty if any
    /// conflict counts.
    pub arbiters: Vec<Option<usize>>,
    /// `DO UPDATE`; `DO NOTHING` otherwise.
    pub update: Option<ConflictUpdate>,
}

/// The change of the row that is there.
#[derive(Debug, Clone, PartialEq)]
pub struct ConflictUpdate {
    /// Columns of the row that is there, by position.
    pub old: Vec<ColumnId>,
    /// Columns of the row that was to be put in (`excluded`), by position.
    pub excluded: Vec<ColumnId>,
    /// Positions of the assigned columns, with values over `old` and `excluded`.
    pub assignments: Vec<(usize, Expression)>,
    /// Condition of `WHERE`: a row for which it is not true stays as it is.
    pub predicate: Option<Expression>,
}

/// Rows of a table that are changed or deleted.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Table whose rows are changed.
    pub table: Arc<Table>,
    /// Rows with the columns of the scan of the target, and others.
    pub input: Relation,
    /// Scan of `input` that reads the changed table.
    pub target: ScanId,
    /// Column of the target scan with the record's own key, as bytes.
    pub key: ColumnId,
    /// Columns of the row as it was, by position.
    pub old: Vec<ColumnId>,
    /// Update with its assignments, or deletion.
    pub kind: ChangeKind,
}

/// The kinds of changes.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangeKind {
    /// `UPDATE`.
    Update {
        /// Positions of the assigned columns, with values over the columns of the input.
        assignments: Vec<(usize, Expression)>,
        /// Columns of the changed row by position, for checks and RETURNING.
        new: Vec<ColumnId>,
        /// Constraints of the table, over the changed row.
        checks: Vec<Check>,
        /// Positions of the generated columns, with values over the changed row.
        generated: Vec<(usize, Expression)>,
    },
    /// `DELETE`.
    Delete,
}

/// Rows of a source, each put into the table or used to change what it has there.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// Target table.
    pub table: Arc<Table>,
    /// The source left-joined with the target.
    pub input: Relation,
    /// Scan of `input` that reads the target table.
    pub target: ScanId,
    /// Column of the target scan with the record's own key; NULL for a source row without a match.
    pub key: ColumnId,
    /// Columns of the target's row as it was, by position.
    pub old: Vec<ColumnId>,
    /// WHEN clauses in their order; the first one that applies to a row is carried out.
    pub actions: Vec<MergeAction>,
    /// Columns of the inserted or updated row by position, for checks.
    pub new: Vec<ColumnId>,
    /// Constraints of the table, over the inserted or updated row.
    pub checks: Vec<Check>,
    /// Positions of the generated columns, with values over the inserted or updated row.
    pub generated: Vec<(usize, Expression)>,
}

/// A clause `WHEN [NOT] MATCHED [AND predicate] THEN ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeAction {
    /// `WHEN MATCHED`: the action is for source rows with a match; otherwise for those without.
    pub matched: bool,
    /// Condition after `AND`; the action applies only where it is true, `None` applies always.
    pub predicate: Option<Expression>,
    /// Action after `THEN`.
    pub kind: MergeKind,
}

/// The actions of a WHEN clause.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeKind {
    /// `INSERT`, with a value for each column of the table by position.
    Insert(Vec<Expression>),
    /// `UPDATE`, with the positions of the assigned columns and their values.
    Update(Vec<(usize, Expression)>),
    /// `DELETE`.
    Delete,
}
