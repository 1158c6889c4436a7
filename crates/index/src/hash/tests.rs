use std::collections::HashMap;

use interleave::{Execution, Interleaver, look_up_all};

use super::*;
use crate::random::random;

const IN_FLIGHT: [usize; 6] = [0, 1, 2, 7, 16, 64];

type Naive = HashMap<u64, Vec<u32>>;

/// Returns pairs whose keys repeat, and the values of each key.
fn pairs(count: u64, keys: u64, spread: u32) -> (Vec<(u64, u32)>, Naive) {
    let mut next = random(count ^ keys);
    let all: Vec<_> = (0..count as u32)
        .map(|n| ((next() % keys) << spread, n))
        .collect();
    let mut naive = Naive::new();
    for &(key, value) in &all {
        naive.entry(key).or_default().push(value);
    }
    (all, naive)
}

#[test]
fn open_tables_have_one_of_the_values_of_each_key() {
    for in_flight in IN_FLIGHT {
        for (count, keys) in [
            (0, 1),
            (1, 1),
            (5, 2),
            (1000, 10),
            (3000, 2500),
            (5000, u64::MAX),
        ] {
            let (all, naive) = pairs(count, keys, 0);
            let mut table = OpenTable::new();
            let execution = Execution::in_flight(in_flight);
            // Insert in parts, so that the table grows while it is not empty.
            let mut replaced: Vec<u32> = Vec::new();
            for part in all.chunks(700) {
                table
                    .insert_all(part, execution, |_, old| replaced.push(old))
                    .unwrap();
            }
            assert_eq!(table.len(), naive.len());
            assert_eq!(table.is_empty(), count == 0);
            let asked: Vec<u64> = (0..3000)
                .chain(naive.keys().copied())
                .chain([u64::MAX])
                .collect();
            let mut found = vec![None; asked.len()];
            look_up_all(&table, &asked, execution, |at, one| found[at] = one);
            for (key, found) in asked.iter().zip(&found) {
                let own = naive.get(key);
                assert!(found.is_none_or(|value| own.unwrap().contains(&value)));
                assert_eq!(found.is_some(), own.is_some(), "{key}");
                if in_flight == 0 {
                    // The last value, when pairs come in order.
                    assert_eq!(*found, own.and_then(|values| values.last().copied()));
                }
            }
            // Nothing is lost: each value is in the table or was replaced.
            let kept = naive.keys().map(|key| {
                let mut found = None;
                look_up_all(&table, &[*key], execution, |_, one| found = one);
                found.unwrap()
            });
            let mut values: Vec<u32> = kept.chain(replaced).collect();
            values.sort_unstable();
            assert!(values.into_iter().eq(0..count as u32));
        }
    }
}

#[test]
fn chained_tables_have_all_values_of_each_key() {
    for in_flight in IN_FLIGHT {
        for (count, keys) in [
            (0, 1),
            (1, 1),
            (9000, 1),
            (1000, 10),
            (3000, 2500),
            (9000, u64::MAX),
        ] {
            let (all, naive) = pairs(count, keys, 0);
            let mut table = ChainedTable::new();
            let execution = Execution::in_flight(in_flight);
            for part in all.chunks(4500) {
                table.insert_all(part, execution).unwrap();
            }
            assert_eq!(table.len(), all.len());
            let asked: Vec<u64> = (0..100).chain(naive.keys().copied().take(300)).collect();
            let mut found = vec![Vec::new(); asked.len()];
            let mut interleaver = match in_flight {
                7 => Interleaver::auto(),
                _ => Interleaver::fixed(execution),
            };
            table.find_all(&mut interleaver, &asked, |at, value| found[at].push(value));
            let mut first = vec![None; asked.len()];
            look_up_all(&table, &asked, execution, |at, one| first[at] = one);
            for ((key, mut found), first) in asked.iter().zip(found).zip(first) {
                assert_eq!(first.is_some(), !found.is_empty());
                assert!(first.is_none_or(|first| found.contains(&first)));
                found.sort_unstable();
                assert_eq!(found, naive.get(key).cloned().unwrap_or_default());
            }
        }
    }
}

#[test]
fn values_of_a_key_come_in_portions() {
    let mut table = ChainedTable::new();
    assert_eq!(table.find_some(7, None, 10, |_: u32| panic!("empty")), None);
    let pairs: Vec<(u64, u32)> = (0..10_000).map(|n| (u64::from(n % 3), n)).collect();
    table.insert_all(&pairs, Execution::Sequential).unwrap();
    for most in [1, 100, 3333, 100_000] {
        let (mut values, mut from, mut portions) = (Vec::new(), None, 0);
        loop {
            let before = values.len();
            from = table.find_some(1, from, most, |value| values.push(value));
            portions += 1;
            assert!(values.len() - before <= most);
            if from.is_none() {
                break;
            }
        }
        assert!(portions <= 10_000_usize.div_ceil(most));
        // The newest value comes first, since the values came one by one.
        assert!(values.into_iter().rev().eq((1..10_000).step_by(3)));
    }
}

#[test]
fn a_table_that_grows_in_steps_has_all_that_it_had() {
    let mut table = ChainedTable::new();
    let (mut steps, mut growths) = (0, 0);
    for n in 0..20_000_u32 {
        if let Some(mut growth) = table.growth(table.len() + 1).unwrap() {
            growths += 1;
            assert!(growth.bytes() > table.bytes());
            while !growth.step(&mut table, 100) {
                steps += 1;
            }
            assert_eq!(table.len(), n as usize);
        }
        let bytes = table.bytes();
        table.insert(u64::from(n / 2), n).unwrap();
        assert_eq!(table.bytes(), bytes, "grown outside a step");
    }
    assert!(growths <= 16, "{growths}");
    // Steps for entries, and for buckets, which are made in larger steps.
    assert!(steps >= 16_384 / 100 + 32_768 / 1600, "{steps}");
    for n in 0..10_000 {
        let values: Vec<u32> = table.walk(u64::from(n)).flatten().collect();
        assert_eq!(values, [2 * n + 1, 2 * n]);
    }
    assert_eq!(table.walk(10_000).flatten().next(), None);
    assert!(table.growth(usize::MAX).is_err());
    // An empty table can grow as well.
    let mut empty = ChainedTable::<u64, u32>::new();
    let mut growth = empty.growth(1000).unwrap().unwrap();
    while !growth.step(&mut empty, 1) {}
    assert!(empty.is_empty() && empty.growth(1000).unwrap().is_none());
    assert_eq!(empty.walk(7).count(), 0);
}

#[test]
fn regular_keys_spread() {
    // Multiples of powers of two, up to keys that differ in their uppermost bits only.
    for spread in [0, 3, 12, 32, 48] {
        let bits = 16;
        let mut buckets = vec![0_u32; 1 << bits];
        let keys = (0..1_u64 << 16).map(|n| n << spread);
        keys.for_each(|key| buckets[bucket_of(hash_of(key), bits)] += 1);
        let longest = buckets.iter().max().unwrap();
        // Random keys: 8 or 9.
        assert!(
            *longest <= 16,
            "multiples of 2^{spread}: {longest} in a bucket"
        );
    }
    assert_eq!(bucket_of(u64::MAX, 0), 0);
    assert_eq!(bucket_of(u64::MAX, 4), 15);
}

#[test]
fn keys_of_all_kinds_are_found() {
    let mut table = OpenTable::new();
    let pairs: Vec<((u8, i64), [u8; 3])> =
        (0..500).map(|n| ((n as u8, -n), [n as u8; 3])).collect();
    table
        .insert_all(&pairs, Execution::in_flight(8), |_, _| panic!("replaced"))
        .unwrap();
    let keys: Vec<_> = pairs.iter().map(|pair| pair.0).collect();
    let mut found = vec![None; keys.len()];
    Interleaver::auto().look_up_all(&table, &keys, |at, one| found[at] = one);
    assert!(
        found
            .iter()
            .zip(&pairs)
            .all(|(found, pair)| *found == Some(pair.1))
    );
}
