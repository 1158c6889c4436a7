use interleave::{Execution, look_up_all};

use super::*;
use crate::hash::{ChainedTable, OpenTable};

const GROUPS: [usize; 7] = [0, 1, 2, 7, 16, 64, 1000];

type Pairs = Vec<(u64, u32)>;

/// Returns pairs whose keys are multiples of powers of two, some of them equal, and keys to ask
/// for.
fn cases() -> Vec<(Pairs, Vec<u64>)> {
    let mut cases = Vec::new();
    for count in [0_u32, 1, 2, 100, 3000] {
        for (keys, shift) in [(1, 0), (7, 3), (1000, 40), (u64::MAX, 0)] {
            let key = |n: u32| (u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15) % keys) << shift;
            let pairs = (0..count).map(|n| (key(n), n)).collect();
            cases.push((pairs, (0..2 * count + 3).map(key).collect()));
        }
    }
    cases
}

/// Returns the results of the tables' own lookups.
fn expected<S: interleave::Lookup<u64, Found = Option<u32>>>(
    table: &S,
    asked: &[u64],
) -> Vec<Option<u32>> {
    let mut found = Vec::new();
    look_up_all(table, asked, Execution::Sequential, |_, one| {
        found.push(one);
    });
    found
}

#[test]
fn open_tables_are_built_and_probed_alike() {
    for (pairs, asked) in cases() {
        // Any value of equal keys may stay: give equal keys equal values.
        let pairs: Vec<_> = pairs.iter().map(|&(key, _)| (key, key as u32)).collect();
        let mut table = OpenTable::new();
        table
            .insert_all(&pairs, Execution::Sequential, |_, _| {})
            .unwrap();
        let expected = expected(&table, &asked);
        for group in GROUPS {
            let (mut grouped, mut amac) = (OpenTable::new(), OpenTable::new());
            let (first, second) = pairs.split_at(pairs.len() / 3);
            for part in [first, second] {
                build_open_group_prefetching(&mut grouped, part, group).unwrap();
                build_open_amac(&mut amac, part, group).unwrap();
            }
            for built in [&table, &grouped, &amac] {
                assert_eq!(built.len(), table.len());
                let mut found = vec![Some(77); asked.len()];
                probe_open_group_prefetching(built, &asked, group, &mut found);
                assert_eq!(found, expected);
                found.fill(Some(77));
                probe_open_amac(built, &asked, group, &mut found);
                assert_eq!(found, expected);
            }
        }
    }
}

#[test]
fn chained_tables_are_built_and_probed_alike() {
    for (pairs, asked) in cases() {
        let mut table = ChainedTable::new();
        table.insert_all(&pairs, Execution::Sequential).unwrap();
        let expected = expected(&table, &asked);
        for group in GROUPS {
            let (mut grouped, mut amac) = (ChainedTable::new(), ChainedTable::new());
            let (first, second) = pairs.split_at(pairs.len() / 3);
            for part in [first, second] {
                build_chained_group_prefetching(&mut grouped, part, group).unwrap();
                build_chained_amac(&mut amac, part, group).unwrap();
            }
            for built in [&table, &grouped, &amac] {
                assert_eq!(built.len(), table.len());
                let mut found = vec![Some(77); asked.len()];
                probe_chained_group_prefetching(built, &asked, group, &mut found);
                assert_eq!(found, expected);
                found.fill(Some(77));
                probe_chained_amac(built, &asked, group, &mut found);
                assert_eq!(found, expected);
            }
        }
    }
}
