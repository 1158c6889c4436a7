//! State that a transaction keeps so that a part of it can be undone.
//!
//! A savepoint is a mark in the lists that a transaction fills as it goes: entries behind the mark
//! came later. Writes are in such a list already. The former state of a record that the transaction
//! had written *before* the mark and writes again after it is not: the version that stood there is
//! then *saved*, unlinked but not freed, still in its maker's name.
//!
//! Each mark has a number that is unique in its transaction, and each write has the number of the
//! mark that was the newest when its version was made: if there is a newer mark by now, the version
//! has to be saved.
//!
//! # What a release frees
//! A return to mark `M` restores the versions that were saved since `M` was made, newest first. For
//! each write, therefore, the oldest version counts that was saved since, and only if it was made
//! before `M`: otherwise the write itself is behind `M`, and is undone, or an older version of it
//! was saved since `M`, and is restored later.
//!
//! When marks are released, let `N` be the newest that is left. A version that was made at a number
//! `>= N` was made when `N` was there, hence after all marks that are left, and none of them needs
//! it: the version is *unneeded*. The release makes no difference to versions that were saved
//! before the released marks. A release therefore looks at the versions saved since the outermost
//! released mark, frees the unneeded ones, and moves the rest together. The rest was made before
//! `N`: at most one version of each write, since the version that replaced it was made after `N`.
//! An entry is looked at once for each mark that lies around it, however many were made and
//! released beside it.
//!
//! No other list refers to a freed version. An entry names its write by its place, which no release
//! changes, and is restored over whatever version stands there. A version that an operation under
//! way has replaced is in the operation's journal until the operation ends, and is compared with
//! the newest mark then. A command (`session/command.rs`) reads the versions that it has replaced,
//! all made before its own mark, which its end releases; as long as a command is under way, the
//! release of a savepoint around it frees nothing ([`Savepoints::release_only`]).

use memory::Parts;

use crate::{session::KeptKey, version::Version};

/// Savepoints of a transaction.
#[derive(Default)]
pub(crate) struct Savepoints {
    /// Marks from the outermost to the innermost.
    marks: Vec<Mark>,
    /// Saved versions in the order in which they were replaced.
    saved: Parts<Saved>,
    /// Number of the last mark that was made.
    number: u32,
}

/// Lengths of the lists of the transaction when a savepoint was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) number: u32,
    pub(crate) lengths: Lengths,
    saved: usize,
}

/// Lengths of the lists of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    pub(crate) writes: usize,
    pub(crate) keys: usize,
    pub(crate) locks: usize,
    pub(crate) table_locks: usize,
    pub(crate) effects: usize,
    /// Length of the list of moved rows.
    pub(crate) moves: usize,
}

/// Previous state of a write, before the transaction wrote the record again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saved {
    /// Place of the write in the list of writes.
    pub(crate) write: usize,
    pub(crate) version: Version,
    pub(crate) key: KeptKey,
    pub(crate) savepoint: u32,
}

impl Savepoints {
    pub(super) fn list_bytes(&self) -> usize {
        self.marks.capacity() * size_of::<Mark>() + self.saved.capacity_bytes()
    }

    /// Returns the number of the innermost savepoint; 0 if there is none.
    pub(crate) fn newest(&self) -> u32 {
        self.marks.last().map_or(0, |mark| mark.number)
    }

    /// Makes a savepoint at the present `lengths` of the lists. Returns its number; `None` after
    /// 2^32 savepoints.
    pub(crate) fn make(&mut self, lengths: Lengths) -> Option<u32> {
        self.number = self.number.checked_add(1)?;
        self.marks.push(Mark {
            number: self.number,
            lengths,
            saved: self.saved.len(),
        });
        Some(self.number)
    }

    pub(crate) fn save(&mut self, saved: Saved) {
        self.saved.push(saved);
    }

    /// Forgets the savepoints within `number`, which stays. Returns its mark.
    pub(crate) fn return_to(&mut self, number: u32) -> Option<Mark> {
        let at = self.position(number)?;
        self.marks.truncate(at + 1);
        self.marks.last().copied()
    }

    /// Forgets savepoint `number` and those within it, and calls `free` with each version that no
    /// savepoint needs any more. Returns whether there is such a savepoint.
    pub(crate) fn release(&mut self, number: u32, mut free: impl FnMut(Version)) -> bool {
        let Some(from) = self.release_only(number) else {
            return false;
        };
        let newest = self.newest();
        let mut kept = from;
        for at in from..self.saved.len() {
            let saved = self.saved[at];
            if saved.savepoint < newest {
                self.saved[kept] = saved;
                kept += 1;
            } else {
                free(saved.version);
            }
        }
        self.saved.truncate(kept);
        true
    }

    /// Forgets savepoint `number` and those within it. Returns the place among the saved versions
    /// from which on some may be unneeded; `None` if there is no such savepoint.
    pub(crate) fn release_only(&mut self, number: u32) -> Option<usize> {
        let at = self.position(number)?;
        let released = self.marks[at].saved;
        self.marks.truncate(at);
        // Without savepoints no version is needed, not even one left from a command under way.
        Some(if at == 0 { 0 } else { released })
    }

    fn position(&self, number: u32) -> Option<usize> {
        self.marks
            .binary_search_by_key(&number, |mark| mark.number)
            .ok()
    }

    /// Returns the mark of savepoint `number`, if there is one.
    pub(crate) fn mark(&self, number: u32) -> Option<Mark> {
        (self.marks.iter().rev())
            .find(|mark| mark.number == number)
            .copied()
    }

    pub(crate) fn has_saved_nothing_after(&self, mark: &Mark) -> bool {
        self.saved.len() <= mark.saved
    }

    /// Takes out the version that was saved last, if that was after `mark`.
    pub(crate) fn saved_after(&mut self, mark: &Mark) -> Option<Saved> {
        (self.saved.len() > mark.saved).then(|| self.saved.pop())?
    }

    /// Takes out all saved versions one after the other, at the end of the transaction.
    pub(crate) fn end(&mut self) -> impl Iterator<Item = Version> {
        self.marks.clear();
        std::iter::from_fn(|| self.saved.pop().map(|saved| saved.version))
    }

    /// Whether no version is saved.
    pub(crate) fn is_empty(&self) -> bool {
        self.saved.is_empty()
    }

    /// Resets the savepoints for the next transaction.
    pub(crate) fn forget(&mut self) {
        debug_assert!(self.saved.is_empty(), "saved versions are freed at the end");
        self.marks.clear();
        self.marks.shrink_to(1 << 10);
        self.number = 0;
    }
}
