use std::collections::HashMap;

use index::sorted::{SortedArray, SortedStrings};
use interleave::{Execution, Interleaver};

use super::*;

/// Numbers in flight. Miri takes long: it is given those that differ most.
const IN_FLIGHT: &[usize] = if cfg!(miri) {
    &[0, 7]
} else {
    &[0, 1, 7, 16, 64]
};
/// Number of rows in more than one batch.
const MANY: usize = if cfg!(miri) { BATCH_ROWS + 9 } else { 5000 };

fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

/// A row: its number, and its key, which some rows lack.
type Row = (usize, Option<u32>);

fn rows(count: usize, keys: u64, seed: u64) -> Vec<Row> {
    let mut next = random(seed);
    let key = |drawn: u64| (!drawn.is_multiple_of(10)).then_some((drawn >> 8) as u32 % keys as u32);
    (0..count).map(|number| (number, key(next()))).collect()
}

#[test]
fn each_row_comes_out_of_an_index_join_in_its_place() {
    for count in [0, 1, BATCH_ROWS - 1, BATCH_ROWS, BATCH_ROWS + 1, MANY] {
        for keys in [1, 50, MANY as u64 * 2] {
            let array = SortedArray::from_unsorted_dedup((0..keys as u32).step_by(3).collect());
            let given = rows(count, keys, 1);
            let expected = given.iter().map(|row| {
                let place = row
                    .1
                    .and_then(|key| array.as_slice().iter().position(|one| *one == key));
                (*row, place)
            });
            let expected: Vec<_> = expected.collect();
            for &in_flight in IN_FLIGHT {
                let fixed = Interleaver::fixed(Execution::in_flight(in_flight));
                let join = IndexJoin::with(fixed, given.clone(), |row| row.1, &array);
                assert!(join.eq(expected.iter().copied()));
            }
            let join = || IndexJoin::new(given.clone(), |row: &Row| row.1, &array);
            let matched = expected.iter().filter(|pair| pair.1.is_some());
            assert!(
                join()
                    .inner()
                    .eq(matched.clone().map(|pair| (pair.0, pair.1.unwrap())))
            );
            assert!(join().semi().eq(matched.map(|pair| pair.0)));
            let others = expected.iter().filter(|pair| pair.1.is_none());
            assert!(join().anti().eq(others.map(|pair| pair.0)));
        }
    }
}

#[test]
fn rows_are_taken_as_they_are_wanted() {
    let array = SortedArray::from_unsorted_dedup(vec![5_u32]);
    let taken = std::cell::Cell::new(0);
    let given = (0_u32..).inspect(|_| taken.set(taken.get() + 1));
    let mut join = IndexJoin::new(given, |key| Some(*key), &array);
    assert_eq!(join.nth(5), Some((5, Some(0))));
    assert_eq!(taken.get(), BATCH_ROWS);
    assert!(join.nth(BATCH_ROWS).is_some());
    assert_eq!(taken.get(), 2 * BATCH_ROWS);
}

#[test]
fn strings_are_joined() {
    let index =
        SortedStrings::from_sorted(["", "common prefix a", "common prefix b", "z"]).unwrap();
    let names = ["common prefix b", "common prefix", "", "zz"];
    let join = IndexJoin::new(names, |name: &&'static str| Some(name.as_bytes()), &index);
    let found: Vec<_> = join.map(|pair| pair.1).collect();
    assert_eq!(found, [Some(2), None, Some(0), None]);
}

#[test]
fn a_hash_join_finds_every_pair_once() {
    for (built, probed, keys) in [
        (0, 10, 5),
        (10, 0, 5),
        (1, 1, 1),
        (300, 400, 7),
        (MANY / 2, MANY / 3, MANY as u64),
    ] {
        let (left, right) = (rows(built, keys, 2), rows(probed, keys, 3));
        let mut naive: HashMap<u32, Vec<Row>> = HashMap::new();
        for row in &left {
            if let Some(key) = row.1 {
                naive.entry(key).or_default().push(*row);
            }
        }
        for &in_flight in IN_FLIGHT {
            let execution = Execution::in_flight(in_flight);
            let join = HashJoin::build_with(execution, left.clone(), |row| row.1).unwrap();
            assert_eq!((join.rows(), join.keys()), (left.as_slice(), naive.len()));
            let fixed = Interleaver::fixed(execution);
            let mut pairs: Vec<(Row, Option<Row>)> = join
                .probe_with(fixed, right.clone(), |row| row.1)
                .map(|(row, found)| (row, found.copied()))
                .collect();
            // The pairs come in the order of the rows, whatever these find.
            assert!(pairs.is_sorted_by_key(|pair| pair.0.0));
            pairs.sort_unstable();
            let expected = right.iter().flat_map(|row| {
                let found = row.1.and_then(|key| naive.get(&key));
                let found = found.map_or(vec![None], |all| all.iter().copied().map(Some).collect());
                found.into_iter().map(move |one| (*row, one))
            });
            let mut expected: Vec<_> = expected.collect();
            expected.sort_unstable();
            assert_eq!(pairs, expected);
        }
    }
}

#[test]
fn a_key_that_all_rows_have_takes_no_memory_for_all_pairs() {
    // 10^10 pairs.
    const ROWS: u32 = if cfg!(miri) { 2000 } else { 100_000 };
    let join = HashJoin::build(0..ROWS, |_| Some(0)).unwrap();
    let mut pairs = join.probe(0..ROWS, |_| Some(0));
    assert!(
        pairs
            .by_ref()
            .take(ROWS as usize * 3 / 2)
            .all(|(_, found)| found.is_some())
    );
    assert_eq!(pairs.next().unwrap().0, 1);
}
