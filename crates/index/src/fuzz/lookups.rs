//! Interprets bytes as rows, structures over them and keys to look up, and compares every answer with
//! that of a look at all rows. For fuzzers and for a test with random bytes.

use std::{fmt::Debug, hash::Hash};

use interleave::{Execution, Interleaver, Lookup};

use super::{Choices, special_float};
use crate::{
    csb::{CsbTree, Separator, StringHeap, Values},
    hash::{ChainedTable, Key, OpenTable},
    sorted::{PagedArray, SortedArray, SortedStrings, TotalF64},
};

/// Draws a few numbers, and often one of the least and the greatest.
fn number(source: &mut Choices<'_>) -> i64 {
    match source.byte() {
        0 => i64::MIN,
        1 => i64::MAX,
        2 => -1,
        3 => i64::from(source.byte()) << 56,
        byte => i64::from(byte % 32),
    }
}

fn float(source: &mut Choices<'_>) -> TotalF64 {
    let byte = source.byte();
    TotalF64::from(special_float(byte).unwrap_or(f64::from(byte) - 99.5))
}

fn string(source: &mut Choices<'_>) -> Vec<u8> {
    let shape = source.byte();
    source.string(shape, 1)
}

fn rows<'d, T>(source: &mut Choices<'d>, draw: fn(&mut Choices<'d>) -> T) -> Vec<T> {
    let count = source.below(100);
    (0..count).map(|_| draw(source)).collect()
}

fn execution(source: &mut Choices<'_>) -> Execution {
    Execution::in_flight(source.below(20))
}

fn draw_interleaver(source: &mut Choices<'_>) -> Interleaver {
    match source.byte() % 4 {
        0 => Interleaver::auto(),
        _ => Interleaver::fixed(execution(source)),
    }
}

/// Runs the lookups that `data` encodes.
///
/// # Panics
/// Panics if a structure and the rows disagree.
pub fn run(data: &[u8]) {
    let mut source = Choices::new(data);
    match source.byte() % 3 {
        0 => fixed_size(&mut source, number),
        1 => fixed_size(&mut source, float),
        _ => {
            let (rows, sought) = (rows(&mut source, string), rows(&mut source, string));
            let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
            let sought: Vec<&[u8]> = sought.iter().map(Vec::as_slice).collect();
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            let strings = SortedStrings::from_sorted(&sorted).expect("they are sorted");
            searched(&mut source, &strings, &sorted, &sought);
            tree(
                &mut source,
                StringHeap::new(),
                &rows,
                &sought,
                |heap, one| {
                    heap.push(one).expect("memory");
                },
            );
            hashed(&mut source, &rows, &sought);
        }
    }
}

fn fixed_size<'d, K>(source: &mut Choices<'d>, draw: fn(&mut Choices<'d>) -> K)
where
    K: Key + Ord + Hash + Debug + Separator,
{
    let (rows, sought) = (rows(source, draw), rows(source, draw));
    let mut sorted = rows.clone();
    sorted.sort_unstable();
    let array = SortedArray::from_unsorted(rows.clone());
    searched(source, &array, &sorted, &sought);
    let paged = PagedArray::new(array).expect("memory");
    searched(source, &paged, &sorted, &sought);
    tree(source, Vec::new(), &rows, &sought, Vec::push);
    hashed(source, &rows, &sought);
}

/// Checks searches in a sorted array.
fn searched<K, S>(source: &mut Choices<'_>, structure: &S, sorted: &[K], sought: &[K])
where
    K: Copy + Ord + Debug,
    S: Lookup<K, Found = Result<usize, usize>>,
{
    let place = |key: &K| {
        let place = sorted.partition_point(|one| one < key);
        match sorted.get(place) {
            Some(one) if one == key => Ok(place),
            _ => Err(place),
        }
    };
    draw_interleaver(source).look_up_all(structure, sought, |at, found| {
        assert_eq!(found, place(&sought[at]), "{:?} in {sorted:?}", sought[at]);
    });
}

/// Checks a tree over values in order of arrival: some are loaded, the others inserted.
fn tree<K, V>(
    source: &mut Choices<'_>,
    mut values: V,
    rows: &[K],
    sought: &[K],
    push: impl Fn(&mut V, K),
) where
    K: Copy + Ord + Debug,
    V: Values<K>,
{
    let mut distinct: Vec<K> = Vec::new();
    let mut tree = CsbTree::new();
    let loaded = usize::from(source.byte()) % (rows.len() + 1);
    for (at, &key) in rows.iter().enumerate() {
        if at == loaded {
            let mut order: Vec<u32> = (0..distinct.len() as u32).collect();
            order.sort_unstable_by_key(|&code| distinct[code as usize]);
            let percent = 50 + u32::from(source.byte() % 51);
            tree = CsbTree::bulk_load(&values, order.into_iter(), percent).expect("memory");
        }
        let there = distinct.iter().position(|one| *one == key);
        if there.is_none() {
            push(&mut values, key);
        }
        if at >= loaded {
            let code = distinct.len() as u32;
            let found = tree.insert(&values, key, code).expect("memory");
            assert_eq!(found, there.map(|code| code as u32), "{key:?} inserted");
        }
        if there.is_none() {
            distinct.push(key);
        }
    }
    if loaded < rows.len() {
        let sorted = tree.codes().map(|code| distinct[code as usize]);
        let sorted: Vec<K> = sorted.collect();
        assert!(sorted.is_sorted_by(|one, other| one < other), "{sorted:?}");
        assert_eq!((sorted.len(), tree.len()), (distinct.len(), distinct.len()));
        let code = |key: &K| {
            let place = distinct.iter().position(|one| one == key);
            place.map(|code| code as u32)
        };
        draw_interleaver(source).look_up_all(&tree.over(&values), sought, |at, found| {
            assert_eq!(found, code(&sought[at]), "{:?}", sought[at]);
        });
    }
}

/// Checks hash tables that are built in two parts.
fn hashed<K: Key + Ord + Debug>(source: &mut Choices<'_>, rows: &[K], sought: &[K]) {
    let pairs: Vec<(K, u32)> = rows.iter().copied().zip(0..).collect();
    let (first, second) = pairs.split_at(usize::from(source.byte()) % (pairs.len() + 1));
    let mut open = OpenTable::new();
    let mut chained = ChainedTable::new();
    for part in [first, second] {
        let execution = execution(source);
        let before = open.len();
        let mut replaced = 0;
        let built = open.insert_all(part, execution, |_, _| replaced += 1);
        built.expect("memory");
        assert_eq!(open.len() - before, part.len() - replaced);
        chained.insert_all(part, execution).expect("memory");
    }
    let all = |key: &K| -> Vec<u32> {
        let same = pairs.iter().filter(|pair| pair.0 == *key);
        same.map(|pair| pair.1).collect()
    };
    let mut distinct = rows.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!((open.len(), chained.len()), (distinct.len(), pairs.len()));
    let mut interleaver = draw_interleaver(source);
    interleaver.look_up_all(&open, sought, |at, found| match found {
        // The order among a part's pairs with one key is unspecified.
        Some(found) => assert!(all(&sought[at]).contains(&found), "{:?}", sought[at]),
        None => assert!(all(&sought[at]).is_empty(), "{:?}", sought[at]),
    });
    let mut found: Vec<Vec<u32>> = vec![Vec::new(); sought.len()];
    chained.find_all(&mut draw_interleaver(source), sought, |at, one| {
        found[at].push(one);
    });
    for (key, mut found) in sought.iter().zip(found) {
        found.sort_unstable();
        assert_eq!(found, all(key), "{key:?}");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn random_bytes_find_no_difference() {
        let cases = if cfg!(miri) { 12 } else { 3000 };
        crate::fuzz::smoke(7, cases, 500, super::run);
    }
}
