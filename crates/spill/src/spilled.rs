//! Rows that operators have put by on the device, as measurements tell of them; and the room held for them before.

use types::{Charge, Result, granted};

use crate::{budget::Budget, file::SpillFile, writer::RunWriter};

/// Rows that an operator has put by on the device, because it could not keep all of them in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spilled {
    /// Rows of a sort.
    Sort {
        /// Most bytes that they have had on the device.
        bytes: u64,
    },
    /// Rows that are read several times, or that functions over windows look at.
    Rows {
        /// Most bytes that they have had on the device.
        bytes: u64,
    },
    /// Rows of groups, of a join, of sets, or of which the first of equal ones counts.
    Hash {
        /// Number of parts that were grouped or joined by themselves.
        batches: usize,
        /// Most bytes that the rows have had on the device.
        bytes: u64,
    },
}

/// The memory that an operator holds for its first writer while it keeps rows, and how these grow: an operator that is
/// refused memory for more rows has what it needs to put by those that it has.
#[derive(Debug, Default)]
pub(crate) struct WriterRoom {
    buffers: Charge,
    /// Bytes of the rows when they were looked at last.
    seen: usize,
}

impl WriterRoom {
    /// Notes that the rows have `bytes` now; returns by how many they have grown since the last call.
    pub(crate) fn grown_to(&mut self, bytes: usize) -> usize {
        bytes.saturating_sub(std::mem::replace(&mut self.seen, bytes))
    }

    /// Holds the writer's memory; returns false if it is refused: rows cannot be put by, and are kept as long as there
    /// is memory.
    ///
    /// # Errors
    /// None but those of a fault.
    pub(crate) fn hold(&mut self, budget: &Budget) -> Result<bool> {
        let piece_bytes = SpillFile::piece_bytes_for(budget.operator_bytes());
        let buffers = RunWriter::memory_bytes(piece_bytes);
        let held = self.buffers.set(budget.memory(), buffers);
        Ok(granted(held)?.is_some())
    }

    /// Gives up the charge for the writer's memory, which the writer takes over, and forgets the rows.
    pub(crate) fn take(&mut self) -> Charge {
        std::mem::take(self).buffers
    }
}
