//! Scopes of names: the relations of a FROM clause, and those of the queries around it.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use types::{Result, SqlError, SqlState, Type, TypeModifier};

use super::clause::Aggregates;
use crate::expression::{ColumnId, Expression};
use catalog::Table;

/// The names that a query's expressions can use, with those of the queries around it.
#[derive(Debug, Default)]
pub(super) struct Scope<'p> {
    pub parent: Option<&'p Scope<'p>>,
    pub sources: Vec<Source>,
    /// Columns that `USING` and `NATURAL` made one of two; they come first in `*`.
    pub merged: Vec<SourceColumn>,
    /// The part of the query that is being bound.
    pub part: Cell<Part>,
    /// Aggregates of this query that were found in subqueries.
    pub aggregates: RefCell<Aggregates>,
    /// Whether one of its sources is the recursion to whose step the query belongs.
    pub(crate) reads_itself: bool,
}

/// A part of a query, in which aggregates of the query may be or not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Part {
    #[default]
    From,
    Where,
    /// The select list and the clauses that belong to it.
    List,
}

/// One relation of a FROM clause.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// Alias, or the table's name; a join without an alias has none.
    pub name: Option<String>,
    /// Schema of a table without an alias.
    pub schema: Option<String>,
    pub columns: Vec<SourceColumn>,
    /// Table that the relation is, if it is one.
    pub table: Option<Arc<Table>>,
    /// Whether the relation is a side of a JOIN, from which a name alone reaches no system column.
    pub below_join: bool,
}

/// A column of a relation in FROM.
#[derive(Debug, Clone)]
pub(super) struct SourceColumn {
    pub name: String,
    pub value: Expression,
    /// Names that reach the column.
    pub reach: Reach,
    /// The column's position in its table.
    pub attribute: Option<usize>,
}

/// The names that reach a column of a relation, from the most to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// The column's name, or `*`.
    Name,
    /// The name of its relation with its own, or `relation.*`: the column was merged with another.
    Relation,
    /// The row as a whole: the column is younger than the view whose query is being bound.
    Row,
}

impl SourceColumn {
    pub(super) fn new(name: String, id: ColumnId, ty: Type, modifier: TypeModifier) -> Self {
        Self {
            name,
            value: Expression::column(id, ty, modifier),
            reach: Reach::Name,
            attribute: None,
        }
    }
}

impl Source {
    /// Iterates over the columns that the relation's name with theirs reaches, which are those that
    /// `relation.*` stands for.
    pub(crate) fn named_columns(&self) -> impl Iterator<Item = &SourceColumn> {
        let columns = self.columns.iter();
        columns.filter(|column| column.reach <= Reach::Relation)
    }
}

impl<'p> Scope<'p> {
    /// Makes an empty scope within that of another query.
    pub(super) fn within(parent: Option<&'p Scope<'p>>) -> Scope<'p> {
        Scope {
            parent,
            ..Scope::default()
        }
    }

    /// Returns the innermost query around this one that has one of these columns; `None` if there
    /// is none, or if its own relations have one.
    pub(crate) fn home<'s>(&'s self, columns: &[ColumnId]) -> Option<&'s Scope<'p>> {
        let mut scopes = std::iter::successors(Some(self), |scope| scope.parent);
        let home = scopes.find(|scope| columns.iter().any(|id| scope.has(*id)));
        home.filter(|home| !std::ptr::eq(*home, self))
    }

    /// Returns the list for aggregates that were found in a subquery and belong to this query.
    ///
    /// # Errors
    /// 42803 where none may be.
    pub(crate) fn outer_aggregates(&self) -> Result<&RefCell<Aggregates>> {
        let message = match self.part.get() {
            Part::List => return Ok(&self.aggregates),
            Part::Where => "aggregate functions are not allowed in WHERE",
            Part::From => {
                "aggregate functions are not allowed in FROM clause of their own query level"
            }
        };
        Err(SqlError::new(SqlState::GROUPING_ERROR, message))
    }

    /// Returns whether one of its own relations has the column.
    pub(super) fn has(&self, id: ColumnId) -> bool {
        let columns = self.sources.iter().flat_map(|source| &source.columns);
        columns
            .chain(&self.merged)
            .any(|column| column.value.columns().contains(&id))
    }

    /// Returns a column by its name alone: the innermost query that has one decides.
    ///
    /// # Errors
    /// 42702 if a query has two columns with the name.
    pub(super) fn column(&self, name: &str) -> Result<Option<&SourceColumn>> {
        let merged = self.merged.iter();
        let others = self.sources.iter().flat_map(|source| &source.columns);
        let mut found = merged
            .chain(others.filter(|column| column.reach == Reach::Name))
            .filter(|c| c.name == name);
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(Some(column)),
            (Some(_), Some(_)) => Err(SqlError::new(
                SqlState::AMBIGUOUS_COLUMN,
                format!("column reference \"{name}\" is ambiguous"),
            )),
            (None, _) => match self.parent {
                Some(parent) => parent.column(name),
                None => Ok(None),
            },
        }
    }

    /// Returns the table whose `tableoid` the name alone is: that of the innermost query with tables outside of JOINs,
    /// unless a relation of a query within that one has a column of the name.
    ///
    /// # Errors
    /// 42702 if the query has several tables.
    pub(super) fn own_table(&self) -> Result<Option<&Arc<Table>>> {
        let mut scopes = std::iter::successors(Some(self), |scope| scope.parent);
        let has_name = |scope: &Self| scope.all_columns().any(|column| column.name == "tableoid");
        let is_home = |scope: &&Self| has_name(scope) || scope.own_tables().next().is_some();
        let Some(home) = scopes.find(is_home).filter(|home| !has_name(home)) else {
            return Ok(None);
        };
        let mut tables = home.own_tables();
        match (tables.next(), tables.next()) {
            (table, None) => Ok(table),
            _ => Err(SqlError::new(
                SqlState::AMBIGUOUS_COLUMN,
                "column reference \"tableoid\" is ambiguous",
            )),
        }
    }

    /// Iterates over the tables of this query that are below no JOIN.
    fn own_tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        let outside = self.sources.iter().filter(|source| !source.below_join);
        outside.filter_map(|source| source.table.as_ref())
    }

    /// Returns a relation by its name, and by its schema if that was written.
    ///
    /// # Errors
    /// 42P09, as in PostgreSQL, if there are two relations with the name.
    pub(super) fn source(&self, schema: Option<&str>, name: &str) -> Result<Option<&Source>> {
        let is = |source: &&Source| {
            source.name.as_deref() == Some(name)
                && schema.is_none_or(|schema| source.schema.as_deref() == Some(schema))
        };
        let mut found = self.sources.iter().filter(is);
        match (found.next(), found.next()) {
            (Some(source), None) => Ok(Some(source)),
            (Some(_), Some(_)) => Err(SqlError::new(
                SqlState::AMBIGUOUS_ALIAS,
                format!("table reference \"{name}\" is ambiguous"),
            )),
            (None, _) => match self.parent {
                Some(parent) => parent.source(schema, name),
                None => Ok(None),
            },
        }
    }

    /// Adds a relation.
    ///
    /// # Errors
    /// 42712 if there is a relation with its name.
    pub(super) fn add(&mut self, source: Source) -> Result<()> {
        if let Some(name) = &source.name {
            let same = |other: &Source| {
                other.name.as_ref() == Some(name)
                    && (source.schema.is_none()
                        || other.schema.is_none()
                        || source.schema == other.schema)
            };
            if self.sources.iter().any(same) {
                return Err(SqlError::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{name}\" specified more than once"),
                ));
            }
        }
        self.sources.push(source);
        Ok(())
    }

    /// Iterates over the columns that `*` stands for.
    pub(crate) fn all_columns(&self) -> impl Iterator<Item = &SourceColumn> {
        let others = self.sources.iter().flat_map(|source| &source.columns);
        self.merged
            .iter()
            .chain(others.filter(|column| column.reach == Reach::Name))
    }

    /// Returns the table, and the column's position there, that a column of this query comes from.
    pub(super) fn origin(&self, id: ColumnId) -> Option<(&Arc<Table>, usize)> {
        self.sources.iter().find_map(|source| {
            let table = source.table.as_ref()?;
            let is =
                |column: &&SourceColumn| column.value.kind == crate::expression::Kind::Column(id);
            Some((table, source.columns.iter().find(is)?.attribute?))
        })
    }
}
