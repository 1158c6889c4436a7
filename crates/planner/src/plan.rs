//! How a statement is carried out: physical operators over rows whose columns have positions.
//!
//! A [`Plan`] is immutable and shared by all executions of its statement in one session, which
//! may overlap (cursors, portals); the state of a running execution is in [`crate::execute`]. It is made from a [`Relation`](logical::relation::Relation)
//! in two steps: conditions are moved to where they cost least (`push.rs`), subqueries become joins
//! where they can (`decorrelate.rs`), and what nobody uses is left out (`prune.rs`); then each relation is given its operator (`lower.rs`,
//! `join.rs`, `apply.rs`, `summary.rs`, `write.rs`), tables their access path (`access.rs`, `points.rs`,
//! `column_test.rs`). In
//! between, joins are put in order (`order.rs`) by what they cost (`cost.rs`), for which the rows of
//! relations are estimated (`estimate.rs`). A plan that is to be explained keeps these numbers
//! (`explained.rs`).

mod access;
mod again;
mod apply;
mod basis;
mod column_test;
mod cost;
mod decorrelate;
mod estimate;
mod explained;
mod extremes;
mod implied;
mod join;
mod lower;
mod order;
mod ordering;
mod points;
mod prune;
mod push;
#[cfg(feature = "shown")]
mod shown;
mod summary;
mod walk;
mod write;

use std::sync::Arc;

use types::{Type, key::KeyColumn, row::RowLayout};

use crate::program::Program;
use catalog::{ObjectId, Table};
use logical::{
    expression::Function,
    relation::{FrameUnits, IfLocked, JoinKind, SetKind, WaitingFunction},
};

#[cfg(feature = "shown")]
pub use self::shown::{estimated_rows, shown};
pub use self::{
    access::{index_columns, row_key_columns},
    basis::Basis,
    column_test::ColumnTest,
    explained::{Estimate, Explained},
    lower::{Planned, plan, plan_to_explain, row_layout},
    points::is_of_list,
    write::{locks_rows, tables},
};

/// A physical operator with its inputs.
#[derive(Debug)]
pub enum Plan {
    Rows(Vec<Vec<Program>>),
    /// An operator of a plan that is explained; when it runs, it is measured.
    Explained(Box<Explained>),
    /// What a client sends.
    Received {
        width: usize,
    },
    Scan(Scan),
    /// A relation of the system's, and the columns of it that are given.
    System {
        relation: ObjectId,
        columns: Vec<usize>,
    },
    Functions {
        calls: Vec<Call>,
        ordinality: bool,
    },
    /// The rows of a shared relation, by its number among the execution's.
    Shared {
        number: usize,
        columns: Vec<usize>,
    },
    /// Rows for which the program holds.
    Filter {
        input: Box<Plan>,
        predicate: Program,
    },
    /// Rows of these values.
    Project {
        input: Box<Plan>,
        values: Vec<Program>,
    },
    /// The input's values, then those of the functions.
    Expand {
        input: Box<Plan>,
        calls: Vec<Call>,
    },
    HashJoin(HashJoin),
    IndexJoin(IndexJoin),
    LoopJoin(LoopJoin),
    Apply(Apply),
    Calls(WaitingCalls),
    Aggregate(Aggregate),
    Window {
        input: Box<Plan>,
        windows: Vec<Window>,
    },
    /// The first of those that are equal in `on`.
    Distinct {
        input: Box<Plan>,
        on: Vec<Program>,
        types: Vec<Type>,
    },
    Sort {
        input: Box<Plan>,
        keys: Vec<SortKey>,
        limit: Option<Program>,
    },
    Limit {
        input: Box<Plan>,
        limit: Option<Program>,
        offset: Option<Program>,
        with_ties: Option<Vec<SortKey>>,
    },
    Union {
        left: Box<Plan>,
        right: Box<Plan>,
    },
    /// INTERSECT and EXCEPT.
    Set {
        kind: SetKind,
        all: bool,
        left: Box<Plan>,
        right: Box<Plan>,
        types: Vec<Type>,
    },
    With {
        definitions: Vec<Shared>,
        body: Box<Plan>,
    },
    Lock {
        input: Box<Plan>,
        locks: Vec<RowLock>,
        /// Instead of what the locks say of a row that has changed.
        again: Option<Box<Again>>,
    },
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
}

/// A table that is read.
#[derive(Debug)]
pub struct Scan {
    pub table: Arc<Table>,
    pub rows: Arc<RowLayout>,
    pub access: Access,
    /// Somebody relies on the rows' order.
    pub ordered: bool,
    pub descending: bool,
    /// The table's columns that are given, by position, in order.
    pub columns: Vec<usize>,
    /// The record's key comes last.
    pub with_key: bool,
    /// What is looked at before a record is decoded.
    pub tests: Vec<ColumnTest>,
    /// The other conditions.
    pub filter: Option<Program>,
}

/// How records are found.
#[derive(Debug)]
pub enum Access {
    /// All of them.
    Full,
    /// By the key that they lie under.
    Key(KeyRange),
    /// By an index, by its position among the table's.
    Index { index: usize, range: KeyRange },
}

impl Access {
    /// Whether it gives one record at most.
    pub fn is_point(&self) -> bool {
        match self {
            Self::Full => false,
            Self::Key(range) | Self::Index { range, .. } => range.is_point,
        }
    }
}

/// Keys that begin with some values, and whose next part may be bounded.
#[derive(Debug)]
pub struct KeyRange {
    /// The columns of the key, as many as are given here.
    pub columns: Vec<KeyColumn>,
    pub equal: Vec<Program>,
    /// Bounds of the next column, and whether they are inclusive: of its values, whichever way the
    /// key has them.
    pub lower: Option<(Program, bool)>,
    pub upper: Option<(Program, bool)>,
    /// They are all of a unique key: there is one record at most.
    pub is_point: bool,
}

/// A call of a function that returns rows.
#[derive(Debug)]
pub struct Call {
    pub function: Function,
    pub arguments: Vec<Program>,
    pub argument_types: Vec<Type>,
    pub columns: usize,
}

/// A join over a table of hashes of the build side's keys.
#[derive(Debug)]
pub struct HashJoin {
    /// Of the probe side: its rows without partners matter in a left join.
    pub kind: JoinKind,
    pub probe: Box<Plan>,
    pub build: Box<Plan>,
    pub probe_keys: Vec<Program>,
    pub build_keys: Vec<Program>,
    pub key_types: Vec<Type>,
    pub build_width: usize,
    /// Over both rows, the probe's first.
    pub residual: Option<Program>,
    pub handed_on: HandedOn,
    /// The build side's rows, and their keys, are the same whenever it is read.
    pub is_fixed: bool,
}

/// What a join hands on of its rows: positions in those of the left side (the probe, the outer),
/// then in those of the right.
#[derive(Debug)]
pub struct HandedOn {
    pub left: Vec<usize>,
    pub right: Vec<usize>,
}

impl HandedOn {
    /// How many values that are.
    pub fn width(&self) -> usize {
        self.left.len() + self.right.len()
    }
}

/// A join that looks each row's partners up in a table.
#[derive(Debug)]
pub struct IndexJoin {
    pub kind: JoinKind,
    pub outer: Box<Plan>,
    pub scan: Scan,
    /// Over both rows, the outer's first.
    pub residual: Option<Program>,
    pub handed_on: HandedOn,
}

/// A join that reads the inner side for each row of the outer.
#[derive(Debug)]
pub struct LoopJoin {
    pub kind: JoinKind,
    pub outer: Box<Plan>,
    pub inner: Box<Plan>,
    pub outer_width: usize,
    pub inner_width: usize,
    pub on: Option<Program>,
    /// What the inner side refers to: positions in the outer row. Nothing: it is read once.
    pub correlated: Vec<usize>,
    /// The inner side's rows are the same whenever it is read.
    pub is_fixed: bool,
}

/// A query that is asked for each row; its answer is a further column.
#[derive(Debug)]
pub struct Apply {
    pub input: Box<Plan>,
    pub query: Box<Plan>,
    pub kind: ApplyKind,
    /// Values of the input's row that the query refers to.
    pub correlated: Vec<usize>,
    /// Its rows are the same whenever it is asked.
    pub is_fixed: bool,
}

/// What is asked of it.
#[derive(Debug)]
pub enum ApplyKind {
    /// The only value of the only row.
    Scalar,
    Exists,
    /// Programs over the input's row and the query's.
    Any(Vec<Program>),
    Array(types::Scalar),
    /// Which of the query's rows count is found by hash.
    Matched(Box<Matched>),
}

/// `EXISTS` and comparisons with `ANY`, by hash. A row of the query *counts* for a row of the input
/// if the filters are equal, and the residual is true.
#[derive(Debug)]
pub struct Matched {
    /// Whether any counts is all that is asked.
    pub is_exists: bool,
    pub filters: HashedKeys,
    /// Over both rows, the input's first.
    pub residual: Option<Program>,
    /// What has to be equal of one that counts, and what has to be true as well, over both rows:
    /// the answer is NULL if none is found, and for one it is not known.
    pub tests: HashedKeys,
    pub others: Vec<Program>,
}

/// Values of the one side that have to be equal to values of the other.
#[derive(Debug)]
pub struct HashedKeys {
    pub input: Vec<Program>,
    pub query: Vec<Program>,
    pub types: Vec<Type>,
}

/// Functions that wait, called for each row; their answers are further columns.
#[derive(Debug)]
pub struct WaitingCalls {
    pub input: Box<Plan>,
    pub calls: Vec<WaitingCall>,
    /// Not all rows may be asked for: no value is taken for one that is not.
    pub one_by_one: bool,
}

/// One of them.
#[derive(Debug)]
pub struct WaitingCall {
    pub function: WaitingFunction,
    /// Over the input's row and the answers of the calls before.
    pub arguments: Vec<Program>,
    /// The first argument, a sequence, is the same in all rows.
    pub is_fixed: bool,
}

/// Groups and what is computed over them.
#[derive(Debug)]
pub struct Aggregate {
    pub input: Box<Plan>,
    pub keys: Vec<Program>,
    pub key_types: Vec<Type>,
    /// Positions among the keys.
    pub sets: Vec<Vec<usize>>,
    pub with_set_number: bool,
    pub calls: Vec<AggregateCall>,
}

/// An aggregate.
#[derive(Debug)]
pub struct AggregateCall {
    pub function: Function,
    pub arguments: Vec<Program>,
    pub argument_types: Vec<Type>,
    pub distinct: bool,
    pub order: Vec<SortKey>,
    pub filter: Option<Program>,
}

/// A function over a window.
#[derive(Debug)]
pub struct Window {
    pub function: Function,
    pub arguments: Vec<Program>,
    pub argument_types: Vec<Type>,
    pub filter: Option<Program>,
    pub partition: Vec<Program>,
    pub order: Vec<SortKey>,
    pub units: FrameUnits,
    pub start: Bound,
    pub end: Bound,
}

/// One end of a frame.
#[derive(Debug)]
pub enum Bound {
    UnboundedPreceding,
    Preceding(Program),
    CurrentRow,
    Following(Program),
    UnboundedFollowing,
}

/// What rows are ordered by.
#[derive(Debug, Clone)]
pub struct SortKey {
    pub value: Program,
    pub ty: Type,
    pub descending: bool,
    pub nulls_first: bool,
}

/// A relation that is read in several places, or reads itself.
#[derive(Debug)]
pub struct Shared {
    pub number: usize,
    pub width: usize,
    /// It changes rows.
    pub writes: bool,
    pub body: SharedBody,
}

/// Where its rows come from.
#[derive(Debug)]
pub enum SharedBody {
    Query(Box<Plan>),
    /// Rows that were there already do not count, if these types are given.
    Recursive {
        initial: Box<Plan>,
        step: Box<Plan>,
        distinct: Option<Vec<Type>>,
    },
}

/// How a row is found again that has changed since it was found (`again.rs`).
#[derive(Debug)]
pub struct Again {
    /// Gives one row at most, with the columns of the input's rows.
    pub plan: Plan,
    /// What it is asked with: positions in the input's row.
    pub given: Vec<usize>,
}

/// Rows to be locked.
#[derive(Debug)]
pub struct RowLock {
    pub table: Arc<Table>,
    pub rows: Arc<RowLayout>,
    /// Where the record's key is in the row.
    pub key: usize,
    pub strength: engine::Strength,
    pub if_locked: IfLocked,
    /// The record's columns in the row, to be read again: position in the row, in the table.
    pub columns: Vec<(usize, usize)>,
    /// What was computed from them, in the order in which it is computed again: position in the
    /// row.
    pub computed: Vec<(usize, Program)>,
    /// What has to hold of the row when it is locked.
    pub recheck: Option<Program>,
}

/// A constraint.
#[derive(Debug)]
pub struct Check {
    pub name: Arc<str>,
    pub predicate: Program,
}

/// How a table's new rows are made and checked: programs over the new row alone.
#[derive(Debug)]
pub struct NewRow {
    pub table: Arc<Table>,
    pub rows: Arc<RowLayout>,
    /// Position in the table, and its value.
    pub generated: Vec<(usize, Program)>,
    pub checks: Vec<Check>,
}

/// Rows that are put into a table. Gives the new rows after the input's columns.
#[derive(Debug)]
pub struct Insert {
    pub input: Plan,
    /// The input reads the table: it is read to its end first.
    pub reads_target: bool,
    /// For each column of the table.
    pub values: Vec<Program>,
    pub new: NewRow,
    pub on_conflict: Option<OnConflict>,
}

/// What to do about a row that is there.
#[derive(Debug)]
pub struct OnConflict {
    /// Unique indexes by position, `None` for the key; empty: any.
    pub arbiters: Vec<Option<usize>>,
    /// Over the row that is there, then the one that was to be put in.
    pub update: Option<ConflictUpdate>,
}

/// `DO UPDATE`
#[derive(Debug)]
pub struct ConflictUpdate {
    pub assignments: Vec<(usize, Program)>,
    /// As [`Assignments::keys`].
    pub keys: Vec<u16>,
    pub predicate: Option<Program>,
}

/// Rows of a table that are changed. Gives the input's rows with the newest values of the record,
/// then the new row.
#[derive(Debug)]
pub struct Update {
    pub input: Plan,
    pub target: Target,
    pub assignments: Assignments,
    pub new: NewRow,
}

/// What an UPDATE gives the columns of a row.
#[derive(Debug)]
pub struct Assignments {
    /// Position in the table, and its value.
    pub values: Vec<(usize, Program)>,
    /// The key that the row lies under may be another one afterwards.
    pub may_move: bool,
    /// Columns of keys to which foreign keys may refer, of those that are written: if they stay the
    /// same, who refers to the row does not mind.
    pub keys: Vec<u16>,
}

/// Rows of a table that are deleted. Gives the input's rows.
#[derive(Debug)]
pub struct Delete {
    pub input: Plan,
    pub target: Target,
}

/// Where the record that is changed is in the input's rows.
#[derive(Debug)]
pub struct Target {
    pub table: Arc<Table>,
    pub rows: Arc<RowLayout>,
    pub key: usize,
    /// The record's columns: position in the row, in the table.
    pub columns: Vec<(usize, usize)>,
    /// What has to hold of the row as it is when it is changed.
    pub recheck: Option<Program>,
    /// Instead of that, how a record that has changed is found again.
    pub again: Option<Box<Again>>,
    /// All rows are read before the first is changed.
    pub read_first: bool,
}

/// MERGE.
#[derive(Debug)]
pub struct Merge {
    pub input: Plan,
    pub target: Target,
    pub new: NewRow,
    pub actions: Vec<MergeAction>,
    /// What is put in depends on functions that wait: they were called only for the rows of the
    /// source that had no partner when they were found.
    pub inserts_called: bool,
}

/// One of its branches.
#[derive(Debug)]
pub struct MergeAction {
    pub matched: bool,
    pub predicate: Option<Program>,
    pub kind: MergeKind,
}

/// What it does.
#[derive(Debug)]
pub enum MergeKind {
    Insert(Vec<Program>),
    Update(Assignments),
    Delete,
}
