//! Point lookup, as steps from one touch to the next.
//!
//! This is the only body of a lookup. [`look_up!`](crate::look_up) awaits each touch under a
//! policy: for [`Tree::get`], and for the engine within its own operations, so that a whole read is
//! one coroutine; the AMAC baseline keeps several lookups in a ring. A lookup consists of steps
//! rather than being an `async fn`, because a coroutine within a coroutine costs an indirect jump
//! and a register spill per switch.
//!
//! A lookup normally reads two lines of the border: the header, whose fingerprints and codes tell
//! which slot may hold the key (one line and done if none does), then the line of that slot. All
//! reads are validated against the version under which the border was reached; a change that keeps
//! the border's range repeats only the border. A suffix record is immutable, so the lookup is over,
//! for the purpose of ordering, when the word that names it is validated; the rest is a comparison.

use memory::{LINE_BYTES, Pin};

use crate::{
    descend::{Descent, Onward},
    key::{PIECE_BYTES, Piece},
    node::{Border, Code, Entry, SuffixWord, Version},
    observe::NodeVersion,
    tree::Tree,
};

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Memory (address, bytes) that is read next.
    Touch(*const u8, usize),
    /// The lookup is over.
    Done(Option<u64>),
}

/// Place where a lookup goes on.
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

/// Steps a [`Lookup`] to its end and evaluates to the value of its key, if there is one. Suspends
/// under the policy at each touch, which is named by the point and the depth.
///
/// A macro, because it is to be a part of the coroutine that it stands in: see the
/// module text.
#[macro_export]
macro_rules! look_up {
    ($policy:ty, $point:expr, $lookup:ident) => {
        loop {
            match $lookup.step() {
                $crate::Step::Touch(address, bytes) => {
                    <$policy>::touch($point.at($lookup.touches()), address, bytes).await
                }
                $crate::Step::Done(found) => break found,
            }
        }
    };
}

/// A lookup under way. Step it until it is done, all under one pin.
pub struct Lookup<'t, 'k> {
    tree: &'t Tree,
    stage: Stage<'t>,
    piece: Piece,
    tail: &'k [u8],
    key: &'k [u8],
    /// Border, at its version, that shows the key to be there, or absent.
    found_in: Option<(&'t Border, Version)>,
    touches: u8,
}

impl<'t, 'k> Lookup<'t, 'k> {
    /// Returns a lookup of `key`; nothing is read yet.
    #[inline]
    pub fn new(tree: &'t Tree, _pin: &Pin<'_>, key: &'k [u8]) -> Lookup<'t, 'k> {
        let piece = Piece::of(key);
        Lookup {
            tree,
            stage: Stage::Descent(Descent::new(tree.root(), 0, piece.slice)),
            piece,
            tail: key,
            key,
            found_in: None,
            touches: 0,
        }
    }

    /// Returns the touches so far: how deep into its work the lookup is.
    #[inline(always)]
    pub fn touches(&self) -> u8 {
        self.touches
    }

    /// Goes on to the next touch or to the end. The caller brings the memory that it is told to
    /// touch into the cache, or does not, before it calls again.
    #[inline(always)]
    pub fn step(&mut self) -> Step {
        self.touches = self.touches.wrapping_add(1);
        loop {
            let step = match &mut self.stage {
                Stage::Descent(descent) => match descent.advance(self.tree) {
                    Onward::Touch(address, bytes) => return Step::Touch(address, bytes),
                    Onward::Border(border, version) => self.border(border, version),
                    Onward::Moved => None,
                },
                &mut Stage::Slot {
                    border,
                    version,
                    candidates,
                } => self.slot(border, version, candidates),
                &mut Stage::Suffix(word) => {
                    let suffix = self.tree.nodes.suffix(word);
                    let is_key = *suffix.bytes == self.tail[PIECE_BYTES..];
                    Some(Step::Done(is_key.then_some(suffix.value)))
                }
            };
            match step {
                Some(step) => return step,
                None => self.start_again(),
            }
        }
    }

    /// Returns the border on which the answer depends, once the lookup is done.
    #[inline]
    pub fn found_in(&self) -> Option<NodeVersion> {
        let (border, version) = self.found_in?;
        Some(NodeVersion::new(self.tree.nodes.border_id(border), version))
    }

    #[cold]
    fn start_again(&mut self) {
        self.tail = self.key;
        self.piece = Piece::of(self.key);
        self.stage = Stage::Descent(Descent::new(self.tree.root(), 0, self.piece.slice));
    }

    #[inline(always)]
    fn border(&mut self, border: &'t Border, version: Version) -> Option<Step> {
        let candidates = border.candidates(self.piece);
        self.next_candidate(border, version, candidates)
    }

    #[inline(always)]
    fn next_candidate(
        &mut self,
        border: &'t Border,
        version: Version,
        candidates: u32,
    ) -> Option<Step> {
        if candidates == 0 {
            return self.conclude(border, version, Entry::NONE);
        }
        let slot = candidates.trailing_zeros() as usize;
        self.stage = Stage::Slot {
            border,
            version,
            candidates,
        };
        Some(Step::Touch(border.slot_address(slot), LINE_BYTES / 4))
    }

    #[inline(always)]
    fn slot(&mut self, border: &'t Border, version: Version, candidates: u32) -> Option<Step> {
        let entry = border.entry(candidates.trailing_zeros() as usize);
        if entry.slice != self.piece.slice {
            return self.next_candidate(border, version, candidates & (candidates - 1));
        }
        self.conclude(border, version, entry)
    }

    /// Validates the reads of the border; returns `None` if the range may have moved.
    #[inline(always)]
    fn conclude(&mut self, border: &'t Border, version: Version, entry: Entry) -> Option<Step> {
        if border.word.has_changed_since(version) {
            return self.border_changed(border, version);
        }
        self.found_in = Some((border, version));
        match entry.code {
            Code::FREE => Some(Step::Done(None)),
            Code::LAYER => {
                self.tail = &self.tail[PIECE_BYTES..];
                self.piece = Piece::of(self.tail);
                let descent = Descent::new(entry.layer(), 1, self.piece.slice);
                let (address, bytes) = descent.root_touch(self.tree);
                self.stage = Stage::Descent(descent);
                Some(Step::Touch(address, bytes))
            }
            Code::SUFFIX => {
                let word = entry.suffix();
                if word.suffix_bytes() != self.tail.len() - PIECE_BYTES {
                    return Some(Step::Done(None));
                }
                let address = self.tree.nodes.suffix_address(word);
                self.stage = Stage::Suffix(word);
                Some(Step::Touch(address, word.record_bytes()))
            }
            _ => Some(Step::Done(Some(entry.word))),
        }
    }

    /// Reads the border again if it still holds the slice.
    #[cold]
    fn border_changed(&mut self, border: &'t Border, version: Version) -> Option<Step> {
        let now = border.word.stable();
        if now.has_moved_since(version) {
            return None;
        }
        self.border(border, now)
    }
}
