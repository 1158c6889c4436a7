//! The arena: shared source of blocks, with a hard limit and accounting.
//!
//! Threads never take single blocks from it. Each keeps a `Cache` (see
//! `cache.rs`) that claims *chunks* (up to 2 MiB, one size class each) and
//! returns surplus free blocks to the arena's central lists. So the arena is
//! touched once in thousands of allocations and a mutex per class is enough.
//!
//! Invariants:
//! - *Bounded*: claimed chunks and reservations for memory elsewhere never exceed the
//!   limit given at creation; what would is refused with [`Exhausted`] and changes
//!   nothing. (Only [`Reservation::charge`] may exceed it.)
//! - *Deletes go on*: a small part of the limit is kept for urgent claims, those
//!   of blocks without which nothing could be freed any more (tombstones).
//! - *One class per block for life*: a freed block serves its class again. Versions are the
//!   exception: their regions can be emptied (`region.rs`).
//! - *Stable addresses*: blocks lie in one reservation, whose base never moves: versions in its
//!   upper half, all else in the lower, each of which has room for the limit.

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

/// What a block is used for; the unit of memory statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Purpose {
    /// Inner nodes and key suffixes of indexes.
    Index,
    /// Indirection arrays.
    Indirection,
    /// Record versions.
    Version,
    /// Border nodes of indexes. Lasting: a block of this purpose serves no other, and
    /// whoever allocates one finds what the last owner left in it, or zeros.
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
    /// Bytes in live indirection arrays.
    pub indirection_bytes: u64,
    /// Bytes in live version blocks.
    pub version_bytes: u64,
    /// Bytes of chunks claimed for versions, live or free.
    pub version_claimed_bytes: u64,
    /// Those of them in regions that are to become empty, where nothing new goes.
    pub version_closing_bytes: u64,
    /// How many regions of versions' memory have become empty, and room for any purpose.
    pub regions_emptied: u64,
    /// Bytes of chunks claimed, live or free.
    pub claimed_bytes: u64,
    /// Bytes reserved for memory that lies elsewhere.
    pub reserved_bytes: u64,
    /// Bytes of what open transactions remember, of garbage queues and free lists.
    pub listed_bytes: u64,
    /// The hard limit on `claimed_bytes`, `reserved_bytes` and `listed_bytes` together.
    pub limit_bytes: u64,
}

/// The arena's limit is reached; nothing was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the memory limit is reached; delete records or raise the limit")
    }
}

impl std::error::Error for Exhausted {}

/// Live bytes of one thread's cache. Written by its owner alone (a block may be
/// freed elsewhere, hence the sign), read by anybody who sums.
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
    /// What closed caches left behind.
    closed: [i64; Purpose::COUNT],
}

/// A shared source of blocks in one reservation. See the module text.
pub struct Arena {
    mapping: Arc<Mapping>,
    ahead: Ahead,
    /// Memory of versions, in the upper half of the mapping.
    pub(crate) regions: Regions,
    limit_bytes: usize,
    /// The part of the limit that is kept for urgent claims.
    reserve_bytes: usize,
    /// What is kept from versions beside that.
    kept_bytes: AtomicUsize,
    /// Claimed and reserved. Raised before `claimed_bytes`, so never less.
    used_bytes: AtomicUsize,
    /// The part of them that was charged for lists.
    listed_bytes: AtomicUsize,
    /// Of all but versions: where the next chunk begins.
    claimed_bytes: AtomicUsize,
    central: Box<[Mutex<Vec<Block>>]>,
    accounts: Mutex<Accounts>,
}

/// A free block in a central list.
pub(crate) struct Block(pub(crate) NonNull<u8>);

// SAFETY: a free block is owned by whoever holds the `Block`; there is nothing
// thread-bound about its memory.
unsafe impl Send for Block {}

/// Address space wished for: what 32-bit line numbers can name (256 GiB).
const ADDRESS_BYTES: usize = 1 << 38;
const CHUNK_BYTES_MIN: usize = 64 << 10;
/// Most that is kept for urgent claims: a thirty-second of the limit, up to this.
const RESERVE_BYTES_MAX: usize = 16 << 20;

impl Arena {
    /// An arena that never claims more than `limit_bytes`. Only address space
    /// is taken now.
    ///
    /// # Errors
    /// [`Exhausted`] when the system refuses even a huge page of address space.
    pub fn new(limit_bytes: usize) -> Result<Arc<Arena>, Exhausted> {
        Arena::with_regions(limit_bytes, None)
    }

    /// The same with regions of so many bytes, a multiple of [`LINE_BYTES`](crate::LINE_BYTES):
    /// each serves versions of one size until it is empty. `None` makes them as large as is
    /// best. With small ones it takes few versions to see regions become empty.
    ///
    /// # Errors
    /// As for [`Arena::new`].
    ///
    /// # Panics
    /// If `region_bytes` is no such multiple, or zero.
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
        // SAFETY: within the mapping.
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

    /// The lowest address of the reservation, 2 MiB aligned. Blocks of 64 bytes
    /// and more lie at multiples of 64 bytes from it.
    #[inline]
    pub fn base(&self) -> NonNull<u8> {
        self.mapping.base()
    }

    /// Bytes by purpose and the limit.
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

    /// Whether more is in use than the limit allows: only what lies elsewhere, and was
    /// charged, can bring that about.
    pub fn is_overdrawn(&self) -> bool {
        self.used_bytes.load(Ordering::Relaxed) > self.limit_bytes
    }

    /// A large part of the reservation that has been claimed so far: address and
    /// bytes. For measurements that want to touch "the same memory".
    pub fn claimed(&self) -> (NonNull<u8>, usize) {
        let (lower, upper) = (
            self.claimed_bytes.load(Ordering::Relaxed),
            self.regions.fresh().from,
        );
        match upper > lower {
            // SAFETY: within the mapping.
            true => (unsafe { self.base().add(self.mapping.bytes() / 2) }, upper),
            false => (self.base(), lower),
        }
    }

    /// The hard limit, in bytes.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Bytes that are still to be had, for whatever purpose; without what is kept for urgent
    /// claims.
    pub fn room(&self) -> usize {
        let used = self.used_bytes.load(Ordering::Relaxed) + self.reserve_bytes;
        self.limit_bytes.saturating_sub(used)
    }

    /// Leaves so many bytes of the limit to others than versions. Their regions can be emptied to
    /// make room for others, but not while what is in them belongs to those who wait for
    /// that room.
    pub fn keep_from_versions(&self, bytes: usize) {
        self.kept_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Closes regions of versions, of `bytes` if there are as many whose rest fits into others:
    /// those with the largest free part. They become [room](Arena::room) when what is left in
    /// them was moved elsewhere. Returns how many bytes they have.
    pub fn close_sparsest(&self, bytes: usize) -> usize {
        let discard = |span| self.discard(span);
        let note = |change| self.note_change(change);
        self.regions.close_sparsest(bytes, discard, note)
    }

    /// Gives up what has not become empty of the regions that were closed.
    pub fn reopen(&self) {
        self.regions.reopen();
    }

    /// Whether a version lies in a region that is to become empty, and had better move.
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

    /// Lists have grown by so many bytes, or shrunk: then it wraps.
    fn note_listed(&self, bytes: usize) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.listed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Has the system back the memory that will be claimed next, up to `bytes` of it and to
    /// the limit, rather than when it is first written to. Returns how many bytes that is;
    /// 0 where the system cannot (before Linux 5.14).
    pub fn prefault(&self, bytes: usize) -> usize {
        let bytes = bytes.min(self.left_bytes());
        let lower = self.claimed_bytes.load(Ordering::Relaxed);
        let versions = self.regions.claimed_bytes();
        let half = self.mapping.bytes() / 2;
        let fresh = self.regions.fresh();
        // What is needed next is probably shared as what was is.
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

    /// Claims a chunk for blocks of `class`, wishing for `wish` bytes (rounded
    /// down to what the limit leaves). The memory is zero. Returns its start
    /// and its length in bytes, at least one block. An urgent claim may use the
    /// reserve.
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
        // Relaxed: the chunk's memory is fresh, nobody published anything in it.
        let start = self.claimed_bytes.fetch_add(bytes, Ordering::Relaxed);
        let end = start + bytes;
        self.ahead
            .claimed(Half::Lower, end, bytes, self.left_bytes());
        // SAFETY: `start + bytes <= used <= limit <= half the mapping`, since whatever is
        // claimed was used first, and never given back.
        Ok((unsafe { self.base().add(start) }, bytes))
    }

    fn offset(&self, of: NonNull<u8>) -> usize {
        of.addr().get() - self.base().addr().get()
    }

    /// Bytes that the limit leaves.
    fn left_bytes(&self) -> usize {
        let used = self.used_bytes.load(Ordering::Relaxed);
        self.limit_bytes.saturating_sub(used)
    }

    /// Uses as many bytes as `choose` makes of those that the limit leaves.
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

    /// Sets `bytes` of the limit aside for memory that lies elsewhere, until the
    /// reservation is dropped.
    ///
    /// # Errors
    /// [`Exhausted`] if they do not fit.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Reservation, Exhausted> {
        let mut reservation = Reservation {
            arena: self.clone(),
            bytes: 0,
        };
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// Sets `bytes` of the limit aside for memory that lies elsewhere, if at least `leaving` bytes
    /// are left then. They are to be given back by [`Arena::give_back`].
    ///
    /// # Errors
    /// [`Exhausted`] if they do not fit.
    pub fn set_aside(&self, bytes: usize, leaving: usize) -> Result<(), Exhausted> {
        let enough = |left: usize| (bytes.saturating_add(leaving) <= left).then_some(bytes);
        self.use_bytes(false, enough).map(drop)
    }

    /// Counts `bytes` that are in use elsewhere already, whatever the limit, until they are given
    /// back by [`Arena::give_back`].
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

/// A part of an arena's limit that is set aside for memory elsewhere, until this is
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
    /// [`Exhausted`] if they do not fit.
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

    /// Gives `bytes` back, or what there is.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.arena.give_back(bytes);
        self.bytes -= bytes;
    }
}

/// Memory of lists elsewhere that is in use, whatever the limit, and counts towards it.
#[derive(Debug)]
pub struct Charge {
    arena: Arc<Arena>,
    bytes: usize,
}

impl Charge {
    /// Nothing, so far.
    pub fn new(arena: &Arc<Arena>) -> Charge {
        Charge {
            arena: arena.clone(),
            bytes: 0,
        }
    }

    /// Says how much there is.
    pub fn set(&mut self, bytes: usize) {
        for counter in [&self.arena.used_bytes, &self.arena.listed_bytes] {
            // Wraps, if there is less now.
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
