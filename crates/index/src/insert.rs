//! Insertion.
//!
//! The descent suspends, the change does not: the whole border is touched before its latch is
//! taken, and from there to the release there is no suspension. Between reaching the border (at
//! version v) and latching it anything may happen:
//!
//! ```text
//! inserter of k                         others
//! border B responsible for k at v
//!                                       insert or remove in B   -> search again
//!                                       split B, k goes right   -> start again
//!                                       empty and unlink B      -> start again
//! latch B, compare with v
//! ```
//! The split counter and the deleted bit tell the last two from the first.
//! Memory is taken before anything is marked, so that exhaustion changes nothing.

use std::{fmt, future::Future};

use interleave::Policy;
use memory::{Exhausted, Local, Pin};

use crate::{
    descend::SUFFIX_POINT,
    key::{KEY_BYTES_MAX, PIECE_BYTES, Piece},
    node::{BORDER_BYTES, BORDER_SLOTS, Border, Code, Entry, Version},
    observe::Observer,
    tree::Tree,
};

/// Result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The key was absent and is now there.
    New,
    /// The key was there, with this value; nothing was changed.
    Present(u64),
}

/// Reason why an insertion did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError {
    /// The memory limit is reached. The insertion may be retried once memory was freed.
    Exhausted,
    /// The key has more than [`KEY_BYTES_MAX`] bytes. A retry is useless.
    KeyTooLong,
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InsertError::Exhausted => Exhausted.fmt(f),
            InsertError::KeyTooLong => {
                write!(f, "the key is too long; use at most {KEY_BYTES_MAX} bytes")
            }
        }
    }
}

impl std::error::Error for InsertError {}

impl From<Exhausted> for InsertError {
    fn from(_: Exhausted) -> InsertError {
        InsertError::Exhausted
    }
}

/// A key on its way into a border: the parts that do not change meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Newcomer<'k> {
    pub(crate) key: &'k [u8],
    pub(crate) depth: usize,
    pub(crate) piece: Piece,
    pub(crate) value: u64,
}

impl<'k> Newcomer<'k> {
    /// Returns the bytes after the piece.
    pub(crate) fn suffix(&self) -> &'k [u8] {
        &self.key[(self.depth + 1) * PIECE_BYTES..]
    }
}

impl Tree {
    /// Inserts `key` with `value` if absent; otherwise changes nothing and returns the present
    /// value.
    ///
    /// # Errors
    /// [`InsertError::KeyTooLong`] if the key is longer than [`KEY_BYTES_MAX`];
    /// [`InsertError::Exhausted`] if the memory limit is reached, in which case the tree is as
    /// before.
    ///
    /// # Suspension
    /// Suspends before the change, at each line that is probably not in the cache.
    ///
    /// # Cancellation
    /// A future dropped before it is ready has changed nothing.
    #[inline]
    pub fn insert<P: Policy>(
        &self,
        local: &Local,
        pin: &Pin<'_>,
        key: &[u8],
        value: u64,
    ) -> impl Future<Output = Result<Inserted, InsertError>> {
        self.insert_observed::<P, ()>(local, pin, key, value, ())
    }

    /// Inserts as [`Tree::insert`] does, and reports the node versions changed to the observer.
    ///
    /// # Errors
    /// The errors of [`Tree::insert`].
    ///
    /// # Suspension
    /// Suspends where [`Tree::insert`] does.
    pub async fn insert_observed<P: Policy, O: Observer>(
        &self,
        local: &Local,
        _pin: &Pin<'_>,
        key: &[u8],
        value: u64,
        mut observer: O,
    ) -> Result<Inserted, InsertError> {
        if key.len() > KEY_BYTES_MAX {
            return Err(InsertError::KeyTooLong);
        }
        self.nodes.debug_assert_local(local);
        'tree: loop {
            let mut root = self.root();
            let mut depth = 0;
            loop {
                let piece = Piece::of(&key[depth * PIECE_BYTES..]);
                let Some((border, version)) = self
                    .descend::<P, BORDER_BYTES>(root, depth, piece.slice)
                    .await
                else {
                    continue 'tree;
                };
                if piece.is_long()
                    && let Some(slot) = border.find(piece)
                {
                    let entry = border.entry(slot);
                    if border.word.has_changed_since(version) {
                        continue 'tree;
                    }
                    if entry.code == Code::LAYER {
                        root = entry.layer();
                        depth += 1;
                        continue;
                    }
                    // The record will be compared under the latch, where there is no time for a
                    // cache miss.
                    let word = entry.suffix();
                    let address = self.nodes.suffix_address(word);
                    P::touch(SUFFIX_POINT, address, word.record_bytes()).await;
                }
                let newcomer = Newcomer {
                    key,
                    depth,
                    piece,
                    value,
                };
                match self.insert_here(local, border, version, newcomer, &mut observer)? {
                    Some(inserted) => return Ok(inserted),
                    None => continue 'tree,
                }
            }
        }
    }

    /// Puts the newcomer in the border that was responsible for it at `version`. Returns `None` if
    /// the border is not responsible any more, or a layer has come between.
    fn insert_here<O: Observer>(
        &self,
        local: &Local,
        border: &Border,
        version: Version,
        newcomer: Newcomer<'_>,
        observer: &mut O,
    ) -> Result<Option<Inserted>, Exhausted> {
        let mut latch = border.word.latch();
        let before = latch.version();
        if before.has_moved_since(version) {
            return Ok(None);
        }
        let piece = newcomer.piece;
        if let Some(slot) = border.find(piece) {
            let entry = border.entry(slot);
            match entry.code {
                Code::LAYER => return Ok(None),
                Code::SUFFIX => {
                    let suffix = self.nodes.suffix(entry.suffix());
                    if suffix.bytes == newcomer.suffix() {
                        return Ok(Some(Inserted::Present(suffix.value)));
                    }
                    let root = self.new_layer(local, suffix, newcomer)?;
                    latch.inserting();
                    border.replace(slot, Code::LAYER, root.0.into());
                    if O::ACTIVE {
                        self.report_layer(self.nodes.border_id(border), root, observer);
                    }
                    self.nodes.retire_suffix(local, entry.suffix());
                }
                _ => return Ok(Some(Inserted::Present(entry.word))),
            }
        } else {
            let entry = self.new_entry(local, newcomer)?;
            if border.permutation().len() == BORDER_SLOTS {
                let split = self.split_and_insert(local, border, latch, newcomer, entry, observer);
                if split.is_err() {
                    self.free_entry(local, entry);
                }
                return split.map(|()| Some(Inserted::New));
            }
            latch.inserting();
            border.insert(border.rank(piece), entry);
        }
        self.report_change(border, before, &latch, observer);
        Ok(Some(Inserted::New))
    }

    /// Returns the entry for a newcomer, with its suffix record if it needs one.
    pub(crate) fn new_entry(
        &self,
        local: &Local,
        newcomer: Newcomer<'_>,
    ) -> Result<Entry, Exhausted> {
        let Piece { slice, class } = newcomer.piece;
        Ok(if newcomer.piece.is_long() {
            let word = self
                .nodes
                .new_suffix(local, newcomer.value, newcomer.suffix())?;
            Entry {
                slice,
                code: Code::SUFFIX,
                word: word.0,
            }
        } else {
            Entry {
                slice,
                code: Code(class),
                word: newcomer.value,
            }
        })
    }

    /// Frees the memory that `new_entry` took, if the entry was not linked.
    pub(crate) fn free_entry(&self, local: &Local, entry: Entry) {
        if entry.code == Code::SUFFIX {
            self.nodes.free_suffix(local, entry.suffix());
        }
    }
}
