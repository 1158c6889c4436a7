//! The targets on random bytes. Registry of the targets: `fuzz/README.md`.

use super::{
    catalog_reader, checkpoint_reader, cold_reader, log_reader, manifest_reader, recovery,
};

/// Makes some bytes from a seed (SplitMix64).
fn input(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    };
    let length = next() % 64;
    (0..length).map(|_| next() as u8).collect()
}

fn feed(target: fn(&[u8]), inputs: u64) {
    for seed in 0..inputs {
        let bytes = input(seed);
        let fed = std::panic::catch_unwind(|| target(&bytes));
        assert!(fed.is_ok(), "input of seed {seed}: {bytes:?}");
    }
}

#[test]
fn log_files_that_were_tampered_with_do_no_harm() {
    feed(log_reader, 5000);
}

#[test]
fn checkpoint_parts_that_were_tampered_with_do_no_harm() {
    feed(checkpoint_reader, 5000);
}

#[test]
fn cold_files_that_were_tampered_with_do_no_harm() {
    feed(cold_reader, 20_000);
}

#[test]
fn manifests_that_were_tampered_with_do_no_harm() {
    feed(manifest_reader, 20_000);
}

#[test]
fn catalogs_that_were_tampered_with_do_no_harm() {
    feed(catalog_reader, 20_000);
}

#[test]
fn directories_that_were_tampered_with_do_no_harm() {
    feed(recovery, 400);
}
