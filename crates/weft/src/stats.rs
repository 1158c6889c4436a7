//! Statistics of a database.

use std::{fmt, time::Duration};

use engine::{ColdUsage, Usage};
use interleave::WorkerStats;

use crate::context::Shared;

/// Counters of a database since it was opened, and its present levels. Workers publish their
/// counters every few milliseconds under load and before they sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Time since the database was opened.
    pub uptime: Duration,
    /// Number of worker threads (1 for a local database).
    pub workers: u64,
    /// Number of transactions that committed.
    pub commits: u64,
    /// Number of transactions rolled back by their closure, or dropped unfinished.
    pub rollbacks: u64,
    /// Aborts because another open transaction had written the record.
    pub aborts_write_conflict: u64,
    /// Aborts because a later commit had written the record.
    pub aborts_snapshot_too_old: u64,
    /// Aborts because no serial order would have allowed the transaction.
    pub aborts_not_serializable: u64,
    /// Aborts because records came or went in a range that the transaction read.
    pub aborts_phantom: u64,
    /// Aborts because transactions waited for each other in a circle.
    pub aborts_deadlock: u64,
    /// Aborts because the record of the transaction's reads would have exceeded the memory limit.
    pub aborts_too_much_read: u64,
    /// Aborts because a table that the transaction wrote to was dropped or truncated.
    pub aborts_table_dropped: u64,
    /// Aborts because a record was not in memory and too many were being read.
    pub aborts_read_refused: u64,
    /// Aborts to make room in memory for transactions that had waited for it longer.
    pub aborts_out_of_room: u64,
    /// Aborts for all these reasons.
    aborts: u64,
    /// Number of times that a transaction's snapshot moved to the present, because it had read
    /// nothing that had changed: each time instead of an abort.
    pub snapshots_moved: u64,
    /// Number of waits of operations for the end of another transaction.
    pub lock_waits: u64,
    /// Number of waits for other transactions that were given up because they took too long.
    pub lock_timeouts: u64,
    /// Number of transactions whose closure panicked.
    pub panics: u64,
    /// Number of transactions cancelled because their future, or the handle of an interactive
    /// transaction, was dropped.
    pub cancellations: u64,
    /// Number of point reads of committed transactions.
    pub reads: u64,
    /// Number of records inserted, updated or deleted by committed transactions.
    pub writes: u64,
    /// Number of records handed out by scans of committed transactions.
    pub scanned: u64,
    /// Number of waits for memory: suspensions behind a prefetch, and to let others have a turn.
    pub waits_memory: u64,
    /// Number of waits for reads of the device.
    pub waits_device: u64,
    /// Number of waits for events of any kind: another transaction, the log, a client, a timer.
    pub waits_event: u64,
    /// Number of waits for events that were waits for a lock.
    pub waits_lock: u64,
    /// Number of waits for events that were waits for the log.
    pub waits_log: u64,
    /// Number of waits for events that were waits for a client.
    pub waits_client: u64,
    /// Number of times a transaction was resumed.
    pub resumptions: u64,
    /// Number of transactions that the workers keep in flight now, summed.
    pub in_flight: u64,
    /// Number of times a worker went to sleep.
    pub sleeps: u64,
    /// Number of transactions that computed for so long that others go first
    /// ([`crate::WorkerConfig::batch_after_us`]).
    pub tasks_batch: u64,
    /// Number of times that a task held its worker for longer than [`crate::SLICE_US_MAX`].
    pub slices_long: u64,
    /// Longest of these slices, of any worker; [`crate::WorkerHandle::longest_slice`] names the
    /// task.
    pub slice_longest: Duration,
    /// Bytes of the largest transaction's frame.
    pub frame_bytes_max: u64,
    /// Number of versions that became unreachable and were freed.
    pub versions_collected: u64,
    /// Number of deleted records whose index entry was removed.
    pub records_removed: u64,
    /// Number of expired records that were deleted ([`crate::TableOptions::ttl`]).
    pub expired: u64,
    /// Number of blocks written to the log, each one durable write to the device.
    pub log_blocks: u64,
    /// Number of transactions in these blocks.
    pub log_transactions: u64,
    /// Bytes of these blocks, padding included.
    pub log_bytes: u64,
    /// Number of checkpoints taken.
    pub checkpoints: u64,
    /// Number of records that were read from cold files ([`crate::StorageOptions::cold_tier`]).
    pub cold_reads: u64,
    /// Number of cold records that could not be read: the device failed, or a checksum was wrong.
    /// The transaction that accessed such a record got an error that names its place. The number
    /// includes blocks that compaction found damaged.
    pub cold_reads_failed: u64,
    /// Number of reads of cold files that the device was asked for. One read may bring several
    /// records.
    pub device_reads: u64,
    /// Number of these reads that the device has ended.
    pub device_reads_ended: u64,
    /// Number of reads of cold files that had to wait before the device was asked.
    pub device_reads_held_back: u64,
    /// Time for which all these reads waited together, in nanoseconds.
    pub device_reads_held_back_ns: u64,
    /// Sum over `device_reads` of the number of the same worker's reads under way, with this one.
    pub device_depth_sum: u64,
    /// Number of records that came back to memory.
    pub promoted: u64,
    /// Number of records that left memory.
    pub demoted: u64,
    /// Number of records that left memory again unchanged after they had come back: nothing was
    /// written.
    pub demoted_unchanged: u64,
    /// Number of times that the device refused to take records: it is full, or fails.
    pub demotions_failed: u64,
    /// Number of records that were written elsewhere on the device, since little else of their file
    /// was of use.
    pub compacted: u64,
    /// Number of times that the device failed during such a move.
    pub compactions_failed: u64,
    /// Space on the device of records that have left memory.
    pub cold: ColdUsage,
    /// Use of memory by purpose.
    pub memory: Usage,
}

impl Stats {
    pub(crate) fn collect(shared: &Shared, count: usize, workers: &WorkerStats) -> Stats {
        let transactions = shared.engine.stats();
        let log = shared.engine.log_stats();
        Stats {
            uptime: shared.opened.elapsed(),
            workers: count as u64,
            commits: transactions.commits,
            rollbacks: transactions.rollbacks,
            aborts_write_conflict: transactions.aborts_write_conflict,
            aborts_snapshot_too_old: transactions.aborts_snapshot_too_old,
            aborts_not_serializable: transactions.aborts_not_serializable,
            aborts_phantom: transactions.aborts_phantom,
            aborts_deadlock: transactions.aborts_deadlock,
            aborts_too_much_read: transactions.aborts_too_much_read,
            aborts_table_dropped: transactions.aborts_table_dropped,
            aborts_read_refused: transactions.aborts_read_refused,
            aborts_out_of_room: transactions.aborts_out_of_room,
            aborts: transactions.aborts(),
            snapshots_moved: transactions.snapshots_moved,
            lock_waits: transactions.lock_waits,
            lock_timeouts: transactions.lock_timeouts,
            panics: workers.tasks_panicked,
            cancellations: workers.tasks_cancelled,
            reads: transactions.reads,
            writes: transactions.writes,
            scanned: transactions.scanned,
            waits_memory: workers.waits_memory,
            waits_device: workers.waits_device,
            waits_event: workers.waits_event,
            waits_lock: workers.waits_lock,
            waits_log: workers.waits_log,
            waits_client: workers.waits_client,
            resumptions: workers.resumptions,
            in_flight: workers.in_flight,
            sleeps: workers.sleeps,
            tasks_batch: workers.tasks_batch,
            slices_long: workers.slices_long,
            slice_longest: Duration::from_nanos(workers.slice_ns_max),
            frame_bytes_max: workers.frame_bytes_max,
            versions_collected: transactions.versions_collected,
            records_removed: transactions.records_removed,
            expired: transactions.expired,
            log_blocks: log.blocks,
            log_transactions: log.transactions,
            log_bytes: log.bytes,
            checkpoints: transactions.checkpoints,
            cold_reads: transactions.cold_reads,
            cold_reads_failed: transactions.cold_reads_failed,
            device_reads: transactions.device_reads,
            device_reads_ended: transactions.device_reads_ended,
            device_reads_held_back: transactions.device_reads_held_back,
            device_reads_held_back_ns: transactions.device_reads_held_back_ns,
            device_depth_sum: transactions.device_depth_sum,
            promoted: transactions.promoted,
            demoted: transactions.demoted,
            demoted_unchanged: transactions.demoted_unchanged,
            demotions_failed: transactions.demotions_failed,
            compacted: transactions.compacted,
            compactions_failed: transactions.compactions_failed,
            cold: shared.engine.cold_usage(),
            memory: shared.engine.memory(),
        }
    }

    /// Returns the number of aborts for any reason.
    pub fn aborts(&self) -> u64 {
        self.aborts
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "up {:.1} s, {} worker(s), up to {} transaction(s) in flight",
            self.uptime.as_secs_f64(),
            self.workers,
            self.in_flight
        )?;
        writeln!(
            f,
            "transactions  {} committed, {} rolled back, {} aborted ({} write conflicts, {} old snapshots, {} not serializable, {} phantoms, {} deadlocks, {} for memory, {} for dropped tables, {} for refused reads, {} for room), {} panicked, {} cancelled",
            self.commits,
            self.rollbacks,
            self.aborts(),
            self.aborts_write_conflict,
            self.aborts_snapshot_too_old,
            self.aborts_not_serializable,
            self.aborts_phantom,
            self.aborts_deadlock,
            self.aborts_too_much_read,
            self.aborts_table_dropped,
            self.aborts_read_refused,
            self.aborts_out_of_room,
            self.panics,
            self.cancellations
        )?;
        writeln!(
            f,
            "operations    {} reads, {} writes, {} records scanned",
            self.reads, self.writes, self.scanned
        )?;
        writeln!(
            f,
            "waits         {} for memory, {} for the device, {} for events ({} locks, {} log, {} clients); {} resumptions, {} sleeps",
            self.waits_memory,
            self.waits_device,
            self.waits_event,
            self.waits_lock,
            self.waits_log,
            self.waits_client,
            self.resumptions,
            self.sleeps
        )?;
        if self.slices_long > 0 {
            writeln!(
                f,
                "slices        {} held a worker for longer than {} us, the longest for {:.1?}",
                self.slices_long,
                interleave::SLICE_US_MAX,
                self.slice_longest
            )?;
        }
        writeln!(
            f,
            "collected     {} versions, {} deleted records, {} expired",
            self.versions_collected, self.records_removed, self.expired
        )?;
        if self.log_blocks > 0 {
            writeln!(
                f,
                "log           {} transactions in {} writes of {} in all; {} checkpoints",
                self.log_transactions,
                self.log_blocks,
                Bytes(self.log_bytes),
                self.checkpoints
            )?;
        }
        if self.cold.files > 0 {
            writeln!(
                f,
                "cold          {} records left memory ({} without a write, {} times the device refused), {} came back",
                self.demoted, self.demoted_unchanged, self.demotions_failed, self.promoted,
            )?;
            writeln!(
                f,
                "cold files    {} of {}, {} of use; {} records compacted ({} times the device refused)",
                self.cold.files,
                Bytes(self.cold.bytes),
                Bytes(self.cold.live_bytes),
                self.compacted,
                self.compactions_failed,
            )?;
            writeln!(
                f,
                "cold reads    {} records in {} reads ({} could not be read), {:.1} under way at once, {} held back for {:.0} us each",
                self.cold_reads,
                self.device_reads,
                self.cold_reads_failed,
                self.device_depth_sum as f64 / self.device_reads.max(1) as f64,
                self.device_reads_held_back,
                self.device_reads_held_back_ns as f64
                    / 1e3
                    / self.device_reads_held_back.max(1) as f64
            )?;
        }
        write!(
            f,
            "memory        {} of {}: {} index, {} indirection, {} versions, {} log buffers",
            Bytes(
                self.memory.claimed_bytes + self.memory.reserved_bytes + self.memory.listed_bytes
            ),
            Bytes(self.memory.limit_bytes),
            Bytes(self.memory.index_bytes),
            Bytes(self.memory.indirection_bytes),
            Bytes(self.memory.version_bytes),
            Bytes(self.memory.reserved_bytes)
        )
    }
}

/// A number of bytes for people: three digits or a few more, and a unit.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut amount = self.0 as f64;
        for unit in ["B", "KiB", "MiB"] {
            if amount < 1024.0 {
                let digits = usize::from(unit != "B" && amount < 100.0);
                return write!(f, "{amount:.digits$} {unit}");
            }
            amount /= 1024.0;
        }
        write!(f, "{amount:.1} GiB")
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn bytes_read_well() {
        let shown = [0, 1023, 1024, 150 << 10, 3 << 19, 20 << 30].map(|b| Bytes(b).to_string());
        assert_eq!(
            shown,
            ["0 B", "1023 B", "1.0 KiB", "150 KiB", "1.5 MiB", "20.0 GiB"]
        );
    }
}
