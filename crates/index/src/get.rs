//! Point lookup.
//!
//! Normally two lines of the border: the header, whose fingerprints and codes
//! tell which slot may hold the key (one line and done when none does), then the
//! line of that slot. Everything read is validated against the version under
//! which the border was reached; a change that keeps the border's range repeats
//! only the border. A suffix record is immutable, so the lookup is over, for
//! the purpose of ordering, when the word that names it is validated; what
//! comes after is a comparison.

use std::future::Future;

use interleave::Policy;
use memory::{LINE_BYTES, Pin};

use crate::{
    descend::{Descent, NODE_POINT, Onward, SLOT_POINT, SUFFIX_POINT},
    key::{PIECE_BYTES, Piece},
    node::{Code, Entry},
    observe::{NodeVersion, Observer},
    tree::Tree,
};

impl Tree {
    /// The value of `key`.
    ///
    /// # Suspension
    /// At each line that is probably not in the cache, under policy `P`.
    #[inline]
    pub fn get<P: Policy>(&self, pin: &Pin<'_>, key: &[u8]) -> impl Future<Output = Option<u64>> {
        self.get_observed::<P, ()>(pin, key, ())
    }

    /// [`Tree::get`] that tells `observer` on which border an absence depends.
    /// (A presence is the business of whoever owns the record.)
    ///
    /// # Suspension
    /// As for [`Tree::get`].
    #[inline]
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` would keep the pin in its state; the type's lifetime is enough"
    )]
    pub fn get_observed<P: Policy, O: Observer>(
        &self,
        _pin: &Pin<'_>,
        key: &[u8],
        observer: O,
    ) -> impl Future<Output = Option<u64>> {
        async move {
            let mut observer = observer;
            let mut root = self.root();
            let mut depth = 0;
            loop {
                let slice = Piece::of(&key[depth * PIECE_BYTES..]).slice;
                let mut descent = Descent::<LINE_BYTES>::new(root, depth, slice);
                if let Some((address, bytes)) = descent.root_touch(self) {
                    P::touch(NODE_POINT, address, bytes).await;
                }
                let arrived = loop {
                    match descent.advance(self) {
                        Onward::Touch(address, bytes) => {
                            P::touch(NODE_POINT, address, bytes).await;
                        }
                        Onward::Border(border, version) => break Some((border, version)),
                        Onward::Moved => break None,
                    }
                };
                let Some((border, mut version)) = arrived else {
                    root = self.root();
                    depth = 0;
                    continue;
                };
                let found = loop {
                    let piece = Piece::of(&key[depth * PIECE_BYTES..]);
                    let mut candidates = border.candidates(piece);
                    let mut found = Entry::NONE;
                    while candidates != 0 {
                        let slot = candidates.trailing_zeros() as usize;
                        P::touch(SLOT_POINT, border.slot_address(slot), LINE_BYTES / 4).await;
                        let slot = candidates.trailing_zeros() as usize;
                        let entry = border.entry(slot);
                        if entry.slice == Piece::of(&key[depth * PIECE_BYTES..]).slice {
                            found = entry;
                            break;
                        }
                        candidates &= candidates - 1;
                    }
                    if !border.word.has_changed_since(version) {
                        break Some(found);
                    }
                    let now = border.word.stable();
                    if now.has_moved_since(version) {
                        break None;
                    }
                    version = now;
                };
                match found {
                    None => {
                        root = self.root();
                        depth = 0;
                        continue;
                    }
                    Some(entry) => match entry.code {
                        Code::FREE => {}
                        Code::LAYER => {
                            root = entry.layer();
                            depth += 1;
                            continue;
                        }
                        Code::SUFFIX => {
                            let word = entry.suffix();
                            if word.suffix_bytes() == key.len() - (depth + 1) * PIECE_BYTES {
                                let address = self.nodes.suffix_address(word);
                                P::touch(SUFFIX_POINT, address, word.record_bytes()).await;
                                let suffix = self.nodes.suffix(word);
                                if *suffix.bytes == key[(depth + 1) * PIECE_BYTES..] {
                                    return Some(suffix.value);
                                }
                            }
                        }
                        _ => return Some(entry.word),
                    },
                }
                if O::ACTIVE {
                    observer.depended(NodeVersion::new(self.nodes.border_id(border), version));
                }
                return None;
            }
        }
    }
}
