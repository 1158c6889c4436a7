//! Tests of rows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use types::{Allowance, SqlError, SqlState, row::integer_of};

use super::*;

/// Adds rows of a number and a text until there are `count`.
fn fill(rows: &mut Rows, count: usize, memory: &Rc<Memory>) {
    for number in rows.len()..count {
        let text = format!("text {number}, which is too long to lie in the value itself");
        rows.push([Value::Int8(number as i64), Value::Text(&text)]);
        if number % BATCH_ROWS == 0 {
            rows.settle(memory).unwrap();
        }
    }
    rows.settle(memory).unwrap();
}

fn check(rows: &Rows) {
    for (number, row) in rows.iter().enumerate() {
        let text = format!("text {number}, which is too long to lie in the value itself");
        let as_expected = matches!(
            row,
            [Value::Int8(first), Value::Text(second)]
                if *first == number as i64 && *second == text
        );
        assert!(as_expected, "{number}: {row:?}");
    }
}

#[test]
fn many_rows_lie_in_parts() {
    let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
    let part = 1 << PART_BITS_MAX;
    for count in [part - 1, part, part + 1, 100_000] {
        let mut rows = Rows::new(2);
        fill(&mut rows, count, &memory);
        check(&rows);
        assert_eq!(rows.len(), count);
        assert_eq!(memory.used(), rows.bytes(), "all of it is charged");
        let values = count * 2 * size_of::<Value<'_>>();
        assert!(rows.bytes() < values + count * 128 + 2 * PART_BYTES);
        rows.clear();
        assert!(rows.is_empty());
        fill(&mut rows, 3, &memory);
        check(&rows);
        drop(rows);
        assert_eq!(memory.used(), 0);
    }
}

/// Full arenas once did not count, and a batch took more and more.
#[test]
fn rows_stay_large_when_they_are_charged() {
    let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
    let mut rows = Rows::new(1);
    let text = "x".repeat(BATCH_BYTES / BATCH_ROWS);
    for _ in 0..2 * BATCH_ROWS {
        rows.push([Value::Text(&text)]);
    }
    assert!(rows.is_large());
    rows.settle(&memory).unwrap();
    assert!(rows.is_large());
    rows.clear();
    assert!(!rows.is_large());
}

#[test]
fn a_row_that_fails_at_a_part_s_end_is_not_added() {
    let mut rows = Rows::new(1);
    let part = 1_usize << PART_BITS_MAX;
    for number in 0..2 * part as i64 {
        let failed: Result<()> = rows.push_with(|new| {
            new.take(Value::Int8(-1));
            Err(SqlError::new(
                SqlState::DIVISION_BY_ZERO,
                "division by zero",
            ))
        });
        assert!(failed.is_err());
        rows.push([Value::Int8(number)]);
    }
    let numbers = rows.iter().map(|row| integer_of(row[0]));
    assert!(numbers.eq((0..2 * part as i64).map(Some)));
}

/// A row that was too wide, or whose making panicked, once left its values behind: later rows lay in other places
/// than they were looked for, and the part had moved away from where they were.
#[test]
fn a_row_that_panics_leaves_nothing_behind() {
    let part = 1_usize << PART_BITS_MAX;
    for count in [0, 10, part, part + 10] {
        let mut rows = Rows::new(2);
        let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
        fill(&mut rows, count, &memory);
        let too_wide = AssertUnwindSafe(|| rows.push(vec![Value::Null; 4 * part]));
        assert!(catch_unwind(too_wide).is_err());
        let too_narrow = AssertUnwindSafe(|| rows.push([Value::Null]));
        assert!(catch_unwind(too_narrow).is_err());
        let panicking = AssertUnwindSafe(|| {
            rows.push_with(|new| {
                new.take(Value::Text("a value before the panic"));
                panic!("the values end here")
            })
        });
        assert!(catch_unwind(panicking).is_err());
        assert_eq!(rows.len(), count);
        check(&rows);
        fill(&mut rows, count + 10, &memory);
        check(&rows);
    }
}

#[test]
fn rows_without_values_are_counted() {
    let mut rows = Rows::new(0);
    (0..100_000).for_each(|_| rows.push([]));
    assert_eq!(rows.iter().filter(|row| row.is_empty()).count(), 100_000);
    rows.clear();
    assert!(rows.is_empty());
}

#[test]
fn wide_rows_have_small_parts() {
    let mut rows = Rows::new(1600);
    for number in 0..1100 {
        rows.push((0..1600).map(|column| Value::Int8(number * column)));
    }
    for (number, row) in (0..).zip(rows.iter()) {
        assert_eq!(integer_of(row[1599]), Some(number * 1599));
    }
}
