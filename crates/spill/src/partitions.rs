//! Partitions of rows by the hash of their keys: rows with equal keys lie in the same one, so that a partition can be
//! grouped or joined by itself.
//!
//! Rows of a partition that is too large are partitioned again, by other bits of their hashes: each level mixes the
//! hash with a number of its own.

use std::rc::Rc;

use engine::Session;
use interleave::Turn;
use io::BLOCK_BYTES;
use types::{Charge, Memory, Result, Value};

use crate::{
    file::{PIECE_BYTES_MIN, Run, SpillFile},
    writer::RunWriter,
};

/// Fewest and most partitions.
const PARTITIONS_MIN: usize = 4;
const PARTITIONS_MAX: usize = 32;

/// Largest piece of a partition: there are many buffers.
const PIECE_BYTES_MAX: usize = 64 << 10;

/// Divisor of an operator's memory for the writers of all partitions.
const MEMORY_PART: usize = 8;

/// Number of times that rows are partitioned again, at most. Rows of the smallest partitions are one of 4^6 then, where
/// memory is least.
pub const LEVELS_MAX: u32 = 6;

/// Sizes that follow from an operator's memory.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    partitions: usize,
    piece_bytes: usize,
}

impl Sizes {
    fn of(operator_bytes: usize) -> Self {
        let bytes = operator_bytes / MEMORY_PART;
        let piece_bytes = (bytes / PARTITIONS_MAX / 2).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX);
        let piece_bytes = piece_bytes.next_multiple_of(BLOCK_BYTES);
        let fitting = bytes / RunWriter::memory_bytes(piece_bytes);
        let fitting = fitting.clamp(PARTITIONS_MIN, PARTITIONS_MAX);
        Self {
            partitions: 1 << fitting.ilog2(),
            piece_bytes,
        }
    }
}

/// Returns a hash whose bits do not depend on those of other levels (the finalizer of MurmurHash3).
fn mixed(hash: u64, level: u32) -> u64 {
    let seed = u64::from(level + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut mixed = hash.wrapping_add(seed);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

/// The file of an operator that partitions its rows once they have no room, and memory for the first partitions.
#[derive(Debug, Default)]
pub struct PartitionedFile {
    room: Charge,
    file: Option<Rc<SpillFile>>,
}

impl PartitionedFile {
    /// Returns whether there is a file: rows were put by.
    pub fn is_used(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the most bytes that the file has had on the device.
    pub fn bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.bytes())
    }

    /// Holds memory for the partitions of an operator that may keep `operator_bytes`.
    ///
    /// # Errors
    /// 53200 if the statement may not hold it.
    pub fn hold_room(&mut self, memory: &Rc<Memory>, operator_bytes: usize) -> Result<()> {
        let bytes = Partitions::memory_bytes(operator_bytes);
        self.room.set(memory, bytes)
    }

    /// Gives the memory for partitions back.
    pub fn release_room(&mut self) {
        self.room.lower(0);
    }

    /// Makes empty partitions of rows that were partitioned `level` times already, for an operator that may keep
    /// `operator_bytes`; makes the file before the first.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the writers' memory; 53100 or 58030 of the device.
    pub fn partitions(
        &mut self,
        session: &Rc<Session>,
        level: u32,
        operator_bytes: usize,
        memory: &Rc<Memory>,
    ) -> Result<Partitions> {
        let sizes = Sizes::of(operator_bytes);
        let file = match self.file.take() {
            Some(file) => file,
            None => SpillFile::new(session, sizes.piece_bytes)?,
        };
        let file = self.file.insert(file);
        self.room.lower(0);
        let writers =
            (0..sizes.partitions).map(|_| RunWriter::new(file, memory, Charge::default()));
        Ok(Partitions {
            writers: writers.collect::<Result<_>>()?,
            level,
        })
    }
}

/// Partitions that are being written.
#[derive(Debug)]
pub struct Partitions {
    /// As many as a power of two.
    writers: Vec<RunWriter>,
    level: u32,
}

impl Partitions {
    /// Returns the bytes of memory of the writers for an operator that may keep `operator_bytes`.
    fn memory_bytes(operator_bytes: usize) -> usize {
        let sizes = Sizes::of(operator_bytes);
        sizes.partitions * RunWriter::memory_bytes(sizes.piece_bytes)
    }

    /// Returns the number of the partition for rows with a hash.
    pub fn of(&self, hash: u64) -> usize {
        let mixed = mixed(hash, self.level);
        (mixed >> (u64::BITS - self.writers.len().ilog2())) as usize
    }

    /// Adds a row to a partition, as work of `turn`.
    ///
    /// # Errors
    /// Errors of [`RunWriter::push`].
    ///
    /// # Suspension
    /// A device wait; turns of other tasks.
    ///
    /// # Cancellation
    /// Dropping the future leaves half a row behind: the partitions can only be dropped.
    pub async fn push<'v>(
        &mut self,
        partition: usize,
        row: impl IntoIterator<Item = Value<'v>, IntoIter: Clone>,
        turn: &Turn,
    ) -> Result<()> {
        self.writers[partition].push(row, turn).await
    }

    /// Ends the partitions; returns all of them in order, those without rows included.
    ///
    /// # Errors
    /// 53100 and 58030 of the device.
    ///
    /// # Suspension
    /// Device waits.
    ///
    /// # Cancellation
    /// Dropping the future loses rows.
    pub async fn finish(mut self) -> Result<Vec<Run>> {
        let mut runs = Vec::with_capacity(self.writers.len());
        for writer in &mut self.writers {
            runs.push(writer.finish().await?);
        }
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes that have the same partition at one level are spread over all partitions of the next.
    #[test]
    fn levels_are_independent() {
        let partition =
            |hash: u64, level| (mixed(hash.wrapping_mul(0x1_0001), level) >> 59) as usize;
        for level in 0..LEVELS_MAX {
            let mut counts = [0; 32];
            let alike = (0..1 << 17).filter(|hash| partition(*hash, level) == 7);
            alike.for_each(|hash| counts[partition(hash, level + 1)] += 1);
            assert!(
                counts.iter().all(|count| (70..200).contains(count)),
                "{counts:?}"
            );
        }
    }

    #[test]
    fn writers_take_a_part_of_the_memory() {
        for megabytes in [1, 2, 8, 64, 1024] {
            let bytes = megabytes << 20;
            let (taken, sizes) = (Partitions::memory_bytes(bytes), Sizes::of(bytes));
            assert!(taken <= bytes / 6, "{sizes:?} of {megabytes} MB");
            assert!(sizes.partitions.is_power_of_two());
        }
        assert_eq!(Sizes::of(64 << 10).partitions, PARTITIONS_MIN);
        assert_eq!(Sizes::of(1 << 30).partitions, PARTITIONS_MAX);
    }
}
