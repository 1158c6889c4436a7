//! Regions: memory of versions, which can be reused for other sizes.
//!
//! A block serves its size class for ever, and so does a chunk: nodes of an index, which never move, leave no other
//! way. Versions come and go by the million, of sizes that change with time; after they go, their memory has to be of
//! use to an index that grows. Memory of versions is therefore handed out in *regions* of equal size (a large block
//! takes several), each of which belongs to one size class until it is empty.
//!
//! # Closing
//! Regions hardly ever become empty by themselves. The engine has to *close* the sparsest ([`Regions::close_sparsest`])
//! and move away the versions left in them: then
//! 1. their free blocks are taken out of circulation;
//! 2. the task that looks after versions asks of each whether it lies in such a region ([`Regions::is_closing`]), and
//!    moves it;
//! 3. caches give back their blocks with their next housekeeping, and blocks that are freed after that at once;
//! 4. after the last block has come back, the region is *blank*: its pages go back to the system, its bytes to the
//!    limit.
//!
//! A region that does not become empty for too long is opened again: it holds versions that cannot move now, of open
//! transactions for one. Other regions have their turn for a while then, although they are not as sparse ([`IN_VAIN`]).
//!
//! # Why a blank region is unused
//! A block is in a cache, in use, or in a list here; a region is blank when the lists have all of its blocks. Blocks in
//! use are freed when the epochs say that no thread reads them any more, and not earlier (`local.rs`). A block that a
//! cache had when its region began to close may be used once more: this only delays the region. Regions are closed,
//! opened and become blank under the lock of their class; the state is a byte that any thread may read, and that may be
//! out of date by a moment: moving a version needlessly is harmless, and so is leaving it.

use std::{
    collections::BTreeMap,
    ptr::NonNull,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
};

use crate::{
    LINE_BYTES,
    arena::Block,
    class::{SIZE_COUNT, VERSION_CLASSES, block_bytes},
    mapping::HUGE_PAGE_BYTES,
};

/// Minimum regions of a limit: with fewer, regions are made smaller than a huge page.
const REGIONS_PER_LIMIT: usize = 64;
const REGION_BYTES_MIN: usize = 64 << 10;

/// Returns the bytes of a region, unless the caller chooses.
pub(crate) fn region_bytes_under(limit_bytes: usize) -> usize {
    let share = (limit_bytes / REGIONS_PER_LIMIT).max(1);
    (1 << share.ilog2()).clamp(REGION_BYTES_MIN, HUGE_PAGE_BYTES)
}

/// Closings during which a region that was closed in vain is closed again only if there is no other.
const IN_VAIN: u64 = 16;

const OPEN: u8 = 0;
const CLOSING: u8 = 1;

/// All regions of an arena.
pub(crate) struct Regions {
    base: NonNull<u8>,
    region_bytes: usize,
    states: Box<[AtomicU8]>,
    space: Mutex<Space>,
    classes: Box<[Mutex<Class>]>,
    claimed_bytes: AtomicUsize,
    /// Number of times that regions were closed.
    closings: AtomicU64,
    /// Bytes of the regions that are closing.
    closing_bytes: AtomicUsize,
    /// Number of regions that became blank.
    emptied: AtomicU64,
}

// SAFETY: `base` is an address in the arena's mapping, which is shared; a thread owns the free blocks that it took out.
unsafe impl Send for Regions {}
// SAFETY: all fields that change are atomic or under a lock.
unsafe impl Sync for Regions {}

/// Regions that belong to no class.
struct Space {
    /// First region that was never used; all later ones were not either.
    fresh: usize,
    /// Runs of other free regions, by their first: how many. No two runs touch.
    blank: BTreeMap<usize, usize>,
}

/// The regions of a size class.
#[derive(Default)]
struct Class {
    /// Region that the next chunk is cut from, and how many of its blocks were cut.
    cutting: Option<(usize, usize)>,
    /// Free blocks by region; no list is empty.
    free: BTreeMap<usize, Vec<Block>>,
    /// Free blocks of closing regions, by region; lists may be empty.
    closing: BTreeMap<usize, Vec<Block>>,
    /// Regions that did not become empty, and when they were opened again, in closings.
    in_vain: BTreeMap<usize, u64>,
    /// Bytes that the lists take.
    listed_bytes: usize,
}

/// Effect of a change of lists on the memory in use. It is noted while the class is locked: if it were noted later,
/// lists could be seen to shrink before they had been seen to grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Bytes by which the lists have grown; wraps if they shrank.
    pub(crate) listed_bytes: usize,
    /// Bytes of regions that are blank now.
    pub(crate) blank_bytes: usize,
}

/// A part of the arena's reservation, in bytes from `base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: usize,
    pub(crate) bytes: usize,
}

impl Regions {
    /// Makes the regions in `bytes` of address space from `base` on.
    pub(crate) fn new(base: NonNull<u8>, bytes: usize, region_bytes: usize) -> Regions {
        // Large blocks begin at a line, so regions do.
        assert!(region_bytes > 0 && region_bytes.is_multiple_of(LINE_BYTES));
        assert!(base.addr().get().is_multiple_of(LINE_BYTES));
        let count = bytes / region_bytes;
        Regions {
            base,
            region_bytes,
            states: (0..count).map(|_| AtomicU8::new(OPEN)).collect(),
            space: Mutex::new(Space {
                fresh: 0,
                blank: BTreeMap::new(),
            }),
            classes: (0..SIZE_COUNT).map(|_| Mutex::default()).collect(),
            claimed_bytes: AtomicUsize::new(0),
            closings: AtomicU64::new(0),
            closing_bytes: AtomicUsize::new(0),
            emptied: AtomicU64::new(0),
        }
    }

    pub(crate) fn claimed_bytes(&self) -> usize {
        self.claimed_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn some_close(&self) -> bool {
        self.closing_bytes() > 0
    }

    pub(crate) fn closing_bytes(&self) -> usize {
        self.closing_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn emptied(&self) -> u64 {
        self.emptied.load(Ordering::Relaxed)
    }

    pub(crate) fn closings(&self) -> u64 {
        // Acquire: a thread that sees the number finds the regions closing.
        self.closings.load(Ordering::Acquire)
    }

    /// Returns the span of regions that were never used, to the end.
    pub(crate) fn fresh(&self) -> Span {
        let from = self.space().fresh * self.region_bytes;
        let bytes = self.states.len() * self.region_bytes - from;
        Span { from, bytes }
    }

    /// Returns whether a block lies in a region that is to become empty.
    #[inline]
    pub(crate) fn is_closing(&self, block: NonNull<u8>) -> bool {
        let state = self.states.get(self.region_of(block));
        state.is_some_and(|state| state.load(Ordering::Relaxed) == CLOSING)
    }

    /// Returns the region that a block begins in; a number beyond all regions if it is no version's block.
    #[inline]
    fn region_of(&self, block: NonNull<u8>) -> usize {
        let bytes = block.addr().get().wrapping_sub(self.base.addr().get());
        bytes / self.region_bytes
    }

    fn space(&self) -> MutexGuard<'_, Space> {
        self.space.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn class(&self, class: usize) -> MutexGuard<'_, Class> {
        let class = &self.classes[class - VERSION_CLASSES];
        class.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the regions that a block of a class takes, or that several blocks share.
    fn span_regions(&self, class: usize) -> usize {
        block_bytes(class).div_ceil(self.region_bytes)
    }

    /// Returns the bytes of these regions.
    fn span_bytes(&self, class: usize) -> usize {
        self.span_regions(class) * self.region_bytes
    }

    /// Returns the number of blocks in these regions.
    fn span_blocks(&self, class: usize) -> usize {
        self.span_bytes(class) / block_bytes(class)
    }

    /// Cuts a chunk of about `wish` bytes, at least a block. `claim` is asked for the bytes of further regions.
    pub(crate) fn cut<E>(
        &self,
        class: usize,
        wish: usize,
        claim: impl FnOnce(usize) -> Result<(), E>,
        exhausted: E,
    ) -> Result<(NonNull<u8>, usize), E> {
        let block = block_bytes(class);
        let all = self.span_blocks(class);
        let mut owner = self.class(class);
        let (region, cut) = match owner.cutting {
            Some(cutting) => cutting,
            None => {
                let (regions, bytes) = (self.span_regions(class), self.span_bytes(class));
                let taken = self.space().take(regions, self.states.len());
                let first = taken.ok_or(exhausted)?;
                if let Err(error) = claim(bytes) {
                    self.space().put(first, regions);
                    return Err(error);
                }
                self.claimed_bytes.fetch_add(bytes, Ordering::Relaxed);
                (first, 0)
            }
        };
        let blocks = (wish / block).clamp(1, all - cut);
        let next = cut + blocks;
        owner.cutting = (next < all).then_some((region, next));
        // SAFETY: the region lies in the address space.
        let start = unsafe { self.base.add(region * self.region_bytes + cut * block) };
        Ok((start, blocks * block))
    }

    /// Takes free blocks, at most `most`.
    pub(crate) fn take(
        &self,
        class: usize,
        into: &mut Vec<NonNull<u8>>,
        most: usize,
        note: impl FnOnce(Change),
    ) {
        let mut owner = self.class(class);
        let before = owner.listed_bytes;
        // Take blocks of the first regions, so that the last become sparse.
        while into.len() < most
            && let Some(mut list) = owner.free.first_entry()
        {
            let list = list.get_mut();
            let from = list.len().saturating_sub(most - into.len());
            into.extend(list.drain(from..).map(|block| block.0));
            if list.is_empty() {
                let gone = owner
                    .free
                    .pop_first()
                    .map_or(0, |(_, list)| bytes_of(&list));
                owner.listed_bytes -= gone;
            }
        }
        note(Change {
            listed_bytes: owner.listed_bytes.wrapping_sub(before),
            blank_bytes: 0,
        });
    }

    /// Takes blocks back.
    pub(crate) fn give(
        &self,
        class: usize,
        blocks: impl Iterator<Item = NonNull<u8>>,
        discard: impl Fn(Span),
        note: impl FnOnce(Change),
    ) {
        let mut owner = self.class(class);
        let before = owner.listed_bytes;
        let mut blank_bytes = 0;
        for block in blocks {
            let region = self.region_of(block);
            let is_closing = self.states[region].load(Ordering::Relaxed) == CLOSING;
            let owner = &mut *owner;
            let lists = match is_closing {
                true => &mut owner.closing,
                false => &mut owner.free,
            };
            let list = lists.entry(region).or_default();
            let capacity = bytes_of(list);
            list.push(Block(block));
            debug_assert!(
                list.len() <= self.span_blocks(class),
                "a block is given back twice"
            );
            owner.listed_bytes += bytes_of(list) - capacity;
            if is_closing && list.len() == self.span_blocks(class) {
                blank_bytes += self.make_blank(class, owner, region, &discard);
            }
        }
        note(Change {
            listed_bytes: owner.listed_bytes.wrapping_sub(before),
            blank_bytes,
        });
    }

    /// Makes a closing region blank, which is empty. Returns its bytes.
    fn make_blank(
        &self,
        class: usize,
        owner: &mut Class,
        region: usize,
        discard: &impl Fn(Span),
    ) -> usize {
        let list = owner.closing.remove(&region);
        owner.in_vain.remove(&region);
        owner.listed_bytes -= list.map_or(0, |list| bytes_of(&list));
        let (regions, bytes) = (self.span_regions(class), self.span_bytes(class));
        let from = region * self.region_bytes;
        discard(Span { from, bytes });
        self.states[region].store(OPEN, Ordering::Relaxed);
        self.closing_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.claimed_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.emptied.fetch_add(1, Ordering::Relaxed);
        self.space().put(region, regions);
        bytes
    }

    /// Closes regions of `want` bytes in all, or as many as have their blocks in use fit elsewhere, in regions of their
    /// class: those with the largest free part first, and those that were closed in vain lately last. Returns the bytes
    /// of the closed regions.
    pub(crate) fn close_sparsest(
        &self,
        want: usize,
        discard: impl Fn(Span),
        note: impl Fn(Change),
    ) -> usize {
        // Candidates by: closed in vain, used part per mille, class, region.
        let mut sparsest = Vec::new();
        let now = self.closings.load(Ordering::Relaxed);
        let mut room = vec![0; SIZE_COUNT];
        for class in VERSION_CLASSES..VERSION_CLASSES + SIZE_COUNT {
            let owner = self.class(class);
            let all = self.span_blocks(class);
            for (&region, free) in &owner.free {
                room[class - VERSION_CLASSES] += free.len();
                if owner.cutting.is_none_or(|(cutting, _)| cutting != region) {
                    let tried = owner.in_vain.get(&region);
                    // Another thread may have closed and opened regions since `now` was loaded.
                    let in_vain = tried.is_some_and(|&then| now.saturating_sub(then) < IN_VAIN);
                    sparsest.push((in_vain, (all - free.len()) * 1000 / all, class, region));
                }
            }
        }
        sparsest.sort_unstable();
        let mut closed = 0;
        for (_, _, class, region) in sparsest {
            if closed >= want {
                break;
            }
            let mut owner = self.class(class);
            let owner = &mut *owner;
            let Some(free) = owner.free.get(&region).map(Vec::len) else {
                continue;
            };
            let all = self.span_blocks(class);
            let room = &mut room[class - VERSION_CLASSES];
            // Blocks in use move to where the other regions of the class have free blocks.
            let Some(left) = room
                .checked_sub(free)
                .and_then(|r| r.checked_sub(all - free))
            else {
                continue;
            };
            *room = left;
            let bytes = self.span_bytes(class);
            closed += bytes;
            self.states[region].store(CLOSING, Ordering::Relaxed);
            self.closing_bytes.fetch_add(bytes, Ordering::Relaxed);
            if let Some(list) = owner.free.remove(&region) {
                owner.closing.insert(region, list);
            }
            if free == all {
                let before = owner.listed_bytes;
                let blank_bytes = self.make_blank(class, owner, region, &discard);
                note(Change {
                    listed_bytes: owner.listed_bytes.wrapping_sub(before),
                    blank_bytes,
                });
            }
        }
        // Release: pairs with `closings`.
        self.closings.fetch_add(1, Ordering::Release);
        closed
    }

    /// Opens regions again that have not become empty.
    pub(crate) fn reopen(&self) {
        let now = self.closings.load(Ordering::Relaxed);
        for class in VERSION_CLASSES..VERSION_CLASSES + SIZE_COUNT {
            let mut owner = self.class(class);
            for (region, list) in std::mem::take(&mut owner.closing) {
                self.states[region].store(OPEN, Ordering::Relaxed);
                let bytes = self.span_bytes(class);
                self.closing_bytes.fetch_sub(bytes, Ordering::Relaxed);
                owner.in_vain.insert(region, now);
                owner.free.insert(region, list);
            }
        }
    }
}

fn bytes_of(list: &Vec<Block>) -> usize {
    list.capacity() * size_of::<Block>()
}

impl Space {
    /// Returns the first of `regions` free regions beside each other, and takes them; `all` is the number of regions.
    fn take(&mut self, regions: usize, all: usize) -> Option<usize> {
        let run = self.blank.iter().find(|&(_, &run)| run >= regions);
        if let Some((&first, &run)) = run {
            self.blank.remove(&first);
            if run > regions {
                self.blank.insert(first + regions, run - regions);
            }
            return Some(first);
        }
        let first = self.fresh;
        (first + regions <= all).then(|| {
            self.fresh += regions;
            first
        })
    }

    fn put(&mut self, mut first: usize, mut regions: usize) {
        if let Some(after) = self.blank.remove(&(first + regions)) {
            regions += after;
        }
        if let Some((&before, &run)) = self.blank.range(..first).next_back()
            && before + run == first
        {
            first = before;
            regions += run;
        }
        if first + regions == self.fresh {
            self.blank.remove(&first);
            self.fresh = first;
        } else {
            self.blank.insert(first, regions);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
