//! Emptying cold files of which little is live, so that their room on the device is free again.
//!
//! A file that is *compacted* is closed first (`files.rs`). Then it is read from its beginning,
//! block by block. For each record that is met, the index names the slot; if that says that the
//! record is here, it is live: it is copied into a block, with others, the block is written,
//! and then slot by slot the new address takes the place of the old one, if that is still there.
//! Nobody but who makes the record hot competes for that, and whoever has read the record at its
//! old address finds the slot changed, and looks again.
//!
//! What has expired is deleted on the way (`expire.rs`): it need not be moved.
//!
//! Then what is live is counted (`census.rs`). If that is nothing, the file goes after the next
//! checkpoint: until then the one before refers to it. If a record is left, since it cannot be
//! read, the file is kept.
//!
//! Which files: if more is dead than is to be ([`ColdConfig::dead_percent_max`]), those of which the
//! least is live, until less would be.

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

/// Files that are emptied before what is live is counted again.
const FILES_PER_ROUND: usize = 4;

/// A file of which so many percent are live is not worth it.
const LIVE_PERCENT_MAX: u64 = 90;

/// In a file of which so many parts beside each other cannot be read, of a sector at least, nothing
/// else is looked for.
const UNREADABLE_MAX: usize = 64;

/// After a device that refused, or memory that has no room.
const REST: Duration = Duration::from_secs(5);

/// What compaction has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Files that it went through.
    pub files: u64,
    /// Records that were written elsewhere.
    pub records: u64,
    /// Records that had expired, and were deleted.
    pub expired: u64,
}

/// What a file is gone through for. What has expired is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// What is live is written elsewhere.
    Empty,
    /// What is live stays.
    Expire,
}

/// When, and how fast.
pub(super) struct Compaction {
    config: ColdConfig,
    is_under_way: AtomicBool,
    /// Checkpoints that were taken.
    checkpoints: AtomicU64,
    before: Mutex<Before>,
}

/// How it was when what is live was counted.
#[derive(Clone, Copy, Default)]
struct Before {
    /// Somebody has counted.
    is_known: bool,
    /// [`ColdFiles::taken`].
    taken: u64,
    checkpoints: u64,
    /// There may be more to do.
    goes_on: bool,
}

/// Being the one who compacts, until dropped.
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

    /// A checkpoint was taken.
    pub(super) fn note_checkpoint(&self) {
        // Relaxed, here and below: nothing depends on it.
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
    }

    /// There is a file out of which everything had better be moved.
    pub(super) fn note_damage(&self) {
        self.before().goes_on = true;
    }

    pub(super) fn begin(&self) -> Option<Turn<'_>> {
        let is_free = !self.is_under_way.swap(true, Ordering::Acquire);
        // Lazily: a turn that nobody has would end the other one's.
        is_free.then(|| Turn(self))
    }

    fn before(&self) -> std::sync::MutexGuard<'_, Before> {
        self.before.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether so much has happened since what is live was counted that it may be time.
    fn is_due(&self, files: &ColdFiles) -> bool {
        let before = *self.before();
        let more = files.taken() - before.taken;
        let is_certain = !before.is_known
            || before.goes_on
            || self.checkpoints.load(Ordering::Relaxed) > before.checkpoints;
        // Mostly so little has come that nobody needs to know how much there is.
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

    /// The files to empty next, those first that somebody has begun with, or that cannot be
    /// relied on.
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
            // What is live will be elsewhere.
            bytes -= end - own;
            chosen.push(file.clone());
        }
        chosen.truncate(FILES_PER_ROUND);
        self.before().goes_on = !chosen.is_empty();
        chosen
    }
}

/// Live records on their way elsewhere.
struct Moving {
    block: Block,
    records: Vec<Moved>,
}

/// One of them.
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

/// What was read last of a file.
struct Window {
    file: Arc<ColdFile>,
    /// Where in the file it begins.
    from: u64,
    buffer: Arc<Buffer>,
}

impl Window {
    /// Where so many bytes are in the buffer that are `at` in the file; fewer at its end.
    fn range(&self, at: u64, bytes: usize) -> Option<Range<usize>> {
        let start = usize::try_from(at.checked_sub(self.from)?).ok()?;
        let left = usize::try_from(self.file.end() - at).unwrap_or(usize::MAX);
        let end = start + bytes.min(left);
        (end <= self.buffer.len()).then_some(start..end)
    }
}

impl Session {
    /// Empties cold files of which little is live, a few at most. `None` if another session does
    /// so, or records are still being loaded. The upkeep calls this when it is needed.
    ///
    /// # Errors
    /// `Unsupported` without a cold tier; else what the device said. Nothing is lost.
    ///
    /// # Suspension
    /// Memory and device waits; others have their turn now and then.
    ///
    /// # Cancellation
    /// Who calls this next goes on.
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
            // What was empty may have got records until it was closed: then it has its turn
            // next time.
            if file.live() > 0 {
                let aim = Aim::Empty;
                if !self.go_through(tier, file, aim, &mut compacted).await? {
                    // There will be another time.
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

    /// Goes through what is live in a file; whether it came to the end.
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
                // Room that was taken, and not written to.
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

    /// Where so many bytes of a file are in the window, which is moved there if need be. Fewer,
    /// if it ends before.
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
            // What cannot be read may be behind it.
            Err(_) => read(bytes).await?,
        };
        window.buffer = buffer;
        window.from = at;
        Ok(0..bytes.min(window.buffer.len()))
    }

    /// Looks at what is live of a block: takes along what is to be moved, and returns what has
    /// expired.
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
        // While it is open, a table that is found stays.
        let transaction = self.begin(Isolation::Snapshot).map_err(another_time)?;
        let block = &buffer[range.clone()];
        let mut expired = Vec::new();
        let (mut at, mut read) = (BLOCK_HEADER_BYTES, 0);
        while let Some(rest) = block.get(at..)
            && !rest.is_empty()
        {
            let Ok(record) = ColdRecord::decode(rest, position + at as u64) else {
                // Of a damaged one nobody knows where it ends. The next is where one begins that
                // is whole: a checksum holds in one place only.
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

    /// Notes that something of a block could not be read.
    fn note_unreadable(&self, tier: &ColdTier, position: u64) {
        tier.note_damage(position);
        self.counters.update(|stats| stats.cold_reads_failed += 1);
    }

    /// The record with this key, if it is at `address`.
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

    /// Writes live records to the last file, and says so in their slots: of how many.
    async fn move_to_tail(self: &Rc<Self>, tier: &ColdTier, moving: Moving) -> io::Result<u64> {
        let Moving { block, records } = moving;
        let addresses = self.write_block(tier, block).await?;
        // While it is open, a table that is found stays.
        let transaction = self.begin(Isolation::Snapshot).map_err(another_time)?;
        let mut moved = 0;
        for (record, to) in records.into_iter().zip(addresses) {
            // What the slot says nobody else has: if it says `from`, it is that record.
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

    /// Deletes what has expired in cold files, and compacts them whenever too much in them is
    /// dead: a part of the upkeep.
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
                // There is nothing to do, or somebody else does it.
                Ok(None) => next_look(ring).await,
                Err(_) => {
                    self.counters.update(|stats| stats.compactions_failed += 1);
                    sleep(REST).await;
                }
            }
        }
    }
}

/// Why it ends for now, if too many transactions are open, or memory has no room.
pub(super) fn another_time(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, error)
}
