use super::*;

/// Returns the value that was written and read again.
fn there_and_back<'a>(value: Value<'_>, bytes: &'a mut Vec<u8>, scratch: &'a Scratch) -> Value<'a> {
    write(value, bytes).expect("it is written");
    let mut rest = bytes.as_slice();
    let back = read(&mut rest, scratch).expect("it is read");
    assert!(rest.is_empty(), "{value:?} leaves {rest:?}");
    back
}

#[test]
fn records_keep_their_descriptions_and_nulls() {
    let scratch = Scratch::new();
    let inner = Record::plain(&[Value::Text("é"), Value::Null], &scratch);
    let fields = [
        ("a", Type::Record),
        ("bé", Type::Array(Scalar::Enum(EnumId(20_000)))),
        ("c", Type::Vector(Scalar::Oid)),
        ("d", Scalar::Varchar.into()),
    ];
    let record = Record {
        fields: &fields.map(|(name, ty)| Field { name, ty }),
        values: &[
            inner,
            Value::Null,
            Value::Null,
            Value::Enum(EnumId(20_002), 7),
        ],
    };
    let (value, mut bytes) = (Value::Record(&record), Vec::new());
    let back = there_and_back(value, &mut bytes, &scratch);
    assert!(value.is_same(&back), "{value:?} became {back:?}");
}

#[test]
fn depth_is_bounded_on_both_ways() {
    let scratch = Scratch::new();
    let nest = |levels| {
        let around = |value, _| Record::plain(&[value], &scratch);
        (0..levels).fold(Value::Int4(1), around)
    };
    let mut bytes = Vec::new();
    there_and_back(nest(DEPTH_MAX), &mut bytes, &scratch);
    let error = write(nest(DEPTH_MAX + 1), &mut Vec::new()).expect_err("it is too deep");
    assert_eq!(error.state(), SqlState::STATEMENT_TOO_COMPLEX);
    // One more level around what was written: a record of one value, which is not described.
    let deeper: Vec<u8> = [&[RECORD, 1, 0, 0, 0, 0][..], &bytes].concat();
    let error = read(&mut deeper.as_slice(), &scratch).expect_err("it is too deep");
    assert_eq!(error.state(), SqlState::STATEMENT_TOO_COMPLEX);
}

#[test]
fn cut_and_strange_bytes_are_errors() {
    let scratch = Scratch::new();
    let mut bytes = Vec::new();
    let record = Record::plain(
        &[Value::Text("text"), Value::Uuid(&[7; 16]), Value::Int2(3)],
        &scratch,
    );
    write(record, &mut bytes).expect("it is written");
    for end in 0..bytes.len() {
        let error = read(&mut &bytes[..end], &scratch).expect_err("it was cut");
        assert_eq!(error.state(), SqlState::DATA_CORRUPTED, "{end}");
    }
    for strange in [
        &[VOID][..],
        &[200],
        &[ARRAY, 200],
        &[RECORD, 255, 255, 255, 255, 0],
    ] {
        let error = read(&mut &*strange, &scratch).expect_err("it is no value");
        assert_eq!(error.state(), SqlState::DATA_CORRUPTED, "{strange:?}");
    }
}
