//! Statistics of generated values, compared with the truth about them.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use interleave::Turn;
use types::{Scalar, Type, Value, row::RowLayout};

use super::column::Seen;
use catalog::{ColumnStatistics, Distinct};

const INT4: Type = Type::Scalar(Scalar::Int4);

/// Returns the result of a future that waits for nothing: outside a worker no turn ends.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("it waits"),
    }
}

fn summarized(values: &[Option<i32>], rows: f64) -> ColumnStatistics {
    let mut seen = Seen::new(INT4).unwrap();
    let mut kept = Vec::new();
    for value in values {
        let value = value.map_or(Value::Null, Value::Int4);
        if seen.count(value, 4) {
            kept.push(value);
        }
    }
    at_once(seen.summarize(INT4, kept, values.len(), rows, &Turn::default())).unwrap()
}

fn integers(found: &ColumnStatistics) -> (Vec<(i32, f64)>, Vec<i32>) {
    let layout = RowLayout::new(&[INT4]).unwrap();
    let integer = |value: Value<'_>| match value {
        Value::Int4(value) => value,
        other => panic!("{other:?}"),
    };
    let common = found.common.iter();
    let common = common.map(|one| (integer(one.value.value(&layout).unwrap()), one.fraction));
    let bounds = found.histogram.iter();
    let bounds = bounds.map(|bound| integer(bound.value(&layout).unwrap()));
    (common.collect(), bounds.collect())
}

#[test]
fn a_key_is_as_distinct_as_there_are_rows() {
    let values: Vec<_> = (0..1_000).map(|value| Some(value * 7)).collect();
    let found = summarized(&values, 50_000.0);
    assert_eq!(found.distinct, Some(Distinct::Fraction(1.0)));
    assert_eq!(found.null_fraction, 0.0);
    assert_eq!(found.average_width, 4.0);
    let (common, bounds) = integers(&found);
    assert!(common.is_empty());
    assert_eq!(bounds.len(), 101);
    assert_eq!((bounds[0], bounds[100]), (0, 999 * 7));
    // There are about as many values between any two bounds.
    for part in bounds.windows(2) {
        assert!((63..=77).contains(&(part[1] - part[0])), "{part:?}");
    }
}

#[test]
fn few_values_are_all_common() {
    let values: Vec<_> = (0..1_000)
        .map(|at| match at % 10 {
            0 => None,
            1..=6 => Some(1),
            7 | 8 => Some(2),
            _ => Some(3),
        })
        .collect();
    let found = summarized(&values, 1_000_000.0);
    assert_eq!(found.distinct, Some(Distinct::Count(3.0)));
    assert!((found.null_fraction - 0.1).abs() < 1e-9);
    let (common, bounds) = integers(&found);
    assert_eq!(common, [(1, 0.6), (2, 0.2), (3, 0.1)]);
    assert!(bounds.is_empty());
}

#[test]
fn a_skewed_value_is_told_from_the_others() {
    let mut random = fastrand::Rng::with_seed(5);
    let values: Vec<_> = (0..20_000)
        .map(|_| {
            Some(if random.u8(..4) == 0 {
                -1
            } else {
                random.i32(0..100_000)
            })
        })
        .collect();
    let found = summarized(&values, 2_000_000.0);
    let (common, bounds) = integers(&found);
    assert_eq!(common.len(), 1, "{common:?}");
    assert_eq!(common[0].0, -1);
    assert!((0.24..0.26).contains(&common[0].1));
    assert!(bounds.iter().all(|bound| *bound >= 0));
    // There are 100,001; the estimator is known to fall short.
    let distinct = found.distinct.unwrap().of(2_000_000.0);
    assert!((30_000.0..200_000.0).contains(&distinct), "{distinct}");
}

#[test]
fn a_column_of_nulls_has_no_values() {
    let found = summarized(&[None; 100], 100.0);
    assert_eq!(found.null_fraction, 1.0);
    assert_eq!(found.distinct, None);
    assert!(found.common.is_empty() && found.histogram.is_empty());
}

#[test]
fn long_values_differ_and_are_not_kept() {
    let text = Type::Scalar(Scalar::Text);
    let mut seen = Seen::new(text).unwrap();
    let long = "x".repeat(1_000);
    for _ in 0..10 {
        assert!(!seen.count(Value::Text(&long), long.len()));
    }
    let turn = Turn::default();
    let found = seen.summarize(text, Vec::new(), 10, 10.0, &turn);
    let found = at_once(found).unwrap();
    assert_eq!(found.distinct, Some(Distinct::Fraction(1.0)));
    assert_eq!(found.average_width, 1_000.0);
    assert!(found.histogram.is_empty());
}
