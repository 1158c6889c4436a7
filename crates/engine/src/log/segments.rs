//! Log segments as files: full ones, and free ones to be used again.
//!
//! A segment is written once from front to back and then kept until a checkpoint has made it
//! superfluous, and longer if change streams are to read it (`segments/kept.rs`). Then its file is
//! used again: overwriting is cheaper than appending, because neither length nor extents of the file
//! change. Files are never renamed: a segment's header has its identity, and incarnation, lane and
//! number tell old blocks in a reused file apart.

mod kept;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use io::{Action, BLOCK_BYTES, Buffer, Directory, File, OpenMode, Port};

pub(crate) use self::kept::NotKept;
use crate::{
    device_room::{DeviceRoom, Purse},
    log::format::SegmentHeader,
    timestamp::Timestamp,
};

/// Zeros written at once to a new file: durable writes have to wait until the device has taken in all
/// earlier writes, and a file filled at one go would hold them up for long.
const FILL_BYTES: usize = 128 << 10;

/// Pace of filling a new file.
pub(crate) enum Pace {
    GoOn,
    GiveUp,
}

/// Returns the name of the log file with this number.
pub(crate) fn file_name(number: u64) -> String {
    format!("log-{number:08}")
}

/// Returns the number in the name of a log file.
pub(crate) fn file_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("log-")?;
    let all_digits = digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// A segment that a lane writes to, or will.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) file: Arc<dyn File>,
    pub(crate) number: u64,
    pub(crate) header: SegmentHeader,
    /// Size of the file in bytes.
    pub(crate) bytes: u64,
    /// Offset of the next block.
    pub(crate) offset: u64,
    /// Lane's first block in the segment, and the number of transactions before it.
    pub(crate) first_block: u64,
    pub(crate) first_transaction: u64,
    /// Number of the lane's next block, after the last in the segment.
    pub(crate) blocks_end: u64,
    /// Newest transaction in the segment.
    pub(crate) newest: Timestamp,
    /// Purse from which the segment was made.
    pub(crate) purse: Purse,
}

impl Segment {
    pub(crate) fn room(&self) -> u64 {
        self.bytes - self.offset
    }

    /// Returns the bytes left for transactions that may use `purse`.
    pub(crate) fn room_for(&self, purse: Purse) -> u64 {
        match (self.purse, purse) {
            (Purse::Reserve, Purse::Free) => 0,
            _ => self.room(),
        }
    }
}

/// A segment that is full, or of an earlier incarnation, or being written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    pub(crate) header: SegmentHeader,
    /// Lane's first block in the segment, and the number of transactions before it.
    pub(crate) first_block: u64,
    pub(crate) first_transaction: u64,
    /// Number beyond those of all blocks in the segment: the largest number while the segment is being
    /// written.
    pub(crate) blocks_end: u64,
    /// Newest of the segment's transactions: the largest timestamp while the segment is being written.
    pub(crate) newest: Timestamp,
}

#[derive(Debug)]
struct Pool {
    next_number: u64,
    used: Vec<Full>,
    /// Segments that lanes will write to, or that are being made: number and bytes.
    prepared: Vec<(u64, u64)>,
    free: Vec<(u64, u64)>,
    /// Beginning of the complete history; see `kept.rs`.
    oldest: Timestamp,
    /// Timestamps up to which the logs of earlier incarnations count.
    cuts: BTreeMap<u64, Timestamp>,
}

/// Segments that recovery found.
#[derive(Debug, Default)]
pub(crate) struct FoundSegments {
    /// First number beyond all names in use.
    pub(crate) next_number: u64,
    pub(crate) used: Vec<Full>,
    /// Number and bytes of free files.
    pub(crate) free: Vec<(u64, u64)>,
    /// Timestamp after which the history in `used` is complete.
    pub(crate) oldest: Timestamp,
    /// Timestamps up to which the logs of earlier incarnations count.
    pub(crate) cuts: BTreeMap<u64, Timestamp>,
}

/// All segments of a database except those that lanes will write to next.
#[derive(Debug)]
pub(crate) struct Segments {
    directory: Arc<dyn Directory>,
    pool: Mutex<Pool>,
    /// Latch held while room for a segment is looked for and taken.
    allotting: Mutex<()>,
}

/// Room that was taken for a segment.
struct Allotted {
    number: u64,
    bytes: u64,
    purse: Purse,
    /// File that has to be filled, unless a file was free.
    new: Option<Arc<dyn File>>,
}

/// Guard over allotted room, which counts as taken, for good once there is a segment. If the guard is
/// dropped before that, as when the transaction that waits for the segment is given up, the file is
/// removed: half a segment is of no use, and may be what fills the device. A write to the file may be
/// under way, so the file is not used again.
struct Claim<'s> {
    segments: &'s Segments,
    number: u64,
}

impl<'s> Claim<'s> {
    fn new(segments: &'s Segments, number: u64) -> Claim<'s> {
        Claim { segments, number }
    }

    /// Keeps the room, now that there is a segment.
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        // If the removal fails, the next opening finds the file.
        let _ = self.segments.directory.remove(&file_name(self.number));
        let mut pool = self.segments.pool();
        pool.prepared.retain(|&(number, _)| number != self.number);
    }
}

impl Segments {
    /// Takes over the segments that recovery found.
    pub(crate) fn new(directory: Arc<dyn Directory>, found: FoundSegments) -> Segments {
        let FoundSegments {
            next_number,
            used,
            free,
            oldest,
            cuts,
        } = found;
        Segments {
            directory,
            pool: Mutex::new(Pool {
                next_number,
                used,
                prepared: Vec::new(),
                free,
                oldest,
                cuts,
            }),
            allotting: Mutex::new(()),
        }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Makes a segment of at least `wanted` bytes ready to be written, of `usual` bytes if there is
    /// room (`device_room.rs`): a free file, or a new one filled with zeros, as fast as `pace` allows.
    /// Returns `None` if `pace` gives up. `pace` is called with the bytes filled so far and the bytes
    /// in all.
    ///
    /// # Errors
    /// `StorageFull` if there is no room in `purse`; the device's error.
    ///
    /// # Suspension
    /// Device waits.
    ///
    /// # Cancellation
    /// The file is removed.
    pub(crate) async fn prepare(
        &self,
        port: &std::rc::Rc<Port>,
        header: SegmentHeader,
        (wanted, usual): (u64, u64),
        (room, purse): (&DeviceRoom, Purse),
        pace: impl AsyncFn(u64, u64) -> Pace,
    ) -> std::io::Result<Option<Segment>> {
        let Allotted {
            number,
            bytes,
            purse,
            new,
        } = self.allot((wanted, usual), (room, purse))?;
        let claim = Claim::new(self, number);
        if let Some(file) = new {
            let filled = self.fill(port, &file, bytes, pace).await;
            if !matches!(filled, Ok(Pace::GoOn)) {
                return filled.map(|_| None);
            }
        }
        let file = self
            .directory
            .open(&file_name(number), OpenMode::Write, true)?;
        let mut first = Buffer::zeroed(BLOCK_BYTES);
        let encoded = header.encode();
        first[..encoded.len()].copy_from_slice(&encoded);
        // Durable: with it, so are the new file's length and extents.
        write_whole(port, Action::WriteDurable, &file, 0, first).await?;
        claim.keep();
        Ok(Some(Segment {
            file,
            number,
            header,
            bytes,
            offset: BLOCK_BYTES as u64,
            first_block: 0,
            first_transaction: 0,
            blocks_end: 0,
            newest: Timestamp(0),
            purse,
        }))
    }

    /// Takes room for a segment, and counts it as taken. One lane does so at a time, so that no two
    /// lanes take the same room.
    ///
    /// # Errors
    /// `StorageFull` if there is no room in `purse`; the device's error.
    fn allot(
        &self,
        (wanted, usual): (u64, u64),
        (room, purse): (&DeviceRoom, Purse),
    ) -> std::io::Result<Allotted> {
        let _allotting = self.allotting.lock().unwrap_or_else(|e| e.into_inner());
        let taken = self.room();
        let (bytes, purse) = room
            .segment_bytes((wanted, usual), purse, taken)
            .ok_or(std::io::ErrorKind::StorageFull)?;
        let bytes = bytes.next_multiple_of(BLOCK_BYTES as u64);
        // A segment that is larger than the room would take the checkpoint's room.
        let bytes_max = room.segment_bytes_max(taken).max(bytes);
        let mut pool = self.pool();
        let fits = |&(_, has): &(u64, u64)| (bytes..=bytes_max).contains(&has);
        if let Some(at) = pool.free.iter().position(fits) {
            let (number, bytes) = pool.free.swap_remove(at);
            pool.prepared.push((number, bytes));
            return Ok(Allotted {
                number,
                bytes,
                purse,
                new: None,
            });
        }
        let number = pool.next_number;
        pool.next_number += 1;
        drop(pool);
        self.give_back(|| room.free_bytes() < bytes)?;
        let name = file_name(number);
        let opened = self.directory.open(&name, OpenMode::Create, true);
        let reserved = opened.and_then(|file| file.reserve(bytes).map(|()| file));
        let file = reserved.inspect_err(|_| {
            let _ = self.directory.remove(&name);
        })?;
        self.pool().prepared.push((number, bytes));
        Ok(Allotted {
            number,
            bytes,
            purse,
            new: Some(file),
        })
    }

    /// Removes free files while room is needed.
    ///
    /// # Errors
    /// The directory's error.
    pub(crate) fn give_back(&self, is_needed: impl Fn() -> bool) -> std::io::Result<()> {
        while is_needed() {
            let Some((number, _)) = self.pool().free.pop() else {
                break;
            };
            self.directory.remove(&file_name(number))?;
        }
        Ok(())
    }

    async fn fill(
        &self,
        port: &std::rc::Rc<Port>,
        file: &Arc<dyn File>,
        bytes: u64,
        pace: impl AsyncFn(u64, u64) -> Pace,
    ) -> std::io::Result<Pace> {
        let mut zeros = Buffer::zeroed(FILL_BYTES);
        let mut offset = 0;
        while offset < bytes {
            if let Pace::GiveUp = pace(offset, bytes).await {
                return Ok(Pace::GiveUp);
            }
            zeros.set_len((bytes - offset).min(FILL_BYTES as u64) as usize);
            let count = zeros.len() as u64;
            zeros = write_whole(port, Action::Write, file, offset, zeros).await?;
            offset += count;
        }
        sync_names(port, &self.directory).await?;
        Ok(Pace::GoOn)
    }
}

/// Makes the names of files durable.
///
/// # Suspension
/// A device wait: on a busy file system it takes as long as the changes of all processes.
pub(crate) async fn sync_names(
    port: &std::rc::Rc<Port>,
    directory: &Arc<dyn Directory>,
) -> std::io::Result<()> {
    let this = directory.as_file()?;
    let nothing = Buffer::with_capacity(0);
    let (_, result) = port.begin(Action::Sync, &this, 0, nothing).await;
    result.map(drop)
}

/// Writes all of `buffer`. If the device stops short, the write is repeated as long as it makes
/// progress.
pub(crate) async fn write_whole(
    port: &std::rc::Rc<Port>,
    action: Action,
    file: &Arc<dyn File>,
    offset: u64,
    mut buffer: Buffer,
) -> std::io::Result<Buffer> {
    for _ in 0..WRITE_ATTEMPTS {
        let whole = buffer.len();
        let (returned, result) = port.begin(action, file, offset, buffer).await;
        buffer = returned;
        if result? == whole {
            return Ok(buffer);
        }
    }
    Err(short_write())
}

/// Maximum attempts at a write that the device cuts short.
pub(crate) const WRITE_ATTEMPTS: u32 = 8;

pub(crate) fn short_write() -> std::io::Error {
    std::io::Error::new(
        std::io::ErrorKind::WriteZero,
        "the device wrote only a part, again and again",
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_match() {
        for number in [0, 7, 99_999_999, 100_000_000, u64::MAX] {
            assert_eq!(file_number(&file_name(number)), Some(number));
        }
        for name in [
            "log-1",
            "log-",
            "log-0000000x",
            "log-000000001x",
            "MANIFEST",
        ] {
            assert_eq!(file_number(name), None);
        }
    }

    /// A commit that was given up while it waited for room once left its file until the next opening:
    /// a client that did so again and again filled the device.
    #[test]
    fn a_segment_without_a_waiter_leaves_no_file() {
        const BYTES: u64 = 1 << 20;
        let disk = io::SimulatedDisk::new(1, io::Faults::default());
        let directory = disk.directory();
        let found = FoundSegments {
            next_number: 7,
            used: Vec::new(),
            free: Vec::new(),
            oldest: Timestamp(0),
            cuts: BTreeMap::new(),
        };
        let segments = Segments::new(directory.clone(), found);
        let arena = memory::Arena::new(64 << 20).unwrap();
        let room = DeviceRoom::new(directory.clone(), arena);
        let port = Port::new(directory.channel().unwrap());
        let header = SegmentHeader {
            database: 1,
            incarnation: 1,
            lane: 0,
            ordinal: 0,
        };
        let pace = async |_, _| std::future::pending::<Pace>().await;
        let room = (&room, Purse::Free);
        let mut prepared = Box::pin(segments.prepare(&port, header, (0, BYTES), room, pace));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(prepared.as_mut().poll(&mut context).is_pending());
        assert_eq!(directory.list().unwrap(), [file_name(7)]);
        assert_eq!(segments.room().taken, BYTES);
        drop(prepared);
        assert!(directory.list().unwrap().is_empty());
        assert_eq!(segments.room().taken, 0);
    }
}
