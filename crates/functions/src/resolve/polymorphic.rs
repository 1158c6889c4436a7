//! Types of `anyelement` and similar parameters in a call.
//!
//! There are two families: within `anyelement`, `anyarray`, `anynonarray`, `anyenum` all must be
//! of one type exactly; within `anycompatible` and its array a common type is found.

use types::{Category, Names, Result, Scalar, SqlError, SqlState, Type};

use super::common;
use crate::{CastContext, Parameter, cast};

/// Returns whether known arguments can all satisfy a call's polymorphic parameters.
pub(super) fn is_consistent(parameters: &[Parameter], arguments: &[Type]) -> bool {
    if !parameters
        .iter()
        .any(|parameter| parameter.is_polymorphic())
    {
        return true;
    }
    let mut element = None;
    for (parameter, argument) in parameters.iter().zip(arguments) {
        if *argument == Type::Unknown {
            continue;
        }
        let of_argument = match parameter {
            Parameter::AnyElement => *argument,
            Parameter::AnyNonArray if argument.category() != Category::Array => *argument,
            Parameter::AnyEnum if argument.category() == Category::Enum => *argument,
            Parameter::AnyNonArray | Parameter::AnyEnum => return false,
            Parameter::AnyArray => match argument.element() {
                Some(scalar) => Type::Scalar(scalar),
                None => return false,
            },
            Parameter::AnyCompatibleArray if argument.element().is_none() => return false,
            _ => continue,
        };
        if *element.get_or_insert(of_argument) != of_argument {
            return false;
        }
    }
    // A type that is array and element at once would give an array of arrays.
    if element.is_some_and(|element| element.category() == Category::Array)
        && parameters.contains(&Parameter::AnyArray)
    {
        return false;
    }
    compatible_is_consistent(parameters, arguments)
}

fn compatible_types(parameters: &[Parameter], arguments: &[Type]) -> Vec<Type> {
    let pairs = parameters.iter().zip(arguments);
    pairs
        .filter_map(|(parameter, argument)| match parameter {
            Parameter::AnyCompatible => Some(*argument),
            Parameter::AnyCompatibleArray => argument.element().map(Type::Scalar),
            _ => None,
        })
        .filter(|ty| *ty != Type::Unknown)
        .collect()
}

fn compatible_is_consistent(parameters: &[Parameter], arguments: &[Type]) -> bool {
    let known = compatible_types(parameters, arguments);
    let Some(common) = common::matching_types(&known) else {
        return known.is_empty();
    };
    if parameters.contains(&Parameter::AnyCompatibleArray) && common.scalar().is_none() {
        return false;
    }
    known
        .iter()
        .all(|ty| *ty == common || cast(*ty, common, CastContext::Implicit).is_some())
}

/// Returns the types of a call: of each argument, and of the result.
///
/// # Errors
///
/// 42804 if nothing determines the types of the polymorphic parameters.
pub(super) fn settle(
    parameters: &[Parameter],
    arguments: &[Type],
    result: Parameter,
    names: &dyn Names,
) -> Result<(Vec<Type>, Type)> {
    let element = element(parameters, arguments);
    let known = compatible_types(parameters, arguments);
    let compatible = common::matching_types(&known).unwrap_or(Type::Scalar(Scalar::Text));
    let of = |parameter: Parameter, argument: Type| match parameter {
        Parameter::Of(ty) => Ok(ty),
        Parameter::Any if argument == Type::Unknown => Ok(Type::Scalar(Scalar::Text)),
        Parameter::Any => Ok(argument),
        Parameter::AnyElement | Parameter::AnyNonArray | Parameter::AnyEnum => {
            element.ok_or_else(undetermined)
        }
        Parameter::AnyArray => element
            .ok_or_else(undetermined)
            .and_then(|element| array_of(element, names)),
        Parameter::AnyCompatible => Ok(compatible),
        Parameter::AnyCompatibleArray => array_of(compatible, names),
    };
    let pairs = parameters.iter().zip(arguments);
    let settled = pairs
        .map(|(parameter, argument)| of(*parameter, *argument))
        .collect::<Result<_>>()?;
    Ok((settled, of(result, Type::Unknown)?))
}

fn element(parameters: &[Parameter], arguments: &[Type]) -> Option<Type> {
    let pairs = parameters.iter().zip(arguments);
    pairs
        .filter(|(_, argument)| **argument != Type::Unknown)
        .find_map(|(parameter, argument)| match parameter {
            Parameter::AnyElement | Parameter::AnyNonArray | Parameter::AnyEnum => Some(*argument),
            Parameter::AnyArray => argument.element().map(Type::Scalar),
            _ => None,
        })
}

fn array_of(element: Type, names: &dyn Names) -> Result<Type> {
    element.scalar().map(Type::Array).ok_or_else(|| {
        SqlError::new(
            SqlState::UNDEFINED_OBJECT,
            format!(
                "could not find array type for data type {}",
                element.name(names)
            ),
        )
    })
}

#[cold]
fn undetermined() -> SqlError {
    SqlError::new(
        SqlState::DATATYPE_MISMATCH,
        "could not determine polymorphic type because input has type unknown",
    )
}
