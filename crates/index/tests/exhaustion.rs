//! Running out of memory, wherever it happens, leaves the tree as it was.

#[path = "support/common.rs"]
mod common;

use std::{collections::BTreeMap, ops::Bound};

use common::{MIXES, Rng, scan_all, setup};
use index::{Direction, InsertError, Inserted};
use interleave::{Sequential, run_inline};

#[test]
fn an_exhausted_insertion_changes_nothing() {
    for mix in MIXES {
        for limit_kib in (140..600).step_by(28) {
            let setup = setup(limit_kib << 10);
            let (tree, local) = (&setup.tree, &setup.local);
            let mut rng = Rng(limit_kib as u64);
            let mut model = BTreeMap::new();
            let mut failures = 0;
            for value in 0..6000 {
                let key = mix.key(&mut rng, 20_000);
                let pin = local.pin();
                match run_inline(tree.insert::<Sequential>(local, &pin, &key, value)) {
                    Ok(Inserted::New) => assert_eq!(model.insert(key, value), None),
                    Ok(Inserted::Present(present)) => assert_eq!(model[&key], present),
                    Err(InsertError::Exhausted) => {
                        failures += 1;
                        assert_eq!(run_inline(tree.get::<Sequential>(&pin, &key)), None);
                        if failures % 100 == 1 {
                            tree.check_invariants(&pin);
                        }
                        // Make room for some more keys.
                        for _ in 0..8 {
                            let Some((key, value)) = model.pop_first() else {
                                break;
                            };
                            let removed = tree.remove::<Sequential>(local, &pin, &key, None);
                            assert_eq!(run_inline(removed), Some(value));
                        }
                    }
                    Err(error) => panic!("{error}"),
                }
                drop(pin);
                if value % 16 == 0 {
                    local.quiesce();
                }
            }
            let pin = local.pin();
            tree.check_invariants(&pin);
            let all = scan_all(
                tree,
                &pin,
                (Bound::Unbounded, Bound::Unbounded),
                Direction::Forward,
            );
            assert_eq!(all, model.into_iter().collect::<Vec<_>>());
        }
    }
}

#[test]
fn nothing_leaks_from_failed_insertions_and_removals() {
    for mix in MIXES {
        let setup = setup(400 << 10);
        let (tree, local) = (&setup.tree, &setup.local);
        let mut rng = Rng(3);
        let empty = local.arena().usage().index_bytes;
        for _ in 0..3 {
            let mut keys = Vec::new();
            for value in 0..4000 {
                let key = mix.key(&mut rng, 20_000);
                let pin = local.pin();
                if run_inline(tree.insert::<Sequential>(local, &pin, &key, value))
                    == Ok(Inserted::New)
                {
                    keys.push(key);
                }
            }
            for key in keys {
                let pin = local.pin();
                assert!(run_inline(tree.remove::<Sequential>(local, &pin, &key, None)).is_some());
            }
            for _ in 0..6 {
                local.quiesce();
            }
            assert_eq!(local.limbo_len(), 0);
            assert_eq!(local.arena().usage().index_bytes, empty, "{mix:?}");
        }
    }
}
