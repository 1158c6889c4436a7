use super::*;
use crate::{Jsonb, Numeric, Scratch};

fn assert_ascending(ty: Type, values: &[Value<'_>]) {
    for (left, one) in values.iter().enumerate() {
        for (right, two) in values.iter().enumerate() {
            assert_eq!(
                compare_as(ty, *one, *two),
                left.cmp(&right),
                "{one:?} {two:?}"
            );
        }
    }
}

fn assert_equal(ty: Type, one: Value<'_>, two: Value<'_>) {
    assert!(compare_as(ty, one, two).is_eq(), "{one:?} {two:?}");
    assert_eq!(
        hash_values(&[ty], &[one], 7),
        hash_values(&[ty], &[two], 7),
        "{one:?} {two:?}"
    );
}

#[test]
fn nan_is_the_greatest_and_null_is_after_it() {
    let floats = [
        f64::NEG_INFINITY,
        -1.0,
        0.0,
        1e-300,
        f64::INFINITY,
        f64::NAN,
    ];
    let mut values: Vec<_> = floats.into_iter().map(Value::Float8).collect();
    values.push(Value::Null);
    assert_ascending(Scalar::Float8.into(), &values);
    assert_equal(
        Scalar::Float8.into(),
        Value::Float8(f64::NAN),
        Value::Float8(-f64::NAN),
    );
    assert_equal(
        Scalar::Float8.into(),
        Value::Float8(0.0),
        Value::Float8(-0.0),
    );
}

#[test]
fn integers_of_all_widths_are_equal_and_have_one_hash() {
    assert_equal(Scalar::Int8.into(), Value::Int2(-7), Value::Int8(-7));
    assert_equal(Scalar::Int8.into(), Value::Int4(5), Value::Int8(5));
    assert!(compare(Value::Int2(1), Value::Int8(i64::MAX)).is_lt());
}

#[test]
fn numbers_are_compared_across_types() {
    let half = Value::Numeric(Numeric::small(5, 1));
    assert!(compare(half, Value::Int4(1)).is_lt());
    assert!(compare(Value::Int8(1), half).is_gt());
    assert!(compare(half, Value::Float8(0.5)).is_eq());
    assert!(compare(Value::Int8(1 << 53), Value::Float8(9_007_199_254_740_992.0)).is_eq());
}

#[test]
fn numerics_of_different_scales_are_equal() {
    let scratch = Scratch::new();
    let numeric = |text: &str| Value::Numeric(Numeric::parse(text, &scratch).unwrap());
    let ty = Scalar::Numeric.into();
    assert_equal(ty, numeric("1.0"), numeric("1.000"));
    assert_equal(ty, numeric("0"), numeric("-0.00"));
    assert_equal(
        ty,
        numeric("1e30"),
        numeric("1000000000000000000000000000000.00"),
    );
    assert_equal(
        ty,
        numeric("12345678901234567890"),
        numeric("12345678901234567890.0"),
    );
    assert_equal(
        ty,
        numeric("1234567890123456789"),
        numeric("1234567890123456789.0"),
    );
    let texts = [
        "-Infinity",
        "-1e40",
        "-10",
        "-9.99",
        "-1e-20",
        "0",
        "1e-16000",
        "0.1",
        "0.11",
        "9",
        "10",
        "9223372036854775807",
        "9223372036854775808",
        "1e130000",
        "Infinity",
        "NaN",
    ];
    let values: Vec<_> = texts.into_iter().map(numeric).collect();
    assert_ascending(ty, &values);
}

#[test]
fn blanks_at_the_end_of_char_do_not_count() {
    let ty = Scalar::Bpchar.into();
    assert_equal(ty, Value::Text("a"), Value::Text("a   "));
    assert!(compare(Value::Text("a"), Value::Text("a ")).is_lt());
}

#[test]
fn intervals_count_months_as_thirty_days() {
    let interval = |months, days, microseconds| {
        Value::Interval(Interval {
            microseconds,
            days,
            months,
        })
    };
    let ty = Scalar::Interval.into();
    assert_equal(ty, interval(1, 0, 0), interval(0, 30, 0));
    assert_equal(ty, interval(0, 1, 0), interval(0, 0, 86_400_000_000));
    assert_ascending(
        ty,
        &[
            interval(-1, 0, 0),
            interval(0, 0, 0),
            interval(1, -29, 0),
            interval(i32::MAX, 0, 0),
        ],
    );
}

#[test]
fn jsonb_has_postgres_order() {
    let scratch = Scratch::new();
    // These texts are in the order of PostgreSQL 15's `ORDER BY`.
    let texts = [
        "[]",
        "null",
        "\"a\"",
        "\"b\"",
        "0",
        "1",
        "false",
        "true",
        "[null]",
        "[[]]",
        "[{}]",
        "[1, 2]",
        "{}",
        "{\"a\": 1}",
        "{\"a\": [1]}",
        "{\"b\": 0}",
        "{\"a\": 0, \"b\": 0}",
    ];
    let values: Vec<_> = texts
        .into_iter()
        .map(|text| Value::Jsonb(Jsonb::parse(text, &scratch).unwrap()))
        .collect();
    assert_ascending(Scalar::Jsonb.into(), &values);
    let same = ["{\"b\": 1.0, \"a\": 2}", "{\"a\": 2.00, \"b\": 1}"];
    let [one, two] = same.map(|text| Value::Jsonb(Jsonb::parse(text, &scratch).unwrap()));
    assert_equal(Scalar::Jsonb.into(), one, two);
}

#[test]
fn arrays_are_compared_by_elements_first() {
    let scratch = Scratch::new();
    let array =
        |values: &[Value<'_>]| Value::Array(Array::of(Scalar::Int4, values, &scratch).unwrap());
    let (one, two, null) = (Value::Int4(1), Value::Int4(2), Value::Null);
    assert_ascending(
        Type::Array(Scalar::Int4),
        &[
            array(&[]),
            array(&[one]),
            array(&[one, two]),
            array(&[one, null]),
            array(&[two]),
        ],
    );
}
