//! Compaction: cold files with little live data are emptied, and their room on the device becomes
//! free.
//!
//! A file that is *compacted* is closed first (`files.rs`). Then it is read from its beginning,
//! block by block. For each record found, the index names the slot; if the slot names this place,
//! the record is live. Live records are copied into a block, the block is written, and then slot by
//! slot the new address replaces the old one, if the old one is still there. Only a promotion of the
//! record competes for the slot, and a reader that has read the record at its old address finds the
//! slot changed, and looks again.
//!
//! Expired records are deleted on the way (`expire.rs`): they need not be moved.
//!
//! Then live bytes are counted (`census.rs`). A file without any is removed after the next
//! checkpoint: until then the previous checkpoint refers to it. If a record is left, since it cannot
//! be read, the file is kept.
//!
//! Choice of files: if more than [`ColdConfig::dead_percent_max`] is dead, the files with the
//! smallest live share are compacted, until less would be dead.

use std::{
    io, mem,
    ops::Range,
    rc::Rc,
    sync::{Arc, Mutex},
    time::Duration,
};

use ::io::{BLOCK_BYTES as SECTOR, Buffer, Priority, round_up};
use index::look_up;
use interleave::{Interleaved, Point, Policy, leaf, sleep};

use super::{
    ColdConfig, ColdTier,
    address::{ColdAddress, Extent, POSITION_UNIT},
    block::{BLOCK_BYTES, Block},
    expire::Expired,
    fetch::Fetched,
    files::{ColdFile, ColdFiles},
    format::{BLOCK_HEADER_BYTES, BlockHeader, ColdRecord, decode_header},
};
use crate::{
    error::Error,
    indirection::{Head, Rid},
    log::LaneWriter,
    session::{Session, next_look},
    sync::{AtomicBool, AtomicU64, Ordering},
    table::Table,
    transaction::{INDEX_POINT, Isolation},
    ttl::WallTime,
};

/// Bytes that are read at once.
const READ_BYTES: usize = 512 << 10;

/// Files that are emptied before live bytes are counted again.
const FILES_PER_ROUND: usize = 4;

/// Maximum live percentage of a file that is worth compacting.
const LIVE_PERCENT_MAX: u64 = 90;

/// Maximum number of adjacent parts of a file, each at least a sector, that cannot be read: beyond
/// it, nothing else is looked for in the file.
const UNREADABLE_MAX: usize = 64;

/// Pause after an error of the device, or without room in memory.
const REST: Duration = Duration::from_secs(5);

/// Result of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Files that were gone through.
    pub files: u64,
    /// Records that were written elsewhere.
    pub records: u64,
    /// Records that had expired, and were deleted.
    pub expired: u64,
}

/// Purpose of going through a file. Expired records are deleted in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// Live records are written elsewhere.
    Empty,
    /// Live records stay.
    Expire,
}

/// Schedule and speed of compaction.
pub(super) struct Compaction {
    config: ColdConfig,
    is_under_way: AtomicBool,
    /// Checkpoints that were taken.
    checkpoints: AtomicU64,
    before: Mutex<Before>,
}

/// State at the last count of live bytes.
#[derive(Clone, Copy, Default)]
struct Before {
    /// Whether there was a count.
    is_known: bool,
    /// [`ColdFiles::taken`].
    taken: u64,
    checkpoints: u64,
    /// Whether there may be more to do.
    goes_on: bool,
}

/// The right to compact, until dropped: one session has it at a time.
pub(super) struct Turn<'c>(&'c Compaction);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.is_under_way.store(false, Ordering::Release);
    }
}

impl Compaction {
    pub(super) fn new(config: ColdConfig) -> Compaction {
        Compaction {
            config,
            is_under_way: AtomicBool::new(false),
            checkpoints: AtomicU64::new(0),
            before: Mutex::default(),
        }
    }

    /// Notes that a checkpoint was taken.
    pub(super) fn note_checkpoint(&self) {
        // Relaxed, here and below: nothing depends on it.
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that there is a damaged file, which had better be emptied.
    pub(super) fn note_damage(&self) {
        self.before().goes_on = true;
    }

    pub(super) fn begin(&self) -> Option<Turn<'_>> {
        let is_free = !self.is_under_way.swap(true, Ordering::Acquire);
        // Lazily: dropping a turn that was not granted would end the other session's turn.
        is_free.then(|| Turn(self))
    }

    fn before(&self) -> std::sync::MutexGuard<'_, Before> {
        self.before.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether enough has happened since the last count of live bytes that compaction may be due.
    fn is_due(&self, files: &ColdFiles) -> bool {
        let before = *self.before();
        let more = files.taken() - before.taken;
        let is_certain = !before.is_known
            || before.goes_on
            || self.checkpoints.load(Ordering::Relaxed) > before.checkpoints;
        // Mostly so little was written that the sum of all files is not needed.
        if !is_certain && more < files.bytes_max() {
            return false;
        }
        let bytes: u64 = files.all().iter().map(|file| file.end()).sum();
        bytes > 0 && (is_certain || more >= bytes / 8)
    }

    fn note_count(&self, files: &ColdFiles) {
        *self.before() = Before {
            is_known: true,
            taken: files.taken(),
            checkpoints: self.checkpoints.load(Ordering::Relaxed),
            goes_on: false,
        };
    }

    /// Returns the files to empty next; files that are closed already, and damaged ones, come first.
    fn choose(&self, files: &ColdFiles) -> Vec<Arc<ColdFile>> {
        let all = files.all();
        let tail = files.tail_number();
        let may_close = |file: &ColdFile| file.is_open() && Some(file.number) != tail;
        let first = |file: &ColdFile| file.is_closed() || file.has_damage() && may_close(file);
        let (mut chosen, others): (Vec<_>, Vec<_>) =
            all.iter().cloned().partition(|file| first(file));
        let others = others.iter().filter(|file| may_close(file));
        let mut others: Vec<_> = others.map(|file| (file.live(), file.end(), file)).collect();
        others.sort_by_key(|&(live, end, _)| live * 1000 / end.max(1));
        let remaining = all.iter().filter(|file| !file.is_done_with());
        let (mut live, mut bytes) = remaining.fold((0, 0), |(live, bytes), file| {
            (live + file.live(), bytes + file.end())
        });
        for file in &chosen {
            live -= file.live();
            bytes -= file.end();
        }
        let dead_percent_max = u64::from(self.config.dead_percent_max.clamp(10, 90));
        for (own, end, file) in others {
            let is_enough = (bytes - live) * 100 <= bytes * dead_percent_max;
            if is_enough && own > 0 || own * 100 > end * LIVE_PERCENT_MAX {
                break;
            }
            // Its live bytes will be elsewhere.
            bytes -= end - own;
            chosen.push(file.clone());
        }
        chosen.truncate(FILES_PER_ROUND);
        self.before().goes_on = !chosen.is_empty();
        chosen
    }
}

/// Live records that are being moved.
struct Moving {
    block: Block,
    records: Vec<Moved>,
}

/// One record of [`Moving`].
struct Moved {
    table: u32,
    rid: Rid,
    from: ColdAddress,
    expiry: Option<WallTime>,
}

impl Moving {
    fn new() -> Moving {
        Moving {
            block: Block::new(),
            records: Vec::new(),
        }
    }
}

/// Part of a file that was read last.
struct Window {
    file: Arc<ColdFile>,
    /// Position of the part in the file.
    from: u64,
    buffer: Arc<Buffer>,
}

impl Window {
    /// Returns the range in the buffer of `bytes` bytes at offset `at` of the file; fewer at the end
    /// of the file. `None` if the buffer does not have all of them.
    fn range(&self, at: u64, bytes: usize) -> Option<Range<usize>> {
        let start = usize::try_from(at.checked_sub(self.from)?).ok()?;
        let left = usize::try_from(self.file.end() - at).unwrap_or(usize::MAX);
        let end = start + bytes.min(left);
        (end <= self.buffer.len()).then_some(start..end)
    }
}

impl Session {
    /// Empties a few cold files of which little is live. Returns `None` if another session does so,
    /// or if records are still being loaded. The upkeep calls this function when it is needed.
    ///
    /// # Errors
    /// `Unsupported` without a cold tier; otherwise the device's error. No record is lost.
    ///
    /// # Suspension
    /// Memory and device waits; yields to other tasks now and then.
    ///
    /// # Cancellation
    /// The next call goes on.
    pub async fn compact_cold_files(self: &Rc<Self>) -> io::Result<Option<Compacted>> {
        let unsupported = || io::Error::from(io::ErrorKind::Unsupported);
        let tier = self.database.cold().ok_or_else(unsupported)?;
        let compaction = &tier.compaction;
        if self.database.log().is_none() {
            // Slots may be frozen for long (`recovery/install.rs`).
            return Ok(None);
        }
        let Some(_turn) = compaction.begin() else {
            return Ok(None);
        };
        compaction.note_count(&tier.files);
        let mut compacted = Compacted::default();
        if !self.count_live(tier).await {
            return Ok(Some(compacted));
        }
        let chosen = compaction.choose(&tier.files);
        let mut gone_through = Vec::new();
        for file in &chosen {
            file.close();
            // A file that was empty may have got records before it was closed: it has its turn next
            // time then.
            if file.live() > 0 {
                let aim = Aim::Empty;
                if !self.go_through(tier, file, aim, &mut compacted).await? {
                    // The rest is left to another call.
                    return Ok(Some(compacted));
                }
                gone_through.push(file);
            }
            compacted.files += 1;
        }
        if !chosen.is_empty() && self.count_live(tier).await {
            for file in gone_through.iter().filter(|file| file.is_closed()) {
                file.keep();
            }
        }
        Ok(Some(compacted))
    }

    /// Goes through the live records of a file; returns whether it came to the end.
    pub(super) async fn go_through(
        self: &Rc<Self>,
        tier: &ColdTier,
        file: &Arc<ColdFile>,
        aim: Aim,
        compacted: &mut Compacted,
    ) -> io::Result<bool> {
        let started = self.clock().now();
        let rate = tier.compaction.config.compaction_bytes_per_second_max;
        let (mut bytes, mut moving) = (0, Moving::new());
        let mut window = Window {
            file: file.clone(),
            from: 0,
            buffer: Arc::new(Buffer::with_capacity(0)),
        };
        let (mut at, mut unreadable) = (0, 0);
        while at < file.end() && unreadable < UNREADABLE_MAX {
            let Ok(head) = self.look(tier, &mut window, at, BLOCK_HEADER_BYTES).await else {
                self.note_unreadable(tier, file.start() + at);
                unreadable += 1;
                at += SECTOR as u64;
                continue;
            };
            unreadable = 0;
            let Ok((header, used)) = decode_header(&window.buffer[head]) else {
                // Room that was taken, but not written to.
                at += SECTOR as u64;
                continue;
            };
            let is_it = header.database == tier.files.database
                && header.position == file.start() + at
                && used >= BLOCK_HEADER_BYTES;
            if !is_it {
                at += SECTOR as u64;
                continue;
            }
            match self.look(tier, &mut window, at, used).await {
                Ok(block) => {
                    let block = (window.buffer.clone(), block);
                    let gathered = self.gather_live(tier, header, &block, aim, &mut moving);
                    compacted.expired += self.expire_all(gathered.await?).await?;
                }
                Err(_) => self.note_unreadable(tier, header.position),
            }
            at += round_up(used) as u64;
            bytes += used as u64;
            if moving.block.bytes() >= BLOCK_BYTES {
                bytes += moving.block.bytes() as u64;
                let moving = mem::replace(&mut moving, Moving::new());
                compacted.records += self.move_to_tail(tier, moving).await?;
            }
            let due = Duration::from_secs_f64(bytes as f64 / rate.max(1 << 20) as f64);
            match due.checked_sub(self.clock().now().saturating_sub(started)) {
                Some(early) if early > Duration::from_millis(1) => sleep(early).await,
                _ => interleave::yield_now().await,
            }
            if self.winds_up() {
                return Ok(false);
            }
        }
        if !moving.block.is_empty() {
            compacted.records += self.move_to_tail(tier, moving).await?;
        }
        Ok(true)
    }

    /// Returns the range in the window of `bytes` bytes at offset `at` of the file, moving the
    /// window if need be. The range is shorter at the end of the file.
    async fn look(
        &self,
        tier: &ColdTier,
        window: &mut Window,
        at: u64,
        bytes: usize,
    ) -> io::Result<Range<usize>> {
        if let Some(range) = window.range(at, bytes) {
            return Ok(range);
        }
        let left = usize::try_from(window.file.end() - at).unwrap_or(usize::MAX);
        let read = async |bytes: usize| {
            let extent = Extent {
                from: window.file.start() + at,
                bytes: round_up(bytes.min(left)),
                at: 0,
            };
            let pass = self.pass_again(Priority::Batch).await;
            self.read_extent(tier, extent, pass, Priority::Batch).await
        };
        let buffer = match read(bytes.max(READ_BYTES)).await {
            Ok(buffer) => buffer,
            // The part that cannot be read may be behind the bytes asked for.
            Err(_) => read(bytes).await?,
        };
        window.buffer = buffer;
        window.from = at;
        Ok(0..bytes.min(window.buffer.len()))
    }

    /// Looks at the live records of a block: gathers those to be moved, and returns the expired
    /// ones.
    async fn gather_live(
        self: &Rc<Self>,
        tier: &ColdTier,
        BlockHeader {
            position, records, ..
        }: BlockHeader,
        (buffer, range): &(Arc<Buffer>, Range<usize>),
        aim: Aim,
        moving: &mut Moving,
    ) -> io::Result<Vec<Expired>> {
        // While the transaction is open, a table that is found stays.
        let transaction = self.begin(Isolation::Snapshot).map_err(another_time)?;
        let block = &buffer[range.clone()];
        let mut expired = Vec::new();
        let (mut at, mut read) = (BLOCK_HEADER_BYTES, 0);
        while let Some(rest) = block.get(at..)
            && !rest.is_empty()
        {
            let Ok(record) = ColdRecord::decode(rest, position + at as u64) else {
                // The end of a damaged record is unknown. The next record is the next one that is
                // whole: a checksum holds in one place only.
                at += POSITION_UNIT as usize;
                continue;
            };
            let address = ColdAddress::new(position + at as u64, record.bytes());
            if let Some(address) = address
                && let Some(table) = self.database.table_by_number(record.table)
                && (aim == Aim::Empty || table.time_to_live().is_some())
                && let (this, table, key) = (self, &*table, record.key)
                && let Some(rid) = leaf!(Interleaved, this.find_cold(table, key, address))
            {
                let (expiry, _) = table.split(record.stored);
                if transaction.is_expired(table, record.stored) {
                    let fetched = Fetched::of(&record, address, buffer, range.start + at);
                    expired.push(Expired::new(&record, rid, fetched));
                } else if aim == Aim::Empty {
                    moving.block.push(&record);
                    moving.records.push(Moved {
                        table: record.table,
                        rid,
                        from: address,
                        expiry,
                    });
                } else if let Some(expiry) = expiry {
                    tier.note_expiry(address, record.table, expiry);
                }
            }
            at += record.bytes().next_multiple_of(POSITION_UNIT as usize);
            read += 1;
        }
        transaction.release();
        if read < records {
            self.note_unreadable(tier, position);
        }
        Ok(expired)
    }

    /// Notes that a part of a block could not be read.
    fn note_unreadable(&self, tier: &ColdTier, position: u64) {
        tier.note_damage(position);
        self.counters.update(|stats| stats.cold_reads_failed += 1);
    }

    /// Returns the record with this key, if it is at `address`.
    ///
    /// # Suspension
    /// Memory waits.
    async fn find_cold<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        address: ColdAddress,
    ) -> Option<Rid> {
        let pin = self.memory.pin();
        let mut lookup = table.index.lookup(&pin, key);
        let rid = Rid(look_up!(P, INDEX_POINT, lookup)?);
        let slot = table.records.slot(rid);
        P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
        (slot.head() == Head::Cold(address)).then_some(rid)
    }

    /// Writes live records to the last file, and their new addresses to their slots. Returns the
    /// number of records that were moved.
    async fn move_to_tail(self: &Rc<Self>, tier: &ColdTier, moving: Moving) -> io::Result<u64> {
        let Moving { block, records } = moving;
        let addresses = self.write_block(tier, block).await?;
        // While the transaction is open, a table that is found stays.
        let transaction = self.begin(Isolation::Snapshot).map_err(another_time)?;
        let mut moved = 0;
        for (record, to) in records.into_iter().zip(addresses) {
            // No other slot has this address: if the slot names `from`, it is that record's.
            if let Some(table) = self.database.table_by_number(record.table)
                && let Some(to) = to
                && table.records.slot(record.rid).readdress(record.from, to)
            {
                moved += 1;
                if let Some(expiry) = record.expiry {
                    tier.note_expiry(to, record.table, expiry);
                }
            }
        }
        transaction.release();
        self.counters.update(|stats| stats.compacted += moved);
        Ok(moved)
    }

    /// Deletes expired records of cold files, and compacts files whenever too many of their bytes
    /// are dead: a part of the upkeep.
    pub(crate) async fn keep_compact(self: &Rc<Self>, lane: &LaneWriter) {
        let Some(tier) = self.database.cold() else {
            return;
        };
        while self.goes_on(lane) {
            let ring = lane.upkeep_is_due();
            let done = if !tier.files.expired(self.database.wall_clock()).is_empty() {
                self.expire_cold_records().await
            } else if tier.compaction.is_due(&tier.files) {
                self.compact_cold_files().await
            } else {
                Ok(None)
            };
            match done {
                Ok(Some(_)) => {}
                // There is nothing to do, or another session does it.
                Ok(None) => next_look(ring).await,
                Err(_) => {
                    self.counters.update(|stats| stats.compactions_failed += 1);
                    sleep(REST).await;
                }
            }
        }
    }
}

/// Returns the error with which a pass ends for now, if too many transactions are open, or memory
/// has no room.
pub(super) fn another_time(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, error)
}
