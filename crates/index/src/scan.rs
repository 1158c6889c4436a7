//! Ordered scans, one border node per step.
//!
//! A scan knows its position in two ways. The *mark* is a key (with a flag whether that key itself
//! is still due): all keys before it, in scan order, have been handed out. The mark is always
//! right, and a descent by it always finds the way back. The *place* is a node and spares that
//! descent; it is given up for the mark whenever a check fails:
//!
//! - Forward to the right neighbour: it must not be deleted. Its range may have
//!   grown downward (it took over an empty neighbour's), never upward at its
//!   lower end, so nothing is skipped, and keys before the mark are filtered.
//! - Backward to the left neighbour `p` of `n`: it must not be deleted, and its
//!   `next` must still be `n`:
//!
//! ```text
//! scan, read n, goes to p                splitter of p
//!                                        p gives its upper half to q
//!                                        p.next = q, q.next = n, n.prev = q
//! reads p alone: q would be skipped, but p.next is q, not n: by the mark
//! ```
//! - Into a deeper layer by its root: it must still be a living root.
//!
//! Each node's entries are copied at one version and validated before they are used; suffix
//! records, which are immutable, are fetched after that. Each batch is therefore consistent by
//! itself, and a scan as a whole is not a snapshot: a caller that needs one observes the versions
//! ([`crate::Observer`]).
//!
//! In a deeper layer with prefix `K` (the pieces above it), going up again means
//! the mark "just after everything that begins with K" forward and "K and what
//! comes before it" backward.

mod batch;

use std::{future::Future, ops::Bound};

use interleave::Policy;
use memory::Pin;

use crate::{
    descend::{NODE_POINT, SUFFIX_POINT},
    key::{PIECE_BYTES, Piece},
    node::{BORDER_BYTES, Border, Code, Entry, NodeId, Version},
    observe::{NodeVersion, Observer},
    tree::Tree,
};

pub use batch::Batch;

/// Direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// Way to the next border. Ids are valid only under the pin they were read under.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// A descent by the mark.
    ByMark,
    /// The right neighbour of the last border.
    Next(NodeId),
    /// The left neighbour of the last border, `of`.
    Prev { node: NodeId, of: NodeId },
    /// The first border, in scan order, of the layer with this root.
    Inside(NodeId),
    /// No border: the range is exhausted.
    Exhausted,
}

/// A scan over a range of a tree. Made by [`Tree::scan`].
#[derive(Debug)]
pub struct Scan<'t> {
    tree: &'t Tree,
    direction: Direction,
    mark: Mark,
    end: Bound<Vec<u8>>,
    /// Pieces above the layer of `place`.
    prefix: Vec<u8>,
    place: Place,
    /// Epoch of the pin under which `place` was found.
    epoch: u64,
}

/// Position of a scan, by key.
#[derive(Debug)]
struct Mark {
    /// Whether the mark counts; false: no key was handed out yet and the range has no bound.
    is_set: bool,
    is_due: bool,
    key: Vec<u8>,
}

impl Mark {
    fn set(&mut self, key: &[u8], is_due: bool) {
        self.is_set = true;
        self.is_due = is_due;
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    /// Returns the part of the mark in the layer below `prefix`; `None` if the mark lies outside,
    /// and so before, all of that layer.
    fn tail(&self, prefix: &[u8]) -> Option<&[u8]> {
        let tail = self.key.strip_prefix(prefix)?;
        // A deeper layer's keys are all longer than its prefix.
        (self.is_set && (prefix.is_empty() || !tail.is_empty())).then_some(tail)
    }
}

impl Tree {
    /// Returns a scan of the keys within `range` in `direction`. The bounds are copied.
    pub fn scan<'t>(
        &'t self,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
    ) -> Scan<'t> {
        let (start, end) = match direction {
            Direction::Forward => range,
            Direction::Backward => (range.1, range.0),
        };
        let (is_set, is_due, key) = match start {
            Bound::Unbounded => (false, true, Vec::new()),
            Bound::Included(key) => (true, true, key.to_vec()),
            Bound::Excluded(key) => (true, false, key.to_vec()),
        };
        Scan {
            tree: self,
            direction,
            mark: Mark {
                is_set,
                is_due,
                key,
            },
            end: end.map(<[u8]>::to_vec),
            prefix: Vec::new(),
            place: Place::ByMark,
            epoch: 0,
        }
    }
}

impl Scan<'_> {
    /// Fills `batch` with the next keys in order: at least one, all of one border node at one
    /// version. Returns false if the range is exhausted.
    ///
    /// Between calls the scan remembers a node. The scan notices when a pin of another epoch is
    /// used and then finds its way by the mark.
    ///
    /// # Suspension
    /// Suspends at each line that is probably not in the cache.
    #[inline]
    pub fn next<P: Policy>(
        &mut self,
        pin: &Pin<'_>,
        batch: &mut Batch,
    ) -> impl Future<Output = bool> {
        self.next_observed::<P, ()>(pin, batch, ())
    }

    /// Forgets the node position. The next step finds its way by the mark.
    pub fn release(&mut self) {
        if !matches!(self.place, Place::Exhausted) {
            self.place = Place::ByMark;
        }
    }

    /// Fills `batch` as [`Scan::next`] does, and reports every border it read.
    ///
    /// # Suspension
    /// Suspends where [`Scan::next`] does.
    pub async fn next_observed<P: Policy, O: Observer>(
        &mut self,
        pin: &Pin<'_>,
        batch: &mut Batch,
        mut observer: O,
    ) -> bool {
        batch.clear();
        // A node found under a pin of another epoch may be gone by now.
        if self.epoch != pin.epoch() {
            self.release();
            self.epoch = pin.epoch();
        }
        while batch.is_empty() {
            let (border, version) = match self.place {
                Place::Exhausted => return false,
                Place::Next(id) | Place::Prev { node: id, .. } => {
                    let address = self.tree.nodes.address(id);
                    P::touch(NODE_POINT, address, BORDER_BYTES).await;
                    let border = self.tree.nodes.at(id).border();
                    (border, border.word.stable())
                }
                Place::ByMark | Place::Inside(_) => {
                    let root = match self.place {
                        Place::Inside(root) => root,
                        _ => {
                            self.prefix.clear();
                            self.tree.root()
                        }
                    };
                    let depth = self.prefix.len() / PIECE_BYTES;
                    let slice = self.slice_wanted();
                    let Some(found) = self
                        .tree
                        .descend::<P, BORDER_BYTES>(root, depth, slice)
                        .await
                    else {
                        self.place = Place::ByMark;
                        continue;
                    };
                    found
                }
            };
            let Some(beside) = self.collect(border, version, batch) else {
                self.place = Place::ByMark;
                continue;
            };
            let id = self.tree.nodes.border_id(border);
            if O::ACTIVE {
                observer.depended(NodeVersion::new(id, version));
            }
            if let Some((address, bytes)) = self.prefetch_suffixes::<P>(batch) {
                P::touch(SUFFIX_POINT, address, bytes).await;
            }
            let below = self.hand_out(batch);
            if let Some(key) = batch.last_key() {
                self.mark.set(key, false);
            }
            if !matches!(self.place, Place::Exhausted) {
                self.go_on::<P>(below, beside, id);
            }
        }
        true
    }

    /// Returns the slice whose border comes next when a layer is entered from its root.
    fn slice_wanted(&self) -> u64 {
        match (self.mark.tail(&self.prefix), self.direction) {
            (Some(tail), _) => Piece::of(tail).slice,
            (None, Direction::Forward) => 0,
            (None, Direction::Backward) => u64::MAX,
        }
    }

    /// Copies the entries due from a border, up to the first layer, and returns the neighbour to go
    /// to afterwards. Returns `None` if the border has changed since `version`, or is not where it
    /// must be.
    fn collect(&self, border: &Border, version: Version, batch: &mut Batch) -> Option<NodeId> {
        let entries = &mut batch.entries;
        entries.len = 0;
        let from = self.mark.tail(&self.prefix).map(Piece::of);
        let permutation = border.permutation();
        let len = permutation.len();
        for index in 0..len {
            let rank = match self.direction {
                Direction::Forward => index,
                Direction::Backward => len - 1 - index,
            };
            let entry = border.entry(permutation.slot(rank));
            if from.is_some_and(|from| self.is_before(entry.piece(), from)) {
                continue;
            }
            // A mixture of versions may have a count of up to 15, as any version.
            entries.all[entries.len] = entry;
            entries.len += 1;
            if entry.code == Code::LAYER {
                break;
            }
        }
        let (next, prev) = (border.next(), border.prev());
        if border.word.has_changed_since(version) || version.is_deleted() {
            return None;
        }
        match (self.place, self.direction) {
            (Place::Prev { of, .. }, _) if next != of => None,
            (_, Direction::Forward) => Some(next),
            (_, Direction::Backward) => Some(prev),
        }
    }

    /// Returns whether an entry comes before the mark's piece and is no longer due. A long piece
    /// that equals the mark's is decided by the bytes after it.
    #[inline]
    fn is_before(&self, piece: Piece, mark: Piece) -> bool {
        if piece == mark {
            return !piece.is_long() && !self.mark.is_due;
        }
        match self.direction {
            Direction::Forward => piece < mark,
            Direction::Backward => piece > mark,
        }
    }

    /// Announces the suffix records of the collected entries and returns one to wait for.
    fn prefetch_suffixes<P: Policy>(&self, batch: &Batch) -> Option<(*const u8, usize)> {
        let mut last = None;
        for entry in &batch.entries.all[..batch.entries.len] {
            if entry.code == Code::SUFFIX {
                let word = entry.suffix();
                let address = self.tree.nodes.suffix_address(word);
                P::prefetch(address, word.record_bytes());
                last = Some((address, word.record_bytes()));
            }
        }
        last
    }

    /// Makes keys of the collected entries. Returns the layer to go into, if that comes next.
    fn hand_out(&mut self, batch: &mut Batch) -> Option<Entry> {
        for index in 0..batch.entries.len {
            let entry = batch.entries.all[index];
            let piece = entry.slice.to_be_bytes();
            match entry.code {
                Code::LAYER => {
                    if self.is_layer_beyond(&piece) {
                        self.place = Place::Exhausted;
                        return None;
                    }
                    return Some(entry);
                }
                Code::SUFFIX => {
                    let suffix = self.tree.nodes.suffix(entry.suffix());
                    if !self.is_suffix_due(entry.piece(), suffix.bytes) {
                        continue;
                    }
                    batch.push(&self.prefix, &piece, suffix.bytes, suffix.value);
                }
                Code(len) => batch.push(&self.prefix, &piece[..len.into()], &[], entry.word),
            }
            if batch.last_key().is_some_and(|key| self.is_beyond(key)) {
                batch.pop();
                self.place = Place::Exhausted;
                return None;
            }
        }
        None
    }

    fn is_suffix_due(&self, piece: Piece, suffix: &[u8]) -> bool {
        let Some(tail) = self.mark.tail(&self.prefix) else {
            return true;
        };
        if Piece::of(tail) != piece {
            return true;
        }
        let marked = &tail[PIECE_BYTES..];
        match self.direction {
            _ if suffix == marked => self.mark.is_due,
            Direction::Forward => suffix > marked,
            Direction::Backward => suffix < marked,
        }
    }

    fn is_beyond(&self, key: &[u8]) -> bool {
        match (&self.end, self.direction) {
            (Bound::Unbounded, _) => false,
            (Bound::Included(end), Direction::Forward) => key > end.as_slice(),
            (Bound::Excluded(end), Direction::Forward) => key >= end.as_slice(),
            (Bound::Included(end), Direction::Backward) => key < end.as_slice(),
            (Bound::Excluded(end), Direction::Backward) => key <= end.as_slice(),
        }
    }

    /// Returns whether all of the layer below `piece` lies beyond the end.
    fn is_layer_beyond(&self, piece: &[u8; PIECE_BYTES]) -> bool {
        let (Bound::Included(end) | Bound::Excluded(end)) = &self.end else {
            return false;
        };
        let above = [self.prefix.as_slice(), piece].concat();
        match self.direction {
            Direction::Forward => *end <= above,
            Direction::Backward => *end > above && !end.starts_with(&above),
        }
    }

    /// Decides where the next step begins: in the layer below, beside, or above.
    fn go_on<P: Policy>(&mut self, below: Option<Entry>, beside: NodeId, id: NodeId) {
        if let Some(entry) = below {
            self.prefix.extend_from_slice(&entry.slice.to_be_bytes());
            self.place = Place::Inside(entry.layer());
        } else if beside.is_some() {
            P::prefetch(self.tree.nodes.address(beside), BORDER_BYTES);
            self.place = match self.direction {
                Direction::Forward => Place::Next(beside),
                Direction::Backward => Place::Prev {
                    node: beside,
                    of: id,
                },
            };
        } else {
            self.go_up();
        }
    }

    fn go_up(&mut self) {
        self.place = Place::ByMark;
        match self.direction {
            _ if self.prefix.is_empty() => self.place = Place::Exhausted,
            Direction::Backward => self.mark.set(&self.prefix, true),
            Direction::Forward => {
                // The first key after all that begin with the prefix: its last
                // byte that can be incremented, incremented.
                while self.prefix.last() == Some(&u8::MAX) {
                    self.prefix.pop();
                }
                match self.prefix.last_mut() {
                    Some(last) => {
                        *last += 1;
                        self.mark.set(&self.prefix, true);
                    }
                    None => self.place = Place::Exhausted,
                }
            }
        }
    }
}
