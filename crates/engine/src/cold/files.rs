//! The cold files: their names, room for blocks, and which of them are still of use.
//!
//! # The life of a file
//! | state | what happens |
//! | --- | --- |
//! | open | blocks are written to the last one; records become cold in all of them |
//! | closed | it is being emptied (`compact.rs`): no record becomes cold there any more |
//! | emptied | no slot names a record in it, and none ever will |
//!
//! An emptied file is removed when nobody can be about to read it: no transaction is open that
//! might have found one of its addresses, and the checkpoint that counts does not refer to it
//! ([`ColdFiles::remove_emptied`]).
//!
//! # Closing
//! A version that was read from a file remembers its address, and becomes cold there again
//! without a write (`demote.rs`). Who closes a file and who does that must notice each other:
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
//! Where the device has failed to read, or a checksum was wrong, the block is marked as long as
//! the database is open: no record becomes cold there without being written anew, and what can
//! still be read in that file is moved elsewhere (`compact.rs`), the sooner the better.
//!
//! # Expiry
//! Of each table with a TTL a file knows when the last record expires that it has ([`Expiries`]):
//! `expire.rs` needs no look at the device before. That is noted *after* the slot says that the
//! record is there, and forgotten *before* slots are looked at: so a record is either found, or
//! noted afterwards. Of a file from before the opening it is unknown which records it has: the
//! first who counts what is live notes of which tables there are any.

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

/// Positions of a file: it has so many bytes at most.
pub(crate) const FILE_BYTES_MAX: u64 = 64 << 20;

/// The end of all positions: what a version in memory has room for (`version.rs`).
pub(crate) const POSITIONS_END: u64 = 1 << 46;

/// Numbers of files; after the last one comes the first.
const NUMBERS: u32 = (POSITIONS_END / FILE_BYTES_MAX) as u32;

/// The name of a cold file.
pub(crate) fn file_name(number: u32) -> String {
    format!("cold-{number:08}")
}

/// The number in the name of a cold file.
pub(crate) fn file_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("cold-")?;
    let all_digits = digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Which file has a position, and where.
pub(crate) fn locate(position: u64) -> (u32, u64) {
    (
        (position / FILE_BYTES_MAX) as u32,
        position % FILE_BYTES_MAX,
    )
}

/// Removes what an earlier process left but for these files: what else was cold, log and
/// checkpoint have.
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
    /// It was made since the database was opened.
    pub(super) is_recent: bool,
    /// Where the room in it ends that was taken so far.
    end: AtomicU64,
    /// Bytes of all records that were written to it, as far as addresses say; 0 if nobody knows.
    written: AtomicU64,
    state: AtomicU64,
    /// When it was found to be empty.
    emptied: AtomicU64,
    count: Mutex<Count>,
    has_damage: AtomicBool,
    /// Parts of [`BLOCK_BYTES`] bytes in which something could not be read.
    damaged: Mutex<BTreeSet<u64>>,
    expiries: Mutex<Expiries>,
}

/// When the records of a file expire.
#[derive(Default)]
struct Expiries {
    /// The last of each table, by its number; at the latest.
    last: FxHashMap<u32, WallTime>,
    /// There are no others.
    is_complete: bool,
}

/// What was found when somebody last counted.
#[derive(Clone, Copy, Default)]
struct Count {
    /// Bytes of records that slots name.
    live: u64,
    /// Where the file ended.
    end: u64,
}

const OPEN: u64 = 0;
const CLOSED: u64 = 1;
/// Emptied as far as possible: slots name records that cannot be read.
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

    /// When all that it has of some table will have expired.
    fn next_expiry(&self) -> Option<WallTime> {
        self.expiries().last.values().min().copied()
    }

    /// Forgets when its records expire, for who goes through all of it.
    pub(super) fn take_expiries(&self) -> Vec<(u32, WallTime)> {
        let mut expiries = self.expiries();
        expiries.is_complete = true;
        expiries.last.drain().collect()
    }

    fn damaged(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.damaged.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// What is `offset` bytes into it could not be read; whether that is news.
    pub(super) fn note_damage(&self, offset: u64) -> bool {
        let is_news = self.damaged().insert(offset / BLOCK_BYTES as u64);
        // Relaxed, here and below: who does not see it yet finds out himself.
        self.has_damage.store(true, Ordering::Relaxed);
        is_news
    }

    pub(super) fn has_damage(&self) -> bool {
        self.has_damage.load(Ordering::Relaxed)
    }

    /// Blocks, about, in which something could not be read.
    pub(super) fn damaged_blocks(&self) -> u64 {
        self.damaged().len() as u64
    }

    /// Whether records may become cold where they are, `offset` bytes into it.
    pub(super) fn takes_back(&self, offset: u64) -> bool {
        let is_damaged = || self.damaged().contains(&(offset / BLOCK_BYTES as u64));
        self.is_open() && !(self.has_damage() && is_damaged())
    }

    /// Where it starts, from the start of all files.
    pub(super) fn start(&self) -> u64 {
        u64::from(self.number) * FILE_BYTES_MAX
    }

    /// Where the room in it ends that was taken so far.
    pub(super) fn end(&self) -> u64 {
        // Acquire: pairs with `take`.
        self.end.load(Ordering::Acquire)
    }

    /// Whether records may become cold there. Who finds it open has frozen a slot: see above.
    pub(super) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) == OPEN
    }

    /// Whether it is to be emptied, and is not yet known to be.
    pub(super) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
    }

    /// Whether it may turn out to be empty.
    pub(super) fn may_be_empty(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), CLOSED | KEPT)
    }

    /// From now on no record becomes cold there; whoever looks at slots afterwards sees all that
    /// have.
    pub(super) fn close(&self) {
        self.state.store(CLOSED, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// What is left in it cannot be moved.
    pub(super) fn keep(&self) {
        self.state.store(KEPT, Ordering::Release);
    }

    /// At `now` no slot named a record in it.
    pub(super) fn note_emptied(&self, now: Timestamp) {
        self.emptied.store(now.0, Ordering::Relaxed);
        self.state.store(EMPTIED, Ordering::Release);
    }

    /// Whether nothing of it is to be moved any more.
    pub(super) fn is_done_with(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), KEPT | EMPTIED)
    }

    fn is_emptied(&self) -> bool {
        self.state.load(Ordering::Acquire) == EMPTIED
    }

    /// Records of so many bytes were written to it ([`ColdAddress::bytes_about`]).
    pub(super) fn note_written(&self, bytes: u64) {
        // Relaxed: only shares depend on it.
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What it had when a count began.
    pub(super) fn extent(&self) -> (u64, u64) {
        (self.written.load(Ordering::Relaxed), self.end())
    }

    /// Slots name records of so many bytes ([`ColdAddress::bytes_about`]) of what it had when the
    /// count began.
    pub(super) fn note_live(&self, live: u64, (written, end): (u64, u64)) {
        // What addresses say is rounded, in the same way.
        let live = match (self.is_recent, written) {
            (true, 1..) => (u128::from(end) * u128::from(live) / u128::from(written)) as u64,
            _ => live,
        };
        let live = live.min(end);
        *self.count.lock().unwrap_or_else(|e| e.into_inner()) = Count { live, end };
    }

    /// Bytes of records that slots name, about: what has come since somebody last counted does.
    pub(super) fn live(&self) -> u64 {
        let count = *self.count.lock().unwrap_or_else(|e| e.into_inner());
        count.live + (self.end() - count.end)
    }
}

/// All cold files of a database.
pub(super) struct ColdFiles {
    directory: Arc<dyn Directory>,
    pub(super) database: u64,
    /// Bytes of those that are made.
    bytes_max: u64,
    all: RwLock<FxHashMap<u32, Arc<ColdFile>>>,
    tail: Mutex<Tail>,
    /// Before that, no file has anything for who deletes what has expired.
    next_expiry: AtomicU64,
}

/// Where blocks go.
struct Tail {
    file: Option<Arc<ColdFile>>,
    /// Bytes that are reserved for it.
    bytes: u64,
    /// The number of the last file that was made.
    last: Option<u32>,
    /// Numbers of files that were removed: somebody in memory may still remember an address
    /// there.
    removed: HashSet<u32>,
    /// Bytes of all blocks so far.
    taken: u64,
}

impl Tail {
    /// The number of the next file, if these are there.
    fn next(&self, all: &FxHashMap<u32, Arc<ColdFile>>) -> Option<u32> {
        let first = self.last.map_or(0, |last| (last + 1) % NUMBERS);
        let numbers = (first..NUMBERS).chain(0..first);
        let mut free = numbers.filter(|n| !all.contains_key(n) && !self.removed.contains(n));
        free.next()
    }
}

/// Room for a block.
pub(super) struct Room {
    /// From the start of all files.
    pub(super) position: u64,
    pub(super) file: Arc<ColdFile>,
    /// In the file.
    pub(super) offset: u64,
}

impl ColdFiles {
    /// Opens these files; blocks go to others, of so many bytes. What is missing is left out.
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

    /// A file.
    pub(super) fn file(&self, number: u32) -> Option<Arc<ColdFile>> {
        let all = self.all.read().unwrap_or_else(|e| e.into_inner());
        all.get(&number).cloned()
    }

    /// All that are there.
    pub(super) fn all(&self) -> Vec<Arc<ColdFile>> {
        let all = self.all.read().unwrap_or_else(|e| e.into_inner());
        let mut all: Vec<_> = all.values().cloned().collect();
        all.sort_by_key(|file| file.number);
        all
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The number of the file that blocks go to.
    pub(super) fn tail_number(&self) -> Option<u32> {
        self.tail().file.as_ref().map(|file| file.number)
    }

    /// Bytes of all blocks since the database was opened.
    pub(super) fn taken(&self) -> u64 {
        self.tail().taken
    }

    /// Bytes of a file that is made.
    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Takes room for a block of so many bytes. Blocks do not go beyond the end of a file.
    ///
    /// # Errors
    /// What the directory says to a new file: `StorageFull`, for one.
    pub(super) fn take(&self, bytes: usize) -> io::Result<Room> {
        let bytes = bytes as u64;
        debug_assert!(bytes <= FILE_BYTES_MAX);
        let mut tail = self.tail();
        let file = match &tail.file {
            Some(file) if file.end() + bytes <= tail.bytes => file.clone(),
            _ => self.create(&mut tail, bytes)?,
        };
        let offset = file.end();
        // Release: who finds the end knows that the block is about to be there.
        file.end.store(offset + bytes, Ordering::Release);
        tail.taken += bytes;
        Ok(Room {
            position: file.start() + offset,
            file,
            offset,
        })
    }

    /// Makes the next file, with room for a block of so many bytes.
    fn create(&self, tail: &mut Tail, bytes: u64) -> io::Result<Arc<ColdFile>> {
        let mut all = self.all.write().unwrap_or_else(|e| e.into_inner());
        let number = tail.next(&all).ok_or(io::ErrorKind::StorageFull)?;
        let name = file_name(number);
        let file = self.directory.open(&name, OpenMode::Create, true)?;
        let reserved = DeviceRoom::cold_file_bytes(&*self.directory, bytes, self.bytes_max);
        if let Err(error) = file.reserve(reserved) {
            // Nobody has written to it.
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

    /// A record of a table is cold in a file, and expires then.
    pub(super) fn note_expiry(&self, file: &ColdFile, table: u32, expiry: WallTime) {
        let mut expiries = file.expiries();
        let last = expiries.last.entry(table).or_default();
        *last = expiry.max(*last);
        drop(expiries);
        // Relaxed, here and below: who looks after this, and misses it, looks again.
        self.next_expiry.fetch_min(expiry.0, Ordering::Relaxed);
    }

    /// Records of a table with a TTL are cold in a file: if nobody knows of any, they may have
    /// expired.
    pub(super) fn note_expiring(&self, file: &ColdFile, table: u32) {
        let is_complete = file.expiries().is_complete;
        if !is_complete {
            self.note_expiry(file, table, WallTime::default());
        }
    }

    /// The files of which all records of some table have expired.
    pub(super) fn expired(&self, clock: &WallClock) -> Vec<Arc<ColdFile>> {
        let next = &self.next_expiry;
        let first = WallTime(next.load(Ordering::Relaxed));
        // Without a record that expires nobody asks for the time.
        if first == WallTime::NEVER || first > clock.now() {
            return Vec::new();
        }
        let now = clock.now();
        // First: what is noted from now on counts, be it seen below or not.
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

    /// Removes emptied files that nobody reads any more, since no snapshot is older than
    /// `horizon`, and that the checkpoint that counts does not refer to (it refers to `named`),
    /// while no checkpoint is being taken; how many.
    ///
    /// An address is used by the statement that has found it in a slot, and statements keep
    /// their snapshot. So whoever has found one there has a snapshot that is not newer than the
    /// time at which the file was known to be empty.
    ///
    /// # Errors
    /// What the directory says.
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
mod tests {
    use ::io::{Faults, SimulatedDisk};

    use super::*;

    #[test]
    fn names_and_numbers_match() {
        for number in [0, 7, 99_999_999, u32::MAX] {
            assert_eq!(file_number(&file_name(number)), Some(number));
        }
        for name in [
            "cold-1",
            "cold-",
            "cold-0000000x",
            "cold-99999999999",
            "log-00000001",
        ] {
            assert_eq!(file_number(name), None, "{name}");
        }
    }

    fn entry(number: u32) -> ColdFileEntry {
        ColdFileEntry {
            number,
            bytes: 4096,
        }
    }

    /// Blocks go to files that were not there, in the order of their numbers, and from the last
    /// number to the first.
    #[test]
    fn after_the_last_number_comes_the_first_that_is_free() {
        let directory = SimulatedDisk::new(1, Faults::default()).directory();
        let named = [0, 2, NUMBERS - 2];
        for number in named {
            let file = directory.open(&file_name(number), OpenMode::Create, true);
            file.unwrap().write_at(&[0; 4096], 0).unwrap();
        }
        let files = ColdFiles::open(&directory, 7, &named.map(entry), 8192).unwrap();
        let numbers = (0..8).map(|_| locate(files.take(4096).unwrap().position));
        let numbers: Vec<_> = numbers.collect();
        let expected = [NUMBERS - 1, 1, 3, 4];
        let expected = expected.iter().flat_map(|n| [(*n, 0), (*n, 4096)]);
        assert!(numbers.iter().copied().eq(expected), "{numbers:?}");
        // A block that is larger than a file is to be has one for itself.
        assert_eq!(locate(files.take(40_960).unwrap().position), (5, 0));
        assert_eq!(locate(files.take(4096).unwrap().position), (6, 0));
    }

    #[test]
    fn an_emptied_file_goes_when_nobody_can_be_about_to_read_it() {
        let directory = SimulatedDisk::new(1, Faults::default()).directory();
        let files = ColdFiles::open(&directory, 7, &[], 4096).unwrap();
        for _ in 0..3 {
            files.take(4096).unwrap();
        }
        let count = || directory.list().unwrap().len();
        let remove = |named: &[ColdFileEntry], horizon| {
            files.remove_emptied(named, Timestamp(horizon)).unwrap()
        };
        files.file(0).unwrap().close();
        assert_eq!((remove(&[], 100), count()), (0, 3));
        files.file(0).unwrap().note_emptied(Timestamp(50));
        assert_eq!((remove(&[], 50), count()), (0, 3));
        assert_eq!((remove(&[entry(0)], 51), count()), (0, 3));
        assert_eq!((remove(&[entry(1)], 51), count()), (1, 2));
        assert!(files.file(0).is_none());
        // Its number is not used again as long as somebody may remember it.
        files.tail().last = None;
        assert_eq!(locate(files.take(4096).unwrap().position).0, 3);
    }
}
