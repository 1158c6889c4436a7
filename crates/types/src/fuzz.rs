//! Interprets bytes as a type and values of it, and compares all their forms with each other; and
//! as text, messages, rows, keys and documents of a hostile sender. For fuzzers and for a test
//! with random bytes.

mod draw;

use std::cmp::Ordering;

use crate::{
    Array, Context, EnumId, Jsonb, Names, NoNames, Numeric, Result, Scalar, Scratch, Settings,
    Type, Value, binary, compare,
    key::{self, KeyColumn, Nulls},
    row::{Row, RowLayout, RowWriter},
    tagged, text,
};
use draw::Choices;

const LABELS: [&str; 4] = ["low", "mid \"le\"", "high", "höchst"];
const ENUM: EnumId = EnumId(EnumId::FIRST + 2);

/// A catalog with one enum.
struct OneEnum;

impl Names for OneEnum {
    fn enum_name(&self, id: EnumId) -> Option<&str> {
        (id == ENUM).then_some("level")
    }

    fn enum_label(&self, id: EnumId, position: u32) -> Option<&str> {
        let labels = (id == ENUM).then_some(&LABELS)?;
        labels.get(position as usize).copied()
    }

    fn enum_position(&self, id: EnumId, label: &str) -> Option<u32> {
        let position = LABELS.iter().position(|known| *known == label)?;
        (id == ENUM).then_some(position as u32)
    }
}

/// Carries out the checks that `data` encodes.
///
/// # Panics
/// Panics if forms of a value disagree, or bytes from outside are not refused with an error.
pub fn run(data: &[u8]) {
    let scratch = Scratch::new();
    let settings = Settings::default();
    let context = Context {
        settings: &settings,
        names: &OneEnum,
        now: 0,
    };
    let mut choices = Choices::new(data);
    let types = choices.types();
    let values: [Vec<Value<'_>>; 2] = std::array::from_fn(|_| {
        types
            .iter()
            .map(|ty| choices.value(*ty, &scratch))
            .collect()
    });
    for (column, ty) in types.iter().enumerate() {
        for row in &values {
            check_forms(row[column], *ty, &context, &scratch);
        }
        check_order(values[0][column], values[1][column], *ty, &scratch);
    }
    check_keys(&types, &values, choices.byte());
    let rest = choices.rest();
    for row in &values {
        check_row(&types, row, rest);
        check_tagged(row, rest, &scratch);
        for (value, ty) in row.iter().zip(&types) {
            receive_damaged(*value, *ty, rest, &context, &scratch);
        }
    }
    receive(rest, &types, &context, &scratch);
}

fn assert_same(one: Value<'_>, two: Value<'_>, ty: Type, form: &str) {
    assert!(
        compare::compare_as(ty, one, two).is_eq(),
        "{form} of {ty:?}: {one:?} became {two:?}"
    );
}

/// Checks that text and binary form are read as the value written, and arithmetic does not panic.
fn check_forms(value: Value<'_>, ty: Type, context: &Context<'_>, scratch: &Scratch) {
    if value.is_null() {
        return;
    }
    let mut written = Vec::new();
    text::write(value, ty, context, &mut written).expect("values have text");
    let read_text = std::str::from_utf8(&written).expect("text is UTF-8");
    // `"char"` has no text for all of its bytes that is read back.
    if ty.scalar() != Some(Scalar::Char) && ty.element() != Some(Scalar::Char) {
        let back = text::read(read_text, ty, context, scratch).expect(read_text);
        assert_same(value, back, ty, "text");
        let mut again = Vec::new();
        text::write(back, ty, context, &mut again).expect("values have text");
        assert_eq!(written, again, "text is the same again");
    }
    let mut sent = Vec::new();
    binary::write(value, ty, context, &mut sent).expect("values have a binary form");
    let back = binary::read(&sent, ty, context, scratch).expect("what was sent is received");
    assert_same(value, back, ty, "binary form");
    if let Value::Numeric(number) = value {
        check_numeric(number, scratch);
    }
}

/// Checks that subtraction reverses addition, and division multiplication.
fn check_numeric(number: Numeric<'_>, scratch: &Scratch) {
    let seven = Numeric::small(-7, 0);
    let round_trip = |there: Result<Numeric<'_>>, back: &dyn Fn(Numeric<'_>) -> bool| {
        if let Ok(there) = there {
            assert!(back(there), "{number} went to {there} and not back");
        }
    };
    round_trip(number.add(seven, scratch), &|sum| {
        let back = sum.subtract(seven, scratch).expect("smaller");
        back.compare(number).is_eq()
    });
    round_trip(number.multiply(seven, scratch), &|product| {
        let back = product.divide_truncated(seven, scratch).expect("smaller");
        back.compare(number.truncate(0, scratch).expect("smaller"))
            .is_eq()
    });
    let rounded = number.round(1, scratch).expect("one digit more at most");
    let half = Numeric::small(5, 2);
    let distance = rounded.subtract(number, scratch).expect("it is small");
    assert!(
        distance.is_nan() || distance.absolute(scratch).compare(half).is_le(),
        "{number} is rounded to {rounded}"
    );
}

/// Checks that comparison, keys and hashes agree.
fn check_order(one: Value<'_>, two: Value<'_>, ty: Type, scratch: &Scratch) {
    let order = compare::compare_as(ty, one, two);
    assert_eq!(
        compare::compare_as(ty, two, one),
        order.reverse(),
        "{one:?} {two:?}"
    );
    if order.is_eq() {
        let hash = |value| compare::hash_values(&[ty], &[value], 3);
        assert_eq!(hash(one), hash(two), "{one:?} {two:?} are equal");
    }
    if !ty.is_ordered() {
        return;
    }
    for descending in [false, true] {
        for nulls in [Nulls::First, Nulls::Last] {
            let column = KeyColumn {
                ty,
                descending,
                nulls,
            };
            let keys = [one, two].map(|value| {
                let mut out = Vec::new();
                key::write(column, value, &mut out).expect("values have keys");
                check_key(column, value, &out, scratch);
                out
            });
            let expected = match (one.is_null(), two.is_null()) {
                (false, false) if descending => order.reverse(),
                (false, false) => order,
                (one, two) if nulls == Nulls::Last => one.cmp(&two),
                (one, two) => two.cmp(&one),
            };
            assert_eq!(keys[0].cmp(&keys[1]), expected, "keys of {one:?} {two:?}");
        }
    }
}

fn check_key(column: KeyColumn, value: Value<'_>, key: &[u8], scratch: &Scratch) {
    if !value.is_null() && !key::is_readable(column.ty) {
        return;
    }
    let (back, rest) = key::read(column, key, scratch).expect("a key is read");
    assert!(rest.is_empty(), "a key of {value:?} is read to its end");
    assert_same(value, back, column.ty, "key");
}

/// Checks that keys of several columns are in the order of the first that differs.
fn check_keys(types: &[Type], rows: &[Vec<Value<'_>>; 2], flags: u8) {
    let columns: Vec<_> = (types.iter().enumerate())
        .filter(|(_, ty)| ty.is_ordered())
        .map(|(index, ty)| {
            let column = KeyColumn {
                ty: *ty,
                descending: flags >> (index % 8) & 1 == 1,
                nulls: Nulls::Last,
            };
            (index, column)
        })
        .collect();
    let keys = rows.each_ref().map(|row| {
        let mut out = Vec::new();
        for (index, column) in &columns {
            key::write(*column, row[*index], &mut out).expect("values have keys");
        }
        out
    });
    let expected = columns
        .iter()
        .map(|(index, column)| {
            let (one, two) = (rows[0][*index], rows[1][*index]);
            let order = compare::compare_as(column.ty, one, two);
            if column.descending && !one.is_null() && !two.is_null() {
                order.reverse()
            } else {
                order
            }
        })
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal);
    assert_eq!(keys[0].cmp(&keys[1]), expected, "{columns:?} {rows:?}");
}

/// Checks that a row is read as written; a damaged one is an error or another row.
fn check_row(types: &[Type], values: &[Value<'_>], damage: &[u8]) {
    let layout = RowLayout::new(types).expect("few columns");
    let mut out = Vec::new();
    RowWriter::write(&layout, values, &mut out).expect("values are of their types");
    let row = Row::new(&layout, &out).expect("a row is read");
    for (column, value) in values.iter().enumerate() {
        let back = row.value(column).expect("it is whole");
        assert_same(*value, back.expect("it is there"), types[column], "row");
    }
    change(&mut out, damage);
    if let Ok(row) = Row::new(&layout, &out) {
        look_at(&row, types.len());
    }
}

/// Checks that values that carry their types are read as written; damaged ones are errors or other values.
fn check_tagged(values: &[Value<'_>], damage: &[u8], scratch: &Scratch) {
    let mut out = Vec::new();
    for value in values {
        tagged::write(*value, &mut out).expect("values are written");
    }
    let mut rest = out.as_slice();
    for value in values {
        let back = tagged::read(&mut rest, scratch).expect("it is whole");
        assert!(value.is_same(&back), "{value:?} became {back:?}");
    }
    assert!(rest.is_empty(), "nothing is left of {values:?}");
    let mut damaged = out.clone();
    change(&mut damaged, damage);
    let mut rest = damaged.as_slice();
    while !rest.is_empty() && tagged::read(&mut rest, scratch).is_ok() {}
}

/// Changes some bytes: pairs of a position and a change.
fn change(bytes: &mut [u8], damage: &[u8]) {
    for pair in damage.chunks_exact(2).take(CHANGES_MAX) {
        let length = bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(usize::from(pair[0]) % length) {
            *byte ^= pair[1];
        }
    }
}

/// Maximum changes; more would leave nothing of the original.
const CHANGES_MAX: usize = 3;

/// Checks that forms of a value with some bytes changed are values or errors.
fn receive_damaged(
    value: Value<'_>,
    ty: Type,
    damage: &[u8],
    context: &Context<'_>,
    scratch: &Scratch,
) {
    if value.is_null() {
        return;
    }
    let mut sent = Vec::new();
    binary::write(value, ty, context, &mut sent).expect("values have a binary form");
    change(&mut sent, damage);
    if let Ok(value) = binary::read(&sent, ty, context, scratch) {
        check_forms(value, ty, context, scratch);
    }
    let mut written = Vec::new();
    text::write(value, ty, context, &mut written).expect("values have text");
    change(&mut written, damage);
    if let Ok(input) = std::str::from_utf8(&written)
        && let Ok(value) = text::read(input, ty, context, scratch)
    {
        check_forms(value, ty, context, scratch);
    }
    let column = KeyColumn {
        ty,
        descending: false,
        nulls: Nulls::Last,
    };
    let mut key = Vec::new();
    if key::write(column, value, &mut key).is_ok() {
        change(&mut key, damage);
        drop(key::read(column, &key, scratch));
    }
}

/// Reads all parts of a row; nothing may panic.
fn look_at(row: &Row<'_, '_>, columns: usize) {
    for column in 0..columns {
        match row.value(column) {
            Ok(Some(Value::Array(array))) => {
                for element in array.iter() {
                    drop(element);
                }
            }
            Ok(Some(Value::Jsonb(json))) if json.check().is_ok() => {
                json.write_text(&mut Vec::new()).expect("it was checked");
            }
            _ => {}
        }
    }
}

/// Checks that bytes from outside are values or errors, and values can be sent and stored.
fn receive(bytes: &[u8], types: &[Type], context: &Context<'_>, scratch: &Scratch) {
    for ty in types {
        if let Ok(value) = binary::read(bytes, *ty, context, scratch) {
            check_forms(value, *ty, context, scratch);
        }
        if let Ok(input) = std::str::from_utf8(bytes)
            && let Ok(value) = text::read(input, *ty, context, scratch)
        {
            check_forms(value, *ty, context, scratch);
        }
        let column = KeyColumn {
            ty: *ty,
            descending: false,
            nulls: Nulls::Last,
        };
        drop(key::read(column, bytes, scratch));
    }
    let layout = RowLayout::new(types).expect("few columns");
    if let Ok(row) = Row::new(&layout, bytes) {
        look_at(&row, types.len());
    }
    if let Ok(number) = Numeric::from_stored(bytes) {
        drop(number.to_string());
    }
    if let Ok(json) = Jsonb::from_stored(bytes)
        && json.check().is_ok()
    {
        let mut out = Vec::new();
        json.write_text(&mut out).expect("it was checked");
    }
    if let Ok(array) = Array::from_stored(bytes) {
        drop(text::write(
            Value::Array(array),
            Type::Array(array.element()),
            &Context {
                names: &NoNames,
                ..*context
            },
            &mut Vec::new(),
        ));
    }
}

#[cfg(test)]
mod tests;
