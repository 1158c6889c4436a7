//! Lookup as a hand-written state machine.
//!
//! The same steps as `descend.rs` and `get.rs`, cut at each prefetch. One step
//! runs from one prefetch to the next.

use interleave::{Policy, Prefetching};
use memory::{LINE_BYTES, Pin};

use crate::{
    descend::refreshed,
    key::{PIECE_BYTES, Piece},
    node::{Border, Code, Entry, INTERIOR_BYTES, Interior, NodeId, NodeRef, SuffixWord, Version},
    tree::{HOT_LEVELS, Tree},
};

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A prefetch was issued: come back after a while.
    Pending,
    /// The lookup is over.
    Done(Option<u64>),
}

/// Where a lookup goes on.
#[derive(Clone, Copy)]
enum Stage<'t> {
    /// At the outermost root.
    Start,
    /// At the prefetched root of a deeper layer.
    Root(NodeRef<'t>),
    /// At the prefetched child of an interior node.
    Child {
        parent: &'t Interior,
        version: Version,
        child: NodeRef<'t>,
    },
    /// At the prefetched line of a border's slot.
    Slot {
        border: &'t Border,
        version: Version,
        candidates: u32,
    },
    /// At the prefetched suffix record.
    Suffix(SuffixWord),
}

/// One lookup under way. Step it until it is done, all under one pin.
pub struct AmacGet<'t, 'k> {
    tree: &'t Tree,
    stage: Stage<'t>,
    piece: Piece,
    level: u8,
    tail: &'k [u8],
    key: &'k [u8],
}

impl<'t, 'k> AmacGet<'t, 'k> {
    /// A lookup of `key`; nothing is read yet.
    #[inline]
    pub fn new(tree: &'t Tree, _pin: &Pin<'_>, key: &'k [u8]) -> AmacGet<'t, 'k> {
        AmacGet {
            tree,
            stage: Stage::Start,
            piece: Piece::of(key),
            level: 0,
            tail: key,
            key,
        }
    }

    /// Goes on to the next prefetch or to the end.
    #[inline]
    pub fn step(&mut self) -> Step {
        match self.stage {
            Stage::Child {
                parent,
                version,
                child,
            } => {
                let child_version = child.word().stable();
                if parent.word.has_changed_since(version) {
                    return match refreshed(parent, version) {
                        Some(version) => {
                            self.level -= 1;
                            self.search(parent, version)
                        }
                        None => self.start(),
                    };
                }
                self.at(child, child_version)
            }
            Stage::Slot {
                border,
                version,
                candidates,
            } => self.slot(border, version, candidates),
            Stage::Start => self.start(),
            Stage::Root(root) => self.root(root),
            Stage::Suffix(word) => {
                let suffix = self.tree.nodes.suffix(word);
                Step::Done((*suffix.bytes == self.tail[PIECE_BYTES..]).then_some(suffix.value))
            }
        }
    }

    fn start(&mut self) -> Step {
        self.level = 0;
        self.tail = self.key;
        self.piece = Piece::of(self.key);
        let root = self.tree.nodes.at(self.tree.root());
        self.root(root)
    }

    fn root(&mut self, root: NodeRef<'t>) -> Step {
        let version = root.word().stable();
        if !version.is_live_root() {
            self.stage = Stage::Start;
            return Step::Pending;
        }
        self.at(root, version)
    }

    #[inline(always)]
    fn at(&mut self, node: NodeRef<'t>, version: Version) -> Step {
        if version.is_border() {
            self.border(node.border(), version)
        } else {
            self.search(node.interior(), version)
        }
    }

    /// Finds the child in an interior node, on through the hot levels.
    #[inline(always)]
    fn search(&mut self, mut interior: &'t Interior, mut version: Version) -> Step {
        loop {
            let child = interior.child_for(self.piece.slice, version);
            if interior.word.has_changed_since(version) {
                match refreshed(interior, version) {
                    Some(now) => version = now,
                    None => {
                        self.stage = Stage::Start;
                        return Step::Pending;
                    }
                }
                continue;
            }
            let child = self.tree.nodes.at(child);
            self.level = self.level.saturating_add(1);
            if self.level >= HOT_LEVELS {
                let bytes = if version.is_over_borders() {
                    LINE_BYTES
                } else {
                    INTERIOR_BYTES
                };
                Prefetching::prefetch(child.address(), bytes);
                self.stage = Stage::Child {
                    parent: interior,
                    version,
                    child,
                };
                return Step::Pending;
            }
            let child_version = child.word().stable();
            if interior.word.has_changed_since(version) {
                self.stage = Stage::Start;
                return Step::Pending;
            }
            if child_version.is_border() {
                return self.border(child.border(), child_version);
            }
            interior = child.interior();
            version = child_version;
        }
    }

    #[inline(always)]
    fn border(&mut self, border: &'t Border, version: Version) -> Step {
        let candidates = border.candidates(self.piece);
        self.next_candidate(border, version, candidates)
    }

    #[inline(always)]
    fn next_candidate(&mut self, border: &'t Border, version: Version, candidates: u32) -> Step {
        if candidates == 0 {
            return self.conclude(border, version, Entry::NONE);
        }
        let slot = candidates.trailing_zeros() as usize;
        Prefetching::prefetch(border.slot_address(slot), LINE_BYTES / 4);
        self.stage = Stage::Slot {
            border,
            version,
            candidates,
        };
        Step::Pending
    }

    #[inline(always)]
    fn slot(&mut self, border: &'t Border, version: Version, candidates: u32) -> Step {
        let entry = border.entry(candidates.trailing_zeros() as usize);
        if entry.slice != self.piece.slice {
            return self.next_candidate(border, version, candidates & (candidates - 1));
        }
        self.conclude(border, version, entry)
    }

    #[inline(always)]
    fn conclude(&mut self, border: &'t Border, version: Version, entry: Entry) -> Step {
        if border.word.has_changed_since(version) {
            let now = border.word.stable();
            if now.has_moved_since(version) {
                self.stage = Stage::Start;
                return Step::Pending;
            }
            return self.border(border, now);
        }
        match entry.code {
            Code::FREE => Step::Done(None),
            Code::LAYER => self.enter(entry.layer()),
            Code::SUFFIX => {
                let word = entry.suffix();
                if word.suffix_bytes() != self.tail.len() - PIECE_BYTES {
                    return Step::Done(None);
                }
                let address = self.tree.nodes.suffix_address(word);
                Prefetching::prefetch(address, word.record_bytes());
                self.stage = Stage::Suffix(word);
                Step::Pending
            }
            _ => Step::Done(Some(entry.word)),
        }
    }

    fn enter(&mut self, root: NodeId) -> Step {
        self.tail = &self.tail[PIECE_BYTES..];
        self.piece = Piece::of(self.tail);
        self.level = HOT_LEVELS;
        let root = self.tree.nodes.at(root);
        Prefetching::prefetch(root.address(), LINE_BYTES);
        self.stage = Stage::Root(root);
        Step::Pending
    }
}

/// Looks `keys` up, `in_flight` at a time. `answers[i]` is the value of
/// `keys[i]`.
///
/// # Panics
/// When there are fewer answers than keys.
pub fn multi_get_amac<K: AsRef<[u8]>>(
    tree: &Tree,
    pin: &Pin<'_>,
    keys: &[K],
    answers: &mut [Option<u64>],
    in_flight: usize,
) {
    assert!(answers.len() >= keys.len());
    let mut waiting = keys.iter().enumerate();
    let mut ring: Vec<(usize, AmacGet<'_, '_>)> = waiting
        .by_ref()
        .take(in_flight.max(1))
        .map(|(index, key)| (index, AmacGet::new(tree, pin, key.as_ref())))
        .collect();
    while !ring.is_empty() {
        let mut place = 0;
        while place < ring.len() {
            let (index, lookup) = &mut ring[place];
            if let Step::Done(answer) = lookup.step() {
                answers[*index] = answer;
                match waiting.next() {
                    Some((next, key)) => {
                        *index = next;
                        *lookup = AmacGet::new(tree, pin, key.as_ref());
                        // Its first stage misses nothing: go on to its prefetch.
                        if let Step::Done(answer) = lookup.step() {
                            answers[next] = answer;
                        } else {
                            place += 1;
                        }
                    }
                    None => drop(ring.swap_remove(place)),
                }
                continue;
            }
            place += 1;
        }
    }
}
