//! What a statement asks for, as a tree of relational operators: made by the binder, rewritten by
//! the planner. Nothing here says how it is done.
//!
//! Each relation has columns, told apart by [`ColumnId`]; operators hand on the columns of what
//! they are given and add their own. Which are needed above is the planner's to find out.

mod advisory;
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
    check::check,
};

/// A relational operator over its inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    /// Rows that are written out; one without columns where there is no FROM.
    Rows {
        /// Columns of each row, in the order of its values.
        columns: Vec<ColumnId>,
        /// Values of each row, one for each of `columns`.
        rows: Vec<Vec<Expression>>,
    },
    /// Rows that a client sends while the statement runs.
    Received {
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
    /// What is read more than once, or reads itself: see [`Shared`].
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
    /// One further column, from a query that is asked for each row.
    Apply {
        /// Relation for whose rows the query is asked.
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
    /// A query with definitions of what is shared within it, in the order of their use.
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

/// Which scan of a statement: the same table may be read in several places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScanId(pub u32);

/// A table that is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// Number of the scan in its statement.
    pub id: ScanId,
    /// What the query calls it, or the part of FROM that it is in: for `FOR UPDATE OF`.
    pub name: Option<String>,
    /// Table whose records are read.
    pub table: Arc<Table>,
    /// Of each column of the table that is not dropped, its position there.
    pub columns: Vec<(ColumnId, usize)>,
    /// The record's own key, as bytes, for those that write or lock it.
    pub key: ColumnId,
    /// The indexes that it may read by.
    pub indexes: Vec<ScanIndex>,
}

/// An index of a table that is read, over the scan's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanIndex {
    /// Its position among the table's.
    pub at: usize,
    /// Index keys, in the order of the index's columns.
    pub keys: Vec<Expression>,
    /// It has the rows for which all of these are true.
    pub predicate: Vec<Expression>,
}

/// A relation of the system's that is read.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemScan {
    /// System relation that is read, by its number in the catalog.
    pub relation: ObjectId,
    /// Of each of its columns, the position there.
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

/// How two relations are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs of rows alone.
    Inner,
    /// Rows of the left without a partner have NULLs.
    Left,
    /// Rows of the right without a partner have NULLs.
    Right,
    /// Rows of either side without a partner have NULLs.
    Full,
    /// Rows of the left that have a partner; the right's columns end here.
    Semi,
    /// Rows of the left that have none.
    Anti,
}

/// Two relations, joined.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Treatment of rows without a partner.
    pub kind: JoinKind,
    /// Left side.
    pub left: Box<Relation>,
    /// Right side.
    pub right: Box<Relation>,
    /// All have to be true.
    pub on: Vec<Expression>,
    /// The right refers to columns of the left.
    pub lateral: bool,
}

/// What is computed beside the rows of a clause, and leaves them a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Applied {
    /// Query within an expression of the clause.
    Query(Subquery),
    /// Call of a function that waits, within an expression of the clause.
    Call(WaitingCall),
}

/// What is no function of expressions, because it has to wait, or takes or gives what outlives its
/// statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingFunction {
    /// Function of sequences, such as `nextval`.
    Sequence(SequenceFunction),
    /// `pg_sleep(seconds)`
    Sleep,
    /// Function of advisory locks, such as `pg_advisory_lock`.
    Advisory(AdvisoryFunction),
}

/// What is asked of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceFunction {
    /// `nextval(sequence)`
    Next,
    /// `setval(sequence, value [, is_called])`
    Set,
    /// `currval(sequence)`, where the same row may advance the sequence.
    Current,
    /// `lastval()`, likewise.
    Last,
}

/// A call of a function that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingCall {
    /// Column with the result of the call.
    pub column: ColumnId,
    /// Function that is called.
    pub function: WaitingFunction,
    /// The first is the sequence, as `regclass`, if it is one's.
    pub arguments: Vec<Expression>,
}

/// A query within an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    /// Column with the answer.
    pub column: ColumnId,
    /// Form of the answer.
    pub kind: SubqueryKind,
    /// Query itself; its expressions may refer to columns of the row it is asked for.
    pub relation: Relation,
}

/// What is asked of it.
#[derive(Debug, Clone, PartialEq)]
pub enum SubqueryKind {
    /// The value in its only row, NULL if it has none; an error if it has more.
    Scalar(ColumnId),
    /// Whether it has rows.
    Exists,
    /// Whether a row makes all of these true; NULL if none does, and for one they are NULL.
    Any(Vec<Expression>),
    /// An array of all its values.
    Array {
        /// Column of the query with the elements.
        column: ColumnId,
        /// Type of the elements.
        element: types::Scalar,
    },
}

/// Groups of rows and what is computed over each.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// Relation whose rows are grouped.
    pub input: Box<Relation>,
    /// What rows are grouped by; each becomes a column.
    pub keys: Vec<(ColumnId, Expression)>,
    /// Positions among the keys, for each grouping set; one set of all of them as a rule.
    pub sets: Vec<Vec<usize>>,
    /// The number of the grouping set, where `GROUPING` asks for it.
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
    /// Of windows, or an aggregate.
    pub function: Function,
    /// Arguments, over the columns of the window's input.
    pub arguments: Vec<Expression>,
    /// Condition of `FILTER`, for aggregates alone: only rows for which it is true count.
    pub filter: Option<Expression>,
    /// Window that `OVER` gives or names.
    pub window: Window,
}

/// Which rows are neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Values of `PARTITION BY`; without any, all rows are one partition.
    pub partition: Vec<Expression>,
    /// Sort keys of `ORDER BY`; without any, all rows of a partition are peers.
    pub order: Vec<SortKey>,
    /// Frame of each row, within its partition.
    pub frame: Frame,
}

/// How far a frame reaches.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Units of the distances, and the meaning of `CURRENT ROW`.
    pub units: FrameUnits,
    /// Bound at which the frame begins.
    pub start: FrameBound,
    /// Bound at which the frame ends.
    pub end: FrameBound,
}

/// What its bounds count.
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

/// One of the things that rows are ordered by.
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
    /// Multisets: duplicates stay.
    pub all: bool,
    /// Query on the left, from which `EXCEPT` takes rows away.
    pub left: Box<Relation>,
    /// Query on the right.
    pub right: Box<Relation>,
    /// For each column of the result, those of the two sides.
    pub columns: Vec<(ColumnId, ColumnId, ColumnId)>,
    /// Types of the result's columns, in the order of `columns`; both sides have them already.
    pub types: Vec<Type>,
}

/// Which operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// `UNION`: rows of either side.
    Union,
    /// `INTERSECT`: rows of both sides.
    Intersect,
    /// `EXCEPT`: rows of the left side that the right side has not.
    Except,
}

/// Which shared relation of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedId(pub u32);

/// A common table expression that is not simply put in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// Number of the shared relation in its statement.
    pub number: SharedId,
    /// Name in the WITH clause, folded.
    pub name: String,
    /// Columns that uses outside its own step repeat, in the order of the definition.
    pub columns: Vec<ColumnId>,
    /// Query or recursion that gives the rows.
    pub body: SharedBody,
}

/// Where its rows come from.
#[derive(Debug, Clone, PartialEq)]
pub enum SharedBody {
    /// A query that is asked once.
    Query(Box<Relation>),
    /// `initial`, and `step` over what the step before has added, until it adds nothing. In `step`
    /// the relation of this number stands for those rows. Each with its columns.
    Recursive {
        /// Non-recursive term: the rows that the first step starts from.
        initial: Box<Relation>,
        /// Columns of `initial`, one for each column of the shared relation.
        initial_columns: Vec<ColumnId>,
        /// Recursive term, asked again until it adds no row.
        step: Box<Relation>,
        /// Columns of `step`, one for each column of the shared relation.
        step_columns: Vec<ColumnId>,
        /// Rows that were there already do not count as added, if their types are given.
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

/// What to do where another has it. Of several for one row, the last here counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IfLocked {
    /// The statement waits for the other transaction; the default.
    Wait,
    /// `SKIP LOCKED`: the row is left out.
    Skip,
    /// `NOWAIT`: the statement fails with 55P03.
    Fail,
}

/// Rows that are put into a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// Table that gets the rows.
    pub table: Arc<Table>,
    /// Relation from whose rows the new rows are computed.
    pub input: Relation,
    /// For each column of the table by position, what is put there: columns of the input.
    pub values: Vec<Expression>,
    /// `ON CONFLICT`; without it, a row that is there already is an error (23505).
    pub on_conflict: Option<OnConflict>,
    /// The new row's columns, by position, for checks and RETURNING.
    pub new: Vec<ColumnId>,
    /// Constraints of the table, over the new row.
    pub checks: Vec<Check>,
    /// Computed from the new row: column position and expression.
    pub generated: Vec<(usize, Expression)>,
}

/// What to do with a row that is there already.
#[derive(Debug, Clone, PartialEq)]
pub struct OnConflict {
    /// Unique indexes by position among the table's; the primary key is `None`. Empty: any.
    pub arbiters: Vec<Option<usize>>,
    /// `DO UPDATE`; `DO NOTHING` otherwise.
    pub update: Option<ConflictUpdate>,
}

/// How the row that is there is changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ConflictUpdate {
    /// The row that is there, by position.
    pub old: Vec<ColumnId>,
    /// The row that was to be put in (`excluded`), by position.
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
    /// The row's columns as they were, by position.
    pub old: Vec<ColumnId>,
    /// Update with its assignments, or deletion.
    pub kind: ChangeKind,
}

/// Which of them.
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

/// `WHEN [NOT] MATCHED [AND predicate] THEN ...`
#[derive(Debug, Clone, PartialEq)]
pub struct MergeAction {
    /// `WHEN MATCHED`: the action is for source rows with a match; otherwise for those without.
    pub matched: bool,
    /// Condition after `AND`; the action applies only where it is true, `None` applies always.
    pub predicate: Option<Expression>,
    /// Action after `THEN`.
    pub kind: MergeKind,
}

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeKind {
    /// `INSERT`, with a value for each column of the table by position.
    Insert(Vec<Expression>),
    /// `UPDATE`, with the positions of the assigned columns and their values.
    Update(Vec<(usize, Expression)>),
    /// `DELETE`.
    Delete,
}

/// A constraint that a new row must not violate: false is a violation, NULL is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Name of the constraint, or of the index whose expressions are computed.
    pub name: Arc<str>,
    /// Condition over the columns of the new row.
    pub predicate: Expression,
}

/// A query's result as its client sees it.
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
    /// The table's number and the column's there, where it is one of a table's.
    pub origin: Option<(u32, u16)>,
}
