//! Clauses of a query, and the parts of their expressions that are computed elsewhere: aggregates,
//! windows, subqueries, sequences, functions that return sets. The expression keeps a column in the
//! place of each.

use types::{Result, SqlError, SqlState, Type, TypeModifier};

use crate::{
    expression::{ColumnId, Expression},
    relation::{AggregateCall, Applied, FunctionCall, WindowCall},
};

/// The parts that an expression of a clause may contain, and those that were found in it.
pub(super) struct Clause<'c> {
    /// Name of the clause for messages.
    pub name: &'static str,
    /// Subqueries and calls that are to be applied to the rows that the expression is computed
    /// from.
    pub subqueries: Vec<Applied>,
    /// Aggregates that were found; `None` where none may be.
    pub aggregates: Option<&'c mut Aggregates>,
    /// Window functions that were found; `None` where none may be.
    pub windows: Option<&'c mut Vec<WindowCall>>,
    /// Calls of functions that return sets; `None` where none may be.
    pub sets: Option<&'c mut Vec<FunctionCall>>,
}

/// The aggregates of a query.
#[derive(Debug, Default)]
pub(super) struct Aggregates {
    pub calls: Vec<AggregateCall>,
    /// Subqueries within their arguments, to be applied before the rows are grouped.
    pub subqueries: Vec<Applied>,
    /// Column of each `GROUPING(...)`, and the expressions that it asks for.
    pub grouping: Vec<(ColumnId, Vec<Expression>)>,
}

impl Aggregates {
    /// Returns the column of a call; the call is added unless an equal one is there.
    pub(super) fn added(&mut self, (call, result): (AggregateCall, Type)) -> Expression {
        let same = self.calls.iter().find(|other| {
            other.function == call.function
                && other.arguments == call.arguments
                && other.distinct == call.distinct
                && other.order == call.order
                && other.filter == call.filter
        });
        let column = same.map_or(call.column, |same| same.column);
        if column == call.column {
            self.calls.push(call);
        }
        Expression::column(column, result, TypeModifier::NONE)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.grouping.is_empty()
    }

    /// Adds the aggregates of this query that were found in subqueries.
    pub(super) fn extend(&mut self, others: Aggregates) {
        self.calls.extend(others.calls);
        self.subqueries.extend(others.subqueries);
        self.grouping.extend(others.grouping);
    }
}

impl<'c> Clause<'c> {
    /// Makes a clause that may contain only plain expressions and subqueries.
    pub(super) fn plain(name: &'static str) -> Self {
        Self {
            name,
            subqueries: Vec::new(),
            aggregates: None,
            windows: None,
            sets: None,
        }
    }

    /// Returns the list of aggregates.
    ///
    /// # Errors
    /// 42803 where none may be.
    pub(super) fn aggregates(&mut self) -> Result<&mut Aggregates> {
        let name = self.name;
        self.aggregates.as_deref_mut().ok_or_else(|| {
            SqlError::new(
                SqlState::GROUPING_ERROR,
                format!("aggregate functions are not allowed in {name}"),
            )
        })
    }

    /// Returns the list of window functions.
    ///
    /// # Errors
    /// 42P20 where none may be.
    pub(super) fn windows(&mut self) -> Result<&mut Vec<WindowCall>> {
        let name = self.name;
        self.windows.as_deref_mut().ok_or_else(|| {
            SqlError::new(
                SqlState::WINDOWING_ERROR,
                format!("window functions are not allowed in {name}"),
            )
        })
    }

    /// Returns the list of functions that return sets.
    ///
    /// # Errors
    /// 0A000 where none may be.
    pub(super) fn sets(&mut self) -> Result<&mut Vec<FunctionCall>> {
        let name = self.name;
        self.sets.as_deref_mut().ok_or_else(|| {
            let message = format!("set-returning functions are not allowed in {name}");
            SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        })
    }
}
