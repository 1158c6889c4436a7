//! INSERT, UPDATE, DELETE and MERGE, as PostgreSQL's grammar has them before names are looked up.
//!
//! Clauses that there are not are kept as errors, which the binder raises where it comes to them.

use types::Result;

use crate::{
    expression::{Expr, Refused, refusal},
    name::{DottedName, Name},
    query::{FromItem, Query, SelectItem},
    statement::RowKind,
};

/// A statement that changes rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// `INSERT`.
    Insert(Box<Insert>),
    /// `UPDATE`.
    Update(Box<Update>),
    /// `DELETE`.
    Delete(Box<Delete>),
    /// `MERGE`.
    Merge(Box<Merge>),
}

impl Change {
    /// Returns the kind of the statement.
    pub fn kind(&self) -> RowKind {
        match self {
            Self::Insert(_) => RowKind::Insert,
            Self::Update(_) => RowKind::Update,
            Self::Delete(_) => RowKind::Delete,
            Self::Merge(_) => RowKind::Merge,
        }
    }

    /// Returns whether the statement has RETURNING.
    pub fn returns(&self) -> bool {
        let returning = match self {
            Self::Insert(insert) => &insert.returning,
            Self::Update(update) => &update.returning,
            Self::Delete(delete) => &delete.returning,
            Self::Merge(_) => &None,
        };
        returning.is_some()
    }

    /// Passes if the statement is of a form that there is; a MERGE's clauses are looked at one by one.
    ///
    /// # Errors
    /// 0A000, 42601, 42809.
    pub fn supported(&self) -> Result<()> {
        refusal(match self {
            Self::Insert(insert) => &insert.refused,
            Self::Update(update) => &update.refused,
            Self::Delete(delete) => &delete.refused,
            Self::Merge(merge) => &merge.refused,
        })
    }
}

/// The table whose rows a statement changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Target {
    /// The name of the table.
    pub name: DottedName,
    /// The name that the statement gives the table.
    pub alias: Option<Name>,
}

/// `INSERT`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// The table.
    pub target: Target,
    /// The columns that values are given for; empty for the first ones.
    pub columns: Vec<DottedName>,
    /// The treatment of values that are given for identity columns.
    pub overriding: Option<Overriding>,
    /// The query that gives the rows; `None` for `DEFAULT VALUES`.
    pub source: Option<Query>,
    /// The treatment of rows whose keys are there already.
    pub on_conflict: Option<OnConflict>,
    /// The items of RETURNING.
    pub returning: Option<Vec<SelectItem>>,
    pub(crate) refused: Option<Refused>,
}

/// The treatment of values that are given for identity columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overriding {
    /// `OVERRIDING SYSTEM VALUE`: they are taken.
    System,
    /// `OVERRIDING USER VALUE`: they are not, the sequence's are.
    User,
}

/// `ON CONFLICT`.
#[derive(Debug, Clone, PartialEq)]
pub struct OnConflict {
    /// The key that is there already; `None` for any.
    pub target: Option<ConflictTarget>,
    /// The change of the row that is there; `None` for `DO NOTHING`.
    pub update: Option<ConflictUpdate>,
}

/// The key of an `ON CONFLICT`.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictTarget {
    /// The columns of the key.
    Columns(Vec<Name>),
    /// The name of the constraint.
    Constraint(DottedName),
}

/// `DO UPDATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct ConflictUpdate {
    /// The assignments of SET.
    pub assignments: Vec<Assignment>,
    /// The condition of WHERE.
    pub condition: Option<Expr>,
}

/// An assignment of SET.
#[derive(Debug, Clone, PartialEq)]
pub enum Assignment {
    /// `column = value`.
    Column {
        /// The column.
        column: DottedName,
        /// The value, or `DEFAULT`.
        value: Expr,
    },
    /// `(columns) = row`.
    Columns {
        /// The columns.
        columns: Vec<DottedName>,
        /// The row.
        row: AssignedRow,
    },
}

/// The row that several columns are assigned from.
#[derive(Debug, Clone, PartialEq)]
pub enum AssignedRow {
    /// A query in parentheses.
    Query(Box<Query>),
    /// Values, or `DEFAULT`.
    Values(Vec<Expr>),
    /// An expression that is no row.
    Refused(Refused),
}

/// `UPDATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The table.
    pub target: Target,
    /// The assignments of SET.
    pub assignments: Vec<Assignment>,
    /// The relations of FROM.
    pub from: Vec<FromItem>,
    /// The condition of WHERE.
    pub condition: Option<Expr>,
    /// The items of RETURNING.
    pub returning: Option<Vec<SelectItem>>,
    pub(crate) refused: Option<Refused>,
}

/// `DELETE`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delete {
    /// The table.
    pub target: Target,
    /// The relations of USING.
    pub using: Vec<FromItem>,
    /// The condition of WHERE.
    pub condition: Option<Expr>,
    /// The items of RETURNING.
    pub returning: Option<Vec<SelectItem>>,
    pub(crate) refused: Option<Refused>,
}

/// `MERGE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// The table.
    pub target: Target,
    /// The relation whose rows are looked for in the table.
    pub source: FromItem,
    /// The condition under which a row of the table is that of the source.
    pub on: Expr,
    /// The WHEN clauses.
    pub clauses: Vec<MergeClause>,
    pub(crate) refused: Option<Refused>,
}

/// A WHEN clause of MERGE.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeClause {
    /// Whether the clause is for rows of the source that the table has.
    pub matched: bool,
    /// The condition behind AND.
    pub condition: Option<Expr>,
    /// The action behind THEN.
    pub action: MergeAction,
    pub(crate) refused: Option<Refused>,
}

impl MergeClause {
    /// Passes if the clause is of a kind that there is.
    ///
    /// # Errors
    /// 0A000.
    pub fn supported(&self) -> Result<()> {
        refusal(&self.refused)
    }
}

/// The action of a WHEN clause.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    /// `DELETE`.
    Delete,
    /// `UPDATE SET`.
    Update(Vec<Assignment>),
    /// `INSERT (columns) VALUES (values)`.
    Insert {
        /// The columns that values are given for; empty for the first ones.
        columns: Vec<DottedName>,
        /// The values.
        values: MergeValues,
    },
}

/// The values of the row that a MERGE puts in.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeValues {
    /// A single row.
    Row(Vec<Expr>),
    /// A form that there is not.
    Refused(Refused),
}
