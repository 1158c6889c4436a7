use loom::{
    sync::{Arc, atomic::AtomicU64},
    thread,
};

use super::version::{Version, VersionWord};
use crate::sync::Ordering;

/// A node in small: two fields that are equal at every version.
struct Pair {
    word: VersionWord,
    fields: [AtomicU64; 2],
}

impl Pair {
    fn new() -> Arc<Pair> {
        Arc::new(Pair {
            word: VersionWord::new(Version::NEW_BORDER),
            fields: [AtomicU64::new(0), AtomicU64::new(0)],
        })
    }

    fn add(&self, splits: bool) {
        let mut latch = self.word.latch();
        if splits {
            latch.splitting();
        } else {
            latch.inserting();
        }
        for field in &self.fields {
            let value = field.load(Ordering::Relaxed);
            field.store(value + 1, Ordering::Relaxed);
        }
    }

    /// Returns the pair that one optimistic attempt accepts, if any.
    fn read(&self) -> Option<(Version, u64)> {
        let version = self.word.stable();
        let [left, right] = [0, 1].map(|i| self.fields[i].load(Ordering::Relaxed));
        if self.word.has_changed_since(version) {
            return None;
        }
        assert_eq!(left, right, "a torn state was accepted");
        Some((version, left))
    }
}

#[test]
fn a_reader_never_accepts_a_torn_state() {
    loom::model(|| {
        let pair = Pair::new();
        let writer = {
            let pair = pair.clone();
            thread::spawn(move || pair.add(false))
        };
        pair.read();
        writer.join().unwrap();
        assert_eq!(pair.read().unwrap().1, 1);
    });
}

#[test]
fn versions_tell_states_apart_and_never_go_back() {
    loom::model(|| {
        let pair = Pair::new();
        let writer = {
            let pair = pair.clone();
            thread::spawn(move || pair.add(true))
        };
        let first = pair.read();
        let second = pair.read();
        if let (Some(first), Some(second)) = (first, second) {
            assert!(first.1 <= second.1);
            assert_eq!(first.0 == second.0, first.1 == second.1);
            assert_eq!(second.0.has_moved_since(first.0), first.1 != second.1);
        }
        writer.join().unwrap();
    });
}

#[test]
fn two_writers_exclude_each_other() {
    loom::model(|| {
        let pair = Pair::new();
        let writer = {
            let pair = pair.clone();
            thread::spawn(move || pair.add(false))
        };
        pair.add(true);
        writer.join().unwrap();
        assert_eq!(pair.read().unwrap().1, 2);
    });
}

/// The hand-over of `descend.rs`: a reader that validates the parent after it
/// took the child's version never looks for a moved key in the old child.
#[test]
fn a_key_that_moves_to_a_new_sibling_is_found() {
    const KEY: u64 = 7;
    loom::model(|| {
        // The parent's field says which child holds the key; child 0 holds it
        // until the split gives it to child 1.
        let parent = Arc::new((
            VersionWord::new(Version::new_interior(true, 1)),
            AtomicU64::new(0),
        ));
        let children = Arc::new([
            (VersionWord::new(Version::NEW_BORDER), AtomicU64::new(KEY)),
            (VersionWord::new(Version::NEW_BORDER), AtomicU64::new(0)),
        ]);
        let splitter = {
            let (parent, children) = (parent.clone(), children.clone());
            thread::spawn(move || {
                let mut left = children[0].0.latch();
                let mut above = parent.0.latch();
                left.splitting();
                children[1].1.store(KEY, Ordering::Relaxed);
                children[0].1.store(0, Ordering::Relaxed);
                above.inserting();
                parent.1.store(1, Ordering::Relaxed);
                drop(left);
                drop(above);
            })
        };
        let version = parent.0.stable();
        let index = parent.1.load(Ordering::Relaxed) as usize;
        if !parent.0.has_changed_since(version) {
            let child = &children[index];
            let child_version = child.0.stable();
            if !parent.0.has_changed_since(version) {
                let found = child.1.load(Ordering::Relaxed);
                if !child.0.has_changed_since(child_version) {
                    assert_eq!(found, KEY, "an accepted read missed the key");
                }
            }
        }
        splitter.join().unwrap();
    });
}
