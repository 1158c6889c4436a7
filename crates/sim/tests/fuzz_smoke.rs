//! The fuzz targets' interpreters on random bytes, and one that has a bug.
//!
//! Registry of the targets: `fuzz/README.md`.

use sim::{Dice, Planted, fuzz};

const INPUTS: u64 = 2000;

fn input(seed: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed);
    let bytes = dice.below(600);
    (0..bytes).map(|_| dice.below(256) as u8).collect()
}

#[test]
fn random_engine_operations_find_nothing() {
    for seed in 0..INPUTS {
        if let Err(message) = fuzz::try_engine_operations(&input(seed), None) {
            panic!("input of seed {seed}: {message}");
        }
    }
}

#[test]
fn random_index_operations_find_nothing() {
    for seed in 0..INPUTS / 2 {
        index::fuzz::run(&input(seed));
    }
}

#[test]
fn random_keys_find_nothing() {
    for seed in 0..INPUTS * 4 {
        fuzz::key_encoding(&input(seed));
    }
}

#[test]
fn a_planted_bug_is_found() {
    for planted in [Planted::LateRead, Planted::DropWrite] {
        let found = (0..INPUTS)
            .find_map(|seed| fuzz::try_engine_operations(&input(seed), Some(planted)).err());
        assert!(found.is_some(), "{planted:?} was not found");
    }
}
