//! Counters of transactions, per session, summed by readers.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counters of transactions since the database was opened.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct TransactionStats { $($(#[$doc])* pub $name: u64),* }

        impl TransactionStats {
            /// Adds another session's counters.
            pub fn merge(&mut self, other: &TransactionStats) { $(self.$name += other.$name;)* }
        }

        #[derive(Default)]
        #[repr(align(128))]
        pub(crate) struct Published { $($name: AtomicU64),* }

        impl Published {
            pub(crate) fn publish(&self, stats: &TransactionStats) {
                $(self.$name.store(stats.$name, Ordering::Relaxed);)*
            }

            pub(crate) fn read(&self) -> TransactionStats {
                TransactionStats { $($name: self.$name.load(Ordering::Relaxed)),* }
            }
        }
    };
}

counters! {
    /// Transactions that committed.
    commits,
    /// Transactions rolled back by their user, or dropped unfinished.
    rollbacks,
    /// Aborts because another open transaction had written the record.
    aborts_write_conflict,
    /// Aborts because a later commit had written the record.
    aborts_snapshot_too_old,
    /// Aborts because the transaction would have waited for itself.
    aborts_deadlock,
    /// Snapshots that moved to the present instead of an abort.
    snapshots_moved,
    /// Waits for the end of another transaction.
    lock_waits,
    /// Waits that were given up because they took too long.
    lock_timeouts,
    /// Aborts because no serial order would have allowed the transaction.
    aborts_not_serializable,
    /// Aborts because records came or went where the transaction had found none.
    aborts_phantom,
    /// Aborts because the reads of the transaction would have exceeded the memory limit.
    aborts_too_much_read,
    /// Aborts because a cold record could not be read at once.
    aborts_read_refused,
    /// Aborts to make room in memory for other transactions.
    aborts_out_of_room,
    /// Aborts because a table that was written to was dropped or truncated.
    aborts_table_dropped,
    /// Point reads.
    reads,
    /// Records inserted, updated or deleted.
    writes,
    /// Writes and locks of rows, attempts included, that needed no descent of an index: the row had just been found.
    descents_spared,
    /// Records handed out by scans.
    scanned,
    /// Records among these that were handed out in blocks of columns.
    scanned_in_blocks,
    /// Blocks of columns that scans have built.
    blocks_built,
    /// Blocks among these that were written to the device.
    blocks_written,
    /// Blocks that scans passed by: their bounds say that no row is wanted.
    blocks_skipped,
    /// Transfers by which scans read columns of blocks.
    block_reads,
    /// Bytes of these transfers.
    block_bytes_read,
    /// Blocks that could not be read: the device failed, or a checksum was wrong. Scans read their records instead.
    blocks_damaged,
    /// Versions that became unreachable and were freed.
    versions_collected,
    /// Deleted records whose index entry was removed.
    records_removed,
    /// Expired records that were deleted.
    expired,
    /// Checkpoints taken.
    checkpoints,
    /// Records that were read from cold files.
    cold_reads,
    /// Cold records that could not be read: the device failed, or a checksum was wrong.
    cold_reads_failed,
    /// Reads of cold files that were submitted to the device.
    device_reads,
    /// Reads that the device has ended.
    device_reads_ended,
    /// Reads that were held back before they were submitted.
    device_reads_held_back,
    /// Time for which reads were held back, in nanoseconds, summed over all of them.
    device_reads_held_back_ns,
    /// Sum over `device_reads` of how many reads of the same worker were then under way, including this one.
    device_depth_sum,
    /// Cold records that became hot.
    promoted,
    /// Hot records that became cold.
    demoted,
    /// Demoted records that had come back before and were not changed: nothing was written.
    demoted_unchanged,
    /// Versions that were moved in memory to make room.
    moved,
    /// Attempts at which the device refused to take records: it is full, or fails.
    demotions_failed,
    /// Cold records that were written elsewhere, since little else of their file was live.
    compacted,
    /// Cold files that were removed.
    cold_files_removed,
    /// Errors of the device while cold files were compacted.
    compactions_failed,
}

impl TransactionStats {
    /// Returns the number of aborts of all kinds.
    pub fn aborts(&self) -> u64 {
        self.aborts_write_conflict
            + self.aborts_snapshot_too_old
            + self.aborts_table_dropped
            + self.aborts_deadlock
            + self.aborts_not_serializable
            + self.aborts_phantom
            + self.aborts_too_much_read
            + self.aborts_read_refused
            + self.aborts_out_of_room
    }
}

/// Counters of all lanes of the log. Blocks are rare enough to be counted by all sessions in one place.
#[derive(Default)]
pub(crate) struct LogCounters {
    blocks: AtomicU64,
    transactions: AtomicU64,
    bytes: AtomicU64,
}

impl LogCounters {
    /// Counts a block that was sealed.
    pub(crate) fn sealed(&self, transactions: u32, bytes: usize) {
        self.blocks.fetch_add(1, Ordering::Relaxed);
        self.transactions
            .fetch_add(transactions.into(), Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&self) -> LogStats {
        LogStats {
            blocks: self.blocks.load(Ordering::Relaxed),
            transactions: self.transactions.load(Ordering::Relaxed),
            bytes: self.bytes(),
        }
    }
}

/// Counters of the log since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogStats {
    /// Blocks, each one write to the device.
    pub blocks: u64,
    /// Transactions in the blocks.
    pub transactions: u64,
    /// Bytes of the blocks, padding included.
    pub bytes: u64,
}
