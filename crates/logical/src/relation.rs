//! Statements as trees of relational operators: made by the binder, rewritten by the planner. The
//! trees do not say how they are computed.
//!
//! Each relation has columns, told apart by [`ColumnId`]; operators hand on the columns of their
//! inputs and add their own. The planner finds out which of them are needed.

mod advisory;
mod change;
mod check;
mod depth;
mod recursion;
mod walk;

use std::sync::Arc;

use types::{Type, TypeModifier};

use crate::expression::{ColumnId, Expression, Function};
use catalog::{ObjectId, Table};

pub use self::{
    advisory::{AdvisoryFunction, Span, Strength},
    change::{
        Change, ChangeKind, ConflictUpdate, Insert, Merge, MergeAction, MergeKind, OnConflict,
    },
    check::check,
};

/// A relational operator over its inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    /// Rows that are written out; one row without columns if there is no FROM.
    Rows {
        /// Columns of each row, in the order of its values.
        columns: Vec<ColumnId>,
        /// Values of each row, one for each of `columns`.
        rows: Vec<Vec<Expression>>,
    },
    /// Rows that a client sends while the statement runs.
    CopySource {
        /// Columns of a received row, in the order in which the client sends them.
        columns: Vec<ColumnId>,
    },
    /// The records of a table.
    Scan(Scan),
    /// The rows of a relation of the system's, which are computed.
    System(SystemScan),
    /// The rows of functions, side by side; the shorter ones are filled with NULLs.
    Functions {
        /// Calls in FROM; each of them has columns of its own.
        calls: Vec<FunctionCall>,
        /// Column of `WITH ORDINALITY`: the row number, from 1, as `bigint`.
        ordinality: Option<ColumnId>,
    },
    /// Rows of a relation that is read more than once, or reads itself: see [`Shared`].
    Shared {
        /// Shared relation that is read.
        number: SharedId,
        /// Columns of this use, each with the column that it repeats: one of [`Shared::columns`],
        /// or in the step of a recursion one that stands for the rows added last.
        columns: Vec<(ColumnId, ColumnId)>,
    },
    /// The rows for which the predicate is true.
    Filter {
        /// Relation whose rows are tested.
        input: Box<Relation>,
        /// Condition of type `boolean`; rows for which it is false or NULL are left out.
        predicate: Expression,
    },
    /// Further columns, computed from each row.
    Compute {
        /// Relation whose rows get the columns.
        input: Box<Relation>,
        /// New columns with their values, each over the columns of `input` alone.
        columns: Vec<(ColumnId, Expression)>,
    },
    /// Further columns from functions that return sets: a row for each of their rows.
    Expand {
        /// Relation whose columns are the arguments of the calls.
        input: Box<Relation>,
        /// Calls, made for each row of `input`; their rows stand side by side.
        calls: Vec<FunctionCall>,
    },
    /// Pairs of rows of two relations, as `JOIN` and a FROM list make them.
    Join(Join),
    /// One further column, from a query that is run for each row.
    Apply {
        /// Relation for whose rows the query is run.
        input: Box<Relation>,
        /// Query within an expression, over the columns of `input`; its answer is the new column.
        subquery: Box<Subquery>,
    },
    /// Further columns from functions that wait, called row by row, in this order.
    Calls {
        /// Relation for whose rows the calls are made.
        input: Box<Relation>,
        /// Calls in their order; each may refer to the columns of earlier ones.
        calls: Vec<WaitingCall>,
    },
    /// Groups of rows with their aggregates, from `GROUP BY` or an aggregate call.
    Aggregate(Aggregate),
    /// Further columns from functions over neighbouring rows.
    Window {
        /// Relation whose rows are the neighbours of each other.
        input: Box<Relation>,
        /// Calls, each with a window of its own.
        calls: Vec<WindowCall>,
    },
    /// One row of those that are equal in `on`; the first, if there is an order.
    Distinct {
        /// Relation with the duplicates.
        input: Box<Relation>,
        /// Values by which rows are compared; NULLs count as equal.
        on: Vec<Expression>,
    },
    /// Rows in the order of `ORDER BY`.
    Sort {
        /// Relation whose rows are sorted.
        input: Box<Relation>,
        /// Sort keys, the most significant first.
        keys: Vec<SortKey>,
    },
    /// Part of the rows, as `LIMIT`, `OFFSET` and `FETCH FIRST` cut it out.
    Limit {
        /// Relation whose rows are counted.
        input: Box<Relation>,
        /// Number of rows that are kept, as `bigint`; `None` and NULL keep all of them.
        limit: Option<Expression>,
        /// Number of rows that are skipped first, as `bigint`; `None` and NULL skip none.
        offset: Option<Expression>,
        /// Sort keys for `WITH TIES`, by which rows that equal the last one are kept too.
        with_ties: Option<Vec<SortKey>>,
    },
    /// `UNION`, `INTERSECT` or `EXCEPT` of two queries.
    Set(SetOperation),
    /// A query with its shared relations, in the order of their use.
    With {
        /// Shared relations; each may be read by later ones and by `body`.
        definitions: Vec<Shared>,
        /// Query that reads them; its rows are the result.
        body: Box<Relation>,
    },
    /// Locks the rows that come through, and reads them again if they have been changed.
    Lock {
        /// Relation whose rows contain the columns of the locked scans.
        input: Box<Relation>,
        /// Row locks to take, one for each locked scan.
        locks: Vec<RowLock>,
    },
    /// `INSERT`, and the rows that `COPY .. FROM` and `CREATE TABLE AS` store.
    Insert(Box<Insert>),
    /// `UPDATE` or `DELETE`.
    Change(Box<Change>),
    /// `MERGE`.
    Merge(Box<Merge>),
}

/// The number of a scan in its statement: the same table may be read in several places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScanId(pub u32);

/// A table that is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// Number of the scan in its statement.
    pub id: ScanId,
    /// Name in the query of the table, or of the part of FROM that it is in, for `FOR UPDATE OF`.
    pub name: Option<String>,
    /// Table whose records are read.
    pub table: Arc<Table>,
    /// Columns that are not dropped, with their positions in the table.
    pub columns: Vec<(ColumnId, usize)>,
    /// Column with the record's own key, as bytes, for operators that write or lock it.
    pub key: ColumnId,
    /// Indexes that the scan may read by.
    pub indexes: Vec<ScanIndex>,
}

/// An index of a table that is read, over the scan's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanIndex {
    /// Position of the index among the table's.
    pub at: usize,
    /// Index keys, in the order of the index's columns.
    pub keys: Vec<Expression>,
    /// Conditions that are true of all rows in the index.
    pub predicate: Vec<Expression>,
}

/// A relation of the system's that is read.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemScan {
    /// System relation that is read, by its number in the catalog.
    pub relation: ObjectId,
    /// Columns with their positions in the relation.
    pub columns: Vec<(ColumnId, usize)>,
}

/// A call of a function that returns rows.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    /// Function that is called.
    pub function: Function,
    /// Arguments, already of the types of the function's parameters.
    pub arguments: Vec<Expression>,
    /// Columns of the returned rows, in the order of the function's result.
    pub columns: Vec<ColumnId>,
}

/// The ways of joining two relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs of rows alone.
    Inner,
    /// Rows of the left without a match have NULLs.
    Left,
    /// Rows of the right without a match have NULLs.
    Right,
    /// Rows of either side without a match have NULLs.
    Full,
    /// Rows of the left that have a match; the right's columns end here.
    Semi,
    /// Rows of the left that have no match.
    Anti,
}

/// Two relations, joined.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Treatment of rows without a match.
    pub kind: JoinKind,
    /// Left side.
    pub left: Box<Relation>,
    /// Right side.
    pub right: Box<Relation>,
    /// Conditions, which all have to be true.
    pub on: Vec<Expression>,
    /// Whether the right refers to columns of the left.
    pub lateral: bool,
}

/// A part of an expression that is computed beside the rows of a clause, and adds a column to them.
#[derive(Debug, Clone, PartialEq)]
pub enum Applied {
    /// Query within an expression of the clause.
    Query(Subquery),
    /// Call of a function that waits, within an expression of the clause.
    Call(WaitingCall),
}

/// A function that cannot be called within expressions, because it has to wait, or because its
/// effect outlives the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingFunction {
    /// Function of sequences, such as `nextval`.
    Sequence(SequenceFunction),
    /// `pg_sleep(seconds)`.
    Sleep,
    /// Function of advisory locks, such as `pg_advisory_lock`.
    Advisory(AdvisoryFunction),
}

/// The functions of sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceFunction {
    /// `nextval(sequence)`.
    Next,
    /// `setval(sequence, value [, is_called])`.
    Set,
    /// `currval(sequence)`, where the same row may advance the sequence.
    Current,
    /// `lastval()`, where the same row may advance the sequence.
    Last,
}

/// A call of a function that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingCall {
    /// Column with the result of the call.
    pub column: ColumnId,
    /// Function that is called.
    pub function: WaitingFunction,
    /// Arguments; for a function of sequences, the first is the sequence, as `regclass`.
    pub arguments: Vec<Expression>,
}

/// A query within an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    /// Column with the answer.
    pub column: ColumnId,
    /// Form of the answer.
    pub kind: SubqueryKind,
    /// Query itself; its expressions may refer to columns of the row that it is run for.
    pub relation: Relation,
}

/// The forms of a subquery's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum SubqueryKind {
    /// The value in its only row, NULL if it has none; an error if it has more rows.
    Scalar(ColumnId),
    /// Whether it has rows.
    Exists,
    /// Whether a row makes all of these conditions true; NULL if none does, and for one they are
    /// NULL.
    Any(Vec<Expression>),
    /// An array of all its values.
    Array {
        /// Column of the query with the elements.
        column: ColumnId,
        /// Type of the elements.
        element: types::Scalar,
    },
}

/// Groups of rows, and aggregates over each.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// Relation whose rows are grouped.
    pub input: Box<Relation>,
    /// Expressions that rows are grouped by; each becomes a column.
    pub keys: Vec<(ColumnId, Expression)>,
    /// Positions among the keys, for each grouping set; one set of all of them as a rule.
    pub sets: Vec<Vec<usize>>,
    /// Column with the number of the grouping set, where `GROUPING` asks for it.
    pub set_number: Option<ColumnId>,
    /// Aggregates, each computed for every group.
    pub calls: Vec<AggregateCall>,
}

/// An aggregate over the rows of each group.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    /// Column with the result of the aggregate.
    pub column: ColumnId,
    /// Aggregate function.
    pub function: Function,
    /// Arguments, computed from each row; the keys of `WITHIN GROUP` are the last ones.
    pub arguments: Vec<Expression>,
    /// `DISTINCT`: equal arguments count once.
    pub distinct: bool,
    /// Order in which rows are aggregated, from `ORDER BY` in the call or `WITHIN GROUP`.
    pub order: Vec<SortKey>,
    /// Condition of `FILTER`: only rows for which it is true count; `None` counts all rows.
    pub filter: Option<Expression>,
}

/// A function over neighbouring rows.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// Column with the result of the call.
    pub column: ColumnId,
    /// Window function, or an aggregate.
    pub function: Function,
    /// Arguments, over the columns of the window's input.
    pub arguments: Vec<Expression>,
    /// Condition of `FILTER`, for aggregates alone: only rows for which it is true count.
    pub filter: Option<Expression>,
    /// Window that `OVER` gives or names.
    pub window: Window,
}

/// The window of a function: the rows that are neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Values of `PARTITION BY`; without any, all rows are one partition.
    pub partition: Vec<Expression>,
    /// Sort keys of `ORDER BY`; without any, all rows of a partition are peers.
    pub order: Vec<SortKey>,
    /// Frame of each row, within its partition.
    pub frame: Frame,
}

/// The frame of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Units of the distances, and the meaning of `CURRENT ROW`.
    pub units: FrameUnits,
    /// Bound at which the frame begins.
    pub start: FrameBound,
    /// Bound at which the frame ends.
    pub end: FrameBound,
}

/// The units of a frame's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnits {
    /// `ROWS`: bounds count rows.
    Rows,
    /// `RANGE`: bounds are distances between values of the only sort key.
    Range,
    /// `GROUPS`: bounds count groups of rows that are equal by the window's `ORDER BY`.
    Groups,
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`: the first row of the partition.
    UnboundedPreceding,
    /// `distance PRECEDING`: a `bigint`, for `RANGE` a distance of the sort key's type.
    Preceding(Expression),
    /// `CURRENT ROW`; for `RANGE` and `GROUPS` with all its peers.
    CurrentRow,
    /// `distance FOLLOWING`: a `bigint`, for `RANGE` a distance of the sort key's type.
    Following(Expression),
    /// `UNBOUNDED FOLLOWING`: the last row of the partition.
    UnboundedFollowing,
}

/// An expression that rows are ordered by.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// Value by which rows are ordered.
    pub expression: Expression,
    /// `DESC`: greater values come first.
    pub descending: bool,
    /// `NULLS FIRST`, the default of `DESC`: NULLs come before all values.
    pub nulls_first: bool,
}

/// Two queries as sets or multisets of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperation {
    /// Operation that combines the queries.
    pub kind: SetKind,
    /// Whether duplicates stay: the rows are multisets.
    pub all: bool,
    /// Query on the left, from which `EXCEPT` takes rows away.
    pub left: Box<Relation>,
    /// Query on the right.
    pub right: Box<Relation>,
    /// Column of the result with those of the left and the right side.
    pub columns: Vec<(ColumnId, ColumnId, ColumnId)>,
    /// Types of the result's columns, in the order of `columns`; both sides have them already.
    pub types: Vec<Type>,
}

/// The kinds of set operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// `UNION`: rows of either side.
    Union,
    /// `INTERSECT`: rows of both sides.
    Intersect,
    /// `EXCEPT`: rows of the left side that the right side has not.
    Except,
}

/// The number of a shared relation in its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedId(pub u32);

/// A common table expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// Number of the shared relation in its statement.
    pub number: SharedId,
    /// Name in the WITH clause, folded.
    pub name: String,
    /// Columns that uses outside its own step repeat, in the order of the definition.
    pub columns: Vec<ColumnId>,
    /// `MATERIALIZED`: the rows are computed once, in their own place.
    pub is_materialized: bool,
    /// Query or recursion that gives the rows.
    pub body: SharedBody,
}

/// The forms of a shared relation.
#[derive(Debug, Clone, PartialEq)]
pub enum SharedBody {
    /// A query that is run once.
    Query(Box<Relation>),
    /// `initial`, and `step` over the rows that the step before has added, until it adds none. In
    /// `step` the relation with this number stands for those rows.
    Recursive {
        /// Non-recursive term: the rows that the first step starts from.
        initial: Box<Relation>,
        /// Columns of `initial`, one for each column of the shared relation.
        initial_columns: Vec<ColumnId>,
        /// Recursive term, run again until it adds no row.
        step: Box<Relation>,
        /// Columns of `step`, one for each column of the shared relation.
        step_columns: Vec<ColumnId>,
        /// Types of the columns for `UNION`, where rows that were there already do not count as
        /// added.
        distinct: Option<Vec<Type>>,
    },
}

/// Rows of a scan that are to be locked.
#[derive(Debug, Clone, PartialEq)]
pub struct RowLock {
    /// Scan whose rows are locked.
    pub scan: ScanId,
    /// Table of the scan.
    pub table: Arc<Table>,
    /// Column of the scan with the record's own key, as bytes.
    pub key: ColumnId,
    /// Strength of the row lock, from `FOR KEY SHARE` to `FOR UPDATE`.
    pub strength: engine::Strength,
    /// Reaction to a row that another transaction has locked.
    pub if_locked: IfLocked,
}

/// The reaction to a row that another transaction has locked. If several apply to one row, the last
/// here counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IfLocked {
    /// The statement waits for the other transaction; the default.
    Wait,
    /// `SKIP LOCKED`: the row is left out.
    Skip,
    /// `NOWAIT`: the statement fails with 55P03.
    Fail,
}

/// A constraint that a new row must not violate: false is a violation, NULL is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Name of the constraint, or of the index whose expressions are computed.
    pub name: Arc<str>,
    /// Condition over the columns of the new row.
    pub predicate: Expression,
}

/// A column of a query's result as its client sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Column name, from an alias or derived from the expression.
    pub name: String,
    /// Column of the relation that has the values.
    pub column: ColumnId,
    /// Type of the values.
    pub ty: Type,
    /// Type modifier, as in `numeric(8, 2)`; `TypeModifier::NONE` if there is none.
    pub modifier: TypeModifier,
    /// Number of the table and position of the column there, if it is a table's column.
    pub origin: Option<(u32, u16)>,
}
