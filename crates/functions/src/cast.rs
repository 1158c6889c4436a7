//! Casts: the existing ones, the contexts that apply them, and their implementation.
//!
//! Casts ignore lengths and precisions: the binder applies the column's
//! [`TypeModifier`](types::TypeModifier) to the result.

mod convert;
mod table;

use types::{Array, Category, Result, Scalar, Type, Value};

use crate::Context;

pub(crate) use convert::to_numeric;
pub use table::casts;

/// Origin of a cast, which decides how much it may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// No request in the statement: an argument, an operand.
    Implicit,
    /// A value is put into a column.
    Assignment,
    /// `CAST` or `::`.
    Explicit,
}

pub(crate) type Conversion = for<'a> fn(&Context<'a>, Value<'a>) -> Result<Value<'a>>;

#[derive(Clone, Copy)]
pub(crate) enum Method {
    /// The value is of the other type as it is.
    Same,
    Convert(Conversion),
    /// The value is written, and read as the other type.
    ThroughText,
}

/// A cast from a type to another.
#[derive(Clone, Copy)]
pub struct Cast {
    from: Type,
    to: Type,
    method: Method,
}

/// Returns the cast from a type to another in this context, if there is one.
///
/// [`Type::Unknown`] is cast to all types: a literal's text is read.
pub fn cast(from: Type, to: Type, context: CastContext) -> Option<Cast> {
    let method = match (from, to) {
        _ if from == to => Method::Same,
        (_, Type::Unknown | Type::Void) => return None,
        (Type::Unknown, _) => Method::ThroughText,
        (Type::Array(from), Type::Array(to)) => scalar_method(from, to, context)?,
        (Type::Vector(from), Type::Array(to)) if from == to => Method::Same,
        (Type::Scalar(from), Type::Scalar(to)) => scalar_method(from, to, context)?,
        _ => through_text(from, to, context)?,
    };
    Some(Cast { from, to, method })
}

fn scalar_method(from: Scalar, to: Scalar, context: CastContext) -> Option<Method> {
    if from == to {
        return Some(Method::Same);
    }
    match table::find(from, to) {
        Some((needed, method)) => (context >= needed).then_some(method),
        None => through_text(Type::Scalar(from), Type::Scalar(to), context),
    }
}

/// Returns the cast through text: every type to a string in an assignment, and strings to every
/// type if the cast is explicit.
fn through_text(from: Type, to: Type, context: CastContext) -> Option<Method> {
    let assigned = context >= CastContext::Assignment && to.category() == Category::String;
    let explicit = context == CastContext::Explicit && from.category() == Category::String;
    (assigned || explicit).then_some(Method::ThroughText)
}

impl Cast {
    /// Returns the type of the argument.
    pub fn from(&self) -> Type {
        self.from
    }

    /// Returns the type of the result.
    pub fn to(&self) -> Type {
        self.to
    }

    /// Returns whether values stay as they are, so that nothing has to be done.
    pub fn is_free(&self) -> bool {
        matches!(self.method, Method::Same)
    }

    /// Converts the value to the other type; NULL stays NULL.
    ///
    /// # Errors
    ///
    /// 22003 if the value does not fit in the type, 22P02 and similar if its text is none of
    /// the type.
    pub fn apply<'a>(&self, context: &Context<'a>, value: Value<'a>) -> Result<Value<'a>> {
        match (self.method, self.from, self.to) {
            (Method::Same, ..) => Ok(value),
            _ if value.is_null() => Ok(value),
            (Method::ThroughText, Type::Unknown, to) => read(context, value, Type::Unknown, to),
            (method, Type::Array(from), Type::Array(to)) => {
                let Value::Array(array) = value else {
                    return Ok(value);
                };
                elements(context, array, method, from, to)
            }
            (Method::Convert(convert), ..) => convert(context, value),
            (Method::ThroughText, from, to) => read(context, value, from, to),
        }
    }
}

fn elements<'a>(
    context: &Context<'a>,
    array: Array<'a>,
    method: Method,
    from: Scalar,
    to: Scalar,
) -> Result<Value<'a>> {
    let single = Cast {
        from: from.into(),
        to: to.into(),
        method,
    };
    let mut values = bumpalo::collections::Vec::with_capacity_in(array.len(), context.scratch);
    for value in array.iter() {
        values.push(single.apply(context, value?)?);
    }
    let mut dimensions = bumpalo::collections::Vec::new_in(context.scratch);
    dimensions.extend(array.dimensions());
    Array::build(to, &dimensions, &values, context.scratch).map(Value::Array)
}

fn read<'a>(context: &Context<'a>, value: Value<'a>, from: Type, to: Type) -> Result<Value<'a>> {
    let text = match value {
        Value::Text(text) => text,
        value => context.text_of(value, from)?,
    };
    types::text::read(text, to, &context.types(), context.scratch)
}
