use super::*;
use crate::Scratch;

fn column(scalar: Scalar, nulls: Nulls) -> KeyColumn {
    KeyColumn {
        ty: scalar.into(),
        descending: false,
        nulls,
    }
}

#[test]
fn keys_of_integers_have_no_more_bytes_than_these() {
    let mut out = Vec::new();
    write(column(Scalar::Int8, Nulls::Never), Value::Int8(1), &mut out).unwrap();
    assert_eq!(out, [0x80, 0, 0, 0, 0, 0, 0, 1]);
    out.clear();
    write(column(Scalar::Int2, Nulls::Last), Value::Int2(-1), &mut out).unwrap();
    assert_eq!(out, [VALUE, 0x7f, 0xff]);
}

#[test]
fn a_prefix_and_its_successor_enclose_what_begins_with_it() {
    let columns = [
        column(Scalar::Text, Nulls::Last),
        column(Scalar::Int4, Nulls::Last),
    ];
    let key = |text: &str, number: Value<'_>| {
        let mut out = Vec::new();
        write_all(&columns, &[Value::Text(text), number], &mut out).unwrap();
        out
    };
    let mut low = Vec::new();
    write_all(&columns, &[Value::Text("b")], &mut low).unwrap();
    let mut high = low.clone();
    assert!(successor(&mut high));
    for number in [Value::Int4(i32::MIN), Value::Int4(i32::MAX), Value::Null] {
        assert!((&low..&high).contains(&&key("b", number)));
        assert!(!(&low..&high).contains(&&key("a", number)));
        assert!(!(&low..&high).contains(&&key("bb", number)));
    }
}

#[test]
fn what_is_all_ones_has_no_successor() {
    let mut prefix = vec![0xff, 0xff];
    assert!(!successor(&mut prefix));
    assert!(!successor(&mut Vec::new()));
    let mut prefix = vec![1, 0xff];
    assert!(successor(&mut prefix));
    assert_eq!(prefix, [2]);
}

#[test]
fn null_is_refused_where_it_must_not_be() {
    let error = write(
        column(Scalar::Int4, Nulls::Never),
        Value::Null,
        &mut Vec::new(),
    );
    assert_eq!(error.unwrap_err().state(), SqlState::NOT_NULL_VIOLATION);
    let error = write(
        column(Scalar::Json, Nulls::Last),
        Value::Json("1"),
        &mut Vec::new(),
    );
    assert_eq!(error.unwrap_err().state(), SqlState::UNDEFINED_OBJECT);
}

#[test]
fn columns_are_read_one_after_the_other() {
    let scratch = Scratch::new();
    let columns = [
        column(Scalar::Text, Nulls::Last),
        KeyColumn {
            ty: Scalar::Text.into(),
            descending: true,
            nulls: Nulls::First,
        },
        column(Scalar::Date, Nulls::First),
    ];
    let values = [Value::Text("a"), Value::Text("bé"), Value::Date(-5)];
    let mut out = Vec::new();
    write_all(&columns, &values, &mut out).unwrap();
    let mut rest = &out[..];
    for (column, value) in columns.into_iter().zip(values) {
        let (back, after) = read(column, rest, &scratch).unwrap();
        assert!(crate::compare::compare(back, value).is_eq(), "{back:?}");
        rest = after;
    }
    assert!(rest.is_empty());
}
