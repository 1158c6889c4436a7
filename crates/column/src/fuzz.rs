//! Interprets bytes as operations on a column of strings and compares every answer with a vector. For
//! fuzzers and for a test with random bytes.

use interleave::Execution;

use crate::{Column, InPredicate, Merge, Progress, Snapshot};

/// The operations' source. Reads zeros at its end.
struct Source<'d>(&'d [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    /// NULL, or a string of a small family: a run of one byte, then a few chosen bytes.
    fn value(&mut self) -> Option<Vec<u8>> {
        let shape = self.byte();
        if shape == 0xff {
            return None;
        }
        let run = usize::from(shape >> 4);
        let mut value = vec![[0, b'k', 0xff, 1][usize::from(shape & 3)]; run];
        for _ in 0..shape >> 2 & 3 {
            value.push(self.byte());
        }
        Some(value)
    }

    fn values(&mut self) -> Vec<Option<Vec<u8>>> {
        let count = self.byte() % 40;
        (0..count).map(|_| self.value()).collect()
    }
}

/// Runs the operations that `data` encodes.
///
/// # Panics
/// When the column and the model disagree.
pub fn run(data: &[u8]) {
    let mut source = Source(data);
    let column = Column::<Vec<u8>>::new().expect("memory");
    let mut model: Vec<Option<Vec<u8>>> = Vec::new();
    let mut merge: Option<Merge<Vec<u8>>> = None;
    let mut snapshots: Vec<(Snapshot<Vec<u8>>, usize)> = Vec::new();
    let in_flight = usize::from(source.byte() % 20);
    let mut predicate = InPredicate::fixed(Execution::in_flight(in_flight), source.byte() % 2 == 0);
    while !source.0.is_empty() {
        match source.byte() % 8 {
            0 => {
                let value = source.value();
                column.append(value.as_deref()).expect("memory");
                model.push(value);
            }
            1 | 2 => {
                let values = source.values();
                let borrowed: Vec<_> = values.iter().map(Option::as_deref).collect();
                column.append_all(&borrowed).expect("memory");
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
                let list = source.values();
                check(&column.snapshot(), &model, &list, &mut predicate);
                for (snapshot, rows) in &snapshots {
                    check(snapshot, &model[..*rows], &list, &mut predicate);
                }
            }
        }
    }
    check(&column.snapshot(), &model, &model, &mut predicate);
}

/// Compares all that a snapshot can be asked.
fn check(
    snapshot: &Snapshot<Vec<u8>>,
    model: &[Option<Vec<u8>>],
    list: &[Option<Vec<u8>>],
    predicate: &mut InPredicate,
) {
    assert_eq!(snapshot.rows(), model.len() as u64);
    for (row, value) in model.iter().enumerate() {
        assert_eq!(snapshot.value(row as u64), *value, "row {row}");
    }
    let numbers = |matches: &dyn Fn(&Option<Vec<u8>>) -> bool| -> Vec<u64> {
        let rows = (0..).zip(model);
        rows.filter(|(_, value)| matches(value))
            .map(|(row, _)| row)
            .collect()
    };
    let mut rows = Vec::new();
    snapshot.null_rows(&mut rows).expect("memory");
    assert_eq!(rows, numbers(&|value| value.is_none()), "NULL");
    rows.clear();
    let borrowed: Vec<_> = list.iter().map(Option::as_deref).collect();
    let found = predicate.rows_in(snapshot, &borrowed, &mut rows);
    found.expect("memory");
    let is_in = |value: &Option<Vec<u8>>| value.is_some() && list.contains(value);
    assert_eq!(rows, numbers(&is_in), "in {list:?}");
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    fn random_bytes_find_no_difference() {
        let mut state = 42_u64;
        let cases = if cfg!(miri) { 20_usize } else { 3000 };
        for case in 0..cases {
            let data: Vec<u8> = (0..case % 700)
                .map(|_| {
                    state = state
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    (state >> 40) as u8
                })
                .collect();
            super::run(&data);
        }
    }
}
