//! The options of a sequence, from the clauses of a statement and its former options.

use types::{Result, Scalar, SqlError, SqlState, Type};

use catalog::SequenceOptions;
use syntax::statement::{Integer, SequenceClauses};

/// Returns the options of a sequence; `before` has its former options, and its last value.
///
/// # Errors
/// 42601 for a clause that is written twice, 22023 for options that do not go together, 22003 and 22P02 for numbers
/// that are no `bigint`.
pub(super) fn resolve(
    clauses: &SequenceClauses,
    ty: Type,
    before: Option<(&SequenceOptions, i64)>,
) -> Result<SequenceOptions> {
    clauses.consistent()?;
    let (smallest, largest) = bounds(ty)?;
    let old = before.map(|(options, _)| options);
    // A bound that was that of the old type becomes that of the new one.
    let moves = clauses.data_type.is_some();
    let old_bounds = old.map(|old| bounds(old.ty)).transpose()?;
    let new_maximum = moves
        && old
            .zip(old_bounds)
            .is_some_and(|(old, (_, largest))| old.maximum == largest);
    let new_minimum = moves
        && old
            .zip(old_bounds)
            .is_some_and(|(old, (smallest, _))| old.minimum == smallest);

    let increment = value(&clauses.increment)?.or(old.map(|old| old.increment));
    let increment = increment.unwrap_or(1);
    if increment == 0 {
        return Err(invalid("INCREMENT must not be zero".to_owned()));
    }
    let maximum = match (&clauses.maximum, old) {
        (Some(Some(maximum)), _) => maximum.value()?,
        (None, Some(old)) if !new_maximum => old.maximum,
        _ if increment > 0 || new_maximum => largest,
        _ => -1,
    };
    let minimum = match (&clauses.minimum, old) {
        (Some(Some(minimum)), _) => minimum.value()?,
        (None, Some(old)) if !new_minimum => old.minimum,
        _ if increment < 0 || new_minimum => smallest,
        _ => 1,
    };
    let name = type_name(ty);
    for (what, bound) in [("MAXVALUE", maximum), ("MINVALUE", minimum)] {
        if bound < smallest || bound > largest {
            return Err(invalid(format!(
                "{what} ({bound}) is out of range for sequence data type {name}"
            )));
        }
    }
    if minimum >= maximum {
        return Err(invalid(format!(
            "MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})"
        )));
    }
    let start = value(&clauses.start)?.or(old.map(|old| old.start));
    let start = start.unwrap_or(if increment > 0 { minimum } else { maximum });
    within("START", start, minimum, maximum)?;
    let last = match (&clauses.restart, before) {
        (Some(to), _) => value(to)?.unwrap_or(start),
        (None, Some((_, last))) => last,
        (None, None) => start,
    };
    within("RESTART", last, minimum, maximum)?;
    if let Some(cache) = value(&clauses.cache)?
        && cache <= 0
    {
        return Err(invalid(format!(
            "CACHE ({cache}) must be greater than zero"
        )));
    }
    Ok(SequenceOptions {
        ty,
        start,
        increment,
        minimum,
        maximum,
        cycle: clauses
            .cycle
            .or(old.map(|old| old.cycle))
            .unwrap_or_default(),
    })
}

/// Returns the value of a number, if there is one.
///
/// # Errors
/// Errors of [`Integer::value`].
pub(super) fn value(written: &Option<Integer>) -> Result<Option<i64>> {
    written.as_ref().map(Integer::value).transpose()
}

fn within(what: &str, value: i64, minimum: i64, maximum: i64) -> Result<()> {
    if value < minimum {
        return Err(invalid(format!(
            "{what} value ({value}) cannot be less than MINVALUE ({minimum})"
        )));
    }
    if value > maximum {
        return Err(invalid(format!(
            "{what} value ({value}) cannot be greater than MAXVALUE ({maximum})"
        )));
    }
    Ok(())
}

fn bounds(ty: Type) -> Result<(i64, i64)> {
    match ty {
        Type::Scalar(Scalar::Int2) => Ok((i16::MIN.into(), i16::MAX.into())),
        Type::Scalar(Scalar::Int4) => Ok((i32::MIN.into(), i32::MAX.into())),
        Type::Scalar(Scalar::Int8) => Ok((i64::MIN, i64::MAX)),
        _ => Err(invalid(
            "sequence type must be smallint, integer, or bigint".to_owned(),
        )),
    }
}

fn type_name(ty: Type) -> &'static str {
    match ty {
        Type::Scalar(Scalar::Int2) => "smallint",
        Type::Scalar(Scalar::Int4) => "integer",
        _ => "bigint",
    }
}

fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
