//! Conversions: what a literal becomes, casts that are asked for and those that are not.

use functions::CastContext;
use types::{
    Coercion, Result, Scalar, Scratch, SqlError, SqlState, Type, TypeModifier, Value,
    array::{DIMENSIONS_MAX, too_many_dimensions},
};

use super::{
    Binder,
    clause::Clause,
    scalar::{TEXT, place},
    scope::Scope,
};
use crate::expression::{Conversion, Expression, Kind};
use batch::OwnedValue;
use catalog::Searched;
use syntax::expression::{Expr, Refused, Subscript};

/// From one time to another that every word for a time means something else at: more than a day,
/// in microseconds.
const LATER: i64 = 90_000_000_000;

/// Whether words in a literal of a type may mean a time.
fn may_mean_time(ty: Type) -> bool {
    let (Type::Scalar(scalar) | Type::Array(scalar)) = ty else {
        return false;
    };
    matches!(
        scalar,
        Scalar::Date | Scalar::Time | Scalar::Timestamp | Scalar::TimestampTz | Scalar::TimeTz
    )
}

/// The modifier that expressions of one type have together: none, unless all have the same.
pub(super) fn common_modifier<'e>(
    mut expressions: impl Iterator<Item = &'e Expression>,
) -> TypeModifier {
    match expressions.next() {
        Some(first) if expressions.all(|other| other.modifier == first.modifier) => first.modifier,
        _ => TypeModifier::NONE,
    }
}

impl Binder<'_> {
    /// An expression as a type that it can become unasked.
    ///
    /// # Errors
    /// 42846 if it cannot; what the text of a literal gives.
    pub(super) fn coerce(
        &mut self,
        expression: Expression,
        ty: Type,
        modifier: TypeModifier,
        position: Option<u32>,
    ) -> Result<Expression> {
        let expression = self.with_fields(expression, ty, modifier, position)?;
        let converted = self.converted(expression, ty, CastContext::Implicit, position)?;
        Ok(fitted(converted, modifier, Coercion::Assignment))
    }

    /// `CAST(expression AS type)`
    ///
    /// # Errors
    /// As for [`Binder::coerce`].
    pub(super) fn cast(
        &mut self,
        expression: Expression,
        ty: Type,
        modifier: TypeModifier,
        position: Option<u32>,
    ) -> Result<Expression> {
        let expression = self.with_fields(expression, ty, modifier, position)?;
        let converted = self.converted(expression, ty, CastContext::Explicit, position)?;
        Ok(fitted(converted, modifier, Coercion::Explicit))
    }

    /// An expression as it is put into a column.
    ///
    /// # Errors
    /// 42804 if its type does not go there.
    pub(super) fn assign(
        &mut self,
        expression: Expression,
        ty: Type,
        modifier: TypeModifier,
        column: &str,
        position: Option<u32>,
    ) -> Result<Expression> {
        if expression.ty == ty && expression.modifier == modifier {
            return Ok(expression);
        }
        if expression.ty != Type::Unknown
            && functions::cast(expression.ty, ty, CastContext::Assignment).is_none()
        {
            let message = format!(
                "column \"{column}\" is of type {} but expression is of type {}",
                self.type_name(ty),
                self.type_name(expression.ty)
            );
            let error = SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.");
            return Err(place(error, position));
        }
        let expression = self.with_fields(expression, ty, modifier, position)?;
        let converted = self.converted(expression, ty, CastContext::Assignment, position)?;
        Ok(fitted(converted, modifier, Coercion::Assignment))
    }

    /// A literal that becomes an interval of some fields is read by them: they say what unit a bare
    /// number has.
    fn with_fields(
        &mut self,
        expression: Expression,
        ty: Type,
        modifier: TypeModifier,
        position: Option<u32>,
    ) -> Result<Expression> {
        let is_interval = ty == Type::Scalar(Scalar::Interval);
        let has_fields = is_interval && modifier.interval_fields().is_some();
        if expression.ty != Type::Unknown || !has_fields {
            return Ok(expression);
        }
        self.needs_literal(&expression)?;
        let Kind::Constant(value) = &expression.kind else {
            return Ok(expression);
        };
        let Value::Text(text) = value.value() else {
            return Ok(expression);
        };
        let value = OwnedValue::parse_fitted(text, ty, modifier);
        let value = value.map_err(|error| place(error, position))?;
        Ok(Expression::constant(value, ty))
    }

    /// Gives expressions the type that they have together.
    ///
    /// # Errors
    /// 42804 if they have none.
    pub(super) fn unify(
        &mut self,
        expressions: &mut [Expression],
        construct: &str,
        position: Option<u32>,
    ) -> Result<Type> {
        let types: Vec<Type> = expressions.iter().map(|expression| expression.ty).collect();
        let ty = functions::common_type(&types, construct, self.catalog)
            .map_err(|error| place(error, position))?;
        for expression in expressions {
            let taken = std::mem::replace(expression, Expression::null(ty));
            *expression = self.coerce(taken, ty, TypeModifier::NONE, position)?;
        }
        Ok(ty)
    }

    /// An expression that nothing gives a type is text.
    pub(super) fn known(&mut self, expression: Expression) -> Result<Expression> {
        match expression.ty {
            Type::Unknown => self.coerce(expression, TEXT, TypeModifier::NONE, None),
            _ => Ok(expression),
        }
    }

    fn converted(
        &mut self,
        expression: Expression,
        ty: Type,
        context: CastContext,
        position: Option<u32>,
    ) -> Result<Expression> {
        if expression.ty == ty {
            return Ok(expression);
        }
        match (&expression.kind, expression.ty) {
            (Kind::Parameter(number), Type::Unknown) => {
                return self.parameter_is(*number, ty, position);
            }
            (Kind::Constant(value), Type::Unknown) => {
                let value = match value.value() {
                    Value::Text(text) => self
                        .read(text, ty)
                        .map_err(|error| place(error, position))?,
                    _ => OwnedValue::new(Value::Null),
                };
                self.note_constant(value.value(), ty);
                return Ok(Expression::constant(value, ty));
            }
            // Constructors are converted inside.
            (Kind::Array(items), Type::Array(_)) => {
                if let Type::Array(element) = ty {
                    let items = items.iter().map(|item| {
                        self.converted(item.clone(), Type::Scalar(element), context, position)
                    });
                    let items = items.collect::<Result<_>>()?;
                    return Ok(Expression::new(Kind::Array(items), ty));
                }
            }
            _ => {}
        }
        let Some(cast) = functions::cast(expression.ty, ty, context) else {
            let message = format!(
                "cannot cast type {} to {}",
                self.type_name(expression.ty),
                self.type_name(ty)
            );
            return Err(place(
                SqlError::new(SqlState::CANNOT_COERCE, message),
                position,
            ));
        };
        if cast.is_free() {
            return Ok(Expression {
                kind: expression.kind,
                ty,
                modifier: TypeModifier::NONE,
            });
        }
        let kind = Kind::Convert {
            operand: Box::new(expression),
            conversion: Conversion(cast),
        };
        Ok(Expression::new(kind, ty))
    }

    /// The value that a literal has in a type.
    fn read(&self, text: &str, ty: Type) -> Result<OwnedValue> {
        let scratch = Scratch::new();
        let names = Searched {
            catalog: self.catalog,
            search_path: &self.search_path,
        };
        let context = types::Context {
            settings: self.settings,
            names: &names,
            now: self.now,
        };
        let value = types::text::read(text, ty, &context, &scratch).map(OwnedValue::new)?;
        // `now`, `today` and the like: they are found by what they do.
        let later = types::Context {
            now: self.now.saturating_add(LATER),
            ..context
        };
        if may_mean_time(ty) {
            let later = types::text::read(text, ty, &later, &scratch).map(OwnedValue::new)?;
            self.reads_now.set(self.reads_now.get() || later != value);
        }
        Ok(value)
    }

    /// `ARRAY[a, b, ...]`, whose items are cast to `element` if the array as a whole is cast.
    pub(super) fn array(
        &mut self,
        items: &[Expr],
        element: Option<Scalar>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        if items.is_empty() {
            return Err(SqlError::new(
                SqlState::INDETERMINATE_DATATYPE,
                "cannot determine type of empty array",
            )
            .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
        }
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            bound.push(self.scalar(item, scope, clause)?);
        }
        if let Some(element) = element
            && !bound.iter().any(|item| matches!(item.ty, Type::Array(_)))
        {
            let ty = Type::Scalar(element);
            for (item, written) in bound.iter_mut().zip(items) {
                let position = self.position(written);
                *item = self.cast(item.clone(), ty, TypeModifier::NONE, position)?;
            }
        }
        match self.unify(&mut bound, "ARRAY", None)? {
            Type::Scalar(element) => {
                // An array of `varchar(3)` is a `varchar(3)[]`.
                let modifier = common_modifier(bound.iter());
                let array = Expression::new(Kind::Array(bound), Type::Array(element));
                Ok(Expression { modifier, ..array })
            }
            ty => Err(SqlError::unsupported(format_args!(
                "an array of {}",
                self.type_name(ty)
            ))),
        }
    }

    /// `array[index]`, `array[lower:upper]`.
    pub(super) fn subscripted(
        &mut self,
        array: &Expr,
        subscripts: &[Subscript],
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let position = self.position(array);
        let base = self.scalar(array, scope, clause)?;
        let Some(element) = base.ty.element() else {
            if base.ty == Type::Scalar(Scalar::Jsonb) {
                return self.part_of_json(base, subscripts, position, scope, clause);
            }
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                self.type_name(base.ty)
            );
            return Err(place(
                SqlError::new(SqlState::DATATYPE_MISMATCH, message),
                position,
            ));
        };
        let int4 = super::scalar::INT4;
        let mut indexes = Vec::new();
        let mut bounds = Vec::new();
        for subscript in subscripts {
            let mut number = |binder: &mut Self, expr: &Expr| {
                let bound = binder.scalar(expr, scope, clause)?;
                binder.assign(bound, int4, TypeModifier::NONE, "subscript", position)
            };
            match subscript {
                Subscript::Index(index) => indexes.push(number(self, index)?),
                Subscript::Slice { lower, upper } => {
                    let lower = lower.as_ref().map(|bound| number(self, bound));
                    let lower = lower.transpose()?;
                    let upper = upper.as_ref().map(|bound| number(self, bound));
                    bounds.push((lower, upper.transpose()?));
                }
                Subscript::Refused(Refused(error)) => return Err(place(error.clone(), position)),
            }
        }
        let subscripts = indexes.len().max(bounds.len());
        if subscripts > DIMENSIONS_MAX {
            return Err(place(too_many_dimensions(subscripts), position));
        }
        // Items have the modifier of their array.
        let modifier = base.modifier;
        let array =
            Box::new(self.coerce(base, Type::Array(element), TypeModifier::NONE, position)?);
        if bounds.is_empty() {
            return Ok(Expression {
                kind: Kind::Element { array, indexes },
                ty: Type::Scalar(element),
                modifier,
            });
        }
        if !indexes.is_empty() {
            return Err(place(
                SqlError::unsupported("slices mixed with indexes"),
                position,
            ));
        }
        Ok(Expression {
            ty: array.ty,
            kind: Kind::Slice { array, bounds },
            modifier,
        })
    }
}

impl Binder<'_> {
    /// `document['a'][0]` is `document #> '{a,0}'`.
    fn part_of_json(
        &mut self,
        document: Expression,
        subscripts: &[Subscript],
        position: Option<u32>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let text = Type::Scalar(Scalar::Text);
        let mut path = Vec::with_capacity(subscripts.len());
        for subscript in subscripts {
            let Subscript::Index(index) = subscript else {
                let message = "jsonb subscript does not support slices";
                let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                return Err(place(error, position));
            };
            let step = self.scalar(index, scope, clause)?;
            match step.ty {
                Type::Unknown | Type::Scalar(Scalar::Text | Scalar::Int4 | Scalar::Int2) => {}
                ty => {
                    let message = format!("subscript type {} is not supported", self.type_name(ty));
                    let error = SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                        .hint("jsonb subscript must be coercible to either integer or text.");
                    return Err(place(error, position));
                }
            }
            path.push(self.cast(step, text, TypeModifier::NONE, position)?);
        }
        let path = Expression::new(Kind::Array(path), Type::Array(Scalar::Text));
        self.operator("#>", Some(document), path, position)
    }
}

/// A value as a type's brackets let it be.
fn fitted(expression: Expression, modifier: TypeModifier, coercion: Coercion) -> Expression {
    if modifier == TypeModifier::NONE || expression.modifier == modifier {
        return expression;
    }
    let ty = expression.ty;
    let kind = Kind::Fit {
        operand: Box::new(expression),
        coercion,
        modifier,
    };
    Expression { kind, ty, modifier }
}
