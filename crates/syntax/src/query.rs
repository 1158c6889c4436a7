//! Queries, as PostgreSQL's grammar has them before names are looked up.
//!
//! Parentheses make no query of their own: what stands behind them and before them are further clauses of the query in
//! them (`convert/query.rs`). A chain of set operations is as deep on its left side as it is long; a loop goes down it.
//! Clauses that there are not are kept as errors, which the binder raises where it comes to them.

use std::sync::Arc;

use engine::Strength;
use types::Result;

use crate::{
    change::Change,
    expression::{Expr, ExprKind, FunctionCall, Literal, NamedWindow, Refused, refusal},
    name::{DottedName, Name},
};

/// A query with the clauses of all parentheses around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The WITH clause.
    pub with: Option<With>,
    /// The rows.
    pub body: QueryBody,
    /// The keys of ORDER BY.
    pub order: Vec<OrderKey>,
    /// The locking clauses, the innermost first.
    pub locks: Vec<Lock>,
    /// The number of rows of LIMIT or FETCH.
    pub limit: Option<Expr>,
    /// The number of rows of OFFSET.
    pub offset: Option<Expr>,
    /// Whether FETCH is `WITH TIES`: rows like the last one count too.
    pub with_ties: bool,
    pub(crate) refused: Option<Refused>,
}

impl Query {
    /// Returns whether the query is its body alone.
    pub fn is_bare(&self) -> bool {
        let cuts = self.limit.is_some() || self.offset.is_some();
        self.with.is_none()
            && self.order.is_empty()
            && self.locks.is_empty()
            && !cuts
            && self.refused.is_none()
    }

    /// Passes if all clauses behind the body are ones that there are, and go together.
    ///
    /// # Errors
    /// 42601 for a clause that is written twice, or that does not go with another; 0A000.
    pub fn supported(&self) -> Result<()> {
        refusal(&self.refused)
    }
}

/// A WITH clause.
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// Whether `RECURSIVE` is written.
    pub recursive: bool,
    /// The queries with their names.
    pub tables: Vec<CommonTable>,
}

/// A query of a WITH clause.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    /// The name of the query.
    pub name: Name,
    /// Names in place of the first columns' own.
    pub columns: Vec<Name>,
    /// `MATERIALIZED`: the query is computed once, wherever it is read.
    pub materialized: bool,
    /// The query.
    pub query: Query,
}

/// The rows of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// A query block.
    Select(Box<Select>),
    /// `VALUES`, row by row.
    Values(Vec<Vec<Expr>>),
    /// `UNION`, `INTERSECT` or `EXCEPT`.
    SetOperation(Box<SetOperation>),
    /// A query in parentheses with clauses of its own, as a side of a set operation.
    Query(Box<Query>),
    /// A statement that changes rows.
    Change(Change),
}

impl QueryBody {
    /// Returns the first item of the query block that the columns are named after: the first block of set operations.
    /// `None` for anything else.
    pub fn first_item(&self) -> Option<&SelectItem> {
        let mut body = self;
        loop {
            body = match body {
                Self::Select(select) => return select.items.first(),
                Self::SetOperation(operation) => &operation.left,
                Self::Query(query) => &query.body,
                Self::Values(_) | Self::Change(_) => return None,
            };
        }
    }

    /// Returns the literals of a query block's list that have no type of their own.
    pub fn untyped_literals(&self) -> impl Iterator<Item = &Literal> {
        let items = match self {
            Self::Select(select) => select.items.as_slice(),
            _ => &[],
        };
        let literals = items.iter().filter_map(SelectItem::literal);
        literals.filter(|literal| literal.is_untyped())
    }

    /// Returns whether literals without a type of their own are in the list of a query block.
    pub fn has_untyped_literals(&self) -> bool {
        self.untyped_literals().next().is_some()
    }

    /// Returns whether a query block selects values as they are written, from nothing.
    pub fn is_list_of_values(&self) -> bool {
        let Self::Select(select) = self else {
            return false;
        };
        // A query in any other clause would be one within it.
        let has_more = select.condition.is_some()
            || select.having.is_some()
            || select.distinct.is_some()
            || !select.grouping.is_empty()
            || select.refused_grouping.is_some()
            || !select.windows.is_empty();
        let is_value = |item: &SelectItem| item.literal().is_some();
        select.from.is_empty() && !has_more && select.items.iter().all(is_value)
    }
}

/// Two queries that an operation combines.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperation {
    /// The operation.
    pub kind: SetKind,
    /// Whether rows that are equal stay.
    pub all: bool,
    /// The query before the operation.
    pub left: QueryBody,
    /// The query behind the operation.
    pub right: QueryBody,
    pub(crate) refused: Option<Refused>,
}

impl SetOperation {
    /// Passes if the operation is one that there is.
    ///
    /// # Errors
    /// 0A000.
    pub fn supported(&self) -> Result<()> {
        refusal(&self.refused)
    }
}

/// An operation on the rows of two queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// `UNION`.
    Union,
    /// `INTERSECT`.
    Intersect,
    /// `EXCEPT`.
    Except,
}

/// A query block.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// `DISTINCT`.
    pub distinct: Option<Distinct>,
    /// The list.
    pub items: Vec<SelectItem>,
    /// The relations of FROM.
    pub from: Vec<FromItem>,
    /// The condition of WHERE.
    pub condition: Option<Expr>,
    /// The elements of GROUP BY.
    pub grouping: Vec<GroupingElement>,
    /// The condition of HAVING.
    pub having: Option<Expr>,
    /// The windows of the WINDOW clause.
    pub windows: Arc<[NamedWindow]>,
    pub(crate) refused: Option<Refused>,
    pub(crate) refused_grouping: Option<Refused>,
}

impl Select {
    /// Passes if all clauses but GROUP BY are ones that there are.
    ///
    /// # Errors
    /// 0A000 or 42601.
    pub fn supported(&self) -> Result<()> {
        refusal(&self.refused)
    }

    /// Passes if GROUP BY is of a form that there is.
    ///
    /// # Errors
    /// 0A000.
    pub fn supported_grouping(&self) -> Result<()> {
        refusal(&self.refused_grouping)
    }
}

/// `DISTINCT` of a query block.
#[derive(Debug, Clone, PartialEq)]
pub enum Distinct {
    /// Rows that differ.
    Rows,
    /// `DISTINCT ON (...)`: the first row of those that agree in some expressions.
    On(Vec<Expr>),
}

/// An item of a select list or of RETURNING.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// An expression.
    Value {
        /// The expression.
        value: Expr,
        /// The name behind the expression.
        alias: Option<Name>,
    },
    /// `*`.
    Star,
    /// `relation.*`.
    RelationStar(DottedName),
    /// A form that there is not.
    Refused(Refused),
}

impl SelectItem {
    /// Returns the literal that an item is.
    fn literal(&self) -> Option<&Literal> {
        match self {
            Self::Value { value, .. } => match &value.kind {
                ExprKind::Literal(literal) => Some(literal),
                _ => None,
            },
            _ => None,
        }
    }
}

/// An element of GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupingElement {
    /// Expressions, all of them keys: one, or several in parentheses.
    Keys(Vec<Expr>),
    /// `ROLLUP (...)`, whose items may be several keys in parentheses.
    Rollup(Vec<Vec<Expr>>),
    /// `CUBE (...)`, whose items may be several keys in parentheses.
    Cube(Vec<Vec<Expr>>),
    /// `GROUPING SETS (...)`.
    Sets(Vec<GroupingElement>),
}

/// A key of an order.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderKey {
    /// The expression.
    pub value: Expr,
    /// Whether the order is `DESC`.
    pub descending: bool,
    /// The place of NULLs, if it is said.
    pub nulls_first: Option<bool>,
}

/// A locking clause, of one relation or of all.
#[derive(Debug, Clone, PartialEq)]
pub struct Lock {
    /// How strongly rows are to be locked.
    pub strength: Strength,
    /// The relation behind `OF`.
    pub of: Option<DottedName>,
    /// The treatment of rows that others have locked.
    pub if_locked: IfLocked,
}

/// The treatment of rows that others have locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfLocked {
    /// The statement waits.
    Wait,
    /// `NOWAIT`: the statement fails.
    Fail,
    /// `SKIP LOCKED`: the rows are passed over.
    Skip,
}

/// An item of FROM: a relation, and others that are joined to it one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct FromItem {
    /// The first relation.
    pub first: TableReference,
    /// The relations that are joined to it.
    pub joins: Vec<Join>,
}

/// A relation that is joined to those before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// The relation.
    pub table: TableReference,
    /// The rows without a counterpart that stay.
    pub kind: JoinKind,
    /// The condition under which rows are counterparts.
    pub condition: JoinCondition,
    pub(crate) refused: Option<Refused>,
}

impl Join {
    /// Passes if the join is of a kind that there is.
    ///
    /// # Errors
    /// 0A000.
    pub fn supported(&self) -> Result<()> {
        refusal(&self.refused)
    }
}

/// The rows without a counterpart that a join keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// None.
    Inner,
    /// Those of the left side.
    Left,
    /// Those of the right side.
    Right,
    /// Those of both sides.
    Full,
}

/// The condition of a join.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    /// None.
    None,
    /// `ON condition`.
    On(Expr),
    /// `USING (columns)`.
    Using(Vec<Name>),
    /// `NATURAL`: `USING` the columns that both sides have.
    Natural,
}

/// A relation of FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum TableReference {
    /// A table, a view or a common table, by its name.
    Named {
        /// The name.
        name: DottedName,
        /// The alias.
        alias: Option<Alias>,
    },
    /// Functions, side by side.
    Functions {
        /// The calls; never empty.
        calls: Vec<FunctionCall>,
        /// The alias.
        alias: Option<Alias>,
        /// Whether `WITH ORDINALITY` is written.
        ordinality: bool,
    },
    /// A query in parentheses.
    Subquery {
        /// The query.
        query: Box<Query>,
        /// The alias.
        alias: Option<Alias>,
        /// Whether `LATERAL` is written.
        lateral: bool,
    },
    /// Joins in parentheses.
    Joined {
        /// The joins.
        item: Box<FromItem>,
        /// The alias.
        alias: Option<Alias>,
    },
    /// A form that there is not.
    Refused(Refused),
}

/// Another name for a relation, and for its first columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Alias {
    /// The name of the relation.
    pub name: Name,
    /// The names of the columns.
    pub columns: Vec<Name>,
}
