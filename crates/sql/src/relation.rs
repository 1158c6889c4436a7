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

use crate::{
    catalog::{ObjectId, Table},
    expression::{ColumnId, Expression, Function},
};

pub(crate) use self::{
    advisory::{AdvisoryFunction, Span, Strength},
    check::check,
};

/// A relational operator over its inputs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Relation {
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
pub(crate) struct ScanId(pub(crate) u32);

/// A table that is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scan {
    pub(crate) id: ScanId,
    /// What the query calls it, or the part of FROM that it is in: for `FOR UPDATE OF`.
    pub(crate) name: Option<String>,
    pub(crate) table: Arc<Table>,
    /// Of each column of the table that is not dropped, its position there.
    pub(crate) columns: Vec<(ColumnId, usize)>,
    /// The record's own key, as bytes, for those that write or lock it.
    pub(crate) key: ColumnId,
    /// The indexes that it may read by.
    pub(crate) indexes: Vec<ScanIndex>,
}

/// An index of a table that is read, over the scan's columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScanIndex {
    /// Its position among the table's.
    pub(crate) at: usize,
    pub(crate) keys: Vec<Expression>,
    /// It has the rows for which all of these are true.
    pub(crate) predicate: Vec<Expression>,
}

/// A relation of the system's that is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SystemScan {
    pub(crate) relation: ObjectId,
    /// Of each of its columns, the position there.
    pub(crate) columns: Vec<(ColumnId, usize)>,
}

/// A call of a function that returns rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FunctionCall {
    pub(crate) function: Function,
    pub(crate) arguments: Vec<Expression>,
    pub(crate) columns: Vec<ColumnId>,
}

/// How two relations are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinKind {
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
pub(crate) struct Join {
    pub(crate) kind: JoinKind,
    pub(crate) left: Box<Relation>,
    pub(crate) right: Box<Relation>,
    /// All have to be true.
    pub(crate) on: Vec<Expression>,
    /// The right refers to columns of the left.
    pub(crate) lateral: bool,
}

/// What is computed beside the rows of a clause, and leaves them a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Applied {
    Query(Subquery),
    Call(WaitingCall),
}

/// What is no function of expressions, because it has to wait, or takes or gives what outlives its
/// statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitingFunction {
    Sequence(SequenceFunction),
    /// `pg_sleep(seconds)`
    Sleep,
    Advisory(AdvisoryFunction),
}

/// What is asked of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SequenceFunction {
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
pub(crate) struct WaitingCall {
    pub(crate) column: ColumnId,
    pub(crate) function: WaitingFunction,
    /// The first is the sequence, as `regclass`, if it is one's.
    pub(crate) arguments: Vec<Expression>,
}

/// A query within an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Subquery {
    pub(crate) column: ColumnId,
    pub(crate) kind: SubqueryKind,
    pub(crate) relation: Relation,
}

/// What is asked of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SubqueryKind {
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
pub(crate) struct Aggregate {
    pub(crate) input: Box<Relation>,
    /// What rows are grouped by; each becomes a column.
    pub(crate) keys: Vec<(ColumnId, Expression)>,
    /// Positions among the keys, for each grouping set; one set of all of them as a rule.
    pub(crate) sets: Vec<Vec<usize>>,
    /// The number of the grouping set, where `GROUPING` asks for it.
    pub(crate) set_number: Option<ColumnId>,
    pub(crate) calls: Vec<AggregateCall>,
}

/// An aggregate over the rows of each group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AggregateCall {
    pub(crate) column: ColumnId,
    pub(crate) function: Function,
    pub(crate) arguments: Vec<Expression>,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<SortKey>,
    pub(crate) filter: Option<Expression>,
}

/// A function over neighbouring rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WindowCall {
    pub(crate) column: ColumnId,
    /// Of windows, or an aggregate.
    pub(crate) function: Function,
    pub(crate) arguments: Vec<Expression>,
    pub(crate) filter: Option<Expression>,
    pub(crate) window: Window,
}

/// Which rows are neighbours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Window {
    pub(crate) partition: Vec<Expression>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) frame: Frame,
}

/// How far a frame reaches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) units: FrameUnits,
    pub(crate) start: FrameBound,
    pub(crate) end: FrameBound,
}

/// What its bounds count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameUnits {
    Rows,
    Range,
    Groups,
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FrameBound {
    UnboundedPreceding,
    Preceding(Expression),
    CurrentRow,
    Following(Expression),
    UnboundedFollowing,
}

/// One of the things that rows are ordered by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SortKey {
    pub(crate) expression: Expression,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

/// Two queries as sets or multisets of rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SetOperation {
    pub(crate) kind: SetKind,
    /// Multisets: duplicates stay.
    pub(crate) all: bool,
    pub(crate) left: Box<Relation>,
    pub(crate) right: Box<Relation>,
    /// For each column of the result, those of the two sides.
    pub(crate) columns: Vec<(ColumnId, ColumnId, ColumnId)>,
    pub(crate) types: Vec<Type>,
}

/// Which operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetKind {
    Union,
    Intersect,
    Except,
}

/// Which shared relation of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SharedId(pub(crate) u32);

/// A common table expression that is not simply put in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shared {
    pub(crate) number: SharedId,
    pub(crate) name: String,
    pub(crate) columns: Vec<ColumnId>,
    pub(crate) body: SharedBody,
}

/// Where its rows come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SharedBody {
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
pub(crate) struct RowLock {
    pub(crate) scan: ScanId,
    pub(crate) table: Arc<Table>,
    pub(crate) key: ColumnId,
    pub(crate) strength: engine::Strength,
    pub(crate) if_locked: IfLocked,
}

/// What to do where another has it. Of several for one row, the last here counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IfLocked {
    Wait,
    Skip,
    Fail,
}

/// Rows that are put into a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Insert {
    pub(crate) table: Arc<Table>,
    pub(crate) input: Relation,
    /// For each column of the table by position, what is put there: columns of the input.
    pub(crate) values: Vec<Expression>,
    pub(crate) on_conflict: Option<OnConflict>,
    /// The new row's columns, by position, for checks and RETURNING.
    pub(crate) new: Vec<ColumnId>,
    /// Constraints of the table, over the new row.
    pub(crate) checks: Vec<Check>,
    /// Computed from the new row: column position and expression.
    pub(crate) generated: Vec<(usize, Expression)>,
}

/// What to do with a row that is there already.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OnConflict {
    /// Unique indexes by position among the table's; the primary key is `None`. Empty: any.
    pub(crate) arbiters: Vec<Option<usize>>,
    /// `DO UPDATE`; `DO NOTHING` otherwise.
    pub(crate) update: Option<ConflictUpdate>,
}

/// How the row that is there is changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConflictUpdate {
    /// The row that is there, by position.
    pub(crate) old: Vec<ColumnId>,
    /// The row that was to be put in (`excluded`), by position.
    pub(crate) excluded: Vec<ColumnId>,
    pub(crate) assignments: Vec<(usize, Expression)>,
    pub(crate) predicate: Option<Expression>,
}

/// Rows of a table that are changed or deleted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) table: Arc<Table>,
    /// Rows with the columns of the scan of the target, and others.
    pub(crate) input: Relation,
    pub(crate) target: ScanId,
    pub(crate) key: ColumnId,
    /// The row's columns as they were, by position.
    pub(crate) old: Vec<ColumnId>,
    pub(crate) kind: ChangeKind,
}

/// Which of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChangeKind {
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
pub(crate) struct Merge {
    pub(crate) table: Arc<Table>,
    /// The source left-joined with the target.
    pub(crate) input: Relation,
    pub(crate) target: ScanId,
    pub(crate) key: ColumnId,
    pub(crate) old: Vec<ColumnId>,
    pub(crate) actions: Vec<MergeAction>,
    pub(crate) new: Vec<ColumnId>,
    pub(crate) checks: Vec<Check>,
    pub(crate) generated: Vec<(usize, Expression)>,
}

/// `WHEN [NOT] MATCHED [AND predicate] THEN ...`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MergeAction {
    pub(crate) matched: bool,
    pub(crate) predicate: Option<Expression>,
    pub(crate) kind: MergeKind,
}

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MergeKind {
    Insert(Vec<Expression>),
    Update(Vec<(usize, Expression)>),
    Delete,
}

/// A constraint that a new row must not violate: false is a violation, NULL is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Check {
    pub(crate) name: Arc<str>,
    pub(crate) predicate: Expression,
}

/// A query's result as its client sees it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) column: ColumnId,
    pub(crate) ty: Type,
    pub(crate) modifier: TypeModifier,
    /// The table's number and the column's there, where it is one of a table's.
    pub(crate) origin: Option<(u32, u16)>,
}
