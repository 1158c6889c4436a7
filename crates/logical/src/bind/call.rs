//! Calls: plain functions, aggregates, window functions, functions that return sets, and the few
//! that are syntax.

use functions::Body;
use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use super::{
    Binder,
    clause::Clause,
    convert::common_modifier,
    scalar::{BOOL, place},
    scope::Scope,
    sequence::sequence_function,
};
use crate::expression::{Expression, Function, Kind};
use syntax::expression::{Expr, ExprKind, FunctionCall, Literal};

impl Binder<'_> {
    pub(super) fn function(
        &mut self,
        call: &FunctionCall,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let position = self.at(call.name.span());
        let name = function_name(call).map_err(|error| place(error, position))?;
        if let Some(bound) = self.syntax(name, &call.arguments, position, scope, clause)? {
            return Ok(bound);
        }
        if let Some(over) = &call.over {
            return self.over(call, name, over, scope, clause);
        }
        // Aggregates are told by name: their arguments are bound by other rules.
        if functions::functions(name)
            .iter()
            .any(|entry| matches!(entry.body, Body::Aggregate(_)))
        {
            return self.aggregate(call, name, position, scope, clause);
        }
        if call.distinct
            || call.filter.is_some()
            || !call.within_group.is_empty()
            || !call.order.is_empty()
        {
            let message = format!(
                "DISTINCT, ORDER BY, FILTER or WITHIN GROUP specified, but {name} is not an aggregate function"
            );
            return Err(place(
                SqlError::new(SqlState::WRONG_OBJECT_TYPE, message),
                position,
            ));
        }
        if call.star {
            let message = format!("{name}(*) specified, but {name} is not an aggregate function");
            return Err(place(
                SqlError::new(SqlState::WRONG_OBJECT_TYPE, message),
                position,
            ));
        }
        let values = call.arguments.iter();
        let values = values.map(|argument| self.scalar(argument, scope, clause));
        let values = values.collect::<Result<Vec<_>>>()?;
        if let Some(function) = sequence_function(name, clause) {
            return self.sequence_call(function, name, values, position, clause);
        }
        let values = match self.waiting_call(name, values, position, clause)? {
            Ok(called) => return Ok(called),
            Err(values) => values,
        };
        let is_set = functions::functions(name)
            .iter()
            .any(|entry| matches!(entry.body, Body::Set(_)));
        if is_set {
            return self.set_in_list(name, values, position, clause);
        }
        self.call(name, values, position)
    }

    /// Binds a form that looks like a call but is none: nothing is looked up for it.
    fn syntax(
        &mut self,
        name: &str,
        items: &[Expr],
        position: Option<u32>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Option<Expression>> {
        let mut bind = |binder: &mut Self| -> Result<Vec<Expression>> {
            items
                .iter()
                .map(|item| binder.scalar(item, scope, clause))
                .collect()
        };
        Ok(Some(match (name, items.len()) {
            ("coalesce", 1..) => {
                let mut items = bind(self)?;
                let ty = self.unify(&mut items, "COALESCE", position)?;
                let modifier = common_modifier(items.iter());
                let kind = Kind::Coalesce(items);
                Expression { kind, ty, modifier }
            }
            // `current_timestamp(3)`: rounded as a cast does it.
            ("current_timestamp" | "localtimestamp" | "current_time" | "localtime", 1) => {
                let now = self.call(name, Vec::new(), position)?;
                let digits = match &items[0].kind {
                    ExprKind::Literal(Literal::Number(digits)) => digits.parse::<i32>().ok(),
                    ExprKind::Literal(Literal::Parameter(name)) => {
                        self.needs_literal_parameter(name)?;
                        None
                    }
                    _ => None,
                };
                let (Some(digits), Type::Scalar(scalar)) = (digits, now.ty) else {
                    return Ok(None);
                };
                let modifier = TypeModifier::new(scalar, &[digits])?;
                self.cast(now, Type::Scalar(scalar), modifier, position)?
            }
            ("greatest" | "least", 1..) => {
                let mut items = bind(self)?;
                let ty = self.unify(&mut items, &name.to_uppercase(), position)?;
                let modifier = common_modifier(items.iter());
                let kind = Kind::Extreme {
                    greatest: name == "greatest",
                    items,
                };
                Expression { kind, ty, modifier }
            }
            ("nullif", 2) => {
                let mut items = bind(self)?;
                let (right, left) = (items.pop(), items.pop());
                let (Some(left), Some(right)) = (left, right) else {
                    return Ok(None);
                };
                let left = if right.ty == Type::Unknown || left.ty != Type::Unknown {
                    self.known_like(left, &right)?
                } else {
                    left
                };
                self.shared(left, |binder, left| {
                    let equal = binder.operator("=", Some(left.clone()), right, position)?;
                    let ty = left.ty;
                    let branches = vec![(equal, Expression::null(ty))];
                    let otherwise = Box::new(left);
                    let kind = Kind::Case {
                        branches,
                        otherwise,
                    };
                    Ok(Expression::new(kind, ty))
                })?
            }
            ("grouping", 1..) => return self.grouping(items, position, scope, clause).map(Some),
            _ => return Ok(None),
        }))
    }

    fn known_like(&mut self, expression: Expression, other: &Expression) -> Result<Expression> {
        if expression.ty == Type::Unknown && other.ty != Type::Unknown {
            return self.coerce(expression, other.ty, TypeModifier::NONE, None);
        }
        self.known(expression)
    }

    fn grouping(
        &mut self,
        items: &[Expr],
        position: Option<u32>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        if items.len() > 31 {
            let message = "GROUPING must have fewer than 32 arguments";
            return Err(place(
                SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message),
                position,
            ));
        }
        let mut inner = Clause::plain("GROUPING");
        let asked = items.iter().map(|item| self.typed(item, scope, &mut inner));
        let asked = asked.collect::<Result<Vec<_>>>()?;
        let column = self.new_column();
        let columns: Vec<_> = asked.iter().flat_map(Expression::columns).collect();
        match scope.home(&columns) {
            Some(home) => {
                let aggregates = home.outer_aggregates();
                let aggregates = aggregates.map_err(|error| place(error, position))?;
                aggregates.borrow_mut().grouping.push((column, asked));
            }
            None => {
                let aggregates = clause.aggregates();
                let aggregates = aggregates.map_err(|error| place(error, position))?;
                aggregates.grouping.push((column, asked));
            }
        }
        Ok(Expression::column(
            column,
            Type::Scalar(Scalar::Int4),
            TypeModifier::NONE,
        ))
    }

    /// A call of a function that returns one value for one row.
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: Vec<Expression>,
        position: Option<u32>,
    ) -> Result<Expression> {
        // `type(value)` is a cast where there is no such function.
        if let [argument] = arguments.as_slice()
            && functions::functions(name).is_empty()
            && let Some(ty) = Type::named(name)
        {
            return self.cast(argument.clone(), ty, TypeModifier::NONE, position);
        }
        let (function, arguments, result) = self.resolved(name, arguments, position)?;
        if !matches!(function.0.body, Body::Scalar(_)) {
            let message = format!("{name} cannot be used here");
            return Err(place(
                SqlError::new(SqlState::WRONG_OBJECT_TYPE, message),
                position,
            ));
        }
        Ok(Expression::new(
            Kind::Call {
                function,
                arguments,
            },
            result,
        ))
    }

    /// The function that a call means, its arguments as that wants them, and its result.
    pub(super) fn resolved(
        &mut self,
        name: &str,
        arguments: Vec<Expression>,
        position: Option<u32>,
    ) -> Result<(Function, Vec<Expression>, Type)> {
        let types: Vec<Type> = arguments.iter().map(|argument| argument.ty).collect();
        let resolved = functions::resolve_function(name, &types, false, self.catalog)
            .map_err(|error| place(error, position))?;
        let function = Function(resolved.function);
        let arguments = self.fitted(arguments, &resolved, position)?;
        Ok((function, arguments, resolved.result))
    }

    /// Arguments converted to what was resolved, those that repeat gathered into an array.
    pub(super) fn fitted(
        &mut self,
        arguments: Vec<Expression>,
        resolved: &functions::Resolved,
        position: Option<u32>,
    ) -> Result<Vec<Expression>> {
        let pairs = arguments.into_iter().zip(&resolved.arguments);
        let fitted =
            pairs.map(|(argument, ty)| self.coerce(argument, *ty, TypeModifier::NONE, position));
        let mut fitted = fitted.collect::<Result<Vec<_>>>()?;
        if let Some((from, element)) = resolved.gather {
            let items = fitted.split_off(from);
            fitted.push(Expression::new(Kind::Array(items), Type::Array(element)));
        }
        Ok(fitted)
    }

    /// An operator over what was bound.
    pub(super) fn operator(
        &mut self,
        symbol: &str,
        left: Option<Expression>,
        right: Expression,
        position: Option<u32>,
    ) -> Result<Expression> {
        let resolved = functions::resolve_operator(
            symbol,
            left.as_ref().map(|left| left.ty),
            right.ty,
            self.catalog,
        )
        .map_err(|error| place(error, position))?;
        let arguments: Vec<Expression> = left.into_iter().chain([right]).collect();
        let function = Function(resolved.function);
        let arguments = self.fitted(arguments, &resolved, position)?;
        Ok(Expression::new(
            Kind::Call {
                function,
                arguments,
            },
            resolved.result,
        ))
    }

    /// `left operator ANY (array)`, and `ALL`.
    pub(super) fn quantified_array(
        &mut self,
        left: Expression,
        symbol: &str,
        array: Expression,
        all: bool,
        position: Option<u32>,
    ) -> Result<Expression> {
        let array = match array.ty {
            Type::Array(_) => array,
            Type::Vector(element) => {
                self.coerce(array, Type::Array(element), TypeModifier::NONE, position)?
            }
            Type::Unknown => {
                let element = left.ty.scalar().unwrap_or(Scalar::Text);
                self.coerce(array, Type::Array(element), TypeModifier::NONE, position)?
            }
            _ => {
                let message = "op ANY/ALL (array) requires array on right side";
                return Err(place(
                    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message),
                    position,
                ));
            }
        };
        let element = array.ty.element().map_or(Type::Unknown, Type::Scalar);
        let resolved = functions::resolve_operator(symbol, Some(left.ty), element, self.catalog)
            .map_err(|error| place(error, position))?;
        if resolved.result != BOOL {
            let message = "op ANY/ALL (array) requires operator to yield boolean";
            return Err(place(
                SqlError::new(SqlState::WRONG_OBJECT_TYPE, message),
                position,
            ));
        }
        let left = self.coerce(left, resolved.arguments[0], TypeModifier::NONE, position)?;
        let wanted = resolved.arguments[1]
            .scalar()
            .map(Type::Array)
            .unwrap_or(array.ty);
        let array = self.coerce(array, wanted, TypeModifier::NONE, position)?;
        let operator = Function(resolved.function);
        let kind = Kind::Quantified {
            left: Box::new(left),
            operator,
            array: Box::new(array),
            all,
        };
        Ok(Expression::new(kind, BOOL))
    }
}

/// The name of a function, which may have `pg_catalog` before it.
///
/// # Errors
/// 42883 for other schemas; 0A000 for an argument that there is not.
pub(super) fn function_name(call: &FunctionCall) -> Result<&str> {
    let name = match call.name.parts() {
        [name] => name.as_str(),
        [schema, name] if schema.as_str() == "pg_catalog" => name.as_str(),
        [schema, name]
            if schema.as_str() == "information_schema" && name.as_str().starts_with("_pg_") =>
        {
            name.as_str()
        }
        _ => {
            let message = format!("function {} does not exist", call.name);
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
        }
    };
    call.supported().map(|()| name)
}
