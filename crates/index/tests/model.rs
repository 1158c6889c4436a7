//! The tree and a `BTreeMap` give the same answers.

#![allow(clippy::print_stdout, reason = "a failing test shows its seed")]

#[path = "support/common.rs"]
mod common;

use std::{collections::BTreeMap, ops::Bound};

use common::{MIXES, Mix, Rng, Setup, scan_all, setup};
use index::{Batch, Direction, InsertError, Inserted, KEY_BYTES_MAX};
use interleave::{Sequential, run_inline};

type Model = BTreeMap<Vec<u8>, u64>;

fn bound<'k>(rng: &mut Rng, key: &'k [u8]) -> Bound<&'k [u8]> {
    match rng.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Excluded(key),
        _ => Bound::Included(key),
    }
}

fn in_range(key: &[u8], range: (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    (match range.0 {
        Bound::Unbounded => true,
        Bound::Included(low) => key >= low,
        Bound::Excluded(low) => key > low,
    }) && (match range.1 {
        Bound::Unbounded => true,
        Bound::Included(high) => key <= high,
        Bound::Excluded(high) => key < high,
    })
}

fn check_scans(setup: &Setup, model: &Model, mix: Mix, span: u64, rng: &mut Rng) {
    let pin = setup.local.pin();
    for _ in 0..6 {
        let (a, b) = (mix.key(rng, span), mix.key(rng, span));
        let range = (bound(rng, &a), bound(rng, &b));
        let mut expected: Vec<_> = model
            .iter()
            .filter(|(key, _)| in_range(key, range))
            .map(|(key, &value)| (key.clone(), value))
            .collect();
        assert_eq!(
            scan_all(&setup.tree, &pin, range, Direction::Forward),
            expected
        );
        expected.reverse();
        assert_eq!(
            scan_all(&setup.tree, &pin, range, Direction::Backward),
            expected
        );
    }
}

fn run(mix: Mix, span: u64, rounds: u64, seed: u64) {
    println!("mix {mix:?} span {span} seed {seed}");
    let mut rng = Rng(seed);
    let setup = setup(256 << 20);
    let (tree, local) = (&setup.tree, &setup.local);
    let mut model = Model::new();
    for round in 0..rounds {
        // The tree grows, then shrinks, again and again, sometimes to nothing.
        let removals = [1, 5, 9][round as usize % 3];
        for _ in 0..span {
            let key = mix.key(&mut rng, span);
            let pin = local.pin();
            if rng.below(10) < removals {
                let expected = (rng.below(4) == 0).then(|| rng.below(3));
                let removed = run_inline(tree.remove::<Sequential>(local, &pin, &key, expected));
                let there = model.get(&key).copied();
                if there.is_some() && expected.is_none_or(|e| Some(e) == there) {
                    assert_eq!(removed, model.remove(&key));
                } else {
                    assert_eq!(removed, None);
                }
            } else {
                let value = rng.below(3);
                let inserted = run_inline(tree.insert::<Sequential>(local, &pin, &key, value));
                match model.get(&key) {
                    Some(&present) => assert_eq!(inserted, Ok(Inserted::Present(present))),
                    None => {
                        assert_eq!(inserted, Ok(Inserted::New));
                        model.insert(key, value);
                    }
                }
            }
            let key = mix.key(&mut rng, span);
            assert_eq!(
                run_inline(tree.get::<Sequential>(&pin, &key)),
                model.get(&key).copied()
            );
        }
        local.quiesce();
        tree.check_invariants(&local.pin());
        assert_eq!(tree.stats(&local.pin()).keys, model.len() as u64);
        check_scans(&setup, &model, mix, span, &mut rng);
    }
    // The tree shrinks to nothing, twice.
    for round in 0..2 {
        let mut keys: Vec<_> = model.keys().cloned().collect();
        if round == 1 {
            keys.reverse();
        }
        for key in keys {
            let pin = local.pin();
            let removed = run_inline(tree.remove::<Sequential>(local, &pin, &key, None));
            assert_eq!(removed, model.remove(&key));
            drop(pin);
            if rng.below(50) == 0 {
                tree.check_invariants(&local.pin());
                local.quiesce();
            }
        }
        let stats = tree.stats(&local.pin());
        assert_eq!(
            (
                stats.keys,
                stats.layers,
                stats.border_nodes,
                stats.interior_nodes
            ),
            (0, 1, 1, 0)
        );
        for _ in 0..span {
            let key = mix.key(&mut rng, span);
            let pin = local.pin();
            run_inline(tree.insert::<Sequential>(local, &pin, &key, 1)).unwrap();
            model.insert(key, 1);
        }
        tree.check_invariants(&local.pin());
        check_scans(&setup, &model, mix, span, &mut rng);
    }
}

#[test]
fn random_operations_match_the_model() {
    for (seed, mix) in MIXES.into_iter().enumerate() {
        for span in [20, 300, 3000] {
            run(mix, span, 9, 1000 + seed as u64);
        }
    }
}

#[test]
fn large_trees_have_several_levels_and_shrink_again() {
    for mix in [Mix::Eight, Mix::Dense, Mix::Wide] {
        run(mix, 40_000, 3, 5);
    }
}

#[test]
fn ascending_and_descending_loads_fill_the_nodes() {
    for descending in [false, true] {
        let setup = setup(64 << 20);
        let pin = setup.local.pin();
        for i in 0..20_000u64 {
            let key = if descending { u64::MAX - i } else { i }.to_be_bytes();
            run_inline(setup.tree.insert::<Sequential>(&setup.local, &pin, &key, i)).unwrap();
        }
        setup.tree.check_invariants(&pin);
        let stats = setup.tree.stats(&pin);
        assert_eq!(stats.entries, 20_000);
        assert!(
            stats.entries * 10 > stats.border_nodes * 15 * 9,
            "{stats:?}"
        );
    }
}

#[test]
fn keys_up_to_the_limit_are_taken_and_longer_ones_refused() {
    let setup = setup(64 << 20);
    let (tree, local) = (&setup.tree, &setup.local);
    let pin = local.pin();
    let long = vec![b'k'; KEY_BYTES_MAX];
    let mut other = long.clone();
    *other.last_mut().unwrap() = b'l';
    for (value, key) in [(1, &long), (2, &other)] {
        let inserted = run_inline(tree.insert::<Sequential>(local, &pin, key, value));
        assert_eq!(inserted, Ok(Inserted::New));
    }
    let too_long = vec![b'k'; KEY_BYTES_MAX + 1];
    let refused = run_inline(tree.insert::<Sequential>(local, &pin, &too_long, 3));
    assert_eq!(refused, Err(InsertError::KeyTooLong));
    assert_eq!(run_inline(tree.get::<Sequential>(&pin, &too_long)), None);
    assert_eq!(
        run_inline(tree.remove::<Sequential>(local, &pin, &too_long, None)),
        None
    );
    tree.check_invariants(&pin);
    assert_eq!(
        scan_all(
            tree,
            &pin,
            (Bound::Unbounded, Bound::Unbounded),
            Direction::Backward
        ),
        [(other.clone(), 2), (long.clone(), 1)]
    );
    assert_eq!(
        run_inline(tree.remove::<Sequential>(local, &pin, &long, None)),
        Some(1)
    );
    assert_eq!(
        run_inline(tree.remove::<Sequential>(local, &pin, &other, None)),
        Some(2)
    );
    assert_eq!(tree.stats(&pin).border_nodes, 1);
}

#[test]
fn a_scan_survives_releasing_its_pin_and_changes_in_between() {
    for direction in [Direction::Forward, Direction::Backward] {
        for mix in MIXES {
            let setup = setup(64 << 20);
            let (tree, local) = (&setup.tree, &setup.local);
            let mut rng = Rng(11);
            // Even values stay throughout, odd ones come and go.
            let mut stay = Model::new();
            let mut keys = Vec::new();
            for _ in 0..2000 {
                let key = mix.key(&mut rng, 2000);
                let value = key.iter().map(|&b| u64::from(b)).sum::<u64>() * 3 + key.len() as u64;
                run_inline(tree.insert::<Sequential>(local, &local.pin(), &key, value)).unwrap();
                if value.is_multiple_of(2) {
                    stay.insert(key.clone(), value);
                }
                keys.push((key, value));
            }
            let mut scan = tree.scan((Bound::Unbounded, Bound::Unbounded), direction);
            let mut batch = Batch::new();
            let mut found = Vec::new();
            let mut last: Option<Vec<u8>> = None;
            while run_inline(scan.next::<Sequential>(&local.pin(), &mut batch)) {
                for (key, value) in batch.iter() {
                    let ascends = last.as_deref().is_none_or(|last| match direction {
                        Direction::Forward => last < key,
                        Direction::Backward => last > key,
                    });
                    assert!(ascends);
                    last = Some(key.to_vec());
                    if value % 2 == 0 {
                        found.push((key.to_vec(), value));
                    }
                }
                for _ in 0..60 {
                    let (key, value) = &keys[rng.below(keys.len() as u64) as usize];
                    if value.is_multiple_of(2) {
                        continue;
                    }
                    let pin = local.pin();
                    if rng.below(2) == 0 {
                        run_inline(tree.remove::<Sequential>(local, &pin, key, None));
                    } else {
                        run_inline(tree.insert::<Sequential>(local, &pin, key, *value)).unwrap();
                    }
                }
                scan.release();
                local.quiesce();
            }
            let mut expected: Vec<_> = stay.into_iter().collect();
            if direction == Direction::Backward {
                expected.reverse();
            }
            assert_eq!(found, expected, "{mix:?} {direction:?}");
        }
    }
}
