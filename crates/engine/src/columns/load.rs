//! Columns of a block that are read from the device.
//!
//! Columns that lie near each other come in one transfer. Transfers begin as soon as the gate has passes for them, and
//! what is left begins when the columns are waited for: a scan that reads ahead takes no place in line.
//!
//! Bounds: the buffers of a block, which are charged, have the bytes of its columns and of what lies between them, at
//! most [`GAP_BYTES_MAX`] each time. Transfers of a loading that is dropped go on with buffers that count no more.
//! Scans that want the same columns at the same time each read them, unless they find them kept.

use std::{ops::Range, sync::Arc};

use ::io::{BLOCK_BYTES, Pass, Priority, round_up};
use memory::Reservation;
use segment::Segment;

use super::{
    charged::Charged,
    frozen::{BlockColumns, FrozenBlock, NotLoaded},
};
use crate::{reading::Reading, session::Session};

/// Maximum bytes between two columns that are read needlessly rather than in two transfers.
const GAP_BYTES_MAX: usize = 16 << 10;

/// Columns of a block on their way from the device.
pub(crate) struct Loading {
    block: Arc<Charged<FrozenBlock>>,
    runs: Vec<Run>,
    /// Bytes of all buffers.
    bytes: usize,
    _charge: Reservation,
}

/// Columns that come in one transfer.
struct Run {
    columns: Vec<usize>,
    /// Bytes of the block; their bounds are multiples of [`BLOCK_BYTES`].
    range: Range<usize>,
    /// The transfer, once it has begun.
    reading: Option<Reading>,
}

impl Loading {
    /// Plans to read some columns, in ascending order, of a block that is on the device.
    ///
    /// # Errors
    /// [`NotLoaded::Exhausted`] without memory for the buffers; [`NotLoaded::Damaged`] if the block is not on the
    /// device.
    pub(crate) fn plan(
        session: &Session,
        block: &Arc<Charged<FrozenBlock>>,
        columns: &[usize],
    ) -> Result<Loading, NotLoaded> {
        if block.place().is_none() {
            return Err(NotLoaded::Damaged);
        }
        let mut runs: Vec<Run> = Vec::new();
        for &column in columns {
            let place = block.directory().place(column);
            let end = round_up(place.end);
            match runs.last_mut() {
                Some(run) if place.start <= run.range.end + GAP_BYTES_MAX => {
                    run.columns.push(column);
                    run.range.end = end;
                }
                _ => runs.push(Run {
                    columns: vec![column],
                    range: place.start / BLOCK_BYTES * BLOCK_BYTES..end,
                    reading: None,
                }),
            }
        }
        let bytes = runs.iter().map(|run| run.range.len()).sum();
        Ok(Loading {
            block: block.clone(),
            runs,
            bytes,
            _charge: session.database.arena.reserve(bytes)?,
        })
    }

    pub(crate) fn block(&self) -> &Arc<Charged<FrozenBlock>> {
        &self.block
    }

    /// Returns the bytes of all buffers.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Begins the transfers for which the gate has passes. Returns whether all have begun.
    pub(crate) fn begin(&mut self, session: &Session) -> Result<bool, NotLoaded> {
        for run in &mut self.runs {
            if run.reading.is_none() {
                let Some(pass) = session.gate().try_enter() else {
                    return Ok(false);
                };
                run.reading = Some(run.begin(&self.block, session, pass)?);
            }
        }
        Ok(true)
    }

    /// Waits for the columns, and adds them to those that are there. Columns for which there is room are kept.
    ///
    /// # Errors
    /// [`NotLoaded`].
    ///
    /// # Suspension
    /// Device waits, perhaps in line at the gate.
    pub(crate) async fn end(
        self,
        session: &Session,
        priority: Priority,
        to: &mut BlockColumns,
    ) -> Result<(), NotLoaded> {
        let block = self.block;
        for mut run in self.runs {
            let reading = match run.reading.take() {
                Some(reading) => reading,
                None => {
                    let pass = session.pass_again(priority).await;
                    run.begin(&block, session, pass)?
                }
            };
            let buffer = reading.whole(session, priority).await;
            let buffer = buffer.map_err(|_| NotLoaded::Damaged)?;
            for column in run.columns {
                let place = block.directory().place(column);
                let place = place.start - run.range.start..place.end - run.range.start;
                let bytes = buffer.get(place).ok_or(NotLoaded::Damaged)?;
                let segment = block.segment(column, bytes, &session.database.arena)?;
                keep(session, &block, column, &segment);
                to.add(column, segment);
            }
            session.read_buffers.give_back(buffer);
            session.counters.update(|stats| {
                stats.block_reads += 1;
                stats.block_bytes_read += run.range.len() as u64;
            });
        }
        Ok(())
    }
}

impl Run {
    fn begin(
        &self,
        block: &FrozenBlock,
        session: &Session,
        pass: Pass,
    ) -> Result<Reading, NotLoaded> {
        let (file, offset) = block.place().ok_or(NotLoaded::Damaged)?.at();
        let buffer = session.read_buffers.take(self.range.len());
        let offset = offset + self.range.start as u64;
        let reading = session.begin_reading(pass, file, offset, buffer);
        reading.map_err(|_| NotLoaded::Damaged)
    }
}

/// Keeps a column in memory if there is room for it.
fn keep(session: &Session, block: &FrozenBlock, column: usize, segment: &Arc<Charged<Segment>>) {
    if session.database.may_keep_column(segment.memory_bytes()) {
        block.keep(column, segment);
    }
}
