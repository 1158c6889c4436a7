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
        columns: Vec<ColumnId>,
        rows: Vec<Vec<Expression>>,
    },
    /// Rows that a client sends while the statement runs.
    Received {
        columns: Vec<ColumnId>,
    },
    /// The records of a table.
    Scan(Scan),
    /// The rows of a relation of the system's, which are computed.
    System(SystemScan),
    /// The rows of functions, side by side; the shorter ones are filled with NULLs.
    Functions {
        calls: Vec<FunctionCall>,
        ordinality: Option<ColumnId>,
    },
    /// What is read more than once, or reads itself: see [`Shared`].
    Shared {
        number: SharedId,
        columns: Vec<(ColumnId, ColumnId)>,
    },
    /// The rows for which the predicate is true.
    Filter {
        input: Box<Relation>,
        predicate: Expression,
    },
    /// Further columns, computed from each row.
    Compute {
        input: Box<Relation>,
        columns: Vec<(ColumnId, Expression)>,
    },
    /// Further columns from functions that return sets: a row for each of their rows.
    Expand {
        input: Box<Relation>,
        calls: Vec<FunctionCall>,
    },
    Join(Join),
    /// One further column, from a query that is asked for each row.
    Apply {
        input: Box<Relation>,
        subquery: Box<Subquery>,
    },
    /// Further columns from functions that wait, called row by row, in this order.
    Calls {
        input: Box<Relation>,
        calls: Vec<WaitingCall>,
    },
    Aggregate(Aggregate),
    /// Further columns from functions over neighbouring rows.
    Window {
        input: Box<Relation>,
        calls: Vec<WindowCall>,
    },
    /// One row of those that are equal in `on`; the first, if there is an order.
    Distinct {
        input: Box<Relation>,
        on: Vec<Expression>,
    },
    Sort {
        input: Box<Relation>,
        keys: Vec<SortKey>,
    },
    Limit {
        input: Box<Relation>,
        limit: Option<Expression>,
        offset: Option<Expression>,
        with_ties: Option<Vec<SortKey>>,
    },
    Set(SetOperation),
    /// A query with definitions of what is shared within it, in the order of their use.
    With {
        definitions: Vec<Shared>,
        body: Box<Relation>,
    },
    /// Locks the rows that come through, and reads them again if they have been changed.
    Lock {
        input: Box<Relation>,
        locks: Vec<RowLock>,
    },
    Insert(Box<Insert>),
    Change(Box<Change>),
    Merge(Box<Merge>),
}

/// Which scan of a statement: the same table may be read in several places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScanId(pub u32);

/// A table that is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    pub id: ScanId,
    /// What the query calls it, or the part of FROM that it is in: for `FOR UPDATE OF`.
    pub name: Option<String>,
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
    pub keys: Vec<Expression>,
    /// It has the rows for which all of these are true.
    pub predicate: Vec<Expression>,
}

/// A relation of the system's that is read.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemScan {
    pub relation: ObjectId,
    /// Of each of its columns, the position there.
    pub columns: Vec<(ColumnId, usize)>,
}

/// A call of a function that returns rows.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    pub function: Function,
    pub arguments: Vec<Expression>,
    pub columns: Vec<ColumnId>,
}

/// How two relations are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    /// Rows of the left without a partner have NULLs.
    Left,
    Right,
    Full,
    /// Rows of the left that have a partner; the right's columns end here.
    Semi,
    /// Rows of the left that have none.
    Anti,
}

/// Two relations, joined.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub left: Box<Relation>,
    pub right: Box<Relation>,
    /// All have to be true.
    pub on: Vec<Expression>,
    /// The right refers to columns of the left.
    pub lateral: bool,
}

/// What is computed beside the rows of a clause, and leaves them a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Applied {
    Query(Subquery),
    Call(WaitingCall),
}

/// What is no function of expressions, because it has to wait, or takes or gives what outlives its
/// statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingFunction {
    Sequence(SequenceFunction),
    /// `pg_sleep(seconds)`
    Sleep,
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
    pub column: ColumnId,
    pub function: WaitingFunction,
    /// The first is the sequence, as `regclass`, if it is one's.
    pub arguments: Vec<Expression>,
}

/// A query within an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    pub column: ColumnId,
    pub kind: SubqueryKind,
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
        column: ColumnId,
        element: types::Scalar,
    },
}

/// Groups of rows and what is computed over each.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    pub input: Box<Relation>,
    /// What rows are grouped by; each becomes a column.
    pub keys: Vec<(ColumnId, Expression)>,
    /// Positions among the keys, for each grouping set; one set of all of them as a rule.
    pub sets: Vec<Vec<usize>>,
    /// The number of the grouping set, where `GROUPING` asks for it.
    pub set_number: Option<ColumnId>,
    pub calls: Vec<AggregateCall>,
}

/// An aggregate over the rows of each group.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    pub column: ColumnId,
    pub function: Function,
    pub arguments: Vec<Expression>,
    pub distinct: bool,
    pub order: Vec<SortKey>,
    pub filter: Option<Expression>,
}

/// A function over neighbouring rows.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    pub column: ColumnId,
    /// Of windows, or an aggregate.
    pub function: Function,
    pub arguments: Vec<Expression>,
    pub filter: Option<Expression>,
    pub window: Window,
}

/// Which rows are neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    pub partition: Vec<Expression>,
    pub order: Vec<SortKey>,
    pub frame: Frame,
}

/// How far a frame reaches.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub units: FrameUnits,
    pub start: FrameBound,
    pub end: FrameBound,
}

/// What its bounds count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnits {
    Rows,
    Range,
    Groups,
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Expression),
    CurrentRow,
    Following(Expression),
    UnboundedFollowing,
}

/// One of the things that rows are ordered by.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    pub expression: Expression,
    pub descending: bool,
    pub nulls_first: bool,
}

/// Two queries as sets or multisets of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperation {
    pub kind: SetKind,
    /// Multisets: duplicates stay.
    pub all: bool,
    pub left: Box<Relation>,
    pub right: Box<Relation>,
    /// For each column of the result, those of the two sides.
    pub columns: Vec<(ColumnId, ColumnId, ColumnId)>,
    pub types: Vec<Type>,
}

/// Which operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    Union,
    Intersect,
    Except,
}

/// Which shared relation of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedId(pub u32);

/// A common table expression that is not simply put in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    pub number: SharedId,
    pub name: String,
    pub columns: Vec<ColumnId>,
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
        initial: Box<Relation>,
        initial_columns: Vec<ColumnId>,
        step: Box<Relation>,
        step_columns: Vec<ColumnId>,
        /// Rows that were there already do not count as added, if their types are given.
        distinct: Option<Vec<Type>>,
    },
}

/// Rows of a scan that are to be locked.
#[derive(Debug, Clone, PartialEq)]
pub struct RowLock {
    pub scan: ScanId,
    pub table: Arc<Table>,
    pub key: ColumnId,
    pub strength: engine::Strength,
    pub if_locked: IfLocked,
}

/// What to do where another has it. Of several for one row, the last here counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IfLocked {
    Wait,
    Skip,
    Fail,
}

/// Rows that are put into a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub table: Arc<Table>,
    pub input: Relation,
    /// For each column of the table by position, what is put there: columns of the input.
    pub values: Vec<Expression>,
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
    pub assignments: Vec<(usize, Expression)>,
    pub predicate: Option<Expression>,
}

/// Rows of a table that are changed or deleted.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub table: Arc<Table>,
    /// Rows with the columns of the scan of the target, and others.
    pub input: Relation,
    pub target: ScanId,
    pub key: ColumnId,
    /// The row's columns as they were, by position.
    pub old: Vec<ColumnId>,
    pub kind: ChangeKind,
}

/// Which of them.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangeKind {
    Update {
        assignments: Vec<(usize, Expression)>,
        new: Vec<ColumnId>,
        checks: Vec<Check>,
        generated: Vec<(usize, Expression)>,
    },
    Delete,
}

/// Rows of a source, each put into the table or used to change what it has there.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    pub table: Arc<Table>,
    /// The source left-joined with the target.
    pub input: Relation,
    pub target: ScanId,
    pub key: ColumnId,
    pub old: Vec<ColumnId>,
    pub actions: Vec<MergeAction>,
    pub new: Vec<ColumnId>,
    pub checks: Vec<Check>,
    pub generated: Vec<(usize, Expression)>,
}

/// `WHEN [NOT] MATCHED [AND predicate] THEN ...`
#[derive(Debug, Clone, PartialEq)]
pub struct MergeAction {
    pub matched: bool,
    pub predicate: Option<Expression>,
    pub kind: MergeKind,
}

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeKind {
    Insert(Vec<Expression>),
    Update(Vec<(usize, Expression)>),
    Delete,
}

/// A constraint that a new row must not violate: false is a violation, NULL is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub name: Arc<str>,
    pub predicate: Expression,
}

/// A query's result as its client sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    pub name: String,
    pub column: ColumnId,
    pub ty: Type,
    pub modifier: TypeModifier,
    /// The table's number and the column's there, where it is one of a table's.
    pub origin: Option<(u32, u16)>,
}
