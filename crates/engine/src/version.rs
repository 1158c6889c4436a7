//! Versions: one state of one record.
//!
//! ```text
//!  0        8        16       20       24
//! +--------+--------+--------+--------+------------------
//! | begin  | link   | length | mark   | payload ...
//! +--------+--------+--------+--------+------------------
//!  link: distance to `next` 36 bits | block size 8 | distance to `successor` 20
//!   or   position on the device 42 bits | 11        | distance to `successor` 20
//! ```
//! A chain starts in the indirection array and runs from newest to oldest.
//!
//! # Access rules
//! - `begin`: written by the transaction that made the version: its identity, at the end the commit
//!   timestamp (Release; readers load with Acquire) or `NEVER`.
//! - `next`, block size: written before the version is published, then constant.
//! - `successor`: written by the maker before it stamps `begin` with its commit timestamp, read by
//!   other transactions only after that.
//! - `mark`: raised by serializable transactions that have read the version and commit
//!   (`transaction/certify.rs`).
//! - `length`, payload: written by the maker while `begin` holds its identity, read by other
//!   transactions only after they have loaded a commit timestamp from `begin`, or from the maker's
//!   status that the maker has committed.
//! - A version that was read from the device has no `next`, and a block of the size that its
//!   payload asks for; in place of both it has the position on the device: written before the
//!   version is published, then constant. Such a version can leave memory without being written
//!   again.
//! - The flag in the highest bit of `length`: the version was not asked for since the last look
//!   (`cold/demote.rs`). Set and cleared by any thread.
//! - The flag in the next bit of `length`: the version has the key of the one that it replaces, and
//!   other transactions may hold locks on that key beside the maker (`locks.rs`). Written before
//!   the version is published, then constant.
//!
//! # Dangling `next`
//! Once no snapshot is older than a version, the version below it is freed without cutting the
//! chain: no transaction follows `next` of a version that is visible to it, and versions not newer
//! than the horizon are visible to every transaction.

mod stamps;

use std::ptr::NonNull;

use memory::{BlockSize, Exhausted, Local, Purpose};

use self::stamps::{Distance, ReadMark};
use crate::{
    cold::{POSITION_UNIT, POSITIONS_END},
    locks::Strength,
    sync::{AtomicU32, AtomicU64, Ordering},
    timestamp::{Begin, Timestamp, TransactionId},
};

#[repr(C)]
struct Header {
    begin: AtomicU64,
    link: AtomicU64,
    length: AtomicU32,
    mark: AtomicU32,
}

/// Decoded `link`.
///
/// `next` lies in the same arena, at a distance of a multiple of 16 bytes that fits into 36 bits
/// with its sign.
#[derive(Clone, Copy)]
struct Link(u64);

impl Link {
    const NEXT_BITS: u32 = 36;
    const SIZE_BITS: u32 = 8;
    const UNIT_LOG2: u32 = 4;
    /// In the place of the highest bits of a size, none of which has both set: there is no `next`,
    /// but a position on the device, in units of [`POSITION_UNIT`].
    const IS_COPY: u64 = 0b11 << Self::POSITION_BITS;
    const POSITION_BITS: u32 = Self::NEXT_BITS + Self::SIZE_BITS - 2;

    fn new(from: Version, next: Option<Version>, size: BlockSize) -> Link {
        // The dangling link of a copied version may point to where the copy is.
        let next = next.filter(|next| next.0 != from.0);
        let distance = next.map_or(0, |next| {
            let bytes = next.0.as_ptr().expose_provenance() as i64 - from.0.addr().get() as i64;
            let distance = bytes >> Self::UNIT_LOG2;
            debug_assert!(distance << Self::UNIT_LOG2 == bytes && distance != 0);
            debug_assert!(distance.unsigned_abs() < 1 << (Self::NEXT_BITS - 1));
            distance as u64 & ((1 << Self::NEXT_BITS) - 1)
        });
        Link(distance | u64::from(size.number()) << Self::NEXT_BITS)
    }

    #[inline(always)]
    fn next(self, from: Version) -> Option<Version> {
        let spare = 64 - Self::NEXT_BITS;
        let bytes = ((self.0 << spare) as i64 >> (spare - Self::UNIT_LOG2)) as usize;
        let address = from.0.addr().get().wrapping_add(bytes);
        if bytes == 0 || self.is_copy() {
            return None;
        }
        NonNull::new(std::ptr::with_exposed_provenance_mut(address)).map(Version)
    }

    #[inline(always)]
    fn is_copy(self) -> bool {
        self.0 & Self::IS_COPY == Self::IS_COPY
    }

    /// Returns the record's position on the device, in bytes from the start of all cold files.
    fn position(self) -> Option<u64> {
        let units = self.0 & ((1 << Self::POSITION_BITS) - 1);
        self.is_copy().then_some(units * POSITION_UNIT)
    }

    /// Returns the link of a version at this `position`, which keeps its distance to `successor`.
    fn with_position(self, position: u64) -> Link {
        let units = position / POSITION_UNIT;
        debug_assert!(units >> Self::POSITION_BITS == 0);
        let shift = Self::NEXT_BITS + Self::SIZE_BITS;
        Link(self.0 >> shift << shift | Self::IS_COPY | units)
    }

    /// Returns the block size of a version that is no copy.
    #[inline(always)]
    fn size(self) -> BlockSize {
        BlockSize::of_number((self.0 >> Self::NEXT_BITS) as u8)
    }

    fn successor(self) -> Distance {
        Distance::from_bits((self.0 >> (Self::NEXT_BITS + Self::SIZE_BITS)) as u32)
    }

    fn with_successor(self, distance: Distance) -> Link {
        let shift = Self::NEXT_BITS + Self::SIZE_BITS;
        let others = self.0 & ((1 << shift) - 1);
        Link(others | u64::from(distance.bits()) << shift)
    }
}

const _: () = assert!(Link::NEXT_BITS + Link::SIZE_BITS + Distance::BITS == 64);
const _: () = assert!(BlockSize::serving(memory::BLOCK_BYTES_MAX).number() < 0b1100_0000);
const _: () = assert!(POSITIONS_END / POSITION_UNIT <= 1 << Link::POSITION_BITS);

pub(crate) const HEADER_BYTES: usize = 24;
const _: () = assert!(size_of::<Header>() == HEADER_BYTES || cfg!(loom));

/// Flag in `length`: the version was not asked for lately. New versions count as asked for.
const IDLE: u32 = 1 << 31;
/// Flag in `length`: the write kept the record's key.
const KEEPS_KEY: u32 = 1 << 30;
const LENGTH: u32 = KEEPS_KEY - 1;
/// `length` of a tombstone.
const TOMBSTONE: u32 = LENGTH;
const _: () = assert!(crate::VALUE_BYTES_MAX < TOMBSTONE as usize);

/// Pointer to a version. A caller that dereferences it (all methods do) must be protected: by an
/// epoch pin taken before the pointer was read, or by a snapshot to which the version matters. Only
/// this crate's transaction modules dereference it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Version(NonNull<u8>);

impl Version {
    /// Returns the bytes of memory of a version with a payload of `bytes`.
    pub(crate) fn block_bytes_for(bytes: usize) -> usize {
        HEADER_BYTES + bytes
    }

    /// Makes a new version with a copy of `payload` (`None`: a tombstone), unpublished. `strength`
    /// is that at which the maker locks the record by the version.
    #[inline]
    pub(crate) fn create(
        local: &Local,
        maker: TransactionId,
        payload: Option<&[u8]>,
        next: Option<Version>,
        strength: Strength,
    ) -> Result<Version, Exhausted> {
        let version = Self::make(local, maker.word(), payload, next)?;
        if strength < Strength::Update {
            let length = &version.header().length;
            length.store(
                length.load(Ordering::Relaxed) | KEEPS_KEY,
                Ordering::Relaxed,
            );
        }
        Ok(version)
    }

    /// Makes a version that was committed at `timestamp`, from no version in memory; without a
    /// predecessor, unpublished.
    pub(crate) fn restore(
        local: &Local,
        timestamp: Timestamp,
        payload: Option<&[u8]>,
    ) -> Result<Version, Exhausted> {
        Self::make(local, timestamp.0, payload, None)
    }

    /// Makes a version that was committed at `timestamp` and read from this `position`,
    /// unpublished.
    pub(crate) fn restore_copy(
        local: &Local,
        timestamp: Timestamp,
        payload: &[u8],
        position: u64,
    ) -> Result<Version, Exhausted> {
        let version = Self::restore(local, timestamp, Some(payload))?;
        let link = version.link().with_position(position);
        version.header().link.store(link.0, Ordering::Relaxed);
        Ok(version)
    }

    /// Returns the record's position on the device, in bytes from the start of all cold files, if
    /// the version was read from there.
    pub(crate) fn position_on_device(self) -> Option<u64> {
        self.link().position()
    }

    #[inline(always)]
    fn make(
        local: &Local,
        begin: u64,
        payload: Option<&[u8]>,
        next: Option<Version>,
    ) -> Result<Version, Exhausted> {
        let block_bytes = Self::block_bytes_for(payload.map_or(0, <[u8]>::len));
        let size = BlockSize::serving(block_bytes);
        let block = match payload {
            Some(_) => local.allocate(block_bytes, Purpose::Version),
            // Without tombstones no memory could be freed at the limit.
            None => local.allocate_urgent(block_bytes, Purpose::Version),
        };
        let version = Version(block?);
        // SAFETY: the block is fresh, large enough, 16-byte aligned and this function's own.
        unsafe {
            version.init(begin, next, size);
            version.write_payload(payload);
        }
        Ok(version)
    }

    /// # Safety
    /// The block is fresh, 16-byte aligned and the caller's.
    #[inline(always)]
    unsafe fn init(self, begin: u64, next: Option<Version>, size: BlockSize) {
        let header = Header {
            begin: AtomicU64::new(begin),
            link: AtomicU64::new(Link::new(self, next, size).0),
            length: AtomicU32::new(TOMBSTONE),
            mark: AtomicU32::new(ReadMark::NONE.bits()),
        };
        // SAFETY: as the caller guarantees.
        unsafe { self.0.cast::<Header>().write(header) };
    }

    pub(crate) fn from_word(word: u64) -> Option<Version> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(word as usize)).map(Version)
    }

    pub(crate) fn word(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// Returns the block of the version.
    pub(crate) fn block(self) -> NonNull<u8> {
        self.0
    }

    /// Returns the address, for prefetching.
    #[inline(always)]
    pub(crate) fn address(self) -> *const u8 {
        self.0.as_ptr()
    }

    #[inline(always)]
    fn header(&self) -> &Header {
        // SAFETY: the type's contract: the caller is protected, so the block is alive, and it
        // starts with a header.
        unsafe { self.0.cast::<Header>().as_ref() }
    }

    #[inline(always)]
    pub(crate) fn begin(self) -> Begin {
        // Acquire: pairs with `stamp`; the payload follows.
        Begin::decode(self.header().begin.load(Ordering::Acquire))
    }

    /// Whether the version has a valid commit timestamp.
    pub(crate) fn is_committed(self) -> bool {
        matches!(self.begin(), Begin::Committed(timestamp) if timestamp.0 != Begin::NEVER)
    }

    /// Whether the version was undone, or replaced by its own maker.
    pub(crate) fn was_taken_back(self) -> bool {
        self.begin() == Begin::Committed(Timestamp(Begin::NEVER))
    }

    #[inline(always)]
    fn link(self) -> Link {
        Link(self.header().link.load(Ordering::Relaxed))
    }

    /// Returns the version that this one replaces.
    #[inline(always)]
    pub(crate) fn next(self) -> Option<Version> {
        self.link().next(self)
    }

    /// Returns the earliest successor of the transaction that made this version, itself included,
    /// or an earlier point: paper 000 section 4.5, "pi" of the serial safety net. `begin` is the
    /// result of [`Version::begin`].
    pub(crate) fn successor_of_maker(self, begin: Timestamp) -> Timestamp {
        self.link().successor().before(begin)
    }

    /// Returns the newest commit of a transaction that has read this version and is marked
    /// ([`Version::mark_read`]), or a later point; `Timestamp(0)` if there is none.
    pub(crate) fn last_reader(self, now: Timestamp) -> Timestamp {
        // Relaxed: the caller's fence orders it.
        ReadMark::from_bits(self.header().mark.load(Ordering::Relaxed)).latest(now)
    }

    /// Makes a copy of a committed version, unpublished, without the mark of its readers.
    pub(crate) fn copy(self, local: &Local) -> Result<Version, Exhausted> {
        let header = self.header();
        let begin = header.begin.load(Ordering::Acquire);
        let copy = match (self.position_on_device(), self.payload()) {
            (Some(position), Some(payload)) => {
                Version::restore_copy(local, Timestamp(begin), payload, position)?
            }
            (_, payload) => Version::make(local, begin, payload, self.next())?,
        };
        let link = copy.link().with_successor(self.link().successor());
        copy.header().link.store(link.0, Ordering::Relaxed);
        let length = header.length.load(Ordering::Relaxed);
        copy.header().length.store(length, Ordering::Relaxed);
        Ok(copy)
    }

    /// Takes over the mark of the readers of the version `of`, whose place this one takes.
    pub(crate) fn take_mark(self, of: Version) {
        // Relaxed: the caller's fence orders it.
        let mark = of.header().mark.load(Ordering::Relaxed);
        self.header().mark.store(mark, Ordering::Relaxed);
    }

    /// Notes that a transaction that has read the version commits at `at`. Returns whether the mark
    /// was raised. `now` was the clock's value a moment ago.
    pub(crate) fn mark_read(self, at: Timestamp, now: Timestamp) -> bool {
        let word = &self.header().mark;
        // Relaxed, as all accesses: the caller's fence orders them.
        let mut mark = word.load(Ordering::Relaxed);
        while ReadMark::from_bits(mark).latest(now) < at {
            let raised = ReadMark::of(at).bits();
            match word.compare_exchange_weak(mark, raised, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => mark = other,
            }
        }
        false
    }

    #[inline(always)]
    fn length(self) -> u32 {
        // Relaxed: `begin` orders it, and the flag orders nothing.
        self.header().length.load(Ordering::Relaxed) & LENGTH
    }

    /// Returns the [`Version::payload`] to a reader that asks for the record, and notes the use.
    #[inline(always)]
    pub(crate) fn payload_used(&self) -> Option<&[u8]> {
        // Relaxed: as in `length`.
        let length = self.header().length.load(Ordering::Relaxed) & !KEEPS_KEY;
        if length >= TOMBSTONE {
            return self.payload_after_rest();
        }
        // SAFETY: the payload has this length.
        Some(unsafe { self.first_bytes(length) })
    }

    #[cold]
    fn payload_after_rest(&self) -> Option<&[u8]> {
        self.header().length.fetch_and(!IDLE, Ordering::Relaxed);
        self.payload()
    }

    /// Whether the version was asked for since the last call of this function.
    pub(crate) fn take_use(self) -> bool {
        let length = &self.header().length;
        let is_idle = length.load(Ordering::Relaxed) & IDLE != 0;
        if !is_idle {
            length.fetch_or(IDLE, Ordering::Relaxed);
        }
        !is_idle
    }

    /// Returns the strength at which the maker of the version locks the record by it.
    #[inline]
    pub(crate) fn strength(self) -> Strength {
        // Relaxed: written before the version was published.
        match self.header().length.load(Ordering::Relaxed) & KEEPS_KEY {
            0 => Strength::Update,
            _ => Strength::NoKeyUpdate,
        }
    }

    #[inline(always)]
    pub(crate) fn is_tombstone(self) -> bool {
        self.length() == TOMBSTONE
    }

    /// Returns the bytes of the version's block.
    pub(crate) fn block_bytes(self) -> usize {
        let link = self.link();
        let size = match link.is_copy() {
            false => link.size(),
            true => BlockSize::serving(Self::block_bytes_for(self.length() as usize)),
        };
        size.bytes()
    }

    /// Returns the record's value, `None` for a tombstone. Only for a version that is committed or
    /// the caller's own.
    #[inline(always)]
    pub(crate) fn payload(&self) -> Option<&[u8]> {
        let length = self.length();
        if length == TOMBSTONE {
            return None;
        }
        // SAFETY: the payload has this length.
        Some(unsafe { self.first_bytes(length) })
    }

    /// # Safety
    /// The payload must have `length` bytes.
    #[inline(always)]
    unsafe fn first_bytes(&self, length: u32) -> &[u8] {
        // SAFETY: as many bytes follow the header; they do not change once committed, and own ones
        // change only in `overwrite`, which the owner does not call while it reads.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(HEADER_BYTES), length as usize) }
    }

    /// # Safety
    /// The version must be the caller's own, uncommitted, with room for `payload`, and no reader
    /// may use its payload.
    #[inline]
    unsafe fn write_payload(self, payload: Option<&[u8]>) {
        let length = payload.map_or(TOMBSTONE, |bytes| bytes.len() as u32);
        let header = self.header();
        let kept = header.length.load(Ordering::Relaxed) & KEEPS_KEY;
        header.length.store(length | kept, Ordering::Relaxed);
        if let Some(bytes) = payload {
            // SAFETY: there is room, and by the caller's promise no other access to these bytes is
            // under way.
            unsafe {
                let target = self.0.as_ptr().add(HEADER_BYTES);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
            }
        }
    }

    /// Changes an own uncommitted version, if the new payload fits. Returns whether it fits.
    ///
    /// # Safety
    /// The version must be the calling transaction's own and uncommitted, and no slice from
    /// [`Version::payload`] may be in use.
    pub(crate) unsafe fn overwrite(self, payload: Option<&[u8]>) -> bool {
        let fits = Self::block_bytes_for(payload.map_or(0, <[u8]>::len)) <= self.block_bytes();
        if fits {
            // SAFETY: the caller's promise, and the payload fits. Other transactions see an
            // identity that is not theirs in `begin` and leave the rest alone.
            unsafe { self.write_payload(payload) };
        }
        fits
    }

    /// Makes the version valid from `timestamp` on; `successor` is the maker's earliest.
    #[inline(always)]
    pub(crate) fn stamp(self, timestamp: Timestamp, successor: Timestamp) {
        if successor != timestamp {
            let distance = Distance::between(successor, timestamp);
            let link = self.link().with_successor(distance);
            self.header().link.store(link.0, Ordering::Relaxed);
        }
        // Release: pairs with `begin`.
        self.header().begin.store(timestamp.0, Ordering::Release);
    }

    /// Makes the version invalid for every transaction.
    pub(crate) fn stamp_never(self) {
        self.header().begin.store(Begin::NEVER, Ordering::Release);
    }

    /// Frees the memory at once.
    ///
    /// # Safety
    /// No transaction may be able to reach the version any more.
    #[inline]
    pub(crate) unsafe fn free(self, local: &Local, block_bytes: usize) {
        // SAFETY: the caller's promise; `create` allocated it so.
        unsafe { local.free(self.0, block_bytes, Purpose::Version) };
    }

    /// Frees the memory when all pins open now are gone.
    ///
    /// # Safety
    /// The version must be unlinked, and may be retired only once.
    pub(crate) unsafe fn retire(self, local: &Local) {
        // SAFETY: the caller's promise; `create` allocated it so.
        unsafe { local.retire(self.0, self.block_bytes(), Purpose::Version) };
    }
}
