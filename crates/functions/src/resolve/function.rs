//! Calls by name: PostgreSQL 15, section 10.3.

use types::{Names, Result, Scalar, SqlError, SqlState, Type};

use super::{
    Resolved,
    candidates::{Candidate, Choice, choose},
    polymorphic,
};
use crate::{Cast, CastContext, Function, Parameter, cast, registry};

/// Returns the function that a call by a name means.
///
/// `variadic`: the call has `VARIADIC` before its last argument, an array. Names of functions are
/// in lower case and without a schema.
///
/// # Errors
///
/// 42883 if there is none, 42725 if there are several, as good as each other.
pub fn resolve_function(
    name: &str,
    arguments: &[Type],
    variadic: bool,
    names: &dyn Names,
) -> Result<Resolved> {
    let all = registry::functions(name);
    if variadic && all.iter().any(|function| spreads(function)) {
        return Err(SqlError::unsupported(format!(
            "VARIADIC in a call of {name}"
        )));
    }
    let mut candidates: Vec<Candidate> = all
        .iter()
        .filter_map(|function| candidate(function, arguments.len(), variadic))
        .collect();
    let exact = candidates
        .iter()
        .position(|candidate| candidate.is_exact(arguments));
    let choice = match exact {
        Some(position) => Choice::One(candidates.swap_remove(position)),
        None => choose(candidates, arguments),
    };
    match choice {
        Choice::One(candidate) => resolved(candidate, arguments, names),
        Choice::None => Err(undefined(name, arguments, names)),
        Choice::Several => Err(SqlError::new(
            SqlState::AMBIGUOUS_FUNCTION,
            format!("function {} is not unique", call(name, arguments, names)),
        )
        .hint(
            "Could not choose a best candidate function. \
             You might need to add explicit type casts.",
        )),
    }
}

pub(super) fn resolved(
    candidate: Candidate,
    arguments: &[Type],
    names: &dyn Names,
) -> Result<Resolved> {
    let function = candidate.function;
    let (types, result) =
        polymorphic::settle(&candidate.parameters, arguments, function.result, names)?;
    let gather = candidate.repeated.and_then(|from| {
        let scalar = types.get(from)?.scalar()?;
        Some((from, scalar))
    });
    Ok(Resolved {
        function,
        arguments: types,
        result,
        gather,
    })
}

/// Returns whether the function takes any number of arguments of any types, which no array can
/// hold.
fn spreads(function: &Function) -> bool {
    function.variadic && function.parameters.last() == Some(&Parameter::Any)
}

/// Returns the cast of a call that has the name of a type: `date(x)`, `text(x)`. Used if there is
/// no such function.
pub fn cast_by_name(name: &str, argument: Type) -> Option<Cast> {
    let to = Type::Scalar(Scalar::from_internal_name(name)?);
    cast(argument, to, CastContext::Explicit)
}

fn candidate(function: &'static Function, arguments: usize, variadic: bool) -> Option<Candidate> {
    let declared = function.parameters;
    if !function.variadic || variadic {
        let fits = arguments <= declared.len() && arguments + function.optional >= declared.len();
        // A call with VARIADIC fits only a function that takes it.
        return (fits && (!variadic || function.variadic)).then(|| Candidate {
            function,
            parameters: declared[..arguments].to_vec(),
            repeated: None,
        });
    }
    let (last, before) = declared.split_last()?;
    if arguments < before.len() || (arguments == before.len() && function.optional == 0) {
        return None;
    }
    let (element, repeated) = match last {
        Parameter::Of(Type::Array(scalar)) => {
            (Parameter::Of(Type::Scalar(*scalar)), Some(before.len()))
        }
        other => (*other, None),
    };
    let mut parameters = before.to_vec();
    parameters.resize(arguments, element);
    Some(Candidate {
        function,
        parameters,
        repeated,
    })
}

fn call(name: &str, arguments: &[Type], names: &dyn Names) -> String {
    let types: Vec<_> = arguments.iter().map(|ty| ty.name(names)).collect();
    format!("{name}({})", types.join(", "))
}

#[cold]
fn undefined(name: &str, arguments: &[Type], names: &dyn Names) -> SqlError {
    SqlError::new(
        SqlState::UNDEFINED_FUNCTION,
        format!("function {} does not exist", call(name, arguments, names)),
    )
    .hint(
        "No function matches the given name and argument types. \
         You might need to add explicit type casts.",
    )
}
