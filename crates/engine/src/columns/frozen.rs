//! Blocks as tables have them: a directory in memory; columns in memory, on the device, or both.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering},
};

use memory::{Arena, Exhausted};
use segment::{Column, Directory, Segment};

use super::{BlockRoom, charged::Charged, device::BlockPlace};
use crate::timestamp::Timestamp;

/// Records of a chunk of a table's RIDs by columns.
#[derive(Debug)]
pub(crate) struct FrozenBlock {
    directory: Directory,
    /// Commit of the newest record.
    newest: Timestamp,
    columns: Box<[Mutex<Kept>]>,
    /// Place of all columns on the device. Without one, all columns are in memory.
    place: Option<BlockPlace>,
    bytes: Arc<BlockBytes>,
}

/// Bytes of the columns of all blocks of a database, which each block counts itself in.
#[derive(Debug, Default)]
pub(crate) struct BlockBytes {
    /// Bytes of all columns, wherever they are.
    all: AtomicUsize,
    /// Bytes of those in memory.
    kept: AtomicUsize,
}

// Relaxed, here and below: the sums steer, and nothing relies on them.
impl BlockBytes {
    /// Returns the bytes of all columns, wherever they are.
    pub(crate) fn all(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the columns in memory.
    pub(crate) fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }
}

/// A column as far as it is in memory.
#[derive(Debug, Default)]
struct Kept {
    segment: Option<Arc<Charged<Segment>>>,
    /// Whether a scan has wanted the column since the last round of [`BlockRoom`].
    is_used: bool,
}

impl FrozenBlock {
    /// Makes a block without columns in memory.
    pub(crate) fn new(
        directory: Directory,
        newest: Timestamp,
        place: Option<BlockPlace>,
        room: &BlockRoom,
    ) -> FrozenBlock {
        let columns = (0..directory.columns()).map(|_| Mutex::default());
        let bytes = room.bytes().clone();
        bytes
            .all
            .fetch_add(directory.block_bytes(), Ordering::Relaxed);
        FrozenBlock {
            columns: columns.collect(),
            directory,
            newest,
            place,
            bytes,
        }
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(crate) fn newest(&self) -> Timestamp {
        self.newest
    }

    pub(crate) fn place(&self) -> Option<&BlockPlace> {
        self.place.as_ref()
    }

    /// Returns the bytes of memory that the block takes without its columns.
    pub(crate) fn bytes_without_columns(directory: &Directory) -> usize {
        size_of::<FrozenBlock>()
            + directory.memory_bytes()
            + directory.columns() * size_of::<Mutex<Kept>>()
    }

    fn kept(&self, column: usize) -> MutexGuard<'_, Kept> {
        self.columns[column]
            .lock()
            .unwrap_or_else(|e| e.into_inner())
    }

    /// Makes the segment of a column of the bytes at its place, charged to the memory limit.
    ///
    /// # Errors
    /// [`NotLoaded::Damaged`]; [`NotLoaded::Exhausted`].
    pub(crate) fn segment(
        &self,
        column: usize,
        bytes: &[u8],
        arena: &Arc<Arena>,
    ) -> Result<Arc<Charged<Segment>>, NotLoaded> {
        let segment = self.directory.segment(column, bytes)?;
        let bytes = segment.memory_bytes();
        Ok(Arc::new(Charged::new(arena, bytes, || segment)?))
    }

    /// Keeps a column in memory, until it has to leave.
    pub(crate) fn keep(&self, column: usize, segment: &Arc<Charged<Segment>>) {
        let mut kept = self.kept(column);
        if kept.segment.is_none() {
            self.bytes
                .kept
                .fetch_add(self.counted_bytes(column, segment), Ordering::Relaxed);
            kept.segment = Some(segment.clone());
        }
        kept.is_used = true;
    }

    /// Returns the bytes of a column that may leave memory: none if it has no values of its own.
    fn counted_bytes(&self, column: usize, segment: &Segment) -> usize {
        match self.directory.place(column).is_empty() {
            true => 0,
            false => segment.memory_bytes(),
        }
    }

    /// Lets those columns leave memory that are on the device: all, or those that no scan has wanted since the last
    /// call.
    pub(crate) fn relieve(&self, mode: Relieved) {
        if self.place.is_none() {
            return;
        }
        for column in 0..self.columns.len() {
            let mut kept = self.kept(column);
            let was_used = std::mem::take(&mut kept.is_used);
            if mode != Relieved::All && was_used || self.directory.place(column).is_empty() {
                continue;
            }
            let left = kept.segment.take();
            // Without the lock: the memory may be large.
            drop(kept);
            self.forget(column, left);
        }
    }

    fn forget(&self, column: usize, segment: Option<Arc<Charged<Segment>>>) {
        let bytes = segment.map_or(0, |segment| self.counted_bytes(column, &segment));
        self.bytes.kept.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for FrozenBlock {
    fn drop(&mut self) {
        for column in 0..self.columns.len() {
            let kept = self.kept(column).segment.take();
            self.forget(column, kept);
        }
        let bytes = self.directory.block_bytes();
        self.bytes.all.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Columns that leave memory, or blocks that go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relieved {
    /// All columns that are on the device, and blocks that are not there.
    All,
    /// Columns that no scan has wanted lately.
    Unused,
    /// All blocks that are on the device.
    Written,
}

/// The reason why a column is not read.
#[derive(Debug)]
pub(crate) enum NotLoaded {
    /// The device fails, or the column has not its checksum.
    Damaged,
    /// There is no memory.
    Exhausted,
}

impl From<segment::SegmentError> for NotLoaded {
    fn from(error: segment::SegmentError) -> NotLoaded {
        match error {
            segment::SegmentError::Memory(_) => NotLoaded::Exhausted,
            _ => NotLoaded::Damaged,
        }
    }
}

impl From<Exhausted> for NotLoaded {
    fn from(Exhausted: Exhausted) -> NotLoaded {
        NotLoaded::Exhausted
    }
}

/// Columns of a block that a scan reads, in memory for as long as it has them.
#[derive(Debug)]
pub struct BlockColumns {
    block: Arc<Charged<FrozenBlock>>,
    /// Segments of the block's columns; `None` for those that are not read.
    segments: Box<[Option<Arc<Charged<Segment>>>]>,
}

impl BlockColumns {
    /// Takes those of the wanted columns that are in memory. Columns that the block does not have are no matter.
    pub(crate) fn take(block: &Arc<Charged<FrozenBlock>>, wanted: &[usize]) -> BlockColumns {
        let count = block.directory.columns();
        let mut segments: Box<[_]> = (0..count).map(|_| None).collect();
        for &column in wanted.iter().filter(|column| **column < count) {
            let mut kept = block.kept(column);
            kept.is_used = true;
            segments[column].clone_from(&kept.segment);
        }
        BlockColumns {
            block: block.clone(),
            segments,
        }
    }

    /// Returns the wanted columns that are not there yet.
    pub(crate) fn missing(&self, wanted: &[usize]) -> Vec<usize> {
        let is_missing = |column: &&usize| matches!(self.segments.get(**column), Some(None));
        wanted.iter().filter(is_missing).copied().collect()
    }

    pub(crate) fn add(&mut self, column: usize, segment: Arc<Charged<Segment>>) {
        self.segments[column] = Some(segment);
    }

    /// Returns the number of rows, of which superseded ones have nothing of meaning.
    pub fn rows(&self) -> usize {
        self.block.directory.rows()
    }

    /// Returns the number of columns of the block. Records that are older than a table's last columns lack these.
    pub fn columns(&self) -> usize {
        self.segments.len()
    }

    /// Returns a column, whose fields are as the description of the records has split them
    /// ([`RecordFields`](super::RecordFields)). `None` if the scan has not wanted it, or the block does not have it.
    pub fn column(&self, column: usize) -> Option<Column<'_>> {
        let segment = self.segments.get(column)?.as_deref()?;
        Some(self.block.directory.column(column, segment))
    }
}
