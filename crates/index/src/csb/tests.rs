use std::{collections::BTreeMap, fmt::Debug, hash::Hash};

use interleave::{Execution, look_up_all};

use super::*;
use crate::random::random;

const IN_FLIGHT: [usize; 6] = [0, 1, 2, 7, 16, 64];

impl<S: Separator> CsbTree<S> {
    /// Checks the shape against the module text.
    fn check<V: Stored<Separator = S>>(&self, values: &V) {
        let codes: Vec<u32> = self.codes().collect();
        let mut cursor = Cursor::new();
        assert!(std::iter::from_fn(|| cursor.next(self)).eq(codes.iter().copied()));
        assert_eq!(cursor.next(self), None);
        assert_eq!(codes.len(), self.len);
        let ascends = |pair: &[u32]| values.order(pair[0], pair[1]) == Ordering::Less;
        assert!(codes.windows(2).all(ascends), "codes are not in order");
        if self.len > 0 {
            self.check_node(values, self.height, self.root, 0);
        }
    }

    /// Returns the codes below a node, checked.
    fn check_node<V: Stored<Separator = S>>(
        &self,
        values: &V,
        height: usize,
        group: u32,
        at: usize,
    ) -> Vec<u32> {
        if height == 0 {
            let leaf = self.leaves.node(group, at);
            for (&code, &fingerprint) in leaf.codes().iter().zip(&leaf.fingerprints) {
                assert_eq!(fingerprint, values.fingerprint_of(code));
            }
            return leaf.codes().to_vec();
        }
        let node = self.inner.node(group, at);
        assert!(node.count as usize <= S::COUNT);
        let children = (0..=node.count as usize)
            .map(|child| self.check_node(values, height - 1, node.first, child));
        children.collect::<Vec<_>>().concat()
    }
}

/// Looks keys up in all executions, which find the same.
fn found<K: Copy, V: Values<K>>(
    tree: &CsbTree<V::Separator>,
    values: &V,
    keys: &[K],
) -> Vec<Option<u32>> {
    let all = IN_FLIGHT.map(|in_flight| {
        let mut found = vec![None; keys.len()];
        look_up_all(
            &tree.over(values),
            keys,
            Execution::in_flight(in_flight),
            |at, one| {
                found[at] = one;
            },
        );
        found
    });
    assert!(all.iter().all(|found| *found == all[0]));
    #[cfg(feature = "baselines")]
    for in_flight in IN_FLIGHT {
        let execution = Execution::in_flight(in_flight);
        look_up_all(&CodesOnly(tree.over(values)), keys, execution, |at, one| {
            assert_eq!(one, all[0][at]);
        });
    }
    all[0].clone()
}

fn check_numbers<T: Separator + Ord + Hash + Debug>(arriving: &[T], asked: &[T]) {
    let (mut tree, mut values) = (CsbTree::new(), Vec::new());
    let mut naive = BTreeMap::new();
    for (n, &value) in arriving.iter().enumerate() {
        let code = values.len() as u32;
        values.push(value);
        let there = tree.insert(&values, value, code).unwrap();
        assert_eq!(there, naive.get(&value).copied());
        if there.is_some() {
            values.pop();
        } else {
            naive.insert(value, code);
        }
        if n.is_multiple_of(997) {
            tree.check(&values);
        }
    }
    tree.check(&values);
    assert!(tree.codes().eq(naive.values().copied()));
    let expected: Vec<_> = asked.iter().map(|key| naive.get(key).copied()).collect();
    assert_eq!(found(&tree, &values, asked), expected);
    for fill_percent in [50, 70, 100] {
        let codes: Vec<u32> = naive.values().copied().collect();
        let loaded = CsbTree::bulk_load(&values, codes.iter().copied(), fill_percent).unwrap();
        loaded.check(&values);
        assert_eq!(
            (loaded.len(), loaded.is_empty()),
            (naive.len(), naive.is_empty())
        );
        assert_eq!(found(&loaded, &values, asked), expected);
        // A loaded tree takes insertions, wherever they go.
        let (mut loaded, mut values) = (loaded, values.clone());
        for &key in asked {
            values.push(key);
            let code = values.len() as u32 - 1;
            loaded.insert(&values, key, code).unwrap();
        }
        loaded.check(&values);
        assert!(found(&loaded, &values, asked).iter().all(Option::is_some));
    }
}

#[test]
fn numbers_in_every_order_of_arrival_are_found() {
    let mut next = random(3);
    for count in [0, 1, 2, 15, 16, 17, 100, 471, 5000] {
        let ascending: Vec<u32> = (0..count).map(|n| n * 2).collect();
        let mut asked: Vec<u32> = (0..200).map(|_| next() as u32 % (2 * count + 3)).collect();
        asked.extend([0, u32::MAX]);
        check_numbers(&ascending, &asked);
        let descending: Vec<u32> = ascending.iter().rev().copied().collect();
        check_numbers(&descending, &asked);
        let random: Vec<u32> = (0..count).map(|_| next() as u32 % (count + 1)).collect();
        check_numbers(&random, &asked);
    }
}

#[test]
fn values_of_all_sizes_are_found() {
    let mut next = random(5);
    macro_rules! check {
        ($($type:ty),*) => {$({
            let mut arriving: Vec<$type> = (0..3000).map(|_| next() as $type).collect();
            arriving.extend([<$type>::MIN, <$type>::MAX, 0]);
            let mut asked: Vec<$type> = (0..100).map(|_| next() as $type).collect();
            asked.extend([<$type>::MIN, <$type>::MAX, 0, 1]);
            check_numbers(&arriving, &asked);
        })*};
    }
    check!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);
}

#[test]
fn strings_of_any_length_are_found() {
    for seed in 0..20 {
        let mut next = random(seed);
        let mut string = || {
            let mut bytes = b"the same prefix of many"[..next() as usize % 24].to_vec();
            let longest = if next().is_multiple_of(50) { 300 } else { 4 };
            bytes.extend((0..next() as usize % longest).map(|_| b"\0a\xff"[next() as usize % 3]));
            bytes
        };
        let (mut tree, mut values) = (CsbTree::new(), StringHeap::new());
        let mut naive: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        for _ in 0..seed * 100 {
            let one = string();
            if naive.contains_key(&one) {
                let there = tree.insert(&values, one.as_slice(), u32::MAX).unwrap();
                assert_eq!(there, naive.get(&one).copied());
                continue;
            }
            let code = values.push(&one).unwrap();
            assert_eq!(tree.insert(&values, one.as_slice(), code).unwrap(), None);
            naive.insert(one, code);
        }
        tree.check(&values);
        let mut asked: Vec<Vec<u8>> = (0..200).map(|_| string()).collect();
        asked.extend(naive.keys().take(300).cloned());
        let expected: Vec<_> = asked.iter().map(|key| naive.get(key).copied()).collect();
        let keys: Vec<&[u8]> = asked.iter().map(Vec::as_slice).collect();
        assert_eq!(found(&tree, &values, &keys), expected);
        let loaded = CsbTree::bulk_load(
            &values,
            naive.values().copied().collect::<Vec<_>>().into_iter(),
            80,
        );
        let loaded = loaded.unwrap();
        loaded.check(&values);
        assert_eq!(found(&loaded, &values, &keys), expected);
    }
}

#[test]
fn small_trees_are_small() {
    let values: Vec<u64> = (0..10).collect();
    let tree = CsbTree::bulk_load(&values, 0..10_u32, 100).unwrap();
    assert_eq!(tree.height(), 0);
    assert!(tree.bytes() <= 16 * 64, "{}", tree.bytes());
    assert_eq!(size_of::<Inner<u32>>(), 128);
    assert_eq!(size_of::<Leaf>(), 64);
}

#[test]
fn candidates_are_the_codes_with_the_fingerprint() {
    let mut next = random(11);
    for count in 0..=LEAF_CODES as u32 {
        for _ in 0..200 {
            let mut leaf = Leaf {
                count,
                ..Leaf::EMPTY
            };
            // Fingerprints behind the last code must not count.
            leaf.fingerprints.fill_with(|| next() as u8 % 4);
            for asked in [0, 1, 2, 3, 4, 255] {
                let bits = (0..count as usize).filter(|&at| leaf.fingerprints[at] == asked);
                let expected = bits.map(|at| 1 << at).sum::<u32>();
                assert_eq!(leaf.candidates(asked), expected);
                assert_eq!(leaf.equal(asked) & ((1 << count) - 1), expected);
            }
        }
    }
}

#[test]
fn a_lookup_reads_one_value_of_what_is_there_and_seldom_any_of_what_is_not() {
    struct Counted {
        values: Vec<u32>,
        compared: std::cell::Cell<usize>,
    }
    impl Stored for Counted {
        type Separator = u32;
        fn separator(&self, code: u32) -> u32 {
            self.values.separator(code)
        }
        fn fingerprint_of(&self, code: u32) -> u8 {
            self.values.fingerprint_of(code)
        }
        fn address(&self, code: u32) -> (*const u8, usize) {
            self.values.address(code)
        }
        fn order(&self, code: u32, other: u32) -> Ordering {
            self.values.order(code, other)
        }
    }
    impl Values<u32> for Counted {
        fn fingerprint(key: u32) -> u8 {
            <Vec<u32> as Values<u32>>::fingerprint(key)
        }
        fn compare_separator(&self, separator: u32, key: u32) -> Result<Ordering, u32> {
            self.values.compare_separator(separator, key)
        }
        fn compare(&self, code: u32, key: u32) -> Ordering {
            self.compared.set(self.compared.get() + 1);
            self.values.compare(code, key)
        }
    }
    for shift in 0..16 {
        let count = 10_000_u32;
        let values = Counted {
            values: (0..count).map(|n| (2 * n) << shift).collect(),
            compared: Default::default(),
        };
        let tree = CsbTree::bulk_load(&values, 0..count, 100).unwrap();
        for odd in [0, 1] {
            values.compared.set(0);
            for n in 0..count {
                let key = (2 * n + odd) << shift;
                let execution = Execution::Sequential;
                look_up_all(&tree.over(&values), &[key], execution, |_, found| {
                    assert_eq!(found, (odd == 0).then_some(n));
                });
            }
            // Eleven other values in a leaf have the same fingerprint once in 256 times each.
            let others = values.compared.get() - (1 - odd as usize) * count as usize;
            assert!(others < count as usize / 8, "{others} of {count}");
        }
    }
}
