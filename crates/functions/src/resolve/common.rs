//! One type for several expressions: `CASE`, `UNION`, `VALUES`, `ARRAY`, `GREATEST`, `COALESCE`.

use types::{Names, Result, Scalar, SqlError, SqlState, Type};

use crate::{CastContext, cast};

/// Returns the common type of expressions of these types: PostgreSQL 15, section 10.5.
///
/// `construct` is the construct's name in messages: `CASE`, `UNION`, `VALUES`, `COALESCE`.
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

/// Returns the common type, if there is one; none also if no type is known.
pub fn matching_types(types: &[Type]) -> Option<Type> {
    choose(types).ok().flatten()
}

fn converts(from: Type, to: Type) -> bool {
    from == to || cast(from, to, CastContext::Implicit).is_some()
}

/// Returns the chosen type, or the two that do not match.
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
