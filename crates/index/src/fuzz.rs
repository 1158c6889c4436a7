//! Interprets bytes as operations on a small set of keys and compares every
//! answer with a `BTreeMap`. For fuzzers and for a test with random bytes.

mod choices;
mod lookups;

use std::{collections::BTreeMap, ops::Bound};

use interleave::{Sequential, run_inline};
use memory::{Arena, Epochs, Local, Pin};

use crate::{Batch, Direction, InsertError, Inserted, Tree};

pub use choices::{Choices, smoke, special_float};
pub use lookups::run as lookups;

/// Draws a key. Long runs make layers.
fn key(source: &mut Choices<'_>) -> Vec<u8> {
    let shape = source.byte();
    source.string(shape, 3)
}

fn bound(source: &mut Choices<'_>) -> Bound<Vec<u8>> {
    match source.byte() % 3 {
        0 => Bound::Unbounded,
        1 => Bound::Included(key(source)),
        _ => Bound::Excluded(key(source)),
    }
}

/// Runs the operations that `data` encodes.
///
/// # Panics
/// Panics if the tree and the model disagree, or an invariant is broken.
pub fn run(data: &[u8]) {
    let mut source = Choices::new(data);
    // The arena is small enough to be exhausted now and then.
    let limit_bytes = (128 + usize::from(source.byte()) * 4) << 10;
    let Ok(arena) = Arena::new(limit_bytes) else {
        return;
    };
    let local = Local::new(&arena, &Epochs::new());
    let Ok(tree) = Tree::new(&local) else {
        return;
    };
    let mut model = BTreeMap::new();
    while !source.is_empty() {
        step(&mut source, &tree, &local, &mut model);
        local.quiesce();
    }
    let pin = local.pin();
    tree.check_invariants(&pin);
    assert_eq!(
        tree.stats(&pin).keys,
        model.len() as u64,
        "keys are counted"
    );
}

fn step(source: &mut Choices<'_>, tree: &Tree, local: &Local, model: &mut BTreeMap<Vec<u8>, u64>) {
    let pin = local.pin();
    match source.byte() % 16 {
        0..=6 => {
            let (key, value) = (key(source), u64::from(source.byte()));
            match run_inline(tree.insert::<Sequential>(local, &pin, &key, value)) {
                Ok(Inserted::New) => assert_eq!(model.insert(key, value), None, "new"),
                Ok(Inserted::Present(present)) => assert_eq!(model[&key], present, "present"),
                Err(InsertError::Exhausted) => assert!(!model.contains_key(&key), "exhausted"),
                Err(InsertError::KeyTooLong) => unreachable!("keys here are short"),
            }
        }
        7..=9 => {
            let key = key(source);
            let removed = run_inline(tree.remove::<Sequential>(local, &pin, &key, None));
            assert_eq!(removed, model.remove(&key), "remove");
        }
        // A wave: many neighbours come or go, so that nodes split and vanish.
        wave @ 10..=11 => {
            let mut key = key(source);
            let len = key.len();
            for number in 0..source.byte() {
                key.truncate(len);
                key.push(number);
                if wave == 10 {
                    let inserted = run_inline(tree.insert::<Sequential>(local, &pin, &key, 1));
                    if inserted == Ok(Inserted::New) {
                        assert_eq!(model.insert(key.clone(), 1), None, "wave");
                    }
                } else {
                    let removed = run_inline(tree.remove::<Sequential>(local, &pin, &key, None));
                    assert_eq!(removed, model.remove(&key), "wave");
                }
            }
        }
        12 => {
            let key = key(source);
            let found = run_inline(tree.get::<Sequential>(&pin, &key));
            assert_eq!(found, model.get(&key).copied(), "get");
        }
        13 => tree.check_invariants(&pin),
        direction => {
            let (low, high) = (bound(source), bound(source));
            let direction = [Direction::Forward, Direction::Backward][usize::from(direction & 1)];
            check_scan(tree, &pin, (&low, &high), direction, model);
        }
    }
}

fn check_scan(
    tree: &Tree,
    pin: &Pin<'_>,
    (low, high): (&Bound<Vec<u8>>, &Bound<Vec<u8>>),
    direction: Direction,
    model: &BTreeMap<Vec<u8>, u64>,
) {
    let mut expected: Vec<(&[u8], u64)> = model
        .iter()
        .map(|(key, &value)| (key.as_slice(), value))
        .filter(|(key, _)| match low {
            Bound::Unbounded => true,
            Bound::Included(low) => *key >= low.as_slice(),
            Bound::Excluded(low) => *key > low.as_slice(),
        })
        .filter(|(key, _)| match high {
            Bound::Unbounded => true,
            Bound::Included(high) => *key <= high.as_slice(),
            Bound::Excluded(high) => *key < high.as_slice(),
        })
        .collect();
    if direction == Direction::Backward {
        expected.reverse();
    }
    let mut expected = expected.into_iter();
    let range = (
        low.as_ref().map(Vec::as_slice),
        high.as_ref().map(Vec::as_slice),
    );
    let mut scan = tree.scan(range, direction);
    let mut batch = Batch::new();
    while run_inline(scan.next::<Sequential>(pin, &mut batch)) {
        for found in batch.iter() {
            assert_eq!(Some(found), expected.next(), "scan");
        }
    }
    assert_eq!(expected.next(), None, "scan ended early");
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    fn random_bytes_find_no_difference() {
        let cases = if cfg!(miri) { 30 } else { 3000 };
        super::smoke(42, cases, 700, super::run);
    }
}
