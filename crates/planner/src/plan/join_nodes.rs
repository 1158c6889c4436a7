//! Nodes of plans that bring two inputs together: joins, and subqueries for each row.

use logical::relation::JoinKind;
use types::Type;

use super::{Plan, Scan};
use crate::program::Program;

/// A join over a table of hashes of the build side's keys.
#[derive(Debug)]
pub struct HashJoin {
    /// Kind of the join: inner, left, full, semi or anti.
    pub kind: JoinKind,
    /// Whether the build side is the left one, as may be in left joins, semijoins and antijoins: its rows are marked
    /// when they match, and those that are left over, or that match, are given at the end.
    pub is_turned: bool,
    /// Side each of whose rows is looked up in the hash table: the left one, unless the join is turned.
    pub probe: Box<Plan>,
    /// Side that is read to its end into the hash table first.
    pub build: Box<Plan>,
    /// Programs over a row of the probe side, one for each part of the key.
    pub probe_keys: Vec<Program>,
    /// Programs over a row of the build side, in the order of `probe_keys`.
    pub build_keys: Vec<Program>,
    /// Types of the probe side's keys, one for each part of the key.
    pub key_types: Vec<Type>,
    /// Number of columns of the build side's rows.
    pub build_width: usize,
    /// Further join condition over both rows, the probe's first.
    pub residual: Option<Program>,
    /// Columns that the join gives.
    pub projection: JoinProjection,
    /// Whether the build side's rows, and their keys, are the same whenever it is read.
    pub is_fixed: bool,
    /// Filters of keys that are made for scans of the probe side: number of the key, and of the filter among the
    /// execution's.
    pub filters: Vec<(usize, usize)>,
}

impl HashJoin {
    /// Returns whether rows of the build side are marked when they match.
    pub fn is_marked(&self) -> bool {
        self.is_turned || self.kind == JoinKind::Full
    }

    /// Returns whether the join gives nothing but marked rows of the build side, or those without a mark.
    pub fn gives_marked_alone(&self) -> bool {
        self.is_turned && matches!(self.kind, JoinKind::Semi | JoinKind::Anti)
    }

    /// Returns whether a row of the probe side makes no difference if it has no match.
    pub fn needs_match(&self) -> bool {
        self.is_turned || matches!(self.kind, JoinKind::Inner | JoinKind::Semi)
    }

    /// Returns whether a row of the build side is given, too, if it has no match.
    pub fn keeps_without_match(&self) -> bool {
        self.is_marked() && self.kind != JoinKind::Semi
    }
}

/// The columns that a join hands on: positions in rows of the first side (the probe, the outer),
/// then in those of the second.
#[derive(Debug)]
pub struct JoinProjection {
    /// Positions in rows of the probe side or the outer side. Empty for semijoins and antijoins that are turned.
    pub left: Vec<usize>,
    /// Positions in rows of the other side. Empty for other semijoins and antijoins.
    pub right: Vec<usize>,
}

impl JoinProjection {
    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.left.len() + self.right.len()
    }
}

/// A join that looks each row's matches up in a table.
#[derive(Debug)]
pub struct IndexJoin {
    /// Kind of the join, in which the outer side is the left one.
    pub kind: JoinKind,
    /// Left side, for each of whose rows matches are looked up.
    pub outer: Box<Plan>,
    /// Table in which matches are looked up, whose key range is over a row of the outer side.
    pub scan: Scan,
    /// Further join condition over both rows, the outer's first.
    pub residual: Option<Program>,
    /// Columns that the join gives.
    pub projection: JoinProjection,
}

/// A join that reads the inner side for each row of the outer.
#[derive(Debug)]
pub struct NestedLoopJoin {
    /// Kind of the join, in which the outer side is the left one.
    pub kind: JoinKind,
    /// Left side, read once.
    pub outer: Box<Plan>,
    /// Right side, read once or for each row of the outer side.
    pub inner: Box<Plan>,
    /// Number of columns of the outer side's rows.
    pub outer_width: usize,
    /// Number of columns of the inner side's rows.
    pub inner_width: usize,
    /// Join condition over both rows, the outer's first; `None` accepts all pairs.
    pub on: Option<Program>,
    /// Values of the outer row that the inner side refers to, by position. If there are none, the
    /// inner side is read once.
    pub correlated: Vec<usize>,
    /// Whether the inner side's rows are the same whenever it is read.
    pub is_fixed: bool,
}

/// A query that is run for each row; its answer is a further column.
#[derive(Debug)]
pub struct Apply {
    /// Operator for whose rows the subquery is run.
    pub input: Box<Plan>,
    /// Plan of the subquery.
    pub query: Box<Plan>,
    /// Form of the subquery, which decides its answer.
    pub kind: ApplyKind,
    /// Values of the input's row that the query refers to, by position.
    pub correlated: Vec<usize>,
    /// Whether the query's rows are the same whenever it is run.
    pub is_fixed: bool,
}

/// The forms of a subquery.
#[derive(Debug)]
pub enum ApplyKind {
    /// The only value of the only row.
    Scalar,
    /// `EXISTS`: whether the query has a row.
    Exists,
    /// A comparison with `ANY`: programs over the input's row and the query's.
    Any(Vec<Program>),
    /// `ARRAY(SELECT ..)`: an array of all values of the query's only column, with this element
    /// type.
    Array(types::Scalar),
    /// `EXISTS` or a comparison with `ANY`, whose rows that count are found by hash.
    Hashed(Box<HashedSubplan>),
}

/// `EXISTS` and comparisons with `ANY`, by hash. A row of the query *counts* for a row of the input
/// if the filters are equal, and the residual is true.
#[derive(Debug)]
pub struct HashedSubplan {
    /// Whether the answer is only whether any row counts.
    pub is_exists: bool,
    /// Equalities that make a row of the query count for a row of the input; possibly none.
    pub filters: HashedKeys,
    /// Further condition of counting, over both rows, the input's first.
    pub residual: Option<Program>,
    /// Equalities that a row that counts is tested with. The answer is true if the tests and
    /// `others` are true of a row that counts, NULL if they are true of none but unknown for one.
    pub tests: HashedKeys,
    /// Further conditions of a test, over both rows, the input's first.
    pub others: Vec<Program>,
}

/// Values of one side that have to be equal to values of the other.
#[derive(Debug)]
pub struct HashedKeys {
    /// Programs over a row of the input.
    pub input: Vec<Program>,
    /// Programs over a row of the query, in the order of `input`.
    pub query: Vec<Program>,
    /// Types of the input's values, one for each pair.
    pub types: Vec<Type>,
}
