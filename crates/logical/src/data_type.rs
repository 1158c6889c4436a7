//! Types as SQL writes them.

use types::{EnumId, IntervalFields, Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use catalog::{Catalog, NameClass, SearchPath};
use syntax::{
    name::DottedName,
    statement::{TypeForm, TypeName},
};

/// Finds the type that a statement names, with what is attached to it.
///
/// # Errors
/// 42704 if there is none of the name, 22023 if its brackets are out of range.
pub fn resolve(
    written: &TypeName,
    catalog: &Catalog,
    path: &SearchPath,
) -> Result<(Type, TypeModifier)> {
    let plain = |scalar| Ok((Type::Scalar(scalar), TypeModifier::NONE));
    match written.form() {
        TypeForm::Array(element) => {
            let (ty, modifier) = resolve(element, catalog, path)?;
            match ty {
                Type::Scalar(scalar) | Type::Array(scalar) => Ok((Type::Array(scalar), modifier)),
                _ => Err(SqlError::unsupported(format_args!("type {written}"))),
            }
        }
        TypeForm::Character(length) => with(
            Scalar::Bpchar,
            &[length.map(digits).transpose()?.unwrap_or(1)],
        ),
        TypeForm::CharacterVarying(Some(length)) => with(Scalar::Varchar, &[digits(*length)?]),
        TypeForm::CharacterVarying(None) => plain(Scalar::Varchar),
        TypeForm::Unbounded => Err(SqlError::unsupported("length MAX")),
        TypeForm::Numeric { precision, scale } => match (precision, scale) {
            (None, _) => plain(Scalar::Numeric),
            (Some(precision), None) => with(Scalar::Numeric, &[digits(*precision)?]),
            (Some(precision), Some(scale)) => {
                let scale = i32::try_from(*scale).unwrap_or(i32::MAX);
                with(Scalar::Numeric, &[digits(*precision)?, scale])
            }
        },
        TypeForm::Float(precision) => match precision {
            Some(1..=24) => plain(Scalar::Float4),
            None | Some(25..=53) => plain(Scalar::Float8),
            Some(_) => Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "precision for type float must be between 1 and 53 bits",
            )),
        },
        TypeForm::DoublePrecision => plain(Scalar::Float8),
        TypeForm::Timestamp {
            precision,
            has_zone,
        } => match has_zone {
            true => precise(Scalar::TimestampTz, *precision),
            false => precise(Scalar::Timestamp, *precision),
        },
        TypeForm::Time {
            precision,
            has_zone,
        } => match has_zone {
            true => precise(Scalar::TimeTz, *precision),
            false => precise(Scalar::Time, *precision),
        },
        TypeForm::Interval {
            fields: None,
            precision,
        } => precise(Scalar::Interval, *precision),
        TypeForm::Interval {
            fields: Some(fields),
            precision,
        } => interval(fields, *precision),
        TypeForm::Named { name, arguments } => custom(name, arguments, catalog, path),
        TypeForm::Word => {
            let name = written.to_string();
            match Type::named(&name) {
                Some(ty) => Ok((ty, TypeModifier::NONE)),
                None => Err(undefined(&name)),
            }
        }
    }
}

fn custom(
    written: &DottedName,
    arguments: &[String],
    catalog: &Catalog,
    path: &SearchPath,
) -> Result<(Type, TypeModifier)> {
    let (schema, name) = match written.parts() {
        [name] => (None, name),
        [schema, name] => (Some(schema.as_str()), name),
        _ => return Err(undefined(&written.to_string())),
    };
    let folded = name.as_str();
    // `"char"` is not `char`.
    if name.is_quoted() && folded == "char" {
        return Ok((Type::Scalar(Scalar::Char), TypeModifier::NONE));
    }
    if let Some(id) = catalog.find(NameClass::Type, path, schema, folded) {
        return Ok((Type::Scalar(Scalar::Enum(EnumId(id.0))), TypeModifier::NONE));
    }
    if schema.is_none_or(|schema| schema == "pg_catalog")
        && let Some(ty) = Type::named(folded)
    {
        let numbers = arguments
            .iter()
            .map(|argument| argument.parse().map_err(|_| undefined(folded)));
        let numbers = numbers.collect::<Result<Vec<i32>>>()?;
        let modifier = match ty {
            Type::Scalar(scalar) | Type::Array(scalar) => TypeModifier::new(scalar, &numbers)?,
            _ => TypeModifier::NONE,
        };
        return Ok((ty, modifier));
    }
    Err(undefined(folded))
}

fn undefined(name: &str) -> SqlError {
    SqlError::new(
        SqlState::UNDEFINED_OBJECT,
        format!("type \"{name}\" does not exist"),
    )
}

fn with(scalar: Scalar, arguments: &[i32]) -> Result<(Type, TypeModifier)> {
    Ok((Type::Scalar(scalar), TypeModifier::new(scalar, arguments)?))
}

fn precise(scalar: Scalar, precision: Option<u64>) -> Result<(Type, TypeModifier)> {
    match precision {
        None => Ok((Type::Scalar(scalar), TypeModifier::NONE)),
        Some(precision) => with(scalar, &[digits(precision)?]),
    }
}

/// An interval of some fields, of which seconds alone may have a number of digits.
///
/// # Errors
/// 42601 for fields that there are not, or that have no digits.
pub fn interval(fields: &str, precision: Option<u64>) -> Result<(Type, TypeModifier)> {
    let has_seconds = fields.to_ascii_lowercase().ends_with("second");
    let named = IntervalFields::named(fields).filter(|_| precision.is_none() || has_seconds);
    let Some(named) = named else {
        let message = format!("an interval has no fields \"{}\"", fields.to_lowercase());
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    };
    let precision = precision.map(digits).transpose()?;
    let modifier = TypeModifier::interval(named, precision)?;
    Ok((Type::Scalar(Scalar::Interval), modifier))
}

fn digits(number: u64) -> Result<i32> {
    i32::try_from(number).map_err(|_| {
        SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("{number} is too large for a type's brackets"),
        )
    })
}
