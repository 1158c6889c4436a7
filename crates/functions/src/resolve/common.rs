//! One type for several expressions: `CASE`, `UNION`, `VALUES`, `ARRAY`, `GREATEST`, `COALESCE`.

use types::{Names, Result, Scalar, SqlError, SqlState, Type};

use crate::{CastContext, cast};

/// The type that expressions of these types have together: PostgreSQL 15, section 10.5.
///
/// `construct` is what the message calls them: `CASE`, `UNION`, `VALUES`, `COALESCE`.
///
/// # Errors
///
/// 42804 if they are of different kinds, 42846 if one cannot be converted to the others' type.
pub fn common_type(types: &[Type], construct: &str, names: &dyn Names) -> Result<Type> {
    let Some(chosen) = choose(types).map_err(|(left, right)| {
        SqlError::new(
            SqlState::DATATYPE_MISMATCH,
            format!(
                "{construct} types {} and {} cannot be matched",
                left.name(names),
                right.name(names)
            ),
        )
    })?
    else {
        return Ok(Type::Scalar(Scalar::Text));
    };
    let stuck = types
        .iter()
        .find(|ty| **ty != Type::Unknown && **ty != chosen && !converts(**ty, chosen));
    match stuck {
        None => Ok(chosen),
        Some(ty) => Err(SqlError::new(
            SqlState::CANNOT_COERCE,
            format!(
                "{construct} could not convert type {} to {}",
                ty.name(names),
                chosen.name(names)
            ),
        )),
    }
}

/// The type that they have together, if there is one; none also if none of them is known.
pub fn matching_types(types: &[Type]) -> Option<Type> {
    choose(types).ok().flatten()
}

fn converts(from: Type, to: Type) -> bool {
    from == to || cast(from, to, CastContext::Implicit).is_some()
}

/// The two that do not match, if any do not.
fn choose(types: &[Type]) -> std::result::Result<Option<Type>, (Type, Type)> {
    let mut known = types.iter().copied().filter(|ty| *ty != Type::Unknown);
    let Some(mut chosen) = known.next() else {
        return Ok(None);
    };
    for ty in known {
        if ty == chosen {
            continue;
        }
        if ty.category() != chosen.category() {
            return Err((chosen, ty));
        }
        if !chosen.is_preferred() && converts(chosen, ty) && !converts(ty, chosen) {
            chosen = ty;
        }
    }
    Ok(Some(chosen))
}
