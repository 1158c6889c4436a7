//! Plans of statements: physical operators over rows whose columns have positions.
//!
//! A [`Plan`] is immutable and shared by all executions of its statement in one session, which may overlap (cursors,
//! portals); the state of a running execution is in `executor`. It is made from a
//! [`Relation`](logical::relation::Relation) in two steps. First, conditions are moved to where they cost least
//! (`predicate_pushdown.rs`), with those that disjunctions imply (`disjunction.rs`), subqueries become joins where they
//! can (`decorrelate.rs`), and columns that are never used are left out (`column_pruning.rs`). Then each relation is
//! given its operator (`lower.rs`, `join.rs`, `apply.rs`, `grouped.rs`, `summary.rs`, `write.rs`), and tables their
//! access path (`access.rs`, `row_comparison.rs`, `points.rs`, `column_test.rs`). In between, joins are put in order
//! (`join_order.rs`) by their costs (`cost.rs`), for which the rows of relations are estimated (`estimate.rs`). A plan
//! that is to be explained keeps these numbers (`explained.rs`).

mod access;
mod apply;
mod column_pruning;
mod column_test;
mod common_table;
mod cost;
mod decorrelate;
mod dependencies;
mod digits;
mod disjunction;
mod effects;
mod errors;
mod estimate;
mod explained;
mod extremes;
mod grouped;
mod implied;
mod inlined;
mod join;
mod join_filters;
mod join_nodes;
mod join_order;
mod lower;
mod nulls;
mod ordering;
mod outer_joins;
mod points;
mod predicate_pushdown;
mod recheck;
mod row_comparison;
#[cfg(feature = "shown")]
mod shown;
mod summary;
mod walk;
mod write;
mod write_nodes;

use std::{cmp::Ordering, sync::Arc};

use functions::{Body, looks_at_place_alone};
use types::{Type, Value, compare::compare_as, key::KeyColumn, row::RowLayout};

use crate::program::Program;
use catalog::{ObjectId, Table};
use logical::{
    expression::Function,
    relation::{FrameUnits, IfLocked, SetKind, WaitingFunction},
};

pub(crate) use self::join::is_hashable;
#[cfg(feature = "shown")]
pub use self::shown::{estimated_rows, shown};
pub use self::{
    access::{index_columns, row_key_columns},
    column_test::ColumnTest,
    dependencies::PlanDependencies,
    effects::{locks_rows, tables},
    explained::{Estimate, Explained},
    join_nodes::{
        Apply, ApplyKind, HashJoin, HashedKeys, HashedSubplan, IndexJoin, JoinProjection,
        NestedLoopJoin,
    },
    lower::{PlannedStatement, plan, plan_to_explain, row_layout},
    points::is_of_list,
    write_nodes::{
        Assignments, Check, ConflictUpdate, Delete, Insert, Merge, MergeAction, MergeKind, NewRow,
        OnConflict, Target, Update,
    },
};

/// A physical operator with its inputs.
#[derive(Debug)]
pub enum Plan {
    /// Rows that are written out, such as those of `VALUES`: a program for each value. A program
    /// needs no row.
    Rows(Vec<Vec<Program>>),
    /// An operator of a plan that is explained; when it runs, it is measured.
    Explained(Box<Explained>),
    /// Rows that a client sends.
    CopySource {
        /// Number of columns of the client's rows.
        width: usize,
    },
    /// Records of a table, by an access path.
    Scan(Scan),
    /// Rows of a relation of the system's, with some of its columns.
    System {
        /// Number of the system relation, such as that of `pg_class`.
        relation: ObjectId,
        /// Positions of the columns in the system relation, in the order of the output.
        columns: Vec<usize>,
    },
    /// Rows of set-returning functions in FROM, side by side; shorter results are padded with
    /// NULLs.
    Functions {
        /// Calls of the functions; each adds its columns to those of the calls before.
        calls: Vec<Call>,
        /// `WITH ORDINALITY`: a last column numbers the rows from 1 on.
        ordinality: bool,
        /// Whether the arguments refer to no row around the functions: they are called once, even
        /// the volatile ones, as in PostgreSQL.
        is_fixed: bool,
    },
    /// The rows of a common table, by its number among the execution's.
    CteScan {
        /// Number of the common table, as in [`CommonTable::number`].
        number: usize,
        /// Positions of the columns in the common table, in the order of the output.
        columns: Vec<usize>,
    },
    /// Rows for which the program holds.
    Filter {
        /// Operator that gives the rows.
        input: Box<Plan>,
        /// Condition over a row of the input. A row for which it is false or NULL is left out.
        predicate: Program,
    },
    /// Rows of these values.
    Project {
        /// Operator that gives the rows.
        input: Box<Plan>,
        /// Programs over a row of the input, one for each column of the output.
        values: Vec<Program>,
    },
    /// The input's values, then those of the functions.
    ProjectSet {
        /// Operator that gives the rows.
        input: Box<Plan>,
        /// Calls of set-returning functions, whose arguments are programs over a row of the input.
        calls: Vec<Call>,
    },
    /// Join by a hash table of one side's keys.
    HashJoin(HashJoin),
    /// Join by lookups in a table's key or index.
    IndexJoin(IndexJoin),
    /// Nested-loop join.
    NestedLoopJoin(NestedLoopJoin),
    /// Subquery whose answer becomes a further column.
    Apply(Apply),
    /// Functions that have to wait, such as `nextval`, called for each row.
    Calls(WaitingCalls),
    /// Grouping and aggregates, by hash. Workers that help to carry the statement out share it.
    Aggregate(Arc<Aggregate>),
    /// Window functions; the input is read to its end before the first row is given.
    Window {
        /// Operator that gives the rows.
        input: Box<Plan>,
        /// Orders of rows that the calls need, without repetitions.
        orders: Vec<WindowOrder>,
        /// Calls of window functions; each adds one column to those of the input, in this order.
        windows: Vec<Window>,
    },
    /// The first of several rows that are equal in `on`.
    Distinct {
        /// Operator that gives the rows.
        input: Box<Plan>,
        /// Programs over a row of the input, whose values decide which rows are equal.
        on: Vec<Program>,
        /// Types of the values of `on`, one for each.
        types: Vec<Type>,
        /// Whether equal rows come one after the other, in an order that stays.
        is_grouped: bool,
    },
    /// `ORDER BY`: the input's rows, sorted in memory.
    Sort {
        /// Operator that gives the rows.
        input: Box<Plan>,
        /// Sort keys over a row of the input, the most significant first.
        keys: Vec<SortKey>,
        /// Most rows that are kept, a `bigint`; NULL or `None` keeps all rows. Needs no row.
        limit: Option<Program>,
    },
    /// `ORDER BY` of rows that come in the order of the first keys: some rows are sorted at a time.
    IncrementalSort(IncrementalSort),
    /// `LIMIT` and `OFFSET`.
    Limit {
        /// Operator that gives the rows.
        input: Box<Plan>,
        /// Most rows that are given, a `bigint`; NULL or `None` is no limit. Needs no row.
        limit: Option<Program>,
        /// Rows that are skipped first, a `bigint`; NULL or `None` skips none. Needs no row.
        offset: Option<Program>,
        /// `WITH TIES`: keys of the order. Rows equal in them to the last row are given as well.
        with_ties: Option<Vec<SortKey>>,
    },
    /// `UNION ALL`: the rows of the left input, then those of the right.
    Union {
        /// Input whose rows come first.
        left: Box<Plan>,
        /// Input whose rows come last, with as many columns as the left.
        right: Box<Plan>,
    },
    /// INTERSECT and EXCEPT.
    Set {
        /// `INTERSECT` or `EXCEPT`; a `UNION` is a [`Plan::Union`].
        kind: SetKind,
        /// `ALL`: duplicates are counted. Without it each row is given once.
        all: bool,
        /// Input from which the rows are taken.
        left: Box<Plan>,
        /// Input with which the left rows are compared; it is read to its end first.
        right: Box<Plan>,
        /// Types of the columns, by which rows are compared.
        types: Vec<Type>,
    },
    /// `WITH`: a query and the common tables that it reads.
    With {
        /// Common tables, each of which may read those before it.
        definitions: Vec<CommonTable>,
        /// Query whose rows are given.
        body: Box<Plan>,
    },
    /// `FOR UPDATE` and the like: locks the rows of the input and hands them on.
    LockRows {
        /// Operator that gives the rows, with the keys of the records to be locked.
        input: Box<Plan>,
        /// Locks to be taken for each row, one for each table in FROM that is locked.
        locks: Vec<RowLock>,
        /// Query that finds a row again after it has changed; if there is one, it replaces the
        /// columns and conditions in `locks`.
        recheck_query: Option<Box<RecheckQuery>>,
    },
    /// `INSERT`, also with `ON CONFLICT`, and `COPY .. FROM`.
    Insert(Box<Insert>),
    /// `UPDATE`.
    Update(Box<Update>),
    /// `DELETE`.
    Delete(Box<Delete>),
    /// `MERGE`.
    Merge(Box<Merge>),
}

/// A table that is read.
#[derive(Debug)]
pub struct Scan {
    /// Table whose records are read.
    pub table: Arc<Table>,
    /// Stored layout of the table's records.
    pub rows: Arc<RowLayout>,
    /// Access path by which the records are found.
    pub access: AccessPath,
    /// Whether an operator above relies on the rows' order.
    pub ordered: bool,
    /// Whether the key or index is read backwards, from its end.
    pub descending: bool,
    /// Positions of the table's columns that are given, in order.
    pub columns: Vec<usize>,
    /// Whether the record's key comes last.
    pub with_key: bool,
    /// Conditions that are checked before a record is decoded.
    pub tests: Vec<ColumnTest>,
    /// Columns that filters of joins above are for, with the number of each filter among the execution's. Rows that it
    /// leaves out make no difference.
    pub key_filters: Vec<(usize, usize)>,
    /// Conjunction of the other conditions.
    pub filter: Option<Program>,
}

/// Access paths to records.
#[derive(Debug)]
pub enum AccessPath {
    /// All records of the table.
    Full,
    /// Records in a range of the key that they lie under.
    Key(KeyRange),
    /// Records in a range of an index's keys.
    Index {
        /// Position of the index among the table's indexes.
        index: usize,
        /// Range of the index's keys.
        range: KeyRange,
    },
}

impl AccessPath {
    /// Returns whether the access path gives one record at most.
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
    /// Columns of the key, from the first on; later ones that the range does not use may be
    /// missing.
    pub columns: Vec<KeyColumn>,
    /// Values of the first columns, one for each; a NULL value makes the range empty.
    pub equal: Vec<Program>,
    /// Lower bound of the next columns. Bounds are of the columns' values, whichever way the key
    /// sorts them.
    pub lower: Option<KeyBound>,
    /// Upper bound, in the form of [`KeyRange::lower`]; `None` is no bound.
    pub upper: Option<KeyBound>,
    /// Whether the values are those of a whole unique key: there is one record at most.
    pub is_point: bool,
}

/// One end of a range of keys.
#[derive(Debug)]
pub struct KeyBound {
    /// Values of the columns, the first of which is that behind the equal ones: with further values the bound is a
    /// row's, and the key sorts all of these columns in one direction. If the first value is NULL, the range is empty;
    /// another NULL ends the row.
    pub values: Vec<Program>,
    /// Whether keys that begin with the values are within the range; they are if the row ends early.
    pub is_inclusive: bool,
}

/// A call of a function that returns rows.
#[derive(Debug)]
pub struct Call {
    /// Function that is called; a scalar function gives a single row.
    pub function: Function,
    /// Programs that give the arguments.
    pub arguments: Vec<Program>,
    /// Types of the arguments, one for each.
    pub argument_types: Vec<Type>,
    /// Number of columns that the function gives.
    pub columns: usize,
}

/// Functions that wait, called for each row; their answers are further columns.
#[derive(Debug)]
pub struct WaitingCalls {
    /// Operator that gives the rows.
    pub input: Box<Plan>,
    /// Calls in the order in which they are made for a row; each adds one column.
    pub calls: Vec<WaitingCall>,
    /// Whether the reader may stop before the last row: then no value is taken for a row that it
    /// has not asked for.
    pub one_by_one: bool,
}

/// A call of a function that waits.
#[derive(Debug)]
pub struct WaitingCall {
    /// Function that is called: of a sequence, `pg_sleep` or of advisory locks.
    pub function: WaitingFunction,
    /// Programs over the input's row and the answers of the calls before.
    pub arguments: Vec<Program>,
    /// Whether the first argument, a sequence, is the same in all rows.
    pub is_fixed: bool,
}

/// Groups, and aggregates over them.
#[derive(Debug)]
pub struct Aggregate {
    /// Operator that gives the rows.
    pub input: Box<Plan>,
    /// `GROUP BY`: programs over a row of the input. The keys are the first columns of the output.
    pub keys: Vec<Program>,
    /// Types of the keys, one for each.
    pub key_types: Vec<Type>,
    /// Grouping sets, as positions among the keys.
    pub sets: Vec<Vec<usize>>,
    /// Whether a column after the keys has the number of the grouping set, an `integer` from 1 on.
    pub with_set_number: bool,
    /// Aggregates, whose values are the last columns of the output.
    pub calls: Vec<AggregateCall>,
}

/// A call of an aggregate.
#[derive(Debug)]
pub struct AggregateCall {
    /// Aggregate function that is called.
    pub function: Function,
    /// Programs over a row of the input that give the arguments.
    pub arguments: Vec<Program>,
    /// Types of the arguments, one for each.
    pub argument_types: Vec<Type>,
    /// `DISTINCT`: equal arguments are aggregated once for each group.
    pub distinct: bool,
    /// `ORDER BY` within the call: the order in which rows are aggregated; empty is any order.
    pub order: Vec<SortKey>,
    /// `FILTER (WHERE ..)`: condition on the input's rows; `None` aggregates all rows.
    pub filter: Option<Program>,
}

/// A call of a function over a window.
#[derive(Debug)]
pub struct Window {
    /// Window function or aggregate that is called.
    pub function: Function,
    /// Programs over a row of the input that give the arguments.
    pub arguments: Vec<Program>,
    /// Types of the arguments, one for each.
    pub argument_types: Vec<Type>,
    /// `FILTER (WHERE ..)`: condition on the input's rows; `None` aggregates all rows.
    pub filter: Option<Program>,
    /// Number of the order that the call needs.
    pub order: usize,
    /// `ROWS`, `RANGE` or `GROUPS`: unit in which the frame's bounds are counted.
    pub units: FrameUnits,
    /// First row of the frame.
    pub start: Bound,
    /// Last row of the frame.
    pub end: Bound,
}

impl Window {
    /// Returns whether the call looks no farther than at the peers of a row: its partition need not be in memory.
    pub fn looks_at_peers_alone(&self) -> bool {
        match self.function.0.body {
            Body::Aggregate(_) => {
                matches!(self.start, Bound::UnboundedPreceding)
                    && matches!(self.end, Bound::CurrentRow)
            }
            _ => looks_at_place_alone(self.function.0),
        }
    }
}

/// An order in which calls of window functions find their rows.
#[derive(Debug)]
pub struct WindowOrder {
    /// `PARTITION BY`, in any order, and then `ORDER BY`: values of a row of the input.
    pub keys: Vec<SortKey>,
    /// Number of keys that belong to `PARTITION BY`: rows that are equal in them are a partition.
    pub partition: usize,
}

/// One end of a frame.
#[derive(Debug)]
pub enum Bound {
    /// `UNBOUNDED PRECEDING`: the partition's first row.
    UnboundedPreceding,
    /// `offset PRECEDING`: a distance before the current row, which the program gives.
    Preceding(Program),
    /// `CURRENT ROW`: the row itself, or its peers in `RANGE` and `GROUPS`.
    CurrentRow,
    /// `offset FOLLOWING`: a distance after the current row, which the program gives.
    Following(Program),
    /// `UNBOUNDED FOLLOWING`: the partition's last row.
    UnboundedFollowing,
}

/// An expression that rows are ordered by.
#[derive(Debug, Clone)]
pub struct SortKey {
    /// Program over a row that gives the value to be compared.
    pub value: Program,
    /// Type of the value.
    pub ty: Type,
    /// `DESC`: greater values come first.
    pub descending: bool,
    /// `NULLS FIRST`: NULLs come before all values, whatever the direction.
    pub nulls_first: bool,
}

/// Returns the order of two rows of keys.
pub fn compare_keys(keys: &[SortKey], left: &[Value<'_>], right: &[Value<'_>]) -> Ordering {
    for (key, (left, right)) in keys.iter().zip(left.iter().zip(right)) {
        let order = match (left.is_null(), right.is_null()) {
            (true, true) => continue,
            (true, false) if key.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if key.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if key.descending => compare_as(key.ty, *right, *left),
            (false, false) => compare_as(key.ty, *left, *right),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// A sort of rows that come in the order of the first keys. Rows that are equal in these are a group; all rows of a
/// group are sorted at once.
#[derive(Debug)]
pub struct IncrementalSort {
    /// Operator that gives the rows.
    pub input: Box<Plan>,
    /// Sort keys over a row of the input, the most significant first.
    pub keys: Vec<SortKey>,
    /// Number of the first keys in whose order the rows come: one at least, and not all.
    pub presorted: usize,
    /// Most rows that are given, a `bigint`; NULL or `None` gives all rows. Needs no row.
    pub limit: Option<Program>,
    /// Estimated number of groups.
    pub groups: f64,
}

/// A relation that is read in several places, or reads itself.
#[derive(Debug)]
pub struct CommonTable {
    /// Number of the relation among the execution's common tables, from 0 on.
    pub number: usize,
    /// Number of columns of the relation's rows.
    pub width: usize,
    /// Whether the relation changes rows.
    pub writes: bool,
    /// Query or recursion that gives the rows.
    pub body: CommonTableBody,
}

/// The forms of a common table.
#[derive(Debug)]
pub enum CommonTableBody {
    /// Query whose rows are computed once and shared by all readers.
    Query(Box<Plan>),
    /// `WITH RECURSIVE`.
    Recursive {
        /// Non-recursive term of `WITH RECURSIVE`, whose rows are the first.
        initial: Box<Plan>,
        /// Recursive term, run over the rows that the step before has added until it adds none.
        step: Box<Plan>,
        /// Types of the columns, for `UNION`; `None` is `UNION ALL`, which keeps duplicates.
        distinct: Option<Vec<Type>>,
    },
}

/// A query that finds a row again that has changed since it was found (`recheck.rs`).
#[derive(Debug)]
pub struct RecheckQuery {
    /// Plan that gives one row at most, with the columns of the input's rows.
    pub plan: Plan,
    /// Parameters of the plan: positions in the input's row.
    pub given: Vec<usize>,
}

/// A lock on a record of each row.
#[derive(Debug)]
pub struct RowLock {
    /// Table whose records are locked.
    pub table: Arc<Table>,
    /// Stored layout of the table's records.
    pub rows: Arc<RowLayout>,
    /// Position of the record's key in the row.
    pub key: usize,
    /// Strength of the lock: `FOR UPDATE`, `FOR NO KEY UPDATE`, `FOR SHARE` or `FOR KEY SHARE`.
    pub strength: engine::Strength,
    /// Behaviour when another transaction holds the lock: waits, `SKIP LOCKED` or `NOWAIT`.
    pub if_locked: IfLocked,
    /// The record's columns that are read again: position in the row, position in the table.
    pub columns: Vec<(usize, usize)>,
    /// Values that are computed again from these columns, in this order: position in the row, and
    /// program.
    pub computed: Vec<(usize, Program)>,
    /// Condition that has to hold for the row when it is locked.
    pub recheck_condition: Option<Program>,
}
