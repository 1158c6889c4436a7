//! Operators: PostgreSQL 15, section 10.2.

use types::{Names, Result, SqlError, SqlState, Type};

use super::{
    Resolved,
    candidates::{Candidate, Choice, choose},
    function::resolved,
};
use crate::registry;

/// Returns the operator that a symbol means between two expressions, or before one.
///
/// # Errors
///
/// 42883 if there is none, 42725 if there are several, as good as each other.
pub fn resolve_operator(
    symbol: &str,
    left: Option<Type>,
    right: Type,
    names: &dyn Names,
) -> Result<Resolved> {
    let arguments: Vec<Type> = left.into_iter().chain([right]).collect();
    // One operator has two spellings.
    let name = if symbol == "!=" { "<>" } else { symbol };
    let mut candidates: Vec<Candidate> = registry::operators(name)
        .iter()
        .filter(|operator| operator.parameters.len() == arguments.len())
        .map(|operator| Candidate {
            function: operator,
            parameters: operator.parameters.to_vec(),
            repeated: None,
        })
        .collect();
    let exact = exact(&candidates, &arguments);
    let choice = match exact {
        Some(position) => Choice::One(candidates.swap_remove(position)),
        None => choose(candidates, &arguments),
    };
    match choice {
        Choice::One(candidate) => resolved(candidate, &arguments, names),
        Choice::None => Err(undefined(symbol, left, right, names)),
        Choice::Several => Err(SqlError::new(
            SqlState::AMBIGUOUS_FUNCTION,
            format!(
                "operator is not unique: {}",
                expression(symbol, left, right, names)
            ),
        )
        .hint(
            "Could not choose a best candidate operator. \
             You might need to add explicit type casts.",
        )),
    }
}

/// Returns an operator over exactly these types; an unknown type is taken to be like the
/// other.
fn exact(candidates: &[Candidate], arguments: &[Type]) -> Option<usize> {
    let assumed = match *arguments {
        [Type::Unknown, Type::Unknown] => return None,
        [Type::Unknown, other] | [other, Type::Unknown] => vec![other, other],
        _ => arguments.to_vec(),
    };
    candidates
        .iter()
        .position(|candidate| candidate.is_exact(&assumed))
}

fn expression(symbol: &str, left: Option<Type>, right: Type, names: &dyn Names) -> String {
    let right = right.name(names);
    match left {
        Some(left) => format!("{} {symbol} {right}", left.name(names)),
        None => format!("{symbol} {right}"),
    }
}

#[cold]
fn undefined(symbol: &str, left: Option<Type>, right: Type, names: &dyn Names) -> SqlError {
    SqlError::new(
        SqlState::UNDEFINED_FUNCTION,
        format!(
            "operator does not exist: {}",
            expression(symbol, left, right, names)
        ),
    )
    .hint(if left.is_some() {
        "No operator matches the given name and argument types. \
         You might need to add explicit type casts."
    } else {
        "No operator matches the given name and argument type. \
         You might need to add an explicit type cast."
    })
}
