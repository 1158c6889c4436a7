//! The cold files: their names, room for blocks, and their states.
//!
//! # The life of a file
//! | state | meaning |
//! | --- | --- |
//! | open | blocks are written to the last open file; records become cold in all open files |
//! | closed | the file is being emptied (`compact.rs`): no record becomes cold there any more |
//! | emptied | no slot names a record in it, and none ever will |
//!
//! An emptied file is removed when no reader can be about to read it: no transaction is open that
//! might have found one of its addresses, and the current checkpoint does not refer to the file
//! ([`ColdFiles::remove_emptied`]).
//!
//! # Closing
//! A version that was read from a file remembers its address, and becomes cold there again without
//! a write (`demote.rs`). The compaction that closes the file and the demotion must notice each
//! other:
//! ```text
//!   demotion                          compaction
//!   freeze the slot                   close the file
//!   fence                             fence
//!   look at the file: if it is        look at the slot: if it is frozen, wait;
//!   closed, let the slot be           if it is cold, the file is not empty
//! ```
//! If demotion does not see the file closed, its freezing comes before compaction's look.
//!
//! # Damage
//! A block in which the device failed to read, or a checksum was wrong, is marked as long as the
//! database is open. No record becomes cold there again without being written anew, and the
//! readable records of that file are moved elsewhere (`compact.rs`), the sooner the better.
//!
//! # Expiry
//! For each table with a TTL, a file knows when its last record of the table expires
//! ([`Expiries`]): `expire.rs` need not look at the device before. The expiry is noted *after* the
//! slot names the record's place, and forgotten *before* slots are looked at: a record is either
//! found, or noted afterwards. The records of a file from before the opening are unknown: the first
//! count of live bytes notes the tables of which there are any.

use std::{
    collections::{BTreeSet, HashSet},
    io,
    sync::{Arc, Mutex, MutexGuard, RwLock},
};

use ::io::{Directory, File, OpenMode};
use rustc_hash::FxHashMap;

use crate::{
    device_room::DeviceRoom,
    manifest::ColdFileEntry,
    sync::{AtomicBool, AtomicU64, Ordering, fence},
    timestamp::Timestamp,
    ttl::{WallClock, WallTime},
};

#[cfg(doc)]
use super::ColdAddress;
use super::block::BLOCK_BYTES;

/// Positions of a file, and so the maximum of its bytes.
pub(crate) const FILE_BYTES_MAX: u64 = 64 << 20;

/// End of all positions: the limit of what a version in memory has room for (`version.rs`).
pub(crate) const POSITIONS_END: u64 = 1 << 46;

/// Count of file numbers; the first one follows the last.
const NUMBERS: u32 = (POSITIONS_END / FILE_BYTES_MAX) as u32;

/// Returns the name of the cold file with this number.
pub(crate) fn file_name(number: u32) -> String {
    format!("cold-{number:08}")
}

/// Returns the number in the name of a cold file.
pub(crate) fn file_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("cold-")?;
    let all_digits = digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Returns the number of the file that has a position, and the offset in that file.
pub(crate) fn locate(position: u64) -> (u32, u64) {
    (
        (position / FILE_BYTES_MAX) as u32,
        position % FILE_BYTES_MAX,
    )
}

/// Removes all cold files that an earlier process left, except these: log and checkpoint have the
/// records of the others.
pub(crate) fn remove_others(
    directory: &Arc<dyn Directory>,
    files: &[ColdFileEntry],
) -> io::Result<()> {
    let is_kept = |number| files.iter().any(|file| file.number == number);
    let names = directory.list()?.into_iter();
    let mut others = names.filter(|name| file_number(name).is_some_and(|n| !is_kept(n)));
    others.try_for_each(|name| directory.remove(&name))
}

/// A cold file.
pub(super) struct ColdFile {
    pub(super) number: u32,
    pub(super) file: Arc<dyn File>,
    /// Whether the file was made since the database was opened.
    pub(super) is_recent: bool,
    /// End of the room in the file that was taken so far.
    end: AtomicU64,
    /// Bytes of all records that were written to the file, as addresses tell them; 0 if unknown.
    written: AtomicU64,
    state: AtomicU64,
    /// Time at which the file was found to be empty.
    emptied: AtomicU64,
    count: Mutex<Count>,
    has_damage: AtomicBool,
    /// Parts of [`BLOCK_BYTES`] bytes with a byte that could not be read.
    damaged: Mutex<BTreeSet<u64>>,
    expiries: Mutex<Expiries>,
}

/// Expiry times of the records of a file.
#[derive(Default)]
struct Expiries {
    /// Expiry of the last record of each table, by the table's number; an upper bound.
    last: FxHashMap<u32, WallTime>,
    /// Whether `last` has all tables with such records.
    is_complete: bool,
}

/// Result of the last count of live bytes.
#[derive(Clone, Copy, Default)]
struct Count {
    /// Bytes of records that slots name.
    live: u64,
    /// End of the file at that time.
    end: u64,
}

const OPEN: u64 = 0;
const CLOSED: u64 = 1;
/// The file is emptied as far as possible: slots name records that cannot be read.
const KEPT: u64 = 2;
const EMPTIED: u64 = 3;

impl ColdFile {
    fn new(number: u32, file: Arc<dyn File>, end: u64, is_recent: bool) -> ColdFile {
        ColdFile {
            number,
            file,
            is_recent,
            end: AtomicU64::new(end),
            written: AtomicU64::new(0),
            state: AtomicU64::new(OPEN),
            emptied: AtomicU64::new(0),
            count: Mutex::default(),
            has_damage: AtomicBool::new(false),
            damaged: Mutex::default(),
            expiries: Mutex::new(Expiries {
                last: FxHashMap::default(),
                is_complete: is_recent,
            }),
        }
    }

    fn expiries(&self) -> MutexGuard<'_, Expiries> {
        self.expiries.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the earliest time at which all records of some table in the file will have expired.
    fn next_expiry(&self) -> Option<WallTime> {
        self.expiries().last.values().min().copied()
    }

    /// Takes the expiries out, for a pass that goes through the whole file.
    pub(super) fn take_expiries(&self) -> Vec<(u32, WallTime)> {
        let mut expiries = self.expiries();
        expiries.is_complete = true;
        expiries.last.drain().collect()
    }

    fn damaged(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.damaged.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Notes that the byte at `offset` of the file could not be read; returns whether its part was
    /// undamaged before.
    pub(super) fn note_damage(&self, offset: u64) -> bool {
        let is_news = self.damaged().insert(offset / BLOCK_BYTES as u64);
        // Relaxed, here and below: a session that does not see the flag yet notices the damage when
        // it reads.
        self.has_damage.store(true, Ordering::Relaxed);
        is_news
    }

    pub(super) fn has_damage(&self) -> bool {
        self.has_damage.load(Ordering::Relaxed)
    }

    /// Returns the approximate number of blocks with a byte that could not be read.
    pub(super) fn damaged_blocks(&self) -> u64 {
        self.damaged().len() as u64
    }

    /// Whether records may become cold again where they are, at `offset` of the file.
    pub(super) fn takes_back(&self, offset: u64) -> bool {
        let is_damaged = || self.damaged().contains(&(offset / BLOCK_BYTES as u64));
        self.is_open() && !(self.has_damage() && is_damaged())
    }

    /// Returns the position at which the file starts, from the start of all files.
    pub(super) fn start(&self) -> u64 {
        u64::from(self.number) * FILE_BYTES_MAX
    }

    /// Returns the end of the room in the file that was taken so far.
    pub(super) fn end(&self) -> u64 {
        // Acquire: pairs with `take`.
        self.end.load(Ordering::Acquire)
    }

    /// Whether records may become cold in the file. A caller that finds it open has frozen a slot:
    /// see the module's doc.
    pub(super) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) == OPEN
    }

    /// Whether the file is to be emptied, and is not yet known to be empty.
    pub(super) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
    }

    /// Whether the file may turn out to be empty.
    pub(super) fn may_be_empty(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), CLOSED | KEPT)
    }

    /// Closes the file: from now on no record becomes cold there, and a session that looks at slots
    /// afterwards sees all records that have.
    pub(super) fn close(&self) {
        self.state.store(CLOSED, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Notes that the records left in the file cannot be moved.
    pub(super) fn keep(&self) {
        self.state.store(KEPT, Ordering::Release);
    }

    /// Notes that at `now` no slot named a record in the file.
    pub(super) fn note_emptied(&self, now: Timestamp) {
        self.emptied.store(now.0, Ordering::Relaxed);
        self.state.store(EMPTIED, Ordering::Release);
    }

    /// Whether no record of the file is to be moved any more.
    pub(super) fn is_done_with(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), KEPT | EMPTIED)
    }

    fn is_emptied(&self) -> bool {
        self.state.load(Ordering::Acquire) == EMPTIED
    }

    /// Notes that records of so many bytes were written to the file ([`ColdAddress::bytes_about`]).
    pub(super) fn note_written(&self, bytes: u64) {
        // Relaxed: only shares depend on the count.
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the written bytes and the end of the file, to be taken when a count begins.
    pub(super) fn extent(&self) -> (u64, u64) {
        (self.written.load(Ordering::Relaxed), self.end())
    }

    /// Notes that slots name records of `live` bytes ([`ColdAddress::bytes_about`]), among those
    /// that the file had when the count began.
    pub(super) fn note_live(&self, live: u64, (written, end): (u64, u64)) {
        // Addresses round both numbers in the same way.
        let live = match (self.is_recent, written) {
            (true, 1..) => (u128::from(end) * u128::from(live) / u128::from(written)) as u64,
            _ => live,
        };
        let live = live.min(end);
        *self.count.lock().unwrap_or_else(|e| e.into_inner()) = Count { live, end };
    }

    /// Returns the approximate bytes of records that slots name; bytes written since the last count
    /// are taken to be live.
    pub(super) fn live(&self) -> u64 {
        let count = *self.count.lock().unwrap_or_else(|e| e.into_inner());
        count.live + (self.end() - count.end)
    }
}

/// All cold files of a database.
pub(super) struct ColdFiles {
    directory: Arc<dyn Directory>,
    pub(super) database: u64,
    /// Size of a new file in bytes.
    bytes_max: u64,
    all: RwLock<FxHashMap<u32, Arc<ColdFile>>>,
    tail: Mutex<Tail>,
    /// Earliest time at which a file may have something to expire.
    next_expiry: AtomicU64,
}

/// The file that blocks are written to.
struct Tail {
    file: Option<Arc<ColdFile>>,
    /// Bytes that are reserved for the file.
    bytes: u64,
    /// The number of the last file that was made.
    last: Option<u32>,
    /// Numbers of files that were removed: a version in memory may still remember an address in
    /// one.
    removed: HashSet<u32>,
    /// Bytes of all blocks so far.
    taken: u64,
}

impl Tail {
    /// Returns the number of the next file, when the files of `all` exist.
    fn next(&self, all: &FxHashMap<u32, Arc<ColdFile>>) -> Option<u32> {
        let first = self.last.map_or(0, |last| (last + 1) % NUMBERS);
        let numbers = (first..NUMBERS).chain(0..first);
        let mut free = numbers.filter(|n| !all.contains_key(n) && !self.removed.contains(n));
        free.next()
    }
}

/// Room for a block.
pub(super) struct Room {
    /// Position of the room, from the start of all files.
    pub(super) position: u64,
    pub(super) file: Arc<ColdFile>,
    /// Offset in the file.
    pub(super) offset: u64,
}

impl ColdFiles {
    /// Opens these files; new blocks go to other files, of `bytes_max` bytes. Files that are
    /// missing are left out.
    pub(super) fn open(
        directory: &Arc<dyn Directory>,
        database: u64,
        files: &[ColdFileEntry],
        bytes_max: u64,
    ) -> io::Result<ColdFiles> {
        let mut all = FxHashMap::default();
        for entry in files {
            match directory.open(&file_name(entry.number), OpenMode::Write, true) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => {
                    let file = ColdFile::new(entry.number, opened?, entry.bytes, false);
                    all.insert(entry.number, Arc::new(file));
                }
            }
        }
        let tail = Tail {
            file: None,
            bytes: 0,
            last: files.iter().map(|file| file.number).max(),
            removed: HashSet::new(),
            taken: 0,
        };
        Ok(ColdFiles {
            directory: directory.clone(),
            database,
            bytes_max: bytes_max.min(FILE_BYTES_MAX),
            all: RwLock::new(all),
            tail: Mutex::new(tail),
            next_expiry: AtomicU64::new(WallTime::NEVER.0),
        })
    }

    /// Returns the file with this number.
    pub(super) fn file(&self, number: u32) -> Option<Arc<ColdFile>> {
        let all = self.all.read().unwrap_or_else(|e| e.into_inner());
        all.get(&number).cloned()
    }

    /// Returns all files.
    pub(super) fn all(&self) -> Vec<Arc<ColdFile>> {
        let all = self.all.read().unwrap_or_else(|e| e.into_inner());
        let mut all: Vec<_> = all.values().cloned().collect();
        all.sort_by_key(|file| file.number);
        all
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the number of the file that blocks go to.
    pub(super) fn tail_number(&self) -> Option<u32> {
        self.tail().file.as_ref().map(|file| file.number)
    }

    /// Returns the bytes of all blocks since the database was opened.
    pub(super) fn taken(&self) -> u64 {
        self.tail().taken
    }

    /// Returns the size of a new file in bytes.
    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Takes room for a block of `bytes` bytes. A block does not go beyond the end of a file.
    ///
    /// # Errors
    /// The directory's error on creating a file: `StorageFull`, for example.
    pub(super) fn take(&self, bytes: usize) -> io::Result<Room> {
        let bytes = bytes as u64;
        debug_assert!(bytes <= FILE_BYTES_MAX);
        let mut tail = self.tail();
        let file = match &tail.file {
            Some(file) if file.end() + bytes <= tail.bytes => file.clone(),
            _ => self.create(&mut tail, bytes)?,
        };
        let offset = file.end();
        // Release: a session that finds the end knows that the block is about to be there.
        file.end.store(offset + bytes, Ordering::Release);
        tail.taken += bytes;
        Ok(Room {
            position: file.start() + offset,
            file,
            offset,
        })
    }

    /// Makes the next file, with room for a block of `bytes` bytes.
    fn create(&self, tail: &mut Tail, bytes: u64) -> io::Result<Arc<ColdFile>> {
        let mut all = self.all.write().unwrap_or_else(|e| e.into_inner());
        let number = tail.next(&all).ok_or(io::ErrorKind::StorageFull)?;
        let name = file_name(number);
        let file = self.directory.open(&name, OpenMode::Create, true)?;
        let reserved = DeviceRoom::cold_file_bytes(&*self.directory, bytes, self.bytes_max);
        if let Err(error) = file.reserve(reserved) {
            // No block was written to the file.
            let _ = self.directory.remove(&name);
            return Err(error);
        }
        let file = Arc::new(ColdFile::new(number, file, 0, true));
        all.insert(number, file.clone());
        tail.last = Some(number);
        tail.file = Some(file.clone());
        tail.bytes = reserved;
        Ok(file)
    }

    /// Notes that a record of `table` is cold in `file`, and expires at `expiry`.
    pub(super) fn note_expiry(&self, file: &ColdFile, table: u32, expiry: WallTime) {
        let mut expiries = file.expiries();
        let last = expiries.last.entry(table).or_default();
        *last = expiry.max(*last);
        drop(expiries);
        // Relaxed, here and below: a session that looks for this time and misses it looks again.
        self.next_expiry.fetch_min(expiry.0, Ordering::Relaxed);
    }

    /// Notes that records of a table with a TTL are cold in a file: if no expiry of theirs is
    /// known, they may have expired.
    pub(super) fn note_expiring(&self, file: &ColdFile, table: u32) {
        let is_complete = file.expiries().is_complete;
        if !is_complete {
            self.note_expiry(file, table, WallTime::default());
        }
    }

    /// Returns the files of which all records of some table have expired.
    pub(super) fn expired(&self, clock: &WallClock) -> Vec<Arc<ColdFile>> {
        let next = &self.next_expiry;
        let first = WallTime(next.load(Ordering::Relaxed));
        // The clock is not read unless there is a record that expires.
        if first == WallTime::NEVER || first > clock.now() {
            return Vec::new();
        }
        let now = clock.now();
        // First: an expiry that is noted from now on counts, whether or not it is seen below.
        next.store(WallTime::NEVER.0, Ordering::Relaxed);
        let mut files = self.all();
        files.retain(|file| {
            let expiry = file.next_expiry().filter(|_| !file.is_emptied());
            let expiry = expiry.unwrap_or(WallTime::NEVER);
            next.fetch_min(expiry.0, Ordering::Relaxed);
            expiry <= now
        });
        files
    }

    /// Removes emptied files that no transaction reads any more, since no snapshot is older than
    /// `horizon`, and that the current checkpoint does not refer to (it refers to `named`). The
    /// caller makes sure that no checkpoint is being taken. Returns the number of files that were
    /// removed.
    ///
    /// An address is used by the statement that has found it in a slot, and statements keep their
    /// snapshot. A statement that has found an address in the file therefore has a snapshot that is
    /// not newer than the time at which the file was known to be empty.
    ///
    /// # Errors
    /// The directory's error.
    pub(super) fn remove_emptied(
        &self,
        named: &[ColdFileEntry],
        horizon: Timestamp,
    ) -> io::Result<u64> {
        let mut removed = 0;
        for file in self.all() {
            let is_named = named.iter().any(|entry| entry.number == file.number);
            // Relaxed: stored before the state.
            if !file.is_emptied() || is_named || file.emptied.load(Ordering::Relaxed) >= horizon.0 {
                continue;
            }
            self.tail().removed.insert(file.number);
            let mut all = self.all.write().unwrap_or_else(|e| e.into_inner());
            all.remove(&file.number);
            drop(all);
            match self.directory.remove(&file_name(file.number)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                outcome => outcome?,
            }
            removed += 1;
        }
        Ok(removed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
