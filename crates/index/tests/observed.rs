//! The reports to an observer suffice: an observer that keeps the node versions that it depended on, and brings them up
//! to date with its own insertions and removals, notices every insertion by others of a key that it did not find.

#[path = "support/common.rs"]
mod common;

use std::{
    collections::{BTreeSet, HashMap},
    ops::Bound,
};

use common::{MIXES, Mix, Rng, Setup, setup};
use index::{Batch, Direction, Inserted, NodeId, NodeVersion, Observer};
use interleave::{Sequential, run_inline};

/// Node versions that an observer depended on.
#[derive(Default)]
struct Notes(HashMap<NodeId, u64>);

impl Observer for Notes {
    const ACTIVE: bool = true;

    fn depended(&mut self, node: NodeVersion) {
        self.0.entry(node.node).or_insert(node.version);
    }

    fn changed(&mut self, before: NodeVersion, after: NodeVersion) {
        if let Some(version) = self.0.get_mut(&before.node)
            && *version == before.version
        {
            *version = after.version;
        }
    }

    fn divided(&mut self, from: NodeId, node: NodeVersion) {
        if self.0.contains_key(&from) {
            self.0.entry(node.node).or_insert(node.version);
        }
    }

    fn absorbed(&mut self, gone: NodeVersion, into: NodeVersion) {
        if self.0.get(&gone.node) == Some(&gone.version) {
            self.0.remove(&gone.node);
            self.0.entry(into.node).or_insert(into.version);
        }
    }
}

impl Notes {
    fn are_current(&self, setup: &Setup) -> bool {
        let mut nodes = self.0.iter();
        nodes
            .all(|(&node, &version)| NodeVersion { node, version }.is_current(&setup.local.arena()))
    }
}

fn insert(setup: &Setup, key: &[u8], notes: Option<&mut Notes>) -> bool {
    let pin = setup.local.pin();
    let inserted = match notes {
        Some(notes) => run_inline(setup.tree.insert_observed::<Sequential, _>(
            &setup.local,
            &pin,
            key,
            1,
            notes,
        )),
        None => run_inline(setup.tree.insert::<Sequential>(&setup.local, &pin, key, 1)),
    };
    inserted.unwrap() == Inserted::New
}

fn remove(setup: &Setup, key: &[u8], notes: &mut Notes) -> bool {
    let pin = setup.local.pin();
    let remove =
        (setup.tree).remove_observed::<Sequential, _>(&setup.local, &pin, key, None, notes);
    run_inline(remove).is_some()
}

fn scan(setup: &Setup, low: &[u8], high: &[u8], direction: Direction, notes: &mut Notes) {
    let pin = setup.local.pin();
    let range = (Bound::Included(low), Bound::Included(high));
    let mut scan = setup.tree.scan(range, direction);
    let mut batch = Batch::new();
    while run_inline(scan.next_observed::<Sequential, _>(&pin, &mut batch, &mut *notes)) {}
}

/// Runs one observer among keys of a mix; then another operation inserts a key that the observer has not found. Returns
/// how often that could be tried.
fn observe(mix: Mix, span: u64, rng: &mut Rng) -> u64 {
    let setup = setup(64 << 20);
    let mut there = BTreeSet::new();
    for _ in 0..rng.below(40) {
        let key = mix.key(rng, span);
        assert_eq!(insert(&setup, &key, None), there.insert(key.clone()));
    }
    let mut notes = Notes::default();
    let (mut ranges, mut missed) = (Vec::new(), BTreeSet::new());
    // Keys that the observer has inserted, and may remove again.
    let mut own: BTreeSet<Vec<u8>> = BTreeSet::new();
    for _ in 0..1 + rng.below(60) {
        let key = mix.key(rng, span);
        match rng.below(8) {
            0 => {
                let other = mix.key(rng, span);
                let (low, high) = (key.clone().min(other.clone()), key.max(other));
                let direction = [Direction::Forward, Direction::Backward][rng.below(2) as usize];
                scan(&setup, &low, &high, direction, &mut notes);
                ranges.push((low, high));
            }
            1 => {
                let pin = setup.local.pin();
                let mut lookup = setup.tree.lookup(&pin, &key);
                let found = loop {
                    if let index::Step::Done(found) = lookup.step() {
                        break found;
                    }
                };
                assert_eq!(found.is_some(), there.contains(&key));
                if found.is_none() {
                    notes.depended(lookup.found_in().unwrap());
                    missed.insert(key);
                }
            }
            2..=3 => {
                if let Some(key) = own.pop_first() {
                    assert!(remove(&setup, &key, &mut notes));
                    there.remove(&key);
                }
            }
            _ => {
                let new = insert(&setup, &key, Some(&mut notes));
                assert_eq!(new, there.insert(key.clone()));
                if new {
                    own.insert(key);
                }
            }
        }
    }
    // Mostly all of the observer's keys, so that nodes and layers go.
    if rng.below(3) > 0 {
        for key in std::mem::take(&mut own) {
            assert!(remove(&setup, &key, &mut notes));
            there.remove(&key);
        }
    }
    assert!(notes.are_current(&setup), "nobody else has been here");
    for _ in 0..20 {
        let key = mix.key(rng, span);
        let was_expected_absent =
            missed.contains(&key) || ranges.iter().any(|(low, high)| *low <= key && key <= *high);
        // A key that the observer has inserted itself was not missed.
        if was_expected_absent && !own.contains(&key) && insert(&setup, &key, None) {
            assert!(
                !notes.are_current(&setup),
                "{mix:?}: {key:?} went unnoticed"
            );
            return 1;
        }
    }
    0
}

/// Seed 102 of the simulation's preset `ssn`: a transaction scanned, then inserted two keys that share their first
/// eight bytes. The transaction thereby made a layer, which it had not been told to depend on; another inserted a third
/// such key, and both committed.
#[test]
fn what_was_absent_is_noticed_when_others_insert_it() {
    for mix in MIXES {
        for span in [12, 200] {
            let tried = (0..1500)
                .map(|seed| observe(mix, span, &mut Rng(seed)))
                .sum::<u64>();
            assert!(tried > 50, "{mix:?} {span}: {tried}");
        }
    }
}

/// An observer that inserts and removes again has changed nothing for itself. Levels of trees and whole layers come and
/// go with its keys.
#[test]
fn a_wave_of_own_keys_that_comes_and_goes_is_no_change() {
    for mix in MIXES {
        for backwards in [false, true] {
            let setup = setup(64 << 20);
            let mut notes = Notes::default();
            scan(&setup, b"", &[0xff; 40], Direction::Forward, &mut notes);
            let mut rng = Rng(1);
            let mut keys: Vec<_> = (0..600).map(|_| mix.key(&mut rng, 1000)).collect();
            keys.sort();
            keys.dedup();
            for key in &keys {
                assert!(insert(&setup, key, Some(&mut notes)));
            }
            if backwards {
                keys.reverse();
            }
            for key in &keys {
                assert!(remove(&setup, key, &mut notes));
                assert!(notes.are_current(&setup), "{mix:?}: {key:?}");
            }
            assert!(insert(&setup, &keys[0], None));
            assert!(!notes.are_current(&setup), "{mix:?}");
        }
    }
}

/// The case of `what_was_absent_is_noticed_when_others_insert_it`, in three lines, without chance.
#[test]
fn a_layer_made_by_the_observer_belongs_to_what_it_observed() {
    let setup = setup(64 << 20);
    let mut notes = Notes::default();
    scan(&setup, b"", &[0xff; 40], Direction::Forward, &mut notes);
    assert!(insert(
        &setup,
        b"a prefix of eight and more: 1",
        Some(&mut notes)
    ));
    assert!(insert(
        &setup,
        b"a prefix of eight and more: 2",
        Some(&mut notes)
    ));
    assert!(notes.are_current(&setup));
    assert!(insert(&setup, b"a prefix of eight and less", None));
    assert!(!notes.are_current(&setup));
}
