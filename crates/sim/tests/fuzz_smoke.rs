//! The fuzz targets' interpreters on random bytes, and one with a bug.
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

/// The targets are a workspace of their own, which no other test compiles: one of them had been
/// emptied without any test failing.
#[test]
fn every_target_runs_something_and_is_in_the_registry() {
    let fuzz = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let read = |file: &str| std::fs::read_to_string(fuzz.join(file)).unwrap();
    let (manifest, registry) = (read("Cargo.toml"), read("README.md"));
    let mut targets = 0;
    for entry in fuzz.join("fuzz_targets").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let source = std::fs::read_to_string(&path).unwrap();
        assert!(source.contains("fuzz_target!("), "{name} runs nothing");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        assert!(registry.contains(&format!("`{name}`")), "{name}");
        targets += 1;
    }
    assert_eq!(targets, manifest.matches("[[bin]]").count());
}
