//! Building blocks of chunks that a scan comes by: the records' fields, gathered and encoded.
//!
//! A building looks at each slot once, by the protocol of `columns/chunk.rs`. It shows records alone whose newest
//! version is in memory, was committed at or before the horizon, and is no tombstone; all other positions are left out.
//! A chunk of which too few are left, or with records that the description does not split, keeps its records as they
//! are.
//!
//! Bounds: a block has the records of one chunk, of [`BYTES_MAX`] bytes at most, whose fields are charged while they
//! are gathered, [`RESTARTS_MAX`] times anew at most; its columns are encoded one by one; a turn that is over ends a
//! step after [`CHUNK`] records, or after a column.

use std::{ops::Range, sync::Arc};

use interleave::{Policy, leaf, turn_is_over, yield_now};
use memory::Reservation;
use segment::Builder;

use super::{BlockScan, CHUNK, Unordered, fetch_chunk};
use crate::{
    columns::{
        Building, Charged, ChunkId, FrozenBlock, MarkWords, POSITIONS, RecordFields, Unsplit,
    },
    error::Error,
    indirection::{Head, Rid},
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

impl Unordered<'_> {
    /// Returns the block of a chunk, and its marks as they hold for the snapshot. A block is built if there is none, or
    /// one with many marks, and the chunk's turn has come.
    pub(super) async fn block_of<P: Policy>(
        self,
        table: &Table,
        id: ChunkId,
        fields: &dyn RecordFields,
        scan: &mut BlockScan,
    ) -> Result<Option<(Arc<Charged<FrozenBlock>>, Box<MarkWords>)>, Error> {
        let transaction = self.0;
        let memory = &transaction.session.memory;
        let database = &transaction.session.database;
        // A chunk whose block would not be kept is not tried: that would count.
        let has_room = database.block_room.check(&database.arena, 0).is_ok();
        // Scans that end early come by the first chunk alone, and should not pay for a block.
        if has_room
            && table.chunks.visit(id, memory)
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
        let mut rids = id.rids();
        while !rids.is_empty() {
            let (of_step, gathering_now, building) = (rids.clone(), &mut gathering, &building);
            let gathered = leaf!(
                P,
                statement.gather_body(table, of_step, gathering_now, building)
            );
            transaction.check_open()?;
            rids.start = match gathered {
                Ok(next) => next,
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
            let (bytes, room) = (
                block.memory_bytes(),
                &transaction.session.database.block_room,
            );
            let has_room = room.check(arena, bytes).is_ok();
            // Without room for the block, records stay as they are.
            if has_room
                && building
                    .publish(FrozenBlock::new(block, newest), bytes)
                    .is_ok()
            {
                room.built();
                let counters = &transaction.session.counters;
                counters.update(|stats| stats.blocks_built += 1);
            }
        }
        if gathered > KEPT_BYTES {
            *builder = Builder::default();
        }
        Ok(true)
    }
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

    /// Appends the record of a head, if the block is to show it; returns whether it is.
    fn take(&mut self, head: Head, position: usize) -> Result<bool, Refusal> {
        let Head::Version(version) = head else {
            return Ok(false);
        };
        match (version.begin(), version.payload()) {
            (Begin::Committed(at), Some(record)) if at <= self.horizon => {
                self.append(position, record, at)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

impl Statement<'_> {
    /// Gathers records until the turn is over; returns the RID at which to go on.
    async fn gather_body<P: Policy>(
        &self,
        table: &Table,
        rids: Range<u64>,
        gathering: &mut Gathering<'_>,
        building: &Building<'_, FrozenBlock>,
    ) -> Result<u64, Refusal> {
        let transaction = self.transaction;
        let bytes = table.prefetch_bytes();
        let mut next = rids.start;
        while next < rids.end {
            let _pin = transaction.session.memory.pin();
            let end = next + CHUNK;
            fetch_chunk::<P>(table, next..end, u64::MAX, bytes).await;
            for rid in next..end {
                let position = ChunkId::locate(Rid(rid)).1;
                let head = table.records.slot(Rid(rid)).head();
                if !gathering.take(head, position)? {
                    building.leave_out(position);
                }
            }
            next = end;
            if turn_is_over() {
                break;
            }
        }
        Ok(next)
    }
}
