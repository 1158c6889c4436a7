//! `function(...) OVER (...)`

use std::sync::Arc;

use functions::Body;
use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use super::{Binder, aggregate::parameterless, clause::Clause, scalar::place, scope::Scope};
use crate::{
    expression::Expression,
    relation::{Frame, FrameBound, FrameUnits, SortKey, Window, WindowCall},
};
use syntax::{
    expression::{self, FunctionCall, NamedWindow, Over},
    name::Name,
};

impl Binder<'_> {
    pub(super) fn over(
        &mut self,
        call: &FunctionCall,
        name: &str,
        over: &Over,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let position = self.at(call.name.span());
        clause.windows().map_err(|error| place(error, position))?;
        if !call.within_group.is_empty() {
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return Err(place(
                SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message),
                position,
            ));
        }
        let refused = [
            (
                call.distinct,
                "DISTINCT is not implemented for window functions",
            ),
            (
                !call.order.is_empty(),
                "aggregate ORDER BY is not implemented for window functions",
            ),
        ];
        if let Some((_, message)) = refused.iter().find(|(is_there, _)| *is_there) {
            let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, *message);
            return Err(place(error, position));
        }
        // Aggregates may stand in a window's parts, other windows may not.
        let mut inner = Clause {
            name: "window definitions",
            subqueries: Vec::new(),
            aggregates: clause.aggregates.as_deref_mut(),
            windows: None,
            sets: None,
        };
        let mut values = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            values.push(self.scalar(argument, scope, &mut inner)?);
        }
        let filter = match &call.filter {
            Some(filter) => Some(self.condition(filter, scope, &mut inner)?),
            None => None,
        };
        let window = self.window(over, scope, &mut inner)?;
        let subqueries = inner.subqueries;
        clause.subqueries.extend(subqueries);
        if call.star && !values.is_empty() {
            return Err(place(
                SqlError::new(SqlState::SYNTAX_ERROR, "* goes with nothing else"),
                position,
            ));
        }
        let is_parameterless = values.is_empty() && !call.star;
        let (entry, values, result) = self.resolved(name, values, position)?;
        match entry.0.body {
            Body::Aggregate(aggregate) if aggregate.direct.is_some() => {
                let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
                return Err(place(
                    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message),
                    position,
                ));
            }
            Body::Aggregate(_) if is_parameterless => {
                return Err(place(parameterless(name), position));
            }
            Body::Window(_) if filter.is_some() => {
                let message = "FILTER is not implemented for non-aggregate window functions";
                return Err(place(
                    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message),
                    position,
                ));
            }
            Body::Window(_) | Body::Aggregate(_) => {}
            _ => {
                let message = format!(
                    "OVER specified, but {name} is not a window function nor an aggregate function"
                );
                return Err(place(
                    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message),
                    position,
                ));
            }
        }
        let call = WindowCall {
            column: self.new_column(),
            function: entry,
            arguments: values,
            filter,
            window,
        };
        let column = call.column;
        clause.windows()?.push(call);
        Ok(Expression::column(column, result, TypeModifier::NONE))
    }

    fn window(
        &mut self,
        over: &Over,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Window> {
        match over {
            Over::Named(name) => self.named_window(name, scope, clause, 0),
            Over::Specified(window) => self.window_spec(window, scope, clause, 0),
        }
    }

    /// # Errors
    /// 42P20 for a window that is defined twice.
    pub(super) fn refuse_second_windows(&self, windows: &[NamedWindow]) -> Result<()> {
        for (at, window) in windows.iter().enumerate() {
            let name = window.name.as_str();
            if windows[..at]
                .iter()
                .any(|other| other.name.as_str() == name)
            {
                let message = format!("window \"{name}\" is already defined");
                let error = SqlError::new(SqlState::WINDOWING_ERROR, message);
                return Err(place(error, self.at(window.name.span())));
            }
        }
        Ok(())
    }

    fn named_window(
        &mut self,
        name: &Name,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
        depth: usize,
    ) -> Result<Window> {
        let windows = Arc::clone(&self.named_windows);
        let mut windows = windows.iter();
        match windows.find(|window| window.name.as_str() == name.as_str()) {
            Some(found) => self.window_spec(&found.window, scope, clause, depth),
            None => {
                let message = format!("window \"{}\" does not exist", name.as_str());
                Err(place(
                    SqlError::new(SqlState::UNDEFINED_OBJECT, message),
                    self.at(name.span()),
                ))
            }
        }
    }

    fn window_spec(
        &mut self,
        spec: &expression::Window,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
        depth: usize,
    ) -> Result<Window> {
        let base = match &spec.base {
            Some(_) if depth > 16 => {
                return Err(SqlError::new(
                    SqlState::WINDOWING_ERROR,
                    "windows refer to each other",
                ));
            }
            Some(name) => Some(self.named_window(name, scope, clause, depth + 1)?),
            None => None,
        };
        let mut partition = Vec::with_capacity(spec.partition.len());
        for expr in &spec.partition {
            partition.push(self.typed(expr, scope, clause)?);
        }
        let mut order = self.keys(&spec.order, scope, clause)?;
        if let Some(base) = base {
            if !partition.is_empty() {
                return Err(SqlError::new(
                    SqlState::WINDOWING_ERROR,
                    "cannot override PARTITION BY clause of window",
                ));
            }
            if !order.is_empty() && !base.order.is_empty() {
                return Err(SqlError::new(
                    SqlState::WINDOWING_ERROR,
                    "cannot override ORDER BY clause of window",
                ));
            }
            partition = base.partition;
            if order.is_empty() {
                order = base.order;
            }
        }
        let frame = match &spec.frame {
            Some(frame) => self.frame(frame, &order, scope, clause)?,
            None => Frame {
                units: FrameUnits::Range,
                start: FrameBound::UnboundedPreceding,
                end: FrameBound::CurrentRow,
            },
        };
        Ok(Window {
            partition,
            order,
            frame,
        })
    }

    fn frame(
        &mut self,
        frame: &expression::Frame,
        order: &[SortKey],
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Frame> {
        let units = match frame.units {
            expression::FrameUnits::Rows => FrameUnits::Rows,
            expression::FrameUnits::Range => FrameUnits::Range,
            expression::FrameUnits::Groups if order.is_empty() => {
                let message = "GROUPS mode requires an ORDER BY clause";
                return Err(SqlError::new(SqlState::WINDOWING_ERROR, message));
            }
            expression::FrameUnits::Groups => FrameUnits::Groups,
        };
        let start = self.frame_bound(&frame.start, units, order, scope, clause)?;
        let end = match &frame.end {
            Some(end) => self.frame_bound(end, units, order, scope, clause)?,
            None => FrameBound::CurrentRow,
        };
        let refused = match (&start, &end) {
            (FrameBound::UnboundedFollowing, _) => {
                Some("frame start cannot be UNBOUNDED FOLLOWING")
            }
            (_, FrameBound::UnboundedPreceding) => Some("frame end cannot be UNBOUNDED PRECEDING"),
            (FrameBound::CurrentRow, FrameBound::Preceding(_)) => {
                Some("frame starting from current row cannot have preceding rows")
            }
            (FrameBound::Following(_), FrameBound::Preceding(_) | FrameBound::CurrentRow) => {
                Some("frame starting from following row cannot have preceding rows")
            }
            _ => None,
        };
        match refused {
            Some(message) => Err(SqlError::new(SqlState::WINDOWING_ERROR, message)),
            None => Ok(Frame { units, start, end }),
        }
    }

    fn frame_bound(
        &mut self,
        bound: &expression::FrameBound,
        units: FrameUnits,
        order: &[SortKey],
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<FrameBound> {
        let (expr, preceding) = match bound {
            expression::FrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            expression::FrameBound::Preceding(None) => return Ok(FrameBound::UnboundedPreceding),
            expression::FrameBound::Following(None) => return Ok(FrameBound::UnboundedFollowing),
            expression::FrameBound::Preceding(Some(expr)) => (expr, true),
            expression::FrameBound::Following(Some(expr)) => (expr, false),
        };
        // The rows of the query itself cannot be named here.
        let own = Scope::within(scope.parent);
        let distance = self.scalar(expr, &own, clause)?;
        let ty = match (units, order) {
            (FrameUnits::Rows | FrameUnits::Groups, _) => Type::Scalar(Scalar::Int8),
            (FrameUnits::Range, [key]) => {
                let ty = key.expression.ty;
                distance_type(ty).ok_or_else(|| {
                    let message = format!(
                        "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
                        self.type_name(ty)
                    );
                    let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                    self.error_at(expr, error)
                })?
            }
            (FrameUnits::Range, _) => {
                let message =
                    "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
                return Err(self.error_at(expr, SqlError::new(SqlState::WINDOWING_ERROR, message)));
            }
        };
        let distance = self.coerce(distance, ty, TypeModifier::NONE, self.position(expr))?;
        Ok(if preceding {
            FrameBound::Preceding(distance)
        } else {
            FrameBound::Following(distance)
        })
    }
}

/// Returns the type of distances between values of a type; `None` if there are none.
fn distance_type(ty: Type) -> Option<Type> {
    let Type::Scalar(scalar) = ty else {
        return None;
    };
    let distance = match scalar {
        Scalar::Int2 | Scalar::Int4 | Scalar::Int8 => Scalar::Int8,
        Scalar::Float4 | Scalar::Float8 => Scalar::Float8,
        Scalar::Numeric => Scalar::Numeric,
        Scalar::Date
        | Scalar::Timestamp
        | Scalar::TimestampTz
        | Scalar::Time
        | Scalar::TimeTz
        | Scalar::Interval => Scalar::Interval,
        _ => return None,
    };
    Some(Type::Scalar(distance))
}
