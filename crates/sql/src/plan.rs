//! How a statement is carried out: physical operators over rows whose columns have positions.
//!
//! A [`Plan`] is immutable and shared by all executions of its statement in one session, which
//! may overlap (cursors, portals); the state of a running execution is in [`crate::execute`]. It is made from a [`Relation`](crate::relation::Relation)
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
#[cfg(test)]
mod shown;
mod summary;
mod walk;
mod write;

use std::sync::Arc;

use types::{Type, key::KeyColumn, row::RowLayout};

use crate::{
    catalog::{ObjectId, Table},
    expression::Function,
    program::Program,
    relation::{FrameUnits, IfLocked, JoinKind, SetKind, WaitingFunction},
};

#[cfg(test)]
pub(crate) use self::shown::{estimated_rows, shown};
pub(crate) use self::{
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
pub(crate) enum Plan {
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
pub(crate) struct Scan {
    pub(crate) table: Arc<Table>,
    pub(crate) rows: Arc<RowLayout>,
    pub(crate) access: Access,
    /// Somebody relies on the rows' order.
    pub(crate) ordered: bool,
    pub(crate) descending: bool,
    /// The table's columns that are given, by position, in order.
    pub(crate) columns: Vec<usize>,
    /// The record's key comes last.
    pub(crate) with_key: bool,
    /// What is looked at before a record is decoded.
    pub(crate) tests: Vec<ColumnTest>,
    /// The other conditions.
    pub(crate) filter: Option<Program>,
}

/// How records are found.
#[derive(Debug)]
pub(crate) enum Access {
    /// All of them.
    Full,
    /// By the key that they lie under.
    Key(KeyRange),
    /// By an index, by its position among the table's.
    Index { index: usize, range: KeyRange },
}

impl Access {
    /// Whether it gives one record at most.
    pub(crate) fn is_point(&self) -> bool {
        match self {
            Self::Full => false,
            Self::Key(range) | Self::Index { range, .. } => range.is_point,
        }
    }
}

/// Keys that begin with some values, and whose next part may be bounded.
#[derive(Debug)]
pub(crate) struct KeyRange {
    /// The columns of the key, as many as are given here.
    pub(crate) columns: Vec<KeyColumn>,
    pub(crate) equal: Vec<Program>,
    /// Bounds of the next column, and whether they are inclusive: of its values, whichever way the
    /// key has them.
    pub(crate) lower: Option<(Program, bool)>,
    pub(crate) upper: Option<(Program, bool)>,
    /// They are all of a unique key: there is one record at most.
    pub(crate) is_point: bool,
}

/// A call of a function that returns rows.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: Function,
    pub(crate) arguments: Vec<Program>,
    pub(crate) argument_types: Vec<Type>,
    pub(crate) columns: usize,
}

/// A join over a table of hashes of the build side's keys.
#[derive(Debug)]
pub(crate) struct HashJoin {
    /// Of the probe side: its rows without partners matter in a left join.
    pub(crate) kind: JoinKind,
    pub(crate) probe: Box<Plan>,
    pub(crate) build: Box<Plan>,
    pub(crate) probe_keys: Vec<Program>,
    pub(crate) build_keys: Vec<Program>,
    pub(crate) key_types: Vec<Type>,
    pub(crate) build_width: usize,
    /// Over both rows, the probe's first.
    pub(crate) residual: Option<Program>,
    pub(crate) handed_on: HandedOn,
    /// The build side's rows, and their keys, are the same whenever it is read.
    pub(crate) is_fixed: bool,
}

/// What a join hands on of its rows: positions in those of the left side (the probe, the outer),
/// then in those of the right.
#[derive(Debug)]
pub(crate) struct HandedOn {
    pub(crate) left: Vec<usize>,
    pub(crate) right: Vec<usize>,
}

impl HandedOn {
    /// How many values that are.
    pub(crate) fn width(&self) -> usize {
        self.left.len() + self.right.len()
    }
}

/// A join that looks each row's partners up in a table.
#[derive(Debug)]
pub(crate) struct IndexJoin {
    pub(crate) kind: JoinKind,
    pub(crate) outer: Box<Plan>,
    pub(crate) scan: Scan,
    /// Over both rows, the outer's first.
    pub(crate) residual: Option<Program>,
    pub(crate) handed_on: HandedOn,
}

/// A join that reads the inner side for each row of the outer.
#[derive(Debug)]
pub(crate) struct LoopJoin {
    pub(crate) kind: JoinKind,
    pub(crate) outer: Box<Plan>,
    pub(crate) inner: Box<Plan>,
    pub(crate) outer_width: usize,
    pub(crate) inner_width: usize,
    pub(crate) on: Option<Program>,
    /// What the inner side refers to: positions in the outer row. Nothing: it is read once.
    pub(crate) correlated: Vec<usize>,
    /// The inner side's rows are the same whenever it is read.
    pub(crate) is_fixed: bool,
}

/// A query that is asked for each row; its answer is a further column.
#[derive(Debug)]
pub(crate) struct Apply {
    pub(crate) input: Box<Plan>,
    pub(crate) query: Box<Plan>,
    pub(crate) kind: ApplyKind,
    /// Values of the input's row that the query refers to.
    pub(crate) correlated: Vec<usize>,
    /// Its rows are the same whenever it is asked.
    pub(crate) is_fixed: bool,
}

/// What is asked of it.
#[derive(Debug)]
pub(crate) enum ApplyKind {
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
pub(crate) struct Matched {
    /// Whether any counts is all that is asked.
    pub(crate) is_exists: bool,
    pub(crate) filters: HashedKeys,
    /// Over both rows, the input's first.
    pub(crate) residual: Option<Program>,
    /// What has to be equal of one that counts, and what has to be true as well, over both rows:
    /// the answer is NULL if none is found, and for one it is not known.
    pub(crate) tests: HashedKeys,
    pub(crate) others: Vec<Program>,
}

/// Values of the one side that have to be equal to values of the other.
#[derive(Debug)]
pub(crate) struct HashedKeys {
    pub(crate) input: Vec<Program>,
    pub(crate) query: Vec<Program>,
    pub(crate) types: Vec<Type>,
}

/// Functions that wait, called for each row; their answers are further columns.
#[derive(Debug)]
pub(crate) struct WaitingCalls {
    pub(crate) input: Box<Plan>,
    pub(crate) calls: Vec<WaitingCall>,
    /// Not all rows may be asked for: no value is taken for one that is not.
    pub(crate) one_by_one: bool,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    pub(crate) function: WaitingFunction,
    /// Over the input's row and the answers of the calls before.
    pub(crate) arguments: Vec<Program>,
    /// The first argument, a sequence, is the same in all rows.
    pub(crate) is_fixed: bool,
}

/// Groups and what is computed over them.
#[derive(Debug)]
pub(crate) struct Aggregate {
    pub(crate) input: Box<Plan>,
    pub(crate) keys: Vec<Program>,
    pub(crate) key_types: Vec<Type>,
    /// Positions among the keys.
    pub(crate) sets: Vec<Vec<usize>>,
    pub(crate) with_set_number: bool,
    pub(crate) calls: Vec<AggregateCall>,
}

/// An aggregate.
#[derive(Debug)]
pub(crate) struct AggregateCall {
    pub(crate) function: Function,
    pub(crate) arguments: Vec<Program>,
    pub(crate) argument_types: Vec<Type>,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<SortKey>,
    pub(crate) filter: Option<Program>,
}

/// A function over a window.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) function: Function,
    pub(crate) arguments: Vec<Program>,
    pub(crate) argument_types: Vec<Type>,
    pub(crate) filter: Option<Program>,
    pub(crate) partition: Vec<Program>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) units: FrameUnits,
    pub(crate) start: Bound,
    pub(crate) end: Bound,
}

/// One end of a frame.
#[derive(Debug)]
pub(crate) enum Bound {
    UnboundedPreceding,
    Preceding(Program),
    CurrentRow,
    Following(Program),
    UnboundedFollowing,
}

/// What rows are ordered by.
#[derive(Debug, Clone)]
pub(crate) struct SortKey {
    pub(crate) value: Program,
    pub(crate) ty: Type,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

/// A relation that is read in several places, or reads itself.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) number: usize,
    pub(crate) width: usize,
    /// It changes rows.
    pub(crate) writes: bool,
    pub(crate) body: SharedBody,
}

/// Where its rows come from.
#[derive(Debug)]
pub(crate) enum SharedBody {
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
pub(crate) struct Again {
    /// Gives one row at most, with the columns of the input's rows.
    pub(crate) plan: Plan,
    /// What it is asked with: positions in the input's row.
    pub(crate) given: Vec<usize>,
}

/// Rows to be locked.
#[derive(Debug)]
pub(crate) struct RowLock {
    pub(crate) table: Arc<Table>,
    pub(crate) rows: Arc<RowLayout>,
    /// Where the record's key is in the row.
    pub(crate) key: usize,
    pub(crate) strength: engine::Strength,
    pub(crate) if_locked: IfLocked,
    /// The record's columns in the row, to be read again: position in the row, in the table.
    pub(crate) columns: Vec<(usize, usize)>,
    /// What was computed from them, in the order in which it is computed again: position in the
    /// row.
    pub(crate) computed: Vec<(usize, Program)>,
    /// What has to hold of the row when it is locked.
    pub(crate) recheck: Option<Program>,
}

/// A constraint.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) name: Arc<str>,
    pub(crate) predicate: Program,
}

/// How a table's new rows are made and checked: programs over the new row alone.
#[derive(Debug)]
pub(crate) struct NewRow {
    pub(crate) table: Arc<Table>,
    pub(crate) rows: Arc<RowLayout>,
    /// Position in the table, and its value.
    pub(crate) generated: Vec<(usize, Program)>,
    pub(crate) checks: Vec<Check>,
}

/// Rows that are put into a table. Gives the new rows after the input's columns.
#[derive(Debug)]
pub(crate) struct Insert {
    pub(crate) input: Plan,
    /// The input reads the table: it is read to its end first.
    pub(crate) reads_target: bool,
    /// For each column of the table.
    pub(crate) values: Vec<Program>,
    pub(crate) new: NewRow,
    pub(crate) on_conflict: Option<OnConflict>,
}

/// What to do about a row that is there.
#[derive(Debug)]
pub(crate) struct OnConflict {
    /// Unique indexes by position, `None` for the key; empty: any.
    pub(crate) arbiters: Vec<Option<usize>>,
    /// Over the row that is there, then the one that was to be put in.
    pub(crate) update: Option<ConflictUpdate>,
}

/// `DO UPDATE`
#[derive(Debug)]
pub(crate) struct ConflictUpdate {
    pub(crate) assignments: Vec<(usize, Program)>,
    /// As [`Assignments::keys`].
    pub(crate) keys: Vec<u16>,
    pub(crate) predicate: Option<Program>,
}

/// Rows of a table that are changed. Gives the input's rows with the newest values of the record,
/// then the new row.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) input: Plan,
    pub(crate) target: Target,
    pub(crate) assignments: Assignments,
    pub(crate) new: NewRow,
}

/// What an UPDATE gives the columns of a row.
#[derive(Debug)]
pub(crate) struct Assignments {
    /// Position in the table, and its value.
    pub(crate) values: Vec<(usize, Program)>,
    /// The key that the row lies under may be another one afterwards.
    pub(crate) may_move: bool,
    /// Columns of keys to which foreign keys may refer, of those that are written: if they stay the
    /// same, who refers to the row does not mind.
    pub(crate) keys: Vec<u16>,
}

/// Rows of a table that are deleted. Gives the input's rows.
#[derive(Debug)]
pub(crate) struct Delete {
    pub(crate) input: Plan,
    pub(crate) target: Target,
}

/// Where the record that is changed is in the input's rows.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) table: Arc<Table>,
    pub(crate) rows: Arc<RowLayout>,
    pub(crate) key: usize,
    /// The record's columns: position in the row, in the table.
    pub(crate) columns: Vec<(usize, usize)>,
    /// What has to hold of the row as it is when it is changed.
    pub(crate) recheck: Option<Program>,
    /// Instead of that, how a record that has changed is found again.
    pub(crate) again: Option<Box<Again>>,
    /// All rows are read before the first is changed.
    pub(crate) read_first: bool,
}

/// MERGE.
#[derive(Debug)]
pub(crate) struct Merge {
    pub(crate) input: Plan,
    pub(crate) target: Target,
    pub(crate) new: NewRow,
    pub(crate) actions: Vec<MergeAction>,
    /// What is put in depends on functions that wait: they were called only for the rows of the
    /// source that had no partner when they were found.
    pub(crate) inserts_called: bool,
}

/// One of its branches.
#[derive(Debug)]
pub(crate) struct MergeAction {
    pub(crate) matched: bool,
    pub(crate) predicate: Option<Program>,
    pub(crate) kind: MergeKind,
}

/// What it does.
#[derive(Debug)]
pub(crate) enum MergeKind {
    Insert(Vec<Program>),
    Update(Assignments),
    Delete,
}
