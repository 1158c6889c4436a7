//! Scans of whole tables in no order: along the indirection array, past the index.
//!
//! Neighbours in the array were mostly inserted one after the other, so that slots, and often
//! versions, come in the order of memory. For each [`CHUNK`] of slots all versions are prefetched,
//! and waited for once.
//!
//! # Why each visible record is met exactly once
//! A record has one slot for as long as any transaction can see it, and each slot is looked at
//! once. A record that is visible at the snapshot was committed before it, hence has a slot below
//! the bound that is read after it. A slot that is freed and used again during the scan had, and
//! gets, no record that the snapshot sees: the slot is freed when all snapshots see the deletion,
//! and the record inserted then is newer. A record that an inserter has put into a slot and takes
//! back, because another inserter was faster, is uncommitted while it is there. All this holds
//! across the pieces of a scan as long as the snapshot stays the same
//! ([`Transaction::statement_snapshot`]).
//!
//! The transaction's own insertions are met if they come before the scan gets to their slots.
//!
//! # What is not noted
//! The scan does not note nodes of the index, by which a serializable transaction hears of new
//! records where it has looked. Serializable transactions that may write therefore scan in order.
//!
//! # Blocks of columns
//! A scan by blocks ([`Unordered::scan_blocks`]) hands the block of a chunk to its caller, with a copy of the marks,
//! and looks at the slots of the marked positions alone. Each record is met once, since the copy is kept until the scan
//! has gone through the chunk, whatever is marked meanwhile: it holds for the snapshot (`columns.rs`).
//!
//! # Scans in parts
//! A scan by blocks may be confined to a range of chunks ([`BlockScan::enter`]). Scans of several sessions at one
//! snapshot ([`Session::begin_at`](crate::Session::begin_at)), whose ranges together are all chunks that the table has
//! had since the snapshot was taken ([`Unordered::chunks`]), meet each visible record once: its slot is in one chunk.

mod ahead;
mod gather;

use std::{
    ops::{ControlFlow, Range},
    sync::Arc,
};

use interleave::{Point, Policy, leaf, turn_is_over, yield_now};
use segment::{Builder, Directory};

use self::ahead::ReadAhead;
use super::{Isolation, Statement, Transaction, visibility::Look};
use crate::{
    cold::{ColdAddress, Fetched},
    columns::{BlockColumns, ChunkId, MarkWords, NotLoaded, POSITIONS, RecordFields},
    error::Error,
    indirection::{Head, Rid},
    table::Table,
    version::Version,
};

/// Number of slots that are looked at together. Divides the size of each segment of the array.
const CHUNK: u64 = u64::BITS as u64;
const _: () = assert!((POSITIONS as u64).is_multiple_of(CHUNK));

/// Number of chunks visited under one pin.
const CHUNKS_PER_PIN: usize = 16;

/// Maximum number of slots whose cold records are read together.
const COLD_SLOTS_MAX: usize = 1 << 10;

/// Bytes of cold records with which no others are read together. Records that lie by themselves take buffers of some
/// kilobytes besides.
const COLD_BYTES_MAX: u64 = 1 << 20;

/// Position of a scan without order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanPosition(u64);

/// State of a scan by blocks; the default is the beginning of a scan of the whole table.
pub struct BlockScan {
    /// RIDs that are left, of which the table may not have all.
    rids: Range<u64>,
    /// Marks of the chunk that the scan is in, if its caller has got the block.
    marks: Option<Box<MarkWords>>,
    /// Memory of blocks that are built on the way, and the fields that were kept as bytes in the last one.
    builder: Builder,
    plain: Vec<bool>,
    /// Blocks on their way from the device.
    ahead: ReadAhead,
}

impl std::fmt::Debug for BlockScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockScan")
            .field("rids", &self.rids)
            .finish_non_exhaustive()
    }
}

impl Default for BlockScan {
    fn default() -> Self {
        Self {
            rids: 0..u64::MAX,
            marks: None,
            builder: Builder::default(),
            plain: Vec::new(),
            ahead: ReadAhead::default(),
        }
    }
}

impl BlockScan {
    /// Confines the scan to the chunks with these numbers, from the first of them on, whatever it was in before.
    pub fn enter(&mut self, chunks: Range<u64>) {
        let first = |chunk: u64| chunk.saturating_mul(POSITIONS as u64);
        self.rids = first(chunks.start)..first(chunks.end);
        self.marks = None;
        self.ahead.clear();
    }
}

/// Wishes of a scan for blocks.
pub struct Wanted<'w> {
    /// Columns that are read, in ascending order. Blocks need not have all of them.
    pub columns: &'w [usize],
    /// Whether a block with this directory may have rows that the scan looks for. Others are passed by.
    pub may_have: &'w dyn Fn(&Directory) -> bool,
    /// Maximum number of blocks that are read from the device ahead of the scan. With 0, the scan waits for each
    /// transfer before it begins another one.
    pub ahead_max: usize,
    /// Whether blocks are built of chunks that no scan has come by before, as the scan of an analytical statement has
    /// it.
    pub at_first_visit: bool,
}

/// The point that a scan by blocks has come to.
#[derive(Debug)]
pub enum Met {
    /// A block of which the caller reads the positions without a mark: position `p` has the bit `p % 64` of the word
    /// `p / 64`. The scan goes on with the records at the marked positions.
    Block(Arc<BlockColumns>, Box<MarkWords>),
    /// The visitor has broken the scan off.
    Break,
    /// There are no more records.
    End,
}

/// Transaction that may scan in no order.
#[derive(Clone, Copy, Debug)]
pub struct Unordered<'t>(&'t Transaction);

impl Transaction {
    /// Returns the transaction's way to scan in no order; `None` for a serializable transaction
    /// that may write.
    #[inline]
    pub fn unordered(&self) -> Option<Unordered<'_>> {
        let notes_nodes = self.isolation() == Isolation::Serializable && !self.is_read_only();
        (!notes_nodes).then_some(Unordered(self))
    }
}

impl Unordered<'_> {
    /// Visits the records of `table` in no order, from the position `from` on (the default is the
    /// beginning), until `visit`, which is given their values, breaks. Returns the position at
    /// which the scan resumes, `None` if there are no more records. To meet each record once, the
    /// pieces of a scan are made at one snapshot ([`Transaction::statement_snapshot`]), and the
    /// transaction inserts nothing in between.
    ///
    /// # Errors
    /// Fails as [`Transaction::scan`] does.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub async fn scan<P: Policy>(
        self,
        table: &Table,
        from: ScanPosition,
        mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Option<ScanPosition>, Error> {
        let end = table.records.taken();
        let next = self.scan_rids::<P>(table, from.0..end, None, &mut visit);
        Ok(next.await?.map(ScanPosition))
    }

    /// Returns the number of chunks that `table` has: records that a snapshot taken before sees are in these.
    pub fn chunks(self, table: &Table) -> u64 {
        table.records.taken().div_ceil(POSITIONS as u64)
    }

    /// Visits the records of `table` in no order, as [`Unordered::scan`] does, and by blocks where there are blocks of
    /// columns. `fields` describes the table's records: a chunk that a scan came by before, or that is wanted at the
    /// first visit, gets a block on the way if most of its records were not changed lately. Columns that are on the
    /// device alone are read ahead. A scan at another snapshot begins anew, as does one whose future was dropped.
    ///
    /// # Errors
    /// Fails as [`Transaction::scan`] does.
    ///
    /// # Suspension
    /// Memory and device waits, and the ends of turns. Dropping the future is harmless.
    pub async fn scan_blocks<P: Policy>(
        self,
        table: &Table,
        scan: &mut BlockScan,
        fields: &dyn RecordFields,
        wanted: &Wanted<'_>,
        mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Met, Error> {
        let transaction = self.0;
        let _snapshot = transaction.statement_snapshot()?;
        let end = table.records.taken().min(scan.rids.end);
        // Reads of records in blocks are not noted one by one, and values of tables with a TTL may have expired.
        let is_certified = transaction.context.dependencies.is_for_certification();
        let may_use_blocks = !is_certified && table.time_to_live().is_none();
        if may_use_blocks {
            // The snapshot has to stay from now on.
            transaction.note_scan();
        }
        while scan.rids.start < end {
            let (id, position) = ChunkId::locate(Rid(scan.rids.start));
            let rids = id.rids();
            if may_use_blocks && position == 0 && rids.end <= end && scan.marks.is_none() {
                // The marks are copied after the snapshot was taken.
                let _statement = transaction.statement(table)?;
                if let Some((block, marks)) = self
                    .block_of::<P>(table, id, fields, wanted.at_first_visit, scan)
                    .await?
                {
                    let counters = &transaction.session.counters;
                    let chunks = id.0..end.div_ceil(POSITIONS as u64);
                    let columns = match (wanted.may_have)(block.directory()) {
                        true => {
                            let ahead = &mut scan.ahead;
                            let read = ahead.columns_of(transaction, table, &block, chunks, wanted);
                            Some(read.await)
                        }
                        false => None,
                    };
                    transaction.check_open()?;
                    match columns {
                        Some(Ok(columns)) => {
                            transaction.saw(block.newest());
                            count_shown(transaction, &marks);
                            scan.marks = Some(marks.clone());
                            return Ok(Met::Block(Arc::new(columns), marks));
                        }
                        None => {
                            transaction.saw(block.newest());
                            counters.update(|stats| stats.blocks_skipped += 1);
                            scan.marks = Some(marks);
                        }
                        // The block is a copy of records that are there.
                        Some(Err(NotLoaded::Damaged)) => {
                            counters.update(|stats| stats.blocks_damaged += 1);
                            if let Some(place) = block.place() {
                                place.note_damage();
                            }
                            // The chunk may have another block by now.
                            if let Some(chunk) = table.chunks.chunk(id)
                                && chunk.block().is_some_and(|now| Arc::ptr_eq(&now, &block))
                            {
                                chunk.release(&transaction.session.memory);
                            }
                        }
                        Some(Err(NotLoaded::Exhausted)) => {}
                    }
                }
            }
            let rids = scan.rids.start..rids.end.min(end);
            let part = self.scan_rids::<P>(table, rids.clone(), scan.marks.as_deref(), &mut visit);
            let told = part.await?;
            scan.rids.start = told.unwrap_or(rids.end);
            if scan.rids.start == rids.end {
                scan.marks = None;
            }
            if told.is_some() {
                return Ok(Met::Break);
            }
        }
        Ok(Met::End)
    }

    /// Visits the records at some RIDs, or of those at the marked ones, which are in one chunk then. Returns where the
    /// visitor has broken the scan off.
    async fn scan_rids<P: Policy>(
        self,
        table: &Table,
        mut rids: Range<u64>,
        marks: Option<&MarkWords>,
        visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Option<u64>, Error> {
        let transaction = self.0;
        let statement = transaction.statement(table)?;
        let mut thawed = Vec::new();
        loop {
            let (thawed_now, visit) = (&thawed[..], &mut *visit);
            let part = leaf!(
                P,
                statement.unordered_body(table, rids.clone(), marks, thawed_now, visit)
            );
            let total = &transaction.context.scanned;
            total.set(total.get() + part.scanned);
            // A sibling under the same `join` may have aborted the transaction.
            transaction.check_open()?;
            rids.start = match part.stop {
                Stop::End => return Ok(None),
                Stop::Told(next) => return Ok(Some(next)),
                Stop::Cold { at, wanted } => {
                    let session = &transaction.session;
                    let fetched = session.fetch_all(&wanted, transaction.priority()).await;
                    thawed = transaction.fetched(fetched)?;
                    at
                }
                Stop::Cut(at) => {
                    yield_now().await;
                    at
                }
            };
        }
    }
}

/// Progress of a piece of a scan, and the reason for its end.
struct Part {
    scanned: u64,
    stop: Stop,
}

enum Stop {
    End,
    Told(u64),
    /// The task's turn is over: even many slots may have no record that is shown.
    Cut(u64),
    /// The record at `at` has to be fetched, and others behind it.
    Cold {
        at: u64,
        wanted: Vec<ColdAddress>,
    },
}

impl Statement<'_> {
    #[inline(always)]
    async fn unordered_body<P: Policy>(
        &self,
        table: &Table,
        rids: Range<u64>,
        marks: Option<&MarkWords>,
        thawed: &[Fetched],
        visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Part {
        let transaction = self.transaction;
        transaction.note_scan();
        let snapshot = transaction.context.snapshot();
        let session = &*transaction.session;
        let bytes = table.prefetch_bytes();
        let (mut next, mut scanned) = (rids.start, 0);
        while next < rids.end {
            // Long scans must not hold reclamation back.
            let _pin = session.memory.pin();
            for _ in 0..CHUNKS_PER_PIN {
                let end = rids.end.min(next / CHUNK * CHUNK + CHUNK);
                let wanted = wanted(marks, next);
                if wanted == 0 {
                    next = end;
                }
                if next < end && (P::MAY_SUSPEND || P::PREFETCHES) {
                    fetch_chunk::<P>(table, next..end, wanted, bytes).await;
                }
                while next < end {
                    if !is_wanted(wanted, next) {
                        next += 1;
                        continue;
                    }
                    let slot = table.records.slot(Rid(next));
                    let visible = match slot.head() {
                        Head::Version(head) => match transaction.look(slot, head, snapshot) {
                            Look::Over(visible) => Ok(visible),
                            look => transaction.look_further::<P>(slot, look, snapshot).await,
                        },
                        Head::Cold(address) => Err(address),
                        Head::Unused | Head::Dead => {
                            next += 1;
                            continue;
                        }
                    };
                    let stored = match &visible {
                        Ok(visible) => {
                            transaction.note(slot, *visible);
                            visible.as_ref().and_then(Version::payload)
                        }
                        Err(address) => {
                            let Some(found) = Fetched::find(thawed, *address) else {
                                let wanted = cold_in(table, next..rids.end, marks);
                                let stop = Stop::Cold { at: next, wanted };
                                return Part { scanned, stop };
                            };
                            transaction.note_cold(slot, found.begin);
                            Some(found.stored())
                        }
                    };
                    next += 1;
                    if let Some(worth) = stored.and_then(|stored| transaction.worth(table, stored))
                    {
                        scanned += 1;
                        if visit(worth.value).is_break() {
                            let stop = Stop::Told(next);
                            return Part { scanned, stop };
                        }
                    }
                }
                if next >= rids.end {
                    break;
                }
            }
            if next < rids.end && (P::MAY_SUSPEND || P::PREFETCHES) && turn_is_over() {
                let stop = Stop::Cut(next);
                return Part { scanned, stop };
            }
        }
        let stop = Stop::End;
        Part { scanned, stop }
    }
}

/// Returns a bit for each of the slots that are looked at together with one: whether it is to be looked at. With marks,
/// these are the marked ones.
#[inline(always)]
fn wanted(marks: Option<&MarkWords>, rid: u64) -> u64 {
    marks.map_or(u64::MAX, |marks| {
        marks[(rid / CHUNK) as usize % marks.len()]
    })
}

#[inline(always)]
fn is_wanted(wanted: u64, rid: u64) -> bool {
    wanted >> (rid % CHUNK) & 1 == 1
}

/// Fetches the newest versions of some neighbours into the cache.
#[inline(always)]
async fn fetch_chunk<P: Policy>(table: &Table, rids: Range<u64>, wanted: u64, bytes: usize) {
    let mut last: Option<Version> = None;
    for rid in rids {
        if is_wanted(wanted, rid)
            && let Some(version) = table.records.slot(Rid(rid)).version()
        {
            P::prefetch(version.address(), bytes);
            last = Some(version);
        }
    }
    if let Some(version) = last {
        let point = Point::new("engine: versions of a chunk");
        P::touch(point, version.address(), 8).await;
    }
}

/// Counts the records of a block that its reader finds there.
fn count_shown(transaction: &Transaction, marks: &MarkWords) {
    let marked: u32 = marks.iter().map(|word| word.count_ones()).sum();
    let shown = POSITIONS as u64 - u64::from(marked);
    let context = &transaction.context;
    for count in [&context.scanned, &context.scanned_in_blocks] {
        count.set(count.get() + shown);
    }
}

/// Returns the addresses of some cold records from the beginning of a range on, which are to be read together.
#[cold]
fn cold_in(table: &Table, rids: Range<u64>, marks: Option<&MarkWords>) -> Vec<ColdAddress> {
    let (mut cold, mut bytes) = (Vec::new(), 0);
    for rid in rids.take(COLD_SLOTS_MAX) {
        if is_wanted(wanted(marks, rid), rid)
            && let Head::Cold(address) = table.records.slot(Rid(rid)).head()
        {
            cold.push(address);
            bytes += address.bytes_about();
            if bytes >= COLD_BYTES_MAX {
                break;
            }
        }
    }
    cold
}
