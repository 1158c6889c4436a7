//! Functions of enum types: the first label, the last, and the labels between two.
//!
//! The functions use the type of their argument, which may be NULL. The catalog knows the
//! labels of a type (`types::Names`).

use types::{Array, EnumId, Result, Scalar, SqlError, SqlState, Type, Value};

use crate::{
    Context,
    function::{Function, Parameter},
};

const ENUM: Parameter = Parameter::AnyEnum;

fn argument_enum(context: &Context<'_>) -> Result<EnumId> {
    match context.argument_type(0) {
        Type::Scalar(Scalar::Enum(id)) => Ok(id),
        _ => Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "could not determine actual enum type",
        )),
    }
}

fn positions<'a>(context: &Context<'a>, id: EnumId) -> &'a [u32] {
    let names = context.environment.names();
    names.enum_positions(id).unwrap_or_default()
}

fn outermost<'a>(
    context: &Context<'a>,
    choose: impl Fn(&[u32]) -> Option<&u32>,
) -> Result<Value<'a>> {
    let id = argument_enum(context)?;
    match choose(positions(context, id)) {
        Some(position) => Ok(Value::Enum(id, *position)),
        None => {
            let name = Type::Scalar(Scalar::Enum(id)).name(context.environment.names());
            Err(SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("enum {name} contains no values"),
            ))
        }
    }
}

fn first<'a>(context: &Context<'a>, _: &[Value<'a>]) -> Result<Value<'a>> {
    outermost(context, |positions| positions.first())
}

fn last<'a>(context: &Context<'a>, _: &[Value<'a>]) -> Result<Value<'a>> {
    outermost(context, |positions| positions.last())
}

/// Returns all labels; with two arguments those from the first to the second, where NULL is
/// no bound.
fn range<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let id = argument_enum(context)?;
    let bound = |at: usize, none: u32| match arguments.get(at) {
        Some(Value::Enum(_, position)) => *position,
        _ => none,
    };
    let (from, to) = (bound(0, 0), bound(1, u32::MAX));
    let from = if arguments.len() == 1 { 0 } else { from };
    let all = positions(context, id).iter();
    let within = all.filter(|position| (from..=to).contains(*position));
    let values: Vec<Value<'_>> = within.map(|position| Value::Enum(id, *position)).collect();
    Array::of(Scalar::Enum(id), &values, context.scratch).map(Value::Array)
}

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::scalar("enum_first", &[ENUM], ENUM, first)
        .lenient()
        .stable()
        .typed(),
    Function::scalar("enum_last", &[ENUM], ENUM, last)
        .lenient()
        .stable()
        .typed(),
    Function::scalar("enum_range", &[ENUM], Parameter::AnyArray, range)
        .lenient()
        .stable()
        .typed(),
    Function::scalar("enum_range", &[ENUM, ENUM], Parameter::AnyArray, range)
        .lenient()
        .stable()
        .typed(),
];
