//! Types as SQL writes them.

use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, ObjectName, TimezoneInfo,
};
use types::{EnumId, IntervalFields, Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use catalog::{Catalog, NameClass, SearchPath};
use syntax::name;

/// The type that a piece of syntax names, with what is attached to it.
///
/// # Errors
/// 42704 if there is none of the name, 22023 if its brackets are out of range.
pub fn resolve(
    data_type: &DataType,
    catalog: &Catalog,
    path: &SearchPath,
) -> Result<(Type, TypeModifier)> {
    let plain = |scalar| Ok((Type::Scalar(scalar), TypeModifier::NONE));
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::AngleBracket(element),
        ) => {
            let (ty, modifier) = resolve(element, catalog, path)?;
            match ty {
                Type::Scalar(scalar) | Type::Array(scalar) => Ok((Type::Array(scalar), modifier)),
                _ => Err(SqlError::unsupported(format_args!("type {data_type}"))),
            }
        }
        DataType::Char(length) | DataType::Character(length) => {
            with(Scalar::Bpchar, &[characters(length)?.unwrap_or(1)])
        }
        DataType::CharVarying(length)
        | DataType::CharacterVarying(length)
        | DataType::Varchar(length) => match characters(length)? {
            Some(length) => with(Scalar::Varchar, &[length]),
            None => plain(Scalar::Varchar),
        },
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => match info {
            ExactNumberInfo::None => plain(Scalar::Numeric),
            ExactNumberInfo::Precision(precision) => with(Scalar::Numeric, &[digits(*precision)?]),
            ExactNumberInfo::PrecisionAndScale(precision, scale) => {
                let scale = i32::try_from(*scale).unwrap_or(i32::MAX);
                with(Scalar::Numeric, &[digits(*precision)?, scale])
            }
        },
        DataType::Float(info) => match info {
            ExactNumberInfo::Precision(1..=24) => plain(Scalar::Float4),
            ExactNumberInfo::None | ExactNumberInfo::Precision(25..=53) => plain(Scalar::Float8),
            _ => Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "precision for type float must be between 1 and 53 bits",
            )),
        },
        DataType::DoublePrecision => plain(Scalar::Float8),
        DataType::Timestamp(precision, zone) => match zone {
            TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => {
                precise(Scalar::TimestampTz, *precision)
            }
            TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => {
                precise(Scalar::Timestamp, *precision)
            }
        },
        DataType::Time(precision, zone) => match zone {
            TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => precise(Scalar::TimeTz, *precision),
            TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => precise(Scalar::Time, *precision),
        },
        DataType::Interval {
            fields: None,
            precision,
        } => precise(Scalar::Interval, *precision),
        DataType::Interval {
            fields: Some(fields),
            precision,
        } => interval(&fields.to_string(), *precision),
        DataType::Custom(name, arguments) => custom(name, arguments, catalog, path),
        // The others have no more to them than their name.
        other => match Type::named(&other.to_string()) {
            Some(ty) => Ok((ty, TypeModifier::NONE)),
            None => Err(undefined(&other.to_string())),
        },
    }
}

fn custom(
    written: &ObjectName,
    arguments: &[String],
    catalog: &Catalog,
    path: &SearchPath,
) -> Result<(Type, TypeModifier)> {
    let parts = name::parts(written)?;
    let (schema, ident) = match parts.as_slice() {
        [ident] => (None, *ident),
        [schema, ident] => (Some(name::fold(schema)), *ident),
        _ => return Err(undefined(&written.to_string())),
    };
    let folded = name::fold(ident);
    // `"char"` is not `char`.
    if ident.quote_style.is_some() && folded == "char" {
        return Ok((Type::Scalar(Scalar::Char), TypeModifier::NONE));
    }
    if let Some(id) = catalog.find(NameClass::Type, path, schema.as_deref(), &folded) {
        return Ok((Type::Scalar(Scalar::Enum(EnumId(id.0))), TypeModifier::NONE));
    }
    if schema
        .as_deref()
        .is_none_or(|schema| schema == "pg_catalog")
        && let Some(ty) = Type::named(&folded)
    {
        let numbers = arguments
            .iter()
            .map(|argument| argument.parse().map_err(|_| undefined(&folded)));
        let numbers = numbers.collect::<Result<Vec<i32>>>()?;
        let modifier = match ty {
            Type::Scalar(scalar) | Type::Array(scalar) => TypeModifier::new(scalar, &numbers)?,
            _ => TypeModifier::NONE,
        };
        return Ok((ty, modifier));
    }
    Err(undefined(&folded))
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

fn characters(length: &Option<CharacterLength>) -> Result<Option<i32>> {
    match length {
        None => Ok(None),
        Some(CharacterLength::IntegerLength { length, .. }) => digits(*length).map(Some),
        Some(CharacterLength::Max) => Err(SqlError::unsupported("length MAX")),
    }
}

fn digits(number: u64) -> Result<i32> {
    i32::try_from(number).map_err(|_| {
        SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("{number} is too large for a type's brackets"),
        )
    })
}
