//! Lookup as a hand-written state machine.
//!
//! The same steps as `descend.rs` and `get.rs`, cut at each prefetch. One step
//! runs from one prefetch to the next.

use interleave::{Policy, Prefetching};
use memory::{LINE_BYTES, Pin};

use crate::{
    descend::{Descent, Onward},
    key::{PIECE_BYTES, Piece},
    node::{Border, Code, Entry, SuffixWord, Version},
    tree::Tree,
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
    /// At the outermost root, or at a prefetched node.
    Descent(Descent<'t, LINE_BYTES>),
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
    tail: &'k [u8],
    key: &'k [u8],
}

impl<'t, 'k> AmacGet<'t, 'k> {
    /// A lookup of `key`; nothing is read yet.
    #[inline]
    pub fn new(tree: &'t Tree, _pin: &Pin<'_>, key: &'k [u8]) -> AmacGet<'t, 'k> {
        let piece = Piece::of(key);
        AmacGet {
            tree,
            stage: Stage::Descent(Descent::new(tree.root(), 0, piece.slice)),
            piece,
            tail: key,
            key,
        }
    }

    /// Goes on to the next prefetch or to the end.
    #[inline]
    pub fn step(&mut self) -> Step {
        match &mut self.stage {
            Stage::Descent(descent) => match descent.advance(self.tree) {
                Onward::Touch(address, bytes) => {
                    Prefetching::prefetch(address, bytes);
                    Step::Pending
                }
                Onward::Border(border, version) => self.border(border, version),
                Onward::Moved => self.start_again(),
            },
            &mut Stage::Slot {
                border,
                version,
                candidates,
            } => self.slot(border, version, candidates),
            &mut Stage::Suffix(word) => {
                let suffix = self.tree.nodes.suffix(word);
                Step::Done((*suffix.bytes == self.tail[PIECE_BYTES..]).then_some(suffix.value))
            }
        }
    }

    #[cold]
    fn start_again(&mut self) -> Step {
        self.tail = self.key;
        self.piece = Piece::of(self.key);
        self.stage = Stage::Descent(Descent::new(self.tree.root(), 0, self.piece.slice));
        Step::Pending
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
                return self.start_again();
            }
            return self.border(border, now);
        }
        match entry.code {
            Code::FREE => Step::Done(None),
            Code::LAYER => {
                self.tail = &self.tail[PIECE_BYTES..];
                self.piece = Piece::of(self.tail);
                let descent = Descent::new(entry.layer(), 1, self.piece.slice);
                if let Some((address, bytes)) = descent.root_touch(self.tree) {
                    Prefetching::prefetch(address, bytes);
                }
                self.stage = Stage::Descent(descent);
                Step::Pending
            }
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
