use super::*;
use crate::{Numeric, SqlState};

fn assigned<'a>(
    value: Value<'a>,
    scalar: Scalar,
    arguments: &[i32],
    scratch: &'a Scratch,
) -> Result<Value<'a>> {
    let modifier = TypeModifier::new(scalar, arguments)?;
    modifier.apply(value, scalar.into(), Coercion::Assignment, scratch)
}

#[test]
fn assignments_cut_off_blanks_and_nothing_else() {
    let scratch = Scratch::new();
    for (text, scalar, expected) in [
        ("abc", Scalar::Varchar, Some("abc")),
        ("abc  ", Scalar::Varchar, Some("abc")),
        ("日本語 ", Scalar::Varchar, Some("日本語")),
        ("abcd", Scalar::Varchar, None),
        ("ab  x", Scalar::Varchar, None),
        ("a", Scalar::Bpchar, Some("a  ")),
        ("日", Scalar::Bpchar, Some("日  ")),
        ("abc   ", Scalar::Bpchar, Some("abc")),
        ("abcd", Scalar::Bpchar, None),
    ] {
        match (
            assigned(Value::Text(text), scalar, &[3], &scratch),
            expected,
        ) {
            (Ok(Value::Text(result)), Some(expected)) => assert_eq!(result, expected),
            (Err(error), None) => {
                assert_eq!(error.state(), SqlState::STRING_DATA_RIGHT_TRUNCATION);
                let name = if scalar == Scalar::Varchar {
                    "character varying(3)"
                } else {
                    "character(3)"
                };
                assert_eq!(error.message(), format!("value too long for type {name}"));
            }
            (result, _) => panic!("{text}: {result:?}"),
        }
    }
}

#[test]
fn modifiers_are_applied_to_each_element() {
    let scratch = Scratch::new();
    let values = [Value::Text("ab"), Value::Null];
    let array = Array::of(Scalar::Bpchar, &values, &scratch).unwrap();
    let modifier = TypeModifier::new(Scalar::Bpchar, &[3]).unwrap();
    let ty = Type::Array(Scalar::Bpchar);
    let result = modifier.apply(Value::Array(array), ty, Coercion::Explicit, &scratch);
    let Ok(Value::Array(array)) = result else {
        panic!("it is an array");
    };
    assert!(matches!(array.get(0), Ok(Value::Text("ab "))));
    assert!(matches!(array.get(1), Ok(Value::Null)));
}

#[test]
fn negative_scales_are_kept() {
    let scratch = Scratch::new();
    let modifier = TypeModifier::new(Scalar::Numeric, &[3, -2]).unwrap();
    assert_eq!(modifier.precision_and_scale(), Some((3, -2)));
    let value = Value::Numeric(Numeric::small(12345, 0));
    match assigned(value, Scalar::Numeric, &[3, -2], &scratch) {
        Ok(Value::Numeric(number)) => assert_eq!(number.to_string(), "12300"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_out_of_range_are_refused() {
    for (scalar, arguments) in [
        (Scalar::Varchar, &[0][..]),
        (Scalar::Bpchar, &[10_485_761]),
        (Scalar::Numeric, &[0]),
        (Scalar::Numeric, &[1001]),
        (Scalar::Numeric, &[5, 1001]),
        (Scalar::Numeric, &[5, 2, 1]),
        (Scalar::Timestamp, &[-1]),
    ] {
        let error = TypeModifier::new(scalar, arguments).unwrap_err();
        assert_eq!(error.state(), SqlState::INVALID_PARAMETER_VALUE);
    }
    let error = TypeModifier::new(Scalar::Int4, &[1]).unwrap_err();
    assert_eq!(error.state(), SqlState::SYNTAX_ERROR);
}
