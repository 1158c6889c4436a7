//! The arena: shared source of blocks, with a hard limit and accounting.
//!
//! Threads never take single blocks from it. Each keeps a `Cache` (see `cache.rs`) that claims
//! *chunks* (up to 2 MiB, one size class each) and returns surplus free blocks to the arena's
//! central lists. The arena is therefore touched once in thousands of allocations, and a mutex per
//! class is enough.
//!
//! Invariants:
//! - *Bounded*: claimed chunks and reservations for memory elsewhere never exceed the limit given
//!   at creation; a claim that would exceed it is refused with [`Exhausted`] and changes nothing.
//!   (Only [`Reservation::charge`] may exceed it.)
//! - *Deletes go on*: a small part of the limit is kept for urgent claims, those of blocks
//!   (tombstones) without which nothing could be freed any more.
//! - *One class per block for life*: a freed block serves its class again. Versions are the
//!   exception: their regions can be emptied (`region.rs`).
//! - *Stable addresses*: blocks lie in one reservation, whose base never moves: versions in its
//!   upper half, other blocks in the lower; each half has room for the limit.

use std::{
    fmt,
    ptr::NonNull,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
};

use crate::{
    ahead::{Ahead, Half},
    class::{VERSION_CLASSES, block_bytes},
    mapping::{HUGE_PAGE_BYTES, Mapping},
    region::{Change, Regions, Span, region_bytes_under},
};

/// Use of a block; the unit of memory statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Purpose {
    /// Inner nodes and key suffixes of indexes.
    Index,
    /// Indirection arrays, and marks of their records.
    Indirection,
    /// Record versions.
    Version,
    /// Border nodes of indexes. Lasting: a block of this purpose serves no other, and a new owner
    /// finds in it what the last owner left, or zeros.
    Border,
}

impl Purpose {
    pub(crate) const COUNT: usize = 4;
}

/// Bytes in live blocks by purpose, and bytes claimed from the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes in live index blocks.
    pub index_bytes: u64,
    /// Bytes in live indirection arrays and marks.
    pub indirection_bytes: u64,
    /// Bytes in live version blocks.
    pub version_bytes: u64,
    /// Bytes of chunks claimed for versions, live or free.
    pub version_claimed_bytes: u64,
    /// Bytes of those chunks in regions that are to become empty, where no new block goes.
    pub version_closing_bytes: u64,
    /// Number of regions of versions' memory that became empty, and room for any purpose.
    pub regions_emptied: u64,
    /// Bytes of chunks claimed, live or free.
    pub claimed_bytes: u64,
    /// Bytes reserved for memory that lies elsewhere.
    pub reserved_bytes: u64,
    /// Bytes of the lists of open transactions, of garbage queues and of free lists.
    pub listed_bytes: u64,
    /// The hard limit on `claimed_bytes`, `reserved_bytes` and `listed_bytes` together.
    pub limit_bytes: u64,
}

/// Error: the arena's limit is reached; nothing was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the memory limit is reached; delete records or raise the limit")
    }
}

impl std::error::Error for Exhausted {}

/// Live bytes of one thread's cache. Written by its owner alone (a block may be freed elsewhere,
/// hence the sign), read by threads that sum.
#[repr(align(128))]
pub(crate) struct Account([AtomicI64; Purpose::COUNT]);

impl Account {
    #[inline]
    pub(crate) fn add(&self, purpose: Purpose, bytes: i64) {
        let counter = &self.0[purpose as usize];
        // A plain load and store: there is one writer.
        counter.store(counter.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    fn get(&self, purpose: usize) -> i64 {
        self.0[purpose].load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct Accounts {
    live: Vec<Weak<Account>>,
    /// Sums of closed caches.
    closed: [i64; Purpose::COUNT],
}

/// A shared source of blocks in one reservation; see the module text.
pub struct Arena {
    mapping: Arc<Mapping>,
    ahead: Ahead,
    /// Memory of versions, in the upper half of the mapping.
    pub(crate) regions: Regions,
    limit_bytes: usize,
    /// The part of the limit that is kept for urgent claims.
    reserve_bytes: usize,
    /// Bytes kept from versions besides the reserve.
    kept_bytes: AtomicUsize,
    /// Bytes claimed and reserved. Raised before `claimed_bytes`, so never less.
    used_bytes: AtomicUsize,
    /// Part of `used_bytes` that was charged for lists.
    listed_bytes: AtomicUsize,
    /// Start of the next chunk that is not for versions.
    claimed_bytes: AtomicUsize,
    central: Box<[Mutex<Vec<Block>>]>,
    accounts: Mutex<Accounts>,
}

/// A free block in a central list.
pub(crate) struct Block(pub(crate) NonNull<u8>);

// SAFETY: the holder of the `Block` owns the free block; its memory is bound to no thread.
unsafe impl Send for Block {}

/// Address space wished for: the bytes that 32-bit line numbers can name (256 GiB).
const ADDRESS_BYTES: usize = 1 << 38;
const CHUNK_BYTES_MIN: usize = 64 << 10;
/// Maximum bytes kept for urgent claims: a thirty-second of the limit, up to this.
const RESERVE_BYTES_MAX: usize = 16 << 20;

impl Arena {
    /// Makes an arena that never claims more than `limit_bytes`. Only address space is taken now.
    ///
    /// # Errors
    /// [`Exhausted`] if the system refuses even a huge page of address space.
    pub fn new(limit_bytes: usize) -> Result<Arc<Arena>, Exhausted> {
        Arena::with_regions(limit_bytes, None)
    }

    /// Makes an arena as [`Arena::new`] does, with regions of `region_bytes`, a multiple of
    /// [`LINE_BYTES`](crate::LINE_BYTES): each region serves versions of one size until it is
    /// empty. `None` chooses the best size. With small regions it takes few versions to see regions
    /// become empty.
    ///
    /// # Errors
    /// [`Exhausted`] if the system refuses even a huge page of address space.
    ///
    /// # Panics
    /// Panics if `region_bytes` is no such multiple, or zero.
    pub fn with_regions(
        limit_bytes: usize,
        region_bytes: Option<usize>,
    ) -> Result<Arc<Arena>, Exhausted> {
        let half = limit_bytes
            .saturating_add(HUGE_PAGE_BYTES)
            .min(ADDRESS_BYTES);
        let mapping = Arc::new(Mapping::reserve(2 * half).ok_or(Exhausted)?);
        let half = mapping.bytes() / 2;
        let central = (0..VERSION_CLASSES).map(|_| Mutex::new(Vec::new()));
        let limit_bytes = limit_bytes.min(half);
        // SAFETY: the address is within the mapping.
        let upper = unsafe { mapping.base().add(half) };
        let region_bytes = region_bytes.unwrap_or_else(|| region_bytes_under(limit_bytes));
        let regions = Regions::new(upper, half, region_bytes);
        Ok(Arc::new(Arena {
            limit_bytes,
            reserve_bytes: (limit_bytes / 32).clamp(CHUNK_BYTES_MIN, RESERVE_BYTES_MAX),
            kept_bytes: AtomicUsize::new(0),
            ahead: Ahead::new(&mapping),
            mapping,
            regions,
            used_bytes: AtomicUsize::new(0),
            listed_bytes: AtomicUsize::new(0),
            claimed_bytes: AtomicUsize::new(0),
            central: central.collect(),
            accounts: Mutex::new(Accounts::default()),
        }))
    }

    /// Returns the lowest address of the reservation, 2 MiB aligned. Blocks of 64 bytes and more
    /// lie at multiples of 64 bytes from it.
    #[inline]
    pub fn base(&self) -> NonNull<u8> {
        self.mapping.base()
    }

    /// Returns the bytes by purpose and the limit.
    pub fn usage(&self) -> Usage {
        let accounts = self.accounts.lock().unwrap_or_else(|e| e.into_inner());
        let mut sums = accounts.closed;
        for account in accounts.live.iter().filter_map(Weak::upgrade) {
            for (purpose, sum) in sums.iter_mut().enumerate() {
                *sum += account.get(purpose);
            }
        }
        let [inner_bytes, indirection_bytes, version_bytes, border_bytes] =
            sums.map(|sum| sum.max(0) as u64);
        let version_claimed_bytes = self.regions.claimed_bytes();
        let claimed_bytes = self.claimed_bytes.load(Ordering::Relaxed) + version_claimed_bytes;
        let used_bytes = self.used_bytes.load(Ordering::Relaxed);
        let listed_bytes = self.listed_bytes.load(Ordering::Relaxed);
        Usage {
            index_bytes: inner_bytes + border_bytes,
            indirection_bytes,
            version_bytes,
            version_claimed_bytes: version_claimed_bytes as u64,
            version_closing_bytes: self.regions.closing_bytes() as u64,
            regions_emptied: self.regions.emptied(),
            claimed_bytes: claimed_bytes as u64,
            reserved_bytes: used_bytes.saturating_sub(claimed_bytes + listed_bytes) as u64,
            listed_bytes: listed_bytes as u64,
            limit_bytes: self.limit_bytes as u64,
        }
    }

    /// Returns whether more is in use than the limit allows: only memory that lies elsewhere, and
    /// was charged, can bring that about.
    pub fn is_overdrawn(&self) -> bool {
        self.used_bytes.load(Ordering::Relaxed) > self.limit_bytes
    }

    /// Returns a large part of the reservation that has been claimed so far: address and bytes. For
    /// measurements that touch "the same memory".
    pub fn claimed(&self) -> (NonNull<u8>, usize) {
        let (lower, upper) = (
            self.claimed_bytes.load(Ordering::Relaxed),
            self.regions.fresh().from,
        );
        match upper > lower {
            // SAFETY: the address is within the mapping.
            true => (unsafe { self.base().add(self.mapping.bytes() / 2) }, upper),
            false => (self.base(), lower),
        }
    }

    /// Returns the hard limit, in bytes.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Returns the bytes that are still free for any purpose; without those kept for urgent claims.
    pub fn room(&self) -> usize {
        let used = self.used_bytes.load(Ordering::Relaxed) + self.reserve_bytes;
        self.limit_bytes.saturating_sub(used)
    }

    /// Leaves `bytes` of the limit to purposes other than versions. Regions of versions can be
    /// emptied to make room for others, but not while their versions belong to transactions that
    /// wait for that room.
    pub fn keep_from_versions(&self, bytes: usize) {
        self.kept_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Closes regions of versions, of `bytes` in all if there are as many whose versions fit into
    /// others: those with the largest free part. They become [room](Arena::room) when the versions
    /// left in them were moved elsewhere. Returns the bytes of the closed regions.
    pub fn close_sparsest(&self, bytes: usize) -> usize {
        let discard = |span| self.discard(span);
        let note = |change| self.note_change(change);
        self.regions.close_sparsest(bytes, discard, note)
    }

    /// Opens the closed regions again that have not become empty.
    pub fn reopen(&self) {
        self.regions.reopen();
    }

    /// Returns whether a version lies in a region that is to become empty, and had better move.
    #[inline]
    pub fn is_closing(&self, version: NonNull<u8>) -> bool {
        self.regions.is_closing(version)
    }

    pub(crate) fn some_close(&self) -> bool {
        self.regions.some_close()
    }

    pub(crate) fn closings(&self) -> u64 {
        self.regions.closings()
    }

    fn discard(&self, span: Span) {
        let from = self.mapping.bytes() / 2 + span.from;
        self.mapping.discard(from, span.bytes);
    }

    fn note_change(&self, change: Change) {
        self.note_listed(change.listed_bytes);
        self.used_bytes
            .fetch_sub(change.blank_bytes, Ordering::Relaxed);
    }

    /// Notes that lists have grown by `bytes`, or shrunk: then the number wraps.
    fn note_listed(&self, bytes: usize) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.listed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Has the system back the memory that will be claimed next, up to `bytes` of it and to the
    /// limit, rather than at the first write. Returns the number of bytes backed; 0 if the system
    /// cannot (before Linux 5.14).
    pub fn prefault(&self, bytes: usize) -> usize {
        let bytes = bytes.min(self.left_bytes());
        let lower = self.claimed_bytes.load(Ordering::Relaxed);
        let versions = self.regions.claimed_bytes();
        let half = self.mapping.bytes() / 2;
        let fresh = self.regions.fresh();
        // The shares of the next claims are probably those of the past ones.
        let share = versions.max(1) as f64 / (versions + lower).max(1) as f64;
        let upper_bytes = ((bytes as f64 * share) as usize).min(fresh.bytes);
        let lower_bytes = (bytes - upper_bytes).min(half - lower);
        let parts = [(half + fresh.from, upper_bytes), (lower, lower_bytes)];
        let populated = parts.map(|(from, bytes)| match self.mapping.populate(from, bytes) {
            true => bytes,
            false => 0,
        });
        populated.into_iter().sum()
    }

    /// Claims a chunk for blocks of `class`, of `wish` bytes (rounded down to what the limit
    /// leaves). The memory is zero. Returns its start and its length in bytes, at least one block.
    /// An urgent claim may use the reserve.
    pub(crate) fn claim_chunk(
        &self,
        class: usize,
        wish: usize,
        urgent: bool,
    ) -> Result<(NonNull<u8>, usize), Exhausted> {
        if class >= VERSION_CLASSES {
            let kept = match urgent {
                true => 0,
                false => self.kept_bytes.load(Ordering::Relaxed),
            };
            let claim = |bytes| {
                let enough = |left| (bytes + kept <= left).then_some(bytes);
                self.use_bytes(urgent, enough).map(drop)
            };
            let wish = wish.max(CHUNK_BYTES_MIN);
            let (start, bytes) = self.regions.cut(class, wish, claim, Exhausted)?;
            let end = self.offset(start) + bytes - self.mapping.bytes() / 2;
            self.ahead
                .claimed(Half::Upper, end, bytes, self.left_bytes());
            return Ok((start, bytes));
        }
        let block = block_bytes(class);
        let wish = wish
            .clamp(CHUNK_BYTES_MIN, HUGE_PAGE_BYTES)
            .max(block)
            .next_multiple_of(4096);
        let least = block.max(4096).next_multiple_of(4096);
        let bytes = self.use_bytes(urgent, |left| {
            let bytes = wish.min(left / 4096 * 4096);
            (bytes >= least).then_some(bytes)
        })?;
        // Relaxed: the chunk's memory is fresh, no thread published anything in it.
        let start = self.claimed_bytes.fetch_add(bytes, Ordering::Relaxed);
        let end = start + bytes;
        self.ahead
            .claimed(Half::Lower, end, bytes, self.left_bytes());
        // SAFETY: `start + bytes <= used <= limit <= half the mapping`, since claimed bytes were
        // first counted as used, and are never given back.
        Ok((unsafe { self.base().add(start) }, bytes))
    }

    fn offset(&self, of: NonNull<u8>) -> usize {
        of.addr().get() - self.base().addr().get()
    }

    /// Returns the bytes that the limit leaves.
    fn left_bytes(&self) -> usize {
        let used = self.used_bytes.load(Ordering::Relaxed);
        self.limit_bytes.saturating_sub(used)
    }

    /// Uses as many bytes as `choose` takes of those that the limit leaves.
    fn use_bytes(
        &self,
        urgent: bool,
        choose: impl Fn(usize) -> Option<usize>,
    ) -> Result<usize, Exhausted> {
        let kept = if urgent { 0 } else { self.reserve_bytes };
        let limit = self.limit_bytes.saturating_sub(kept);
        let mut used = self.used_bytes.load(Ordering::Relaxed);
        loop {
            let bytes = choose(limit.saturating_sub(used)).ok_or(Exhausted)?;
            match self.used_bytes.compare_exchange_weak(
                used,
                used + bytes,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(bytes),
                Err(now) => used = now,
            }
        }
    }

    /// Sets `bytes` of the limit aside for memory that lies elsewhere, until the reservation is
    /// dropped.
    ///
    /// # Errors
    /// [`Exhausted`] if the bytes do not fit.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Reservation, Exhausted> {
        let mut reservation = Reservation {
            arena: self.clone(),
            bytes: 0,
        };
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// Sets `bytes` of the limit aside for memory that lies elsewhere, if at least `leaving` bytes
    /// are left then. [`Arena::give_back`] gives them back.
    ///
    /// # Errors
    /// [`Exhausted`] if the bytes do not fit.
    pub fn set_aside(&self, bytes: usize, leaving: usize) -> Result<(), Exhausted> {
        let enough = |left: usize| (bytes.saturating_add(leaving) <= left).then_some(bytes);
        self.use_bytes(false, enough).map(drop)
    }

    /// Counts `bytes` that are in use elsewhere already, whatever the limit, until
    /// [`Arena::give_back`] gives them back.
    pub fn charge(&self, bytes: usize) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes back `bytes` that were set aside or charged.
    pub fn give_back(&self, bytes: usize) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn take_central(&self, class: usize, into: &mut Vec<NonNull<u8>>, most: usize) {
        if class >= VERSION_CLASSES {
            let note = |change| self.note_change(change);
            return self.regions.take(class, into, most, note);
        }
        let mut central = self.central[class]
            .lock()
            .unwrap_or_else(|e| e.into_inner());
        let from = central.len().saturating_sub(most);
        into.extend(central.drain(from..).map(|block| block.0));
    }

    pub(crate) fn give_central(&self, class: usize, blocks: impl Iterator<Item = NonNull<u8>>) {
        if class >= VERSION_CLASSES {
            let discard = |span| self.discard(span);
            let note = |change| self.note_change(change);
            return self.regions.give(class, blocks, discard, note);
        }
        let mut central = self.central[class]
            .lock()
            .unwrap_or_else(|e| e.into_inner());
        let before = central.capacity();
        central.extend(blocks.map(Block));
        // The list itself takes memory, and is never made smaller.
        self.note_listed((central.capacity() - before) * size_of::<Block>());
    }

    pub(crate) fn open_account(&self) -> Arc<Account> {
        let account = Arc::new(Account(std::array::from_fn(|_| AtomicI64::new(0))));
        let mut accounts = self.accounts.lock().unwrap_or_else(|e| e.into_inner());
        accounts.live.retain(|weak| weak.strong_count() > 0);
        accounts.live.push(Arc::downgrade(&account));
        account
    }

    pub(crate) fn close_account(&self, account: &Account) {
        let mut accounts = self.accounts.lock().unwrap_or_else(|e| e.into_inner());
        for purpose in 0..Purpose::COUNT {
            accounts.closed[purpose] += account.get(purpose);
            account.0[purpose].store(0, Ordering::Relaxed);
        }
    }
}

/// A part of an arena's limit that is set aside for memory elsewhere, until the reservation is
/// dropped.
#[derive(Debug)]
pub struct Reservation {
    arena: Arc<Arena>,
    bytes: usize,
}

impl Reservation {
    /// Sets `bytes` more aside.
    ///
    /// # Errors
    /// [`Exhausted`] if the bytes do not fit.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.arena.set_aside(bytes, 0)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Sets `bytes` more aside that are in use already, whatever the limit.
    pub fn charge(&mut self, bytes: usize) {
        self.arena.charge(bytes);
        self.bytes += bytes;
    }

    /// Gives `bytes` back, or as many as there are.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.arena.give_back(bytes);
        self.bytes -= bytes;
    }
}

/// Memory of lists elsewhere, which is in use whatever the limit, and counts towards it.
#[derive(Debug)]
pub struct Charge {
    arena: Arc<Arena>,
    bytes: usize,
}

impl Charge {
    /// Returns a charge of 0 bytes.
    pub fn new(arena: &Arc<Arena>) -> Charge {
        Charge {
            arena: arena.clone(),
            bytes: 0,
        }
    }

    /// Sets the bytes in use.
    pub fn set(&mut self, bytes: usize) {
        for counter in [&self.arena.used_bytes, &self.arena.listed_bytes] {
            // The difference wraps, if there is less now.
            counter.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("usage", &self.usage())
            .finish_non_exhaustive()
    }
}
