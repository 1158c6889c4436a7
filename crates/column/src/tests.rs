mod parts;
mod threads;

use std::cmp::Ordering;

use interleave::{Execution, Interleaver, look_up_all};

use super::*;

/// Numbers in flight. Miri takes long: it is given those that differ most.
const IN_FLIGHT: &[usize] = if cfg!(miri) {
    &[0, 7]
} else {
    &[0, 1, 2, 7, 16, 64]
};

/// Returns pseudo-random numbers (splitmix64).
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// Returns whether two values are one: by their order, which for floats is the total one.
fn is_same<V: Value>(one: &V, other: &V) -> bool {
    one.borrow().key() == other.borrow().key()
}

fn borrowed<V: Value>(values: &[Option<V>]) -> Vec<Option<V::Ref<'_>>> {
    values
        .iter()
        .map(|value| value.as_ref().map(V::borrow))
        .collect()
}

fn rows_where<V>(model: &[Option<V>], matches: impl Fn(&Option<V>) -> bool) -> Vec<u64> {
    let rows = (0..).zip(model);
    rows.filter(|(_, value)| matches(value))
        .map(|(row, _)| row)
        .collect()
}

/// Compares all answers of a snapshot with the values that its rows should have.
fn check<V: Value>(snapshot: &Snapshot<V>, model: &[Option<V>], list: &[Option<V>]) {
    assert_eq!(snapshot.rows(), model.len() as u64);
    assert_eq!(snapshot.is_empty(), model.is_empty());
    for (row, expected) in model.iter().enumerate() {
        match (snapshot.value(row as u64), expected) {
            (None, None) => {}
            (Some(value), Some(expected)) => assert!(is_same(&value, expected), "row {row}"),
            (value, _) => panic!("row {row} has {value:?} and not {expected:?}"),
        }
    }
    let mut rows = Vec::new();
    snapshot.null_rows(&mut rows).unwrap();
    assert_eq!(rows, rows_where(model, Option::is_none));
    let in_list = |value: &Option<V>| {
        let Some(value) = value else { return false };
        list.iter().flatten().any(|one| is_same(one, value))
    };
    let expected = rows_where(model, in_list);
    let list = borrowed(list);
    for &in_flight in IN_FLIGHT {
        for sorts in [false, true] {
            let mut predicate = InPredicate::fixed(Execution::in_flight(in_flight), sorts);
            // Rows are appended: earlier content stays.
            let mut rows = vec![u64::MAX];
            predicate.rows_in(snapshot, &list, &mut rows).unwrap();
            assert_eq!(
                rows[1..],
                expected,
                "{in_flight} in flight, sorted: {sorts}"
            );
        }
    }
    let mut auto = InPredicate::auto();
    for _ in 0..3 {
        let mut rows = Vec::new();
        auto.rows_in(snapshot, &list, &mut rows).unwrap();
        assert_eq!(rows, expected);
    }
}

/// Checks codes and values of the parts, by themselves.
fn check_parts<V: Value>(model: &[Option<V>], asked: &[Option<V>]) {
    let main = Main::<V>::build(&borrowed(model)).unwrap();
    let mut delta = Delta::<V>::new();
    delta
        .append_all(&borrowed(model), &mut Interleaver::auto())
        .unwrap();
    let mut singly = Delta::<V>::new();
    for value in model {
        singly.append(value.as_ref().map(V::borrow)).unwrap();
    }
    assert!(
        delta.numbers() == singly.numbers(),
        "appended at once or singly"
    );
    let mut distinct: Vec<_> = model
        .iter()
        .flatten()
        .map(|value| value.borrow().key())
        .collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!((main.rows(), delta.rows()), (model.len(), model.len()));
    assert_eq!(
        (main.distinct(), delta.distinct()),
        (distinct.len(), distinct.len())
    );
    let has_nulls = model.iter().any(Option::is_none);
    assert_eq!(
        (main.has_nulls(), delta.has_nulls()),
        (has_nulls, has_nulls)
    );
    for (code, key) in distinct.iter().enumerate() {
        let value = main.extract(code as u32).unwrap();
        assert_eq!(value.key().cmp(key), Ordering::Equal, "code {code}");
    }
    assert!(main.extract(main.null_code()).is_none());
    assert!(delta.extract(Delta::<V>::NULL).is_none());
    for (row, value) in model.iter().enumerate() {
        let expected = value.as_ref().map(|value| value.borrow().key());
        assert_eq!(main.value(row).map(Element::key), expected);
        assert_eq!(delta.value(row).map(Element::key), expected);
    }
    let sought: Vec<_> = asked.iter().flatten().collect();
    let keys: Vec<_> = sought
        .iter()
        .map(|value| Sought::<V>(value.borrow()))
        .collect();
    for &in_flight in IN_FLIGHT {
        let execution = Execution::in_flight(in_flight);
        look_up_all(&main, &keys, execution, |at, code| {
            let place = distinct.binary_search(&sought[at].borrow().key());
            assert_eq!(code, place.ok().map(|place| place as u32));
        });
        look_up_all(&delta, &keys, execution, |at, code| {
            let key = sought[at].borrow().key();
            assert_eq!(code.is_some(), distinct.binary_search(&key).is_ok());
            let value = code.map(|code| delta.extract(code).unwrap().key());
            assert!(value.is_none_or(|value| value == key));
        });
    }
    assert!(main.bytes() > 0 && (delta.bytes() > 0) != model.is_empty());
}

/// Checks a column before, during and after merges.
fn check_column<V: Value>(values: &[Option<V>], asked: &[Option<V>]) {
    let lists = [
        &[],
        asked,
        &asked[..asked.len().min(3)],
        values,
        &values[..values.len() / 2],
    ];
    let column = Column::<V>::new().unwrap();
    check(&column.snapshot(), &[], asked);
    let third = values.len() / 3;
    for value in &values[..third] {
        column.append(value.as_ref().map(V::borrow)).unwrap();
    }
    for list in lists {
        check(&column.snapshot(), &values[..third], list);
    }
    let before = column.snapshot();
    assert_eq!(column.merge(), Ok(third > 0));
    assert_eq!(column.merge(), Ok(false), "there is nothing to merge");
    check(&column.snapshot(), &values[..third], values);
    column
        .append_all(&borrowed(&values[third..2 * third]))
        .unwrap();
    let between = column.snapshot();
    for budget in [1, 7, 64, 1000] {
        let Some(mut merge) = column.begin_merge().unwrap() else {
            assert_eq!(column.snapshot().deltas().count(), 0, "what is not merged");
            break;
        };
        assert!(column.begin_merge().unwrap().is_none(), "there is one");
        // All merges but the last are dropped on the way.
        for step in 0.. {
            if budget < 1000 && step == 3 {
                break;
            }
            if merge.step(budget).unwrap() == Progress::Finished {
                assert_eq!(merge.step(1), Ok(Progress::Finished));
                break;
            }
            check(&between, &values[..2 * third], &asked[..asked.len() / 2]);
        }
        drop(merge);
        check(&column.snapshot(), &values[..2 * third], asked);
    }
    column.append_all(&borrowed(&values[2 * third..])).unwrap();
    for list in lists {
        check(&column.snapshot(), values, list);
    }
    column.merge().unwrap();
    let after = column.snapshot();
    let rows = if values.is_empty() { 0 } else { values.len() };
    assert_eq!((after.main().rows(), after.deltas().count()), (rows, 0));
    for list in lists {
        check(&after, values, list);
    }
    check(&before, &values[..third], asked);
    check(&between, &values[..2 * third], asked);
}

fn check_all<V: Value>(mut value: impl FnMut(u64) -> V) {
    let mut next = random(7);
    let sizes = [(0, 1), (1, 1), (40, 3), (300, 90), (700, 100_000)];
    for &(count, kinds) in &sizes[..if cfg!(miri) { 3 } else { sizes.len() }] {
        let mut some = |count: usize| -> Vec<Option<V>> {
            let draw = |_| (!next().is_multiple_of(9)).then(|| value(next() % kinds));
            (0..count).map(draw).collect()
        };
        let (values, asked) = (some(count), some(count / 2 + 5));
        check_parts(&values, &asked);
        check_column(&values, &asked);
    }
    // The values are not NULL, and all equal.
    check_column(
        &vec![Some(value(1)); 130],
        &[Some(value(1)), Some(value(2))],
    );
    check_column(&vec![None; 70], &[None, Some(value(0))]);
}

/// Checks numbers that are spread over all of a type, its extremes among them.
macro_rules! check_numbers {
    ($($name:ident: $type:ty;)*) => {$(
        #[test]
        fn $name() {
            check_all::<$type>(|number| match number {
                0 => <$type>::MIN,
                1 => <$type>::MAX,
                2 => 0,
                _ => number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(20) as $type,
            });
        }
    )*};
}

check_numbers! {
    columns_of_i8: i8;
    columns_of_i16: i16;
    columns_of_i32: i32;
    columns_of_i64: i64;
    columns_of_u8: u8;
    columns_of_u16: u16;
    columns_of_u32: u32;
    columns_of_u64: u64;
}

#[test]
fn columns_of_floats_know_all_floats() {
    const FLOATS: [f64; 9] = [
        f64::NAN,
        -f64::NAN,
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MIN,
    ];
    check_all::<f64>(|number| {
        let special = FLOATS.get(number as usize).copied();
        special.unwrap_or(number as f64 * -1.5)
    });
    check_all::<f32>(|number| {
        let special = FLOATS.get(number as usize).copied();
        special.unwrap_or(number as f64 * 2.5) as f32
    });
    let column = Column::<f64>::new().unwrap();
    column
        .append_all(&[Some(f64::NAN), Some(0.0), None, Some(-0.0), Some(f64::NAN)])
        .unwrap();
    for _ in 0..2 {
        let mut rows = Vec::new();
        InPredicate::auto()
            .rows_in(&column.snapshot(), &[Some(f64::NAN), Some(-0.0)], &mut rows)
            .unwrap();
        assert_eq!(rows, [0, 3, 4]);
        column.merge().unwrap();
    }
}

#[test]
fn columns_of_decimals_and_times() {
    check_all::<Decimal<4>>(|number| match number {
        0 => Decimal::new(i128::MIN),
        1 => Decimal::new(i128::MAX),
        _ => Decimal::new(i128::from(number) << (number % 60) >> 3),
    });
    check_all::<Date>(|number| Date {
        days: number as i32 * 97 - 1000,
    });
    check_all::<Timestamp>(|number| Timestamp {
        microseconds: (number as i64 - 9) << 40,
    });
}

/// Returns strings with common prefixes, of length 0, with bytes of all kinds at their ends.
fn string(number: u64) -> Vec<u8> {
    let mut string = b"the same for all".repeat(number as usize % 4);
    string.truncate(number as usize % 41);
    if number > 2 {
        string.extend_from_slice(&number.to_be_bytes()[8 - number as usize % 5..]);
    }
    string
}

#[test]
fn columns_of_strings() {
    check_all::<Vec<u8>>(string);
    check_all::<String>(|number| {
        string(number)
            .iter()
            .map(|&byte| char::from(byte))
            .collect()
    });
}

#[test]
#[should_panic(expected = "there are 1 rows")]
fn a_row_behind_the_last_is_refused() {
    let column = Column::<i32>::new().unwrap();
    column.append(None).unwrap();
    let snapshot = column.snapshot();
    column.append(None).unwrap();
    snapshot.value(1);
}
