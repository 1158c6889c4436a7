//! Removal of a key. Emptied borders are unlinked in `unlink.rs`.

use std::future::Future;

use interleave::Policy;
use memory::{Local, Pin};

use crate::{
    descend::SUFFIX_POINT,
    key::{KEY_BYTES_MAX, PIECE_BYTES, Piece},
    node::{BORDER_BYTES, Border, Code, Version},
    observe::{NodeVersion, Observer},
    tree::Tree,
};

enum Removal {
    Done(Option<u64>),
    StartAgain,
}

impl Tree {
    /// Removes `key` if its value is `expected` (`None`: whatever its value). Returns the value
    /// removed.
    ///
    /// # Suspension
    /// Suspends before the change, at each line that is probably not in the cache.
    ///
    /// # Cancellation
    /// A future dropped before it is ready has changed nothing.
    #[inline]
    pub fn remove<P: Policy>(
        &self,
        local: &Local,
        pin: &Pin<'_>,
        key: &[u8],
        expected: Option<u64>,
    ) -> impl Future<Output = Option<u64>> {
        self.remove_observed::<P, ()>(local, pin, key, expected, ())
    }

    /// Removes as [`Tree::remove`] does, and reports the node versions changed to the observer. (A
    /// border that is unlinked because it became empty is dead for every other observer.)
    ///
    /// # Suspension
    /// Suspends where [`Tree::remove`] does.
    pub async fn remove_observed<P: Policy, O: Observer>(
        &self,
        local: &Local,
        _pin: &Pin<'_>,
        key: &[u8],
        expected: Option<u64>,
        mut observer: O,
    ) -> Option<u64> {
        if key.len() > KEY_BYTES_MAX {
            return None;
        }
        self.nodes.debug_assert_local(local);
        'tree: loop {
            let mut root = self.root();
            let mut depth = 0;
            loop {
                let tail = &key[depth * PIECE_BYTES..];
                let piece = Piece::of(tail);
                let Some((border, version)) = self
                    .descend::<P, BORDER_BYTES>(root, depth, piece.slice)
                    .await
                else {
                    continue 'tree;
                };
                let found = border.find(piece).map(|slot| border.entry(slot));
                if border.word.has_changed_since(version) {
                    continue 'tree;
                }
                match found {
                    None => {
                        if O::ACTIVE {
                            let id = self.nodes.border_id(border);
                            observer.depended(NodeVersion::new(id, version));
                        }
                        return None;
                    }
                    Some(entry) if entry.code == Code::LAYER => {
                        root = entry.layer();
                        depth += 1;
                        continue;
                    }
                    Some(entry) if entry.code == Code::SUFFIX => {
                        let word = entry.suffix();
                        let address = self.nodes.suffix_address(word);
                        P::touch(SUFFIX_POINT, address, word.record_bytes()).await;
                    }
                    Some(_) => {}
                }
                match self.remove_here(
                    local,
                    border,
                    version,
                    (key, depth),
                    expected,
                    &mut observer,
                ) {
                    Removal::Done(value) => return value,
                    Removal::StartAgain => continue 'tree,
                }
            }
        }
    }

    fn remove_here<O: Observer>(
        &self,
        local: &Local,
        border: &Border,
        version: Version,
        (key, depth): (&[u8], usize),
        expected: Option<u64>,
        observer: &mut O,
    ) -> Removal {
        let tail = &key[depth * PIECE_BYTES..];
        let mut latch = border.word.latch();
        let before = latch.version();
        if before.has_moved_since(version) {
            return Removal::StartAgain;
        }
        let Some(slot) = border.find(Piece::of(tail)) else {
            return Removal::StartAgain;
        };
        let entry = border.entry(slot);
        let value = match entry.code {
            Code::LAYER => return Removal::StartAgain,
            Code::SUFFIX => {
                let suffix = self.nodes.suffix(entry.suffix());
                if *suffix.bytes != tail[PIECE_BYTES..] {
                    if O::ACTIVE {
                        let id = self.nodes.border_id(border);
                        observer.depended(NodeVersion::new(id, before));
                    }
                    return Removal::Done(None);
                }
                suffix.value
            }
            _ => entry.word,
        };
        if expected.is_some_and(|expected| expected != value) {
            return Removal::Done(None);
        }
        latch.inserting();
        border.remove(slot);
        let is_empty = border.permutation().len() == 0;
        self.report_change(border, before, &latch, observer);
        drop(latch);
        if entry.code == Code::SUFFIX {
            self.nodes.retire_suffix(local, entry.suffix());
        }
        if is_empty {
            self.unlink_empty(local, key, depth, border, observer);
        }
        Removal::Done(Some(value))
    }
}
