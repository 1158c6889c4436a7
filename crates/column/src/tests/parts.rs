//! Parts that are made of existing dictionaries.

use interleave::{Execution, look_up_all};

use super::check;
use crate::{Column, ColumnError, Delta, Main, Sought};

#[test]
fn dictionaries_may_have_values_without_rows() {
    let values = [10, 20, 30, 40_i32];
    let rows = [Some(3), None, Some(0), Some(3)];
    let main = Main::<i32>::from_dictionary(values.into_iter(), rows.into_iter()).unwrap();
    let arrived = [40, 10, 30, 20_i32];
    let delta = Delta::<i32>::from_dictionary(arrived.into_iter(), rows.into_iter()).unwrap();
    assert_eq!((main.distinct(), delta.distinct()), (4, 4));
    let column = Column::of_parts(main, delta);
    let model = [40, 0, 10, 40, 20, 0, 40, 20].map(|value| (value > 0).then_some(value));
    let list = [Some(20), Some(30), Some(40), Some(50), None];
    check(&column.snapshot(), &model, &list);
    column.append(Some(30)).unwrap();
    column.merge().unwrap();
    let all: Vec<_> = model.into_iter().chain([Some(30)]).collect();
    check(&column.snapshot(), &all, &list);
    assert_eq!(column.snapshot().main().distinct(), 4);
}

#[test]
fn large_deltas_are_built_in_bulk() {
    const ROWS: u32 = if cfg!(miri) { 500 } else { 50_000 };
    let values = (0..ROWS).map(|number| number.wrapping_mul(0x9e37_79b9));
    let rows = (0..ROWS).map(Some);
    let mut delta = Delta::<u32>::from_dictionary(values.clone(), rows).unwrap();
    let keys: Vec<_> = values.map(Sought::<u32>).collect();
    look_up_all(&delta, &keys, Execution::in_flight(16), |at, code| {
        assert_eq!(code, Some(at as u32));
    });
    for number in 0..ROWS / 50 {
        delta.append(Some(number * 1000)).unwrap();
    }
    let last = ROWS / 50 - 1;
    assert_eq!(delta.value((ROWS + last) as usize), Some(last * 1000));
}

#[test]
fn parts_that_are_not_as_they_should_be_are_refused() {
    let main = |values: &[i32], rows: &[Option<u32>]| {
        let values = values.iter().copied();
        Main::<i32>::from_dictionary(values, rows.iter().copied()).map(|_| ())
    };
    assert_eq!(main(&[1, 3, 2], &[]), Err(ColumnError::OutOfOrder(2)));
    assert_eq!(main(&[1, 1], &[]), Err(ColumnError::OutOfOrder(1)));
    assert_eq!(main(&[1, 2], &[Some(2)]), Err(ColumnError::NoSuchCode(2)));
    let delta = |values: &[i32], rows: &[Option<u32>]| {
        let values = values.iter().copied();
        Delta::<i32>::from_dictionary(values, rows.iter().copied()).map(|_| ())
    };
    assert_eq!(delta(&[1, 3, 1], &[]), Err(ColumnError::NotDistinct));
    assert_eq!(
        delta(&[3, 1], &[None, Some(2)]),
        Err(ColumnError::NoSuchCode(2))
    );
}
