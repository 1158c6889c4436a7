//! Blocks of columns beside the records of a table, and marks of the records that they do not show.
//!
//! The RIDs of a table are cut into *chunks* of 2^12. A chunk has at most one current *block*, which holds records of
//! the chunk by columns: the position of a record is its RID within the chunk. *Marks*, a bit for each position, tell
//! which positions a scan reads from their slots instead. This module knows nothing of the content of blocks, and
//! serves scans alone: point reads, writes and versions do not know of blocks.
//!
//! | part | file |
//! | --- | --- |
//! | chunks of a table by their numbers, the way of a writer | this file |
//! | one chunk: its block, the building of the next one | `columns/chunk.rs` |
//! | marks | `columns/marks.rs` |
//! | memory that counts towards the limit | `columns/charged.rs` |
//! | memory that blocks may take, columns that leave it, and blocks that go when it is short | `columns/room.rs` |
//! | blocks as tables have them, and the fields of their records | `columns/frozen.rs`, `columns/fields.rs` |
//! | blocks on the device, and columns read from there | `columns/device.rs`, `columns/load.rs` |
//! | scans by blocks, reading ahead, and building on the way | `transaction/unordered_scan.rs` |
//!
//! # Invariants
//! 1. *Old enough*: a block shows a record, at a position without a mark, as its head was when the block was built: a
//!    version committed at or before the horizon of that moment, or a cold one, which was committed at or before the
//!    horizon when it left memory. Every snapshot that is open then, or opens later, sees
//!    that version or a newer one. The builder sees to it ([`Building`]).
//! 2. *Superseded means marked*: if a commit at or before a snapshot has replaced the version that a block shows, a
//!    reader that gets the block after it took the snapshot finds the position marked.
//! 3. *Marks stay*: a mark of a block is never cleared. A chunk with many marks gets another block, with other marks.
//!
//! A mark more than needed costs a look at the slot and nothing else: there the versions tell what a snapshot sees.
//! The copy of the marks holds for the snapshot. A reader with a newer snapshot (the next statement under read
//! committed, a snapshot that moved) gets block and marks again. Blocks note no reads; a transaction whose reads are
//! certified scans by the index.
//!
//! # Why invariant 2 holds
//! ```text
//!   writer                                    builder
//!   W1 exchanges the head       (SeqCst)      B1 raises `end`            (SeqCst)
//!   W2 loads `end`              (SeqCst)      B2 stores `building`       (SeqCst)
//!   W3 loads `building`         (SeqCst)      B3 fence                   (SeqCst)
//!   W4 loads `marks`            (Acquire)     B4 reads heads, the last   (Acquire)
//!                                                time for each counts
//!   W5 sets its bit in both                   B5 stores `marks`          (Release)  under the lock,
//!   W6 commits: moves the clock (SeqCst)      B6 clears `building`       (Release)  with the block
//! ```
//! *Between writer and builder* (store buffering): if the builder reads a head that is older than that of W1, then B3
//! comes before W1 in the one order of all SeqCst operations, so B1 and B2 come before W2 and W3: the writer reads
//! these stores, or later ones. If it reads the pointer of B2, it sets its bit in the marks of the block. If it reads
//! a later value, it has read from a store made under the lock by B6 or after it (a later building, or the end of
//! one); that store comes after B5, so W4 reads the marks of the block, or later ones. Otherwise the builder has read
//! the new head (or one newer still) and leaves it out, as long as it is not committed at or before the horizon; if it
//! is, the block shows what this writer wrote.
//!
//! *Between writer and reader*: the writer has read the pointer to the marks of a block that was replaced or released
//! later, and of no older one (above), or it has read a newer pointer. A reader that gets the old block has given the
//! lock back before that newer pointer is stored, and took its snapshot before it took the lock. Were the commit of a
//! writer that reads the newer pointer part of that snapshot, W4 would come before W6, W6 before the snapshot, and that
//! before the very store that W4 reads. All other writers have set the bit in the marks of the block before W6; a
//! snapshot that includes the commit has read the clock from W6 or later (Acquire), so the reader's loads find the bit.
//!
//! The SeqCst exchanges of heads are in [`crate::indirection::Slot`]. They cost nothing on x86-64, where every exchange
//! orders what follows it, and neither do SeqCst loads: writers of a table without blocks pay for W2.
//!
//! *Memory*: readers and writers hold a pin while they use a pointer to marks; marks are retired after the pointer was
//! taken away. The builder and the lock's owner know that the marks are in use.
//!
//! # Everything that changes what a record shows
//! | event | the mark |
//! | --- | --- |
//! | update, deletion, insertion over a tombstone | set after the head was replaced (`write/install.rs`) |
//! | another write of the record by the transaction | set again where it replaces the head; where it overwrites its own version, the mark is there: the first write has set it, or the block was built since and has found a version that was not committed |
//! | insertion into a RID | set since the block was built: it found no record, a version that was not committed, or a tombstone, in the slot. A RID with a record is reused only after a deletion, or after an insertion that was undone |
//! | commit | set by the write, before the commit took its timestamp; stamps come later, and a version without one is left out |
//! | rollback, return to a savepoint | stays. The version that the slot gets back was there before; a block that was built in between has left the record out |
//! | removal of a deleted record | set by the deletion, or since the block was built: tombstones are left out |
//! | expiry (TTL) | a table with a TTL has no blocks |
//! | demotion, promotion, compaction, evacuation, a head that is frozen or locked | none: the content is the same |
//! | maintenance of indexes | none for the table; entries are records of tables of their own, written as all records |
//! | truncation, ALTER TABLE that rewrites, DROP | none: another storage has other chunks. Transactions with older snapshots go on to read this one, which no transaction writes; its blocks go with it (`catalog/graveyard.rs`) |
//! | ALTER TABLE that does not rewrite | none: stored values stay; a reader gives them the form of its definition |
//! | recovery, restore from a backup | none: no scan runs before recovery has ended, so there are no blocks |

mod charged;
mod chunk;
mod device;
mod fields;
mod frozen;
mod load;
mod marks;
mod room;

use std::sync::{Arc, OnceLock};

use memory::{Arena, Exhausted, Local};

use crate::{
    indirection::{RIDS_END, Rid},
    sync::{AtomicU64, Ordering, fence, model_seq_cst},
};

pub(crate) use self::{
    charged::Charged,
    chunk::{Building, Chunk},
    frozen::{FrozenBlock, NotLoaded},
    load::Loading,
    marks::MarkWords,
    room::BlockRoom,
};
pub use self::{
    fields::{RecordFields, Unsplit},
    frozen::BlockColumns,
};

/// The model checker follows each word of the marks: its chunks have one.
const CHUNK_LOG2: u32 = if cfg!(loom) { 6 } else { 12 };

/// Number of positions of a chunk.
pub(crate) const POSITIONS: usize = 1 << CHUNK_LOG2;

/// Number of places of a level: there are two levels.
const PLACES_LOG2: u32 = 10;
const PLACES: usize = 1 << PLACES_LOG2;
const _: () = assert!(RIDS_END <= 1 << (2 * PLACES_LOG2 + CHUNK_LOG2) || cfg!(loom));

/// Number of a chunk in its table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChunkId(pub(crate) u64);

impl ChunkId {
    /// Returns the chunk of a RID, and the position of the RID in the chunk.
    #[inline]
    pub(crate) fn locate(rid: Rid) -> (ChunkId, usize) {
        let position = rid.0 as usize & (POSITIONS - 1);
        (ChunkId(rid.0 >> CHUNK_LOG2), position)
    }

    /// Returns the RIDs of the chunk.
    pub(crate) fn rids(self) -> std::ops::Range<u64> {
        self.0 << CHUNK_LOG2..(self.0 + 1) << CHUNK_LOG2
    }
}

/// Place of something that is made when it is needed, and stays.
type Place<T> = OnceLock<Box<Charged<T>>>;
type Level<T> = Box<[Place<T>]>;

/// Chunks of a table, with blocks of type `B`. Chunks of which no block was built take no memory, tables without blocks
/// a few words.
pub(crate) struct Chunks<B> {
    /// End of the RIDs of chunks of which a block was begun. Only grows.
    end: AtomicU64,
    chunks: Place<Level<Level<Chunk<B>>>>,
}

impl<B> Chunks<B> {
    pub(crate) fn new() -> Chunks<B> {
        Chunks {
            end: AtomicU64::new(0),
            chunks: OnceLock::new(),
        }
    }

    /// Marks a record as superseded. To be called after its head was replaced, before the transaction takes its commit
    /// timestamp.
    #[inline(always)]
    pub(crate) fn supersede(&self, rid: Rid, local: &Local) {
        if self.may_have_block(rid) {
            let _pin = local.pin();
            // SAFETY: the pin.
            unsafe { self.mark(rid) };
        }
    }

    #[inline(always)]
    fn may_have_block(&self, rid: Rid) -> bool {
        // SeqCst: W2 of the module text.
        model_seq_cst();
        rid.0 < self.end.load(Ordering::SeqCst)
    }

    /// # Safety
    /// The caller is pinned.
    #[inline(never)]
    unsafe fn mark(&self, rid: Rid) {
        // Pairs with the fence of a builder: a writer that has read an `end` which another chunk's builder had raised
        // finds the chunk, if the builder has read the old head (fence to fence).
        fence(Ordering::SeqCst);
        let (id, position) = ChunkId::locate(rid);
        if let Some(chunk) = self.chunk(id) {
            // SAFETY: the caller's promise.
            unsafe { chunk.supersede(position) };
        }
    }

    /// Returns a chunk, if it was visited once, or a block of it begun.
    #[inline]
    pub(crate) fn chunk(&self, id: ChunkId) -> Option<&Chunk<B>> {
        let at = id.0 as usize;
        let level = self.chunks.get()?.get(at >> PLACES_LOG2)?.get()?;
        let chunk = level[at & (PLACES - 1)].get()?;
        Some(chunk)
    }

    /// Begins to build a block of a chunk: see [`Building`]. `None` if a block is being built, the current one has few
    /// marks, the chunk is to be left alone, or there is no memory. Each building doubles the number of later attempts
    /// that are refused once the chunk has no block, or one with many marks.
    pub(crate) fn begin<'c>(&'c self, id: ChunkId, local: &'c Local) -> Option<Building<'c, B>> {
        self.prepare(id, &local.arena()).ok()?.begin(local)
    }

    /// Returns whether a chunk was visited before, or a block of it begun; notes the visit.
    pub(crate) fn visit(&self, id: ChunkId, local: &Local) -> bool {
        let is_known = self.chunk(id).is_some();
        if !is_known {
            // Without memory, the next visit is the first one again.
            let _ = self.make(id, &local.arena());
        }
        is_known
    }

    /// Returns a chunk, made if need be, whose writers will look for marks.
    fn prepare(&self, id: ChunkId, arena: &Arc<Arena>) -> Result<&Chunk<B>, Exhausted> {
        let chunk = self.make(id, arena)?;
        let end = id.rids().end;
        // SeqCst: B1 of the module text. Without a need the line of `end` stays shared.
        if self.end.load(Ordering::SeqCst) < end {
            self.end.fetch_max(end, Ordering::SeqCst);
        }
        Ok(chunk)
    }

    /// Returns a chunk, made if need be.
    fn make(&self, id: ChunkId, arena: &Arc<Arena>) -> Result<&Chunk<B>, Exhausted> {
        let at = id.0 as usize;
        let levels = get_or_make_level(&self.chunks, arena)?;
        let place = levels.get(at >> PLACES_LOG2).ok_or(Exhausted)?;
        let level = get_or_make_level(place, arena)?;
        let place = &level[at & (PLACES - 1)];
        get_or_make(place, arena, size_of::<Charged<Chunk<B>>>(), Chunk::new)
    }

    /// Returns whether a block was begun once.
    pub(crate) fn may_have_blocks(&self) -> bool {
        // Relaxed: a hint.
        self.end.load(Ordering::Relaxed) > 0
    }

    /// Visits the current blocks of at most `chunks_max` chunks, from the chunk `from` on. Returns the chunk at which
    /// to go on, `None` if there are no more.
    pub(crate) fn each_block(
        &self,
        from: ChunkId,
        chunks_max: u64,
        mut visit: impl FnMut(&Chunk<B>, Arc<Charged<B>>),
    ) -> Option<ChunkId> {
        // Relaxed: chunks that builders begin meanwhile may be missed. A storage in its grave has no builders.
        let all = self.end.load(Ordering::Relaxed) >> CHUNK_LOG2;
        let end = all.min(from.0.saturating_add(chunks_max));
        for id in from.0..end {
            if let Some(chunk) = self.chunk(ChunkId(id))
                && let Some(block) = chunk.block()
            {
                visit(chunk, block);
            }
        }
        (end < all).then_some(ChunkId(end))
    }

    /// Takes the blocks of at most `chunks_max` chunks away, from the chunk `from` on. Returns the chunk at which to go
    /// on, `None` if there are no more.
    pub(crate) fn drop_blocks(
        &self,
        from: ChunkId,
        chunks_max: u64,
        local: &Local,
    ) -> Option<ChunkId> {
        self.each_block(from, chunks_max, |chunk, _| chunk.release(local))
    }
}

fn get_or_make_level<'p, T>(
    place: &'p Place<Level<T>>,
    arena: &Arc<Arena>,
) -> Result<&'p Level<T>, Exhausted> {
    let bytes = PLACES * size_of::<Place<T>>();
    get_or_make(place, arena, bytes, || {
        (0..PLACES).map(|_| OnceLock::new()).collect()
    })
}

fn get_or_make<'p, T>(
    place: &'p Place<T>,
    arena: &Arc<Arena>,
    bytes: usize,
    make: impl FnOnce() -> T,
) -> Result<&'p T, Exhausted> {
    if let Some(made) = place.get() {
        return Ok(made);
    }
    let made = Charged::new(arena, bytes, make)?;
    Ok(place.get_or_init(|| Box::new(made)))
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
