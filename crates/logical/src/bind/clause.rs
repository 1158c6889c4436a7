//! Where an expression stands, and what of it is computed elsewhere: aggregates, windows,
//! subqueries, sequences, functions that return sets. The expression keeps a column in their place.

use types::{Result, SqlError, SqlState, Type, TypeModifier};

use crate::{
    expression::{ColumnId, Expression},
    relation::{AggregateCall, Applied, FunctionCall, WindowCall},
};

/// What an expression of a clause may contain, and what was found in it.
pub(super) struct Clause<'c> {
    /// As messages name it.
    pub name: &'static str,
    /// To be applied to the rows that the expression is computed from.
    pub subqueries: Vec<Applied>,
    /// Where aggregates go; `None` where none may be.
    pub aggregates: Option<&'c mut Aggregates>,
    /// Where window functions go; `None` where none may be.
    pub windows: Option<&'c mut Vec<WindowCall>>,
    /// Where functions go that return sets; `None` where none may be.
    pub sets: Option<&'c mut Vec<FunctionCall>>,
}

/// The aggregates of a query.
#[derive(Debug, Default)]
pub(super) struct Aggregates {
    pub calls: Vec<AggregateCall>,
    /// Within their arguments: to be applied before the rows are grouped.
    pub subqueries: Vec<Applied>,
    /// `GROUPING(...)`: its column and the expressions that it asks for.
    pub grouping: Vec<(ColumnId, Vec<Expression>)>,
}

impl Aggregates {
    /// The column of a call, which is added unless the same is there.
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

    /// Takes what subqueries were found to ask for.
    pub(super) fn extend(&mut self, others: Aggregates) {
        self.calls.extend(others.calls);
        self.subqueries.extend(others.subqueries);
        self.grouping.extend(others.grouping);
    }
}

impl<'c> Clause<'c> {
    /// One in which nothing but plain expressions and subqueries may be.
    pub(super) fn plain(name: &'static str) -> Self {
        Self {
            name,
            subqueries: Vec::new(),
            aggregates: None,
            windows: None,
            sets: None,
        }
    }

    /// Where aggregates go.
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

    /// Where window functions go.
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

    /// Where functions go that return sets.
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
