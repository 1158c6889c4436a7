//! Point lookup.
//!
//! Normally two lines of the border: the header, whose fingerprints and codes
//! tell which slot may hold the key (one line and done when none does), then the
//! line of that slot. Everything read is validated against the version under
//! which the border was reached; a change that keeps the border's range repeats
//! only the border. A suffix record is immutable, so the lookup is over, for
//! the purpose of ordering, when the word that names it is validated; what
//! comes after is a comparison.

use interleave::Policy;
use memory::{LINE_BYTES, Pin};

use crate::{
    descend::{SLOT_POINT, SUFFIX_POINT},
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
    pub async fn get<P: Policy>(&self, pin: &Pin<'_>, key: &[u8]) -> Option<u64> {
        self.get_observed::<P, ()>(pin, key, ()).await
    }

    /// [`Tree::get`] that tells `observer` on which border an absence depends.
    /// (A presence is the business of whoever owns the record.)
    ///
    /// # Suspension
    /// As for [`Tree::get`].
    #[inline]
    pub async fn get_observed<P: Policy, O: Observer>(
        &self,
        pin: &Pin<'_>,
        key: &[u8],
        mut observer: O,
    ) -> Option<u64> {
        'tree: loop {
            let mut root = self.root();
            let mut depth = 0;
            'layer: loop {
                let tail = &key[depth * PIECE_BYTES..];
                let piece = Piece::of(tail);
                let Some((border, mut version)) = self
                    .descend::<P, LINE_BYTES>(pin, root, depth, piece.slice)
                    .await
                else {
                    continue 'tree;
                };
                let entry = 'border: loop {
                    let mut candidates = border.candidates(piece);
                    let mut found = Entry::NONE;
                    while candidates != 0 {
                        let slot = candidates.trailing_zeros() as usize;
                        P::touch(SLOT_POINT, border.slot_address(slot), LINE_BYTES / 4).await;
                        let entry = border.entry(slot);
                        if entry.slice == piece.slice {
                            found = entry;
                            break;
                        }
                        candidates &= candidates - 1;
                    }
                    if !border.word.has_changed_since(version) {
                        break 'border found;
                    }
                    let now = border.word.stable();
                    if now.has_moved_since(version) {
                        continue 'tree;
                    }
                    version = now;
                };
                match entry.code {
                    Code::FREE => {}
                    Code::LAYER => {
                        root = entry.layer();
                        depth += 1;
                        continue 'layer;
                    }
                    Code::SUFFIX => {
                        let word = entry.suffix();
                        if word.suffix_bytes() == tail.len() - PIECE_BYTES {
                            let address = self.nodes.suffix_address(word);
                            P::touch(SUFFIX_POINT, address, word.record_bytes()).await;
                            let suffix = self.nodes.suffix(word);
                            if *suffix.bytes == key[(depth + 1) * PIECE_BYTES..] {
                                return Some(suffix.value);
                            }
                        }
                    }
                    _ => return Some(entry.word),
                }
                if O::ACTIVE {
                    observer.depended(NodeVersion::new(self.nodes.border_id(border), version));
                }
                return None;
            }
        }
    }
}
