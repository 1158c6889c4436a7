//! Choices that PostgreSQL's documentation explains, and messages of errors.

use types::{NoNames, Scalar, SqlState, Type};

use super::{cast_by_name, common_type, resolve_function, resolve_operator};
use crate::{CastContext, all_functions, all_operators, cast};

const INT4: Type = Type::Scalar(Scalar::Int4);
const INT8: Type = Type::Scalar(Scalar::Int8);
const NUMERIC: Type = Type::Scalar(Scalar::Numeric);
const FLOAT8: Type = Type::Scalar(Scalar::Float8);
const TEXT: Type = Type::Scalar(Scalar::Text);
const VARCHAR: Type = Type::Scalar(Scalar::Varchar);
const UNKNOWN: Type = Type::Unknown;

fn operator(symbol: &str, left: Type, right: Type) -> (Vec<Type>, Type) {
    let resolved = resolve_operator(symbol, Some(left), right, &NoNames)
        .unwrap_or_else(|error| panic!("{symbol}: {error}"));
    (resolved.arguments, resolved.result)
}

#[test]
fn literals_take_the_other_sides_type() {
    assert_eq!(operator("+", INT4, UNKNOWN), (vec![INT4, INT4], INT4));
    assert_eq!(operator("=", UNKNOWN, INT8).0, [INT8, INT8]);
    assert_eq!(operator("=", VARCHAR, UNKNOWN).0, [TEXT, TEXT]);
    assert_eq!(operator("||", UNKNOWN, UNKNOWN), (vec![TEXT, TEXT], TEXT));
}

#[test]
fn numbers_meet_in_the_wider_type() {
    assert_eq!(operator("+", INT4, INT8), (vec![INT4, INT8], INT8));
    assert_eq!(
        operator("+", INT4, NUMERIC),
        (vec![NUMERIC, NUMERIC], NUMERIC)
    );
    assert_eq!(
        operator("*", NUMERIC, FLOAT8),
        (vec![FLOAT8, FLOAT8], FLOAT8)
    );
    assert_eq!(operator("^", INT4, INT4).1, FLOAT8);
}

#[test]
fn arrays_and_elements_are_told_apart() {
    let array = Type::Array(Scalar::Int4);
    assert_eq!(operator("||", array, INT4), (vec![array, INT4], array));
    assert_eq!(operator("||", array, UNKNOWN).0, [array, array]);
    assert_eq!(operator("||", TEXT, INT4), (vec![TEXT, INT4], TEXT));
    let wider = Type::Array(Scalar::Numeric);
    assert_eq!(
        operator("||", array, NUMERIC),
        (vec![wider, NUMERIC], wider)
    );
}

#[test]
fn errors_are_postgresqls() {
    let none = |result: types::Result<super::Resolved>| match result {
        Ok(resolved) => panic!("{} was found", resolved.function.name),
        Err(error) => error,
    };
    let error = none(resolve_function("lower", &[INT4, INT4], false, &NoNames));
    assert_eq!(error.state(), SqlState::UNDEFINED_FUNCTION);
    assert_eq!(
        error.message(),
        "function lower(integer, integer) does not exist"
    );
    assert_eq!(
        error.hint_text(),
        Some(
            "No function matches the given name and argument types. \
             You might need to add explicit type casts."
        )
    );
    let error = none(resolve_operator("+", Some(INT4), TEXT, &NoNames));
    assert_eq!(error.message(), "operator does not exist: integer + text");
    let error = none(resolve_operator("~", None, TEXT, &NoNames));
    assert_eq!(error.message(), "operator does not exist: ~ text");
    let error = none(resolve_operator("+", Some(UNKNOWN), UNKNOWN, &NoNames));
    assert_eq!(error.state(), SqlState::AMBIGUOUS_FUNCTION);
    assert_eq!(error.message(), "operator is not unique: unknown + unknown");
}

#[test]
fn variadic_arguments_are_gathered_or_not() {
    let path = resolve_function(
        "jsonb_extract_path",
        &[Type::Scalar(Scalar::Jsonb), UNKNOWN, UNKNOWN],
        false,
        &NoNames,
    );
    assert_eq!(
        path.map(|path| path.gather).ok(),
        Some(Some((1, Scalar::Text)))
    );
    let array = Type::Array(Scalar::Text);
    let path = resolve_function(
        "jsonb_extract_path",
        &[Type::Scalar(Scalar::Jsonb), array],
        true,
        &NoNames,
    );
    assert_eq!(path.map(|path| path.gather).ok(), Some(None));
    let concat = resolve_function("concat", &[INT4, UNKNOWN], false, &NoNames);
    assert_eq!(
        concat.map(|concat| (concat.arguments, concat.gather)).ok(),
        Some((vec![INT4, TEXT], None))
    );
}

#[test]
fn names_of_types_are_casts() {
    let timestamp = Type::Scalar(Scalar::Timestamp);
    assert_eq!(
        cast_by_name("date", timestamp).map(|cast| cast.to()),
        Some(Type::Scalar(Scalar::Date))
    );
    assert!(cast_by_name("lower", TEXT).is_none());
    assert!(cast_by_name("uuid", INT4).is_none());
    let array = Type::Array(Scalar::Text);
    let spread = resolve_function("concat", &[array], true, &NoNames);
    assert_eq!(
        spread.err().map(|error| error.state()),
        Some(SqlState::FEATURE_NOT_SUPPORTED)
    );
}

#[test]
fn common_types_prefer_what_the_others_convert_to() {
    let common = |types: &[Type]| common_type(types, "CASE", &NoNames);
    assert_eq!(common(&[UNKNOWN, UNKNOWN]).ok(), Some(TEXT));
    assert_eq!(common(&[INT4, UNKNOWN, NUMERIC]).ok(), Some(NUMERIC));
    assert_eq!(common(&[NUMERIC, INT4, FLOAT8]).ok(), Some(FLOAT8));
    assert_eq!(common(&[VARCHAR, TEXT]).ok(), Some(VARCHAR));
    let error = common(&[INT4, TEXT]).map_err(|error| error.message().to_owned());
    assert_eq!(
        error,
        Err("CASE types integer and text cannot be matched".to_owned())
    );
}

#[test]
fn casts_need_their_context() {
    let exists = |from, to, context| cast(from, to, context).is_some();
    assert!(exists(INT4, INT8, CastContext::Implicit));
    assert!(!exists(INT8, INT4, CastContext::Implicit));
    assert!(exists(INT8, INT4, CastContext::Assignment));
    assert!(!exists(
        INT4,
        Type::Scalar(Scalar::Bool),
        CastContext::Assignment
    ));
    assert!(exists(
        INT4,
        Type::Scalar(Scalar::Bool),
        CastContext::Explicit
    ));
    assert!(!exists(INT4, TEXT, CastContext::Implicit));
    assert!(exists(INT4, TEXT, CastContext::Assignment));
    assert!(!exists(TEXT, INT4, CastContext::Assignment));
    assert!(exists(TEXT, INT4, CastContext::Explicit));
    assert!(!exists(
        Type::Scalar(Scalar::Uuid),
        INT4,
        CastContext::Explicit
    ));
}

/// No call could mean two entries, and each entry is found by its own types.
#[test]
fn signatures_are_unique() {
    for entries in [
        all_functions().collect::<Vec<_>>(),
        all_operators().collect::<Vec<_>>(),
    ] {
        let mut seen = std::collections::HashSet::new();
        for entry in entries {
            let most = entry.parameters.len();
            for count in most - entry.optional..=most {
                let signature = format!("{}{:?}", entry.name, &entry.parameters[..count]);
                assert!(seen.insert(signature.clone()), "{signature} is there twice");
            }
        }
    }
}
