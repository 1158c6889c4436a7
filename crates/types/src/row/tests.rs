use super::*;
use crate::{Array, EnumId, Interval, Jsonb, Numeric, Scalar, Scratch, compare};

const UUID: [u8; 16] = [7; 16];

/// Returns a column of each type with a value of it.
fn columns(scratch: &Scratch) -> Vec<(Type, Value<'_>)> {
    let array = Array::of(
        Scalar::Text,
        &[Value::Text("a"), Value::Null, Value::Text("")],
        scratch,
    );
    vec![
        (Scalar::Bool.into(), Value::Bool(true)),
        (Scalar::Text.into(), Value::Text("naïve")),
        (Scalar::Int2.into(), Value::Int2(-2)),
        (Scalar::Int4.into(), Value::Int4(i32::MIN)),
        (Scalar::Int8.into(), Value::Int8(i64::MAX)),
        (
            Scalar::Numeric.into(),
            Value::Numeric(Numeric::small(-1250, 2)),
        ),
        (Scalar::Float4.into(), Value::Float4(1.5)),
        (Scalar::Float8.into(), Value::Float8(f64::NAN)),
        (Scalar::Bytea.into(), Value::Bytea(&[0, 255])),
        (Scalar::Uuid.into(), Value::Uuid(&UUID)),
        (Scalar::Json.into(), Value::Json("[1 ]")),
        (
            Scalar::Jsonb.into(),
            Value::Jsonb(Jsonb::parse("{\"b\":[1,null],\"a\":\"x\"}", scratch).unwrap()),
        ),
        (Scalar::Date.into(), Value::Date(-1)),
        (Scalar::Time.into(), Value::Time(86_400_000_000)),
        (Scalar::TimeTz.into(), Value::TimeTz(1, -3600)),
        (Scalar::Timestamp.into(), Value::Timestamp(i64::MIN)),
        (Scalar::TimestampTz.into(), Value::TimestampTz(5)),
        (
            Scalar::Interval.into(),
            Value::Interval(Interval {
                microseconds: 1,
                days: -2,
                months: 3,
            }),
        ),
        (Scalar::Char.into(), Value::Char(b'x')),
        (Scalar::Oid.into(), Value::Oid(u32::MAX)),
        (
            Scalar::Enum(EnumId(20000)).into(),
            Value::Enum(EnumId(20000), 3),
        ),
        (Type::Array(Scalar::Text), Value::Array(array.unwrap())),
    ]
}

fn assert_same(one: Value<'_>, two: Value<'_>) {
    assert_eq!(one.is_null(), two.is_null());
    if !one.is_null() {
        assert!(compare::compare(one, two).is_eq(), "{one:?} {two:?}");
    }
}

#[test]
fn integers_are_read_as_they_are_ordered() {
    let types = [
        Type::Scalar(Scalar::Text),
        Type::Scalar(Scalar::Int2),
        Type::Scalar(Scalar::Int4),
        Type::Scalar(Scalar::Int8),
        Type::Scalar(Scalar::Date),
        Type::Scalar(Scalar::Timestamp),
        Type::Scalar(Scalar::Float8),
    ];
    let values = [
        Value::Text("a"),
        Value::Int2(-2),
        Value::Null,
        Value::Int8(i64::MIN),
        Value::Date(i32::MAX),
        Value::Timestamp(-1),
        Value::Float8(1.0),
    ];
    let mut layout = RowLayout::new(&types).unwrap();
    let mut bytes = Vec::new();
    RowWriter::write(&layout, &values, &mut bytes).unwrap();
    layout.push(Type::Scalar(Scalar::Int4)).unwrap();
    let row = Row::new(&layout, &bytes).unwrap();
    for (at, value) in values.into_iter().enumerate() {
        let expected = match value {
            Value::Text(_) | Value::Float8(_) => None,
            value => Some(integer_of(value)),
        };
        assert_eq!(row.integer(at), expected, "{at}");
    }
    // The column was added later.
    assert_eq!(row.integer(types.len()), None);
}

#[test]
fn every_column_is_read_as_written_with_nulls_anywhere() {
    let scratch = Scratch::new();
    let columns = columns(&scratch);
    let types: Vec<_> = columns.iter().map(|(ty, _)| *ty).collect();
    let layout = RowLayout::new(&types).unwrap();
    let mut out = vec![1, 2, 3];
    for pattern in [0u32, !0, 0x5555_5555, 0x3333_3333, 0xff00_ff00] {
        let values: Vec<_> = columns
            .iter()
            .enumerate()
            .map(|(column, (_, value))| match pattern >> column & 1 {
                1 => Value::Null,
                _ => *value,
            })
            .collect();
        out.truncate(3);
        RowWriter::write(&layout, &values, &mut out).unwrap();
        let row = Row::new(&layout, &out[3..]).unwrap();
        for (column, value) in values.iter().enumerate().rev() {
            assert_same(row.value(column).unwrap().unwrap(), *value);
        }
    }
}

#[test]
fn columns_added_later_are_missing() {
    let mut layout = RowLayout::new(&[Scalar::Text.into(), Scalar::Int4.into()]).unwrap();
    let mut out = Vec::new();
    RowWriter::write(&layout, &[Value::Text("old"), Value::Int4(1)], &mut out).unwrap();
    for ty in [Scalar::Int8, Scalar::Text, Scalar::Bool] {
        layout.push(ty.into()).unwrap();
        for _ in 0..8 {
            layout.push(Scalar::Int2.into()).unwrap();
        }
    }
    let row = Row::new(&layout, &out).unwrap();
    assert_same(row.value(0).unwrap().unwrap(), Value::Text("old"));
    assert_same(row.value(1).unwrap().unwrap(), Value::Int4(1));
    assert!(row.value(2).unwrap().is_none());
    let all: Vec<_> = row.values(|_| Value::Int8(9)).map(Result::unwrap).collect();
    assert_eq!(all.len(), layout.columns());
    assert_same(all[2], Value::Int8(9));
}

#[test]
fn rows_that_outgrow_short_ends_are_wide() {
    let layout = RowLayout::new(&[Scalar::Text.into(); 3]).unwrap();
    let long = "x".repeat(40_000);
    let values = [Value::Text("first"), Value::Text(&long), Value::Text(&long)];
    let mut out = Vec::new();
    RowWriter::write(&layout, &values, &mut out).unwrap();
    let row = Row::new(&layout, &out).unwrap();
    for (column, value) in values.iter().enumerate() {
        assert_same(row.value(column).unwrap().unwrap(), *value);
    }
}

#[test]
fn values_of_another_type_are_refused() {
    let layout = RowLayout::new(&[Scalar::Int4.into()]).unwrap();
    for values in [
        &[Value::Int8(1)][..],
        &[],
        &[Value::Int4(1), Value::Int4(2)],
    ] {
        let error = RowWriter::write(&layout, values, &mut Vec::new()).unwrap_err();
        assert_eq!(error.state(), SqlState::INTERNAL_ERROR);
    }
}

#[test]
fn cut_rows_are_errors_or_lack_only_their_end() {
    let scratch = Scratch::new();
    let columns = columns(&scratch);
    let types: Vec<_> = columns.iter().map(|(ty, _)| *ty).collect();
    let values: Vec<_> = columns.iter().map(|(_, value)| *value).collect();
    let layout = RowLayout::new(&types).unwrap();
    let mut out = Vec::new();
    RowWriter::write(&layout, &values, &mut out).unwrap();
    for length in 0..out.len() {
        let read = Row::new(&layout, &out[..length]).and_then(|row| row.value(values.len() - 1));
        assert_eq!(
            read.unwrap_err().state(),
            SqlState::DATA_CORRUPTED,
            "the last column is cut"
        );
    }
}

/// A column's field has all of its value: integers, decimals and bytes become the value again.
#[test]
fn fields_become_values_again() {
    let scratch = Scratch::new();
    let mut columns = columns(&scratch);
    let large = Numeric::parse("123456789012345678901234.5", &scratch).unwrap();
    columns.push((Scalar::Numeric.into(), Value::Numeric(large)));
    columns.push((Scalar::Numeric.into(), Value::Numeric(Numeric::NAN)));
    columns.push((
        Scalar::Numeric.into(),
        Value::Numeric(Numeric::small(1, 300)),
    ));
    columns.push((Scalar::Text.into(), Value::Null));
    let types: Vec<_> = columns.iter().map(|(ty, _)| *ty).collect();
    let values: Vec<_> = columns.iter().map(|(_, value)| *value).collect();
    let layout = RowLayout::new(&types).unwrap();
    let mut bytes = Vec::new();
    RowWriter::write(&layout, &values, &mut bytes).unwrap();
    let mut wider = layout.clone();
    wider.push(Scalar::Int4.into()).unwrap();
    let row = Row::new(&wider, &bytes).unwrap();
    let mut kinds = [0; 4];
    for (at, (ty, value)) in columns.iter().enumerate() {
        let (kind, again) = match row.field(at).unwrap().unwrap() {
            Field::Null => (0, Value::Null),
            Field::Integer(integer) => match *value {
                Value::Bool(_) => (1, Value::Bool(integer == 1)),
                Value::Float8(_) => (1, Value::Float8(f64::from_bits(integer.cast_unsigned()))),
                _ => {
                    assert_eq!(integer_of(*value), Some(integer));
                    (1, *value)
                }
            },
            Field::Decimal(mantissa, scale) => {
                let number = Numeric::small(mantissa, scale.into());
                (2, Value::Numeric(number))
            }
            Field::Bytes(bytes) => {
                assert_eq!(row.stored(at).unwrap(), Some(Some(bytes)));
                (3, value_of_bytes(bytes, *ty).unwrap())
            }
        };
        kinds[kind] += 1;
        assert_same(again, *value);
    }
    assert!(kinds[0] == 1 && kinds[2] == 1 && kinds[1] == 9, "{kinds:?}");
    assert_eq!(row.field(columns.len()).unwrap(), None);
}
