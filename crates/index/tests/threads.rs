//! Several threads on one tree. Every key has one owner, which knows what it must find; every
//! thread scans all keys.

#![allow(clippy::print_stdout, reason = "a failing test shows its seed")]

#[path = "support/common.rs"]
mod common;

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::atomic::{AtomicBool, Ordering},
};

use common::{MIXES, Mix, Rng, shared};
use index::{Batch, Direction, Inserted, Tree};
use interleave::{Sequential, run_inline};
use memory::Local;

const THREADS: u64 = 4;

/// Returns the owner of a key, by its hash; the value names the owner too.
fn owner(key: &[u8]) -> u64 {
    key.iter().fold(7u64, |hash, &byte| {
        hash.wrapping_mul(31).wrapping_add(byte.into())
    }) % THREADS
}

fn work(tree: &Tree, local: &Local, me: u64, mix: Mix, span: u64, rounds: u64, seed: u64) {
    let mut rng = Rng(seed);
    let mut mine = BTreeMap::new();
    let mut done = 0;
    while done < rounds {
        let key = mix.key(&mut rng, span);
        let pin = local.pin();
        if rng.below(if cfg!(miri) { 20 } else { 500 }) == 0 {
            scan(tree, local, me, &mine, &mut rng);
        }
        if owner(&key) != me {
            if let Some(value) = run_inline(tree.get::<Sequential>(&pin, &key)) {
                assert_eq!(value % THREADS, owner(&key));
            }
            done += u64::from(rng.below(8) == 0);
            continue;
        }
        done += 1;
        // Waves of growth and of shrinking.
        if rng.below(10) < [2, 8][(done / if cfg!(miri) { 30 } else { 1500 }) as usize % 2] {
            let removed = run_inline(tree.remove::<Sequential>(local, &pin, &key, None));
            assert_eq!(removed, mine.remove(&key), "{key:?}");
        } else {
            let value = rng.below(1 << 40) * THREADS + me;
            let inserted = run_inline(tree.insert::<Sequential>(local, &pin, &key, value));
            match mine.get(&key) {
                Some(&value) => assert_eq!(inserted, Ok(Inserted::Present(value))),
                None => {
                    assert_eq!(inserted, Ok(Inserted::New));
                    mine.insert(key.clone(), value);
                }
            }
        }
        assert_eq!(
            run_inline(tree.get::<Sequential>(&pin, &key)),
            mine.get(&key).copied()
        );
        drop(pin);
        if done % 32 == 0 {
            local.quiesce();
        }
    }
    for (key, value) in mine {
        let pin = local.pin();
        let removed = run_inline(tree.remove::<Sequential>(local, &pin, &key, Some(value)));
        assert_eq!(removed, Some(value), "{key:?}");
    }
    local.go_idle();
}

/// Checks that a scan finds every key of its owner, which changes none meanwhile, and keys of
/// others only with values that their owners write.
fn scan(tree: &Tree, local: &Local, me: u64, mine: &BTreeMap<Vec<u8>, u64>, rng: &mut Rng) {
    let direction = [Direction::Forward, Direction::Backward][rng.below(2) as usize];
    let pin = local.pin();
    let mut scan = tree.scan((Bound::Unbounded, Bound::Unbounded), direction);
    let mut batch = Batch::new();
    let mut found = BTreeMap::new();
    let mut last: Option<Vec<u8>> = None;
    while run_inline(scan.next::<Sequential>(&pin, &mut batch)) {
        for (key, value) in batch.iter() {
            assert!(last.as_deref().is_none_or(|last| match direction {
                Direction::Forward => last < key,
                Direction::Backward => last > key,
            }));
            last = Some(key.to_vec());
            assert_eq!(value % THREADS, owner(key));
            if owner(key) == me {
                found.insert(key.to_vec(), value);
            }
        }
    }
    assert_eq!(found, *mine, "{direction:?}");
}

fn run(mix: Mix, span: u64, rounds: u64) {
    let (arena, epochs, tree) = shared(256 << 20);
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for me in 0..THREADS {
            let (arena, epochs, tree, failed) = (&arena, &epochs, &tree, &failed);
            scope.spawn(move || {
                let local = Local::new(arena, epochs);
                let seed = span * 10 + me;
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    work(tree, &local, me, mix, span, rounds, seed);
                }));
                if let Err(panic) = result {
                    println!("mix {mix:?} span {span} seed {seed}");
                    failed.store(true, Ordering::Relaxed);
                    std::panic::resume_unwind(panic);
                }
            });
        }
    });
    assert!(!failed.load(Ordering::Relaxed));
    let local = Local::new(&arena, &epochs);
    let pin = local.pin();
    tree.check_invariants(&pin);
    let stats = tree.stats(&pin);
    assert_eq!((stats.keys, stats.layers), (0, 1));
}

#[test]
fn owners_find_what_they_wrote() {
    if cfg!(miri) {
        // Slow, but sees every data race.
        return run(Mix::Deep, 40, 30);
    }
    for mix in MIXES {
        for span in [30, 600, 20_000] {
            run(mix, span, 6000);
        }
    }
}
