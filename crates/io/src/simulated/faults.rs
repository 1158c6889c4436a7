//! Faults of a simulated disk.

/// Behaviour of a simulated disk. By default nothing goes wrong, but operations of a channel still
/// complete in any order.
///
/// Chances are per mille of the calls of their kind, 0 to 1000.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Minimum reaps that an operation of a channel sits out before the reap that it completes in:
    /// the latency of a slow device. A wait counts for as many reaps as it takes.
    pub delay_reaps_min: u32,
    /// Maximum reaps that an operation sits out. A value below the minimum counts as the minimum.
    pub delay_reaps_max: u32,
    /// Chance that a transfer of a channel moves only a part of its bytes, at least a block of a
    /// direct file, at least a byte of another.
    pub short_per_mille: u32,
    /// Chance that a read fails, of a channel or blocking. The buffer's contents are undefined.
    pub read_error_per_mille: u32,
    /// Chance that a write fails, durable or not, of a channel or blocking. Any of its sectors may
    /// have been written, and may be durable after a crash.
    pub write_error_per_mille: u32,
    /// Chance that a sync fails, of a file or the directory. Any part of it may be durable. As on
    /// Linux, a later successful [`crate::File::sync`] does not make up for it.
    pub sync_error_per_mille: u32,
    /// Chance that listing, opening, creating, renaming, removing or locking fails, without effect.
    pub name_error_per_mille: u32,
    /// Maximum sum of the lengths of all files that have names or are open; a write that would
    /// exceed it is cut short or fails. `None` for no limit.
    pub capacity_bytes: Option<u64>,
}

/// A way in which the disk lies. For tests of tests: a harness that finds no fault in such a disk
/// would find none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Durable writes and syncs of files make nothing durable, but report success.
    SkipSync,
    /// Durable writes alone make nothing durable, but report success.
    SkipDurableWrite,
    /// Syncs of the directory make nothing durable, but report success.
    LoseDirectorySync,
}

/// Operations since the disk was made, successful or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads of channels and files.
    pub reads: u64,
    /// Writes that need not be durable.
    pub writes: u64,
    /// Durable writes.
    pub durable_writes: u64,
    /// Syncs of files.
    pub syncs: u64,
    /// Syncs of the directory.
    pub directory_syncs: u64,
    /// Files created, renamed and removed.
    pub name_changes: u64,
}

impl Counts {
    /// Returns the number of operations that change the disk, which
    /// [`crate::SimulatedDisk::crash_after`] counts.
    pub fn changes(&self) -> u64 {
        self.writes + self.durable_writes + self.syncs + self.directory_syncs + self.name_changes
    }
}
