//! The version word: a node's latch, its kind, and what changed since when.
//!
//! ```text
//!  63        44 43               12 11   8 7 6 5 4 3 2 1 0
//! +------------+-------------------+------+-+-+-+-+-+-+-+-+
//! | splits, 20 | insertions, 32    |count |-|O|B|R|D|S|I|L|
//! +------------+-------------------+------+-+-+-+-+-+-+-+-+
//! L latched     I inserting   S splitting   D deleted
//! R layer root  B border      O children are borders (interior nodes)
//! count: keys of an interior node (a border keeps its count elsewhere)
//! ```
//!
//! # Rules
//! 1. Only the thread that set L writes the word or any other field of the node.
//!    (One exception, in `border.rs`: `prev`.)
//! 2. Before the first write of a field that readers use, the holder sets I (the
//!    node's key range stays) or S (it changes, or the node dies). Clearing them
//!    advances the counter of the same name. A latch that is released without
//!    either leaves the word as it was.
//! 3. A reader takes a *stable* version (neither I nor S), reads the fields it needs, then checks
//!    whether the word changed but for L. If not, everything it read was written before the stable
//!    version, and nothing was written since.
//! 4. D is final. B and O never change.
//!
//! # Why rule 3 holds
//! ```text
//! writer                               reader
//! w1 word = v | L | I     (Relaxed)    r1 v = word            (Acquire)
//!    fence(Release)                    r2 x = field           (Relaxed)
//! w2 field = new          (Relaxed)       fence(Acquire)
//! w3 word = v + 1         (Release)    r3 word == v ?         (Relaxed)
//! ```
//! If r2 returned `new`, the fences synchronise: w1 happens before r3, so r3
//! returns w1 or later and the reader refuses. If r1 returned w3, its Acquire
//! pairs with w3's Release and r2 returns `new` or later. `node/loom_tests.rs`
//! checks both on all interleavings.
//!
//! The counters may wrap while a reader sleeps: insertions carry into splits, so
//! the node must change exactly 2^52 times, or split 2^20 times without any other
//! change in between (which is impossible: between two splits lie insertions).

use crate::sync::{AtomicU64, Ordering, fence, spin_loop, yield_now};

const LATCHED: u64 = 1;
const INSERTING: u64 = 1 << 1;
const SPLITTING: u64 = 1 << 2;
const DELETED: u64 = 1 << 3;
const ROOT: u64 = 1 << 4;
const BORDER: u64 = 1 << 5;
const OVER_BORDERS: u64 = 1 << 6;
const COUNT_SHIFT: u32 = 8;
const COUNT_MASK: u64 = 0xf << COUNT_SHIFT;
const INSERTION: u64 = 1 << 12;
const SPLIT_SHIFT: u32 = 44;
const SPLIT: u64 = 1 << SPLIT_SHIFT;

/// Spins before a waiting thread gives its core away. Latches are held for tens
/// of nanoseconds, so waiting longer means that the holder was preempted.
const SPINS_MAX: u32 = 100;

/// Content of a version word at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(u64);

impl Version {
    /// Version of a border node that no other thread can see yet.
    pub(crate) const NEW_BORDER: Version = Version(BORDER);

    /// Returns the version of an interior node that no other thread can see yet.
    pub(crate) const fn new_interior(over_borders: bool, count: usize) -> Version {
        let over = if over_borders { OVER_BORDERS } else { 0 };
        Version(over | (count as u64) << COUNT_SHIFT)
    }

    /// Returns the version of the same node as the root of its layer.
    pub(crate) const fn rooted(self) -> Version {
        Version(self.0 | ROOT)
    }

    #[inline(always)]
    pub(crate) fn is_border(self) -> bool {
        self.0 & BORDER != 0
    }

    #[inline(always)]
    pub(crate) fn is_root(self) -> bool {
        self.0 & ROOT != 0
    }

    #[inline(always)]
    pub(crate) fn is_deleted(self) -> bool {
        self.0 & DELETED != 0
    }

    /// Returns whether the node can be entered as the root of a living layer.
    #[inline(always)]
    pub(crate) fn is_live_root(self) -> bool {
        self.0 & (ROOT | DELETED) == ROOT
    }

    /// Returns whether the children of this interior node are borders.
    #[inline(always)]
    pub(crate) fn is_over_borders(self) -> bool {
        self.0 & OVER_BORDERS != 0
    }

    /// Returns the number of keys of an interior node.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        ((self.0 & COUNT_MASK) >> COUNT_SHIFT) as usize
    }

    /// Returns whether the node's key range may have changed between `earlier` and now.
    #[inline(always)]
    pub(crate) fn has_moved_since(self, earlier: Version) -> bool {
        (self.0 ^ earlier.0) >> SPLIT_SHIFT != 0 || self.is_deleted()
    }

    /// Returns the word without the latch bit, for observers.
    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        self.0 & !LATCHED
    }
}

/// The version word of a node; see the module text.
#[derive(Debug)]
pub(crate) struct VersionWord(AtomicU64);

impl VersionWord {
    pub(crate) fn new(version: Version) -> VersionWord {
        VersionWord(AtomicU64::new(version.0))
    }

    /// Makes the word of a former border that of a new one, which no other thread can see yet, at a
    /// version that neither had before.
    pub(crate) fn renew(&self, version: Version) {
        let counters = self.0.load(Ordering::Relaxed) & !(INSERTION - 1);
        let word = counters.wrapping_add(SPLIT) | version.0;
        self.0.store(word, Ordering::Relaxed);
    }

    /// Returns a version that is not in the middle of a change.
    #[inline(always)]
    pub(crate) fn stable(&self) -> Version {
        // Acquire: pairs with the Release of `Latch::drop`.
        let word = self.0.load(Ordering::Acquire);
        if word & (INSERTING | SPLITTING) == 0 {
            return Version(word & !LATCHED);
        }
        self.stable_slow()
    }

    #[cold]
    fn stable_slow(&self) -> Version {
        let mut spins = 0;
        loop {
            // Acquire: pairs with the Release of `Latch::drop`, as in `stable`.
            let word = self.0.load(Ordering::Acquire);
            if word & (INSERTING | SPLITTING) == 0 {
                return Version(word & !LATCHED);
            }
            wait(&mut spins);
        }
    }

    /// Returns the word as it is, possibly in the middle of a change.
    #[inline]
    pub(crate) fn current(&self) -> Version {
        // Acquire: a thread that finds an old version here comes after the writes that made it.
        Version(self.0.load(Ordering::Acquire))
    }

    /// Returns whether a read since `version` was taken may be wrong.
    #[inline(always)]
    pub(crate) fn has_changed_since(&self, version: Version) -> bool {
        // Acquire: pairs with the fence in `Latch::mark`. See the module text.
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) & !LATCHED != version.0
    }

    /// Waits for the latch and takes it.
    #[inline]
    pub(crate) fn latch(&self) -> Latch<'_> {
        let mut spins = 0;
        loop {
            if let Some(latch) = self.try_latch() {
                return latch;
            }
            wait(&mut spins);
        }
    }

    /// Takes the latch if it is free.
    #[inline]
    pub(crate) fn try_latch(&self) -> Option<Latch<'_>> {
        let word = self.0.load(Ordering::Relaxed);
        if word & LATCHED != 0 {
            return None;
        }
        // Acquire: pairs with the Release of the previous holder's drop.
        self.0
            .compare_exchange(word, word | LATCHED, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        Some(Latch {
            word: self,
            value: word | LATCHED,
        })
    }

    /// Returns the latch of a node that no other thread can see yet, which appears to be splitting
    /// once other threads can.
    pub(crate) fn latch_new(&self) -> Latch<'_> {
        let value = self.0.load(Ordering::Relaxed) | LATCHED | SPLITTING;
        self.0.store(value, Ordering::Relaxed);
        Latch { word: self, value }
    }
}

fn wait(spins: &mut u32) {
    *spins += 1;
    if cfg!(loom) || *spins > SPINS_MAX {
        yield_now();
    } else {
        spin_loop();
    }
}

/// Holder of the latch of one node; dropping it publishes the new version.
#[must_use]
#[derive(Debug)]
pub(crate) struct Latch<'n> {
    word: &'n VersionWord,
    /// The word as it is, plus flags that become visible on drop.
    value: u64,
}

impl Latch<'_> {
    /// Returns the version before any change of this holder.
    #[inline]
    pub(crate) fn version(&self) -> Version {
        Version(self.value & !LATCHED)
    }

    /// Announces a change that leaves the key range as it is.
    #[inline]
    pub(crate) fn inserting(&mut self) {
        self.mark(INSERTING);
    }

    /// Announces a change of the key range.
    #[inline]
    pub(crate) fn splitting(&mut self) {
        self.mark(SPLITTING);
    }

    #[inline]
    fn mark(&mut self, bit: u64) {
        if self.value & bit == 0 {
            self.value |= bit;
            self.word.0.store(self.value, Ordering::Relaxed);
            // Release: pairs with the fence in `has_changed_since`.
            fence(Ordering::Release);
        }
    }

    /// Makes the node dead once the latch is dropped.
    pub(crate) fn delete(&mut self) {
        self.splitting();
        self.value |= DELETED;
    }

    /// Makes the node its layer's root, or an ordinary node.
    pub(crate) fn set_root(&mut self, root: bool) {
        self.splitting();
        self.value = if root {
            self.value | ROOT
        } else {
            self.value & !ROOT
        };
    }

    /// Sets the number of keys of an interior node.
    pub(crate) fn set_count(&mut self, count: usize) {
        debug_assert!(self.value & (INSERTING | SPLITTING) != 0);
        self.value = self.value & !COUNT_MASK | (count as u64) << COUNT_SHIFT;
    }

    /// Returns the version that dropping the latch will publish.
    #[inline]
    pub(crate) fn next_version(&self) -> Version {
        let kept = self.value & !(LATCHED | INSERTING | SPLITTING);
        Version(if self.value & SPLITTING != 0 {
            kept.wrapping_add(SPLIT)
        } else if self.value & INSERTING != 0 {
            kept.wrapping_add(INSERTION)
        } else {
            kept
        })
    }
}

impl Drop for Latch<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire of `stable` and of `try_latch`.
        self.word.0.store(self.next_version().0, Ordering::Release);
    }
}
