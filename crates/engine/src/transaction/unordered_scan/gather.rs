//! Building blocks of chunks that a scan comes by: the records' fields, gathered and encoded.
//!
//! A building decides for each slot once, by the protocol of `columns/chunk.rs`. It shows records alone whose newest
//! version was committed at or before the horizon, and is no tombstone; all other positions are left out. A cold record
//! is such a version, whose content is read before its slot is looked at again. A chunk of which too few are left, or
//! with records that the description does not split, keeps its records as they are.
//!
//! A block for which there is no ample room in memory is written to the device before it is published; its columns are
//! kept as far as blocks have their share (`columns/room.rs`).
//!
//! Bounds: a block has the records of one chunk, of [`BYTES_MAX`] bytes at most, whose fields are charged while they
//! are gathered, [`RESTARTS_MAX`] times anew at most; its columns are encoded one by one; a turn that is over ends a
//! step after [`CHUNK`] records, or after a column.

use std::{ops::Range, sync::Arc};

use interleave::{Policy, leaf, turn_is_over, yield_now};
use memory::Reservation;
use segment::{Block, Builder};

use super::{BlockScan, CHUNK, Unordered, cold_in, fetch_chunk};
use crate::{
    cold::{ColdAddress, Fetched},
    columns::{
        Building, Charged, ChunkId, FrozenBlock, MarkWords, NotLoaded, POSITIONS, RecordFields,
        Unsplit,
    },
    error::Error,
    indirection::{Head, Rid},
    session::Session,
    table::Table,
    timestamp::{Begin, Timestamp},
    transaction::Statement,
};

/// Fewest records of a block: three quarters of its positions.
const SHOWN_MIN: usize = POSITIONS / 4 * 3;

/// Bytes of a chunk's records beyond which it gets no block: the fields of wide rows are not near each other anyway,
/// and a column's encoding takes time.
const BYTES_MAX: usize = 4 << 20;

/// Number of times that a block is begun anew because fields are of several kinds.
const RESTARTS_MAX: u32 = 3;

/// Bytes from which on the memory of a builder is not kept for the next chunk.
const KEPT_BYTES: usize = 1 << 20;

/// Bytes that are charged for each field, whatever its size.
const BYTES_PER_FIELD: usize = 8;

/// Bytes that are charged for gathered records, for each of theirs: as fields, as words of the block that is encoded,
/// and once more while these are copied.
const BYTES_PER_BYTE: usize = 3;

/// Bytes of gathered records that are charged in one go.
const CHARGED_BYTES: usize = 1 << 20;

/// Block that is being gathered.
struct Gathering<'g> {
    fields: &'g dyn RecordFields,
    builder: &'g mut Builder,
    /// Fields that are appended as bytes. There are as many as fields once there was a record.
    plain: &'g mut Vec<bool>,
    restarts: u32,
    horizon: Timestamp,
    newest: Timestamp,
    /// Records, and their bytes.
    shown: usize,
    bytes: usize,
    /// Charge for the fields while they are gathered, and its bytes.
    charge: Reservation,
    charged: usize,
}

/// The reason why some records were not gathered.
enum Refusal {
    /// More fields are to be appended as bytes: the block begins anew.
    Mixed,
    /// There is to be no block.
    Final,
}

/// The end of a step of gathering.
enum Step {
    /// Records before this RID are gathered.
    Upto(u64),
    /// The record at `at` has to be fetched, and others behind it.
    Cold { at: u64, wanted: Vec<ColdAddress> },
}

impl Unordered<'_> {
    /// Returns the block of a chunk, and its marks as they hold for the snapshot. A block is built if there is none, or
    /// one with many marks, and the chunk's turn has come: it was visited before, or `at_first_visit` holds.
    pub(super) async fn block_of<P: Policy>(
        self,
        table: &Table,
        id: ChunkId,
        fields: &dyn RecordFields,
        at_first_visit: bool,
        scan: &mut BlockScan,
    ) -> Result<Option<(Arc<Charged<FrozenBlock>>, Box<MarkWords>)>, Error> {
        let transaction = self.0;
        let memory = &transaction.session.memory;
        let database = &transaction.session.database;
        // A chunk whose block would not be kept is not tried: that would count.
        let has_room = database.may_build_blocks();
        // Scans that end early, or are not repeated, should not pay for a block.
        if has_room
            && (table.chunks.visit(id, memory) || at_first_visit)
            && let Some(building) = table.chunks.begin(id, memory)
        {
            let is_kept = self.build::<P>(table, id, fields, scan, building).await?;
            if let (false, Some(chunk)) = (is_kept, table.chunks.chunk(id)) {
                // The block that there was has many marks.
                chunk.release(memory);
            }
        }
        let mut marks = Box::new([0; POSITIONS / CHUNK as usize]);
        let pin = memory.pin();
        let chunk = table.chunks.chunk(id);
        let block = chunk.and_then(|chunk| chunk.current(&pin, &mut marks));
        Ok(block.map(|block| (block, marks)))
    }

    /// Builds a block of a chunk. Returns false if the chunk has too few records for one.
    async fn build<P: Policy>(
        self,
        table: &Table,
        id: ChunkId,
        fields: &dyn RecordFields,
        scan: &mut BlockScan,
        building: Building<'_, FrozenBlock>,
    ) -> Result<bool, Error> {
        let transaction = self.0;
        let statement = transaction.statement(table)?;
        let arena = &transaction.session.database.arena;
        let Ok(charge) = arena.reserve(0) else {
            return Ok(true);
        };
        let mut gathering = Gathering {
            fields,
            builder: &mut scan.builder,
            plain: &mut scan.plain,
            restarts: 0,
            horizon: transaction.session.database.horizon.horizon(),
            newest: Timestamp(0),
            shown: 0,
            bytes: 0,
            charge,
            charged: 0,
        };
        let (mut rids, mut thawed) = (id.rids(), Vec::new());
        while !rids.is_empty() {
            let (of_step, gathering_now, building) = (rids.clone(), &mut gathering, &building);
            let thawed_now = &thawed[..];
            let gathered = leaf!(
                P,
                statement.gather_body(table, of_step, thawed_now, gathering_now, building)
            );
            transaction.check_open()?;
            rids.start = match gathered {
                Ok(Step::Upto(next)) => next,
                Ok(Step::Cold { at, wanted }) => {
                    let session = &transaction.session;
                    let fetched = session.fetch_all(&wanted, transaction.priority()).await;
                    thawed = transaction.fetched(fetched)?;
                    at
                }
                Err(Refusal::Mixed) if gathering.restarts < RESTARTS_MAX => {
                    // Positions that were left out stay so.
                    gathering.begin_anew();
                    id.rids().start
                }
                Err(_) => return Ok(true),
            };
            if turn_is_over() {
                yield_now().await;
            }
        }
        let (newest, gathered) = (gathering.newest, gathering.bytes);
        if gathering.shown < SHOWN_MIN {
            return Ok(false);
        }
        let _charge = gathering.charge;
        let builder = &mut scan.builder;
        if builder.fill_to(POSITIONS).is_err() {
            return Ok(true);
        }
        loop {
            match builder.encode_next() {
                Ok(true) => {}
                Ok(false) => break,
                // Memory is lacking: records stay as they are.
                Err(_) => return Ok(true),
            }
            if turn_is_over() {
                yield_now().await;
            }
        }
        if let Ok(block) = builder.finish() {
            // Without room for the block, records stay as they are.
            let _ = publish(&transaction.session, &block, newest, building).await;
            transaction.check_open()?;
        }
        if gathered > KEPT_BYTES {
            *builder = Builder::default();
        }
        Ok(true)
    }
}

/// Makes a block the current one of its chunk.
///
/// # Errors
/// [`NotLoaded`] if there is no room for it, in memory and on the device.
async fn publish(
    session: &Session,
    block: &Block,
    newest: Timestamp,
    building: Building<'_, FrozenBlock>,
) -> Result<(), NotLoaded> {
    let database = &session.database;
    let stays = database.has_ample_room(block.bytes().len());
    let place = match stays {
        true => None,
        false => {
            let written = session.write_columns(block.bytes()).await;
            Some(written.map_err(|_| NotLoaded::Exhausted)?)
        }
    };
    let is_written = place.is_some();
    let directory = block.directory()?;
    let bytes = FrozenBlock::bytes_without_columns(&directory);
    let frozen = FrozenBlock::new(directory, newest, place, &database.block_room);
    for column in 0..block.columns() {
        let place = frozen.directory().place(column);
        if stays || place.is_empty() || database.may_keep_column(place.len()) {
            match frozen.segment(column, &block.bytes()[place], &database.arena) {
                Ok(segment) => frozen.keep(column, &segment),
                // The device has the column.
                Err(_) if is_written => {}
                Err(error) => return Err(error),
            }
        }
    }
    building.publish(frozen, bytes)?;
    session.counters.update(|stats| {
        stats.blocks_built += 1;
        stats.blocks_written += u64::from(is_written);
    });
    Ok(())
}

impl Gathering<'_> {
    fn begin_anew(&mut self) {
        self.restarts += 1;
        (self.newest, self.shown, self.bytes) = (Timestamp(0), 0, 0);
    }

    /// Appends a record at a position, before which there are `before` others without one.
    fn append(&mut self, position: usize, record: &[u8], at: Timestamp) -> Result<(), Refusal> {
        let count = self.fields.count(record).ok_or(Refusal::Final)?;
        if self.shown == 0 {
            self.builder.restart(count).map_err(|_| Refusal::Final)?;
            self.plain.resize(count, false);
        }
        self.bytes += record.len() + count * BYTES_PER_FIELD;
        if self.plain.len() != count || self.bytes > BYTES_MAX {
            return Err(Refusal::Final);
        }
        if self.bytes > self.charged {
            let grown = self.charge.grow(CHARGED_BYTES * BYTES_PER_BYTE);
            grown.map_err(|_| Refusal::Final)?;
            self.charged += CHARGED_BYTES;
        }
        let filled = self.builder.fill_to(position);
        filled.map_err(|_| Refusal::Final)?;
        match self.fields.split(record, self.plain, self.builder) {
            Ok(()) => {}
            Err(Unsplit::Mixed) => return Err(Refusal::Mixed),
            Err(Unsplit::Refused) => return Err(Refusal::Final),
        }
        self.newest = self.newest.max(at);
        self.shown += 1;
        Ok(())
    }

    /// Appends the record of a head, if the block is to show it; returns whether it is. `None` if the record is cold
    /// and not among those that are thawed.
    fn take(
        &mut self,
        head: Head,
        position: usize,
        thawed: &[Fetched],
    ) -> Result<Option<bool>, Refusal> {
        let (at, record) = match &head {
            Head::Version(version) => match (version.begin(), version.payload()) {
                (Begin::Committed(at), Some(record)) if at <= self.horizon => (at, record),
                _ => return Ok(Some(false)),
            },
            Head::Cold(address) => match Fetched::find(thawed, *address) {
                Some(found) => (found.begin, found.stored()),
                None => return Ok(None),
            },
            Head::Unused | Head::Dead => return Ok(Some(false)),
        };
        self.append(position, record, at)?;
        Ok(Some(true))
    }
}

impl Statement<'_> {
    /// Gathers records until the turn is over, or one has to be fetched.
    async fn gather_body<P: Policy>(
        &self,
        table: &Table,
        rids: Range<u64>,
        thawed: &[Fetched],
        gathering: &mut Gathering<'_>,
        building: &Building<'_, FrozenBlock>,
    ) -> Result<Step, Refusal> {
        let transaction = self.transaction;
        let bytes = table.prefetch_bytes();
        let mut next = rids.start;
        while next < rids.end {
            let _pin = transaction.session.memory.pin();
            let end = (next + CHUNK) / CHUNK * CHUNK;
            fetch_chunk::<P>(table, next..end, u64::MAX, bytes).await;
            for rid in next..end {
                let position = ChunkId::locate(Rid(rid)).1;
                let head = table.records.slot(Rid(rid)).head();
                match gathering.take(head, position, thawed)? {
                    Some(true) => {}
                    Some(false) => building.leave_out(position),
                    None => {
                        let wanted = cold_in(table, rid..rids.end, None);
                        return Ok(Step::Cold { at: rid, wanted });
                    }
                }
            }
            next = end;
            if turn_is_over() {
                break;
            }
        }
        Ok(Step::Upto(next))
    }
}
