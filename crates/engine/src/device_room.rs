//! Room on the device, and the part of it that the log may take.
//!
//! A log can be given up only once a checkpoint counts that does not need it, and that checkpoint takes
//! room as well. A log that filled the device to its end could never be given up. A segment is
//! therefore made only while the next checkpoint fits beside it.
//!
//! # The reserve
//! The next checkpoint has at most the bytes of the current one and of the log since, and at most the
//! bytes that records and their keys take in memory. It needs the smaller of the two
//! ([`DeviceRoom::checkpoint_bytes_max`]), and [`FLOOR_BYTES`] for the manifest and for rounding. A
//! segment of `b` bytes adds up to `b` bytes to that checkpoint, so it is made while `2 b` more are
//! free. If the usual size does not fit, half of it is tried, and so on. Room that a checkpoint takes
//! back when it begins counts as free: free segments, spare parts.
//!
//! A transaction that deletes makes the next checkpoint smaller, by at least the bytes that it adds to
//! the log. It may use the reserve, except [`MANIFEST_BYTES`]: in a segment that other transactions may
//! not use ([`Purse::Reserve`]).
//!
//! # Relief
//! A lane that finds no room, or too little for a usual segment, asks for a checkpoint, since that
//! makes closed segments superfluous. The session in charge of checkpoints takes it at once.
//! Transactions that need a segment, including those that delete, wait until that attempt has ended,
//! and are refused only if there is still no room: a checkpoint that is under way takes the reserve
//! before it gives back the log. After an attempt that failed the next one waits, longer each time, and
//! no transaction waits for it ([`DeviceRoom::is_relief_coming`]).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use io::Directory;
use memory::Arena;

/// Bytes that the log leaves free beside a checkpoint: for a manifest, and for rounding, since the
/// system gives out whole pages to files.
const FLOOR_BYTES: u64 = 1 << 20;

/// Bytes that transactions leave free even if they only delete.
const MANIFEST_BYTES: u64 = 128 << 10;

/// Bytes of the smallest segment for transactions that may write anything.
const SEGMENT_BYTES_MIN: u64 = 256 << 10;

/// Part of the bytes that a checkpoint writes: if it gives up at least so many, it is asked for before
/// there is no room at all.
const WORTH_PART: u64 = 4;

/// Pause after the first attempt that failed, and the longest pause.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Room that a segment is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purse {
    /// Room that is free beside the reserve: for any transaction.
    Free,
    /// All room: for transactions that delete more than they write.
    Reserve,
}

/// Room that the log takes up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogRoom {
    /// Bytes of segments that a lane writes to, will write to, or has written.
    pub(crate) taken: u64,
    /// Bytes of those segments that a checkpoint makes superfluous.
    pub(crate) closed: u64,
    /// Bytes of files that wait to be used again.
    pub(crate) free: u64,
}

/// State of the room on the device; see the module's doc.
pub(crate) struct DeviceRoom {
    directory: Arc<dyn Directory>,
    arena: Arc<Arena>,
    /// Bytes of the current checkpoint.
    checkpoint: AtomicU64,
    /// Bytes of files that are kept for parts of the next checkpoint.
    spares: AtomicU64,
    /// Whether a session is in charge of checkpoints.
    is_attended: AtomicBool,
    is_wanted: AtomicBool,
    /// Whether the last attempt failed, and the next one waits.
    pauses: AtomicBool,
    /// Number of attempts that have ended.
    attempts: AtomicU64,
}

impl DeviceRoom {
    pub(crate) fn new(directory: Arc<dyn Directory>, arena: Arc<Arena>) -> DeviceRoom {
        DeviceRoom {
            directory,
            arena,
            checkpoint: AtomicU64::new(0),
            spares: AtomicU64::new(0),
            is_attended: AtomicBool::new(false),
            is_wanted: AtomicBool::new(false),
            pauses: AtomicBool::new(false),
            attempts: AtomicU64::new(0),
        }
    }

    // Relaxed, here and below: amounts are estimates, and flags are looked at again.

    /// Notes that the current checkpoint has so many bytes.
    pub(crate) fn note_checkpoint(&self, bytes: u64) {
        self.checkpoint.store(bytes, Ordering::Relaxed);
    }

    /// Notes that files of so many bytes are kept for the next checkpoint.
    pub(crate) fn note_spares(&self, bytes: u64) {
        self.spares.store(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes that can be written; `u64::MAX` if the device does not tell.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.directory.free_bytes().unwrap_or(u64::MAX)
    }

    /// Whether there is hardly room for a manifest.
    pub(crate) fn is_full(&self) -> bool {
        self.free_bytes() < MANIFEST_BYTES
    }

    /// Returns the maximum bytes of the next checkpoint.
    pub(crate) fn checkpoint_bytes_max(&self, log: LogRoom) -> u64 {
        let usage = self.arena.usage();
        let in_memory = usage.version_bytes + usage.index_bytes + usage.indirection_bytes;
        let written = self.checkpoint.load(Ordering::Relaxed) + log.taken;
        written.min(in_memory)
    }

    /// Whether a checkpoint needs more than is free, without what it takes back.
    pub(crate) fn is_short_for_checkpoint(&self, log: LogRoom) -> bool {
        self.free_bytes() < self.checkpoint_bytes_max(log) + FLOOR_BYTES
    }

    /// Returns the bytes of the next segment, at least `wanted`, and at most `usual` if that is more,
    /// and the purse that it is made of: the reserve is touched only if nothing else is left, and for
    /// no more than is wanted. `None` if there is no room. Asks for a checkpoint if that would help.
    pub(crate) fn segment_bytes(
        &self,
        (wanted, usual): (u64, u64),
        purse: Purse,
        log: LogRoom,
    ) -> Option<(u64, Purse)> {
        let (available, reserve) = self.available_and_reserve(log);
        let fits = |bytes: u64| bytes <= available.saturating_sub(reserve) / 2;
        let least = wanted.max(SEGMENT_BYTES_MIN.min(usual));
        let mut bytes = usual.max(least);
        while !fits(bytes) && bytes > least {
            bytes = (bytes / 2).max(least);
        }
        let bytes = fits(bytes).then_some(bytes);
        let is_worth = log.closed > 0 && log.closed >= reserve / WORTH_PART;
        if bytes.is_none() || bytes.is_some_and(|bytes| bytes < usual) && is_worth {
            self.is_wanted.store(log.closed > 0, Ordering::Relaxed);
        }
        let from_reserve = || {
            let fits = available >= wanted.saturating_add(MANIFEST_BYTES);
            (fits && purse == Purse::Reserve).then_some((wanted, Purse::Reserve))
        };
        bytes
            .map(|bytes| (bytes, Purse::Free))
            .or_else(from_reserve)
    }

    /// Returns the bytes of the largest segment that leaves the reserve alone.
    pub(crate) fn segment_bytes_max(&self, log: LogRoom) -> u64 {
        let (available, reserve) = self.available_and_reserve(log);
        available.saturating_sub(reserve) / 2
    }

    /// Returns the bytes that are free or can be taken back, and those of them that are kept in
    /// reserve.
    fn available_and_reserve(&self, log: LogRoom) -> (u64, u64) {
        let spares = self.spares.load(Ordering::Relaxed);
        let taken_back = log.free.saturating_add(spares);
        let available = self.free_bytes().saturating_add(taken_back);
        (available, self.checkpoint_bytes_max(log) + FLOOR_BYTES)
    }

    /// Returns whether `bytes` can be written to a file that the database can do without: the log keeps its reserve,
    /// and room for as much again.
    pub(crate) fn has_beside_log(&self, bytes: u64, log: LogRoom) -> bool {
        let reserve = self.checkpoint_bytes_max(log) + FLOOR_BYTES;
        self.free_bytes() >= reserve.saturating_mul(2).saturating_add(bytes)
    }

    /// Returns the bytes of a new cold file, at least `least`, and at most `most`: a part of the free
    /// room, so that a small device is not taken up by one file.
    pub(crate) fn cold_file_bytes(directory: &dyn Directory, least: u64, most: u64) -> u64 {
        const PART: u64 = 8;
        let free = directory.free_bytes().unwrap_or(u64::MAX);
        (free / PART).clamp(least, most.max(least))
    }

    /// Notes that a session takes charge of checkpoints; returns false if another one is in charge.
    pub(crate) fn begin_attendance(&self) -> bool {
        !self.is_attended.swap(true, Ordering::AcqRel)
    }

    /// Notes that no session is in charge of checkpoints any more.
    pub(crate) fn end_attendance(&self) {
        self.is_attended.store(false, Ordering::Release);
    }

    /// Whether a checkpoint is asked for.
    pub(crate) fn is_relief_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Whether a checkpoint that is asked for is about to be taken, or under way.
    pub(crate) fn is_relief_coming(&self) -> bool {
        self.is_relief_wanted()
            && self.is_attended.load(Ordering::Relaxed)
            && !self.pauses.load(Ordering::Relaxed)
    }

    /// Returns the number of attempts that have ended.
    pub(crate) fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Notes that an attempt has ended: a checkpoint, asked for or not.
    pub(crate) fn end_attempt(&self) {
        self.is_wanted.store(false, Ordering::Relaxed);
        self.attempts.fetch_add(1, Ordering::Relaxed);
    }
}

/// Time at which the session in charge may take the next checkpoint for want of room.
#[derive(Debug, Default)]
pub(crate) struct Relief {
    not_before: Duration,
    pause: Duration,
}

impl Relief {
    /// Whether a checkpoint is asked for, and due.
    pub(crate) fn is_due(&self, room: &DeviceRoom, now: Duration) -> bool {
        if now < self.not_before {
            return false;
        }
        room.pauses.store(false, Ordering::Relaxed);
        room.is_relief_wanted()
    }

    /// Notes that a checkpoint of the session in charge has ended.
    pub(crate) fn note_end(&mut self, room: &DeviceRoom, failed: bool, now: Duration) {
        match failed {
            true => {
                self.pause = (self.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
                self.not_before = now + self.pause;
            }
            false => *self = Relief::default(),
        }
        room.pauses.store(failed, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use io::{Faults, SimulatedDisk};

    use super::*;

    const MIB: u64 = 1 << 20;

    fn room(capacity: u64) -> DeviceRoom {
        let faults = Faults {
            capacity_bytes: Some(capacity),
            ..Faults::default()
        };
        let disk = SimulatedDisk::new(1, faults);
        let arena = Arena::new(64 << 20).expect("there is memory");
        DeviceRoom::new(disk.directory(), arena)
    }

    #[test]
    fn a_segment_is_as_large_as_leaves_room_for_a_checkpoint() {
        let log = LogRoom::default();
        let of = |capacity| room(capacity).segment_bytes((0, 32 * MIB), Purse::Free, log);
        assert_eq!(of(65 * MIB), Some((32 * MIB, Purse::Free)));
        assert_eq!(of(64 * MIB), Some((16 * MIB, Purse::Free)));
        assert_eq!(of(2 * MIB), Some((MIB / 2, Purse::Free)));
        assert_eq!(of(MIB + 1), None);
    }

    #[test]
    fn transactions_that_delete_may_use_the_reserve() {
        let room = room(MIB);
        let log = LogRoom::default();
        assert_eq!(room.segment_bytes((MIB / 2, MIB), Purse::Free, log), None);
        let reserve = room.segment_bytes((MIB / 2, MIB), Purse::Reserve, log);
        assert_eq!(reserve, Some((MIB / 2, Purse::Reserve)));
        assert_eq!(room.segment_bytes((MIB, MIB), Purse::Reserve, log), None);
    }

    #[test]
    fn a_checkpoint_is_asked_for_if_it_helps_and_pauses_after_a_failure() {
        let room = room(MIB);
        assert!(room.begin_attendance());
        assert_eq!(
            room.segment_bytes((0, MIB), Purse::Free, LogRoom::default()),
            None
        );
        assert!(!room.is_relief_coming(), "there is nothing to give up");
        let log = LogRoom {
            closed: MIB,
            taken: MIB,
            free: 0,
        };
        assert_eq!(room.segment_bytes((0, MIB), Purse::Free, log), None);
        assert!(room.is_relief_coming());
        let (mut relief, now) = (Relief::default(), Duration::from_secs(5));
        assert!(relief.is_due(&room, now));
        room.end_attempt();
        relief.note_end(&room, true, now);
        assert_eq!(room.segment_bytes((0, MIB), Purse::Free, log), None);
        assert!(!room.is_relief_coming() && !relief.is_due(&room, now));
        assert!(relief.is_due(&room, now + PAUSE_MIN));
        room.end_attempt();
        relief.note_end(&room, true, now + PAUSE_MIN);
        assert_eq!(room.segment_bytes((0, MIB), Purse::Free, log), None);
        assert!(!relief.is_due(&room, now + 2 * PAUSE_MIN), "a longer pause");
        room.end_attempt();
        relief.note_end(&room, false, now);
        assert!(!relief.is_due(&room, now), "nobody has asked since");
    }
}
