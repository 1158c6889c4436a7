//! Reading ahead of a scan by blocks: columns that the scan will want are on their way while it computes.
//!
//! The scan reads few blocks ahead at first. Each time that it has to wait for one, it reads twice as many ahead, up to
//! what its caller allows: a device that is slow, or takes many transfers at once, is given more of them. The transfers
//! go through the session's gate, whose depth follows the device (`io/gate.rs`), and take free passes alone.
//!
//! Paper 002 (section 3) has a coroutine for each block. One scan with many transfers under way does the same: it
//! takes blocks in the order of their chunks, and waits for a transfer instead of trying again.
//!
//! Bounds: [`BLOCKS_MAX`] blocks and [`BYTES_MAX`] bytes of buffers, charged, are under way; a look ahead passes by
//! [`LOOKS_MAX`] chunks.

use std::{collections::VecDeque, future::poll_fn, ops::Range, pin::pin, sync::Arc};

use interleave::{Wait, noting};

use super::Wanted;
use crate::{
    columns::{BlockColumns, Charged, ChunkId, FrozenBlock, Loading, NotLoaded},
    session::Session,
    table::Table,
    transaction::Transaction,
};

/// Number of blocks that a scan reads ahead at first.
const BLOCKS_FIRST: usize = 4;

/// Maximum number of blocks that are read ahead, whatever a caller allows.
const BLOCKS_MAX: usize = 256;

/// Bytes of buffers with which no other block is read ahead.
const BYTES_MAX: usize = 8 << 20;

/// Maximum number of chunks that are looked at in one go.
const LOOKS_MAX: u64 = 256;

/// Attempts to get all columns of a block: others may have to leave memory while some are read.
const ATTEMPTS: usize = 3;

/// Blocks on their way to a scan.
pub(super) struct ReadAhead {
    /// In the order of their chunks.
    loads: VecDeque<(ChunkId, Loading)>,
    bytes: usize,
    /// First chunk that was not looked at.
    next: u64,
    /// Number of blocks to read ahead.
    depth: usize,
}

impl Default for ReadAhead {
    fn default() -> ReadAhead {
        ReadAhead {
            loads: VecDeque::new(),
            bytes: 0,
            next: 0,
            depth: BLOCKS_FIRST,
        }
    }
}

impl ReadAhead {
    /// Gives up what is under way: the scan goes on elsewhere.
    pub(super) fn clear(&mut self) {
        self.loads.clear();
        self.bytes = 0;
        self.next = 0;
    }

    /// Begins to read columns of the blocks of these chunks that were not looked at, of as many as may be under way.
    fn look_ahead(
        &mut self,
        session: &Session,
        table: &Table,
        chunks: Range<u64>,
        wanted: &Wanted<'_>,
    ) -> Result<(), NotLoaded> {
        for (_, load) in &mut self.loads {
            if !load.begin(session)? {
                return Ok(());
            }
        }
        // The block that the scan has come to is one of them.
        let blocks_max = 1 + self.depth.min(wanted.ahead_max).min(BLOCKS_MAX);
        self.next = self.next.max(chunks.start);
        for id in (self.next..chunks.end).take(LOOKS_MAX as usize) {
            if self.loads.len() >= blocks_max || self.bytes >= BYTES_MAX {
                break;
            }
            self.next = id + 1;
            let Some(block) = table.chunks.chunk(ChunkId(id)).and_then(|c| c.block()) else {
                continue;
            };
            let missing = BlockColumns::take(&block, wanted.columns).missing(wanted.columns);
            if missing.is_empty() || !(wanted.may_have)(block.directory()) {
                continue;
            }
            let mut load = Loading::plan(session, &block, &missing)?;
            let has_begun = load.begin(session)?;
            self.bytes += load.bytes();
            self.loads.push_back((ChunkId(id), load));
            if !has_begun {
                break;
            }
        }
        Ok(())
    }

    /// Takes the columns of a block that are under way.
    fn take(&mut self, id: ChunkId, block: &Arc<Charged<FrozenBlock>>) -> Option<Loading> {
        while let Some((first, _)) = self.loads.front()
            && *first <= id
            && let Some((found, load)) = self.loads.pop_front()
        {
            self.bytes -= load.bytes();
            // The chunk may have another block by now.
            if found == id && Arc::ptr_eq(load.block(), block) {
                return Some(load);
            }
        }
        None
    }

    /// Returns the wanted columns of a block, the first of these chunks, and reads ahead for the others.
    ///
    /// # Errors
    /// [`NotLoaded`].
    ///
    /// # Suspension
    /// A device wait.
    pub(super) async fn columns_of(
        &mut self,
        transaction: &Transaction,
        table: &Table,
        block: &Arc<Charged<FrozenBlock>>,
        chunks: Range<u64>,
        wanted: &Wanted<'_>,
    ) -> Result<BlockColumns, NotLoaded> {
        let (session, id) = (transaction.session(), ChunkId(chunks.start));
        if wanted.ahead_max > 0 {
            // Without memory for it, nothing is read ahead.
            let _ = self.look_ahead(session, table, chunks, wanted);
        }
        let mut under_way = self.take(id, block);
        let mut columns = BlockColumns::take(block, wanted.columns);
        for _ in 0..ATTEMPTS {
            let missing = columns.missing(wanted.columns);
            if missing.is_empty() {
                return Ok(columns);
            }
            let load = match under_way.take() {
                Some(load) => load,
                None => {
                    let mut load = Loading::plan(session, block, &missing)?;
                    if wanted.ahead_max > 0 {
                        load.begin(session)?;
                    }
                    load
                }
            };
            let mut has_waited = false;
            let mut end = pin!(load.end(session, transaction.priority(), &mut columns));
            let end = poll_fn(|context| {
                let progress = end.as_mut().poll(context);
                has_waited |= progress.is_pending();
                progress
            });
            noting(Wait::Device, pin!(end)).await?;
            if has_waited {
                self.depth = (2 * self.depth).min(BLOCKS_MAX);
            }
        }
        Err(NotLoaded::Exhausted)
    }
}
