//! Aggregates, and functions that return sets.

use functions::Body;
use types::{Result, SqlError, SqlState, Type, TypeModifier};

use super::{
    Binder,
    call::function_name,
    clause::{Aggregates, Clause},
    scalar::place,
    scope::Scope,
};
use crate::{
    expression::{ColumnId, Expression, Function},
    relation::{AggregateCall, Applied, FunctionCall, SortKey},
};
use syntax::{expression::FunctionCall as Call, query::OrderKey};

impl Binder<'_> {
    pub(super) fn aggregate(
        &mut self,
        written: &Call,
        name: &str,
        position: Option<u32>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let call = {
            // Within an aggregate there is none, nor a window.
            let mut inner = Clause::plain("aggregate function calls");
            let call = self.aggregate_call(written, name, position, scope, &mut inner);
            let call = call.map_err(|error| nested(error, position))?;
            let columns = columns_of_call(&call.0, &inner.subqueries);
            if let Some(home) = scope.home(&columns) {
                let mut aggregates = home
                    .outer_aggregates()
                    .map_err(|error| place(error, position))?
                    .borrow_mut();
                refuse_nested(&aggregates, &columns, position)?;
                aggregates.subqueries.extend(inner.subqueries);
                return Ok(aggregates.added(call));
            }
            let aggregates = clause
                .aggregates()
                .map_err(|error| place(error, position))?;
            refuse_nested(&scope.aggregates.borrow(), &columns, position)?;
            aggregates.subqueries.extend(inner.subqueries);
            call
        };
        Ok(clause.aggregates()?.added(call))
    }

    pub(super) fn aggregate_call(
        &mut self,
        written: &Call,
        name: &str,
        position: Option<u32>,
        scope: &Scope<'_>,
        inner: &mut Clause<'_>,
    ) -> Result<(AggregateCall, Type)> {
        let refused = |state, message: String| place(SqlError::new(state, message), position);
        let is_ordered_set = !written.within_group.is_empty();
        if is_ordered_set && !written.order.is_empty() {
            let message = "cannot use multiple ORDER BY clauses with WITHIN GROUP";
            return Err(refused(SqlState::SYNTAX_ERROR, message.to_owned()));
        }
        if is_ordered_set && written.distinct {
            let message = "cannot use DISTINCT with WITHIN GROUP";
            return Err(refused(SqlState::SYNTAX_ERROR, message.to_owned()));
        }
        let mut values = Vec::with_capacity(written.arguments.len());
        for argument in &written.arguments {
            values.push(self.scalar(argument, scope, inner)?);
        }
        let mut order = self.keys(&written.order, scope, inner)?;
        if written.distinct && order.iter().any(|key| !values.contains(&key.expression)) {
            let message =
                "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            return Err(refused(
                SqlState::INVALID_COLUMN_REFERENCE,
                message.to_owned(),
            ));
        }
        // The values of WITHIN GROUP come after the direct arguments.
        for key in &written.within_group {
            let expression = self.scalar(&key.value, scope, inner)?;
            values.push(expression);
        }
        let filter = match &written.filter {
            Some(filter) => {
                inner.name = "FILTER";
                Some(self.condition(filter, scope, inner)?)
            }
            None => None,
        };
        let is_parameterless = values.is_empty() && !written.star;
        let (entry, values, result) = self.resolved(name, values, position)?;
        let Body::Aggregate(aggregate) = entry.0.body else {
            let message = format!("{name} is not an aggregate function");
            return Err(refused(SqlState::WRONG_OBJECT_TYPE, message));
        };
        match (aggregate.direct.is_some(), is_ordered_set) {
            (true, false) => {
                let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
                return Err(refused(SqlState::WRONG_OBJECT_TYPE, message));
            }
            (false, true) => {
                let message = format!(
                    "{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"
                );
                return Err(refused(SqlState::WRONG_OBJECT_TYPE, message));
            }
            _ => {}
        }
        if is_parameterless {
            return Err(place(parameterless(name), position));
        }
        let direct = values.len() - written.within_group.len().min(values.len());
        for (key, value) in written.within_group.iter().zip(&values[direct..]) {
            order.push(self.sort_key(value.clone(), key)?);
        }
        let call = AggregateCall {
            column: self.new_column(),
            function: entry,
            arguments: values,
            distinct: written.distinct,
            order,
            filter,
        };
        Ok((call, result))
    }

    /// Sort keys that are expressions only.
    pub(super) fn keys(
        &mut self,
        order: &[OrderKey],
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            let expression = self.typed(&key.value, scope, clause)?;
            keys.push(self.sort_key(expression, key)?);
        }
        Ok(keys)
    }

    /// A function that returns a set, in a select list: a row for each of its rows.
    pub(super) fn set_in_list(
        &mut self,
        name: &str,
        arguments: Vec<Expression>,
        position: Option<u32>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let types: Vec<Type> = arguments.iter().map(|value| value.ty).collect();
        let (function, arguments, result) = self.resolved(name, arguments, position)?;
        let columns = columns_of(&function, name, &types, result);
        let sets = clause.sets().map_err(|error| place(error, position))?;
        // A call that is there already has the rows, side by side.
        let is_same = |other: &&FunctionCall| {
            other.function == function
                && other.arguments == arguments
                && arguments.iter().all(Expression::is_stable)
        };
        let ids: Vec<ColumnId> = match sets.iter().find(is_same) {
            Some(same) => same.columns.clone(),
            None => {
                let ids: Vec<ColumnId> = columns.iter().map(|_| self.new_column()).collect();
                sets.push(FunctionCall {
                    function,
                    arguments,
                    columns: ids.clone(),
                });
                ids
            }
        };
        let columns = columns.into_iter().zip(ids).map(|((name, ty), id)| {
            let value = Expression::column(id, ty, TypeModifier::NONE);
            (name, value)
        });
        let columns: Vec<_> = columns.collect();
        let is_unnamed = function.0.columns.is_empty();
        if let [(_, value)] = columns.as_slice()
            && (is_unnamed || value.ty == result)
        {
            return Ok(value.clone());
        }
        Ok(self.record(columns))
    }

    /// A function in FROM; the names and types of its columns.
    pub(super) fn table_function(
        &mut self,
        written: &Call,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<(FunctionCall, Vec<(String, Type)>)> {
        let position = self.at(written.name.span());
        let name = function_name(written).map_err(|error| place(error, position))?;
        let arguments = written.arguments.iter();
        let values = arguments.map(|argument| self.scalar(argument, scope, clause));
        let values = values.collect::<Result<Vec<_>>>()?;
        let types: Vec<Type> = values.iter().map(|value| value.ty).collect();
        let (function, arguments, result) = self.resolved(name, values, position)?;
        let columns = columns_of(&function, name, &types, result);
        let ids = columns.iter().map(|_| self.new_column()).collect();
        Ok((
            FunctionCall {
                function,
                arguments,
                columns: ids,
            },
            columns,
        ))
    }
}

/// Names and types of what a function returns that is called with arguments of these types.
fn columns_of(
    function: &Function,
    name: &str,
    arguments: &[Type],
    result: Type,
) -> Vec<(String, Type)> {
    let element = arguments.iter().find_map(|ty| ty.element());
    match function.0.columns {
        [] => vec![(name.to_owned(), result)],
        columns => {
            let typed = columns.iter().map(|(name, parameter)| {
                let ty = parameter.fixed().or(element.map(Type::Scalar));
                ((*name).to_owned(), ty.unwrap_or(result))
            });
            typed.collect()
        }
    }
}

/// The columns that an aggregate is computed from, those of `subqueries` within it included: it
/// belongs to the innermost query that one of them is of.
fn columns_of_call(call: &AggregateCall, subqueries: &[Applied]) -> Vec<ColumnId> {
    let order = call.order.iter().map(|key| &key.expression);
    let parts = call.arguments.iter().chain(order).chain(&call.filter);
    let mut columns = Vec::new();
    let mut left: Vec<ColumnId> = parts.flat_map(Expression::columns).collect();
    while let Some(id) = left.pop() {
        match subqueries.iter().find(|applied| applied.column() == id) {
            Some(applied) => left.extend(applied.outer_columns()),
            None => columns.push(id),
        }
    }
    columns
}

/// PostgreSQL has words of its own for an aggregate in an aggregate.
fn nested(error: SqlError, position: Option<u32>) -> SqlError {
    if error
        .message()
        .contains("not allowed in aggregate function calls")
        && error.message().starts_with("aggregate")
    {
        return within_another(position);
    }
    error
}

/// Refuses a call that is computed from these columns, if one is that of another call of the same query: a query within
/// the argument asks for it.
///
/// # Errors
/// 42803.
fn refuse_nested(others: &Aggregates, columns: &[ColumnId], position: Option<u32>) -> Result<()> {
    let is_nested = |call: &AggregateCall| columns.contains(&call.column);
    match others.calls.iter().any(is_nested) {
        true => Err(within_another(position)),
        false => Ok(()),
    }
}

fn within_another(position: Option<u32>) -> SqlError {
    let message = "aggregate function calls cannot be nested";
    place(SqlError::new(SqlState::GROUPING_ERROR, message), position)
}

/// 42809: an aggregate without parameters was not called as `name(*)`.
pub(super) fn parameterless(name: &str) -> SqlError {
    let message = format!("{name}(*) must be used to call a parameterless aggregate function");
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
}
