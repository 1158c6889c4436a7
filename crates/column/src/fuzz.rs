//! Interprets bytes as operations on a column of strings, floats or decimals, and compares every answer
//! with a vector. For fuzzers and for a test with random bytes.

use index::fuzz::{Choices, special_float};
use interleave::Execution;

use crate::{
    Column, Decimal, InPredicate, Merge, Progress, Snapshot,
    value::{Element as _, Value},
};

/// Draws NULL, or a value of a small family.
fn value<V: Drawn>(source: &mut Choices<'_>) -> Option<V> {
    let shape = source.byte();
    (shape != 0xff).then(|| V::draw(shape, source))
}

fn values<V: Drawn>(source: &mut Choices<'_>) -> Vec<Option<V>> {
    let count = source.below(40);
    (0..count).map(|_| value(source)).collect()
}

/// Types whose values are drawn from bytes.
trait Drawn: Value {
    fn draw(shape: u8, source: &mut Choices<'_>) -> Self;
}

/// Draws strings, some of which share a longer beginning than nodes of a tree hold.
impl Drawn for Vec<u8> {
    fn draw(shape: u8, source: &mut Choices<'_>) -> Vec<u8> {
        source.string(shape, 1)
    }
}

impl Drawn for f64 {
    fn draw(shape: u8, source: &mut Choices<'_>) -> f64 {
        special_float(shape).unwrap_or_else(|| f64::from(source.byte()) - 99.5)
    }
}

/// Draws the extremes, and a few other numbers.
impl Drawn for Decimal<2> {
    fn draw(shape: u8, source: &mut Choices<'_>) -> Decimal<2> {
        match shape {
            0 => Decimal::new(i128::MIN),
            1 => Decimal::new(i128::MAX),
            _ => Decimal::new(i128::from(source.byte()) << (shape % 120)),
        }
    }
}

/// Returns whether two values are one: for floats by their total order.
fn is_same<V: Value>(one: &Option<V>, other: &Option<V>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.borrow().key() == other.borrow().key(),
        (one, other) => one.is_none() && other.is_none(),
    }
}

fn borrowed<V: Value>(values: &[Option<V>]) -> Vec<Option<V::Ref<'_>>> {
    values
        .iter()
        .map(|value| value.as_ref().map(V::borrow))
        .collect()
}

/// Runs the operations that `data` encodes.
///
/// # Panics
/// Panics if the column and the model disagree.
pub fn run(data: &[u8]) {
    let mut source = Choices::new(data);
    match source.byte() % 4 {
        0 => run_on::<f64>(source),
        1 => run_on::<Decimal<2>>(source),
        _ => run_on::<Vec<u8>>(source),
    }
}

fn run_on<V: Drawn>(mut source: Choices<'_>) {
    let column = Column::<V>::new().expect("memory");
    let mut model: Vec<Option<V>> = Vec::new();
    let mut merge: Option<Merge<V>> = None;
    let mut snapshots: Vec<(Snapshot<V>, usize)> = Vec::new();
    let in_flight = usize::from(source.byte() % 20);
    let mut predicate = InPredicate::fixed(
        Execution::in_flight(in_flight),
        source.byte().is_multiple_of(2),
    );
    while !source.is_empty() {
        match source.byte() % 8 {
            0 => {
                let value = value(&mut source);
                let appended = column.append(value.as_ref().map(V::borrow));
                appended.expect("memory");
                model.push(value);
            }
            1 | 2 => {
                let values = values(&mut source);
                column.append_all(&borrowed(&values)).expect("memory");
                model.extend(values);
            }
            3 => {
                let begun = column.begin_merge().expect("memory");
                assert!(begun.is_none() || merge.is_none(), "two merges");
                merge = merge.or(begun);
            }
            4 => {
                let budget = usize::from(source.byte()) + 1;
                if let Some(step) = merge.as_mut().map(|merge| merge.step(budget))
                    && step.expect("memory") == Progress::Finished
                {
                    merge = None;
                }
            }
            5 => match source.byte() % 4 {
                0 => merge = None,
                _ => snapshots.truncate(3),
            },
            6 => snapshots.push((column.snapshot(), model.len())),
            _ => {
                let list = values(&mut source);
                check(&column.snapshot(), &model, &list, &mut predicate);
                for (snapshot, rows) in &snapshots {
                    check(snapshot, &model[..*rows], &list, &mut predicate);
                }
            }
        }
    }
    check(&column.snapshot(), &model, &model, &mut predicate);
}

/// Compares all answers of a snapshot with the model.
fn check<V: Value>(
    snapshot: &Snapshot<V>,
    model: &[Option<V>],
    list: &[Option<V>],
    predicate: &mut InPredicate,
) {
    assert_eq!(snapshot.rows(), model.len() as u64);
    for (row, value) in model.iter().enumerate() {
        let there = snapshot.value(row as u64);
        assert!(is_same(&there, value), "row {row}: {there:?}, {value:?}");
    }
    let numbers = |matches: &dyn Fn(&Option<V>) -> bool| -> Vec<u64> {
        let rows = (0..).zip(model);
        rows.filter(|(_, value)| matches(value))
            .map(|(row, _)| row)
            .collect()
    };
    let mut rows = Vec::new();
    snapshot.null_rows(&mut rows).expect("memory");
    assert_eq!(rows, numbers(&|value| value.is_none()), "NULL");
    rows.clear();
    let found = predicate.rows_in(snapshot, &borrowed(list), &mut rows);
    found.expect("memory");
    let is_in = |value: &Option<V>| value.is_some() && list.iter().any(|one| is_same(one, value));
    assert_eq!(rows, numbers(&is_in), "in {list:?}");
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    fn random_bytes_find_no_difference() {
        let cases = if cfg!(miri) { 20 } else { 3000 };
        index::fuzz::smoke(42, cases, 700, super::run);
    }
}
